//! A machine as its description gives it.

use std::fmt;

use mapa_core::{Fabric, HardwareGraph, HostRates, LinkClass};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::links::{ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS};
use crate::mig;
use crate::vendor::Vendor;

/// The words in a title before the names of the files that the machine was merged from.
pub(crate) const MERGED_FROM: &str = ", merged from ";

/// A machine: its fabric, and further facts from its source.
///
/// # Examples
/// ```
/// let dump = mapa_topologies::read(
///     b"       GPU0  GPU1  CPU Affinity
///      GPU0     X   NV2   0-15
///      GPU1   NV2     X   0-15",
/// )?;
/// let machine = dump.into_machine()?;
/// let graph = machine.graph()?;
/// assert_eq!(graph.link(0.into(), 1.into()).gbps, 50.0); // GB/s per direction
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The machine's short name.
    pub name: String,
    /// A description of the machine on one line.
    pub title: String,
    /// Where the description comes from.
    pub source: String,
    /// Caveats of the description: corrections, assumptions.
    pub notes: Vec<String>,
    /// The vendor of the devices, where the tool that printed the description, PCI vendors or products name it.
    pub vendor: Option<Vendor>,
    /// The words in which the machine's links are printed.
    pub labels: Labels,
    /// Components and links.
    pub fabric: Fabric,
    /// Oddities of the description that did not prevent reading it.
    pub warnings: Vec<Warning>,
}

impl Machine {
    /// The title without the names of merged files: these are chosen by users, and name no product.
    pub(crate) fn own_title(&self) -> &str {
        let title = self.title.as_str();
        title
            .split_once(MERGED_FROM)
            .map_or(title, |(before, _)| before)
    }

    /// Sets the bandwidth of every direct link, GB/s per direction, as something tells it that the description does not
    /// have. No note says any more that it is assumed.
    ///
    /// # Errors
    /// A bandwidth that is not a positive number.
    ///
    /// # Examples
    /// ```
    /// let matrix = b"     GPU0  GPU1\nGPU0   X   NV2\nGPU1  NV2    X";
    /// let mut machine = mapa_topologies::read(matrix)?.into_machine()?;
    /// assert!(machine.notes.iter().any(|note| note.contains("25 GB/s")));
    /// machine.tell_link_gbps(50.0)?;
    /// assert!(machine.notes.iter().all(|note| !note.contains("25 GB/s")));
    /// # Ok::<(), mapa_topologies::Error>(())
    /// ```
    pub fn tell_link_gbps(&mut self, gbps: f64) -> Result<(), Error> {
        self.fabric.set_direct_gbps(gbps)?;
        self.fabric.assume_link_gbps(None);
        self.assume_no_more(ASSUMED_DIRECT_GBPS);
        Ok(())
    }

    /// As [`tell_link_gbps`](Self::tell_link_gbps), for every path through the host.
    ///
    /// # Errors
    /// A bandwidth that is not a positive number.
    pub fn tell_host_gbps(&mut self, gbps: f64) -> Result<(), Error> {
        self.fabric.set_host_gbps(gbps)?;
        self.fabric.set_host_rates(HostRates::Told);
        self.assume_no_more(ASSUMED_HOST_GBPS);
        Ok(())
    }

    /// Takes out of the notes what they say of an assumed bandwidth: words at the end of a sentence that says more, else
    /// the sentence.
    fn assume_no_more(&mut self, gbps: f64) {
        let rate = format!("{gbps} GB/s");
        let words = [", at ", ", ", " of "].map(|before| format!("{before}{rate}"));
        // 125 GB/s has the characters of 25 GB/s.
        let says_rate = |sentence: &str| {
            let mut found = sentence.match_indices(&rate);
            found.any(|(at, _)| !sentence[..at].ends_with(|c: char| c.is_ascii_digit() || c == '.'))
        };
        for note in &mut self.notes {
            let plain = words
                .iter()
                .fold(note.clone(), |note, words| note.replace(words, ""));
            let sentences = plain.split_inclusive(". ");
            let kept: String = sentences.filter(|sentence| !says_rate(sentence)).collect();
            *note = kept.trim_end().to_owned();
        }
        self.notes.retain(|note| !note.is_empty());
    }

    /// The graph on which allocation decisions are made.
    ///
    /// # Errors
    /// As [`Fabric::lower`].
    pub fn graph(&self) -> Result<HardwareGraph, Error> {
        Ok(self.fabric.clone().lower()?)
    }

    /// The machine with the MIG profiles of this GPU on every device, such as `a100-40gb`: the plain
    /// profiles. Devices are not partitioned by that.
    ///
    /// # Errors
    /// No GPU with MIG has this name; the message lists the names.
    ///
    /// # Examples
    /// ```
    /// let machine = mapa_topologies::named("dgx-a100")?.with_mig("a100-40gb")?;
    /// assert!(machine.graph()?.model(0.into()).is_some());
    /// # Ok::<(), mapa_topologies::Error>(())
    /// ```
    pub fn with_mig(mut self, gpu: &str) -> Result<Self, Error> {
        let model = mig::named(gpu)?.model(mig::Offer::PLAIN)?;
        self.fabric.set_mig(Some(&model));
        Ok(self)
    }

    /// The graph with NUMA nodes and network cards as additional vertices, for jobs that request
    /// devices near them.
    ///
    /// # Errors
    /// As [`Fabric::lower_with_host`].
    pub fn graph_with_host(&self) -> Result<HardwareGraph, Error> {
        Ok(self.fabric.clone().lower_with_host()?)
    }
}

/// An oddity that did not prevent a machine from being read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// The line, counted from 1, where there is one.
    pub line: Option<usize>,
    /// What is odd.
    pub what: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line
            .map_or(Ok(()), |line| write!(f, "line {line}: "))?;
        f.write_str(&self.what)
    }
}

/// The words that a source uses for the link classes; the others are those of `nvidia-smi topo -m`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// In front of the number of direct links: `NV`.
    pub direct: String,
    /// Between sockets: `SYS`, or `SOC` in old drivers.
    pub sys: String,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            direct: "NV".to_owned(),
            sys: "SYS".to_owned(),
        }
    }
}

impl Labels {
    /// The words of a vendor's tools; those of NVIDIA's where the vendor is not known.
    pub(crate) fn of(vendor: Option<Vendor>) -> Self {
        Self {
            direct: vendor.unwrap_or(Vendor::Nvidia).direct_label().to_owned(),
            ..Self::default()
        }
    }

    /// The class as the source prints it.
    #[must_use]
    pub fn print(&self, class: LinkClass) -> String {
        match class {
            LinkClass::None => "-".to_owned(),
            LinkClass::Network => "NET".to_owned(),
            LinkClass::Sys => self.sys.clone(),
            LinkClass::Node => "NODE".to_owned(),
            LinkClass::Phb => "PHB".to_owned(),
            LinkClass::Pxb => "PXB".to_owned(),
            LinkClass::Pix => "PIX".to_owned(),
            LinkClass::Board => "PSB".to_owned(),
            LinkClass::SameDevice => "SELF".to_owned(),
            LinkClass::Direct(n) => format!("{}{n}", self.direct),
        }
    }

    /// The class that a word means, case-insensitively: the words of `nvidia-smi topo -m`, old and
    /// new, and this source's own words for direct links.
    ///
    /// # Errors
    /// An unknown word; the message lists the known ones.
    pub fn parse(&self, word: &str) -> Result<LinkClass, Error> {
        let upper = word.to_ascii_uppercase();
        match upper.as_str() {
            "SYS" | "SOC" => return Ok(LinkClass::Sys),
            "NODE" => return Ok(LinkClass::Node),
            "PHB" => return Ok(LinkClass::Phb),
            "PXB" => return Ok(LinkClass::Pxb),
            "PIX" => return Ok(LinkClass::Pix),
            "PSB" => return Ok(LinkClass::Board),
            "NET" => return Ok(LinkClass::Network),
            _ => {}
        }
        let number = upper
            .strip_prefix(&self.direct.to_ascii_uppercase())
            .or_else(|| upper.strip_prefix("NV"));
        let digits = number.filter(|n| n.len() <= 3 && n.bytes().all(|b| b.is_ascii_digit()));
        match digits.and_then(|n| n.parse().ok()) {
            Some(n) if n > 0 => Ok(LinkClass::Direct(n)),
            _ => Err(Error::new(format!(
                "unknown link `{word}`: expected NV#, PIX, PXB, PHB, NODE or SYS"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_is_told_leaves_no_note_on_the_assumed_one_and_all_others() {
        let mut machine = crate::named("dgx-1v").unwrap();
        machine.notes = [
            "The text gives no bandwidth: a link counts 25 GB/s.",
            "Links of the board, at 25 GB/s. They carry 125 GB/s together.",
            "Eight links of 1.25 GB/s and some of 112 GB/s.",
        ]
        .map(str::to_owned)
        .into();
        machine.tell_link_gbps(50.0).unwrap();
        machine.tell_host_gbps(16.0).unwrap();
        assert_eq!(
            machine.notes,
            [
                "Links of the board. They carry 125 GB/s together.",
                "Eight links of 1.25 GB/s and some of 112 GB/s.",
            ]
        );
    }

    #[test]
    fn classes_round_trip_through_their_words() {
        let words = [
            "SYS", "NODE", "PHB", "PXB", "PIX", "PSB", "NET", "NV1", "NV18", "NV255",
        ];
        for word in words {
            assert_eq!(
                Labels::default().print(Labels::default().parse(word).unwrap()),
                word
            );
        }
        assert_eq!(Labels::default().parse("soc").unwrap(), LinkClass::Sys);
        for word in [
            "", "X", "NV", "NV0", "NV256", "NV+1", "NV00001", "0-15", "N/A", "FOO",
        ] {
            assert!(Labels::default().parse(word).is_err(), "{word}");
        }
    }
}
