//! Writes a machine as lines of Slurm's `gres.conf`.

use std::fmt::Write;

use mapa_core::{DeviceId, LinkClass};

use crate::error::Error;
use crate::machine::Machine;
use crate::vendor::Vendor;

impl Machine {
    /// Writes the machine as lines of Slurm's `gres.conf`, one for each device. Put `NodeName=` in
    /// front of each line, or use the lines as they are if all nodes are alike.
    ///
    /// `Links` lists the number of direct links to every device: -1 for the device itself, 0 if
    /// only a host path joins the pair. In a switched fabric every pair has as many links as a
    /// port, as with `AutoDetect=nvml`. `File` is the vendor's device file for the device's number.
    ///
    /// The format does not hold bandwidths, network cards, or classes of paths through the host.
    /// For the host paths, write `Cores=` by hand: the machine does not know its cores.
    ///
    /// How Slurm uses `Links` depends on the release and the request. 22.05 takes the lowest free
    /// device, then those with the most links to that one. Since 24.05, `--gres` prefers the fewest
    /// links: two GPUs of an idle DGX-1V are a pair without NVLink. `--gpus` does better. Neither
    /// searches for the best set.
    ///
    /// # Examples
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
    /// - If [`Machine::graph`] fails.
    /// - If the devices belong to several servers: each server has a `gres.conf` of its own.
    pub fn to_slurm_gres(&self) -> Result<String, Error> {
        let graph = self.graph()?;
        // The graph lists MIG instances after the devices. They are left out here: Slurm counts
        // them in another way.
        let devices = u32::try_from(self.fabric.device_count()).unwrap_or(u32::MAX);
        let is_amd = self.vendor == Some(Vendor::Amd);
        let ids = || (0..devices).map(DeviceId);
        let apart = |a: DeviceId| {
            ids()
                .find(|&b| graph.pair(a, b).best().class == LinkClass::Network)
                .map(|b| (a, b))
        };
        if let Some((a, b)) = ids().find_map(apart) {
            let names = [a, b].map(|id| graph.device(id).name.clone()).join(" and ");
            return Err(Error::new(format!(
                "{names} are in different servers: expected one server, as each has a gres.conf of its own"
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
            if let Some(kind) = device
                .product
                .as_deref()
                .map(kind)
                .filter(|kind| !kind.is_empty())
            {
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

/// The number of the first render node in Linux. AMD's devices are opened through render nodes.
const FIRST_RENDER: u32 = 128;

/// Text for a comment line. Control characters become spaces, as a line break would end the
/// comment.
fn line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// A product name in the form of a Slurm type: lower case, with an underscore for every character
/// that is not a letter, digit or hyphen. Slurm could read a name with a dot as a MIG profile.
fn kind(product: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    product.trim().chars().take(64).map(plain).collect()
}
