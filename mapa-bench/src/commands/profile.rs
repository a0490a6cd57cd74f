//! `profile`: from measured runs to the slopes of jobs that share PCIe.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mapa_core::mig::Size;
use mapa_regress::{Alpha, AlphaConfig, AlphaPoint, fit_alpha, read_runs};
use mapa_sim::{Profile, write_profiles};
use serde_json::{Value, json};

use crate::cli::ProfileArgs;
use crate::failure::Failure;
use crate::input::text;
use crate::output::{Output, gbps, table};
use crate::plots::slopes;

/// A job, what it sends alone, and what its runs say.
pub(crate) struct Fitted {
    pub(crate) job: String,
    /// 0 for one that is not PCIe-bound.
    pub(crate) demand_gbps: f64,
    /// None for one that is not PCIe-bound.
    pub(crate) alpha: Option<Alpha>,
    throughput: BTreeMap<Size, f64>,
}

pub(crate) fn profile(args: &ProfileArgs, output: &mut Output) -> Result<(), Failure> {
    let text = text(&args.runs)?;
    let runs = read_runs(&text).map_err(|error| Failure::malformed(format_args!("{}: {error}", args.runs)))?;
    let mut demands = demands(&args.demand)?;
    let mut fitted = Vec::new();
    for (job, measured) in runs {
        let wrong = |what: &dyn std::fmt::Display| Failure::malformed(format_args!("job `{job}`: {what}"));
        let Some(demand_gbps) = demands.remove(&job) else {
            return Err(wrong(&format_args!("its demand is not told: expected --demand {job}=GB/s")));
        };
        let config = AlphaConfig { from_copies: args.from_copies, ..AlphaConfig::new(demand_gbps, args.max_gbps) };
        let alpha = (demand_gbps > 0.0).then(|| fit_alpha(&measured.runs, &config).map_err(|error| wrong(&error)));
        let alpha = alpha.transpose()?;
        fitted.push(Fitted { job, demand_gbps, alpha, throughput: measured.throughput });
    }
    if let Some(job) = demands.keys().next() {
        return Err(Failure::malformed(format_args!("--demand {job}: no runs of it in {}", args.runs)));
    }
    let mut written = Vec::new();
    let mut write = |file: &Path, text: &str| {
        fs::write(file, text).map_err(|error| Failure::malformed(format_args!("{}: {error}", file.display())))?;
        written.push(file.display().to_string());
        Ok::<_, Failure>(())
    };
    if let Some(file) = &args.output {
        let profiles: Vec<Profile> = fitted.iter().map(|own| own.profile(args)).collect();
        write(file, &write_profiles(&profiles).map_err(Failure::malformed)?)?;
    }
    if let Some(file) = &args.svg {
        write(file, &slopes(&fitted, args.max_gbps))?;
    }
    if output.json {
        let jobs: Vec<Value> = fitted.iter().map(Fitted::json).collect();
        return output.object(&json!({ "max_gbps": args.max_gbps, "jobs": jobs, "written": written }));
    }
    print(&fitted, output)?;
    written.iter().try_for_each(|file| output.line(format_args!("written   {file}")))
}

fn demands(words: &[String]) -> Result<BTreeMap<String, f64>, Failure> {
    let mut demands = BTreeMap::new();
    for word in words {
        let wrong = || {
            let expected = "expected JOB=GB/s, each job once, 0 or from 0.001 to 4294967.295";
            Failure::malformed(format_args!("--demand {word}: {expected}"))
        };
        let (job, gbps) = word.rsplit_once('=').ok_or_else(wrong)?;
        let sound = |gbps: &f64| *gbps == 0.0 || (0.001..=f64::from(u32::MAX) / 1000.0).contains(gbps);
        let gbps: f64 = gbps.trim().parse().ok().filter(sound).ok_or_else(wrong)?;
        if demands.insert(job.trim().to_owned(), gbps).is_some() {
            return Err(wrong());
        }
    }
    Ok(demands)
}

impl Fitted {
    fn profile(&self, args: &ProfileArgs) -> Profile {
        let plain = Profile { throughput: self.throughput.clone(), ..Profile::new(self.job.clone()) };
        let Some(Alpha { alpha, low, high, base_s, points, .. }) = &self.alpha else {
            return Profile { source: format!("runs in {}", args.runs), ..plain };
        };
        let runs: usize = points.iter().map(|point| point.runs).sum();
        Profile {
            // Rounded as its demand is counted.
            pcie_gbps: (self.demand_gbps * 1000.0).round() / 1000.0,
            pcie_alpha: *alpha,
            source: format!("{runs} runs in {}, over {} GB/s", args.runs, args.max_gbps),
            notes: vec![match low.is_nan() {
                true => format!("No interval of pcie_alpha; {base_s} s alone."),
                false => format!("95 % interval of pcie_alpha: {low:.4} to {high:.4}; {base_s} s alone."),
            }],
            ..plain
        }
    }

    /// JSON has no NaN: null where there is no interval, and of a job that is not PCIe-bound.
    fn json(&self) -> Value {
        let point = |point: &AlphaPoint| {
            json!({
                "copies": point.copies, "runs": point.runs, "slowdown": point.slowdown,
                "predicted": point.predicted, "on_line": point.on_line,
            })
        };
        let of = |of: fn(&Alpha) -> f64| self.alpha.as_ref().map(of);
        let points = self.alpha.iter().flat_map(|own| &own.points).map(point).collect::<Vec<_>>();
        let throughput: BTreeMap<String, f64> =
            self.throughput.iter().map(|(size, rate)| (size.to_string(), *rate)).collect();
        json!({
            "job": self.job, "pcie_gbps": self.demand_gbps, "pcie_alpha": of(|own| own.alpha),
            "low": of(|own| own.low), "high": of(|own| own.high), "knee_copies": of(|own| own.knee),
            "base_s": of(|own| own.base_s), "points": points, "throughput": throughput,
        })
    }
}

fn print(fitted: &[Fitted], output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(["job", "GB/s", "alpha", "95 % from", "to", "knee, copies", "alone, s", "tokens/s"], 1..7);
    for Fitted { job, demand_gbps, alpha, throughput } in fitted {
        let cell = |text: fn(&Alpha) -> String| alpha.as_ref().map_or("-".to_owned(), text);
        let rates = throughput.iter().map(|(size, rate)| format!("{size} {}", gbps(*rate))).collect::<Vec<_>>();
        rows.add_row([
            job.clone(),
            gbps(*demand_gbps),
            cell(|own| format!("{:.4}", own.alpha)),
            cell(|own| bound(own.low)),
            cell(|own| bound(own.high)),
            cell(|own| format!("{:.2}", own.knee)),
            cell(|own| gbps(own.base_s)),
            if rates.is_empty() { "-".to_owned() } else { rates.join(", ") },
        ]);
    }
    output.line(rows)?;
    output.line("")?;
    let mut rows = table(["job", "copies", "runs", "slowdown", "by Eq. 2", "on the line"], 1..5);
    for Fitted { job, alpha, .. } in fitted {
        for point in alpha.iter().flat_map(|own| &own.points) {
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

fn bound(value: f64) -> String {
    if value.is_nan() { "-".to_owned() } else { format!("{value:.4}") }
}
