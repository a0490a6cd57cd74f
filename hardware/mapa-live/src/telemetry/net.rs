//! Network: interfaces by `/sys/class/net`, ports of InfiniBand by `/sys/class/infiniband`.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::disk::numa_of;
use super::missing::MOST;
use crate::kernel::files;
use crate::roots::Roots;

/// The traffic of a card's interface, or of a port of InfiniBand, since the last sample. Bridges, bonds and interfaces of
/// containers have no card of their own: what goes through them goes through a card as well, or leaves the machine never.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NicUse {
    /// The kernel's name: `eth0`; `mlx5_0/1` for a port of InfiniBand. An interface over InfiniBand counts
    /// what goes through the kernel alone; the port counts all.
    pub name: String,
    /// The NUMA node that it is at, if the kernel says so.
    pub numa: Option<u32>,
    /// MB/s (10^6 bytes) received; `None` in the first sample, or if the counter began anew.
    pub receive_mb_s: Option<f64>,
    /// MB/s sent; `None` as for what is received.
    pub send_mb_s: Option<f64>,
    /// Packets a second that were dropped, in either direction; `None` also where they are not counted.
    pub dropped_per_s: Option<f64>,
}

/// The counters of an interface so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Nic {
    pub(crate) name: String,
    pub(crate) numa: Option<u32>,
    pub(crate) receive: u64,
    pub(crate) send: u64,
    pub(crate) dropped: Option<u64>,
}

fn number(path: &Path) -> Option<u64> {
    files::read(path).ok()?.trim().parse().ok()
}

fn names(folder: &Path) -> Vec<String> {
    let list = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = list
        .filter_map(|entry| entry.file_name().into_string().ok())
        .take(MOST)
        .collect();
    names.sort();
    names
}

/// The interfaces that have a card, and all ports of InfiniBand.
pub(crate) fn nics(roots: &Roots) -> Vec<Nic> {
    let mut nics = Vec::new();
    let net = roots.sys.join("class/net");
    for name in names(&net) {
        let folder = net.join(&name).join("statistics");
        let of = |file: &str| number(&folder.join(file));
        let (Some(receive), Some(send)) = (of("rx_bytes"), of("tx_bytes")) else {
            continue;
        };
        let device = net.join(&name).join("device");
        if device.exists() {
            nics.push(Nic {
                numa: numa_of(&device),
                name,
                receive,
                send,
                dropped: of("rx_dropped")
                    .zip(of("tx_dropped"))
                    .map(|(a, b)| a.saturating_add(b)),
            });
        }
    }
    let ib = roots.sys.join("class/infiniband");
    for name in names(&ib) {
        let ports = ib.join(&name).join("ports");
        for port in names(&ports) {
            let folder = ports.join(&port).join("counters");
            // The specification counts words of four bytes.
            let of = |file: &str| Some(number(&folder.join(file))?.saturating_mul(4));
            let (Some(receive), Some(send)) = (of("port_rcv_data"), of("port_xmit_data")) else {
                continue;
            };
            nics.push(Nic {
                numa: numa_of(&ib.join(&name).join("device")),
                name: format!("{name}/{port}"),
                receive,
                send,
                dropped: number(&folder.join("port_xmit_discards")),
            });
        }
    }
    nics.truncate(MOST);
    nics
}
