//! What levers could not take back. It is tried again all the time, and told once.

use std::collections::BTreeMap;

use mapa_live::levers::LeverEvent;

/// By the number of a pull: why it could not be taken back, as it was told last.
#[derive(Debug, Default)]
pub(crate) struct FailedReverts(BTreeMap<u64, String>);

impl FailedReverts {
    /// Whether a fact is worth telling: a pull that cannot be taken back is, when the reason is another than
    /// at the last try.
    pub(crate) fn is_news(&mut self, fact: &LeverEvent) -> bool {
        match fact {
            LeverEvent::RevertFailed { id, left, .. } => {
                let why = words(left);
                // A reason is news if it differs from the last one, which `insert` returns.
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

/// Why something could not be taken back, in words.
pub(crate) fn words(left: &[mapa_live::levers::LeverError]) -> String {
    let words: Vec<String> = left.iter().map(ToString::to_string).collect();
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use mapa_live::levers::LeverError;

    use super::*;

    #[test]
    fn what_cannot_be_taken_back_is_news_when_the_reason_changes() {
        let mut told = FailedReverts::default();
        let not = |id, why: &str| LeverEvent::RevertFailed {
            id,
            lever: "mps-percent".to_owned(),
            left: vec![LeverError::failed("a daemon", why)],
        };
        let done = LeverEvent::Reverted {
            id: 1,
            lever: "mps-percent".to_owned(),
        };
        let facts = [
            (not(1, "x"), true),
            (not(1, "x"), false),
            (not(2, "x"), true),
            (not(1, "y"), true),
            (not(1, "y"), false),
            (not(2, "x"), false),
            (done, true),
            (not(1, "y"), true),
        ];
        for (at, (fact, expected)) in facts.iter().enumerate() {
            assert_eq!(told.is_news(fact), *expected, "{at}: {fact:?}");
        }
    }
}
