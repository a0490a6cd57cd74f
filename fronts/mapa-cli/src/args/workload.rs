//! Which jobs a simulation has.

use clap::Args;
use mapa_front::WorkloadSpec;

/// The source of a workload. Without any of these arguments, it is `--generate mapa`.
#[derive(Args, Clone, Debug)]
pub struct WorkloadArgs {
    /// Read jobs from a file, in the format of the released MAPA simulator or in that of this
    /// program (see docs/workloads.md); `-` is standard input.
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["trace", "generate"])]
    pub jobs: Option<String>,
    /// Read jobs from the log of a real cluster: alibaba-openb, gavel-philly, tiresias or
    /// slurm-sacct (Slurm's `sacct --parsable2`). Without KIND, the file's header decides.
    #[arg(long, value_name = "[KIND=]FILE|-", conflicts_with = "generate")]
    pub trace: Option<String>,
    /// Which jobs of the trace to take, and what to assume about them, such as
    /// first=1000,max-gpus=8,vc=23dbec,compress=10 (see docs/workloads.md).
    #[arg(long, hide_short_help = true, value_name = "WORDS", requires = "trace", conflicts_with_all = ["jobs", "generate", "run_times"])]
    pub select: Option<String>,
    /// Draw jobs at random by a generator (see docs/workloads.md). Settings to change follow its name:
    /// mapa,jobs=1000,arrivals=poisson:120/h,times=lognormal:60s:1.5.
    #[arg(long, value_name = "WORDS")]
    pub generate: Option<String>,
    /// Draw run times from a file with the header runtime_s and one run time per line.
    #[arg(long, hide_short_help = true, value_name = "FILE|-", conflicts_with_all = ["jobs", "trace"])]
    pub run_times: Option<String>,
    /// The seed of the random numbers [default: 1].
    #[arg(long, hide_short_help = true, value_name = "N", conflicts_with_all = ["jobs", "trace"])]
    pub seed: Option<u64>,
    /// Let all jobs arrive at time 0, as in MAPA's released simulator.
    #[arg(long, hide_short_help = true)]
    pub at_once: bool,
}

impl WorkloadArgs {
    /// The workload as a request names it.
    pub fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            jobs: self.jobs.clone(),
            trace: self.trace.clone(),
            select: self.select.clone(),
            generate: self.generate.clone(),
            run_times: self.run_times.clone(),
            seed: self.seed,
            at_once: self.at_once,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        workload: WorkloadArgs,
    }

    #[test]
    fn words_that_do_not_apply_are_refused() {
        let (jobs, trace) = (["--jobs", "a.csv"], ["--trace", "a.csv"]);
        for (from, more) in [
            (jobs, ["--seed", "3"]),
            (jobs, ["--select", "first=1"]),
            (jobs, ["--run-times", "times.csv"]),
            (trace, ["--seed", "1"]),
            (trace, ["--run-times", "times.csv"]),
            (trace, jobs),
            (["--generate", "mapa"], ["--select", "first=1"]),
        ] {
            let words = ["x"].iter().chain(&from).chain(&more);
            let error = Words::try_parse_from(words)
                .err()
                .map(|error| error.to_string());
            let error = error.unwrap_or_default();
            assert!(
                error.contains("cannot be used with"),
                "{from:?} {more:?}: {error}"
            );
        }
    }

    #[test]
    fn a_seed_that_is_not_given_is_that_of_the_request() {
        let none = Words::try_parse_from(["x"]).unwrap().workload.spec();
        assert_eq!((none.seed(), none.generate), (1, None));
        let four = Words::try_parse_from(["x", "--seed", "4"]).unwrap();
        assert_eq!(four.workload.spec().seed(), 4);
    }
}
