//! What a picture shows in addition to the machine: title, job, devices in use.

use mapa_core::{DeviceId, DeviceSet, HardwareGraph, Pattern};

use crate::error::Error;

/// What a picture of a machine shows beside the machine.
///
/// # Examples
/// ```
/// use mapa_core::{DeviceSet, Policy, Pattern, Request, preserve};
/// use mapa_topologies::{Picture, named};
///
/// let machine = named("dgx-1v")?;
/// let graph = machine.graph()?;
/// let busy = DeviceSet::from([0]);
/// let free = &graph.all() - &busy;
/// let decision = preserve().decide(&Request::new(Pattern::ring(4)).sensitive(true), &graph.with_free(&free))?;
/// let picture = Picture::new().busy(busy).job(decision.pattern(), decision.placement());
/// assert!(machine.to_svg(&picture)?.starts_with("<svg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Picture {
    pub(super) title: Option<String>,
    pub(super) subtitle: Option<String>,
    pub(super) placement: Vec<DeviceId>,
    pub(super) edges: Vec<(u16, u16)>,
    pub(super) busy: DeviceSet,
    pub(super) present: DeviceSet,
}

impl Picture {
    /// A picture of the machine alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the machine's own title.
    pub fn title(self, title: impl Into<String>) -> Self {
        Self {
            title: Some(title.into()),
            ..self
        }
    }

    /// Adds a line below the title.
    pub fn subtitle(self, subtitle: impl Into<String>) -> Self {
        Self {
            subtitle: Some(subtitle.into()),
            ..self
        }
    }

    /// Adds a job: its communication pattern, and the device or instance of each rank. The devices
    /// are filled and labelled with their ranks. The links that the job uses are highlighted.
    pub fn job(self, pattern: &Pattern, placement: &[DeviceId]) -> Self {
        let edges = pattern
            .edges()
            .iter()
            .map(|edge| (edge.a, edge.b))
            .collect();
        Self {
            placement: placement.to_vec(),
            edges,
            ..self
        }
    }

    /// Marks devices and instances as in use. They are drawn grey.
    pub fn busy(self, busy: DeviceSet) -> Self {
        Self { busy, ..self }
    }

    /// Sets the MIG instances that exist now, so that free ones are drawn too. Without this call,
    /// only instances of the job and instances in use are drawn.
    pub fn present(self, present: DeviceSet) -> Self {
        Self { present, ..self }
    }

    pub(super) fn check(&self, graph: &HardwareGraph) -> Result<(), Error> {
        for id in self.placement.iter().copied().chain(self.busy.iter()) {
            graph.check(id)?;
        }
        let ranks = self.placement.len();
        if let Some((a, b)) = self
            .edges
            .iter()
            .find(|(a, b)| usize::from(*a.max(b)) >= ranks)
        {
            return Err(Error::new(format!(
                "the job has an edge {a}-{b} but a placement of {ranks} ranks: expected a device for each \
                 rank"
            )));
        }
        Ok(())
    }
}
