//! What is known of kinds of jobs: what they copy over PCIe, how it slows them down, how fast they are on which slice.
//!
//! A profile is measured once and serves all jobs of its kind (Tang et al., section 3.2). `docs/pcie.md` describes the file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, Pattern, Request};
use mapa_sched::{Job, JobId, RunTime, Time};
use serde::Deserialize;
use toml::Spanned;

use super::{Submission, bad_line, bad_workload, numbers};
use crate::error::Error;

const FORMAT: &str = "mapa-profiles";
const VERSION: i64 = 1;

/// A kind of job.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name, unlike those of the others.
    pub name: String,
    /// What it copies over PCIe where nobody else does, decimal GB/s to a thousandth; 0 for a job that is not PCIe-bound.
    pub pcie_gbps: f64,
    /// The slope of Eq. 1 of Tang et al.: by so much more than its share of PCIe falls short it is slowed down. Default: 1.
    pub pcie_alpha: f64,
    /// Tokens (or images, or whatever [`submission`](Self::submission) counts) a second at full speed, by size of slice; empty if nobody
    /// has measured them.
    pub throughput: BTreeMap<Size, f64>,
    /// Where the figures are from.
    pub source: String,
    /// What must be known of them.
    pub notes: Vec<String>,
}

impl Profile {
    /// A kind of job of which nothing is known but its name: not PCIe-bound.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let (source, throughput, notes) = (String::new(), BTreeMap::new(), Vec::new());
        Self { name: name.into(), pcie_gbps: 0.0, pcie_alpha: 1.0, throughput, source, notes }
    }

    /// The three jobs of Tang et al., Table 2. Their throughputs are not published: one token stands for a second of work on 1g, so
    /// that tokens are seconds.
    #[must_use]
    pub fn tang() -> [Self; 3] {
        [("ResNet50", 0.0, 1.0), ("Bloom560m", 5.7, 1.25), ("Bloom7b1", 17.65, 1.07)].map(|(name, gbps, alpha)| Self {
            pcie_gbps: gbps,
            pcie_alpha: alpha,
            throughput: [(Size::new(1, 1), 1.0)].into(),
            source: "Tang et al., Table 2".to_owned(),
            notes: vec!["Throughput is not published: one token is one second of work at full speed.".to_owned()],
            ..Self::new(name)
        })
    }

    /// A job of this kind on one slice of this size, with so many tokens to do: its work is tokens / throughput there (Eq. 3 of Tang et
    /// al. at full speed). Its owner knows how long it takes on each size that was measured.
    ///
    /// ```
    /// use mapa_core::mig::Size;
    /// use mapa_sched::{JobId, Time};
    /// use mapa_sim::Profile;
    ///
    /// let [_, light, _] = Profile::tang();
    /// let job = light.submission(JobId(0), Time::ZERO, Size::new(1, 1), 50.0)?;
    /// assert_eq!((job.work.as_secs(), job.job.request.pattern.demands()[0].pcie_mb_s), (50, 5700));
    /// # Ok::<(), mapa_sim::Error>(())
    /// ```
    ///
    /// # Errors
    /// A size that was not measured; tokens that are negative or no number, or take more than 584 years; figures that no
    /// [file](read_profiles) could hold.
    pub fn submission(&self, id: JobId, arrived: Time, size: Size, tokens: f64) -> Result<Submission, Error> {
        let wrong = |what: String| bad_workload(format_args!("profile `{}`: {what}", self.name));
        self.check().map_err(wrong)?;
        let takes = |rate: f64| {
            let length =
                Duration::try_from_secs_f64(tokens / rate).ok().filter(|time| u64::try_from(time.as_nanos()).is_ok());
            length.ok_or_else(|| {
                wrong(format!("{tokens} tokens: expected a number that is not negative, for at most 584 years"))
            })
        };
        let times = self.throughput.iter().map(|(&size, &rate)| Ok((size, takes(rate)?)));
        let times = times.collect::<Result<BTreeMap<Size, Duration>, Error>>()?;
        let Some(&work) = times.get(&size) else {
            let known: Vec<String> = times.keys().map(Size::to_string).collect();
            return Err(wrong(format!("no throughput on {size}: expected one of {}", known.join(", "))));
        };
        let demand = Demand::slice(size).pcie_gbps(self.pcie_gbps);
        let mut job = Job::new(id, Request::new(Pattern::independent(1).each(demand)));
        (job.arrived, job.pcie_alpha) = (arrived, self.pcie_alpha);
        let mut own = Submission::new(job, work).task(self.name.as_str());
        if times.len() > 1 {
            own.job.run_time = RunTime::BySize(times);
        }
        Ok(own)
    }

    /// What no file could hold, in words.
    fn check(&self) -> Result<(), String> {
        let Self { name, pcie_gbps, pcie_alpha, throughput, .. } = self;
        if name.trim().is_empty() || name.trim() != name || name.contains(char::is_control) {
            return Err(format!("name `{name}`: expected some text in one line, without blanks at its ends"));
        }
        if !numbers::is_pcie_gbps(*pcie_gbps) {
            return Err(format!("pcie_gbps = {pcie_gbps}: expected 0, or GB/s from 0.001 to 4294967.295"));
        }
        if !numbers::is_slope(*pcie_alpha) {
            return Err(format!("pcie_alpha = {pcie_alpha}: expected a finite number, not below 0"));
        }
        let is_sound = |(size, rate): &(&Size, &f64)| numbers::is_size(**size) && rate.is_finite() && **rate > 0.0;
        match throughput.iter().find(|own| !is_sound(own)) {
            Some((size, rate)) => Err(format!("throughput of {size} = {rate}: expected slices and a positive number")),
            None => Ok(()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<String>,
    version: Spanned<i64>,
    #[serde(default)]
    profiles: Vec<Spanned<ProfileOfFile>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileOfFile {
    name: String,
    #[serde(default)]
    pcie_gbps: f64,
    pcie_alpha: Option<f64>,
    #[serde(default)]
    throughput: BTreeMap<Spanned<String>, f64>,
    #[serde(default)]
    source: String,
    #[serde(default)]
    notes: Vec<String>,
}

/// Reads a file of profiles. O(n log n) for n characters.
///
/// ```
/// let text = r#"
/// format = "mapa-profiles"
/// version = 1
///
/// [[profiles]]
/// name = "Bloom560m"
/// pcie_gbps = 5.7
/// pcie_alpha = 1.25
/// throughput = { "1g.1m" = 1.0 }
/// source = "Tang et al., Table 2"
/// notes = ["Throughput is not published: one token is one second of work at full speed."]
/// "#;
/// assert_eq!(mapa_sim::read_profiles(text)?, [mapa_sim::Profile::tang()[1].clone()]);
/// # Ok::<(), mapa_sim::Error>(())
/// ```
///
/// # Errors
/// For what is not described in `docs/pcie.md`, with the line, the profile and what was expected there.
pub fn read_profiles(text: &str) -> Result<Vec<Profile>, Error> {
    let line = |byte: usize| text.as_bytes()[..byte.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
    let at = |span: std::ops::Range<usize>, what: String| bad_line(line(span.start), what);
    let file: File = toml::from_str(text).map_err(|error| match error.span() {
        Some(span) => at(span, error.message().trim().to_owned()),
        None => bad_workload(error.message().trim()),
    })?;
    if file.format.get_ref() != FORMAT {
        return Err(at(file.format.span(), format!("format = \"{}\": expected \"{FORMAT}\"", file.format.get_ref())));
    }
    if *file.version.get_ref() != VERSION {
        return Err(at(file.version.span(), format!("version = {}: expected {VERSION}", file.version.get_ref())));
    }
    let mut profiles: Vec<Profile> = Vec::new();
    for own in file.profiles {
        let (span, own) = (own.span(), own.into_inner());
        let wrong = |what: String| at(span.clone(), format!("profile `{}`: {what}", own.name));
        let mut throughput = BTreeMap::new();
        for (size, rate) in &own.throughput {
            let size: Size = size.get_ref().parse().map_err(|error: mapa_core::Error| {
                at(size.span(), format!("profile `{}`: throughput of {error}", own.name))
            })?;
            throughput.insert(size, *rate);
        }
        let profile = Profile {
            name: own.name.clone(),
            pcie_gbps: own.pcie_gbps,
            pcie_alpha: own.pcie_alpha.unwrap_or(1.0),
            throughput,
            source: own.source.clone(),
            notes: own.notes.clone(),
        };
        profile.check().map_err(wrong)?;
        if profiles.iter().any(|other| other.name == profile.name) {
            return Err(wrong("another of this name is above: expected names that differ".to_owned()));
        }
        profiles.push(profile);
    }
    Ok(profiles)
}

/// Writes a file of profiles: reading it gives equal ones, to the last bit of each figure.
///
/// # Errors
/// Two profiles of one name; a name that is empty, of several lines or with blanks at its ends; figures that are no numbers, or out of
/// the ranges that `docs/pcie.md` names.
pub fn write_profiles(profiles: &[Profile]) -> Result<String, Error> {
    let mut text = format!("format = \"{FORMAT}\"\nversion = {VERSION}\n");
    // A `String` takes all that is written to it.
    let mut line = |line: String| writeln!(text, "{line}").unwrap_or_default();
    for (i, own) in profiles.iter().enumerate() {
        own.check().map_err(|what| bad_workload(format_args!("profile `{}`: {what}", own.name)))?;
        if profiles[..i].iter().any(|other| other.name == own.name) {
            return Err(bad_workload(format_args!("profile `{}` twice: expected names that differ", own.name)));
        }
        line(format!("\n[[profiles]]\nname = {}\npcie_gbps = {:?}", quoted(&own.name), own.pcie_gbps));
        line(format!("pcie_alpha = {:?}", own.pcie_alpha));
        if !own.throughput.is_empty() {
            let rates = own.throughput.iter().map(|(size, rate)| format!("\"{size}\" = {rate:?}"));
            line(format!("throughput = {{ {} }}", rates.collect::<Vec<_>>().join(", ")));
        }
        if !own.source.is_empty() {
            line(format!("source = {}", quoted(&own.source)));
        }
        if !own.notes.is_empty() {
            let notes = own.notes.iter().map(|note| quoted(note)).collect::<Vec<_>>();
            line(format!("notes = [{}]", notes.join(", ")));
        }
    }
    Ok(text)
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
