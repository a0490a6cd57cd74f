//! Any text is read as a job file or refused; what is read can be written and is read back equal. The
//! same holds below a header with the columns of jobs that share instances, which a fuzzer would take
//! long to find.

use mapa_sim::{read_jobs, write_jobs};

use crate::input::text;

fn check(text: &str) {
    let Ok(workload) = read_jobs(text) else {
        return;
    };
    let written = write_jobs(&workload).expect("what a job file holds can be written");
    let again = read_jobs(&written).expect("what is written can be read");
    assert_eq!(again.jobs, workload.jobs);
    assert_eq!(again.source, workload.source);
}

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    check(text);
    let header = "gpus,duration_s,isolated,slice,memory_gb,tasks,grows";
    check(&format!("{header}\n{text}\n"));
    check(&format!("gpus,duration_s,tasks\n1,,{text}\n"));
}
