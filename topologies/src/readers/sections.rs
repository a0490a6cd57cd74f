//! The outputs in one text that holds several: `nvidia-smi topo -m` and `topo -p2p`, the names of GPUs above a matrix,
//! NCCL's log of a job, as reports of issues print them.
//!
//! A section begins at a command, at the header of a matrix, at the first tree of NCCL's log, and where the numbers of
//! named GPUs begin again.

use super::{headings, nccl_log, nvidia_smi_p2p, nvidia_smi_topo, recognise, text};
use crate::kind::Kind;

/// The kinds of text that stand beside each other in one paste.
const BESIDE: [Kind; 6] = [
    Kind::NvidiaSmiTopo,
    Kind::NvidiaSmiP2p,
    Kind::NvidiaSmiNvlink,
    Kind::NvidiaSmiList,
    Kind::NvidiaSmiMig,
    Kind::NcclLog,
];

/// The outputs of at least two kinds in one text; none of a text that has one. Each has as many lines before it as in the
/// text, which are empty, so that errors name the right line.
pub(crate) fn sections(text: &str) -> Vec<(Kind, String)> {
    if !recognise(text).map_or(true, |kind| BESIDE.contains(&kind)) {
        return Vec::new();
    }
    let known = |section: String| {
        let kind = recognise(&section).ok()?;
        BESIDE.contains(&kind).then_some((kind, section))
    };
    let found: Vec<(Kind, String)> = split(text).into_iter().filter_map(known).collect();
    let is_one = found.iter().all(|(kind, _)| *kind == found[0].0);
    if is_one { Vec::new() } else { found }
}

/// What a section has so far.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Nothing,
    Matrix,
    /// Named GPUs, up to this number.
    Names(u32),
    /// NCCL's log, which prints its tree once for each process.
    Log,
}

/// Splits a text where an output may begin.
fn split(text: &str) -> Vec<String> {
    let mut starts = vec![(0, 0)];
    let (mut content, mut offset) = (Content::Nothing, 0);
    for (number, raw) in text.split('\n').enumerate() {
        let line = text::clean(raw);
        let words = text::words(&line);
        let names = headings::numbers(&line);
        let next = if nvidia_smi_topo::is_header(&line, &words) || nvidia_smi_p2p::is_header(&words)
        {
            Some((Content::Matrix, content != Content::Nothing))
        } else if nccl_log::is(raw) {
            let begins = !matches!(content, Content::Nothing | Content::Log);
            Some((Content::Log, begins))
        } else if let Some(&number) = names.first() {
            let again = matches!(content, Content::Names(last) if number <= last);
            let last = names.last().copied().unwrap_or(number);
            let behind = matches!(content, Content::Matrix | Content::Log);
            Some((Content::Names(last), again || behind))
        } else if is_command(&line) {
            Some((Content::Nothing, content != Content::Nothing))
        } else {
            None
        };
        if let Some((now, begins)) = next {
            if begins {
                starts.push((offset, number));
            }
            content = now;
        }
        offset += raw.len() + 1;
    }
    let ends = starts.iter().skip(1).map(|start| start.0);
    let ends = ends.chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&(from, line), to)| "\n".repeat(line) + &text[from..to])
        .collect()
}

/// Whether a line is a command of `nvidia-smi` behind a prompt.
fn is_command(line: &str) -> bool {
    line.split_once("nvidia-smi ")
        .is_some_and(|(before, behind)| text::is_margin(before) && !behind.trim().is_empty())
}
