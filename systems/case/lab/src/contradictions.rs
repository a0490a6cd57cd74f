//! Where the paper contradicts itself, with the arithmetic.

use super::memory_use::PUBLISHED;
use mapa_lab::claim::{Claim, EXACT, Verdict};
use mapa_lab::report::Section;

pub(super) fn section() -> Section {
    let mean = PUBLISHED.iter().sum::<f64>() / PUBLISHED.len() as f64;
    let isolated = 128.0 * 2.0 / 3.0;
    let list = [
        "**Six slices of 6 GB.** Section 3: each A30 (24 GB) is \"partitioned into 6 identical slices (1 compute + 6GB memory)\". 6 x 6 GB = 36 GB, and an A30 has \
         four compute slices. 24 / 6 = 4: four instances are assumed, six are a row of the sensitivity table.".to_owned(),
        "**Lines 26 and 27** pop twice for one launch. Of 128 jobs 64 run, and the loop waits for ever for 128 completions. With an odd number it pops an empty queue.".to_owned(),
        "**Lines 10 to 19** have no break, and no line takes the job out of the queue. One job takes every free instance; of 128 jobs one runs, 143 times (128 that complete, 15 that run on), and the \
         batch \"ends\". With a break alone sixteen run.".to_owned(),
        "**Line 11** compares the footprint with the memory of the GPU by `==`: 2 GB never equals 6 GB.".to_owned(),
        "**Line 12** looks for isolated jobs only. An isolated job starts beside tasks that run, which the text rules out (\"only when a GPU has not been selected by any of the isolated jobs\").".to_owned(),
        "**Line 35** clears the mark of the GPU of every job that ends. A job that needs no isolation was launched with GPU -1, or marks the instance of its last task, which may be isolated by then.".to_owned(),
        "**Best fit.** The introduction has \"the best-fit partition on a kernel-by-kernel basis\"; Algorithm 2 takes the fewest warps in use, whatever the size. And a CUDA process sees one MIG \
         instance for life (NVIDIA's MIG guide), so no process can change it kernel by kernel.".to_owned(),
        "**\"Quadratically\"**: the overhead is said to grow \"quadratically (num_GPUs * num_jobs)\". That is bilinear.".to_owned(),
        format!("**2:1 of 128 jobs**: two thirds are {isolated:.1} jobs. 85 are assumed."),
        "**2.93 times the memory**: with the same tasks and no slowdown the means over the makespans are as the throughputs (1.45). No definition tried comes near (above).".to_owned(),
        format!("**Table 2**: its six numbers have a mean of {mean:.2}; the text's 2.2 is right."),
        "**Probe and manager**: \"on the order of 100us and 100ms\". A manager that takes 100 ms a decision would hold back the short kernels of its own Table 2; which of both the 100 ms belong to is not said.".to_owned(),
        "**Not stated**: run times of any job, which arguments were drawn, the share of a life on the GPU, tasks a job, how the mean of turnarounds is taken, what \"memory utilization\" divides, whether Slurm passes over a \
         job that does not fit, memory of contexts.".to_owned(),
    ];
    let text = list
        .iter()
        .map(|item| format!("- {item}"))
        .collect::<Vec<_>>()
        .join("\n");
    let six = Claim::new(
        "An A30 has six slices of 6 GB",
        "6 x (1 compute + 6 GB) of 24 GB",
        &[],
    )
    .found(
        "36 GB of 24, six compute slices of four",
        None,
        EXACT,
        Verdict::of(6 * 6 <= 24),
    );
    let table = Claim::new("Table 2 has a mean of 2.2", "2.2", &[]).found(
        format!("{mean:.2}"),
        None,
        EXACT,
        Verdict::of((mean - 2.2).abs() < 0.05),
    );
    let quadratic = Claim::new(
        "The overhead grows quadratically",
        "num_GPUs * num_jobs",
        &[],
    )
    .found(
        "bilinear: twice the jobs cost twice as much",
        None,
        EXACT,
        Verdict::of(false),
    );
    Section::new(
        "contradictions",
        "Where the paper contradicts itself, and what it does not say",
    )
    .claims([six, table, quadratic])
    .text(text)
    .numbers("mean of table 2", mean)
}
