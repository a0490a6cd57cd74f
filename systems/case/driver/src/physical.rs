//! Physical memory that is mapped by hand: cuMemCreate, cuMemMap and their like.
//!
//! CUDA frees such memory when every reference to its handle is released *and* nothing of it is
//! mapped: "The memory allocation will be freed when all outstanding mappings to the memory are
//! unmapped and when all outstanding references to the handle are also released" (cuMemRelease).

use std::collections::BTreeMap;

#[derive(Debug)]
struct PhysicalMemory {
    references: u64,
    mappings: u64,
}

/// The handles that this process has created, and where they are mapped.
#[derive(Debug, Default)]
pub(crate) struct Physical {
    handles: BTreeMap<u64, PhysicalMemory>,
    /// Handles by address.
    mappings: BTreeMap<u64, u64>,
}

impl Physical {
    /// None.
    pub(crate) const fn new() -> Self {
        Self {
            handles: BTreeMap::new(),
            mappings: BTreeMap::new(),
        }
    }

    /// A handle was created.
    pub(crate) fn created(&mut self, handle: u64) {
        let own = PhysicalMemory {
            references: 1,
            mappings: 0,
        };
        self.handles.insert(handle, own);
    }

    /// A handle has one reference more.
    pub(crate) fn retained(&mut self, handle: u64) {
        if let Some(own) = self.handles.get_mut(&handle) {
            own.references += 1;
        }
    }

    /// A handle has one reference less. Returns whether its memory is free.
    #[must_use]
    pub(crate) fn released(&mut self, handle: u64) -> bool {
        if let Some(own) = self.handles.get_mut(&handle) {
            own.references = own.references.saturating_sub(1);
        }
        self.forget(handle)
    }

    /// A handle is mapped. Those of others are not noted.
    pub(crate) fn mapped(&mut self, address: u64, handle: u64) {
        if let Some(own) = self.handles.get_mut(&handle) {
            own.mappings += 1;
            self.mappings.insert(address, handle);
        }
    }

    /// A range is mapped no more: CUDA unmaps whole mappings only. Returns the handles whose memory is
    /// free.
    #[must_use]
    pub(crate) fn unmapped(&mut self, address: u64, bytes: u64) -> Vec<u64> {
        let mut free = Vec::new();
        let range = self.mappings.range(address..address.saturating_add(bytes));
        let gone: Vec<(u64, u64)> = range.map(|(at, handle)| (*at, *handle)).collect();
        for (at, handle) in gone {
            self.mappings.remove(&at);
            if let Some(own) = self.handles.get_mut(&handle) {
                own.mappings -= 1;
            }
            if self.forget(handle) {
                free.push(handle);
            }
        }
        free
    }

    /// Forgets a handle whose memory is free. Returns whether it is.
    fn forget(&mut self, handle: u64) -> bool {
        let own = self.handles.get(&handle);
        let is_free = own.is_some_and(|handle| handle.references == 0 && handle.mappings == 0);
        if is_free {
            self.handles.remove(&handle);
        }
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_free_when_it_is_released_and_mapped_nowhere() {
        let mut all = Physical::new();
        all.created(7);
        all.mapped(100, 7);
        all.mapped(200, 7);
        assert!(!all.released(7));
        assert_eq!(all.unmapped(100, 50), []);
        assert_eq!(all.unmapped(200, 50), [7]);
        assert!(all.handles.is_empty() && all.mappings.is_empty());
    }

    #[test]
    fn each_reference_is_released_by_itself() {
        let mut all = Physical::new();
        all.created(7);
        all.retained(7);
        assert!(!all.released(7));
        assert!(all.released(7));
        assert!(!all.released(7));
    }

    #[test]
    fn one_call_unmaps_several_mappings() {
        let mut all = Physical::new();
        for handle in 1..=3 {
            all.created(handle);
            all.mapped(handle * 10, handle);
            assert!(!all.released(handle));
        }
        assert_eq!(all.unmapped(10, 20), [1, 2]);
        assert_eq!(all.unmapped(30, 10), [3]);
    }

    #[test]
    fn handles_of_others_are_not_noted() {
        let mut all = Physical::new();
        all.mapped(10, 9);
        all.retained(9);
        assert!(!all.released(9));
        assert_eq!(all.unmapped(10, 10), []);
    }
}
