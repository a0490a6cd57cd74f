//! Machines that the library provides: those of the catalogue, each with a machine file, and those
//! by formula.

mod entries;
mod fleet;
mod formula;
mod single;

use crate::error::Error;
use crate::facts::know_links;
use crate::machine::Machine;

pub use entries::{Entry, catalogue};
pub use formula::{Formula, formulas};

/// The machine with this name: one of the [`catalogue`], or one by formula ([`formulas`]), such as
/// `torus:4x4`.
///
/// # Examples
/// ```
/// let fleet = mapa_topologies::named("fleet:4xdgx-1v")?.graph()?;
/// let torus = mapa_topologies::named("torus:4x4x4@50")?.graph()?;
/// assert_eq!((fleet.len(), torus.len()), (32, 64));
/// assert_eq!(torus.link(0.into(), 1.into()).gbps, 50.0);
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
///
/// # Errors
/// No such machine; the message lists the names. A formula that is not well formed, or makes more
/// than [`MAX_DEVICES`](mapa_core::MAX_DEVICES) devices; the message gives the form.
pub fn named(name: &str) -> Result<Machine, Error> {
    let mut machine = match fleet::size(name) {
        Some(size) => fleet::fleet(name, size),
        None => single::single(name),
    }?;
    know_links(&mut machine)?;
    Ok(machine)
}
