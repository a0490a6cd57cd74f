//! Extreme values of fleets, jobs and events.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::{Layout, Size};
use mapa_core::{
    Demand, DeviceId, HardwareGraph, LeaseId, MachineId, Objective, Pattern, Placement, Request,
};
use mapa_sched::bound::{Class, Program, Sense, Solver};
use mapa_sched::plan::{Ageing, Draws};
use mapa_sched::slices::{Power, SliceJob};
use mapa_sched::waiting::{ClassWalk, Position, WaitingJobs};
use mapa_sched::*;

use crate::shared::{Extreme, values};

values!(Time: [0, 1, u64::MAX].map(Time));
values!(JobId: [0, 1, u64::MAX].map(JobId));
values!(TaskId: [0, u64::MAX].map(TaskId));
values!(Token: [0, u64::MAX].map(Token));
values!(Tenant: [Tenant::Job(JobId(0)), Tenant::Job(JobId(1)), Tenant::Task(JobId(1), TaskId(0)), Tenant::Task(JobId(u64::MAX), TaskId(u64::MAX))]);
values!(RunTime: [RunTime::Unknown, RunTime::Fixed(Duration::ZERO), RunTime::Fixed(Duration::MAX)]);
values!(Job: Request::values().into_iter().enumerate().map(|(at, request)| job(at as u64, request)));
values!(Fleet: [Fleet::new([]), fleet(), busy()]);
values!(FleetSnapshot: Fleet::values().iter().map(Fleet::snapshot));
values!(FleetState: Fleet::values().iter().map(Fleet::state));
values!(Assignment: Placement::values().into_iter().map(|placement| Assignment { machine: MachineId(0), lease: LeaseId(0), placement, rest: Vec::new() }).chain([far()]));
values!(JobLimit: [JobLimit::BlockIoMbPerS(Some(0)), JobLimit::PcieMbPerS(Some(u32::MAX)), JobLimit::MpsPercent(Some(u8::MAX)), JobLimit::AvoidInterruptCores(true), JobLimit::MpsPercent(None)]);
values!(JobLimitTable: [JobLimitTable::default(), limits()]);
values!(Event: events());
values!(Error: [Error::bound("\u{202e}")].into_iter().chain(fleet().machine(MachineId(u32::MAX)).err()));
values!(ListOrder: ["fifo", "shortest", "smallest-area", "largest", "largest-area"].into_iter().filter_map(ListOrder::find));
values!(LinkModel: [LinkModel::Usual, LinkModel::None]);
values!(Order: [Order::Arrival, Order::Priority, Order::by(|_, _| std::cmp::Ordering::Equal), Order::by(|_, _| std::cmp::Ordering::Greater)]);
values!(NamedScheduler: SCHEDULERS.iter().copied());
values!(BoxedScheduler: SCHEDULERS.iter().filter_map(|row| row.scheduler(row.name, Box::new(mapa_core::greedy()), LinkModel::Usual).ok()));
values!(WaitingJobs: [waiting(false), waiting(true)]);
values!(Position: [false, true].into_iter().filter_map(|all| Some(waiting(all).first()?.0)));
values!(ClassWalk: WaitingJobs::values().iter().map(WaitingJobs::walk));
values!(FirstFit: ListOrder::values().into_iter().flat_map(|order| [FirstFit::new(order), driven(FirstFit::new(order))]));
values!(Fifo: [Fifo::new(mapa_core::greedy()), driven(Fifo::new(mapa_core::greedy()))]);
values!(Queue: [Queue::new(mapa_core::greedy(), Order::Priority), driven(Queue::new(mapa_core::greedy(), Order::Priority))]);
values!(Easy: [Easy::new(mapa_core::greedy()), driven(Easy::new(mapa_core::greedy()))]);
values!(Conservative: [Conservative::new(mapa_core::greedy()), driven(Conservative::new(mapa_core::greedy()))]);
values!(Defrag<'static>: Objective::values().into_iter().map(Defrag::new));
values!(Record: [Record::default()].into_iter().chain(SchedulerRun::values().into_iter().map(|run| run.into_parts().1)));
values!(SchedulerRun: Fleet::values().into_iter().map(SchedulerRun::new));
values!(Timeline: [Timeline::default(), timeline()]);
values!(EventKey: [Timeline::default().put(Time(u64::MAX), Event::Woken(Token(0)))]);
values!(Stays: [Stays::default()]);
values!(Class: [Class::FixedLayouts, Class::AnyLayouts, Class::WholeDevices]);
values!(Sense: [Sense::AtMost, Sense::AtLeast, Sense::Equal]);
values!(Program: [Program::default(), program(0, 1.0), program(usize::MAX, 1.0), program(0, f64::NAN), program(0, f64::INFINITY)]);
values!(Solver: [(0, None), (usize::MAX, Some(0.0)), (usize::MAX, Some(f64::NAN)), (10, Some(-1.0))].map(|(columns, seconds)| Solver { columns, seconds }));
values!(Ageing: [(0.0, 0.0), (f64::NAN, 1.0), (f64::MAX, f64::MIN_POSITIVE)].map(|(patience, pace)| Ageing { patience, pace }));
values!(Draws: [0, u64::MAX].map(Draws::new));
values!(Power: [[0.0; 8], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [f64::MAX; 8]].into_iter().filter_map(|watts| Power::new(watts).ok()));
values!(SliceJob: [[1.0; 5], [5.0, 4.0, 3.0, 2.0, 1.0], [f64::MAX; 5], [f64::MIN_POSITIVE; 5]].into_iter().filter_map(|minutes| SliceJob::new(0.0, f64::MAX, minutes).ok()));

fn job(id: u64, request: Request) -> Job {
    let mut job = Job::new(JobId(id), request);
    if id % 2 == 1 {
        job.arrived = Time(u64::MAX);
        job.run_time = RunTime::Fixed(Duration::MAX);
        job.deadline = Some(Time(0));
        job.priority = i64::MIN;
        job.pcie_alpha = f64::NAN;
        job.slo = Some(Duration::ZERO);
        job.link_ratio = Some(f64::MAX);
    }
    job
}

/// A scheduler that has had all events, on machines with and without instances.
pub(crate) fn driven<S: Scheduler>(mut scheduler: S) -> S {
    let mut fleet = fleet_of_instances();
    let sizes = [(1, 1), (2, 2), (4, 4), (0, 0), (u8::MAX, u8::MAX)];
    let slices = sizes
        .into_iter()
        .enumerate()
        .map(|(at, (compute, memory))| {
            let gbps = [0.0, f64::MAX, 1.0][at % 3];
            let demand = Demand::slice(Size::new(compute, memory)).pcie_gbps(gbps);
            let request = Request::new(Pattern::ring(1).with_demand(0, demand));
            Event::Arrived(job(100 + at as u64, request))
        });
    for (at, event) in (0..).zip(slices.chain(Event::values())) {
        // The fleet refuses tenants that it cannot book.
        let _ = step(
            &mut scheduler,
            &mut fleet,
            Time(at),
            [event],
            &mut Vec::new(),
        );
    }
    scheduler
}

fn waiting(all: bool) -> WaitingJobs {
    let mut waiting = WaitingJobs::new(Order::Priority, all);
    for job in Job::values() {
        waiting.push(job);
    }
    waiting
}

fn fleet() -> Fleet {
    Fleet::new(HardwareGraph::values().into_iter().map(Arc::new))
}

/// Machines with and without instances.
pub(crate) fn fleet_of_instances() -> Fleet {
    let wholes = HardwareGraph::values().into_iter().map(Arc::new);
    Fleet::new(wholes.chain([mapa_sched::testing::cuttable(2)]))
}

/// A fleet with a job on its first machine.
fn busy() -> Fleet {
    let mut fleet = fleet();
    let mut first = Fifo::new(mapa_core::greedy());
    let request = Request::new(Pattern::ring(2));
    let arrived = [Event::Arrived(Job::new(JobId(1), request))];
    let booked = step(&mut first, &mut fleet, Time(0), arrived, &mut Vec::new());
    booked.expect("a job that fits");
    fleet
}

/// An assignment to machines and devices that no fleet has.
fn far() -> Assignment {
    let part = AssignmentPart {
        machine: MachineId(u32::MAX),
        lease: LeaseId(u64::MAX),
        placement: [DeviceId(u32::MAX)].into_iter().collect(),
    };
    Assignment {
        machine: part.machine,
        lease: part.lease,
        placement: part.placement.clone(),
        rest: vec![part.clone(), part],
    }
}

fn limits() -> JobLimitTable {
    let mut table = JobLimitTable::default();
    for limit in JobLimit::values() {
        table.set(JobId(1), limit);
    }
    table
}

fn events() -> Vec<Event> {
    let (here, nowhere) = (
        (MachineId(0), DeviceId(0)),
        (MachineId(u32::MAX), DeviceId(u32::MAX)),
    );
    let mut events: Vec<Event> = Job::values().into_iter().map(Event::Arrived).collect();
    for id in JobId::values() {
        events.extend([Event::Finished(id), Event::Failed(id), Event::Cancelled(id)]);
        events.push(Event::Progress {
            job: id,
            share: f64::NAN,
        });
        events.push(Event::TaskEnd {
            job: id,
            task: TaskId(u64::MAX),
        });
        events.push(Event::TaskBegin {
            job: id,
            task: TaskId(0),
            request: Request::values().remove(0),
        });
    }
    for (machine, whole) in [here, nowhere] {
        events.push(Event::LayoutIs {
            machine,
            whole,
            layout: Layout::whole(),
        });
        events.push(Event::Cordoned {
            machine,
            whole: None,
            cordoned: true,
        });
        events.push(Event::Occupied {
            machine,
            whole,
            occupied: true,
        });
        events.push(Event::Health {
            machine,
            whole,
            trouble: Some("\0".to_owned()),
        });
    }
    for at in Assignment::values() {
        events.push(Event::Adopted {
            job: job(1, Request::values().remove(2)),
            at,
            since: Time(u64::MAX),
        });
    }
    events.push(Event::ActionFailed {
        order: Action::Place {
            tenant: Tenant::Job(JobId(u64::MAX)),
            at: far(),
        },
        why: String::new(),
    });
    events.push(Event::Latency(Latency {
        tenant: Tenant::Job(JobId(0)),
        took: Duration::MAX,
    }));
    events.push(Event::Signals(Signals::default()));
    events.push(Event::Woken(Token(u64::MAX)));
    events
}

fn timeline() -> Timeline {
    let mut timeline = Timeline::default();
    for event in events() {
        timeline.put(Time(u64::MAX), event);
    }
    timeline
}

fn program(column: usize, right: f64) -> Program {
    let mut program = Program::default();
    program.column(1.0);
    program.row(vec![(column, right)], Sense::AtLeast, right);
    program
}
