//! A machine as a picture: SVG.
//!
//! Sockets, bridges and switches are boxes around their devices; direct links are lines whose width and colour say of what
//! class they are; a switched fabric is one bar with a line to each device, not a line for each pair. Lines never pass
//! behind a device: see `routes`. The same machine gives the same text.

mod canvas;
mod cards;
mod draw;
mod layout;
mod legend;
mod routes;
mod rows;
mod style;
mod wires;

use mapa_core::{DeviceId, DeviceSet, HardwareGraph, Pattern};

use self::canvas::{Attribute, Canvas, Path, number};
use crate::error::{Error, ErrorKind};
use crate::machine::Machine;

/// The most devices that a picture can show and still be read.
const MOST_DEVICES: usize = 72;

/// What a picture of a machine shows beside the machine.
///
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
    title: Option<String>,
    subtitle: Option<String>,
    placement: Vec<DeviceId>,
    edges: Vec<(u16, u16)>,
    busy: DeviceSet,
    present: DeviceSet,
}

impl Picture {
    /// The machine alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another title than the machine's own.
    pub fn title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// A line below the title.
    pub fn subtitle(self, subtitle: impl Into<String>) -> Self {
        Self { subtitle: Some(subtitle.into()), ..self }
    }

    /// A job on the machine: who talks to whom, and the device or instance of each rank. The devices are filled and bear
    /// their ranks, and what the job's edges lie on is drawn boldly.
    pub fn job(self, pattern: &Pattern, placement: &[DeviceId]) -> Self {
        let edges = pattern.edges().iter().map(|edge| (edge.a, edge.b)).collect();
        Self { placement: placement.to_vec(), edges, ..self }
    }

    /// Devices and instances that are in use: grey.
    pub fn busy(self, busy: DeviceSet) -> Self {
        Self { busy, ..self }
    }

    /// The instances that devices are cut into now. Without it only those of a job, and those in use, are drawn.
    pub fn present(self, present: DeviceSet) -> Self {
        Self { present, ..self }
    }

    fn check(&self, graph: &HardwareGraph) -> Result<(), Error> {
        for id in self.placement.iter().copied().chain(self.busy.iter()) {
            graph.check(id)?;
        }
        let ranks = self.placement.len();
        if let Some((a, b)) = self.edges.iter().find(|(a, b)| usize::from(*a.max(b)) >= ranks) {
            return Err(Error::new(format!(
                "the job has an edge {a}-{b} and {ranks} ranks: expected a device for each rank"
            )));
        }
        Ok(())
    }
}

impl Machine {
    /// The machine as a picture, SVG of about 1200 units in width: boxes for sockets, bridges and switches, cards for
    /// devices, lines for direct links, a legend of the links that there are. Ids are those of [`Machine::graph`].
    ///
    /// O(devices² + links).
    ///
    /// # Errors
    /// More than 72 devices; ids that the machine's graph has not; a pattern with more ranks than are placed; as
    /// [`Machine::graph`].
    pub fn to_svg(&self, picture: &Picture) -> Result<String, Error> {
        let devices = self.fabric.device_count();
        if devices > MOST_DEVICES {
            let what =
                format!("{devices} devices: expected at most {MOST_DEVICES}, as more cannot be read in a picture");
            return Err(Error::of_kind(ErrorKind::TooLarge, what));
        }
        let graph = self.graph()?;
        picture.check(&graph)?;
        Ok(draw::draw(self, &graph, picture))
    }
}

/// A line of text; where its base line begins, or as `text-anchor` says.
fn text(canvas: &mut Canvas, (x, y): (f64, f64), size: f64, ink: &str, more: &[(&str, &str)], what: &str) {
    let mut attributes: Vec<Attribute<'_>> =
        vec![("x", number(x)), ("y", number(y)), ("font-size", number(size)), ("fill", ink.to_owned())];
    attributes.extend(more.iter().map(|(key, value)| (*key, (*value).to_owned())));
    canvas.say("text", &attributes, what);
}

/// A line along a path.
fn line(canvas: &mut Canvas, path: &Path, colour: &str, width: &str, dash: Option<&str>, more: &[Attribute<'_>]) {
    let mut attributes = more.to_vec();
    attributes.extend([
        ("d", path.to_string()),
        ("fill", "none".to_owned()),
        ("stroke", colour.to_owned()),
        ("stroke-width", width.to_owned()),
    ]);
    attributes.extend(dash.map(|dash| ("stroke-dasharray", dash.to_owned())));
    canvas.add("path", &attributes);
}
