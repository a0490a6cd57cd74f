//! Extreme values of sliced GPUs, their jobs, prices and schedules.

use mapa_sched::slices::{Power, SliceJob};
use mapa_system_energy::learned::{Formulation, Learned, Net, Observation, Scratch, Weights};
use mapa_system_energy::*;

use crate::sched_pool::driven;
use crate::shared::{Extreme, values};

values!(Arithmetic: [Arithmetic::Double, Arithmetic::Single]);
values!(Booking: [Booking::None, Booking::Busy, Booking::Slots]);
values!(EnergyPlan: [EnergyPlan::default()].into_iter().chain(Prices::values().into_iter().filter_map(|prices| EnergyPlan::new(prices).ok())));
values!(Error: [SlicedGpus::new("\u{202e}", Power::A100).err(), SlicedGpus::flexible(0, Power::A100, f64::NAN).err()].into_iter().flatten());
values!(Formulation: [Formulation::Original, Formulation::Enhanced]);
values!(Learned: Weights::values().into_iter().filter_map(|weights| Learned::of(weights, Power::A100).ok()));
values!(Net: [net(&[1, 1], f32::MAX), net(&[49, 3], f32::MIN_POSITIVE), net(&[2, 3, 1], f32::MIN)]);
values!(Observation: Formulation::values().into_iter().flat_map(|formulation| SlicedGpus::values().into_iter().map(move |machine| Observation::new(formulation, &machine))));
values!(Piece: [piece(0, 0, 7, 0.0, 1.0), piece(0, 0, 0, f64::NAN, f64::NAN), piece(1, usize::MAX, u8::MAX, 1.0, 0.0), piece(usize::MAX, 0, 7, f64::NEG_INFINITY, f64::INFINITY)]);
values!(PriceFile: PriceFile::names().take(2).filter_map(|name| PriceFile::named(name).ok()).chain([strange_file()]));
values!(Prices: [Prices::default(), prices(f64::NAN), prices(f64::MAX), prices(0.0)]);
values!(RuleName: RuleName::ALL);
values!(RuleScheduler: RuleName::ALL.iter().map(|row| driven(RuleScheduler::new(row.rule(u64::MAX), mapa_core::lowest_id()))));
values!(Running: [(0, 0.0), (1, f64::NAN), (usize::MAX, f64::MAX)].map(|(slice, at)| Running { id: u32::MAX, slice, begins: at, finish: at, deadline: at }));
values!(Schedule: [Schedule::default(), Schedule { gpus: 1, pieces: Piece::values() }, Schedule { gpus: usize::MAX, pieces: Piece::values() }, Schedule { gpus: 2, pieces: vec![piece(0, 0, 7, 0.0, 1.0); 400] }]);
values!(Scratch: [Scratch::default()]);
values!(SlicedGpus: [SlicedGpus::new("7", Power::A100), SlicedGpus::of([[1; 7]; 2], Power::A100), SlicedGpus::of([[0; 0]; 0], Power::A100), SlicedGpus::flexible(2, Power::A100, f64::MAX)].into_iter().flatten());
values!(SlotPlacement: [SlotPlacement::ALL[0], SlotPlacement::ALL[13], SlotPlacement { size: 0, start: u8::MAX }, SlotPlacement { size: u8::MAX, start: u8::MAX }]);
values!(Slots: [vec![0.0], vec![0.0, 1.0], vec![f64::MIN_POSITIVE, f64::MAX]].into_iter().filter_map(|starts| Slots::new(starts).ok()));
values!(Start: [(0, 0), (usize::MAX, 0), (0, usize::MAX)].map(|(waiting, slice)| Start { waiting, slice }));
values!(State: states());
values!(Tuned: PriceFile::values().into_iter().map(|file| file.tuned));
values!(TunedFor: [TunedFor::default(), TunedFor { load: [f64::NAN; 2], slack: [f64::MAX, 0.0], waiting: -1.0 }]);
values!(TunedMachine: [TunedMachine::Layouts("7 | \0".to_owned()), TunedMachine::Repartitioned { gpus: usize::MAX, creation_minutes: 0.0 }, TunedMachine::Repartitioned { gpus: 0, creation_minutes: f64::NAN }]);
values!(Weights: [net(&[49, 3], f32::MAX)].into_iter().filter_map(|net| Weights::new(Formulation::Original, "4,2,1", u64::MAX, "\u{202e}", net).ok()));

fn net(sizes: &[usize], number: f32) -> Net {
    let count = Net::parameter_count(sizes).expect("a net");
    Net::new(sizes.to_vec(), vec![number; count]).expect("a net")
}

fn piece(job: usize, gpu: usize, size: u8, from: f64, to: f64) -> Piece {
    Piece {
        job,
        gpu,
        size,
        from,
        to,
    }
}

fn prices(number: f64) -> Prices {
    Prices {
        slice: [number; 5],
        late: number,
        queue: number,
        urgency: number,
        length: number,
        lost: number,
        margin: number,
        energy: number,
        floor: number,
        doubt: number,
        overdue: number,
        placement: number,
    }
}

fn strange_file() -> PriceFile {
    let mut file = PriceFile::named("repartitioned").expect("a set of this crate");
    file.name = "\u{202e}".repeat(1000);
    file.prices = prices(f64::NAN);
    file.machine = TunedMachine::values().remove(1);
    file.tuned.load = [f64::NAN, f64::INFINITY];
    file
}

/// Idle machines, and such on which jobs run and wait.
fn states() -> Vec<State> {
    let busy = |machine| {
        let mut state = State::new(machine);
        for (id, job) in (0..).zip(SliceJob::values()) {
            state.arrive(id, job);
        }
        let _ = state.start(Start {
            waiting: 0,
            slice: 0,
        });
        state.advance(f64::MAX);
        state
    };
    let idle = SlicedGpus::values().into_iter().map(State::new);
    idle.chain(SlicedGpus::values().into_iter().map(busy))
        .collect()
}
