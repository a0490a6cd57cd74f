//! The GPUs of the evaluation, and their instances.

use std::sync::Arc;

use mapa_core::mig::{Model, Profile, Size};
use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, MachineId, NodeKind};
use mapa_front::Error;
use mapa_sched::Fleet;
use mapa_topologies::mig::{Offer, named};

use super::setting::{BatchSetting, CaseSystem};

/// The GPUs of a setting, partitioned as the paper says.
pub(super) struct PartitionedGpus {
    pub(super) model: Arc<Model>,
    pub(super) fleet: Fleet,
}

impl PartitionedGpus {
    pub(super) fn of(setting: &BatchSetting) -> Result<Self, Error> {
        let (name, profiles): (_, &[&str]) = match setting.system {
            CaseSystem::D => (
                "a100-40gb",
                &["2g.10gb", "2g.10gb", "1g.5gb", "1g.5gb", "1g.5gb"],
            ),
            _ if setting.six => ("", &["1g.6gb"; 6]),
            _ => ("a30", &["1g.6gb"; 4]),
        };
        let model = if name.is_empty() {
            Arc::new(six_slices()?)
        } else {
            let gpu = named(name).map_err(Error::malformed)?;
            gpu.model(Offer::PLAIN).map_err(Error::malformed)?
        };
        Self::partitioned(model, setting.system.gpus(), profiles)
    }

    /// One A30 with one instance, for batches of one instance.
    pub(super) fn of_one_instance() -> Result<Self, Error> {
        let gpu = named("a30").map_err(Error::malformed)?;
        let model = gpu.model(Offer::PLAIN).map_err(Error::malformed)?;
        Self::partitioned(model, 1, &["1g.6gb"])
    }

    fn partitioned(model: Arc<Model>, gpus: usize, profiles: &[&str]) -> Result<Self, Error> {
        let mut fabric = Fabric::new();
        for id in 0..gpus {
            let info = DeviceInfo {
                mig: Some(model.clone()),
                ..DeviceInfo::default()
            };
            fabric.add(FabricNode {
                name: format!("GPU{id}"),
                kind: NodeKind::Device(info),
            })?;
        }
        let mut fleet = Fleet::new([Arc::new(fabric.lower()?)]);
        let wanted = profiles.iter().map(|name| model.find(name));
        let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
        let layout = model
            .fit(&wanted)
            .ok_or_else(|| Error::malformed("no layout of these instances"))?;
        for id in 0..gpus as u32 {
            let set = fleet.layout_is(MachineId(0), DeviceId(id), &layout);
            set.map_err(Error::malformed)?;
        }
        Ok(Self { model, fleet })
    }

    /// The memory of each instance, bytes.
    pub(super) fn capacities(&self) -> Vec<u64> {
        let views = self.fleet.views();
        let each = views.flat_map(|view| {
            let graph = view.graph().clone();
            let present: Vec<DeviceId> = view.present().iter().collect();
            present
                .into_iter()
                .filter_map(move |id| graph.device(id).memory_bytes)
        });
        each.collect()
    }
}

/// The A30 of the paper's text: six instances of 6 GB, where hardware has four.
fn six_slices() -> Result<Model, Error> {
    let gpu = named("a30").map_err(Error::malformed)?;
    let four = gpu.model(Offer::PLAIN).map_err(Error::malformed)?;
    let one = four.profile(four.find("1g.6gb")?);
    let profile = Profile {
        name: one.name.clone(),
        size: Size::new(1, 1),
        memory_bytes: one.memory_bytes,
        starts: (0..6).collect(),
        max_instances: 6,
    };
    Ok(Model::new("six slices", Size::new(6, 6), vec![profile])?)
}
