//! Addresses that nothing else has: placeholders for memory that is not asked for yet.

use std::io;
use std::ops::Range;
use std::ptr;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// The sizes to try: where address space is limited, less is reserved.
const SIZES: [usize; 3] = [1 << 42, 1 << 38, 1 << 34];

/// Placeholders begin at multiples of this, as CUDA's pointers do.
const ALIGNED: usize = 512;

/// A part of the address space without memory. Whoever reads or writes there is stopped.
#[derive(Debug)]
pub(crate) struct ReservedRegion {
    all: Range<usize>,
    next: usize,
}

impl ReservedRegion {
    /// Reserves the region, for as long as the process lives.
    pub(crate) fn reserve() -> io::Result<Self> {
        let mut last = io::ErrorKind::OutOfMemory.into();
        for size in SIZES {
            let kind = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: the kernel chooses the place, so nothing that exists is replaced.
            match unsafe { mmap_anonymous(ptr::null_mut(), size, ProtFlags::empty(), kind) } {
                Ok(start) => {
                    let start = start as usize;
                    return Ok(Self {
                        all: start..start + size,
                        next: start,
                    });
                }
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    /// Addresses for so many bytes; `None` if the region is used up.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<usize> {
        let start = self.next;
        // At least one byte lies between two placeholders, so that a pointer behind the end of one is
        // not the start of another.
        let next = start.checked_add(bytes)?.checked_add(1)?;
        let next = next.checked_next_multiple_of(ALIGNED)?;
        if next > self.all.end {
            return None;
        }
        self.next = next;
        Some(start)
    }

    /// Whether an address lies in the region.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.all.contains(&address)
    }
}
