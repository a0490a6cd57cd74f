//! The fleet of separate servers that `--servers` describes.

use std::sync::Arc;

use mapa_core::HardwareGraph;
use mapa_core::mig::Layout;
use mapa_core::{DeviceId, MachineId};
use mapa_sched::Fleet;

use crate::error::Error;
use crate::files::Files;
use crate::machine::MachineSpec;

/// The most servers of a fleet. A larger number is assumed to be a mistake.
const MOST: usize = 1_000_000;

/// A kind of server, the MIG layouts of its partitioned devices, and the number of such servers.
struct Servers {
    count: usize,
    graph: Arc<HardwareGraph>,
    layouts: Vec<(DeviceId, Layout)>,
}

/// The idle fleet that words such as `1250xdgx-1v` describe: a number of servers, 1 by default, and
/// a machine as for `--machine`. Ids count up in the order of the words. `changes` names no machine; it
/// says what to change of every server's description, such as the instances into which devices are
/// partitioned.
///
/// # Errors
/// If a word is of another form, names no machine, the changes do not suit it, or there are more than a
/// million servers.
pub fn servers(
    words: &[String],
    changes: &MachineSpec,
    files: &dyn Files,
    warn: &mut dyn FnMut(String),
) -> Result<Fleet, Error> {
    let all: Vec<Servers> = words
        .iter()
        .map(|word| read(word.trim(), changes, files, warn))
        .collect::<Result<_, _>>()?;
    let count = all.iter().map(|servers| servers.count).sum::<usize>();
    if count > MOST {
        return Err(Error::malformed(format_args!(
            "{count} servers: expected at most {MOST}"
        )));
    }
    let graphs = all
        // Servers of one kind share a graph.
        .iter()
        .flat_map(|servers| std::iter::repeat_n(servers.graph.clone(), servers.count));
    let mut fleet = Fleet::new(graphs);
    // The fleet numbers its machines in the order of `graphs`, so the words are gone through in the same order.
    let mut ids = (0u32..).map(MachineId);
    for servers in &all {
        for id in ids.by_ref().take(servers.count) {
            for (whole, layout) in &servers.layouts {
                fleet
                    .layout_is(id, *whole, layout)
                    .map_err(Error::malformed)?;
            }
        }
    }
    Ok(fleet)
}

/// Reads one word of `--servers`.
fn read(
    word: &str,
    changes: &MachineSpec,
    files: &dyn Files,
    warn: &mut dyn FnMut(String),
) -> Result<Servers, Error> {
    let (count, name) = number(word).ok_or_else(|| {
        Error::malformed(format_args!(
            "--servers {word}: expected [K x] a machine, such as 1250xdgx-1v, K from 1"
        ))
    })?;
    let spec = MachineSpec {
        machine: vec![name.to_owned()],
        ..changes.clone()
    };
    let loaded = spec.load(files, warn)?;
    let view = loaded.idle.view();
    let wholes = loaded.graph().wholes();
    let layouts = wholes
        .iter()
        .map(|whole| (whole, view.layout_of(whole)))
        .filter(|(_, layout)| !layout.is_whole())
        .collect();
    Ok(Servers {
        count,
        graph: loaded.graph().clone(),
        layouts,
    })
}

/// The number before the first `x` and the name behind it; 1 if no digits precede an `x`. None if
/// the number is out of range or the name is empty.
fn number(word: &str) -> Option<(usize, &str)> {
    let (count, name) = match word.split_once('x') {
        // Names of machines may have an `x` too, as `mi300x-x8`: only digits before it are a count.
        Some((count, name))
            if !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (
                count
                    .parse()
                    .ok()
                    .filter(|count| (1..=MOST).contains(count))?,
                name,
            )
        }
        _ => (1, word),
    };
    (!name.is_empty()).then_some((count, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_digits_before_the_first_x() {
        assert_eq!(number("1250xdgx-1v"), Some((1250, "dgx-1v")));
        assert_eq!(number("dgx-1v"), Some((1, "dgx-1v")));
        assert_eq!(number("2xtorus:4x4"), Some((2, "torus:4x4")));
        assert_eq!(number("torus:4x4"), Some((1, "torus:4x4")));
        assert_eq!(number("0xdgx-1v"), None);
        assert_eq!(number("3x"), None);
        assert_eq!(number("99999999999999999999xdgx-1v"), None);
        assert_eq!(number(""), None);
    }
}
