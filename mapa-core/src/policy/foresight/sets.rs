//! Sets of devices as masks, one bit for each of the first sixteen devices.

use crate::ids::DeviceId;
use crate::reach::{MOST, Mask, members};
use crate::topology::DeviceSet;

/// A set as a mask. Devices beyond the first sixteen are left out.
pub(super) fn mask(set: &DeviceSet) -> Mask {
    (set.word(0) & ((1 << MOST) - 1)) as Mask
}

/// The devices of a mask.
pub(super) fn set_of(mask: Mask) -> DeviceSet {
    members(mask).map(|at| DeviceId(at as u32)).collect()
}
