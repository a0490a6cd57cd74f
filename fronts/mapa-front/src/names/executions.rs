//! Models of run time by name.

use std::fmt;
use std::sync::Arc;

use mapa_core::{Objective, Settings, ring_packing_gbps};
use mapa_sim::{
    ByBandwidth, BySize, ByWarps, Execution, Fixed, PcieEqualShare, PcieMaxMin, Workload,
};

use super::registry::{Registry, Row};

/// How run times depend on the links of a job.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub enum LinkEffect {
    /// Not at all: better links save no time.
    None,
    /// As schedulers assume if nothing else is said: by Eq. 2.
    #[default]
    Usual,
    /// By this model of bandwidth.
    By(fn() -> Objective<'static>),
}

type Said<'w> = Settings<'w, &'static str>;
type Make =
    dyn Fn(&Said<'_>, &Workload) -> Result<Box<dyn Execution>, mapa_core::Error> + Send + Sync;

/// A model of run time that requests can name.
#[derive(Clone)]
#[non_exhaustive]
pub struct ExecutionRow {
    /// The name.
    pub name: String,
    /// One line for help texts.
    pub summary: String,
    /// The settings that may follow its name, and their values, such as `gbps=GB/s`.
    pub settings: &'static [&'static str],
    /// How run times depend on the links of a job.
    pub links: LinkEffect,
    /// Whether run times depend on PCIe that jobs share.
    pub shared_pcie: bool,
    /// Whether run times depend on the size of instances.
    pub by_size: bool,
    pub(super) make: Arc<Make>,
}

impl ExecutionRow {
    /// A model without settings, whose run times do not depend on links.
    pub fn new(
        name: impl Into<String>,
        summary: impl Into<String>,
        make: impl Fn(&Workload) -> Box<dyn Execution> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            settings: &[],
            links: LinkEffect::None,
            shared_pcie: false,
            by_size: false,
            make: Arc::new(move |_, workload| Ok(make(workload))),
        }
    }

    /// The same model, whose run times depend on links in this way.
    #[must_use]
    pub fn by_links(mut self, links: LinkEffect) -> Self {
        self.links = links;
        self
    }

    /// The same model, whose run times depend on shared PCIe.
    #[must_use]
    pub fn by_shared_pcie(mut self) -> Self {
        self.shared_pcie = true;
        self.links = LinkEffect::Usual;
        self
    }

    /// The name with its settings, as messages list it.
    pub(super) fn form(&self) -> String {
        let settings = self.settings.iter().map(|setting| format!("[,{setting}]"));
        std::iter::once(self.name.clone()).chain(settings).collect()
    }
}

impl fmt::Debug for ExecutionRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutionRow")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Row for ExecutionRow {
    const WHAT: &'static str = "execution model";

    fn name(&self) -> &str {
        &self.name
    }
}

/// The models that MAPA ships: `fixed`, `by-size`, `by-warps` (`by-warps,slice=1024` for compute slices that hold
/// so many warps), `effective-bandwidth` (Eq. 2 of MAPA), `ring-packing`,
/// `pcie-equal-share` (Eq. 2 of Tang et al.; `pcie-equal-share,gbps=60` for ports of 60 GB/s) and
/// `pcie-max-min`.
pub(super) fn built_in() -> Registry<ExecutionRow> {
    let equal_share = ExecutionRow {
        settings: &["gbps=GB/s"],
        make: Arc::new(|settings, _| {
            Ok(Box::new(match settings.get("gbps") {
                Some(gbps) => PcieEqualShare::new(gbps.positive("GB/s above 0")?),
                None => PcieEqualShare::default(),
            }))
        }),
        ..ExecutionRow::new(
            "pcie-equal-share",
            "by each job's share of its GPU's PCIe bandwidth, in equal shares (Eq. 2 of Tang et al.)",
            |_| Box::new(PcieEqualShare::default()),
        )
        .by_shared_pcie()
    };
    let by_warps = ExecutionRow {
        settings: &["slice=WARPS"],
        make: Arc::new(|settings, _| {
            Ok(Box::new(match settings.get("slice") {
                Some(slice) => ByWarps::new(slice.positive("warps above 0")?),
                None => ByWarps::default(),
            }))
        }),
        ..ExecutionRow::new(
            "by-warps",
            "as the job file says; tasks that together want more warps than their instance holds are slower",
            |_| Box::new(ByWarps::default()),
        )
    };
    [
        ExecutionRow::new("fixed", "as the job file says, whatever the links", |_| {
            Box::new(Fixed)
        }),
        ExecutionRow {
            by_size: true,
            ..ExecutionRow::new(
                "by-size",
                "as the job file says, by the size of the job's MIG instance",
                |_| Box::new(BySize),
            )
        },
        by_warps,
        ExecutionRow::new(
            "effective-bandwidth",
            "by the bandwidth that Eq. 2 predicts",
            |_| Box::new(ByBandwidth::eq_2()),
        )
        .by_links(LinkEffect::Usual),
        ExecutionRow::new(
            "ring-packing",
            "by the bandwidth of a packing of rings",
            |_| Box::new(ByBandwidth::ring_packing()),
        )
        .by_links(LinkEffect::By(ring_packing_gbps)),
        equal_share,
        ExecutionRow::new(
            "pcie-max-min",
            "by each job's share of the PCIe paths that it copies over, max-min fair",
            |workload| Box::new(PcieMaxMin::new(workload)),
        )
        .by_shared_pcie(),
    ]
    .into_iter()
    .collect()
}
