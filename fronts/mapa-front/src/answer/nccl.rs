//! What `pattern from-nccl` adds to a pattern: what the job's library did.

use mapa_patterns::{Algorithm, Collective, NcclJob, TreeHalf};
use serde::Serialize;

/// What logs and graphs of NCCL and RCCL say of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NcclPattern {
    /// The communicators.
    pub communicators: Vec<Communicator>,
    /// The messages of a rank: the size in bytes, and the number of calls.
    pub messages: Vec<(u64, u64)>,
    /// The algorithm whose edges the pattern has.
    pub algorithm: String,
    /// The devices of the job.
    pub devices: Vec<JobDevice>,
}

/// A device of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobDevice {
    /// Its host.
    pub host: String,
    /// Its PCI address.
    pub bus: String,
    /// Its number among the devices that the process may use; null if the logs do not say.
    pub number: Option<u32>,
}

/// A communicator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Communicator {
    /// Its name.
    pub name: String,
    /// How many ranks it has.
    pub ranks: usize,
    /// The device of each rank, a place in the list of the job's devices; null where unknown.
    pub devices: Vec<Option<usize>>,
    /// How many channels it has.
    pub channels: usize,
    /// Its rings.
    pub rings: Vec<Ring>,
    /// Its trees.
    pub trees: Vec<Tree>,
    /// Its connections.
    pub connections: Vec<Connection>,
    /// Its calls, equal ones counted.
    pub calls: Vec<Calls>,
    /// How often rings and trees were chosen, by size of message.
    pub choices: Vec<Choice>,
}

/// A ring of a communicator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ring {
    /// Its channel.
    pub channel: u32,
    /// The ranks in ring order; null if hops are missing.
    pub ranks: Option<Vec<u32>>,
    /// Its hops: the sender's rank and the receiver's.
    pub hops: Vec<(u32, u32)>,
}

/// A tree of a communicator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tree {
    /// Its channel.
    pub channel: u32,
    /// The half of an all-reduce that it is used for: `reduce`, `broadcast` or `both`.
    pub half: String,
    /// Its edges: two ranks each.
    pub edges: Vec<(u32, u32)>,
}

/// A connection of two ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connection {
    /// Its channel.
    pub channel: u32,
    /// The sender's rank.
    pub from: u32,
    /// The receiver's rank.
    pub to: u32,
    /// What carries it, as the library says.
    pub via: String,
}

/// Equal calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calls {
    /// The operation, as the library calls it, such as `AllReduce`.
    pub call: String,
    /// The size of a message, bytes.
    pub bytes: u64,
    /// How many there are.
    pub times: u64,
    /// The sender's rank; null for all but sends.
    pub from: Option<u32>,
    /// The root, or the peer; 0 where there is none.
    pub root: u32,
}

/// How often each algorithm was chosen for messages of a size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// The size of a message, bytes.
    pub bytes: u64,
    /// How often rings were chosen.
    pub rings: u64,
    /// How often trees were chosen.
    pub trees: u64,
}

impl NcclPattern {
    /// What the logs say of a job, with the algorithm whose edges the pattern has.
    pub fn new(job: &NcclJob, algorithm: Algorithm) -> Self {
        let devices = job.devices.iter().map(|device| JobDevice {
            host: device.host.clone(),
            bus: device.bus.clone(),
            number: device.number,
        });
        Self {
            communicators: job.communicators.iter().map(Communicator::from).collect(),
            messages: job.messages.clone(),
            algorithm: algorithm.to_string(),
            devices: devices.collect(),
        }
    }
}

impl From<&mapa_patterns::Communicator> for Communicator {
    fn from(communicator: &mapa_patterns::Communicator) -> Self {
        let rings = communicator.rings.iter().map(|ring| Ring {
            channel: ring.channel,
            ranks: ring.order(),
            hops: ring.hops.clone(),
        });
        let trees = communicator.trees.iter().map(|tree| Tree {
            channel: tree.channel,
            half: half(tree.half).to_owned(),
            edges: tree.edges.clone(),
        });
        let connections = communicator
            .connections
            .iter()
            .map(|connection| Connection {
                channel: connection.channel,
                from: connection.from,
                to: connection.to,
                via: connection.via.clone(),
            });
        let calls = communicator.calls.iter().map(|(from, call, times)| Calls {
            call: call.collective.to_string(),
            bytes: call.bytes,
            times: *times,
            // Only a send has a sender of its own; a collective is called by every rank.
            from: (call.collective == Collective::Send).then_some(*from),
            root: call.root,
        });
        let choices = communicator.choices.iter();
        Self {
            name: communicator.name.clone(),
            ranks: communicator.ranks,
            devices: communicator.devices.clone(),
            channels: communicator.channels,
            rings: rings.collect(),
            trees: trees.collect(),
            connections: connections.collect(),
            calls: calls.collect(),
            choices: choices
                .map(|&(bytes, rings, trees)| Choice {
                    bytes,
                    rings,
                    trees,
                })
                .collect(),
        }
    }
}

fn half(half: TreeHalf) -> &'static str {
    match half {
        TreeHalf::Both => "both",
        TreeHalf::Reduce => "reduce",
        TreeHalf::Broadcast => "broadcast",
    }
}
