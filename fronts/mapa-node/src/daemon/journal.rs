//! The journal of changes, written to the disk before a change is applied.
//!
//! A user who can write an entry can make the daemon revert anything that the entry names, with the rights of the daemon's user. So entries are in a
//! folder of that user alone, and the ledger, which a group may write, has their words for the audit
//! and nothing that a program acts on.

use std::path::{Path, PathBuf};

use tracing::warn;

use mapa_live::levers::{FolderJournal, Journal, JournalEntry, LeverChange, LeverError, Step};

use crate::error::Error;
use crate::leader::{self, Leader};
use crate::ledger::{AuditEntry, AuditKind, Durability, Ledger, SHARED};

/// The journal of the levers of daemons that use the ledger of all users.
const OF_SHARED: &str = "/var/lib/mapa-node/pulls";

/// The journal of the daemon's levers.
pub(crate) struct NodeJournal {
    entries: FolderJournal,
    ledger: Ledger,
    leader: Leader,
}

impl NodeJournal {
    /// Opens the journal in this folder.
    ///
    /// # Errors
    /// As [`FolderJournal::open`] and [`Ledger::open`].
    pub(crate) fn open(folder: &Path, ledger: &Path, leader: &Leader) -> Result<Self, Error> {
        let entries = FolderJournal::open(folder).map_err(|error| {
            Error::at(
                "levers",
                format_args!("{error}; `levers.journal` names another"),
            )
        })?;
        let mut ledger = Ledger::open(ledger)?;
        let aside = entries.set_unreadable_aside();
        let aside = aside.map_err(|error| Error::at("levers", error))?;
        if !aside.is_empty() {
            ledger.change(Durability::Boot, |books| {
                aside.iter().try_for_each(|file| {
                    let words = unreadable(file);
                    let entry = AuditEntry::new(AuditKind::Lever, &leader.owner, &words);
                    books.note(entry).map(drop)
                })
            })?;
        }
        for file in &aside {
            warn!("{}", unreadable(file));
        }
        Ok(Self {
            entries,
            ledger,
            leader: leader.clone(),
        })
    }
}

/// The message about an entry that cannot be read.
fn unreadable(file: &Path) -> String {
    format!(
        "{}: an entry of the journal that cannot be read was set aside: look which change it names, and revert it by hand",
        file.display()
    )
}

/// Where the levers' journal is, if the configuration does not say: beside the ledger of this file, and
/// never in the folder that all users share.
pub(crate) fn folder_of(ledger: &Path) -> PathBuf {
    if ledger.parent() == Some(Path::new(SHARED)) {
        return OF_SHARED.into();
    }
    let mut name = ledger.as_os_str().to_owned();
    name.push(".pulls");
    name.into()
}

/// Whether an entry is one that the daemon writes.
fn is_own(entry: &JournalEntry) -> bool {
    let change = matches!(
        entry.change,
        LeverChange::BlockIo { .. }
            | LeverChange::AssignCgroup { .. }
            | LeverChange::Affinity { .. }
            | LeverChange::MpsPercent { .. }
            | LeverChange::Layout { .. }
            | LeverChange::HandOver { .. }
    );
    let is_of_daemon = |step: &Step| {
        matches!(
            step,
            Step::MakeGroup { .. }
                | Step::PassOn { .. }
                | Step::Join { .. }
                | Step::Limits { .. }
                | Step::Affinity { .. }
                | Step::MpsPercent { .. }
                | Step::MigMode { .. }
                | Step::Create { .. }
                | Step::Destroy { .. }
        )
    };
    let is_hand_over = matches!(entry.change, LeverChange::HandOver { .. });
    let of_hand_over = |step: &Step| {
        let is_its = matches!(
            step,
            Step::Start { .. } | Step::Stop { .. } | Step::Route { .. }
        );
        is_hand_over && is_its
    };
    let mut steps = entry.plan.steps.iter();
    change && steps.all(|step| is_of_daemon(step) || of_hand_over(step))
}

impl Journal for NodeJournal {
    fn put(&mut self, entry: &JournalEntry) -> Result<(), LeverError> {
        let leader = &self.leader;
        let noted = self.ledger.change(Durability::Boot, |books| {
            leader::heartbeat(books, leader)?;
            if !entry.confirmed {
                let words = format!("change {}: {}", entry.id, entry.plan.words.join("; "));
                books.note(AuditEntry::new(AuditKind::Lever, &leader.owner, &words))?;
            }
            Ok(())
        });
        noted.map_err(|error| LeverError::failed("the journal of levers", error.to_string()))?;
        self.entries.put(entry)
    }

    // Also after another daemon has taken the queue: the journal is open here, so no other process reverts this.
    fn remove(&mut self, id: u64) -> Result<(), LeverError> {
        self.entries.remove(id)
    }

    fn entries(&self) -> Result<Vec<JournalEntry>, LeverError> {
        let entries = self.entries.entries()?;
        if let Some(strange) = entries.iter().find(|entry| !is_own(entry)) {
            return Err(LeverError::failed(
                format!(
                    "change {} ({}) in the journal",
                    strange.id, strange.plan.lever
                ),
                "no daemon makes this change: expected a journal of mapa-node alone",
            ));
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use mapa_live::levers::{
        LeverManager, LeverSet, Lifetime, Plan, ProgramSpec, SimulatedMachine,
    };

    use super::*;
    use mapa_live::{Identity, ProcessId, Processes};

    fn strange() -> JournalEntry {
        let program = ProgramSpec::new("evil", ["touch", "/tmp/evil"]);
        JournalEntry {
            id: 1,
            change: LeverChange::Stop {
                program: program.clone(),
            },
            plan: Plan {
                lever: "stop".to_owned(),
                steps: vec![Step::Stop { program }],
                words: vec!["stop".to_owned()],
                warnings: Vec::new(),
            },
            lifetime: Lifetime::Session,
            confirmed: true,
            boot: None,
        }
    }

    /// This process as a daemon.
    fn leader() -> Leader {
        Leader {
            process: Processes::new().unwrap().own().unwrap(),
            owner: "test".to_owned(),
            scheduler: "fifo".to_owned(),
        }
    }

    #[test]
    fn journal_entries_of_other_programs_are_not_reverted() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.db");
        let leader = leader();
        let journal = folder_of(&ledger);
        FolderJournal::open(&journal)
            .unwrap()
            .put(&strange())
            .unwrap();
        let journal = NodeJournal::open(&journal, &ledger, &leader).unwrap();
        let levers: LeverSet = SimulatedMachine::new().levers();
        let error = LeverManager::open(levers, journal, 0).err().unwrap();
        assert!(
            error.to_string().contains("no daemon makes this change"),
            "{error}"
        );
    }

    /// A file that a damage of the disk has cut.
    #[test]
    fn an_entry_that_is_cut_is_set_aside_and_the_audit_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.db");
        let journal = folder_of(&ledger);
        drop(FolderJournal::open(&journal).unwrap());
        let cut = serde_json::to_string(&strange()).unwrap();
        std::fs::write(journal.join("1.json"), &cut[..cut.len() / 2]).unwrap();
        let opened = NodeJournal::open(&journal, &ledger, &leader()).unwrap();
        assert!(opened.entries().unwrap().is_empty());
        assert!(journal.join("1.json.unreadable").exists());
        let mut books = Ledger::open(&ledger).unwrap();
        let log = books.read(|books| books.decisions(10, None)).unwrap();
        assert!(log[0].reason.contains("1.json.unreadable"), "{log:?}");
    }

    #[test]
    fn a_daemon_that_has_lost_the_queue_applies_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.db");
        let leader = leader();
        let mut books = Ledger::open(&ledger).unwrap();
        let journal = NodeJournal::open(&folder_of(&ledger), &ledger, &leader).unwrap();
        let twin = SimulatedMachine::new();
        let (mut manager, _) = LeverManager::open(twin.levers(), journal, 0).unwrap();
        let apply = |manager: &mut LeverManager<NodeJournal>| {
            let group = mapa_live::levers::CgroupPath::new("mapa/x").unwrap();
            let controllers = vec![mapa_live::levers::Controller::BlockIo];
            let change = LeverChange::AssignCgroup {
                process: None,
                group,
                controllers,
            };
            format!("{:?}", manager.apply(&change, Lifetime::Session, 0))
        };
        books
            .change(Durability::Boot, |books| {
                books.acquire_leadership(&leader.owner, &leader.process, &leader.scheduler)
            })
            .unwrap();
        let event = apply(&mut manager);
        assert!(event.starts_with("Applied"), "{event}");
        let process = leader.process;
        let other = Identity {
            id: ProcessId {
                start: process.id.start + 1,
                ..process.id
            },
            ..process
        };
        books
            .change(Durability::Boot, |books| {
                books.acquire_leadership("test", &other, "fifo")
            })
            .unwrap();
        let event = manager.close();
        assert_eq!(event.len(), 1, "{event:?}: what it holds it reverts");
        let event = apply(&mut manager);
        assert!(event.contains("another daemon"), "{event}");
    }

    #[test]
    fn the_journal_is_not_where_all_users_may_write() {
        let of = |path: &str| folder_of(Path::new(path));
        assert_eq!(of("/var/lib/mapa/ledger.db"), Path::new(OF_SHARED));
        assert_eq!(of("/home/a/l.db"), Path::new("/home/a/l.db.pulls"));
    }
}
