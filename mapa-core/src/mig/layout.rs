//! Layouts: the instances that exist at once on a device.

use std::fmt;

use smallvec::SmallVec;

use super::profile::Instance;

/// The partition of a device: whole, or instances that do not overlap. Only a
/// [`Model`](super::Model) makes layouts, so a layout is legal for the model that made it.
///
/// A device in MIG mode that has no instance yet is not whole: no job can use it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout {
    /// None if the device is whole.
    pub(super) instances: Option<SmallVec<[Instance; 8]>>,
    /// The fingerprint of the model that made it; 0 if the device is whole.
    pub(super) model: u64,
}

impl Layout {
    /// The layout of a device that is not partitioned: the device itself may be used.
    #[must_use]
    pub fn whole() -> Self {
        Self {
            instances: None,
            model: 0,
        }
    }

    /// Whether the device is not partitioned.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.instances.is_none()
    }

    /// The instances, by start; none if the device is whole.
    #[must_use]
    pub fn instances(&self) -> &[Instance] {
        self.instances.as_deref().unwrap_or_default()
    }

    /// Whether the layout has this instance.
    #[must_use]
    pub fn has(&self, instance: Instance) -> bool {
        self.instances().binary_search(&instance).is_ok()
    }
}

/// The whole device.
impl Default for Layout {
    fn default() -> Self {
        Self::whole()
    }
}

/// `whole`, `empty`, or the numbers of the profiles in their model's table, each with its start: `4@0 9@4`. A layout has
/// no names of profiles, which are its [`Model`](super::Model)'s.
///
/// ```
/// use mapa_core::mig::Layout;
///
/// assert_eq!(Layout::whole().to_string(), "whole");
/// ```
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(instances) = &self.instances else {
            return f.write_str("whole");
        };
        if instances.is_empty() {
            return f.write_str("empty");
        }
        for (at, Instance { profile, start }) in instances.iter().enumerate() {
            let blank = if at == 0 { "" } else { " " };
            write!(f, "{blank}{}@{start}", profile.0)?;
        }
        Ok(())
    }
}

/// A legal layout in the model's list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Legal {
    /// Bits are positions in [`Model::instances`](super::Model::instances).
    pub(super) mask: u64,
    /// Whether no instance can be added.
    pub(super) maximal: bool,
}
