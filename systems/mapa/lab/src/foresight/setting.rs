//! Settings: machines, judges, arrivals, run times, and the policies and schedulers that are
//! compared.

use std::sync::Arc;

use mapa_core::{
    Foresight, HardwareGraph, Objective, Patience, Policy, Rules, aggregate_gbps, criteria::max,
    effective_gbps, preserve_with, preserved_direct_gbps, preserved_gbps, ring_packing_gbps, when,
};
use mapa_sim::{Arrivals, ByBandwidth, Execution, Fixed, Generator};
use mapa_topologies::named;

use mapa_front::Error;

/// The machines, by their names in the catalogue.
pub(crate) const MACHINES: [&str; 3] = ["dgx-1v", "torus-2d", "cube-mesh-16"];

/// The model of bandwidth by which policies choose, and which run times follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judge {
    Eq2,
    Packing,
}

impl Judge {
    pub(crate) const ALL: [Self; 2] = [Self::Eq2, Self::Packing];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Eq2 => "Eq. 2",
            Self::Packing => "ring packing",
        }
    }

    pub(crate) fn model(self) -> Objective<'static> {
        match self {
            Self::Eq2 => effective_gbps(),
            Self::Packing => ring_packing_gbps(),
        }
    }
}

/// The arrival pattern of jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ArrivalPattern {
    AtOnce,
    /// A Poisson process of this load.
    Load(f64),
}

impl ArrivalPattern {
    pub(super) const ALL: [Self; 3] = [Self::AtOnce, Self::Load(0.7), Self::Load(0.9)];

    pub(super) fn name(self) -> String {
        match self {
            Self::AtOnce => "all at once".to_owned(),
            Self::Load(load) => format!("Poisson, load {load}"),
        }
    }
}

/// The model of run times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RunTimeModel {
    /// By the judge's bandwidth. The number scales the part of ratios that exceeds 1.
    ByBandwidth(f64),
    Fixed,
}

impl RunTimeModel {
    pub(super) fn execution(self, judge: Judge) -> Box<dyn Execution> {
        match self {
            Self::ByBandwidth(gain) => Box::new(by_bandwidth(judge, gain)),
            Self::Fixed => Box::new(Fixed),
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::ByBandwidth(1.0) => "by bandwidth".to_owned(),
            Self::ByBandwidth(gain) => format!("{gain} of the gain"),
            Self::Fixed => "fixed".to_owned(),
        }
    }
}

/// Run times by the judge's bandwidth, in which jobs gain the part `gain` of the assumed gain.
pub(crate) fn by_bandwidth(judge: Judge, gain: f64) -> ByBandwidth {
    let mut model = ByBandwidth::new(judge.model());
    let scaled = |ratio: f64| 1.0 + (ratio - 1.0) * gain;
    model.ratios = model
        .ratios
        .iter()
        .map(|(task, &ratio)| (task.clone(), scaled(ratio)))
        .collect();
    model.other = (scaled(model.other.0), scaled(model.other.1));
    model
}

/// An experiment's conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ForesightSetting {
    pub(super) machine: &'static str,
    pub(super) judge: Judge,
    pub(super) coming: ArrivalPattern,
    pub(super) runs: RunTimeModel,
}

impl ForesightSetting {
    /// The key in `results.json`.
    pub(super) fn id(&self) -> String {
        format!(
            "{}, {}, {}, {}",
            self.machine,
            self.judge.name(),
            self.coming.name(),
            self.runs.name()
        )
    }

    /// The machine and its judge.
    pub(super) fn place(&self) -> String {
        format!("{}, {}", self.machine, self.judge.name())
    }

    /// The machine and its judge, in the short form of pictures.
    pub(super) fn label(&self) -> String {
        let machine = match self.machine {
            "dgx-1v" => "DGX-1V",
            "torus-2d" => "torus",
            _ => "cube mesh",
        };
        let judge = if self.judge == Judge::Eq2 {
            "Eq. 2"
        } else {
            "rings"
        };
        format!("{machine}, {judge}")
    }

    /// The jobs: the paper's rings of one to five devices over its six networks.
    pub(super) fn jobs(&self, devices: usize) -> Generator {
        let mut jobs = Generator::mapa_six();
        jobs.arrivals = match self.coming {
            ArrivalPattern::AtOnce => Arrivals::AtOnce,
            ArrivalPattern::Load(load) => Arrivals::Load { load, devices },
        };
        jobs
    }

    /// Whether jobs gain by bandwidth what foresight assumes.
    pub(super) fn is_as_believed(&self) -> bool {
        matches!(
            self.runs,
            RunTimeModel::ByBandwidth(1.0) | RunTimeModel::Fixed
        )
    }

    /// The choosers that are compared in this setting.
    pub(super) fn choosers(&self) -> &'static [ForesightChooser] {
        match self.runs {
            RunTimeModel::ByBandwidth(1.0) => &CHOOSERS,
            _ => &PATIENT,
        }
    }
}

/// The graph of a machine of the catalogue.
pub(crate) fn graph(name: &str) -> Result<Arc<HardwareGraph>, Error> {
    Ok(Arc::new(
        named(name)
            .map_err(Error::malformed)?
            .graph()
            .map_err(Error::malformed)?,
    ))
}

/// The true parts of the gain, where it is overstated.
pub(super) const GAINS: [f64; 3] = [0.5, 0.25, 0.0];

/// Every setting: by bandwidth with all choosers, then those in which the gain is overstated, then
/// fixed run times.
pub(super) fn settings() -> Vec<ForesightSetting> {
    let every = |coming: ArrivalPattern, runs: RunTimeModel| {
        let at = move |machine| {
            Judge::ALL.map(move |judge| ForesightSetting {
                machine,
                judge,
                coming,
                runs,
            })
        };
        MACHINES.into_iter().flat_map(at)
    };
    let by_bandwidth = ArrivalPattern::ALL
        .into_iter()
        .flat_map(|coming| every(coming, RunTimeModel::ByBandwidth(1.0)));
    let less = GAINS
        .into_iter()
        .flat_map(|gain| every(ArrivalPattern::AtOnce, RunTimeModel::ByBandwidth(gain)));
    by_bandwidth
        .chain(less)
        .chain(every(ArrivalPattern::AtOnce, RunTimeModel::Fixed))
        .collect()
}

/// The policy that places jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlacingPolicy {
    /// The best by the model; of those, the one that leaves the most bandwidth of direct links.
    Preserve,
    /// The best by the model, ties by lowest ids: `preserve_with`.
    PreserveByIds,
    Foresight,
}

/// A policy and a scheduler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ForesightChooser {
    pub(super) name: &'static str,
    pub(super) placing: PlacingPolicy,
    /// The cost of an idle device while a job waits. `None`: no job waits for better links.
    pub(super) kappa: Option<f64>,
    /// Whether the chooser sees the jobs behind the queue head.
    pub(super) queue: bool,
    /// Whether the chooser knows the ends of running jobs.
    pub(super) ends: bool,
}

impl ForesightChooser {
    /// The policy, by the judge's model.
    pub(super) fn policy(self, judge: Judge) -> Box<dyn Policy> {
        match self.placing {
            PlacingPolicy::Preserve => Box::new(preserve_by(judge.model())),
            PlacingPolicy::PreserveByIds => {
                Box::new(preserve_with(judge.model(), preserved_gbps()))
            }
            PlacingPolicy::Foresight => Box::new(Foresight::new(judge.model())),
        }
    }

    /// The scheduler, which places jobs by this policy.
    pub(super) fn scheduler(
        self,
        policy: impl Policy + 'static,
        setting: &ForesightSetting,
    ) -> mapa_system_mapa::Foresight {
        // With fixed run times waiting gains nothing, and patience is set to assume that.
        let slowdown = if setting.runs == RunTimeModel::Fixed {
            1.0
        } else {
            Patience::default().slowdown
        };
        let patience = self.kappa.map(|kappa| Patience {
            kappa,
            slowdown,
            ..Patience::default()
        });
        let jobs = match (self.queue, self.ends) {
            (false, _) => 0,
            (true, false) => 6,
            (true, true) => 8,
        };
        let judge = Foresight::new(setting.judge.model());
        let scheduler = mapa_system_mapa::Foresight::new(policy)
            .by(judge)
            .patience(patience)
            .queue(jobs);
        if self.ends {
            scheduler.known_ends()
        } else {
            scheduler
        }
    }

    const fn new(name: &'static str, placing: PlacingPolicy) -> Self {
        Self {
            name,
            placing,
            kappa: None,
            queue: false,
            ends: false,
        }
    }

    const fn patient(self, kappa: f64) -> Self {
        Self {
            kappa: Some(kappa),
            ..self
        }
    }

    const fn queue(self) -> Self {
        Self {
            queue: true,
            ..self
        }
    }

    const fn ends(self) -> Self {
        Self { ends: true, ..self }
    }
}

/// The baseline.
pub(super) const PRESERVE: &str = "preserve";
/// Preserve with ties by lowest ids, as the policy `preserve` of this program breaks them.
pub(super) const BY_IDS: &str = "preserve, ties by id";
/// The recommended combination: placement by leases, and patience.
pub(super) const FORESIGHT: &str = "foresight";
/// The placement of foresight alone.
pub(super) const LEASES: &str = "leases";
/// Patience without the placement of foresight.
pub(super) const PATIENCE: &str = "preserve + patience";

/// All choosers; the first is the baseline.
pub(super) const CHOOSERS: [ForesightChooser; 10] = [
    ForesightChooser::new(PRESERVE, PlacingPolicy::Preserve),
    ForesightChooser::new(BY_IDS, PlacingPolicy::PreserveByIds),
    ForesightChooser::new(LEASES, PlacingPolicy::Foresight),
    ForesightChooser::new("leases + queue", PlacingPolicy::Foresight).queue(),
    ForesightChooser::new("leases + queue + ends", PlacingPolicy::Foresight)
        .queue()
        .ends(),
    ForesightChooser::new(PATIENCE, PlacingPolicy::Preserve).patient(0.35),
    ForesightChooser::new(FORESIGHT, PlacingPolicy::Foresight).patient(0.35),
    ForesightChooser::new("foresight, kappa 1", PlacingPolicy::Foresight).patient(1.0),
    ForesightChooser::new("foresight + queue", PlacingPolicy::Foresight)
        .patient(0.35)
        .queue(),
    ForesightChooser::new("foresight + queue + ends", PlacingPolicy::Foresight)
        .patient(1.0)
        .queue()
        .ends(),
];

/// The choosers that are compared where the gain is overstated.
const PATIENT: [ForesightChooser; 4] = [CHOOSERS[0], CHOOSERS[2], CHOOSERS[6], CHOOSERS[7]];

/// Preserve by a model of bandwidth, ties by preserved bandwidth. Only direct links count as
/// preserved, as in the released code. On a DGX-1V with a queue that is never empty, this has more
/// bandwidth in the long run than counting paths over the host, or breaking ties by id.
pub(crate) fn preserve_by(model: Objective<'static>) -> impl Policy + Clone {
    let sensitive = Rules::new(PRESERVE)
        .prefer(max(model))
        .then(max(preserved_direct_gbps()));
    let insensitive = Rules::new(PRESERVE)
        .prefer(max(preserved_direct_gbps()))
        .then(max(aggregate_gbps()));
    when(
        PRESERVE,
        |request| request.sensitivity.is_sensitive() && request.pattern.len() > 1,
        sensitive,
        insensitive,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_choosers_have_names_of_their_own() {
        let ids: Vec<String> = settings().iter().map(ForesightSetting::id).collect();
        let names: Vec<String> = CHOOSERS
            .iter()
            .map(|chooser| chooser.name.to_owned())
            .collect();
        for mut all in [ids, names] {
            let before = all.len();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), before);
        }
        assert!(
            settings()
                .iter()
                .all(|setting| setting.choosers()[0].name == PRESERVE)
        );
    }
}
