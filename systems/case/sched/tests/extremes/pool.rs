//! Extreme values of processes that share instances.

use std::time::Duration;

use mapa_core::{Demand, Pattern, Request};
use mapa_sched::{Event, Fleet, Job, JobId, RunTime, Scheduler, TaskId, Time, step};
use mapa_system_case::*;

use crate::sched_pool::{driven, fleet_of_instances};
use crate::shared::{Extreme, values};

values!(Case: [CaseSettings::CORRECTED, CaseSettings::PAPER, CaseSettings::BALANCED, strange()].into_iter().flat_map(|settings| { let fresh = || Case::new(settings, mapa_core::greedy()); [fresh(), driven(shared(fresh())), shared(driven(fresh()))] }));
values!(CaseBatch: [CaseBatch::default(), batch(0, Duration::ZERO), batch(u64::MAX, Duration::MAX), batch(1, Duration::MAX)]);
values!(CaseSettings: [CaseSettings::CORRECTED, strange()]);
values!(ContextMemory: [(0, 0), (u64::MAX, u64::MAX), (1, u64::MAX)].map(|(base_bytes, device_bytes)| ContextMemory { base_bytes, device_bytes }));
values!(MemoryFit: MemoryFit::ALL.map(|(_, fit)| fit));
values!(PrintedAlgorithm: PrintedFaults::values().into_iter().flat_map(|faults| [PrintedAlgorithm::new(faults, vec![], 0), PrintedAlgorithm::new(faults, vec![0, 1, u64::MAX], usize::MAX), PrintedAlgorithm::new(faults, vec![2], 1)]));
values!(PrintedFaults: [PrintedFaults::ALL, PrintedFaults::NONE]);
values!(PrintedJob: [(0, 0), (1, u64::MAX), (u64::MAX, 1)].map(|(footprint, seconds)| PrintedJob { footprint, seconds }));
values!(PrintedRun: PrintedAlgorithm::values().iter().map(|algorithm| algorithm.run(&PrintedJob::values(), &PrintedJob::values())));
values!(SlurmMig: [SlurmMig::new(mapa_core::greedy()), driven(shared(SlurmMig::new(mapa_core::greedy()).blocking(true))), shared(driven(SlurmMig::new(mapa_core::greedy()).fit(MemoryFit::UpTo)))]);

fn strange() -> CaseSettings {
    CaseSettings {
        context: ContextMemory {
            base_bytes: u64::MAX,
            device_bytes: u64::MAX,
        },
        workers: u32::MAX,
        drain: true,
        reprovision: true,
        ..CaseSettings::PAPER
    }
}

fn batch(bytes: u64, takes: Duration) -> CaseBatch {
    CaseBatch {
        isolated: vec![(bytes, takes); 2],
        others: vec![(takes, vec![(bytes, takes); 2]), (takes, Vec::new())],
    }
}

/// A manager of processes whose memory nothing holds, or that end before their tasks.
fn shared<S: Scheduler>(mut scheduler: S) -> S {
    let mut fleet: Fleet = fleet_of_instances();
    let of = |bytes| {
        let demand = Demand::any().shared().memory(bytes).warps(u32::MAX);
        Request::new(Pattern::single(demand))
    };
    let mut events = Vec::new();
    for (id, bytes) in [0, 1 << 30, 1 << 30, u64::MAX].into_iter().enumerate() {
        let id = JobId(id as u64);
        let mut job = Job::new(id, of(bytes));
        job.grows = bytes > 0;
        job.isolated = id == JobId(2);
        job.run_time = RunTime::Fixed(Duration::MAX);
        events.push(Event::Arrived(job));
        for (task, bytes) in [(0, bytes), (0, bytes), (u64::MAX, u64::MAX)] {
            let (task, request) = (TaskId(task), of(bytes));
            events.push(Event::TaskBegin {
                job: id,
                task,
                request,
            });
        }
    }
    events.extend([1, 1, 2, u64::MAX].map(|id| Event::TaskEnd {
        job: JobId(id),
        task: TaskId(0),
    }));
    events.extend([0, 3, 0].map(|id| Event::Finished(JobId(id))));
    for (at, event) in (0..).zip(events) {
        // The fleet refuses tenants that it cannot book.
        let _ = step(
            &mut scheduler,
            &mut fleet,
            Time(u64::MAX - 100 + at),
            [event],
            &mut Vec::new(),
        );
    }
    scheduler
}
