//! Settings: a machine, jobs, their run times, and the policies that are compared.

use std::sync::Arc;

use mapa_core::{BuiltIn, HardwareGraph, Policy, preserve_with, preserved_gbps, ring_packing_gbps};
use mapa_sim::{ByBandwidth, Execution, Fixed, Generator};
use mapa_topologies::named;

use mapa_front::Error;

/// The policies of the paper's evaluation, in the order of its figures.
pub(super) const PAPER: [&str; 4] = ["lowest-id", "topo-aware", "greedy", "preserve"];

/// Policies of the released code that differ from the paper's words.
pub(super) const RELEASED: [&str; 2] = ["topo-aware-released", "preserve-released"];

/// Policies that choose by ring packing: `max-bandwidth`, and Algorithm 1 with ring packing in
/// place of Eq. 2.
pub(super) const PACKING: [&str; 2] = ["max-bandwidth", BY_PACKING];

pub(super) const BY_PACKING: &str = "preserve by ring packing";

/// The policy of this name.
pub(super) fn policy(name: &str) -> Result<Box<dyn Policy>, Error> {
    if name == BY_PACKING {
        return Ok(Box::new(preserve_with(
            ring_packing_gbps(),
            preserved_gbps(),
        )));
    }
    Ok(BuiltIn::named(name)?)
}

/// How long jobs run.
#[derive(Clone, Debug)]
pub(super) enum JobRunTimes {
    /// For the time of their work, whatever their placement.
    Fixed,
    /// By Eq. 2.
    Eq2(RunTimeCurve),
    /// By ring packing.
    Packing,
}

/// The assumptions about run times that settings vary.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunTimeCurve {
    /// A factor on the part of sensitive networks' ratios that exceeds 1.
    pub(super) gain: f64,
    /// The ratio of insensitive jobs.
    pub(super) insensitive: f64,
    /// The bandwidth that a job has at least, GB/s.
    pub(super) floor: f64,
}

impl RunTimeCurve {
    pub(super) const DEFAULT: Self = Self {
        gain: 1.0,
        insensitive: 1.1,
        floor: 10.0,
    };

    /// The model of run times. Ratios are defined at the floor. If the floor is not 10 GB/s, they
    /// are stretched so that times above 10 GB/s stay the same.
    pub(super) fn model(self) -> ByBandwidth {
        let mut model = ByBandwidth::eq_2();
        let inverse = |gbps: f64| 1.0 / gbps - 1.0 / model.full_gbps;
        // Times are linear in 1/B: moving the floor stretches the range of times by this factor.
        let reach = inverse(self.floor) / inverse(Self::DEFAULT.floor);
        let stretched = |ratio: f64, gain: f64| 1.0 + (ratio - 1.0) * gain * reach;
        model.ratios = model
            .ratios
            .iter()
            .map(|(task, &ratio)| (task.clone(), stretched(ratio, self.gain)))
            .collect();
        model.other = (
            stretched(model.other.0, self.gain),
            stretched(self.insensitive, 1.0),
        );
        model.floor_gbps = self.floor;
        model
    }
}

impl JobRunTimes {
    pub(super) fn model(&self) -> Box<dyn Execution> {
        match self {
            Self::Fixed => Box::new(Fixed),
            Self::Eq2(curve) => Box::new(curve.model()),
            Self::Packing => Box::new(ByBandwidth::ring_packing()),
        }
    }
}

/// A machine of the catalogue, and the bandwidth of a PCIe hop if it differs from the catalogue's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NamedMachine {
    pub(super) name: &'static str,
    pub(super) pcie_gbps: Option<f64>,
}

impl NamedMachine {
    pub(super) const DGX: Self = Self::new("dgx-1v");

    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            pcie_gbps: None,
        }
    }

    /// A new graph, whose tables are still empty.
    pub(super) fn graph(self) -> Result<Arc<HardwareGraph>, Error> {
        let mut machine = named(self.name).map_err(Error::malformed)?;
        if let Some(gbps) = self.pcie_gbps {
            machine.fabric.set_host_gbps(gbps)?;
        }
        Ok(Arc::new(machine.graph().map_err(Error::malformed)?))
    }
}

/// An experiment's conditions.
#[derive(Clone, Debug)]
pub(super) struct MapaSetting {
    /// The key by which the setting is found.
    pub(super) id: &'static str,
    /// A description.
    pub(super) what: &'static str,
    pub(super) machine: NamedMachine,
    pub(super) jobs: Generator,
    pub(super) runs: JobRunTimes,
    pub(super) policies: Vec<&'static str>,
}

impl MapaSetting {
    pub(super) fn new(
        id: &'static str,
        what: &'static str,
        machine: NamedMachine,
        runs: JobRunTimes,
    ) -> Self {
        Self {
            id,
            what,
            machine,
            jobs: Generator::mapa(),
            runs,
            policies: PAPER.to_vec(),
        }
    }

    fn jobs(self, jobs: Generator) -> Self {
        Self { jobs, ..self }
    }

    fn with(mut self, policies: &[&'static str]) -> Self {
        self.policies.extend(policies);
        self
    }
}

fn a_hundred() -> Generator {
    let mut jobs = Generator::mapa();
    jobs.jobs = 100;
    jobs
}

/// All settings. The first is the default.
// Long, since it is one list, and each setting says what it differs in from the first.
pub(super) fn settings() -> Vec<MapaSetting> {
    let eq_2 =
        |id, what, curve| MapaSetting::new(id, what, NamedMachine::DGX, JobRunTimes::Eq2(curve));
    let curve = RunTimeCurve::DEFAULT;
    let pcie_10 = NamedMachine {
        pcie_gbps: Some(10.0),
        ..NamedMachine::DGX
    };
    let mut all = vec![
        eq_2("main", "run times by Eq. 2, nine workloads", curve)
            .with(&RELEASED)
            .with(&PACKING),
        eq_2("six-networks", "six networks", curve)
            .jobs(Generator::mapa_six())
            .with(&RELEASED),
        eq_2("released", "six networks, two to five GPUs", curve)
            .jobs(Generator::mapa_released())
            .with(&RELEASED),
        MapaSetting::new(
            "fixed",
            "fixed run times",
            NamedMachine::DGX,
            JobRunTimes::Fixed,
        )
        .with(&RELEASED)
        .with(&PACKING),
        MapaSetting::new(
            "packing",
            "run times by ring packing",
            NamedMachine::DGX,
            JobRunTimes::Packing,
        )
        .with(&RELEASED)
        .with(&PACKING),
        eq_2(
            "half",
            "sensitive networks gain half as much",
            RunTimeCurve { gain: 0.5, ..curve },
        ),
        eq_2(
            "one-and-a-half",
            "sensitive networks gain half as much again",
            RunTimeCurve { gain: 1.5, ..curve },
        ),
        eq_2(
            "insensitive-1",
            "insensitive jobs gain nothing",
            RunTimeCurve {
                insensitive: 1.0,
                ..curve
            },
        ),
        eq_2(
            "floor-12",
            "floor 12 GB/s",
            RunTimeCurve {
                floor: 12.0,
                ..curve
            },
        ),
        eq_2(
            "no-floor",
            "no floor (0.4 GB/s)",
            RunTimeCurve {
                floor: 0.4,
                ..curve
            },
        ),
        MapaSetting::new(
            "pcie-10",
            "PCIe 10 GB/s for Eq. 1 and 3",
            pcie_10,
            JobRunTimes::Eq2(curve),
        ),
        eq_2("hundred", "100 jobs", curve).jobs(a_hundred()),
        MapaSetting::new(
            "hundred-fixed",
            "100 jobs, fixed run times",
            NamedMachine::DGX,
            JobRunTimes::Fixed,
        )
        .jobs(a_hundred()),
    ];
    let sixteen = [
        (
            "torus",
            "torus-2d, fixed run times",
            "torus-2d",
            JobRunTimes::Fixed,
        ),
        (
            "cube",
            "cube-mesh-16, fixed run times",
            "cube-mesh-16",
            JobRunTimes::Fixed,
        ),
        (
            "torus-released",
            "torus-2d as in the released code",
            "torus-2d-released",
            JobRunTimes::Fixed,
        ),
        (
            "cube-released",
            "cube-mesh-16 as in the released code",
            "cube-mesh-16-released",
            JobRunTimes::Fixed,
        ),
        (
            "torus-eq-2",
            "torus-2d, run times by Eq. 2",
            "torus-2d",
            JobRunTimes::Eq2(curve),
        ),
        (
            "cube-eq-2",
            "cube-mesh-16, run times by Eq. 2",
            "cube-mesh-16",
            JobRunTimes::Eq2(curve),
        ),
        (
            "torus-packing",
            "torus-2d, run times by ring packing",
            "torus-2d",
            JobRunTimes::Packing,
        ),
        (
            "cube-packing",
            "cube-mesh-16, run times by ring packing",
            "cube-mesh-16",
            JobRunTimes::Packing,
        ),
    ];
    all.extend(sixteen.map(|(id, what, name, runs)| {
        MapaSetting::new(id, what, NamedMachine::new(name), runs).with(&PACKING)
    }));
    all
}
