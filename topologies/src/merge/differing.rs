//! Pairs of devices on which two dumps differ.

use super::contradiction::Contradiction;
use super::source::{DumpSource, infos};

/// Pairs on which two dumps differ, grouped by how they differ.
#[derive(Default)]
pub(super) struct Differing {
    /// The two statements, the first pair with them, and the number of such pairs.
    groups: Vec<((String, String), String, usize)>,
}

impl Differing {
    /// Adds a pair of devices, by `source`'s numbering.
    pub(super) fn add(
        &mut self,
        source: &DumpSource<'_>,
        (a, b): (usize, usize),
        kept: String,
        dropped: String,
    ) {
        let said = (kept, dropped);
        if let Some((_, _, count)) = self.groups.iter_mut().find(|(other, ..)| *other == said) {
            *count += 1;
            return;
        }
        let name = |device: usize| {
            infos(source)
                .nth(device)
                .map_or_else(String::new, |(node, _)| node.name.clone())
        };
        self.groups
            .push((said, format!("{} - {}", name(a), name(b)), 1));
    }

    /// One contradiction for each group.
    pub(super) fn report(
        self,
        what: &str,
        kept_by: &DumpSource<'_>,
        dropped_by: &DumpSource<'_>,
    ) -> impl Iterator<Item = Contradiction> {
        self.groups
            .into_iter()
            .map(move |((kept, dropped), pair, count)| Contradiction {
                about: match count {
                    1 => format!("{pair}, {what}"),
                    2 => format!("{pair} and another pair, {what}"),
                    _ => format!("{pair} and {} other pairs, {what}", count - 1),
                },
                kept: kept_by.says_of(kept),
                dropped: dropped_by.says_of(dropped),
            })
    }
}
