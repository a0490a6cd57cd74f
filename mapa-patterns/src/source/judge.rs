//! Whether a program's speed depends on its links, as far as its source shows it.

use super::kinds::Communication;
use super::scan::{Finding, Source};
use crate::verdict::{Sensitivity, Verdict};

/// The most findings that a verdict names.
const NAMED: usize = 3;

/// The verdict on a program with several ranks.
///
/// A training job exchanges gradients or activations in every step, so it is taken to be sensitive.
/// Of other calls, a source does not show how much they send.
pub(super) fn verdict(source: &Source, ranks: usize) -> Verdict {
    use Communication as Kind;
    let seen = |kinds: &dyn Fn(Kind) -> bool| -> Vec<&Finding> {
        let findings = source.findings.iter();
        findings
            .filter(|finding| ranks > 1 && kinds(finding.kind))
            .collect()
    };
    let training = seen(&|kind| matches!(kind, Kind::DataParallel | Kind::Degrees | Kind::Mesh));
    if !training.is_empty() {
        let what = "ranks exchange gradients or activations in every step";
        return Verdict {
            sensitivity: Sensitivity::Sensitive,
            why: format!("by source, {what}; seen: {}", named(&training)),
        };
    }
    let others = seen(&|kind| !matches!(kind, Kind::Ranks | Kind::Barrier | Kind::PeerAccess));
    if others.is_empty() {
        return Verdict::default();
    }
    let what = "how much these send is not in the source: measure, or give --messages";
    Verdict {
        sensitivity: Sensitivity::Unknown,
        why: format!("by source, seen: {}; {what}", named(&others)),
    }
}

/// `ncclAllReduce (layer.cpp:10), MPI_Send (a.c:3)`: each call at its first place.
fn named(findings: &[&Finding]) -> String {
    let mut first: Vec<&Finding> = Vec::new();
    for finding in findings {
        if !first.iter().any(|other| other.call == finding.call) {
            first.push(finding);
        }
    }
    let shown = first.iter().take(NAMED);
    let shown: Vec<String> = shown
        .map(|finding| format!("{} ({})", finding.call, finding.place()))
        .collect();
    let more = match first.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    (shown.join(", ") + &more).replace(char::is_control, " ")
}
