//! Applies changes through the journal (intent, apply, confirm), and reverts them: when they expire, when their last
//! holder leaves, at the exit, and after a crash.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::error::LeverError;
use super::execute::ApplyFailure;
use super::journal::{Journal, JournalEntry, Lifetime};
use super::lever_set::LeverSet;
use super::planning;
use super::step::{LeverChange, Plan, Step};

/// The result of applying or reverting a change, for a ledger or a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum LeverEvent {
    /// It was carried out, and is held under this number.
    Applied {
        /// The number of its entry in the journal.
        id: u64,
        /// The name of the lever, as [`LeverChange::lever`].
        lever: String,
    },
    /// All was so already, and nobody holds it.
    Unchanged {
        /// The name of the lever, as [`LeverChange::lever`].
        lever: String,
    },
    /// The manager held the same change already; the later expiry counts.
    Extended {
        /// The number of the change that is held.
        id: u64,
        /// The name of the lever, as [`LeverChange::lever`].
        lever: String,
    },
    /// It was refused. Nothing was changed.
    Refused {
        /// The name of the lever, as [`LeverChange::lever`].
        lever: String,
        /// The bound, the thing that is missing, or the change that holds a target.
        why: LeverError,
    },
    /// It failed. Its [`left`](ApplyFailure::left) says whether all is as before.
    Failed {
        /// The number: it stays in the journal, and is reverted again later, if something is left.
        id: u64,
        /// The step that failed, and what could not be reverted.
        failure: ApplyFailure,
    },
    /// The change was reverted.
    Reverted {
        /// The number.
        id: u64,
        /// The lever.
        lever: String,
    },
    /// It could not be reverted, wholly or in part. It stays in the journal, and is tried again.
    RevertFailed {
        /// The number.
        id: u64,
        /// The lever.
        lever: String,
        /// The parts that could not be reverted.
        left: Vec<LeverError>,
    },
}

/// Who needs a change, and what for. Several may need one: MPS has one share for all clients of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// Who: a job, or a tenant.
    pub who: String,
    /// What for: the kind of the limit, or the neighbour that is limited.
    pub what: String,
}

impl Holder {
    /// A holder.
    pub fn new(who: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            who: who.into(),
            what: what.into(),
        }
    }
}

/// The levers of a machine with a journal. A change is reverted when it expires, when the manager is dropped,
/// and, after a crash, when the next manager opens the journal.
///
/// A change for a [`Holder`] lasts until its last holder releases it, or until it expires.
///
/// It reads no clock: callers tell the time, in milliseconds since the boot (`CLOCK_BOOTTIME`). The time of day would do
/// harm: set back, it would keep a throttle; set forward, it would end one too soon.
///
/// # Examples
/// ```
/// use mapa_live::levers::{
///     CgroupPath, LeverManager, LeverEvent, Lifetime, BlockIoLimits, MemoryJournal, LeverChange, SimulatedMachine,
/// };
///
/// let twin = SimulatedMachine::with_group("mapa/etl")?;
/// let (mut manager, _) = LeverManager::open(twin.levers(), MemoryJournal::default(), 0)?;
/// let change = LeverChange::BlockIo {
///     group: CgroupPath::new("mapa/etl")?,
///     device: "254:0".parse()?,
///     limits: BlockIoLimits::mb_s(200),
/// };
/// print!("{}", manager.plan(&change)?); // the dry run
/// let event = manager.apply(&change, Lifetime::Until { ms: 30_000 }, 0);
/// assert!(matches!(event, LeverEvent::Applied { .. }));
/// assert!(manager.revert_expired(29_999).is_empty());
/// assert!(matches!(manager.revert_expired(30_000)[..], [LeverEvent::Reverted { .. }]));
/// # Ok::<(), mapa_live::levers::LeverError>(())
/// ```
pub struct LeverManager<J: Journal> {
    levers: LeverSet,
    journal: J,
    held: BTreeMap<u64, JournalEntry>,
    /// The holders of each change. `None` stands for a holder without a name, such as that of an earlier manager: only
    /// expiry ends such a change.
    holders: BTreeMap<u64, BTreeSet<Option<Holder>>>,
    /// Changes that are carried out elsewhere, or have to be reverted there: nothing here touches them meanwhile.
    away: BTreeSet<u64>,
    next: u64,
    /// The first number of a [rehearsal](Self::rehearse), if this is one. Its changes are held, and were not carried out.
    rehearsed: Option<u64>,
}

/// The next step for a change.
enum Prepared {
    /// Nothing more.
    Over(LeverEvent),
    /// The plan of this entry, which is in the journal.
    Entry(u64),
}

impl<J: Journal> LeverManager<J> {
    /// Opens a journal, and reverts what an earlier manager left: what was not finished, what was for its
    /// session, and what is past its time. What has time left is held on. The time of an entry of another boot is past,
    /// as is one that is further off than [`Bounds::max_duration_s`](super::Bounds) allows: an earlier release counted from
    /// 1970. Of an entry of an earlier boot, what was set on groups, processes and daemons is no more, and is left alone.
    /// The events say what was done.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn open(
        levers: LeverSet,
        journal: J,
        now_ms: u64,
    ) -> Result<(Self, Vec<LeverEvent>), LeverError> {
        let mut entries = journal.entries()?;
        for entry in &mut entries {
            if levers.boot.is_some() && entry.boot.is_some() && entry.boot != levers.boot {
                entry.plan.keep_what_outlives_a_boot();
            }
        }
        let next = entries.last().map_or(1, |entry| entry.id + 1);
        let mut manager = Self {
            levers,
            journal,
            held: entries.into_iter().map(|entry| (entry.id, entry)).collect(),
            holders: BTreeMap::new(),
            away: BTreeSet::new(),
            next,
            rehearsed: None,
        };
        let longest_ms = (manager.levers.bounds.max_duration_s.max).saturating_mul(1000);
        let latest_ms = now_ms.saturating_add(longest_ms);
        let mut events = Vec::new();
        // The last first: a later change may rest on an earlier one, as a limit does on its group.
        let ids: Vec<u64> = manager.held.keys().rev().copied().collect();
        for id in ids {
            let entry = &manager.held[&id];
            let stays = entry.confirmed
                && !entry.plan.is_empty()
                && match entry.lifetime {
                    Lifetime::Until { ms } => {
                        entry.boot == manager.levers.boot && now_ms < ms && ms <= latest_ms
                    }
                    Lifetime::Session => false,
                    Lifetime::Kept => true,
                };
            let settled = entry.confirmed && entry.lifetime == Lifetime::Kept;
            if settled {
                // The crash came between the confirmation and the removal.
                if manager.journal.remove(id).is_ok() {
                    manager.held.remove(&id);
                }
            } else if !stays {
                events.push(manager.release(id));
            }
        }
        // The journal does not name holders. Until a holder adopts an entry, only its time ends it.
        manager.holders = manager.held.keys().map(|&id| (id, [None].into())).collect();
        Ok((manager, events))
    }

    /// Rehearses from now on: each change is planned, checked, refused, held, extended and reverted as ever, but the
    /// machine and the journal stay as they are. What a change needs of earlier ones, such as a group, counts as there.
    /// What an earlier manager has left is real, and is still reverted.
    #[must_use]
    pub fn rehearse(mut self) -> Self {
        self.rehearsed = Some(self.next);
        self
    }

    /// Whether a change is, or was, only rehearsed.
    pub fn is_rehearsed(&self, id: u64) -> bool {
        self.rehearsed.is_some_and(|first| id >= first)
    }

    /// Writes an entry down, unless its change is only rehearsed.
    fn write(&mut self, entry: &JournalEntry) -> Result<(), LeverError> {
        if self.is_rehearsed(entry.id) {
            return Ok(());
        }
        self.journal.put(entry)
    }

    /// The levers. A change that is made by them directly is in no journal.
    pub fn levers(&mut self) -> &mut LeverSet {
        &mut self.levers
    }

    /// The active changes, in the order in which they were applied.
    pub fn active(&self) -> impl Iterator<Item = &JournalEntry> {
        self.held.values()
    }

    /// The dry run of a change.
    ///
    /// # Errors
    /// As for [`LeverSet::plan`].
    pub fn plan(&self, change: &LeverChange) -> Result<Plan, LeverError> {
        let held = self.held.values();
        let rehearsed = held.filter(|entry| self.is_rehearsed(entry.id));
        let before: Vec<&Step> = rehearsed.flat_map(|entry| &entry.plan.steps).collect();
        planning::plan(&self.levers, &before, change)
    }

    /// Applies a change: writes the plan down, carries it out, confirms it. A change that is held already only
    /// gets the new lifetime, if that is longer.
    pub fn apply(&mut self, change: &LeverChange, lifetime: Lifetime, now_ms: u64) -> LeverEvent {
        self.apply_held_by(None, change, lifetime, now_ms)
    }

    /// Applies a change for a holder, which lets go of it by [`free`](Self::free) or [`leave`](Self::leave).
    pub fn apply_for(
        &mut self,
        holder: &Holder,
        change: &LeverChange,
        lifetime: Lifetime,
        now_ms: u64,
    ) -> LeverEvent {
        self.apply_held_by(Some(holder.clone()), change, lifetime, now_ms)
    }

    fn apply_held_by(
        &mut self,
        holder: Option<Holder>,
        change: &LeverChange,
        lifetime: Lifetime,
        now_ms: u64,
    ) -> LeverEvent {
        let lever = change.lever().to_owned();
        let event = match self.try_apply(change, lifetime, now_ms) {
            Ok(event) => event,
            Err(why) => LeverEvent::Refused { lever, why },
        };
        if let LeverEvent::Applied { id, .. } | LeverEvent::Extended { id, .. } = &event
            // One that is kept is nobody's.
            && self.held.contains_key(id)
        {
            self.holders.entry(*id).or_default().insert(holder);
        }
        event
    }

    /// Gives a change without a named holder, such as one of an earlier manager, to a holder.
    pub fn adopt(&mut self, id: u64, holder: Holder) {
        if let Some(holders) = self.holders.get_mut(&id) {
            holders.remove(&None);
            holders.insert(Some(holder));
        }
    }

    /// Makes a holder need all that others hold for the same: of two who ask for other limits on one neighbour the
    /// second is refused, and needs that of the first.
    pub fn share(&mut self, holder: &Holder) {
        for holders in self.holders.values_mut() {
            if holders
                .iter()
                .flatten()
                .any(|of_entry| of_entry.what == holder.what)
            {
                holders.insert(Some(holder.clone()));
            }
        }
    }

    /// The changes that a holder needs, in the order of the changes.
    pub fn needed_by(&self, holder: &Holder) -> impl Iterator<Item = u64> {
        let needs = |candidate: &&Option<Holder>| candidate.as_ref() == Some(holder);
        self.holders
            .iter()
            .filter(move |(_, values)| values.iter().any(|holder| needs(&holder)))
            .map(|(id, _)| *id)
    }

    /// Holders let go of all that they need. Changes without a holder are reverted, the last first.
    pub fn free(&mut self, is: impl Fn(&Holder) -> bool) -> Vec<LeverEvent> {
        let mut free = Vec::new();
        for (&id, holders) in self.holders.iter_mut().rev() {
            let before = holders.len();
            holders.retain(|other| !other.as_ref().is_some_and(&is));
            if holders.is_empty() && before > 0 {
                free.push(id);
            }
        }
        free.into_iter().filter_map(|id| self.revert(id)).collect()
    }

    /// Releases one change for a holder; the change is reverted if it has no other holder.
    pub fn leave(&mut self, holder: &Holder, id: u64) -> Option<LeverEvent> {
        let holders = self.holders.get_mut(&id)?;
        holders.retain(|other| other.as_ref() != Some(holder));
        holders.is_empty().then(|| self.revert(id)).flatten()
    }

    /// Begins a change that the caller carries out elsewhere, because it takes long: by [`LeverSet::apply`] of levers of its own
    /// with this plan, which is in the journal under this number. The outcome goes to [`finish`](Self::finish). Meanwhile
    /// nobody else gets what the change is about, and neither time nor the exit of the program reverts it; the next manager
    /// does.
    ///
    /// # Errors
    /// What became of the change, if there is nothing to be carried out: it was refused, or all is so already.
    pub fn begin(
        &mut self,
        change: &LeverChange,
        lifetime: Lifetime,
        now_ms: u64,
    ) -> Result<(u64, Plan), LeverEvent> {
        match self.prepare(change, lifetime, now_ms) {
            Ok(Prepared::Entry(id)) => {
                self.away.insert(id);
                Ok((id, self.held[&id].plan.clone()))
            }
            Ok(Prepared::Over(event)) => Err(event),
            Err(why) => Err(LeverEvent::Refused {
                lever: change.lever().to_owned(),
                why,
            }),
        }
    }

    /// Ends a change that was carried out elsewhere. Of one that failed and left something behind, and of one that cannot be
    /// confirmed, the caller reverts the plan: [`left_away`](Self::left_away). `None`: no such change is under way.
    pub fn finish(&mut self, id: u64, done: Result<(), ApplyFailure>) -> Option<LeverEvent> {
        if !self.away.contains(&id) {
            return None;
        }
        let event = self.complete(id, done);
        if let LeverEvent::Applied { .. } = &event {
            self.away.remove(&id);
            if self.held.contains_key(&id) {
                self.holders.entry(id).or_default().insert(None);
            }
        }
        Some(event)
    }

    /// The changes that were carried out elsewhere, and of which something is left that must be reverted there: by
    /// [`LeverSet::revert`] of their plan. The outcome goes to [`finish_revert`](Self::finish_revert).
    pub fn left_away(&self) -> impl Iterator<Item = &JournalEntry> {
        let over = Lifetime::Until { ms: 0 };
        let away = self.away.iter().filter_map(|id| self.held.get(id));
        away.filter(move |entry| entry.lifetime == over)
    }

    /// Ends the revert of a change elsewhere. What could not be reverted is still [left](Self::left_away). `None`: no such change is
    /// under way.
    pub fn finish_revert(
        &mut self,
        id: u64,
        done: Result<(), Vec<LeverError>>,
    ) -> Option<LeverEvent> {
        self.away.contains(&id).then(|| self.released(id, done))
    }

    fn try_apply(
        &mut self,
        change: &LeverChange,
        lifetime: Lifetime,
        now_ms: u64,
    ) -> Result<LeverEvent, LeverError> {
        let id = match self.prepare(change, lifetime, now_ms)? {
            Prepared::Over(event) => return Ok(event),
            Prepared::Entry(id) => id,
        };
        let done = match self.is_rehearsed(id) {
            true => Ok(()),
            false => self.levers.apply(&self.held[&id].plan),
        };
        Ok(self.complete(id, done))
    }

    /// Plans a change and writes the plan down, if there is something to do.
    ///
    /// # Errors
    /// It is out of bounds, somebody else holds what it is about, or it cannot be planned or written down.
    fn prepare(
        &mut self,
        change: &LeverChange,
        lifetime: Lifetime,
        now_ms: u64,
    ) -> Result<Prepared, LeverError> {
        if let Lifetime::Until { ms } = lifetime {
            // Rounded up, so that a fraction of a second beyond the bound is refused.
            let seconds = ms.saturating_sub(now_ms).div_ceil(1000);
            self.levers
                .bounds
                .max_duration_s
                .check("max_duration_s", seconds, "s")?;
        }
        let lever = change.lever().to_owned();
        let same = |entry: &&JournalEntry| entry.confirmed && entry.change == *change;
        if let Some(entry) = self.held.values().find(same) {
            if self.rehearsed.is_some() && !self.is_rehearsed(entry.id) {
                return Ok(Prepared::Over(LeverEvent::Extended {
                    id: entry.id,
                    lever,
                }));
            }
            let lifetime = entry.lifetime.longer(lifetime);
            let entry = JournalEntry {
                lifetime,
                ..entry.clone()
            };
            self.write(&entry)?;
            let id = entry.id;
            self.held.insert(id, entry);
            if lifetime == Lifetime::Kept {
                self.settle(id);
            }
            return Ok(Prepared::Over(LeverEvent::Extended { id, lever }));
        }
        let targets = change.targets();
        let holds =
            |entry: &&JournalEntry| entry.change.targets().iter().any(|at| targets.contains(at));
        // Also an entry that could not be reverted: its targets are not as they were before it.
        if let Some(entry) = self.held.values().find(holds) {
            return Err(LeverError::busy(
                targets.join(", "),
                format!("pull {} of {} holds it", entry.id, entry.plan.lever),
            ));
        }
        let plan = self.plan(change)?;
        if plan.is_empty() {
            return Ok(Prepared::Over(LeverEvent::Unchanged { lever }));
        }
        let id = self.next;
        let entry = JournalEntry {
            id,
            change: change.clone(),
            plan,
            lifetime,
            confirmed: false,
            boot: self.levers.boot.clone(),
        };
        // If this fails, nothing has changed, and the number is still free.
        self.write(&entry)?;
        self.next += 1;
        self.held.insert(id, entry);
        Ok(Prepared::Entry(id))
    }

    /// Confirms a change that was carried out, and crosses out one that failed without a trace. One of which something is left
    /// stays in the journal, to be reverted.
    fn complete(&mut self, id: u64, done: Result<(), ApplyFailure>) -> LeverEvent {
        if let Err(failure) = done {
            if failure.left.is_empty() && self.journal.remove(id).is_ok() {
                self.forget(id);
            } else if let Some(entry) = self.held.get_mut(&id) {
                // It is reverted by the next tick.
                entry.lifetime = Lifetime::Until { ms: 0 };
            }
            return LeverEvent::Failed { id, failure };
        }
        let mut entry = self.held[&id].clone();
        entry.confirmed = true;
        let lever = entry.plan.lever.clone();
        if let Err(why) = self.write(&entry) {
            // A change that is not confirmed would be reverted after a crash, and kept without one.
            let left = if self.away.contains(&id) {
                vec![why.clone()]
            } else {
                self.levers.revert(&entry.plan).err().unwrap_or_default()
            };
            let step = entry.plan.steps.len();
            if left.is_empty() {
                let _ = self.journal.remove(id);
                self.forget(id);
            } else {
                self.held.insert(id, entry);
                self.give_up(id);
            }
            let failure = ApplyFailure {
                lever,
                step,
                why: Box::new(why),
                left,
            };
            return LeverEvent::Failed { id, failure };
        }
        let is_kept = entry.lifetime == Lifetime::Kept;
        self.held.insert(id, entry);
        if is_kept {
            self.settle(id);
        }
        LeverEvent::Applied { id, lever }
    }

    fn forget(&mut self, id: u64) {
        self.held.remove(&id);
        self.holders.remove(&id);
        self.away.remove(&id);
    }

    /// A change that is kept is nothing to be held any longer.
    fn settle(&mut self, id: u64) {
        if self.journal.remove(id).is_ok() {
            self.forget(id);
        }
    }

    /// Reverts a change now. `None`: nothing is held under this number, or it is [under way](Self::begin) elsewhere.
    pub fn revert(&mut self, id: u64) -> Option<LeverEvent> {
        let is_here = self.held.contains_key(&id) && !self.away.contains(&id);
        is_here.then(|| self.release(id))
    }

    /// Reverts what is past its time, the last change first.
    pub fn revert_expired(&mut self, now_ms: u64) -> Vec<LeverEvent> {
        // What is kept is here only if the journal could not cross it out.
        let kept = |entry: &JournalEntry| entry.confirmed && entry.lifetime == Lifetime::Kept;
        let kept: Vec<u64> = (self.held.iter())
            .filter(|(_, entry)| kept(entry))
            .map(|(id, _)| *id)
            .collect();
        kept.into_iter().for_each(|id| self.settle(id));
        let away = &self.away;
        let past = |entry: &JournalEntry| {
            let is_past = matches!(entry.lifetime, Lifetime::Until { ms } if ms <= now_ms);
            is_past && !away.contains(&entry.id)
        };
        let ids: Vec<u64> = self
            .held
            .iter()
            .rev()
            .filter(|(_, entry)| past(entry))
            .map(|(id, _)| *id)
            .collect();
        ids.into_iter().map(|id| self.release(id)).collect()
    }

    /// Reverts all that is held, the last change first: the exit of a program. Dropping does the same, and
    /// tells nobody. What is [under way](Self::begin) elsewhere is left to the next manager.
    pub fn close(&mut self) -> Vec<LeverEvent> {
        // Kept for good, and here only because the journal could not cross it out; or under way elsewhere.
        let away = &self.away;
        let stays = |entry: &JournalEntry| {
            (entry.confirmed && entry.lifetime == Lifetime::Kept) || away.contains(&entry.id)
        };
        let ids: Vec<u64> = self
            .held
            .iter()
            .rev()
            .filter(|(_, entry)| !stays(entry))
            .map(|(id, _)| *id)
            .collect();
        ids.into_iter().map(|id| self.release(id)).collect()
    }

    fn release(&mut self, id: u64) -> LeverEvent {
        let reverted = match self.is_rehearsed(id) {
            true => Ok(()),
            false => self.levers.revert(&self.held[&id].plan),
        };
        self.released(id, reverted)
    }

    /// Crosses out a change that was reverted.
    fn released(&mut self, id: u64, reverted: Result<(), Vec<LeverError>>) -> LeverEvent {
        let lever = self.held[&id].plan.lever.clone();
        // Of one that cannot be reverted nobody is a holder any more: it is tried again until it is.
        self.holders.remove(&id);
        // Crossed out last. If the program dies in between, the next manager reverts it once more,
        // which changes nothing.
        let reverted = reverted.and_then(|()| self.journal.remove(id).map_err(|why| vec![why]));
        match reverted {
            Ok(()) => {
                self.forget(id);
                LeverEvent::Reverted { id, lever }
            }
            Err(left) => {
                self.give_up(id);
                LeverEvent::RevertFailed { id, lever, left }
            }
        }
    }

    /// A change of which something is left is no longer held as it was asked for: every tick reverts it, and so does
    /// the next manager.
    fn give_up(&mut self, id: u64) {
        let Some(entry) = self.held.get_mut(&id) else {
            return;
        };
        let over = Lifetime::Until { ms: 0 };
        if entry.confirmed || entry.lifetime != over {
            (entry.confirmed, entry.lifetime) = (false, over);
            // Without this a manager after a crash may hold it on for its time, and reverts it then.
            let _ = self.journal.put(entry);
        }
    }
}

impl<J: Journal> Drop for LeverManager<J> {
    fn drop(&mut self) {
        // Whoever wants to know calls `close`. What cannot be reverted is in the journal.
        let _ = self.close();
    }
}
