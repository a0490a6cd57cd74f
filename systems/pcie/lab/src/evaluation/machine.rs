//! The GPUs: servers of four, each GPU on a root port of its own and partitioned into 1g instances.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::{Layout, Model, Profile, Size};
use mapa_core::{
    DeviceInfo, Fabric, FabricNode, HardwareGraph, MachineId, NodeKind, PCIE_GEN4_GBPS,
};
use mapa_sched::Fleet;
use mapa_topologies::mig::{Gpu, Offer, named};

use super::setting::{FIXED, PcieSetting};
use mapa_front::Error;

/// The number of GPUs of a server.
const SERVER: usize = 4;

/// A fleet of servers, and the time of a repartition.
pub(super) struct PcieFleet {
    gpu: Gpu,
    /// Idle, with all GPUs in 1g instances.
    pub(super) fleet: Fleet,
}

impl PcieFleet {
    /// The fleet of a setting.
    pub(super) fn of(setting: &PcieSetting) -> Result<Self, Error> {
        let gpu = named("a100-40gb").map_err(Error::malformed)?;
        let model = if setting.instances == FIXED.instances {
            gpu.model(Offer::PLAIN).map_err(Error::malformed)?
        } else {
            Arc::new(hypothetical(setting.instances)?)
        };
        let graph = Arc::new(server(&model)?);
        let mut fleet = Fleet::new(std::iter::repeat_n(
            graph.clone(),
            setting.gpus.div_ceil(SERVER),
        ));
        let layout = in_smallest(&model)?;
        for server in 0..fleet.machines().len() as u32 {
            for gpu in graph.wholes().iter() {
                fleet
                    .layout_is(MachineId(server), gpu, &layout)
                    .map_err(Error::malformed)?;
            }
        }
        Ok(Self { gpu, fleet })
    }

    /// The same GPUs in layouts of several sizes, if that is wanted: 3g, 2g and twice 1g on two of four;
    /// 3g and four 1g; two 2g and three 1g.
    pub(super) fn layered(mut self, is_layered: bool) -> Result<Self, Error> {
        const LAYOUTS: [&[&str]; 4] = [
            &["3g", "2g", "1g", "1g"],
            &["3g", "2g", "1g", "1g"],
            &["3g", "1g", "1g", "1g", "1g"],
            &["2g", "2g", "1g", "1g", "1g"],
        ];
        if !is_layered {
            return Ok(self);
        }
        for server in (0..self.fleet.machines().len() as u32).map(MachineId) {
            let machine = self.fleet.machine(server).map_err(Error::malformed)?;
            let graph = machine.graph().clone();
            for (gpu, names) in graph.wholes().iter().zip(LAYOUTS.iter().cycle()) {
                let Some(model) = graph.model(gpu) else {
                    continue;
                };
                let sizes = names.iter().map(|name| model.find(name));
                let layout = model.fit(&sizes.collect::<Result<Vec<_>, _>>()?);
                let layout = layout.ok_or_else(|| {
                    Error::malformed(format_args!("no layout of {}", names.join(", ")))
                })?;
                let set = self.fleet.layout_is(server, gpu, &layout);
                set.map_err(Error::malformed)?;
            }
        }
        Ok(self)
    }

    /// One server, its GPUs partitioned into one instance each of 3g, 2g and 1g.
    pub(super) fn of_all_sizes() -> Result<Fleet, Error> {
        let Self { fleet, .. } = Self::of(&FIXED)?;
        let mut fleet = fleet;
        let graph = fleet
            .machine(MachineId(0))
            .map_err(Error::malformed)?
            .graph()
            .clone();
        for gpu in graph.wholes().iter() {
            let Some(model) = graph.model(gpu) else {
                continue;
            };
            let sizes = ["3g", "2g", "1g"].map(|name| model.find(name));
            let [three, two, one] = sizes;
            let layout = model.fit(&[three?, two?, one?]);
            let layout = layout.ok_or_else(|| Error::malformed("no layout of 3g, 2g and 1g"))?;
            fleet
                .layout_is(MachineId(0), gpu, &layout)
                .map_err(Error::malformed)?;
        }
        Ok(fleet)
    }

    /// The time of a repartition: the times measured on an A100 for each instance that is destroyed
    /// or created, one after the other.
    pub(super) fn repartition(&self, model: &Model, from: &Layout, to: &Layout) -> Duration {
        self.gpu
            .repartition_time(model, from, to)
            .unwrap_or_default()
    }
}

/// Four GPUs, each on its own port of the root complex, so that jobs contend only within a GPU.
fn server(model: &Arc<Model>) -> Result<HardwareGraph, Error> {
    let mut fabric = Fabric::new();
    let root = fabric.add(FabricNode {
        name: "root complex".to_owned(),
        kind: NodeKind::HostBridge,
    })?;
    for gpu in 0..SERVER {
        let info = DeviceInfo {
            mig: Some(model.clone()),
            ..DeviceInfo::default()
        };
        let gpu = fabric.add(FabricNode {
            name: format!("GPU{gpu}"),
            kind: NodeKind::Device(info),
        })?;
        fabric.attach(gpu, root, PCIE_GEN4_GBPS)?;
    }
    Ok(fabric.lower()?)
}

/// A GPU of Fig. 9, which can be partitioned into this many instances of one slice, and in no other
/// way.
fn hypothetical(instances: u8) -> Result<Model, Error> {
    let profile = Profile {
        name: "1g.5gb".to_owned(),
        size: Size::new(1, 1),
        memory_bytes: 0,
        starts: (0..instances).collect(),
        max_instances: instances,
    };
    Ok(Model::new(
        format!("{instances} slices"),
        Size::new(instances, instances),
        vec![profile],
    )?)
}

/// The layout with the most 1g instances.
fn in_smallest(model: &Model) -> Result<Layout, Error> {
    let smallest = model.find("1g")?;
    let most = usize::from(model.profile(smallest).max_instances);
    model
        .fit(&vec![smallest; most])
        .ok_or_else(|| Error::malformed("no layout of 1g instances alone"))
}
