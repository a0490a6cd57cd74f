//! What the levers hold, in the ledger: on the disk before a lever is pulled.

use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mapa_live::levers::{Entry, Journal, LeverError, Pull};

use crate::error::Error;
use crate::ledger::{Kind, Ledger, Note, Sync};

/// The journal of the daemon's levers.
pub(crate) struct LedgerJournal {
    ledger: RefCell<Ledger>,
    owner: String,
    layout: Expected,
}

/// The layout that the next pull brings about: the device and the layout as the ledger has them.
/// Confirming the pull and noting the layout are one change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected(Arc<Mutex<Option<(String, String)>>>);

impl Expected {
    /// Names the layout, or none.
    pub(crate) fn set(&self, layout: Option<(String, String)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = layout;
    }

    fn get(&self) -> Option<(String, String)> {
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        own.clone()
    }
}

impl LedgerJournal {
    /// Opens the journal, with a connection of its own.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub(crate) fn open(ledger: &Path, owner: &str, layout: Expected) -> Result<Self, Error> {
        Ok(Self {
            ledger: RefCell::new(Ledger::open(ledger)?),
            owner: owner.to_owned(),
            layout,
        })
    }
}

fn failed(error: &Error) -> LeverError {
    LeverError::failed("the journal of levers", error.to_string())
}

fn number(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

impl Journal for LedgerJournal {
    fn put(&mut self, entry: &Entry) -> Result<(), LeverError> {
        let text = serde_json::to_string(entry)
            .map_err(|error| LeverError::failed("the journal of levers", error.to_string()))?;
        let is_layout = matches!(entry.pull, Pull::Layout { .. });
        let layout = self.layout.get().filter(|_| is_layout && entry.confirmed);
        let owner = &self.owner;
        let written = self.ledger.borrow_mut().change(Sync::Disk, |books| {
            books.put_pull(number(entry.id), &text)?;
            if let Some((whole, layout)) = &layout {
                books.layout(owner, whole, layout)?;
            }
            if !entry.confirmed {
                books.note(Note {
                    kind: Kind::Lever,
                    owner,
                    lease: None,
                    ticket: None,
                    devices: &[],
                    reason: &format!("pull {}: {}", entry.id, entry.plan.words.join("; ")),
                    expires: None,
                })?;
            }
            Ok(())
        });
        written.map_err(|error| failed(&error))
    }

    fn remove(&mut self, id: u64) -> Result<(), LeverError> {
        let removed = self
            .ledger
            .borrow_mut()
            .change(Sync::Disk, |books| books.remove_pull(number(id)));
        removed.map_err(|error| failed(&error))
    }

    fn entries(&self) -> Result<Vec<Entry>, LeverError> {
        let rows = self.ledger.borrow_mut().read(|books| books.pulls());
        let rows = rows.map_err(|error| failed(&error))?;
        let entry = |(id, text): (i64, String)| {
            serde_json::from_str(&text).map_err(|error| {
                let place = format!("pull {id} in the ledger");
                LeverError::failed(place, format!("{error}: expected an entry of the journal"))
            })
        };
        rows.into_iter().map(entry).collect()
    }
}
