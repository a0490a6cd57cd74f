//! Table 3: speedups over lowest-id, which the paper does not say of which jobs.

use mapa_sim::{mean_interval, quantile};
use serde_json::{Map, Value, json};

use super::super::claim::{Claim, Verdict, interval_json, range};
use super::super::report::Section;
use super::trials::{All, Trial, Trials, Who};
use crate::failure::Failure;

/// As printed: minimum, quartiles, maximum, throughput.
const PRINTED: [(&str, [f64; 6]); 3] = [
    ("topo-aware", [1.002, 1.029, 1.385, 1.014, 1.075, 1.07]),
    ("greedy", [0.997, 1.059, 1.519, 1.048, 1.319, 1.08]),
    ("preserve", [1.006, 1.057, 1.119, 1.124, 1.352, 1.12]),
];

const COLUMNS: [&str; 6] = ["MIN", "25 %", "50 %", "75 %", "MAX", "Tput"];

/// What "normalized execution time speed up" may be of.
const POPULATIONS: [&str; 4] = ["all jobs", "sensitive", "by network", "job by job"];

/// The middle 95 % of files, and whether a figure of one file lies there.
pub(super) fn among(values: &[f64], printed: f64) -> (f64, f64, Verdict) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [low, high] = [0.025, 0.975].map(|p| quantile(&sorted, p));
    (low, high, Verdict::of((low..=high).contains(&printed)))
}

/// The speedup of a file at a quartile.
fn speedup(population: &str, base: &Trial, own: &Trial, at: usize) -> f64 {
    let ratio = |who| base.spread(who, |job| job.ran)[at] / own.spread(who, |job| job.ran)[at];
    match population {
        "all jobs" => ratio(Who::All),
        "sensitive" => ratio(Who::Sensitive),
        // Every workload's quartiles over lowest-id's, then the mean of the nine.
        "by network" => {
            let tasks = mapa_patterns::PUBLISHED.map(|own| own.name);
            tasks.iter().map(|task| ratio(Who::Task(task))).sum::<f64>() / tasks.len() as f64
        }
        // Jobs stand in the order of the file, and all have finished under both policies.
        _ => {
            let mut ratios: Vec<f64> = base.samples.iter().zip(&own.samples).map(|(a, b)| a.ran / b.ran).collect();
            ratios.sort_by(f64::total_cmp);
            quantile(&ratios, [0.0, 0.25, 0.5, 0.75, 1.0][at])
        }
    }
}

fn per_file(trials: &Trials, population: &str, name: &str, at: usize) -> Vec<f64> {
    let (base, own) = (trials.policy("lowest-id"), trials.policy(name));
    base.iter().zip(own).map(|(base, own)| speedup(population, base, own, at)).collect()
}

pub(super) fn section(all: &All) -> Result<Section, Failure> {
    let main = all.of("main")?;
    let mut rows = Vec::new();
    let mut numbers = Map::new();
    let mut found = [0; POPULATIONS.len()];
    for (name, printed) in PRINTED {
        for (at, column) in COLUMNS.iter().enumerate() {
            let mut cells = vec![name.to_owned(), (*column).to_owned(), format!("{:.3}", printed[at])];
            for (of, population) in POPULATIONS.iter().enumerate() {
                let values = if at == 5 { main.throughput(name) } else { per_file(main, population, name, at) };
                let (low, high, verdict) = among(&values, printed[at]);
                let is_there = verdict == Verdict::Holds;
                found[of] += usize::from(is_there);
                let mean = mean_interval(&values);
                let mark = if is_there { " *" } else { "" };
                cells.push(format!("{:.3} ({}){mark}", mean.mean, range(low, high)));
                let value = json!({ "printed": printed[at], "mean": interval_json(mean), "files": [low, high] });
                numbers.insert(format!("{name}, {column}, {population}"), value);
            }
            rows.push(cells);
        }
    }
    let cells = PRINTED.len() * COLUMNS.len();
    let best = found.iter().max().copied().unwrap_or_default();
    let told: Vec<String> = POPULATIONS.iter().zip(found).map(|(name, found)| format!("{name} {found}")).collect();
    let fits = Claim::new("Table 3 is that of a job file like ours, of one population", "18 cells", &[1, 2, 4]).found(
        format!("cells of {cells} that lie among our files: {}", told.join(", ")),
        None,
        Verdict::of(best == cells),
    );
    Ok(Section::new("table-3", "Table 3: speedup and throughput over lowest-id")
        .claims([fits])
        .claims(arithmetic())
        .text(
            "Quartiles of lowest-id's execution times over the policy's: of all jobs, of sensitive ones, as the mean \
             over the nine workloads of their own quartiles, and quartiles of the speedups of single jobs. Means over \
             files, in brackets the middle 95 % of files; * where the printed figure lies in it. Work of 5 to 24 s \
             whatever the network (A2) spreads times by itself, more than links do.",
        )
        .table(["policy", "column", "printed"].into_iter().chain(POPULATIONS), rows)
        .numbers("cells", Value::Object(numbers)))
}

/// What the paper's own figures make of each other.
pub(super) fn arithmetic() -> Vec<Claim> {
    let [topo, preserve] = [505.0, 498.0].map(|seconds| 540.0 / seconds);
    let claim = |policy: &str, printed: f64, seconds: &str, ratio: f64| {
        let what = format!("{policy}: the 75th percentiles of section 4.1 give Table 3's speedup");
        let is_it = (ratio - printed).abs() < 5e-4;
        Claim::new(what, format!("{printed:.3}"), &[]).found(
            format!("540 / {seconds} = {ratio:.3}"),
            None,
            Verdict::of(is_it),
        )
    };
    let odd = Claim::new("Table 3: the better policy of the text has the higher median speedup", "preserve 1.119", &[]);
    let odd = odd.found("topo-aware 1.385 and greedy 1.519 are above it", None, Verdict::Fails);
    vec![claim("topo-aware", 1.014, "505", topo), claim("preserve", 1.124, "498", preserve), odd]
}
