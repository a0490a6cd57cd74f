//! Draws a machine as an SVG picture.
//!
//! Sockets, bridges and switches are boxes around their devices. Direct links are lines; width and
//! colour show the class. A switched fabric is a bar with one line to each device, instead of
//! one line for each pair. Lines never pass behind a device: see `routes`. The same machine always
//! gives the same text.

mod canvas;
mod cards;
mod draw;
mod layout;
mod legend;
mod picture;
mod routes;
mod rows;
mod style;
mod wires;

pub use self::picture::Picture;

use crate::error::{Error, ErrorKind};
use crate::machine::Machine;

/// The most devices in a picture. More would not be legible.
const MOST_DEVICES: usize = 72;

impl Machine {
    /// Draws the machine as an SVG picture, about 1200 units wide.
    ///
    /// The picture has boxes for sockets, bridges and switches, cards for devices, lines for direct
    /// links, and a legend of the kinds of links. The ids in `picture` are those of
    /// [`Machine::graph`].
    ///
    /// # Complexity
    ///
    /// O(devices² + links).
    ///
    /// # Errors
    /// - If the machine has more than 72 devices.
    /// - If `picture` has an id that the machine's graph does not have.
    /// - If the job's pattern has more ranks than its placement.
    /// - If [`Machine::graph`] fails.
    pub fn to_svg(&self, picture: &Picture) -> Result<String, Error> {
        let devices = self.fabric.device_count();
        if devices > MOST_DEVICES {
            let what = format!(
                "{devices} devices: expected at most {MOST_DEVICES}, as more cannot be read in a picture"
            );
            return Err(Error::of_kind(ErrorKind::TooLarge, what));
        }
        let graph = self.graph()?;
        picture.check(&graph)?;
        Ok(draw::draw(self, &graph, picture))
    }
}
