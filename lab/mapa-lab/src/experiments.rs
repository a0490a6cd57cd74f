//! What an experiment is: a row that a program lists.

use mapa_front::Error;

use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::Report;

/// An evaluation that can be repeated. Whoever has one brings such a row; the program lists the rows.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// The name.
    pub name: &'static str,
    /// The paper it repeats.
    pub paper: &'static str,
    /// Which parts of the paper.
    pub covers: &'static str,
    /// The default number of job files; 0 for an experiment that draws none.
    pub files: usize,
    /// The default seed of the first job file.
    pub seed: u64,
    /// Whether it reads rows of measurements that the caller gives; others ignore [`Plan::rows`].
    pub reads_rows: bool,
    /// Runs the experiment under a plan that [`Experiment::run`] has checked.
    pub run: fn(&Plan, &dyn Progress) -> Result<Report, Error>,
}

/// The fewest job files for intervals to rely on.
pub const ENOUGH: usize = 50;

impl Experiment {
    /// The experiment of this name among those that the program lists.
    ///
    /// # Errors
    /// If there is none. The message lists all.
    pub fn named(experiments: &[Self], name: &str) -> Result<Self, Error> {
        let found = experiments.iter().find(|row| row.name == name);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = experiments.iter().map(|row| row.name).collect();
            Error::malformed(format_args!(
                "no experiment is called `{name}`: expected one of: {}",
                names.join(", ")
            ))
        })
    }

    /// Runs the experiment.
    ///
    /// # Errors
    /// If the plan has fewer than two job files, which an interval needs; or what goes wrong on the
    /// way: threads or processes that cannot be started.
    pub fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Report, Error> {
        if self.files == 0 && plan.files > 0 {
            return Err(Error::malformed(format_args!(
                "{} draws no job files: expected no --files",
                self.name
            )));
        }
        if self.files > 0 && plan.files < 2 {
            return Err(Error::malformed(
                "--files: expected at least 2, as an interval needs them, and 50 to be believed",
            ));
        }
        (self.run)(plan, progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWING: Experiment = Experiment {
        name: "drawing",
        paper: "none",
        covers: "",
        files: ENOUGH,
        seed: 1,
        reads_rows: false,
        run: |plan, _| Ok(Report::new(["drawing", "none", ""], &[], plan)),
    };

    #[test]
    fn intervals_need_two_files_and_what_draws_none_takes_none() {
        let plan = |files| Plan {
            files,
            seed: 1,
            threads: 1,
            timed: false,
            command: String::new(),
            rows: None,
        };
        let few = DRAWING.run(&plan(1), &()).unwrap_err().to_string();
        assert!(few.starts_with("--files: expected at least 2"), "{few}");
        assert_eq!(DRAWING.run(&plan(2), &()).unwrap().seeds, [1, 2]);
        let none = Experiment {
            files: 0,
            ..DRAWING
        };
        assert!(none.run(&plan(0), &()).is_ok());
        let given = none.run(&plan(2), &()).unwrap_err().to_string();
        assert!(given.contains("draws no job files"), "{given}");
    }
}
