//! Algorithm 1 as it is printed.

use std::collections::BTreeMap;

use mapa_lab::claim::{Claim, Verdict};
use mapa_lab::report::Section;
use mapa_system_case::{PrintedAlgorithm, PrintedEnd, PrintedFaults, PrintedJob, PrintedRun};

/// The jobs of system C, and its instances.
const JOBS: usize = 128;
const INSTANCES: usize = 16;
const GB: u64 = 1_000_000_000;

fn run(faults: PrintedFaults, footprint: u64, isolated: usize, others: usize) -> PrintedRun {
    let job = PrintedJob {
        footprint,
        seconds: 20,
    };
    // Four workers an instance.
    let loop_of = PrintedAlgorithm::new(faults, vec![6 * GB; INSTANCES], 4 * INSTANCES);
    loop_of.run(&vec![job; isolated], &vec![job; others])
}

fn end(run: &PrintedRun) -> String {
    let how = match run.end {
        PrintedEnd::Batch => "the batch \"ends\"",
        PrintedEnd::WaitsForEver => "waits for ever",
        PrintedEnd::PopsEmptyQueue => "pops an empty queue",
    };
    format!(
        "{} jobs run, {} launches, {how}",
        run.jobs(),
        run.launches.len()
    )
}

pub(super) fn section() -> Section {
    let none = PrintedFaults::NONE;
    let not_equal = PrintedFaults {
        equality: false,
        ..PrintedFaults::ALL
    };
    let no_removal = PrintedFaults {
        no_removal: true,
        ..none
    };
    let double = PrintedFaults {
        double_pop: true,
        ..none
    };
    let all = [
        (
            "as printed, isolated jobs of 2 GB",
            run(PrintedFaults::ALL, 2 * GB, JOBS, 0),
            [0, 0],
        ),
        (
            "as printed, isolated jobs of 6 GB",
            run(PrintedFaults::ALL, 6 * GB, JOBS, 0),
            [1, 143],
        ),
        (
            "line 11 with < for ==, isolated jobs of 2 GB",
            run(not_equal, 2 * GB, JOBS, 0),
            [1, 143],
        ),
        (
            "the same with a break after a launch",
            run(no_removal, 2 * GB, JOBS, 0),
            [16, 143],
        ),
        (
            "only the double pop, other jobs",
            run(double, 2 * GB, 0, JOBS),
            [64, 64],
        ),
        (
            "only the double pop, an odd number",
            run(double, 2 * GB, 0, JOBS - 1),
            [63, 63],
        ),
        ("corrected", run(none, 2 * GB, JOBS, 0), [128, 128]),
    ];
    let mut section = Section::new("printed", "Algorithm 1 as it is printed");
    let mut claims = Vec::new();
    for (what, run, [jobs, launches]) in all {
        let found = Verdict::of([run.jobs(), run.launches.len()] == [jobs, launches]);
        section.insert(
            what,
            BTreeMap::from([("jobs", run.jobs()), ("launches", run.launches.len())]),
        );
        claims.push(
            Claim::new(
                format!("{what}: {jobs} of the jobs run in {launches} launches"),
                "every job runs once",
                &[],
            )
            .found(end(&run), None, "exact", found),
        );
    }
    section.claims(claims).text(
        "128 jobs of 20 s on the sixteen instances of system C with 64 workers. Lines 26 and 27 pop twice for one launch. No break ends the loop of line 10, and \
         no line removes a launched isolated job from its queue. A footprint of 2 GB never equals the 6 GB of line 11. `mapa_sched::Printed` runs the loop \
         with any of these faults.",
    )
}
