//! Asking by NVIDIA's command: what it prints is read as if it had been pasted.

use super::command::{self, Failure};
use super::host::Host;
use super::{Found, Live, Silence};
use crate::dump::Dump;
use crate::error::{Error, ErrorKind};
use crate::machine::Warning;
use crate::merge::{Merged, merge};
use crate::readers;

/// What joins devices, their names, their links' speeds, their links' other ends. The first says the most.
const QUESTIONS: [&[&str]; 4] = [&["topo", "-m"], &["-L"], &["nvlink", "-s"], &["nvlink", "-R"]];

pub(super) fn ask(live: &Live, host: &Host<'_>) -> Result<Found, Silence> {
    let mut dumps = Vec::new();
    let mut odd = Vec::new();
    for words in QUESTIONS {
        match answer(live, words) {
            Ok(dump) => dumps.extend(dump),
            Err(Unanswered::Missing(what)) => return Err(Silence::Absent(what)),
            Err(Unanswered::Hung(what)) => {
                odd.push(format!("{}: {what}", words.join(" ")));
                break;
            }
            Err(Unanswered::Odd(what)) => odd.push(format!("{}: {what}", words.join(" "))),
        }
    }
    if dumps.is_empty() {
        let what = if odd.is_empty() { "it prints nothing".to_owned() } else { odd.join(", ") };
        return Err(Silence::Failed(what));
    }
    let mut found = join(dumps)?;
    let odd: Vec<String> = odd.into_iter().map(|what| format!("nvidia-smi {what}")).collect();
    let unanswered = odd.first().cloned();
    found.machine.warnings.extend(odd.into_iter().map(|what| Warning { line: None, what }));
    Ok(Found { driver: host.nvidia_driver(), unanswered, ..found })
}

/// The counters of all links: payload, or the first set of counters where drivers are too old to tell payload.
pub(super) fn counters(live: &Live) -> Result<Dump, Error> {
    let mut odd = Vec::new();
    for words in [["nvlink", "-gt", "d"], ["nvlink", "-g", "0"]] {
        let asked = words.join(" ");
        match answer(live, &words) {
            Ok(Some(dump)) if dump.ports.iter().any(|port| port.counted.is_some()) => return Ok(dump),
            Ok(_) => odd.push(format!("{asked}: no bytes are counted")),
            Err(Unanswered::Odd(what)) => odd.push(format!("{asked}: {what}")),
            Err(Unanswered::Missing(what) | Unanswered::Hung(what)) => {
                odd.push(format!("{asked}: {what}"));
                break;
            }
        }
    }
    let place = live.nvidia_smi.display();
    Err(Error::of_kind(ErrorKind::Unavailable, format!("no counters of links: {place} {}", odd.join(", "))))
}

/// Why a question has no answer.
enum Unanswered {
    /// There is nobody to ask.
    Missing(String),
    /// Nor would others have one.
    Hung(String),
    Odd(String),
}

/// What one question gives: nothing, if nothing is printed.
fn answer(live: &Live, words: &[&str]) -> Result<Option<Dump>, Unanswered> {
    let bytes = command::run(&live.nvidia_smi, words, live.time_limit).map_err(|failure| match failure {
        Failure::Missing if live.nvidia_smi.components().count() == 1 => Unanswered::Missing("not in PATH".to_owned()),
        Failure::Missing => Unanswered::Missing("no such command".to_owned()),
        Failure::Hung(limit) => Unanswered::Hung(format!("no answer within {limit:?}: killed")),
        Failure::Failed(status, said) if said.is_empty() => Unanswered::Odd(status.to_string()),
        Failure::Failed(status, said) => Unanswered::Odd(format!("{status}: {said}")),
        Failure::System(error) => Unanswered::Odd(error.to_string()),
    })?;
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let read = readers::read(&bytes).map(Some);
    read.map_err(|error| {
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let said = lines.next().filter(|_| lines.next().is_none());
        let said = said.map(|line| format!("it says `{}`: ", line.chars().take(200).collect::<String>()));
        Unanswered::Odd(said.unwrap_or_default() + &error.to_string())
    })
}

/// One machine of several dumps; what they do not agree on is odd.
fn join(dumps: Vec<Dump>) -> Result<Found, Error> {
    let Merged { dump, contradictions } = merge(dumps)?;
    let mut found = Found::from_dump(dump)?;
    let odd = contradictions.iter().map(|odd| Warning { line: None, what: odd.to_string() });
    found.machine.warnings.extend(odd);
    Ok(found)
}
