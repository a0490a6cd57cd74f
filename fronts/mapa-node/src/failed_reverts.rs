//! Failed reverts: they are tried again at every poll, and reported when the reason changes.

use std::collections::BTreeMap;

use mapa_live::levers::LeverEvent;

/// Why reverts failed, as last reported, by the number of the change.
#[derive(Debug, Default)]
pub(crate) struct FailedReverts(BTreeMap<u64, String>);

impl FailedReverts {
    /// Whether to report an event: a failed revert only if its reason differs from the last one.
    pub(crate) fn should_report(&mut self, event: &LeverEvent) -> bool {
        match event {
            LeverEvent::RevertFailed { id, left, .. } => {
                let why = words(left);
                // A reason is reported if it differs from the last one, which `insert` returns.
                self.0.insert(*id, why.clone()) != Some(why)
            }
            LeverEvent::Reverted { id, .. } => {
                self.0.remove(id);
                true
            }
            _ => true,
        }
    }
}

/// Why something could not be reverted, in words.
pub(crate) fn words(left: &[mapa_live::levers::LeverError]) -> String {
    let words: Vec<String> = left.iter().map(ToString::to_string).collect();
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use mapa_live::levers::LeverError;

    use super::*;

    #[test]
    fn what_cannot_be_reverted_is_reported_when_the_reason_changes() {
        let mut failed = FailedReverts::default();
        let not = |id, why: &str| LeverEvent::RevertFailed {
            id,
            lever: "mps-percent".to_owned(),
            left: vec![LeverError::failed("a daemon", why)],
        };
        let done = LeverEvent::Reverted {
            id: 1,
            lever: "mps-percent".to_owned(),
        };
        let events = [
            (not(1, "x"), true),
            (not(1, "x"), false),
            (not(2, "x"), true),
            (not(1, "y"), true),
            (not(1, "y"), false),
            (not(2, "x"), false),
            (done, true),
            (not(1, "y"), true),
        ];
        for (at, (event, expected)) in events.iter().enumerate() {
            assert_eq!(failed.should_report(event), *expected, "{at}: {event:?}");
        }
    }
}
