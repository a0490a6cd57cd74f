//! Beyond the paper: a plan for each port, MAPA's own scheduler, beside the paper's.

mod cases;
mod processes;
mod run;
mod section;
mod setting;

use mapa_front::Error;
use mapa_lab::plan::Plan;
use mapa_lab::progress::Progress;
use mapa_lab::report::Section;

/// The simulated part.
pub(super) fn section(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    section::section(&cases::run(plan, bar)?)
}

/// The part with processes.
pub(super) fn processes(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    processes::section(plan, bar)
}
