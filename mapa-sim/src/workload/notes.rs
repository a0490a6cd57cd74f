//! Notes on a workload that name lines of the file it was read from.

use super::submission::Workload;

/// What a note about the order of arrivals begins with.
const UNORDERED: &str = "arrivals are not in order";

/// What a note about deadlines before arrivals begins with.
const TOO_EARLY: &str = "deadlines before arrivals";

/// Whether a note names lines of the file that was read. Reading a file makes such notes; they are
/// never written.
pub(super) fn names_lines(note: &str) -> bool {
    [UNORDERED, TOO_EARLY]
        .iter()
        .any(|beginning| note.starts_with(beginning))
}

/// Notes the first job whose deadline is before its arrival; `lines` has a line for each job.
pub(super) fn note_deadlines(workload: &mut Workload, lines: &[usize]) {
    let mut jobs = workload.jobs.iter().map(|job| &job.job);
    let early = jobs.position(|job| job.deadline.is_some_and(|deadline| deadline < job.arrived));
    if let Some(at) = early {
        let line = lines.get(at).copied().unwrap_or_default();
        workload.notes.push(format!(
            "{TOO_EARLY}, first on line {line}: they cannot be met"
        ));
    }
}

/// Notes the first job that arrives before the one above it; `lines` has a line for each job.
pub(super) fn note_order(workload: &mut Workload, lines: &[usize]) {
    let first = workload
        .jobs
        .windows(2)
        .position(|pair| pair[1].job.arrived < pair[0].job.arrived);
    if let Some(at) = first {
        let line = lines.get(at + 1).copied().unwrap_or_default();
        let note = format!(
            "{UNORDERED}, first on line {line}: jobs are taken by arrival, those of one moment by line"
        );
        workload.notes.push(note);
    }
}
