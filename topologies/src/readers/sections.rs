//! The outputs in one text that holds several: `nvidia-smi topo -m` and `topo -p2p`, the names of GPUs above a matrix,
//! NCCL's log of a job, or `amd-smi topology` and `amd-smi xgmi`, as reports of issues print them.
//!
//! A section begins at a command, at the header of a matrix, at the first tree of NCCL's log, and where the numbers of
//! named GPUs begin again.

use super::{amd, has, headings, nccl_log, nvidia_smi_p2p, nvidia_smi_topo, recognise, text};
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

/// The outputs of AMD's tools. Their tables have titles, by which each reader finds its own in the whole text.
const AMD: [Kind; 3] = [Kind::AmdSmiTopology, Kind::AmdSmiXgmi, Kind::RocmSmi];

/// The most sections that a text is split into. Each is as long as the text up to its end, so the limit bounds the work;
/// reports of issues have a handful.
const MOST: usize = 32;

/// The outputs of at least two kinds in one text; none of a text that has one. Each has as many lines before it as in the
/// text, which are empty, so that errors name the right line.
pub(crate) fn sections(text: &str) -> Vec<(Kind, String)> {
    let amd: Vec<Kind> = AMD.into_iter().filter(|kind| has(*kind, text)).collect();
    // JSON has no titles, and one output looks like another.
    if amd.len() > 1 && !amd::is_json(text) {
        return amd
            .into_iter()
            .map(|kind| (kind, text.to_owned()))
            .collect();
    }
    if !recognise(text).map_or(true, |kind| BESIDE.contains(&kind)) {
        return Vec::new();
    }
    let known = |section: String| {
        let kind = recognise(&section).ok()?;
        BESIDE.contains(&kind).then_some((kind, section))
    };
    let found: Vec<(Kind, String)> = split(text)
        .unwrap_or_default()
        .into_iter()
        .filter_map(known)
        .collect();
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

/// Splits a text where an output may begin; `None` if that is at too many places.
fn split(text: &str) -> Option<Vec<String>> {
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
                if starts.len() > MOST {
                    return None;
                }
            }
            content = now;
        }
        offset += raw.len() + 1;
    }
    let ends = starts.iter().skip(1).map(|start| start.0);
    let ends = ends.chain([text.len()]);
    let sections = starts
        .iter()
        .zip(ends)
        .map(|(&(from, line), to)| "\n".repeat(line) + &text[from..to]);
    Some(sections.collect())
}

/// Whether a line is a command of `nvidia-smi` behind a prompt.
fn is_command(line: &str) -> bool {
    line.split_once("nvidia-smi ")
        .is_some_and(|(before, behind)| text::is_margin(before) && !behind.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of links, then as many of peer access.
    fn outputs(matrices: usize) -> String {
        let links = "\tGPU0\tGPU1\nGPU0\tX\tNODE\nGPU1\tNODE\tX\n";
        let access = "\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n";
        links.to_owned() + &access.repeat(matrices)
    }

    #[test]
    fn errors_in_a_section_name_the_line_of_the_text() {
        let sections = sections(&outputs(1));
        let kinds: Vec<Kind> = sections.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [Kind::NvidiaSmiTopo, Kind::NvidiaSmiP2p]);
        assert_eq!(
            sections[1].1.lines().position(|line| !line.is_empty()),
            Some(3)
        );
    }

    #[test]
    fn a_text_of_more_outputs_than_any_report_has_is_not_split() {
        assert_eq!(sections(&outputs(MOST - 1)).len(), MOST);
        assert_eq!(sections(&outputs(MOST)), []);
    }
}
