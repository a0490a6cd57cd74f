//! The source `nvidia-smi`. The output of the command is read as if a user had pasted it.

use mapa_topologies::{Dump, Merged, Warning, merge};

use crate::command::{self, CommandFailure};
use crate::error::Error;
use crate::found::{NoAnswer, SourceResult};
use crate::host::HostFiles;
use crate::live::Live;

/// The arguments of each call: for the links and paths between devices, for names, for speeds of
/// links, and for the other ends of links. The first gives the most information.
const QUESTIONS: [&[&str]; 4] = [
    &["topo", "-m"],
    &["-L"],
    &["nvlink", "-s"],
    &["nvlink", "-R"],
];

/// Queries each part of the machine and merges the answers. After a query that timed out, no
/// further query is made.
pub(crate) fn ask(live: &Live, host: &HostFiles<'_>) -> Result<SourceResult, NoAnswer> {
    let mut dumps = Vec::new();
    let mut odd = Vec::new();
    for words in QUESTIONS {
        match answer(live, words) {
            Ok(dump) => dumps.extend(dump),
            Err(NoQueryAnswer::Missing(what)) => return Err(NoAnswer::Absent(what)),
            Err(NoQueryAnswer::Hung(what)) => {
                odd.push(format!("{}: {what}", words.join(" ")));
                break;
            }
            Err(NoQueryAnswer::Odd(what)) => odd.push(format!("{}: {what}", words.join(" "))),
        }
    }
    if dumps.is_empty() {
        let what = if odd.is_empty() {
            "it prints nothing".to_owned()
        } else {
            odd.join(", ")
        };
        return Err(NoAnswer::Failed(what));
    }
    let mut found = join(dumps)?;
    let odd: Vec<String> = odd
        .into_iter()
        .map(|what| format!("nvidia-smi {what}"))
        .collect();
    // The machine is used without these answers, but not kept: a later call may get them.
    let unanswered = odd.first().cloned();
    found
        .machine
        .warnings
        .extend(odd.into_iter().map(|what| Warning { line: None, what }));
    Ok(SourceResult {
        driver: host.nvidia_driver(),
        unanswered,
        ..found
    })
}

/// The bytes that the links of this machine's devices have carried so far, from `nvidia-smi`:
/// [`Port::traffic`](mapa_topologies::Port::traffic) of the dump. The answer is never kept.
///
/// The bytes are payload. Drivers that are too old to count payload give their first set of
/// counters.
///
/// # Errors
/// [Unavailable](Error::is_unavailable): the command does not exist, did not answer in time, or no
/// driver counts bytes. The message says which.
pub fn counters(live: &Live) -> Result<Dump, Error> {
    let mut odd = Vec::new();
    for words in [["nvlink", "-gt", "d"], ["nvlink", "-g", "0"]] {
        let asked = words.join(" ");
        match answer(live, &words) {
            Ok(Some(dump)) if dump.ports.iter().any(|port| port.counted.is_some()) => {
                return Ok(dump);
            }
            Ok(_) => odd.push(format!("{asked}: no bytes are counted")),
            Err(NoQueryAnswer::Odd(what)) => odd.push(format!("{asked}: {what}")),
            Err(NoQueryAnswer::Missing(what) | NoQueryAnswer::Hung(what)) => {
                odd.push(format!("{asked}: {what}"));
                break;
            }
        }
    }
    Err(Error::unavailable(format!(
        "no counters of links: {} {}",
        live.nvidia_smi.display(),
        odd.join(", ")
    )))
}

/// Why a query has no answer.
enum NoQueryAnswer {
    /// The command does not exist.
    Missing(String),
    /// The command timed out. It would time out for other queries too.
    Hung(String),
    /// The command failed, or printed text that no reader understands.
    Odd(String),
}

/// The answer to one query; `None` if the command prints nothing.
fn answer(live: &Live, words: &[&str]) -> Result<Option<Dump>, NoQueryAnswer> {
    let bytes = command::run(&live.nvidia_smi, words, live.time_limit)
        .map_err(|failure| unanswered(live, failure))?;
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let error = match mapa_topologies::read(&bytes) {
        Ok(dump) => return Ok(Some(dump)),
        Err(error) => error,
    };
    // A single line, such as `No devices were found`, is worth quoting.
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Err(NoQueryAnswer::Odd(match (lines.next(), lines.next()) {
        (Some(line), None) => {
            let start: String = line.chars().take(200).collect();
            format!("it says `{start}`: {error}")
        }
        _ => error.to_string(),
    }))
}

fn unanswered(live: &Live, failure: CommandFailure) -> NoQueryAnswer {
    match failure {
        CommandFailure::Missing if live.nvidia_smi.components().count() == 1 => {
            NoQueryAnswer::Missing("not in PATH".to_owned())
        }
        CommandFailure::Missing => NoQueryAnswer::Missing("no such command".to_owned()),
        CommandFailure::Hung(limit) => {
            NoQueryAnswer::Hung(format!("no answer within {limit:?}: killed"))
        }
        CommandFailure::Failed(status, said) if said.is_empty() => {
            NoQueryAnswer::Odd(status.to_string())
        }
        CommandFailure::Failed(status, said) => NoQueryAnswer::Odd(format!("{status}: {said}")),
        CommandFailure::System(error) => NoQueryAnswer::Odd(error.to_string()),
    }
}

/// The machine of several dumps. Each contradiction between them becomes a warning.
fn join(dumps: Vec<Dump>) -> Result<SourceResult, Error> {
    let Merged {
        dump,
        contradictions,
        ..
    } = merge(dumps)?;
    let mut found = SourceResult::from_dump(dump)?;
    found
        .machine
        .warnings
        .extend(contradictions.iter().map(|odd| Warning {
            line: None,
            what: odd.to_string(),
        }));
    Ok(found)
}
