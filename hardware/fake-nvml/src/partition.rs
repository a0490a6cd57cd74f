//! MIG: which instances may be created and destroyed. The geometry of GPU instances is that of
//! [`mapa_core::mig`]; compute instances share the compute slices of their GPU instance.

use mapa_core::mig::{Instance, Layout, ProfileId};
use mapa_topologies::mig::{ProfileFacts, ProfileKind};
use nvml_wrapper_sys::bindings as sys;

use crate::code::Code;
use crate::error::Error;
use crate::hardware::MigTable;
use crate::state::{ComputeInstance, DeviceState, GpuInstance, MAX_SERIAL, Mig};

/// The sizes of compute instances, in compute slices, with NVML's numbers of their profiles, and
/// the slices at which they may start. No compute instance of three slices is offered in an instance
/// of four.
pub(crate) const COMPUTE: [(u8, u32, &[u8]); 5] = [
    (
        1,
        sys::NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE,
        &[0, 1, 2, 3, 4, 5, 6],
    ),
    (2, sys::NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE, &[0, 2, 4]),
    (3, sys::NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE, &[0, 4]),
    (4, sys::NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE, &[0]),
    (7, sys::NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE, &[0]),
];

impl MigTable {
    /// The profile with NVIDIA's number.
    pub(crate) fn profile(&self, id: u32) -> Option<(ProfileId, &ProfileFacts)> {
        let at = self
            .gpu
            .profiles
            .iter()
            .position(|facts| u32::from(facts.id) == id)?;
        Some((ProfileId(at as u8), &self.gpu.profiles[at]))
    }

    /// The profile with NVML's number `NVML_GPU_INSTANCE_PROFILE_...`.
    pub(crate) fn profile_of_constant(&self, constant: u32) -> Option<&ProfileFacts> {
        let mut profiles = self.gpu.profiles.iter();
        profiles.find(|facts| constant_of(facts) == Some(constant))
    }

    /// The layout of a device's instances.
    ///
    /// # Errors
    /// Instances that cannot exist together.
    pub(crate) fn layout(&self, mig: &Mig) -> Result<Layout, Error> {
        let mut instances = Vec::with_capacity(mig.instances.len());
        for instance in &mig.instances {
            let (profile, _) = self.profile(instance.profile).ok_or_else(|| {
                let (profile, gpu) = (instance.profile, &self.gpu.name);
                Error::new(format!("profile {profile}: expected one of an {gpu}"))
            })?;
            instances.push(Instance {
                start: instance.start,
                profile,
            });
        }
        let layout = self.model()?.layout(&instances);
        layout.map_err(|error| Error::new(error.to_string()))
    }

    /// How many more instances of a profile could be created.
    pub(crate) fn room(&self, mig: &Mig, profile: ProfileId) -> Result<usize, Error> {
        let room = self.model()?.room(&self.layout(mig)?, profile);
        room.map_err(|error| Error::new(error.to_string()))
    }

    /// Creates a GPU instance, at this start or at the one that [`mapa_core::mig::Model::create`]
    /// chooses; its number is the answer.
    pub(crate) fn create(
        &self,
        mig: &mut Mig,
        profile: u32,
        start: Option<u8>,
    ) -> Result<u32, Failure> {
        if !mig.enabled {
            return Err(Code::NotSupported.into());
        }
        let (place, _) = self.profile(profile).ok_or(Code::InvalidArgument)?;
        let layout = self.layout(mig)?;
        let model = self.model()?;
        let start = match start {
            Some(start) => {
                let wanted = Instance {
                    start,
                    profile: place,
                };
                if !model.instances().contains(&wanted) {
                    return Err(Code::InvalidArgument.into());
                }
                let next = model.create_at(&layout, wanted);
                next.map_err(|_| Code::InsufficientResources)?;
                start
            }
            None => {
                let next = model.create(&layout, place);
                next.map_err(|_| Code::InsufficientResources)?.1.start
            }
        };
        // Real numbers depend on the model; that of the whole device is 0 there.
        let id = lowest_free(1, mig.instances.iter().map(|instance| instance.id));
        let serial = next_serial(mig);
        mig.instances.push(GpuInstance {
            id,
            serial,
            profile,
            start,
            compute: Vec::new(),
        });
        Ok(id)
    }
}

/// NVML's number `NVML_GPU_INSTANCE_PROFILE_...` of a profile.
pub(crate) fn constant_of(facts: &ProfileFacts) -> Option<u32> {
    let suffix = facts
        .name
        .find(['+', '-'])
        .map_or("", |at| &facts.name[at..]);
    Some(match (facts.compute_slices, suffix, facts.kind) {
        (1, _, ProfileKind::DoubleMemory) => sys::NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2,
        (1, "", _) => sys::NVML_GPU_INSTANCE_PROFILE_1_SLICE,
        (2, "", _) => sys::NVML_GPU_INSTANCE_PROFILE_2_SLICE,
        (3, "", _) => sys::NVML_GPU_INSTANCE_PROFILE_3_SLICE,
        (4, "", _) => sys::NVML_GPU_INSTANCE_PROFILE_4_SLICE,
        (6, "", _) => sys::NVML_GPU_INSTANCE_PROFILE_6_SLICE,
        (7, "", _) => sys::NVML_GPU_INSTANCE_PROFILE_7_SLICE,
        (8, "", _) => sys::NVML_GPU_INSTANCE_PROFILE_8_SLICE,
        (1, "+me", _) => sys::NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1,
        (2, "+me", _) => sys::NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1,
        (1, "+gfx", _) => sys::NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX,
        (2, "+gfx", _) => sys::NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX,
        (4, "+gfx", _) => sys::NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX,
        (1, "-me", _) => sys::NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME,
        (2, "-me", _) => sys::NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME,
        (1, "+me.all", _) => sys::NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME,
        (2, "+me.all", _) => sys::NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME,
        _ => return None,
    })
}

/// The starts of a compute instance in a GPU instance of so many slices; none if it has none.
pub(crate) fn compute_starts(size: u8, slices: u8) -> impl Iterator<Item = u8> {
    let row = COMPUTE.iter().find(|(candidate, ..)| *candidate == size);
    let starts = row.map_or(&[][..], |(_, _, starts)| starts);
    let offered = size != 3 || slices != 4;
    starts
        .iter()
        .copied()
        .filter(move |start| offered && start + size <= slices)
}

/// The starts at which a compute instance could be created now.
pub(crate) fn compute_room(instance: &GpuInstance, size: u8, slices: u8) -> Vec<u8> {
    compute_starts(size, slices)
        .filter(|&start| {
            let ours = start..start + size;
            let mut others = instance.compute.iter();
            !others.any(|other| ours.start < other.start + other.size && other.start < ours.end)
        })
        .collect()
}

/// How many more compute instances of a size could be created.
pub(crate) fn compute_capacity(instance: &GpuInstance, size: u8, slices: u8) -> usize {
    // Starts of one size do not overlap.
    compute_room(instance, size, slices).len()
}

/// Creates a compute instance in the GPU instance at this place, at this start or the lowest; its
/// number is the answer.
pub(crate) fn create_compute(
    mig: &mut Mig,
    at: usize,
    slices: u8,
    profile: u32,
    start: Option<u8>,
) -> Result<u32, Failure> {
    let row = COMPUTE
        .iter()
        .find(|(_, candidate, _)| *candidate == profile);
    let size = row.ok_or(Code::InvalidArgument)?.0;
    if compute_starts(size, slices).next().is_none() {
        return Err(Code::NotSupported.into());
    }
    let instance = mig.instances.get(at).ok_or(Code::NotFound)?;
    let room = compute_room(instance, size, slices);
    let start = match start {
        Some(start)
            if !compute_starts(size, slices).any(|compute_start| compute_start == start) =>
        {
            return Err(Code::InvalidArgument.into());
        }
        Some(start) if room.contains(&start) => start,
        Some(_) => return Err(Code::InsufficientResources.into()),
        None => *room.first().ok_or(Code::InsufficientResources)?,
    };
    let id = lowest_free(0, instance.compute.iter().map(|compute| compute.id));
    let index = lowest_free(0, mig_devices(mig).map(|(_, compute)| compute.index));
    let serial = next_serial(mig);
    mig.instances[at].compute.push(ComputeInstance {
        id,
        serial,
        profile,
        start,
        size,
        index,
    });
    Ok(id)
}

/// The MIG devices: each compute instance with its GPU instance.
pub(crate) fn mig_devices(mig: &Mig) -> impl Iterator<Item = (&GpuInstance, &ComputeInstance)> {
    let instances = mig.instances.iter();
    instances.flat_map(|instance| {
        instance
            .compute
            .iter()
            .map(move |compute| (instance, compute))
    })
}

/// Destroys the GPU instance at this place, which must not have compute instances.
pub(crate) fn destroy(mig: &mut Mig, at: usize) -> Result<(), Failure> {
    match mig.instances.get(at) {
        None => Err(Code::NotFound.into()),
        Some(instance) if !instance.compute.is_empty() => Err(Code::InUse.into()),
        Some(_) => {
            mig.instances.remove(at);
            Ok(())
        }
    }
}

/// Destroys a compute instance, which must not have processes.
pub(crate) fn destroy_compute(
    device: &mut DeviceState,
    at: usize,
    compute: usize,
) -> Result<(), Failure> {
    let instance = device.mig.instances.get(at).ok_or(Code::NotFound)?;
    let id = instance.compute.get(compute).ok_or(Code::NotFound)?.id;
    let place = Some((instance.id, id));
    let mut processes = device.processes.iter();
    if processes.any(|process| process.instance == place && process.is_there()) {
        return Err(Code::InUse.into());
    }
    device.processes.retain(|process| process.instance != place);
    device.mig.instances[at].compute.remove(compute);
    Ok(())
}

/// Requests a MIG mode. If the device is idle, the mode changes at once, as after the reset that the
/// driver makes; if not, it waits for a reset, and the answer says why.
pub(crate) fn set_mode(device: &mut DeviceState, enabled: bool) -> Result<(), Code> {
    device.mig.pending = enabled;
    if device.mig.enabled == enabled {
        return Ok(());
    }
    device.processes.retain(super::state::Process::is_there);
    if !device.processes.is_empty() || !device.mig.instances.is_empty() {
        return Err(Code::InUse);
    }
    device.mig.enabled = enabled;
    Ok(())
}

/// The lowest number from `first` on that is not used.
fn lowest_free(first: u32, used: impl Iterator<Item = u32>) -> u32 {
    let used: std::collections::BTreeSet<u32> = used.collect();
    (first..).find(|id| !used.contains(id)).unwrap_or(first)
}

/// A number that no instance of the device has, and none had in the last sixteen million.
fn next_serial(mig: &mut Mig) -> u32 {
    let used: Vec<u32> = (mig.instances.iter())
        .flat_map(|instance| {
            let own = std::iter::once(instance.serial);
            own.chain(instance.compute.iter().map(|compute| compute.serial))
        })
        .collect();
    loop {
        mig.last_serial = if mig.last_serial >= MAX_SERIAL {
            1
        } else {
            mig.last_serial + 1
        };
        if !used.contains(&mig.last_serial) {
            return mig.last_serial;
        }
    }
}

/// Checks that the MIG state of a device can be: its layout, its numbers, its compute instances.
///
/// # Errors
/// What cannot be.
pub(crate) fn check(table: Option<&MigTable>, mig: &Mig) -> Result<(), Error> {
    let Some(table) = table else {
        let off = !mig.enabled && !mig.pending && mig.instances.is_empty();
        let what = "MIG on a device that cannot be partitioned: expected none";
        return if off { Ok(()) } else { Err(Error::new(what)) };
    };
    if !mig.enabled && !mig.instances.is_empty() {
        return Err(Error::new("instances without MIG mode: expected `enabled`"));
    }
    table.layout(mig)?;
    let (mut ids, mut serials, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for instance in &mig.instances {
        ids.push((instance.id, None));
        serials.push(instance.serial);
        let slices = table
            .profile(instance.profile)
            .map_or(0, |(_, facts)| facts.compute_slices);
        let mut alone = GpuInstance {
            compute: Vec::new(),
            ..instance.clone()
        };
        for compute in &instance.compute {
            ids.push((instance.id, Some(compute.id)));
            serials.push(compute.serial);
            indices.push(compute.index);
            let fits = compute_room(&alone, compute.size, slices).contains(&compute.start);
            let row = COMPUTE.iter().find(|(size, ..)| *size == compute.size);
            if !fits || row.is_none_or(|(_, profile, _)| *profile != compute.profile) {
                let (id, own) = (instance.id, compute.id);
                return Err(Error::new(format!(
                    "compute instance {own} of instance {id}: expected a free place and its profile"
                )));
            }
            alone.compute.push(compute.clone());
        }
    }
    let small = ids.iter().all(|&(a, b)| a < 255 && b.unwrap_or(0) < 255);
    let serial = serials
        .iter()
        .all(|&serial| (1..=MAX_SERIAL).contains(&serial));
    if !small || !serial || !unique(&mut ids) || !unique(&mut serials) || !unique(&mut indices) {
        return Err(Error::new(
            "numbers of instances: expected small ones, and none twice",
        ));
    }
    Ok(())
}

fn unique<T: Ord>(values: &mut [T]) -> bool {
    values.sort_unstable();
    values.windows(2).all(|two| two[0] != two[1])
}

/// Why a call or a change fails: NVML's answer, or a state that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// NVML's answer.
    #[error("NVML answers {}", .0.name())]
    Code(Code),
    /// The state cannot be read or written.
    #[error(transparent)]
    State(Error),
}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Self::Code(code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::State(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_of_every_table_has_a_number_of_its_own() {
        for entry in mapa_topologies::mig::catalogue() {
            let gpu = entry.gpu().unwrap();
            let mut constants: Vec<u32> = gpu
                .profiles
                .iter()
                .map(|facts| constant_of(facts).unwrap_or_else(|| panic!("{}", facts.name)))
                .collect();
            assert!(unique(&mut constants), "{}: {constants:?}", gpu.name);
            let mut ids: Vec<u8> = gpu.profiles.iter().map(|facts| facts.id).collect();
            assert!(unique(&mut ids), "{}: {ids:?}", gpu.name);
        }
    }

    #[test]
    fn compute_instances_start_as_gpu_instances_do() {
        let starts = |size, slices| compute_starts(size, slices).collect::<Vec<_>>();
        assert_eq!(starts(2, 7), [0, 2, 4]);
        assert_eq!(starts(2, 3), [0]);
        assert_eq!((starts(3, 7), starts(3, 4)), (vec![0, 4], vec![]));
        assert_eq!((starts(7, 7), starts(5, 7)), (vec![0], vec![]));
    }
}
