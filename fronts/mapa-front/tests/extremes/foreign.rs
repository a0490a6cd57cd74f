//! Extreme values of other crates' types, whose own pools have none.

use std::sync::LazyLock;

use mapa_core::{
    Allocator, BuiltIn, Decision, DeviceId, Estimate, Expected, HardwareGraph, MachineId, Pattern,
    Request, Scored, SearchStats,
};
use mapa_patterns::{Algorithm, NcclJob, read_nccl};
use mapa_regress::{Measurement, SampleConfig, Samples, samples};
use mapa_sched::{Action, Assignment, Defragmented, Fifo, Fleet, Reach, Target, Tenant};
use clap::Error;
use serde_json::{Value, json};

use crate::shared::{Extreme, values};

values!(Action: Assignment::values().into_iter().map(|at| Action::Place { tenant: Tenant::Job(mapa_sched::JobId(u64::MAX)), at }));
values!(Algorithm: Algorithm::ALL);
values!(Decision: DECISIONS.iter().cloned());
values!(Defragmented: [Defragmented::Impossible { but_for_room: true }, Defragmented::Impossible { but_for_room: false }]);
values!(Error: [Error::raw(clap::error::ErrorKind::InvalidValue, "\0"), Error::new(clap::error::ErrorKind::DisplayHelp)]);
values!(Estimate: ESTIMATES.iter().cloned());
values!(NcclJob: [NcclJob::default()].into_iter().chain(read_nccl(&[("log", LOG)])));
values!(Reach: [None, Some(f64::NAN), Some(-1.0)].map(|gbps| Reach { now: gbps, idle: gbps }));
values!(Samples: HardwareGraph::values().iter().flat_map(|graph| samples(&Measurement::values(), graph, &SampleConfig { op: None, ..SampleConfig::default() })));
values!(Scored: DECISIONS.iter().map(|decision| decision.best().clone()));
values!(SearchStats: DECISIONS.iter().map(Decision::search));
values!(Value: [Value::Null, json!(f64::MAX), json!([[]]), json!({"": {"\0": []}})]);

pub(crate) const LOG: &str = include_str!("../../../../mapa-patterns/tests/logs/tp2-dp2.log");

/// What a policy chooses.
static DECISIONS: LazyLock<Vec<Decision>> = LazyLock::new(|| {
    let patterns = [Pattern::ring(1), Pattern::ring(2), Pattern::independent(3)];
    let policy = BuiltIn::ALL[0].policy();
    let mut found = Vec::new();
    for machine in Allocator::values() {
        for pattern in &patterns {
            let request = Request::new(pattern.clone());
            found.extend(machine.view().decide(&*policy, &request));
        }
    }
    found
});

static ESTIMATES: LazyLock<Vec<Estimate>> = LazyLock::new(|| {
    let mut found = Vec::new();
    for graph in HardwareGraph::values() {
        for model in Expected::values() {
            found.extend(model.along(&graph, &[DeviceId(0), DeviceId(1)]));
        }
    }
    found
});
