//! Slurm's `gres.conf`.

use std::fmt::Write;

use mapa_core::{DeviceId, LinkClass};

use crate::error::Error;
use crate::machine::Machine;

impl Machine {
    /// The machine as the lines of Slurm's `gres.conf`, one for each device, to be put behind a `NodeName=` or used as
    /// they are where all nodes are alike.
    ///
    /// `Links` has the number of direct links to every device: -1 for the device itself, 0 where a pair meets in the
    /// host; of a switched fabric every pair has the links of a port, as `AutoDetect=nvml` has them. `File` is the
    /// vendor's device file by the device's number. Lost are the classes of paths through the host (write `Cores=` for
    /// these by hand: the machine does not know its cores), all bandwidths, and network cards.
    ///
    /// What Slurm makes of `Links` differs by release and by request. 22.05 takes the lowest free device, then those
    /// with the most links to that one. Since 24.05 `--gres` prefers the fewest links, so that two GPUs of an idle
    /// DGX-1V are a pair without NVLink, while `--gpus` does better. Neither looks for the best set.
    ///
    /// ```
    /// let machine = mapa_topologies::named("summit")?;
    /// let text = machine.to_slurm_gres()?;
    /// assert!(text.contains("Name=gpu File=/dev/nvidia0 Links=-1,2,2,0,0,0\n"));
    /// let again = mapa_topologies::read(text.as_bytes())?;
    /// assert_eq!(again.machine.fabric.device_count(), 6);
    /// # Ok::<(), mapa_topologies::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Machine::graph`]; devices of several servers, each of which has a file of its own.
    pub fn to_slurm_gres(&self) -> Result<String, Error> {
        let graph = self.graph()?;
        // Behind the devices the graph has their instances, which Slurm counts otherwise.
        let devices = u32::try_from(self.fabric.device_count()).unwrap_or(u32::MAX);
        let is_amd = self.labels.direct.eq_ignore_ascii_case("XGMI");
        let ids = || (0..devices).map(DeviceId);
        let apart = |a: DeviceId| ids().find(|&b| graph.pair(a, b).best().class == LinkClass::Network).map(|b| (a, b));
        if let Some((a, b)) = ids().find_map(apart) {
            let names = [a, b].map(|id| graph.device(id).name.clone()).join(" and ");
            return Err(Error::new(format!(
                "{names} are of two servers: expected one, as gres.conf has lines for each node"
            )));
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(text, "# {}: {}", line(&self.name), line(&self.title));
        let _ = writeln!(text, "# Source: {}", line(&self.source));
        for a in 0..devices {
            let device = graph.device(DeviceId(a));
            let number = device.index.unwrap_or(a);
            text += "Name=gpu";
            if let Some(kind) = device.product.as_deref().map(kind).filter(|kind| !kind.is_empty()) {
                let _ = write!(text, " Type={kind}");
            }
            let _ = match number.checked_add(FIRST_RENDER).filter(|_| is_amd) {
                Some(render) => write!(text, " File=/dev/dri/renderD{render}"),
                None => write!(text, " File=/dev/nvidia{number}"),
            };
            for b in 0..devices {
                let links = match graph.pair(DeviceId(a), DeviceId(b)).direct.class {
                    _ if a == b => "-1".to_owned(),
                    LinkClass::Direct(links) => links.to_string(),
                    _ => "0".to_owned(),
                };
                let _ = write!(text, "{}{links}", if b == 0 { " Links=" } else { "," });
            }
            text.push('\n');
        }
        Ok(text)
    }
}

/// The number of the first render node of Linux, which AMD's devices are reached by.
const FIRST_RENDER: u32 = 128;

/// Text that fits into a comment: control characters could end it.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A product's name as Slurm's types are written: lower case, an underscore for what is no letter, digit or hyphen. A
/// dot could make a MIG profile of it.
fn kind(product: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' };
    product.trim().chars().take(64).map(plain).collect()
}
