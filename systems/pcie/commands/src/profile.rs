//! `profile`: fit the slowdown of jobs that share PCIe to measured runs.

use std::collections::BTreeMap;

use crate::answer::profile::{Profile as Answer, ProfiledJob};
use mapa_core::mig::Size;
use mapa_regress::{Alpha, AlphaConfig, fit_alpha, read_runs};
use mapa_sim::{Profile, write_profiles};

use super::args::ProfileArgs;
use mapa_cli::Failure;
use mapa_cli::files::{text, write};
use mapa_cli::{Output, SystemCommand};
use mapa_front::FileKind;
use mapa_front::text::{gbps, table};

/// A job with its PCIe traffic when alone, and the slope fitted to its runs.
struct Fitted {
    job: String,
    /// 0 for a job that is not PCIe-bound.
    demand_gbps: f64,
    /// None for a job that is not PCIe-bound.
    alpha: Option<Alpha>,
    /// The throughput alone on a slice of each size, tokens/s.
    throughput: BTreeMap<Size, f64>,
}

impl SystemCommand for ProfileArgs {
    const NAME: &'static str = "profile";
    const ABOUT: &'static str = "Fit PCIe profiles of jobs to measured runs: how much other jobs on the same PCIe link slow them down";

    fn run(&self, output: &mut Output) -> Result<(), Failure> {
        profile(self, output)
    }
}

fn profile(args: &ProfileArgs, output: &mut Output) -> Result<(), Failure> {
    let runs = read_runs(&text(&args.runs, FileKind::Table)?)
        .map_err(|error| Failure::at(&args.runs, error))?;
    let mut demands = demands(&args.demand)?;
    let mut fitted = Vec::new();
    for (job, measured) in runs {
        let Some(demand_gbps) = demands.remove(&job) else {
            return Err(Failure::malformed(format_args!(
                "{}: job `{job}`: its demand is missing: expected --demand {job}=GB/s",
                args.runs
            )));
        };
        let alpha =
            if demand_gbps > 0.0 {
                let config = AlphaConfig {
                    from_copies: args.from_copies,
                    ..AlphaConfig::new(demand_gbps, args.max_gbps)
                };
                let alpha = fit_alpha(&measured.runs, &config);
                Some(alpha.map_err(|error| {
                    Failure::at(format_args!("{}: job `{job}`", args.runs), error)
                })?)
            } else {
                None
            };
        fitted.push(Fitted {
            job,
            demand_gbps,
            alpha,
            throughput: measured.throughput,
        });
    }
    if let Some(job) = demands.keys().next() {
        return Err(Failure::malformed(format_args!(
            "--demand {job}: {} has no runs of this job",
            args.runs
        )));
    }
    let mut written = Vec::new();
    if let Some(file) = &args.output {
        let profiles: Vec<Profile> = fitted.iter().map(|fitted| fitted.profile(args)).collect();
        write(file, write_profiles(&profiles).map_err(Failure::malformed)?)?;
        written.push(file.display().to_string());
    }
    if let Some(file) = &args.svg {
        let drawn = fitted.iter().filter_map(|fitted| {
            Some(super::plots::PlottedSlope {
                job: &fitted.job,
                demand_gbps: fitted.demand_gbps,
                alpha: fitted.alpha.as_ref()?,
            })
        });
        write(file, super::plots::slopes(drawn, args.max_gbps))?;
        written.push(file.display().to_string());
    }
    if output.json {
        return output.object(&Answer {
            max_gbps: args.max_gbps,
            jobs: fitted.iter().map(Fitted::answer).collect(),
            written,
        });
    }
    print(&fitted, output)?;
    written
        .iter()
        .try_for_each(|file| output.line(format_args!("written   {file}")))
}

/// The demand of each job, GB/s, by name.
fn demands(words: &[String]) -> Result<BTreeMap<String, f64>, Failure> {
    let mut demands = BTreeMap::new();
    for word in words {
        let is_new = demand(word).is_some_and(|(job, gbps)| demands.insert(job, gbps).is_none());
        if !is_new {
            return Err(Failure::malformed(format_args!(
                "--demand {word}: expected JOB=GB/s, each job once, 0 or from 0.001 to 4294967.295"
            )));
        }
    }
    Ok(demands)
}

/// Parses `JOB=GB/s`. Demands are counted in MB/s, 32 bits, which bounds them.
fn demand(word: &str) -> Option<(String, f64)> {
    let (job, gbps) = word.rsplit_once('=')?;
    let gbps: f64 = gbps.trim().parse().ok()?;
    let is_counted = gbps == 0.0 || (0.001..=f64::from(u32::MAX) / 1000.0).contains(&gbps);
    is_counted.then(|| (job.trim().to_owned(), gbps))
}

impl Fitted {
    /// The row of the file of profiles.
    fn profile(&self, args: &ProfileArgs) -> Profile {
        let plain = Profile {
            throughput: self.throughput.clone(),
            ..Profile::new(self.job.clone())
        };
        let Some(Alpha {
            alpha,
            low,
            high,
            base_s,
            points,
            ..
        }) = &self.alpha
        else {
            return Profile {
                source: format!("runs in {}", args.runs),
                ..plain
            };
        };
        let runs: usize = points.iter().map(|point| point.runs).sum();
        Profile {
            // Rounded to MB/s, the unit in which demands are counted.
            pcie_gbps: (self.demand_gbps * 1000.0).round() / 1000.0,
            pcie_alpha: *alpha,
            source: format!("{runs} runs in {}, over {} GB/s", args.runs, args.max_gbps),
            notes: vec![match low.is_nan() {
                true => format!("No interval of pcie_alpha; {base_s} s alone."),
                false => {
                    format!("95 % interval of pcie_alpha: {low:.4} to {high:.4}; {base_s} s alone.")
                }
            }],
            ..plain
        }
    }

    fn answer(&self) -> ProfiledJob {
        let Self {
            job,
            demand_gbps,
            alpha,
            throughput,
        } = self;
        ProfiledJob::new(job, *demand_gbps, alpha.as_ref(), throughput)
    }
}

/// Prints the fitted slopes, then every point.
fn print(fitted: &[Fitted], output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(
        [
            "job",
            "GB/s",
            "alpha",
            "95 % from",
            "to",
            "knee, copies",
            "alone, s",
            "tokens/s",
        ],
        1..7,
    );
    for Fitted {
        job,
        demand_gbps,
        alpha,
        throughput,
    } in fitted
    {
        let cell = |text: fn(&Alpha) -> String| alpha.as_ref().map_or("-".to_owned(), text);
        let rates = throughput
            .iter()
            .map(|(size, rate)| format!("{size} {}", gbps(*rate)))
            .collect::<Vec<_>>();
        rows.add_row([
            job.clone(),
            gbps(*demand_gbps),
            cell(|alpha| format!("{:.4}", alpha.alpha)),
            cell(|alpha| bound(alpha.low)),
            cell(|alpha| bound(alpha.high)),
            cell(|alpha| format!("{:.2}", alpha.knee)),
            cell(|alpha| gbps(alpha.base_s)),
            if rates.is_empty() {
                "-".to_owned()
            } else {
                rates.join(", ")
            },
        ]);
    }
    output.line(rows)?;
    output.line("")?;
    let mut rows = table(
        [
            "job",
            "copies",
            "runs",
            "slowdown",
            "by Eq. 2",
            "on the line",
        ],
        1..5,
    );
    for Fitted { job, alpha, .. } in fitted {
        for point in alpha.iter().flat_map(|alpha| &alpha.points) {
            rows.add_row([
                job.clone(),
                point.copies.to_string(),
                point.runs.to_string(),
                format!("{:.3}", point.slowdown),
                format!("{:.3}", point.predicted),
                if point.on_line { "yes" } else { "no" }.to_owned(),
            ]);
        }
    }
    output.line(rows)
}

/// An end of an interval; `-` if there is none.
fn bound(value: f64) -> String {
    if value.is_nan() {
        "-".to_owned()
    } else {
        format!("{value:.4}")
    }
}
