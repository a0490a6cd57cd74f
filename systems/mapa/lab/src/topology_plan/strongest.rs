//! The strongest baseline of each setting and measure, searched once on files of its own.

use std::collections::BTreeMap;

use mapa_front::Error;

use super::run::missing;
use super::schedulers::ComparedScheduler;
use super::setting::PlanSetting;

/// The baseline of the best mean on the tuning files, by setting and measure.
const FOUND: &str = include_str!("strongest.csv");

/// The strongest baselines, by the ids of settings and the keys of measures.
pub(super) struct Strongest(BTreeMap<(String, String), ComparedScheduler>);

impl Strongest {
    /// Reads what was found.
    ///
    /// # Errors
    /// A row that is no row, or names no baseline.
    pub(super) fn kept() -> Result<Self, Error> {
        let rows = FOUND.lines().filter(|row| !row.starts_with('#')).skip(1);
        let rows = rows.map(|row| {
            let cells: Vec<&str> = row.split(';').collect();
            let [setting, measure, name, _] = cells[..] else {
                return Err(missing(row));
            };
            let listed = ComparedScheduler::named(name).ok_or_else(|| missing(name))?;
            Ok(((setting.to_owned(), measure.to_owned()), listed))
        });
        rows.collect::<Result<_, Error>>().map(Self)
    }

    /// The strongest baseline of a setting by a measure. Settings with wrong knowledge have none.
    pub(super) fn of(&self, setting: &PlanSetting, measure: &str) -> Option<ComparedScheduler> {
        self.0.get(&(setting.id(), measure.to_owned())).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::super::run::{FileNumbers, run};
    use super::super::setting::PlanInputs;
    use super::*;
    use mapa_lab::plan::{Plan, on_files};
    use mapa_lab::progress::Progress;

    #[test]
    fn every_setting_and_measure_has_a_strongest_baseline() {
        let kept = Strongest::kept().unwrap();
        for setting in PlanSetting::all() {
            for (measure, _) in FileNumbers::MEASURES {
                assert!(kept.of(&setting, measure).is_some(), "{}", setting.id());
            }
        }
    }

    struct Dots;

    impl Progress for Dots {
        fn tasks(&self, _: u64) {}
        fn done(&self) {}
        fn doing(&self, _: &str) {}
    }

    #[test]
    #[ignore = "half an hour: searches the strongest baselines anew and writes their file"]
    fn search_anew() {
        let number =
            |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
        let (files, seed) = (number("FILES", 40), number("SEED", 50_001));
        let plan = Plan {
            files: files as usize,
            seed,
            threads: 2,
            timed: false,
            command: String::new(),
            rows: None,
        };
        let settings = PlanSetting::all();
        let ready = PlanInputs::all(&settings).unwrap();
        let baselines = ComparedScheduler::baselines();
        let done = on_files(&plan, &Dots, settings.len(), |at, seed| {
            let jobs = ready[at].jobs(seed)?;
            let each = baselines.iter();
            each.map(|&listed| run(&ready[at], &jobs, listed, seed))
                .collect()
        })
        .unwrap();
        let mut text = format!(
            "# The strongest of {} baselines by mean over {files} job files, seeds {seed} to {}, for each setting and measure.\n\
             # Searched on 2026-11-24. Written by the ignored test topology_plan::strongest::tests::search_anew.\n\
             setting;measure;scheduler;mean\n",
            baselines.len(),
            seed + files - 1,
        );
        for (setting, of) in settings.iter().zip(&done) {
            for (measure, value) in FileNumbers::MEASURES {
                let mean = |files: &Vec<FileNumbers>| {
                    files.iter().map(value).sum::<f64>() / files.len() as f64
                };
                let means = of.iter().map(mean).zip(&baselines);
                let (mean, best) = means.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
                writeln!(text, "{};{measure};{};{mean:.3}", setting.id(), best.name()).unwrap();
            }
        }
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/topology_plan/strongest.csv"
        );
        std::fs::write(path, text).unwrap();
    }
}
