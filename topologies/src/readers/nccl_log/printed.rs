//! The trees in a log: which lines belong to each.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::text;
use super::row::{Heading, LogLine, LogWords};

/// The lines of one tree.
pub(super) struct PrintedTree<'t> {
    /// The line of its heading.
    pub(super) line: usize,
    pub(super) process: String,
    pub(super) heading: Heading,
    pub(super) lines: Vec<LogLine<'t>>,
    pub(super) end: TreeEnd,
}

/// How a tree ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TreeEnd {
    /// With its last line.
    Whole,
    /// That line is missing, but the process went on to print what follows a tree.
    Followed,
    /// Cut.
    Open,
}

/// A text without escape codes and carriage returns, with the same lines.
pub(super) fn cleaned(text: &str) -> Cow<'_, str> {
    if text::lines(text).all(|(_, line)| matches!(line, Cow::Borrowed(_))) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text::lines(text).map(|(_, line)| line).collect();
    Cow::Owned(lines.join("\n"))
}

/// The trees of a log, in the order of their headings. The lines of several processes may alternate.
pub(super) fn trees(text: &str) -> Vec<PrintedTree<'_>> {
    let mut trees: Vec<PrintedTree<'_>> = Vec::new();
    // The tree that each process prints at the moment.
    let mut open: HashMap<String, usize> = HashMap::new();
    for (at, line) in text.split('\n').enumerate() {
        let Some(line) = LogLine::parse(line, at + 1) else {
            continue;
        };
        if let LogWords::Heading(heading) = line.says {
            open.insert(line.process.clone(), trees.len());
            trees.push(PrintedTree {
                line: line.number,
                process: line.process,
                heading,
                lines: Vec::new(),
                end: TreeEnd::Open,
            });
            continue;
        }
        let Some(tree) = open.get(&line.process).map(|&tree| &mut trees[tree]) else {
            continue;
        };
        let end = match line.says {
            LogWords::End => TreeEnd::Whole,
            LogWords::Path => TreeEnd::Followed,
            _ => {
                tree.lines.push(line);
                continue;
            }
        };
        tree.end = end;
        open.remove(&line.process);
    }
    trees
}
