//! What the allocations of a process hold of its leases, for programs whose tasks nobody has marked.
//!
//! The first allocations have a lease each, of exactly their bytes. A session has few leases, and a
//! program may have thousands of allocations. So from the [`EXACT`]th lease on a new one is larger
//! than what it is for, in proportion to all that is leased, and later allocations find room in it. What
//! is beyond the allocation is taken only where it is free at once, and lessened until it is: so as memory
//! becomes scarce each lease still takes most of what is left.
//! A lease is given back when none of its allocations is left. What is held is never more than what
//! is leased.

use std::collections::BTreeMap;
use std::sync::MutexGuard;

use crate::error::Error;
use crate::message::Status;

/// How many leases have exactly the bytes of one allocation.
const EXACT: usize = 24;

/// A later lease is at least all that is leased divided by this: 31 of them are a thousand times as
/// much as the first [`EXACT`].
const SHARE: u64 = 4;

/// A lease that is not free at once is lessened by its bytes divided by this.
const STEP: u64 = 8;

/// By what an allocation is known. Numbers of different kinds may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AllocationKey {
    /// Memory, by its address.
    Memory(u64),
    /// An array, by its handle.
    Array(u64),
    /// Physical memory without an address, by its handle.
    Physical(u64),
}

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownAllocation {
    number: u64,
    room: LeaseRange,
    context: u64,
}

/// A part of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseRange {
    /// The name of the lease's task.
    pub(crate) lease: u64,
    bytes: u64,
}

#[derive(Debug)]
struct LeaseSpace {
    bytes: u64,
    used: u64,
    /// The allocations that use it, or are about to.
    users: usize,
}

/// Room for an allocation: in a lease that there is, else in a new one. `begin` asks for a lease by its
/// name and bytes, and for those at once or for as long as it takes; the holdings are not locked then.
/// Only the allocation's own bytes are waited for.
pub(crate) fn room<'a>(
    holdings: impl Fn() -> MutexGuard<'a, Holdings>,
    bytes: u64,
    begin: impl Fn(u64, u64, bool) -> Result<(), Error>,
) -> Result<LeaseRange, Error> {
    let (name, mut ask) = {
        let mut holdings = holdings();
        if let Some(room) = holdings.find_room(bytes) {
            return Ok(room);
        }
        (holdings.name(), holdings.to_ask(bytes))
    };
    let begun = loop {
        let is_padded = ask > bytes;
        match begin(name, ask, is_padded) {
            Err(Error::OutOfMemory) if is_padded => ask = bytes.max(ask - ask.div_ceil(STEP)),
            begun => break begun,
        }
    };
    match begun {
        Ok(()) => Ok(holdings().granted(name, ask, bytes)),
        // Another thread has had the last lease: there may be room in it.
        Err(error @ Error::Refused(Status::Quota)) => holdings().find_room(bytes).ok_or(error),
        Err(error) => Err(error),
    }
}

/// The allocations and leases of a process.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    allocations: BTreeMap<AllocationKey, KnownAllocation>,
    leases: BTreeMap<u64, LeaseSpace>,
    numbers: u64,
}

impl Holdings {
    /// Room in a lease that there is: in the one with the least that suffices.
    pub(crate) fn find_room(&mut self, bytes: u64) -> Option<LeaseRange> {
        let fitting = self.leases.iter_mut().filter_map(|(&name, lease)| {
            let left = lease.bytes - lease.used;
            (bytes > 0 && left >= bytes).then_some((left, name, lease))
        });
        let (_, lease, own) = fitting.min_by_key(|(left, name, _)| (*left, *name))?;
        own.used += bytes;
        own.users += 1;
        Some(LeaseRange { lease, bytes })
    }

    /// The bytes of the lease to ask for, for an allocation of so many.
    pub(crate) fn to_ask(&self, bytes: u64) -> u64 {
        if self.leases.len() < EXACT {
            return bytes;
        }
        let all: u64 = self.leases.values().map(|lease| lease.bytes).sum();
        bytes.max(all / SHARE)
    }

    /// A name for a new lease.
    pub(crate) fn name(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Notes a lease that was granted, and takes room in it.
    pub(crate) fn granted(&mut self, lease: u64, leased: u64, bytes: u64) -> LeaseRange {
        let own = LeaseSpace {
            bytes: leased,
            used: bytes,
            users: 1,
        };
        self.leases.insert(lease, own);
        LeaseRange { lease, bytes }
    }

    /// Gives room back. Returns the lease to end, if nobody uses it any more.
    #[must_use]
    pub(crate) fn give_back(&mut self, room: LeaseRange) -> Option<u64> {
        let own = self.leases.get_mut(&room.lease)?;
        own.used -= room.bytes;
        own.users -= 1;
        if own.users > 0 {
            return None;
        }
        self.leases.remove(&room.lease);
        Some(room.lease)
    }

    /// Notes an allocation of this context, 0 for none. Returns the lease to end, if memory that was
    /// known as this was freed where it was not seen.
    #[must_use]
    pub(crate) fn allocated(
        &mut self,
        held: AllocationKey,
        room: LeaseRange,
        context: u64,
    ) -> Option<u64> {
        let number = self.name();
        let own = KnownAllocation {
            number,
            room,
            context,
        };
        let before = self.allocations.insert(held, own)?;
        self.give_back(before.room)
    }

    /// The number of the allocation that is known as this.
    pub(crate) fn number(&self, held: AllocationKey) -> Option<u64> {
        Some(self.allocations.get(&held)?.number)
    }

    /// The allocations of a context, of all for none; with their numbers.
    pub(crate) fn of(&self, context: Option<u64>) -> Vec<(AllocationKey, u64)> {
        let all = self.allocations.iter();
        let own = all
            .filter(|(_, allocation)| context.is_none_or(|context| allocation.context == context));
        own.map(|(held, allocation)| (*held, allocation.number))
            .collect()
    }

    /// Notes that memory was freed. If another allocation is known as this by now, nothing is left to
    /// note. Returns the lease to end.
    #[must_use]
    pub(crate) fn freed(&mut self, held: AllocationKey, number: u64) -> Option<u64> {
        if self.number(held) != Some(number) {
            return None;
        }
        let own = self.allocations.remove(&held)?;
        self.give_back(own.room)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Allocates, as a process does whose manager grants all. Returns the bytes asked for.
    fn allocate(all: &mut Holdings, held: AllocationKey, bytes: u64, context: u64) -> u64 {
        let (room, asked) = match all.find_room(bytes) {
            Some(room) => (room, 0),
            None => {
                let (name, ask) = (all.name(), all.to_ask(bytes));
                (all.granted(name, ask, bytes), ask)
            }
        };
        assert_eq!(all.allocated(held, room, context), None);
        asked
    }

    fn free(all: &mut Holdings, held: AllocationKey) -> Option<u64> {
        let number = all.number(held)?;
        all.freed(held, number)
    }

    #[test]
    fn thousands_of_allocations_share_fewer_leases_than_a_session_has() {
        let mut all = Holdings::default();
        let mut asked = 0;
        for address in 0..20_000 {
            asked += allocate(&mut all, AllocationKey::Memory(address), 2 << 20, 1);
            assert!(all.leases.len() <= 64);
        }
        let held = 20_000 * (2 << 20);
        assert!(held <= asked && asked < held / 4 * 5, "{held} {asked}");
        for address in 0..20_000 {
            free(&mut all, AllocationKey::Memory(address));
        }
        assert!(all.leases.is_empty());
    }

    #[test]
    fn all_of_an_instance_can_be_had_and_only_exact_bytes_are_waited_for() {
        const LIMIT: u64 = 40_000_000_000;
        const EACH: u64 = 2 << 20;
        let all = Mutex::new(Holdings::default());
        let lock = || all.lock().unwrap();
        let waited = Mutex::new(Vec::new());
        let begin = |_, bytes: u64, at_once: bool| {
            let held: u64 = lock().leases.values().map(|lease| lease.bytes).sum();
            if held + bytes <= LIMIT {
                return match lock().leases.len() {
                    64.. => Err(Error::Refused(Status::Quota)),
                    _ => Ok(()),
                };
            }
            if !at_once {
                waited.lock().unwrap().push(bytes);
            }
            Err(Error::OutOfMemory)
        };
        let mut count = 0;
        let refused = loop {
            match room(lock, EACH, begin) {
                Ok(own) => assert_eq!(lock().allocated(AllocationKey::Memory(count), own, 1), None),
                Err(error) => break error,
            }
            count += 1;
        };
        // Every allocation that there is memory for, and none was lost for want of leases.
        assert!(matches!(refused, Error::OutOfMemory), "{refused}");
        assert_eq!(waited.into_inner().unwrap(), [EACH]);
        let held: u64 = lock().leases.values().map(|lease| lease.bytes).sum();
        assert!(LIMIT - held < EACH, "{held}");
        // Less than one allocation is left over in each lease that is not exact.
        assert!(LIMIT - count * EACH < 41 * EACH, "{count}");
    }

    #[test]
    fn whoever_has_no_lease_left_looks_for_room_again() {
        let all = Mutex::new(Holdings::default());
        let lock = || all.lock().unwrap();
        let quota = || Err(Error::Refused(Status::Quota));
        assert!(room(lock, 10, |_, _, _| quota()).is_err());
        // Another thread has got the last lease meanwhile.
        let meanwhile = |_, _, _| {
            let name = lock().name();
            lock().granted(name, 100, 10);
            quota()
        };
        let own = room(lock, 10, meanwhile).unwrap();
        assert_eq!(own.bytes, 10);
    }

    #[test]
    fn an_allocation_alone_in_its_lease_gives_all_of_it_back() {
        let mut all = Holdings::default();
        assert_eq!(allocate(&mut all, AllocationKey::Memory(1), 100, 1), 100);
        assert_eq!(allocate(&mut all, AllocationKey::Array(1), 0, 1), 0);
        assert_eq!(all.leases.len(), 2);
        assert!(free(&mut all, AllocationKey::Memory(1)).is_some());
        assert_eq!(free(&mut all, AllocationKey::Memory(1)), None);
        assert!(free(&mut all, AllocationKey::Array(1)).is_some());
        assert!(all.leases.is_empty());
    }

    #[test]
    fn a_free_that_ends_late_takes_nothing_from_who_has_the_address_now() {
        let mut all = Holdings::default();
        allocate(&mut all, AllocationKey::Memory(1), 100, 1);
        let late = all.number(AllocationKey::Memory(1)).unwrap();
        let name = all.name();
        let room = all.granted(name, 50, 50);
        assert!(all.allocated(AllocationKey::Memory(1), room, 1).is_some());
        assert_eq!(all.freed(AllocationKey::Memory(1), late), None);
        assert_eq!(free(&mut all, AllocationKey::Memory(1)), Some(name));
    }

    #[test]
    fn only_the_allocations_of_a_context_go_with_it() {
        let mut all = Holdings::default();
        allocate(&mut all, AllocationKey::Memory(1), 100, 1);
        allocate(&mut all, AllocationKey::Memory(2), 100, 2);
        allocate(&mut all, AllocationKey::Physical(1), 100, 0);
        let own: Vec<AllocationKey> = all.of(Some(1)).into_iter().map(|(held, _)| held).collect();
        assert_eq!(own, [AllocationKey::Memory(1)]);
        assert_eq!(all.of(None).len(), 3);
    }
}
