//! Schedulers by name.

use mapa_core::Policy;

use crate::backfill::{Conservative, Easy};
use crate::error::{Error, ErrorKind};
use crate::fifo::Fifo;
use crate::foresight::Foresight;
use crate::order::Order;
use crate::pcie::PcieAware;
use crate::queue::Queue;
use crate::scheduler::Scheduler;

/// A built-in scheduler: its name and what it does in one line; [`BuiltIn::named`] makes it.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// The name.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// The policy by which it places jobs, if it takes no other.
    pub policy: Option<&'static str>,
    make: fn(Box<dyn Policy>) -> Box<dyn Scheduler + Send>,
}

impl BuiltIn {
    /// Every built-in scheduler.
    pub const ALL: [Self; 9] = [
        Self {
            name: "fifo",
            summary: "first in, first out; a head that cannot start blocks all others, as in the paper's evaluation",
            policy: None,
            make: |policy| Box::new(Fifo::new(policy)),
        },
        Self {
            name: "easy-backfill",
            summary: "by arrival; later jobs may start first if they do not delay the head",
            policy: None,
            make: |policy| Box::new(Easy::new(policy)),
        },
        Self {
            name: "conservative-backfill",
            summary: "by arrival; later jobs may start first if they delay nobody",
            policy: None,
            make: |policy| Box::new(Conservative::new(policy)),
        },
        Self {
            name: "shortest-first",
            summary: "the shortest by its expected run time; a head that cannot start blocks all others",
            policy: None,
            make: |policy| Box::new(Queue::new(policy, Order::ShortestFirst)),
        },
        Self {
            name: "smallest-first",
            summary: "the job that asks for fewest devices; a head that cannot start blocks all others",
            policy: None,
            make: |policy| Box::new(Queue::new(policy, Order::SmallestFirst)),
        },
        Self {
            name: "priority",
            summary: "the highest priority, then by arrival; a head that cannot start blocks all others",
            policy: None,
            make: |policy| Box::new(Queue::new(policy, Order::Priority)),
        },
        Self {
            name: "foresight",
            summary: "first in, first out; on one machine a sensitive head waits for better links where that costs less",
            policy: None,
            make: |policy| Box::new(Foresight::new(policy)),
        },
        Self {
            name: "pcie-aware",
            summary: "one MIG instance a job, where PCIe slows it down least; skips jobs, cuts idle GPUs up anew",
            policy: Some("pcie-aware"),
            make: |_| Box::new(PcieAware::new()),
        },
        Self {
            name: "first-gpu",
            summary: "the baseline of pcie-aware: the first GPU with a free instance, and GPUs cut up anew likewise",
            policy: Some("lowest-id"),
            make: |_| Box::new(PcieAware::first_gpu()),
        },
    ];

    /// The built-in scheduler of this name, every job placed by this policy, unless it has a [`policy`](Self::policy) of its own.
    ///
    /// # Errors
    /// No such scheduler; the message lists those there are.
    pub fn named(name: &str, policy: Box<dyn Policy>) -> Result<Box<dyn Scheduler + Send>, Error> {
        let known = || Self::ALL.map(|own| own.name).join(", ");
        let found = Self::ALL.iter().find(|own| own.name == name);
        found
            .map(|own| (own.make)(policy))
            .ok_or_else(|| ErrorKind::UnknownScheduler { name: name.to_owned(), known: known() }.into())
    }
}
