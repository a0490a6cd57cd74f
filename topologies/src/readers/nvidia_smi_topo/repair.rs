//! Words of which the white space between them was lost, where a terminal wrapped a line: `SYSSYS`,
//! `NIC7NIC8`, `168-2231`. A word is split where there is one way to do it, and left as it is otherwise.

use crate::machine::Labels;

pub(super) fn is_cell(word: &str) -> bool {
    is_own(word) || Labels::default().parse(word).is_ok()
}

/// Whether a word is the X that stands for a device itself.
pub(super) fn is_own(word: &str) -> bool {
    word.eq_ignore_ascii_case("X")
}

/// Words that cells consist of. None begins with another, so that a text is split in one way.
const CELLS: [&str; 10] = [
    "NODE", "SYS", "SOC", "PHB", "PXB", "PIX", "PSB", "NET", "X", "NV",
];

/// The words of a row, with the glued ones split. Each comes with the character column at which it begins.
pub(super) fn split_cells<'a>(words: &[(&'a str, usize)]) -> Vec<(&'a str, usize)> {
    let mut split = Vec::with_capacity(words.len());
    for &(word, column) in words {
        let parts = if is_cell(word) { None } else { cells(word) };
        let Some(parts) = parts else {
            split.push((word, column));
            continue;
        };
        let mut at = 0;
        for part in parts {
            split.push((part, column + at));
            at += part.chars().count();
        }
    }
    split
}

/// The cells that a word consists of, and what of an affinity is glued to the last; none if it is no such word.
///
/// `NV180-15` could be `NV18` and `0-15` or `NV1` and `80-15`: nothing is split behind a number of links.
fn cells(word: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        let is_affinity = rest == "N/A" || rest.starts_with(|c: char| c.is_ascii_digit());
        if is_affinity && !parts.is_empty() {
            parts.push(rest);
            return Some(parts);
        }
        let kind = CELLS.iter().find(|cell| {
            let begin = rest.get(..cell.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(cell))
        })?;
        let digits = rest[kind.len()..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let end = if *kind == "NV" {
            let end = kind.len() + digits;
            // What follows the number may be its own digits.
            if !is_cell(&rest[..end]) || rest[end..].starts_with(['-', ',']) {
                return None;
            }
            end
        } else {
            kind.len()
        };
        parts.push(&rest[..end]);
        rest = &rest[end..];
    }
    (parts.len() > 1).then_some(parts)
}

/// The labels that a word of a header consists of: `NIC7NIC8`, `GPU0GPU1mlx5_0mlx5_1`.
pub(super) fn labels(word: &str) -> Vec<&str> {
    const BEGINNINGS: [&str; 4] = ["GPU", "NIC", "mlx", "hfi"];
    let begins = |at: &usize| {
        let counted = |begin: &&str| {
            let behind = word[*at..].strip_prefix(*begin);
            behind.is_some_and(|behind| behind.starts_with(|c: char| c.is_ascii_digit()))
        };
        // Within `rocep4s0mlx5` a name would begin as well; a label ends with its number.
        let ended = word[..*at].ends_with(|c: char| c.is_ascii_digit());
        *at == 0 || ended && BEGINNINGS.iter().any(counted)
    };
    let mut starts: Vec<usize> = word
        .char_indices()
        .map(|(at, _)| at)
        .filter(begins)
        .collect();
    starts.push(word.len());
    starts
        .windows(2)
        .map(|pair| &word[pair[0]..pair[1]])
        .collect()
}

/// The list of CPUs and the NUMA node in a word such as `56-111,168-2231`, if its last number is too long for
/// the list. All ranges of a list are alike, so the last ends where it is as long as the first. `length` is the length
/// that the first range of other devices has, for a list of one range.
///
/// None if the list is as it should be, or if it could be split in more than one way.
pub(super) fn split_cpus(word: &str, length: Option<u64>) -> Option<(&str, &str)> {
    let mut ranges = word.split(',').map(range);
    let first = ranges.next()??;
    let expected = match ranges.next_back() {
        Some(_) => len(first)?,
        None => length?,
    };
    let from = word.rfind('-')? + 1;
    let start: u64 = range(word.rsplit(',').next()?)?.0;
    let fits = |at: &usize| {
        let (end, numa) = word.split_at(*at);
        let end = end[from..].parse().ok();
        let whole = numa == "0" || !numa.starts_with('0');
        whole && end.is_some_and(|end| len((start, end)) == Some(expected))
    };
    if len(range(word.rsplit(',').next()?)?) == Some(expected) {
        return None;
    }
    let mut found = (from + 1..word.len()).filter(fits);
    let at = found.next()?;
    found.next().is_none().then(|| word.split_at(at))
}

/// The number of CPUs in the first range of a list.
pub(super) fn first_length(list: &str) -> Option<u64> {
    len(range(list.split(',').next()?)?)
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once('-')?;
    from.parse().ok().zip(to.parse().ok())
}

fn len((from, to): (u64, u64)) -> Option<u64> {
    to.checked_sub(from).map(|more| more + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glued_cells_are_split_where_there_is_one_way() {
        let parts = |word| cells(word).unwrap();
        assert_eq!(parts("SYSSYS"), ["SYS", "SYS"]);
        assert_eq!(parts("PIXNODEX"), ["PIX", "NODE", "X"]);
        assert_eq!(parts("NV18NV1X"), ["NV18", "NV1", "X"]);
        assert_eq!(parts("NODE0-47,96-143"), ["NODE", "0-47,96-143"]);
        assert_eq!(parts("SYSN/A"), ["SYS", "N/A"]);
        for word in ["SYS", "NV18", "NV180-15", "SYSTEM", "NODE-LOCAL", "XY", ""] {
            assert_eq!(cells(word), None, "{word}");
        }
    }

    #[test]
    fn glued_labels_are_split_behind_their_numbers() {
        assert_eq!(labels("NIC7NIC8"), ["NIC7", "NIC8"]);
        assert_eq!(
            labels("GPU0GPU12mlx5_0mlx5_10"),
            ["GPU0", "GPU12", "mlx5_0", "mlx5_10"]
        );
        for word in ["NIC7", "rocep4s0f0", "mlx5_bond_0", "bond0-NIC"] {
            assert_eq!(labels(word), [word]);
        }
    }

    #[test]
    fn a_numa_node_is_split_from_a_list_whose_ranges_are_alike() {
        assert_eq!(
            split_cpus("56-111,168-2231", None),
            Some(("56-111,168-223", "1"))
        );
        assert_eq!(split_cpus("64-1271", Some(64)), Some(("64-127", "1")));
        assert_eq!(split_cpus("0-630", Some(64)), Some(("0-63", "0")));
        for (list, length) in [
            ("56-111,168-223", None),
            ("0-15", None),
            ("0-15", Some(16)),
            ("0,2,4,6", None),
            ("0-7,16-99", None),
            ("", None),
        ] {
            assert_eq!(split_cpus(list, length), None, "{list}");
        }
    }
}
