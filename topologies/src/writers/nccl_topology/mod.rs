//! Writes a machine as an NCCL topology file, for `NCCL_TOPO_FILE` and for NCCL's own tools.
//!
//! NCCL describes the host as a tree of CPUs and PCI switches. [`plan`] builds that tree from the
//! links of each pair of devices. This works for a machine read from a tree and for one read from a
//! table of pairs. [`text`] writes the tree. The text is read back and compared before it is
//! returned.

mod plan;
mod text;

use crate::error::Error;
use crate::machine::Machine;
use plan::NcclPlan;

impl Machine {
    /// Writes the machine as an NCCL topology: a `<system>` element that NCCL reads. Comments in
    /// front of it list what the file cannot express.
    ///
    /// [`read`](crate::read) turns the file back into a machine with the same devices in the same
    /// order. Each pair has the same number of direct links and the same class of host path, with
    /// these exceptions, which NCCL's format cannot express:
    ///
    /// - `Node` is written as `Phb`, because NCCL does not distinguish host bridges. `Board` is
    ///   written as `Pix`. A pair that no host path joins is written as `Sys`.
    /// - The file does not state bandwidths. That of a direct link follows from the generation of
    ///   the device, and that of a hop from the speed and width of PCIe. A bandwidth that fits no
    ///   known generation is left out; NCCL and the reader then use their defaults.
    /// - All link switches become one. If that would join devices that are not joined, the links of
    ///   each pair are written instead.
    /// - A network card is placed beside its nearest device. Its longer paths are not written.
    /// - Products, UUIDs, memory sizes, and NUMA nodes without devices or cards are not written. A
    ///   NUMA number that is unknown, or that two CPUs would share, is replaced by an unused one.
    /// - A component without a PCI address gets one, from ffff:00:00.0 on. NCCL finds the devices
    ///   of a real machine by their address.
    ///
    /// If the direct links are AMD's, the file is in RCCL's dialect: `version="2"`, `<xgmi>` and
    /// `gcn`.
    ///
    /// # Examples
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
    /// - If the machine has no devices.
    /// - If the devices belong to several servers.
    /// - If the host paths do not fit a tree. The message names two devices.
    pub fn to_nccl_xml(&self) -> Result<String, Error> {
        let plan = NcclPlan::new(self)?;
        let text = text::write(&plan);
        plan.check(&text)?;
        Ok(text)
    }
}
