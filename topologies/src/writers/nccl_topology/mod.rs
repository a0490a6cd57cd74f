//! A machine as NCCL's topology, for `NCCL_TOPO_FILE` and for NCCL's own tools.
//!
//! NCCL's host is a tree of CPUs and PCI switches, so [`plan`] builds that tree from what joins every two devices, whether
//! the machine was drawn as a tree or read from a table of pairs; [`text`] writes it. What was written is read back before
//! it is given out.

mod plan;
mod text;

use crate::error::Error;
use crate::machine::Machine;
use plan::Plan;

impl Machine {
    /// The machine as NCCL's topology: a `<system>` that NCCL reads, with what is lost as comments in front.
    ///
    /// [`read`](crate::read) makes of it a machine with the same devices in the same order, the same number of direct
    /// links between every two, and the same class of path through the host, but for what NCCL has no words for:
    ///
    /// - `Node` is written as `Phb`: NCCL does not tell host bridges apart. `Board` is written as `Pix`, and what is not
    ///   joined through the host as `Sys`.
    /// - The bandwidth of direct links follows from the generation of the device, that of a hop from speed and width of
    ///   PCIe. What is no known generation's is left out, and NCCL and the reader assume theirs.
    /// - Link switches are one. Where that would join devices that are not, the links of every two are written instead.
    /// - A network card hangs where it is nearest to a device; farther paths of it are not written.
    /// - Products, UUIDs and memory have no place in the file; nor have NUMA nodes without devices or cards. A NUMA number
    ///   that is not known, or that two CPUs would share, is a free one.
    /// - What has no PCI address is given one, from ffff:00:00.0 on. NCCL finds the devices of a real machine by their
    ///   address.
    ///
    /// Where direct links are AMD's, it is RCCL's dialect: `version="2"`, `<xgmi>` and `gcn`.
    ///
    /// ```
    /// let machine = mapa_topologies::named("dgx-1v")?;
    /// let text = machine.to_nccl_xml()?;
    /// let again = mapa_topologies::read(text.as_bytes())?.into_machine()?;
    /// let link = again.graph()?.link(0.into(), 3.into());
    /// assert_eq!(link, machine.graph()?.link(0.into(), 3.into()));
    /// # Ok::<(), mapa_topologies::Error>(())
    /// ```
    ///
    /// # Errors
    /// A machine without devices; devices of several servers; paths through the host that are those of no tree: the message
    /// names two devices.
    pub fn to_nccl_xml(&self) -> Result<String, Error> {
        let plan = Plan::new(self)?;
        let text = text::write(&plan);
        plan.check(&text)?;
        Ok(text)
    }
}
