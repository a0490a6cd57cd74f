//! The lines that name GPUs in `nvidia-smi -L` and `nvidia-smi nvlink`: `GPU 0: NAME (UUID:
//! GPU-...)`.

use std::collections::HashMap;

use mapa_core::{DeviceInfo, FabricNode, MAX_DEVICES, NodeKind};

use super::text;
use crate::error::Error;
use crate::machine::Warning;

/// A line that names a GPU.
#[derive(Debug)]
pub(super) struct GpuHeading {
    pub(super) line: usize,
    pub(super) number: u32,
    product: Option<String>,
    uuid: Uuid,
}

/// An identifier in brackets at the end of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Uuid {
    /// No UUID. Old drivers print none after links.
    Absent,
    /// A redacted UUID: something other than hexadecimal digits.
    Redacted,
    Told(String),
}

impl Uuid {
    /// Splits a text such as `NAME (UUID: GPU-01a2)` into the name and the UUID in brackets.
    ///
    /// # Errors
    /// An opening bracket without a closing one: the line is cut.
    pub(super) fn split(text: &str, line: usize) -> Result<(&str, Self), Error> {
        let Some((before, uuid)) = text.split_once("(UUID:") else {
            return Ok((text.trim(), Self::Absent));
        };
        let Some((uuid, _)) = uuid.split_once(')') else {
            return Err(Error::at(
                line,
                "the UUID does not end: expected `(UUID: GPU-...)`",
            ));
        };
        let uuid = uuid.trim();
        let digits = uuid.trim_start_matches("MIG-").trim_start_matches("GPU-");
        let whole = !digits.is_empty()
            && digits
                .bytes()
                .all(|b| b.is_ascii_hexdigit() || b == b'-' || b == b'/');
        Ok((
            before.trim(),
            if whole {
                Self::Told(uuid.to_owned())
            } else {
                Self::Redacted
            },
        ))
    }

    /// The UUID as printed. A redacted one is none, with a warning.
    pub(super) fn told(self, line: usize, warnings: &mut Vec<Warning>) -> Option<String> {
        match self {
            Self::Told(uuid) => Some(uuid),
            Self::Absent => None,
            Self::Redacted => {
                let what = "the UUID is redacted: left out".to_owned();
                warnings.push(Warning {
                    line: Some(line),
                    what,
                });
                None
            }
        }
    }
}

/// The GPU that a line names, if it names one. `PPU` is another vendor's word in the same grammar.
///
/// # Errors
/// A line that is cut.
pub(super) fn parse(text: &str, line: usize) -> Result<Option<GpuHeading>, Error> {
    let mut headings = parse_all(text, line)?;
    Ok(headings.pop().filter(|_| headings.is_empty()))
}

/// The GPUs that a line names: one, or several of one product, as reports of issues print them (`GPU 0,1: NAME`).
///
/// # Errors
/// A line that is cut.
pub(super) fn parse_all(text: &str, line: usize) -> Result<Vec<GpuHeading>, Error> {
    let Some((numbers, name)) = numbered(text) else {
        return Ok(Vec::new());
    };
    let (product, uuid) = Uuid::split(name, line)?;
    let product = product.trim_end_matches(['|', '"', '\'', '`', ' ']);
    let product = (!product.is_empty()).then(|| product.to_owned());
    // A UUID is that of one GPU.
    if numbers.len() > 1 && (product.is_none() || uuid != Uuid::Absent) {
        return Ok(Vec::new());
    }
    let heading = |number| GpuHeading {
        line,
        number,
        product: product.clone(),
        uuid: Uuid::Absent,
    };
    let mut headings: Vec<GpuHeading> = numbers.into_iter().map(heading).collect();
    if let [one] = &mut headings[..] {
        one.uuid = uuid;
    }
    Ok(headings)
}

/// The numbers of the GPUs that a line names.
pub(super) fn numbers(text: &str) -> Vec<u32> {
    numbered(text)
        .map(|(numbers, _)| numbers)
        .unwrap_or_default()
}

/// The numbers and the name in `GPU 0: NAME` and `GPU 0,1: NAME`.
fn numbered(text: &str) -> Option<(Vec<u32>, &str)> {
    let at = text.find("GPU ").or_else(|| text.find("PPU "))?;
    let (before, rest) = (&text[..at], text[at + 4..].trim_start());
    let (numbers, name) = rest.split_once(':')?;
    let is_number = |number: &str| {
        (1..=9).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit())
    };
    let digits = numbers.split(',').all(is_number);
    // `GPU 00000000:1B:00.0` of `nvidia-smi -q` is an address.
    let apart = name.is_empty() || name.starts_with(char::is_whitespace);
    if !(digits && apart && text::is_margin(before)) {
        return None;
    }
    let numbers = numbers.split(',').map(str::parse);
    let numbers: Vec<u32> = numbers.collect::<Result<_, _>>().ok()?;
    // Later steps look at every GPU.
    (numbers.len() <= MAX_DEVICES).then_some((numbers, name))
}

impl GpuHeading {
    /// Whether the line can only name a GPU: it has a UUID, or a product of NVIDIA's.
    pub(super) fn is_named(&self) -> bool {
        let is_product = |product: &String| {
            ["NVIDIA", "Tesla", "Quadro", "GeForce"]
                .iter()
                .any(|begin| product.starts_with(begin))
        };
        self.is_certain() || self.product.as_ref().is_some_and(is_product)
    }

    /// A device of which only the number is known.
    pub(super) fn unnamed(line: usize, number: u32) -> Self {
        Self {
            line,
            number,
            product: None,
            uuid: Uuid::Absent,
        }
    }

    /// Whether the line has a UUID, so that it can only name a GPU.
    pub(super) fn is_certain(&self) -> bool {
        self.uuid != Uuid::Absent
    }

    /// The component of the machine, as its device `id`.
    pub(super) fn into_node(
        self,
        id: usize,
        pci: Option<String>,
        warnings: &mut Vec<Warning>,
    ) -> FabricNode {
        let info = DeviceInfo {
            index: (self.number as usize != id).then_some(self.number),
            uuid: self.uuid.told(self.line, warnings),
            product: self.product,
            pci,
            ..DeviceInfo::default()
        };
        FabricNode {
            name: format!("GPU{}", self.number),
            kind: NodeKind::Device(info),
        }
    }
}

/// Checks that each number appears once, that all lines have a UUID or none, and that there are not
/// too many. Returns a warning if numbers are missing.
pub(super) fn check(headings: &[GpuHeading]) -> Result<Option<Warning>, Error> {
    let mut lines = HashMap::new();
    for heading in headings {
        if let Some(first) = lines.insert(heading.number, heading.line) {
            let what = format!(
                "GPU {} appears a second time, after line {first}",
                heading.number
            );
            return Err(Error::at(
                heading.line,
                what + ": expected the output of one command on one machine",
            ));
        }
        if lines.len() > MAX_DEVICES {
            return Err(Error::at(
                heading.line,
                format!("more than {MAX_DEVICES} GPUs: expected those of one machine"),
            ));
        }
    }
    let bare = headings.iter().find(|heading| !heading.is_certain());
    if let Some(bare) = bare
        && headings.iter().any(GpuHeading::is_certain)
    {
        let what = format!(
            "GPU {} has no UUID, but others have: expected `(UUID: GPU-...)`",
            bare.number
        );
        return Err(Error::at(bare.line, what));
    }
    let missing = missing(headings);
    let line = headings.last().map(|heading| heading.line);
    let what = format!(
        "{} missing: the machine has more devices than are listed",
        missing.join(", ")
    );
    Ok((!missing.is_empty()).then_some(Warning { line, what }))
}

/// The numbers below the greatest that no heading has, in ranges.
fn missing(headings: &[GpuHeading]) -> Vec<String> {
    let mut numbers: Vec<u32> = headings.iter().map(|heading| heading.number).collect();
    numbers.sort_unstable();
    let mut next = 0;
    let mut missing = Vec::new();
    for number in numbers {
        match number.saturating_sub(next) {
            0 => {}
            1 => missing.push(format!("GPU {next}")),
            _ => missing.push(format!("GPU {next} to {}", number - 1)),
        }
        next = number + 1;
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_told_from_other_lines() {
        let parsed = |text| {
            parse(text, 1)
                .unwrap()
                .map(|heading| (heading.number, heading.product, heading.uuid))
        };
        let v100 = Some("Tesla V100".to_owned());
        let told = |uuid: &str| Uuid::Told(uuid.to_owned());
        assert_eq!(
            parsed("GPU 0: Tesla V100 (UUID: GPU-01)").unwrap(),
            (0, v100.clone(), told("GPU-01"))
        );
        assert_eq!(
            parsed("# GPU  12: Tesla V100 ").unwrap(),
            (12, v100.clone(), Uuid::Absent)
        );
        assert_eq!(
            parsed("PPU 1: PPU (UUID: GPU-0-a)").unwrap(),
            (1, Some("PPU".to_owned()), told("GPU-0-a"))
        );
        assert_eq!(
            parsed("GPU 1: Tesla V100 (UUID: GPU-锟-1)").unwrap(),
            (1, v100, Uuid::Redacted)
        );
        assert_eq!(parsed("GPU 0:").unwrap(), (0, None, Uuid::Absent));
        for other in [
            "on GPU 0: all is well",
            "GPU 00000000:1B:00.0",
            "GPU  0 Profile ID 19",
            "GPU0: X",
            "",
            "GPU x: y",
        ] {
            assert!(parsed(other).is_none(), "{other}");
        }
        let error = parse("GPU 0: Tesla V100 (UUID: GPU-01", 7).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 7: the UUID does not end: expected `(UUID: GPU-...)`"
        );
    }
}
