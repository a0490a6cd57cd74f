//! MIG through NVML's C interface, with the legality of `mapa_core::mig` as the oracle.

use std::sync::Arc;

use mapa_core::mig::{Instance, Layout, Model, ProfileId};
use mapa_topologies::mig::{Gpu, Offer, named};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlGpuInstance_t};
use proptest::prelude::*;

use crate::common::Machine;
use crate::common::raw::{
    IN_USE, INSUFFICIENT_RESOURCES, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, PROFILE_V2, Raw,
    VERSION_MISMATCH, text,
};
use fake_nvml::Process;

#[test]
fn the_profiles_of_an_a100_are_those_of_its_table() {
    let machine = Machine::new("dgx-a100");
    let raw = Raw::new(machine.library());
    let device = raw.device(0);
    assert_eq!(raw.mig_mode(device), Ok((0, 0)));
    // Nothing is told before MIG mode is on.
    assert_eq!(
        raw.profile(device, 0, PROFILE_V2).map(|info| info.id),
        Err(NOT_SUPPORTED)
    );
    // But placements are, as NVML's documentation says: 1g.5gb has seven.
    assert_eq!(raw.placements(device, 19).unwrap().len(), 7);
    assert_eq!(raw.set_mig_mode(device, true), Ok(0));
    assert_eq!(raw.mig_mode(device), Ok((1, 1)));
    let gpu = named("a100-40gb").unwrap();
    let mut seen = 0;
    for constant in 0..17 {
        let info = match raw.profile(device, constant, PROFILE_V2) {
            Ok(info) => info,
            Err(code) => {
                // A profile that the GPU lacks.
                assert_eq!(code, NOT_SUPPORTED);
                continue;
            }
        };
        let facts = gpu
            .profiles
            .iter()
            .find(|facts| u32::from(facts.id) == info.id)
            .unwrap();
        assert_eq!(text(&info.name), format!("MIG {}", facts.name));
        assert_eq!(info.sliceCount, u32::from(facts.compute_slices));
        assert_eq!(info.instanceCount, u32::from(facts.max_instances));
        assert_eq!(info.memorySizeMB, facts.memory_bytes() >> 20);
        assert_eq!(info.multiprocessorCount, u32::from(facts.sms.unwrap()));
        let placements: Vec<(u32, u32)> = facts
            .starts
            .iter()
            .map(|&start| (start.into(), facts.memory_slices.into()))
            .collect();
        assert_eq!(raw.placements(device, info.id).unwrap(), placements);
        seen += 1;
    }
    assert_eq!(seen, gpu.profiles.len());
    assert_eq!(
        raw.profile(device, 17, PROFILE_V2).map(|_| ()),
        Err(INVALID_ARGUMENT)
    );
    let other = raw.profile(device, 0, 0x0200_0000).map(|_| ());
    assert_eq!(other, Err(VERSION_MISMATCH));
    assert_eq!(raw.placements(device, 77), Err(INVALID_ARGUMENT));
}

#[test]
fn three_plus_three_leaves_no_room_for_the_seventh_slice() {
    let machine = Machine::new("dgx-a100");
    let raw = Raw::new(machine.library());
    let device = raw.device(0);
    raw.set_mig_mode(device, true).unwrap();
    let [one, three] = [19, 9];
    let first = raw.create(device, three, Some((4, 4))).unwrap();
    assert_eq!(raw.capacity(device, three), Ok(1));
    assert_eq!(
        raw.create(device, three, Some((4, 4))),
        Err(INSUFFICIENT_RESOURCES)
    );
    assert_eq!(
        raw.create(device, three, Some((1, 4))),
        Err(INVALID_ARGUMENT)
    );
    assert_eq!(
        raw.create(device, three, Some((0, 3))),
        Err(INVALID_ARGUMENT)
    );
    raw.create(device, three, None).unwrap();
    assert_eq!(raw.capacity(device, one), Ok(0));
    assert_eq!(raw.create(device, one, None), Err(INSUFFICIENT_RESOURCES));
    let info = raw.info(first).unwrap();
    assert_eq!(
        (info.profileId, info.placement.start, info.placement.size),
        (9, 4, 4)
    );
    assert_eq!(
        (info.device, raw.instances(device, three).len()),
        (device, 2)
    );
    // Off only without instances, and then after the request alone.
    assert_eq!(raw.set_mig_mode(device, false), Ok(IN_USE));
    assert_eq!(raw.mig_mode(device), Ok((1, 0)));
    raw.destroy(first).unwrap();
    assert_eq!(raw.destroy(first), Err(NOT_FOUND));
    let again = raw.create(device, three, Some((4, 4))).unwrap();
    assert_eq!(raw.info(again).unwrap().id, info.id);
    assert_eq!(
        raw.info(first).map(|_| ()),
        Err(NOT_FOUND),
        "an old handle is not the new one's"
    );
}

#[test]
fn compute_instances_are_mig_devices() {
    let machine = Machine::new("hgx-h100");
    let (raw, nvml, fake) = (Raw::new(machine.library()), machine.nvml(), machine.fake());
    let device = raw.device(2);
    raw.set_mig_mode(device, true).unwrap();
    let instance = raw.create(device, 9, Some((4, 4))).unwrap();
    let whole = nvml.device_by_index(2).unwrap();
    assert_eq!(whole.mig_device_count().unwrap(), 7);
    assert!(matches!(
        whole.mig_device_by_index(0),
        Err(NvmlError::NotFound)
    ));
    assert_eq!(
        text(&raw.compute_profile(instance, 2).unwrap().name),
        "MIG 3g.40gb"
    );
    let part = raw.compute_profile(instance, 0).unwrap();
    assert_eq!(
        (text(&part.name).as_str(), part.instanceCount),
        ("MIG 1c.3g.40gb", 3)
    );
    assert_eq!(
        raw.compute_profile(instance, 4).map(|_| ()),
        Err(NOT_SUPPORTED)
    );
    let first = raw.create_compute(instance, 0, Some((1, 1))).unwrap();
    let second = raw.create_compute(instance, 0, None).unwrap();
    assert_eq!(
        raw.create_compute(instance, 1, None),
        Err(INSUFFICIENT_RESOURCES)
    );
    assert_eq!(raw.compute_capacity(instance, 0), Ok(1));
    let info = raw.compute_info(second).unwrap();
    assert_eq!(
        (info.placement.start, info.id, info.gpuInstance),
        (0, 1, instance)
    );
    assert_eq!(raw.destroy(instance), Err(IN_USE));

    let mig = whole.mig_device_by_index(1).unwrap();
    assert!(mig.mig_is_mig_device_handle().unwrap());
    assert_eq!(mig.index().unwrap(), 1, "its number among the MIG devices");
    assert_eq!(mig.name().unwrap(), "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb");
    assert_eq!(mig.mig_parent_device().unwrap().index().unwrap(), 2);
    let attributes = mig.attributes().unwrap();
    assert_eq!(
        (
            attributes.gpu_instance_slice_count,
            attributes.compute_instance_slice_count
        ),
        (3, 1)
    );
    let uuid = mig.uuid().unwrap();
    assert!(
        uuid.starts_with("MIG-") && uuid != whole.mig_device_by_index(0).unwrap().uuid().unwrap()
    );
    assert_eq!(
        nvml.device_by_uuid(uuid.as_str()).unwrap().index().unwrap(),
        1
    );
    assert!(matches!(
        whole.utilization_rates(),
        Err(NvmlError::NotSupported)
    ));
    assert!(matches!(mig.power_usage(), Err(NvmlError::InvalidArg)));

    let id = raw.info(instance).unwrap().id;
    let mut process = Process::new(99);
    process.instance = Some((id, 1));
    process.memory_bytes = 1 << 30;
    fake.start_process(2, process).unwrap();
    let seen = |device: &nvml_wrapper::Device<'_>| {
        let processes = device.running_compute_processes().unwrap();
        processes
            .iter()
            .map(|process| (process.pid, process.gpu_instance_id))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (seen(&whole), seen(&mig)),
        (vec![(99, Some(id))], vec![(99, Some(id))])
    );
    assert_eq!(seen(&whole.mig_device_by_index(0).unwrap()), []);
    assert_eq!(mig.memory_info().unwrap().used, 1 << 30);
    assert_eq!(raw.destroy_compute(second), Err(IN_USE));
    fake.stop_process(2, 99).unwrap();
    raw.destroy_compute(second).unwrap();
    assert!(
        matches!(mig.name(), Err(NvmlError::InvalidArg)),
        "the handle of what is gone"
    );
    raw.destroy_compute(first).unwrap();
    raw.destroy(instance).unwrap();
    assert_eq!(raw.set_mig_mode(device, false), Ok(0));
    assert_eq!(raw.mig_mode(device), Ok((0, 0)));
}

#[test]
fn gpus_that_cannot_be_partitioned_say_so() {
    for machine in [
        Machine::new("dgx-1v"),
        Machine::with("dgx-a100", |config| config.mig = Some("none".to_owned())),
    ] {
        let raw = Raw::new(machine.library());
        let device = raw.device(0);
        assert_eq!(raw.mig_mode(device), Err(NOT_SUPPORTED));
        assert_eq!(raw.set_mig_mode(device, true), Err(NOT_SUPPORTED));
        assert_eq!(raw.create(device, 19, None), Err(NOT_SUPPORTED));
    }
}

#[test]
fn what_c_may_get_wrong_is_refused() {
    let machine = Machine::new("dgx-a100");
    let raw = Raw::new(machine.library());
    let device = raw.device(0);
    let name = "NVIDIA A100-SXM4-40GB";
    assert_eq!(
        raw.name_of(device, name.len() as u32),
        Err(crate::common::raw::INSUFFICIENT_SIZE)
    );
    assert_eq!(
        raw.name_of(device, name.len() as u32 + 1).as_deref(),
        Ok(name)
    );
    raw.set_mig_mode(device, true).unwrap();
    let instance = raw.create(device, 19, None).unwrap();
    for wrong in [
        std::ptr::null_mut(),
        std::ptr::without_provenance_mut(1),
        std::ptr::without_provenance_mut(usize::MAX),
        device.wrapping_byte_add(1),
        device.wrapping_byte_add(8 << 40),
        instance.cast(),
    ] {
        assert_eq!(raw.name_of(wrong, 96), Err(INVALID_ARGUMENT), "{wrong:?}");
    }
    assert_eq!(raw.info(device.cast()).map(|_| ()), Err(INVALID_ARGUMENT));
    assert_eq!(raw.destroy_compute(instance.cast()), Err(INVALID_ARGUMENT));
}

/// What a client does.
#[derive(Clone, Debug)]
enum Step {
    /// The place of a profile in the table, and of a start in its list; past the end, wherever it fits.
    Create(usize, usize),
    Destroy(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let create = (0..11usize, 0..10usize).prop_map(|(profile, start)| Step::Create(profile, start));
    let destroy = (0..8usize).prop_map(Step::Destroy);
    prop::collection::vec(prop_oneof![3 => create, 1 => destroy], 1..24)
}

/// A device, and what its layout must be.
struct Device<'r> {
    raw: &'r Raw,
    device: nvmlDevice_t,
    gpu: Gpu,
    model: Arc<Model>,
    layout: Layout,
    handles: Vec<(Instance, nvmlGpuInstance_t)>,
}

impl Device<'_> {
    fn create(&mut self, profile: usize, start: usize) -> Result<(), TestCaseError> {
        let at = profile % self.gpu.profiles.len();
        let facts = &self.gpu.profiles[at];
        let profile = ProfileId(at as u8);
        let placement = facts
            .starts
            .get(start)
            .map(|&start| (start.into(), facts.memory_slices.into()));
        let made = self.raw.create(self.device, facts.id.into(), placement);
        let expected = match facts.starts.get(start) {
            Some(&start) => {
                let instance = Instance { start, profile };
                self.model.create_at(&self.layout, instance).ok()
            }
            None => self
                .model
                .create(&self.layout, profile)
                .ok()
                .map(|(layout, _)| layout),
        };
        match (made, expected) {
            (Ok(handle), Some(expected)) => {
                let info = self.raw.info(handle).unwrap();
                let instance = Instance {
                    start: info.placement.start as u8,
                    profile,
                };
                prop_assert!(expected.has(instance) && !self.layout.has(instance));
                self.layout = expected;
                self.handles.push((instance, handle));
            }
            (Err(code), None) => prop_assert_eq!(code, INSUFFICIENT_RESOURCES),
            (made, expected) => prop_assert!(
                false,
                "{} at {start} beside {}: {made:?}, expected {expected:?}",
                facts.name,
                self.model.print(&self.layout)
            ),
        }
        Ok(())
    }

    fn destroy(&mut self, at: usize) -> Result<(), TestCaseError> {
        if at >= self.handles.len() {
            return Ok(());
        }
        let (instance, handle) = self.handles.remove(at);
        prop_assert_eq!(self.raw.destroy(handle), Ok(()));
        prop_assert_eq!(self.raw.destroy(handle), Err(NOT_FOUND));
        self.layout = self.model.destroy(&self.layout, instance).unwrap();
        Ok(())
    }

    /// What the library tells is what the layout has.
    fn check(&self) -> Result<(), TestCaseError> {
        for (at, facts) in self.gpu.profiles.iter().enumerate() {
            let profile = ProfileId(at as u8);
            let room = self.model.room(&self.layout, profile).unwrap();
            prop_assert_eq!(
                self.raw.capacity(self.device, facts.id.into()),
                Ok(room as u32)
            );
            let mut told: Vec<u32> = (self.raw.instances(self.device, facts.id.into()).iter())
                .map(|&handle| self.raw.info(handle).unwrap().placement.start)
                .collect();
            told.sort_unstable();
            let own = self
                .layout
                .instances()
                .iter()
                .filter(|instance| instance.profile == profile);
            prop_assert_eq!(
                told,
                own.map(|instance| instance.start.into())
                    .collect::<Vec<u32>>()
            );
        }
        Ok(())
    }
}

#[test]
fn any_history_of_instances_is_as_legal_as_the_core_says() {
    for table in ["a100-40gb", "a30", "h100-80gb", "rtx-pro-6000"] {
        let machine = Machine::with("dgx-a100", |config| {
            config.mig = Some(table.to_owned());
            // Faster, and another test shares files.
            config.state = None;
        });
        let raw = Raw::new(machine.library());
        let device = raw.device(0);
        raw.set_mig_mode(device, true).unwrap();
        let gpu = named(table).unwrap();
        let model = gpu.model(Offer::ALL).unwrap();
        let mut runner = proptest::test_runner::TestRunner::new(mapa_core::testing::cases(48));
        let outcome = runner.run(&steps(), |steps| {
            let mut device = Device {
                raw: &raw,
                device,
                gpu: gpu.clone(),
                model: model.clone(),
                layout: model.layout(&[]).unwrap(),
                handles: Vec::new(),
            };
            for step in steps {
                match step {
                    Step::Create(profile, start) => device.create(profile, start)?,
                    Step::Destroy(at) => device.destroy(at)?,
                }
            }
            device.check()?;
            while !device.handles.is_empty() {
                device.destroy(0)?;
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{table}: {error}"));
    }
}
