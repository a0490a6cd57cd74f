//! Read a machine, allocate GPUs to jobs until it is full, and release them.
//!
//! ```sh
//! nvidia-smi topo -m | cargo run -p mapa-examples --example allocate -- -
//! ```

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use mapa_core::{Allocator, Pattern, Refusal, Request, preserve};
use mapa_topologies::{Machine, named, read};

fn machine() -> Result<Machine, Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() != Some("-") {
        return Ok(named("dgx-1v")?);
    }
    let mut dump = Vec::new();
    std::io::stdin().read_to_end(&mut dump)?;
    Ok(read(&dump)?.into_machine()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let machine = machine()?;
    for warning in &machine.warnings {
        eprintln!("warning: {warning}");
    }
    let mut allocator = Allocator::new(Arc::new(machine.graph()?));
    let request = Request::new(Pattern::ring(4)).sensitive(true);
    // Jobs arrive until the machine is full.
    let mut leases = Vec::new();
    loop {
        match allocator.allocate(preserve(), &request) {
            Ok(lease) => {
                let devices: Vec<String> =
                    lease.placement.iter().map(ToString::to_string).collect();
                println!("job {} runs on {}", lease.id, devices.join(","));
                leases.push(lease.id);
            }
            Err(Refusal::Busy(reason)) => break println!("job {} waits: {reason}", leases.len()),
            Err(refusal) => return Err(refusal.into()),
        }
    }
    for lease in leases {
        allocator.release(lease)?;
    }
    assert_eq!(allocator.view().free(), &allocator.graph().all());
    Ok(())
}
