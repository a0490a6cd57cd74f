//! The name that a mistyped one may mean.

/// How similar two names must be, from 0 to 1, for one to be taken for the other mistyped.
const SIMILAR: f64 = 0.8;

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
    let name = name.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for other in known {
        let own = strsim::jaro_winkler(&name, &other.to_lowercase());
        if own >= SIMILAR && best.is_none_or(|(most, _)| own > most) {
            best = Some((own, other));
        }
    }
    best.map(|(_, other)| other)
}

/// ` (did you mean NAME?)` if one of the known names is similar; else nothing. For messages.
#[must_use]
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    similar(name, known).map_or_else(String::new, |nearest| format!(" (did you mean {nearest}?)"))
}
