//! What a simulation is told before it runs, besides the fleet.

use std::time::Duration;

use mapa_core::mig::{Layout, Model};
use mapa_sched::{Fleet, Time};

use crate::workload::Workload;

pub(super) struct Setup<'a> {
    pub(super) workload: &'a Workload,
    pub(super) repartition: Repartition<'a>,
    pub(super) until: Option<Time>,
    pub(super) observer: Option<Observer<'a>>,
    /// How often schedulers are told how much of a running job is done.
    pub(super) progress: Option<Duration>,
}

/// A function of the moment and the fleet, called after every instant.
pub(super) type Observer<'a> = Box<dyn FnMut(Time, &Fleet) + 'a>;

/// A function: how long the repartition of a device of this model takes, from the first layout to
/// the second.
pub(super) type Repartition<'a> = Box<dyn Fn(&Model, &Layout, &Layout) -> Duration + 'a>;
