//! Handles: numbers in the shape of pointers, which nobody follows.
//!
//! A handle says what it is of: a kind, a device, an instance, and the instance's serial number. So
//! the handle of an instance that was destroyed never becomes the handle of another.

use std::ptr;

/// What a handle is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceHandle {
    Gpu {
        device: u16,
    },
    /// A compute instance as a device.
    Mig {
        device: u16,
        instance: u8,
        serial: u32,
    },
    Instance {
        device: u16,
        instance: u8,
        serial: u32,
    },
    Compute {
        device: u16,
        instance: u8,
        serial: u32,
    },
    EventSet {
        number: u32,
    },
}

const KIND: u32 = 56;
const DEVICE: u32 = 40;
const INSTANCE: u32 = 32;

// Serial numbers and places need more than 32 bits together.
const _: () = assert!(usize::BITS == 64, "handles have 64 bits");

impl DeviceHandle {
    /// The handle in the shape of a pointer.
    pub(super) fn pointer<T>(self) -> *mut T {
        let (kind, device, instance, serial) = match self {
            Self::Gpu { device } => (1, device, 0, 0),
            Self::Mig {
                device,
                instance,
                serial,
            } => (2, device, instance, serial),
            Self::Instance {
                device,
                instance,
                serial,
            } => (3, device, instance, serial),
            Self::Compute {
                device,
                instance,
                serial,
            } => (4, device, instance, serial),
            Self::EventSet { number } => (5, 0, 0, number),
        };
        let number = kind << KIND
            | usize::from(device) << DEVICE
            | usize::from(instance) << INSTANCE
            | serial as usize;
        ptr::without_provenance_mut(number)
    }

    /// What a pointer from C is the handle of; none if it is none of this library's.
    pub(super) fn of<T>(pointer: *mut T) -> Option<Self> {
        let number = pointer.addr();
        let device = (number >> DEVICE) as u16;
        let instance = (number >> INSTANCE) as u8;
        let serial = number as u32;
        let handle = match number >> KIND {
            1 => Self::Gpu { device },
            2 => Self::Mig {
                device,
                instance,
                serial,
            },
            3 => Self::Instance {
                device,
                instance,
                serial,
            },
            4 => Self::Compute {
                device,
                instance,
                serial,
            },
            5 => Self::EventSet { number: serial },
            _ => return None,
        };
        // One handle has one number.
        (handle.pointer::<T>() == pointer).then_some(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn handles_come_back(kind in 1..=5u8, device: u16, instance: u8, serial: u32) {
            let handle = match kind {
                1 => DeviceHandle::Gpu { device },
                2 => DeviceHandle::Mig { device, instance, serial },
                3 => DeviceHandle::Instance { device, instance, serial },
                4 => DeviceHandle::Compute { device, instance, serial },
                _ => DeviceHandle::EventSet { number: serial },
            };
            prop_assert_eq!(DeviceHandle::of(handle.pointer::<u8>()), Some(handle));
        }

        #[test]
        fn any_number_is_one_handle_or_none(number: usize) {
            let pointer: *mut u8 = ptr::without_provenance_mut(number);
            if let Some(handle) = DeviceHandle::of(pointer) {
                prop_assert_eq!(handle.pointer::<u8>(), pointer);
            }
        }
    }
}
