//! Reads a text of unknown kind, with all outputs that it holds.

use crate::dump::Dump;
use crate::error::{self, Error, ErrorKind};
use crate::kind::Kind;
use crate::machine::Warning;
use crate::merge::merge;
use crate::readers::escaped::unescaped;
use crate::readers::sections::sections;
use crate::readers::{check_size, recognise};

/// Reads any description of a machine, after [recognising](recognise) what it is.
///
/// Several outputs of `nvidia-smi` in one text, and NCCL's log, as reports of issues have them, are read each by its
/// own reader and [merged](merge()). One of them that is malformed is left out with a warning, unless it is the matrix of links.
/// The outputs of `amd-smi` and `rocm-smi` are read likewise. Logs as JSON and strings of programs are read as the output in
/// them, whose lines errors then count.
///
/// # Errors
/// - If the bytes are not UTF-8, or more than [`MAX_BYTES`](crate::MAX_BYTES).
/// - If the kind of the text is unknown or unsupported.
/// - If the text is malformed. The message names the line or element and the expected form.
/// - If several outputs in the text are not of one machine.
///
/// # Complexity
/// Linear in the length of the text, except where a reader states otherwise. For d devices, the
/// links and paths of all pairs take O(d^2), finding link switches takes O(d^3) at worst, and
/// missing host paths take O(d^3) for each round.
pub fn read(bytes: &[u8]) -> Result<Dump, Error> {
    check_size(bytes.len())?;
    let text = error::utf8(bytes)?;
    let as_it_is = read_text(text);
    let Err(error) = &as_it_is else {
        return as_it_is;
    };
    let is_unknown = error.kind() == ErrorKind::Unknown;
    match unescaped(text).filter(|plain| recognise(plain).is_ok()) {
        // No reader knows the text as it is, so the error to tell is that of the output in it.
        Some(plain) if is_unknown => read_text(&plain),
        Some(plain) => read_text(&plain).or(as_it_is),
        None => as_it_is,
    }
}

/// Reads a text without escapes, with all outputs that it holds.
fn read_text(text: &str) -> Result<Dump, Error> {
    let mut dumps: Vec<Dump> = Vec::new();
    let mut warnings = Vec::new();
    for (kind, section) in sections(text) {
        match kind.read(&section) {
            Ok(dump) => {
                let is_matrix = |other: &&Dump| other.kind == kind && kind == Kind::NvidiaSmiTopo;
                match dumps.iter().find(is_matrix) {
                    // The same matrix twice is one. Two that differ are of two machines.
                    Some(other) if other.machine.fabric == dump.machine.fabric => {}
                    Some(other) if other.says == dump.says => return kind.read(text),
                    _ => dumps.push(dump),
                }
            }
            Err(error) if kind == Kind::NvidiaSmiTopo => return Err(error),
            Err(error) => warnings.push(Warning {
                line: None,
                what: format!("{error}; the output of {} is left out", kind.name()),
            }),
        }
    }
    if dumps.is_empty() {
        return recognise(text)?.read(text);
    }
    // What joins the devices decides which machine it is.
    dumps.sort_by_key(|dump| match dump.kind {
        Kind::NvidiaSmiTopo => 0,
        Kind::NcclLog => 1,
        _ => 2,
    });
    let mut merged: Vec<Dump> = Vec::new();
    for dump in dumps {
        let with = [merged.clone(), vec![dump.clone()]].concat();
        match merge(with) {
            Ok(_) => merged.push(dump),
            Err(error) => warnings.push(Warning {
                line: None,
                what: format!("{error}; the output of {} is left out", dump.kind.name()),
            }),
        }
    }
    let merged = merge(merged)?;
    let mut dump = merged.dump;
    warnings.extend(merged.contradictions.iter().map(|differs| Warning {
        line: None,
        what: differs.to_string(),
    }));
    dump.machine.warnings.extend(warnings);
    Ok(dump)
}
