//! The levers of this machine.

use std::path::Path;

use mapa_live::Live;
use mapa_live::ProcessId;
use mapa_live::levers::{
    Bounds, CgroupTree, Hands, Launch, LeverError, MigControl, MigDevice, MigOffer, MigPlace,
    MigState, MigWords, MpsCommand, Programs, SystemAffinity,
};

/// The levers of this machine, within these bounds.
pub(crate) fn hands(live: &Live, bounds: Bounds) -> Hands {
    let roots = &live.roots;
    let groups = CgroupTree::new(roots);
    Hands {
        block_io: Box::new(groups.clone()),
        cpusets: Box::new(groups.clone()),
        groups: Box::new(groups),
        affinity: Box::new(SystemAffinity::new(roots)),
        mps: Box::new(MpsCommand::default()),
        mig: Box::new(Absent),
        programs: Box::new(Absent),
        bounds,
        reconcilers: Vec::new(),
    }
}

/// What this machine does not have.
#[derive(Debug)]
struct Absent;

fn absent(what: &str) -> LeverError {
    LeverError::Missing {
        what: what.to_owned(),
        why: "this program has no such lever".to_owned(),
    }
}

impl MigControl for Absent {
    fn devices(&self) -> Result<Vec<MigDevice>, LeverError> {
        Ok(Vec::new())
    }

    fn state(&self, device: &str) -> Result<MigState, LeverError> {
        Err(absent(device))
    }

    fn offers(&self, device: &str) -> Result<Vec<MigOffer>, LeverError> {
        Err(absent(device))
    }

    fn set_mode(&mut self, device: &str, _: bool) -> Result<(), LeverError> {
        Err(absent(device))
    }

    fn create(&mut self, device: &str, _: &MigPlace) -> Result<(), LeverError> {
        Err(absent(device))
    }

    fn destroy(&mut self, device: &str, _: &MigPlace) -> Result<(), LeverError> {
        Err(absent(device))
    }

    fn words(&self, _: MigWords<'_>) -> String {
        "# no MIG here".to_owned()
    }
}

impl Programs for Absent {
    fn running(&self, id: &str) -> Result<Option<ProcessId>, LeverError> {
        Err(absent(id))
    }

    fn start(&mut self, launch: &Launch) -> Result<ProcessId, LeverError> {
        Err(absent(&launch.id))
    }

    fn is_ready(&self, launch: &Launch) -> Result<bool, LeverError> {
        Err(absent(&launch.id))
    }

    fn pause(&mut self) {}

    fn stop(&mut self, launch: &Launch) -> Result<(), LeverError> {
        Err(absent(&launch.id))
    }

    fn route(&self, file: &Path) -> Result<Option<String>, LeverError> {
        Err(absent(&file.display().to_string()))
    }

    fn set_route(&mut self, file: &Path, _: Option<&str>) -> Result<(), LeverError> {
        Err(absent(&file.display().to_string()))
    }
}
