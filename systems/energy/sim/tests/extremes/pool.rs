//! Extreme days of jobs with deadlines, and searches for prices on them.

use mapa_sched::slices::SliceJob;
use mapa_system_energy::{Prices, RuleName, SlicedGpus, State, TunedMachine};
use mapa_system_energy_sim::*;

use crate::shared::{Extreme, values};

values!(Draw: [Draw { most: 2, ..Draw::default() }, draw(0.0), draw(f64::NAN), draw(f64::MAX), Draw { per_minute: f64::MAX, ..Draw::default() }, Draw { per_minute: f64::MIN_POSITIVE, ..Draw::tight() }]);
values!(EnergyDay: Draw::values().into_iter().map(day).chain(["energy-day,published=1", "energy-day,jobs=0"].iter().filter_map(|words| words.parse().ok())));
values!(PriceCandidate: TunedMachine::values().into_iter().zip(Prices::values()).map(|(machine, prices)| PriceCandidate { prices, machine }).chain([candidate()]));
values!(Totals: [Totals::default(), totals(0, f64::NAN), totals(usize::MAX, f64::MAX), totals(1, f64::NEG_INFINITY)]);
values!(TuneDay: [TuneDay::exact(vec![]), TuneDay::exact(SliceJob::values()), TuneDay { jobs: SliceJob::values(), told: vec![] }]);
values!(TuneObjective: [TuneObjective::default(), objective(f64::NAN), objective(f64::MAX), objective(0.0)]);
values!(TuneSettings: [TuneSettings { rounds: 1, samples: 2, elite: 2, layouts: true, ..TuneSettings::default() }, TuneSettings { rounds: u32::MAX, samples: u32::MAX, elite: u32::MAX, ..TuneSettings::default() }, TuneSettings { rounds: 0, spread: f64::NAN, ..TuneSettings::default() }, TuneSettings { spread: f64::MAX, ..TuneSettings::default() }]);
values!(Tuning: TuneSettings::values().into_iter().filter_map(|settings| Tuning::new(candidate(), settings).ok()));
values!(Yardstick: [0.0, f64::NAN, f64::MAX].map(|number| Yardstick { late: number, tardiness: number, watt_minutes: number }));

fn draw(number: f64) -> Draw {
    Draw {
        per_minute: number,
        slack: [number; 2],
        from: number,
        most: 10,
    }
}

fn day(draw: Draw) -> EnergyDay {
    let mut day = EnergyDay::default();
    day.draw = draw;
    day
}

fn candidate() -> PriceCandidate {
    PriceCandidate {
        prices: Prices::default(),
        machine: TunedMachine::Layouts("7 | 4,3".to_owned()),
    }
}

fn totals(jobs: usize, number: f64) -> Totals {
    Totals {
        jobs,
        late: jobs,
        tardiness: number,
        watt_minutes: number,
        published_watt_minutes: number,
        end: number,
        decisions: u64::MAX,
        creations: u64::MAX,
    }
}

fn objective(number: f64) -> TuneObjective {
    TuneObjective {
        late: number,
        tardiness: number,
        energy: number,
        most_tardiness: number,
    }
}

/// Runs of extreme jobs under every rule.
pub(crate) fn run_all() {
    let jobs = SliceJob::values();
    for row in &RuleName::ALL {
        for machine in SlicedGpus::values() {
            let state = || State::new(machine.clone());
            let mut rule = row.rule(u64::MAX);
            // Runs that are impossible are refused.
            let _ = run(&jobs, state(), &mut rule);
            let _ = run_preemptive(&jobs, state(), &mut rule);
            let _ = run_as(&jobs, &jobs[1..], state(), &mut rule);
        }
        for state in State::values() {
            let _ = run(&jobs, state, &mut row.rule(0));
        }
    }
}
