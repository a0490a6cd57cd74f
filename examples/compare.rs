//! Compares what each policy would choose on your own machine. Reads the output of `nvidia-smi topo -m`,
//! `rocm-smi --showtopo` or any other tool that MAPA knows.
//!
//! ```sh
//! nvidia-smi topo -m | cargo run -p mapa-examples --example compare -- -
//! ```

use std::error::Error;
use std::io::Read;

use mapa_core::{BuiltIn, Pattern, Request};
use mapa_topologies::read;

/// The output on a server with six GPUs: four on one socket, in two pairs that NVLinks join, and
/// two on the other.
const DUMP: &str = "\
\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tCPU Affinity\tNUMA Affinity
GPU0\t X \tPIX\tNV2\tPHB\tSYS\tSYS\t0-15\t0
GPU1\tPIX\t X \tPHB\tNV2\tSYS\tSYS\t0-15\t0
GPU2\tNV2\tPHB\t X \tPIX\tSYS\tSYS\t0-15\t0
GPU3\tPHB\tNV2\tPIX\t X \tSYS\tSYS\t0-15\t0
GPU4\tSYS\tSYS\tSYS\tSYS\t X \tPIX\t16-31\t1
GPU5\tSYS\tSYS\tSYS\tSYS\tPIX\t X \t16-31\t1
";

fn main() -> Result<(), Box<dyn Error>> {
    let mut dump = DUMP.as_bytes().to_vec();
    if std::env::args().nth(1).as_deref() == Some("-") {
        dump.clear();
        std::io::stdin().read_to_end(&mut dump)?;
    }
    let machine = read(&dump)?.into_machine()?;
    for warning in &machine.warnings {
        eprintln!("warning: {warning}");
    }
    let graph = machine.graph()?;
    let free = graph.all();
    println!(
        "{:20}{:>12}{:>14}{:>16}{:>18}",
        "policy", "devices", "aggregate", "ring packing", "left for others"
    );
    for built_in in BuiltIn::ALL
        .iter()
        .filter(|built_in| !built_in.for_instances)
    {
        let policy = BuiltIn::named(built_in.name)?;
        let request = Request::new(Pattern::ring(2)).sensitive(true);
        let decision = graph.with_free(&free).decide(&policy, &request)?;
        let devices: Vec<String> = decision
            .placement()
            .iter()
            .map(ToString::to_string)
            .collect();
        let score = |objective: mapa_core::Objective<'_>| {
            let (view, pattern, placement) = (
                graph.with_free(&free),
                &request.pattern,
                decision.placement(),
            );
            objective.score(&mapa_core::Candidate {
                view,
                pattern,
                placement,
            })
        };
        let scores = [
            mapa_core::aggregate_gbps(),
            mapa_core::ring_packing_gbps(),
            mapa_core::preserved_gbps(),
        ]
        .map(score);
        let [aggregate, packing, left] = scores.map(|gbps| format!("{gbps:.0} GB/s"));
        println!(
            "{:20}{:>12}{aggregate:>14}{packing:>16}{left:>18}",
            built_in.name,
            devices.join(",")
        );
    }
    Ok(())
}
