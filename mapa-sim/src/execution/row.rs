//! Models of run time by name.

use std::fmt;
use std::sync::Arc;

use mapa_core::{Settings, ring_packing_gbps};
use mapa_sched::{LinkModel, SettingValues};

use super::{ByBandwidth, BySize, Execution, Fixed};
use crate::workload::Workload;

/// Makes a model with settings for the jobs of a workload.
type MakeModel = dyn Fn(&SettingValues<'_>, &Workload) -> Result<Box<dyn Execution>, mapa_core::Error>
    + Send
    + Sync;

/// A model of run time that can be named: a row of a list such as [`executions`].
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
    pub links: fn() -> LinkModel,
    /// Whether run times depend on PCIe that jobs share.
    pub shared_pcie: bool,
    /// Whether run times depend on the size of instances.
    pub by_size: bool,
    make: Arc<MakeModel>,
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
            links: || LinkModel::None,
            shared_pcie: false,
            by_size: false,
            make: Arc::new(move |_, workload| Ok(make(workload))),
        }
    }

    /// The same model, whose run times depend on links in this way.
    #[must_use]
    pub fn by_links(mut self, links: fn() -> LinkModel) -> Self {
        self.links = links;
        self
    }

    /// The same model, whose run times depend on shared PCIe.
    #[must_use]
    pub fn by_shared_pcie(mut self) -> Self {
        self.shared_pcie = true;
        self.links = || LinkModel::Usual;
        self
    }

    /// The same model, whose run times depend on the size of instances.
    #[must_use]
    pub fn by_size(mut self) -> Self {
        self.by_size = true;
        self
    }

    /// The same model, whose name these settings may follow, such as `gbps=GB/s`.
    #[must_use]
    pub fn with_settings(
        mut self,
        settings: &'static [&'static str],
        make: impl Fn(&SettingValues<'_>, &Workload) -> Result<Box<dyn Execution>, mapa_core::Error>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.settings = settings;
        self.make = Arc::new(make);
        self
    }

    /// The model for the jobs of a workload, with these settings, `key=value` each.
    ///
    /// # Errors
    /// If there is no such setting or value. The message lists those there are.
    pub fn execution<'w>(
        &self,
        settings: impl IntoIterator<Item = &'w str>,
        workload: &Workload,
    ) -> Result<Box<dyn Execution>, mapa_core::Error> {
        let keys = || {
            self.settings
                .iter()
                .filter_map(|form| form.split('=').next())
        };
        let settings = Settings::read(settings, &self.settings.join(", "), |key| {
            keys().find(|known| *known == key)
        })?;
        (self.make)(&settings, workload)
    }

    /// The name with its settings, as messages list it.
    #[must_use]
    pub fn form(&self) -> String {
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

/// The general models of run time: `fixed`, `by-size`, `effective-bandwidth` (Eq. 2 of MAPA) and
/// `ring-packing`. Published systems have models of their own.
#[must_use]
pub fn executions() -> Vec<ExecutionRow> {
    vec![
        ExecutionRow::new("fixed", "as the job file says, whatever the links", |_| {
            Box::new(Fixed)
        }),
        ExecutionRow::new(
            "by-size",
            "as the job file says, by the size of the job's MIG instance",
            |_| Box::new(BySize),
        )
        .by_size(),
        ExecutionRow::new(
            "effective-bandwidth",
            "by the bandwidth that Eq. 2 predicts",
            |_| Box::new(ByBandwidth::eq_2()),
        )
        .by_links(|| LinkModel::Usual),
        ExecutionRow::new(
            "ring-packing",
            "by the bandwidth of a packing of rings",
            |_| Box::new(ByBandwidth::ring_packing()),
        )
        .by_links(|| LinkModel::By(ring_packing_gbps())),
    ]
}
