//! Reports that are kept.

use std::path::Path;

use mapa_lab::Experiment;
use mapa_lab::testing::Written;

/// The report of an experiment that is kept.
pub(crate) fn kept(experiment: &Experiment) -> Written {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report");
    Written::kept(&folder, experiment.name)
}
