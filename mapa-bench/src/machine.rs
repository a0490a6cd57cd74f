//! Finding the machine that is meant.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use mapa_core::HardwareGraph;
use mapa_topologies::{Machine, named, read};

use crate::cli::MachineArgs;
use crate::failure::Failure;
use crate::output::Output;

/// Reads the machine and lowers it; its warnings go to standard error.
pub(crate) fn load(args: &MachineArgs, output: &Output) -> Result<(Machine, HardwareGraph), Failure> {
    let mut machine = find(&args.machine)?;
    if let Some(gbps) = args.pcie_gbps {
        machine.fabric.set_host_gbps(gbps)?;
        machine.notes.push(format!("Set by option: {gbps} GB/s for every path through the host."));
    }
    if let Some(gbps) = args.nvlink_gbps {
        machine.fabric.set_direct_gbps(gbps)?;
        machine.notes.push(format!("Set by option: {gbps} GB/s for every direct link."));
    }
    for warning in &machine.warnings {
        output.warn(format_args!("{}: {warning}", args.machine));
    }
    let graph = machine.graph().map_err(|error| Failure::malformed(format_args!("{}: {error}", args.machine)))?;
    Ok((machine, graph))
}

fn find(name: &str) -> Result<Machine, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::malformed(format_args!("{name}: {error}"));
    if name == "-" {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| wrong(&error))?;
        return read(&bytes).map_err(|error| wrong(&error));
    }
    match named(name) {
        Ok(machine) => Ok(machine),
        Err(unknown) if !Path::new(name).exists() => {
            Err(Failure::malformed(format_args!("{unknown}, a file, or - for standard input")))
        }
        Err(_) => {
            let bytes = fs::read(name).map_err(|error| wrong(&error))?;
            let mut machine = read(&bytes).map_err(|error| wrong(&error))?;
            // A dump does not know its name; its file does.
            if machine.name == "topo-m"
                && let Some(stem) = Path::new(name).file_stem()
            {
                machine.name = stem.to_string_lossy().into_owned();
            }
            Ok(machine)
        }
    }
}
