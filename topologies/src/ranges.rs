//! Lists of numbers as Linux prints them.

use std::collections::BTreeSet;

/// The largest number that a list may have: more than Linux has CPUs or NUMA nodes.
const MOST: u32 = 1 << 16;

/// The numbers of a list as Linux prints CPUs and NUMA nodes: `0-15,128-143`. An empty text is an empty
/// list; `None` if it is no list.
///
/// # Examples
/// ```
/// use mapa_topologies::number_list;
///
/// assert_eq!(number_list("0-2,8\n").unwrap().into_iter().collect::<Vec<_>>(), [0, 1, 2, 8]);
/// assert_eq!(number_list("3-1"), None);
/// ```
#[must_use]
pub fn number_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    if text.trim().is_empty() {
        return Some(numbers);
    }
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_is_none() {
        for text in ["a", "3-1", "0-4000000000", "1-", ","] {
            assert_eq!(number_list(text), None, "{text}");
        }
        assert_eq!(number_list("\n"), Some(BTreeSet::new()));
    }
}
