//! The machine that the command line names.

use mapa_front::Loaded;

use crate::args::MachineArgs;
use crate::discovery::{Discovery, discover};
use crate::failure::Failure;
use crate::files::LocalFiles;
use crate::output::Output;
use crate::time_limit;

/// Reads the machine and compiles it to a graph. Its warnings go to standard error.
pub fn load(args: &MachineArgs, output: &Output) -> Result<Loaded, Failure> {
    find(args, output).map(|(loaded, _)| loaded)
}

/// The same, with how the machine was found by `--live`.
pub fn find(args: &MachineArgs, output: &Output) -> Result<(Loaded, Option<Discovery>), Failure> {
    let spec = args.spec();
    let warn = &mut |warning: String| output.warn(warning);
    if !spec.machine.is_empty() {
        return Ok((spec.load(&LocalFiles, warn)?, None));
    }
    // An option that is wrong is reported before drivers are queried.
    spec.check()?;
    // Drivers have timeouts of their own.
    let (machine, discovery) = time_limit::unlimited(|| discover(args))?;
    Ok((spec.complete("--live", machine, warn)?, Some(discovery)))
}
