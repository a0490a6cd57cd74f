//! The name that a mistyped one may mean.

/// How similar two names must be, from 0 to 1, for one to be taken for the other mistyped.
const SIMILAR: f64 = 0.8;

/// The same for one of several names that are listed.
const DISTANT: f64 = 0.65;

/// The longest name, in bytes, that may be another mistyped.
const LONGEST: usize = 256;

/// The most similar of the known names, if it is similar enough, for messages on unknown names; ties:
/// the first. Similarity is that of Jaro and Winkler, case-insensitively.
///
/// # Complexity
/// O(n l²) for n names of length l.
///
/// # Examples
/// ```
/// use mapa_topologies::similar;
///
/// assert_eq!(similar("dgx1v", ["dgx-1p", "dgx-1v", "summit"]), Some("dgx-1v"));
/// assert_eq!(similar("toaster", ["dgx-1v", "summit"]), None);
/// ```
#[must_use]
pub fn similar<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    nearest(name, known, SIMILAR).first().copied()
}

/// The known names that are at least so similar, the most similar first; ties: in the order given.
fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>, least: f64) -> Vec<&'n str> {
    // So long a name is none mistyped, and the time grows with its length.
    if name.len() > LONGEST {
        return Vec::new();
    }
    let name = name.to_lowercase();
    let with_similarity =
        |other: &'n str| (strsim::jaro_winkler(&name, &other.to_lowercase()), other);
    let mut found: Vec<(f64, &str)> = known.into_iter().map(with_similarity).collect();
    found.retain(|(similarity, _)| *similarity >= least);
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, other)| other).collect()
}

/// ` (did you mean A, B or C?)` with the three most similar names of a long list, if any is similar at all; else nothing.
/// For messages that do not list all names.
#[must_use]
pub(crate) fn did_you_mean_one_of<'n>(
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> String {
    match nearest(name, known, DISTANT)[..] {
        [] => String::new(),
        [one] => format!(" (did you mean {one}?)"),
        [one, other] => format!(" (did you mean {one} or {other}?)"),
        [first, second, third, ..] => format!(" (did you mean {first}, {second} or {third}?)"),
    }
}

/// ` (did you mean NAME?)` if one of the known names is similar; else nothing. For messages.
#[must_use]
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    similar(name, known).map_or_else(String::new, |nearest| format!(" (did you mean {nearest}?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_no_name_mistyped() {
        // Its first letters would make it similar, after a time that grows with it.
        assert_eq!(similar(&"dgx-1v".repeat(1000), ["dgx-1v"]), None);
        assert_eq!(similar("dgx1v", ["dgx-1v"]), Some("dgx-1v"));
    }
}
