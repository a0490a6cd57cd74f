//! Any text is read as prices or refused; what is read is written and read back equal, and a plan
//! with it starts only what is free, on GPUs that keep their layouts and on others.

use mapa_system_energy::{Power, PriceFile, Rule, SliceJob, SlicedGpus, State};
use mapa_system_energy_sim::Tuning;

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    if let Ok(tuning) = Tuning::read(text) {
        let written = tuning.write().expect("it was read");
        assert_eq!(Tuning::read(&written).expect("it was written"), tuning);
        for candidate in tuning.candidates().iter().take(2) {
            let _ = candidate.machine.machine(Power::A100);
        }
    }
    let Ok(file) = PriceFile::read(text) else {
        return;
    };
    let written = file.write().expect("it was read");
    assert_eq!(PriceFile::read(&written).expect("it was written"), file);
    let fixed = SlicedGpus::new("7 | 4,2,1", Power::A100).expect("sound layouts");
    let flexible = SlicedGpus::flexible(2, Power::A100, 0.1).expect("two GPUs");
    for machine in [fixed, flexible] {
        let mut plan = file.plan().expect("it was checked");
        let mut state = State::new(machine);
        for id in 0..6 {
            let p = 1.0 + f64::from(id);
            let minutes = [7.0 * p, 4.0 * p, 3.0 * p, 2.0 * p, p];
            let job = SliceJob::new(0.0, 5.0 * p, minutes).expect("a sound job");
            state.arrive(id, job);
        }
        while let Some(start) = plan.choose(&state) {
            state.start(start).expect("a plan starts only what is free");
        }
        // With all slices free at least one job starts.
        assert!(state.queue().len() < 6);
    }
}
