//! `fit`: from measurements to a model of bandwidth, with all that says how far to trust it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mapa_core::{DeviceId, HardwareGraph, LinkClass, Term, Tiers};
use mapa_regress::{
    Column, Error, Errors, Fit, FitConfig, Measurement, Method, Misordered, Order, RankOrder, SampleConfig, Samples,
    Validation, fit as fitted, k_fold, leave_one_size_out, read_measurements, samples, write_model,
};
use mapa_topologies::Labels;
use serde_json::{Map, Value, json};

use crate::cli::{ColumnName, FitArgs, MethodName, RingName, Terms};
use crate::failure::Failure;
use crate::machine::load;
use crate::output::{Output, table};
use crate::plots::{Plots, ids};

/// Below it, what is measured is latency (the paper's Fig. 2a: links differ above 1e5 bytes).
const LARGE: u64 = 1_000_000;

/// Repeats of one set that differ by more, relative to the lower, contradict each other.
const REPEATS: f64 = 0.1;

pub(crate) fn fit(args: &FitArgs, output: &mut Output) -> Result<(), Failure> {
    if args.lambda.is_some() && args.method != MethodName::Ridge {
        return Err(Failure::malformed("--lambda is for --method ridge"));
    }
    let loaded = load(&args.machine, output)?;
    let graph = loaded.graph();
    let steps = args.measurements.len() + 4;
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").map_err(Failure::malformed)?);
    let answer = work(args, &loaded.machine.name, graph, &bar);
    bar.finish_and_clear();
    let answer = answer?;
    if output.json { output.object(&answer.json()) } else { answer.print(output) }
}

struct Answer {
    machine: String,
    found: Samples,
    fit: Fit,
    /// The ring of each row of the fit.
    rings: Vec<Vec<DeviceId>>,
    order: Order,
    validations: Validations,
    notes: Vec<String>,
    written: Vec<String>,
}

fn work(args: &FitArgs, machine: &str, graph: &HardwareGraph, bar: &ProgressBar) -> Result<Answer, Failure> {
    let measurements = read_all(&args.measurements, bar)?;
    bar.set_message("samples");
    let config = SampleConfig {
        tiers: tiers(&args.tiers)?,
        column: match args.column {
            ColumnName::OutOfPlace => Column::OutOfPlace,
            ColumnName::InPlace => Column::InPlace,
            ColumnName::Best => Column::Best,
        },
        op: (args.op != "all").then(|| args.op.clone()),
        order: match args.ring {
            RingName::Best => RankOrder::Best,
            RingName::Ranks => RankOrder::AsGiven,
        },
    };
    let found = samples(&measurements, graph, &config).map_err(|error| in_file(&error, args))?;
    check(&found, &measurements)?;
    bar.inc(1);
    bar.set_message("fit");
    let config = fit_config(args, machine, config.tiers, &found);
    let fit = fitted(&found.samples, &config).map_err(|error| hinted(&error, args))?;
    bar.inc(1);
    bar.set_message("validation");
    let validations = validations(args, &found, &config)?;
    bar.inc(1);
    let rings = rings(&fit, &found);
    let notes = notes(args, &measurements, &found, &fit);
    let mut written = Vec::new();
    let wrong =
        |path: &std::path::Path, error: io::Error| Failure::malformed(format_args!("{}: {error}", path.display()));
    if let Some(file) = &args.output {
        fs::write(file, write_model(fit.model())).map_err(|error| wrong(file, error))?;
        written.push(file.display().to_string());
    }
    if let Some(folder) = &args.plot {
        bar.set_message("plots");
        fs::create_dir_all(folder).map_err(|error| wrong(folder, error))?;
        let title = format!("{}, {machine}, {}", args.name, method_name(args));
        for (name, picture) in Plots::of(&fit, &title, &rings) {
            let file = folder.join(name);
            fs::write(&file, picture).map_err(|error| wrong(&file, error))?;
            written.push(file.display().to_string());
        }
    }
    let order = fit.order();
    Ok(Answer { machine: machine.to_owned(), found, fit, rings, order, validations, notes, written })
}

/// That there is something to fit.
fn check(found: &Samples, measurements: &[Measurement]) -> Result<(), Failure> {
    if found.samples.is_empty() {
        let ops: BTreeSet<&str> = measurements.iter().filter_map(|run| run.op.as_deref()).collect();
        let ops = Vec::from_iter(ops).join(", ");
        let told = if ops.is_empty() { ops } else { format!(" (collectives measured: {ops}; see --op)") };
        return Err(Failure::malformed(format_args!("no samples: {}{told}", left_out(found).join("; "))));
    }
    if found.samples.iter().all(|sample| sample.gbps == 0.0) {
        let of = found.samples.len();
        return Err(Failure::malformed(format_args!("all {of} samples are of 0 GB/s: expected what was measured")));
    }
    Ok(())
}

/// Each reason once, with the first measurement that was left out for it.
fn left_out(found: &Samples) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (label, why) in &found.left_out {
        reasons.entry(why).or_default().push(label);
    }
    let told = |(why, labels): (&str, Vec<&str>)| {
        let others = if labels.len() > 1 { format!(" and {} more", labels.len() - 1) } else { String::new() };
        format!("{}{others}: {why}", labels[0])
    };
    reasons.into_iter().map(told).collect()
}

/// The ring of each row: rows are the samples in another order, equal ones in the order in which they were found.
fn rings(fit: &Fit, found: &Samples) -> Vec<Vec<DeviceId>> {
    let mut left: Vec<usize> = (0..found.samples.len()).collect();
    let mut ring = |row: &mapa_regress::Row| {
        let at = left.iter().position(|&at| found.samples[at] == row.sample)?;
        Some(found.rings[left.remove(at)].clone())
    };
    fit.rows().iter().map(|row| ring(row).unwrap_or_default()).collect()
}

/// With the file before the measurement at fault: where there are several, its label begins with it.
fn in_file(error: &Error, args: &FitArgs) -> Failure {
    match &args.measurements[..] {
        [file] if error.sample().is_some() => Failure::malformed(format_args!("{file}: {error}")),
        _ => Failure::malformed(error),
    }
}

fn method_name(args: &FitArgs) -> String {
    args.method.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The measurements of all files; where there are several, labels begin with the file.
fn read_all(files: &[String], bar: &ProgressBar) -> Result<Vec<Measurement>, Failure> {
    let mut all = Vec::new();
    for file in files {
        bar.set_message(file.clone());
        let wrong = |error: &dyn std::fmt::Display| Failure::malformed(format_args!("{file}: {error}"));
        let mut bytes = Vec::new();
        if file == "-" {
            io::stdin().read_to_end(&mut bytes).map_err(|error| wrong(&error))?;
        } else {
            bytes = fs::read(file).map_err(|error| wrong(&error))?;
        }
        let text = String::from_utf8(bytes).map_err(|error| wrong(&error))?;
        let mut runs = read_measurements(&text).map_err(|error| wrong(&error))?;
        if files.len() > 1 {
            runs.iter_mut().for_each(|run| run.label = format!("{file}, {}", run.label));
        }
        all.append(&mut runs);
        bar.inc(1);
    }
    Ok(all)
}

fn tiers(words: &[String]) -> Result<Tiers, Failure> {
    let class = |word: &String| Labels::default().parse(word.trim()).map_err(Failure::malformed);
    let least: Vec<LinkClass> =
        words.iter().filter(|word| !word.trim().is_empty()).map(class).collect::<Result<_, _>>()?;
    Ok(Tiers::new(&least)?)
}

fn fit_config(args: &FitArgs, machine: &str, tiers: Tiers, found: &Samples) -> FitConfig {
    let method = match args.method {
        MethodName::LeastSquares => Method::LeastSquares,
        MethodName::Ridge => Method::Ridge(args.lambda.unwrap_or_default()),
        MethodName::Nnls => Method::NonNegative,
        MethodName::Monotone => Method::Monotone,
    };
    let terms = match args.terms {
        Terms::Eq2 => Term::eq_2(tiers.len()),
        Terms::Linear => Term::linear(tiers.len()),
    };
    let source = format!("{} samples measured on {machine}", found.samples.len());
    let classes = found.classes.clone();
    let allow_rank_deficient = args.allow_rank_deficient;
    FitConfig { method, terms, source, classes, allow_rank_deficient, ..FitConfig::new(args.name.clone(), tiers) }
}

/// What is wrong, and which options would help.
fn hinted(error: &Error, args: &FitArgs) -> Failure {
    if !error.is_rank_deficient() {
        return in_file(error, args);
    }
    let linear = if matches!(args.terms, Terms::Eq2) { "--terms linear, " } else { "" };
    Failure::malformed(format_args!("{error} (options: {linear}--method ridge --lambda L, --allow-rank-deficient)"))
}

type Validations = Vec<(String, Result<Validation, String>)>;

/// In as many parts as there are distinct link counts, at most. With a number of parts that was asked for, whatever is wrong
/// is an error; else it is told.
fn validations(args: &FitArgs, found: &Samples, config: &FitConfig) -> Result<Validations, Failure> {
    let distinct = found.samples.iter().map(|sample| sample.links).collect::<BTreeSet<_>>().len();
    let folds = args.folds.unwrap_or(5).min(distinct.max(2));
    if args.folds.is_some() {
        let validation = k_fold(&found.samples, config, folds).map_err(Failure::malformed)?;
        return Ok(vec![(format!("{folds} parts"), Ok(validation))]);
    }
    let told = |result: Result<Validation, Error>| result.map_err(|error| error.to_string());
    let parts = (format!("{folds} parts"), told(k_fold(&found.samples, config, folds)));
    Ok(vec![parts, ("each size".to_owned(), told(leave_one_size_out(&found.samples, config)))])
}

fn notes(args: &FitArgs, measurements: &[Measurement], found: &Samples, fit: &Fit) -> Vec<String> {
    let mut notes = Vec::new();
    let small = measurements.iter().filter(|run| run.largest_bytes().is_some_and(|bytes| bytes < LARGE));
    if let Some(run) = small.into_iter().next() {
        notes.push(format!(
            "{}: its largest message is below 1 MB, so that it tells latency rather than bandwidth",
            run.label
        ));
    }
    if found.by_number {
        let what = "devices were found by number, as the machine's description has no PCI addresses";
        notes.push(format!("{what}: numbers count within CUDA_VISIBLE_DEVICES"));
    }
    if args.op != "all" {
        notes.extend(contradictions(found));
    }
    let design = fit.design();
    if design.rank() < design.columns() {
        notes.push(format!(
            "the samples decide {} of {} coefficients: these are those of least norm, or what a ridge or bounds chose",
            design.rank(),
            design.columns()
        ));
    }
    notes
}

/// Sets of devices that were measured twice, and not alike: the lowest and the highest of each.
fn contradictions(found: &Samples) -> Vec<String> {
    let mut sets: BTreeMap<BTreeSet<DeviceId>, Vec<&mapa_regress::Sample>> = BTreeMap::new();
    for (sample, ring) in found.samples.iter().zip(&found.rings) {
        sets.entry(ring.iter().copied().collect()).or_default().push(sample);
    }
    let told = |(set, mut of): (BTreeSet<DeviceId>, Vec<&mapa_regress::Sample>)| {
        of.sort_by(|a, b| a.gbps.total_cmp(&b.gbps));
        let (low, high) = (of.first()?, of.last()?);
        (high.gbps > (1.0 + REPEATS) * low.gbps).then(|| {
            let set = ids(&Vec::from_iter(set));
            format!("devices {set}: {} measured {:.2} GB/s, {} {:.2}", high.label, high.gbps, low.label, low.gbps)
        })
    };
    sets.into_iter().filter_map(told).collect()
}

impl Answer {
    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let model = self.fit.model();
        output.line(format_args!("machine   {}", self.machine))?;
        output.line(format_args!("model     {}, {} samples", model.name(), self.found.samples.len()))?;
        left_out(&self.found).iter().try_for_each(|why| output.line(format_args!("left out  {why}")))?;
        for note in &self.notes {
            output.line(format_args!("note      {note}"))?;
        }
        output.line("")?;
        output.line(self.samples())?;
        output.line("GB/s; leverage: how much of a prediction hangs on its own measurement.")?;
        output.line("")?;
        let mut rows = table(["term", "coefficient"], [1]);
        for (term, coefficient) in model.terms() {
            rows.add_row([term.label(model.tiers()), format!("{coefficient:.6}")]);
        }
        output.line(rows)?;
        output.line("")?;
        let design = self.fit.design();
        let rank = format_args!("rank {} of {}", design.rank(), design.columns());
        output.line(format_args!("design    {rank}, condition {:.1}", design.condition()))?;
        output.line("")?;
        output.line(self.ordering())?;
        output.line("")?;
        output.line(self.errors())?;
        output.line("\"Paper's\" are the figures under its names: |r|² / |b|², and |r| / N for RMSE.")?;
        for (name, why) in self.validations.iter().filter_map(|(name, result)| Some((name, result.as_ref().err()?))) {
            output.line(format_args!("not held out, {name}: {why}"))?;
        }
        for (name, validation) in
            self.validations.iter().filter_map(|(name, result)| Some((name, result.as_ref().ok()?)))
        {
            for part in &validation.not_held_out {
                output.line(format_args!("not held out, {name}: {}: without them, {}", part.name, part.why))?;
            }
        }
        self.written.iter().try_for_each(|file| output.line(format_args!("written   {file}")))
    }

    /// Whether an allocator would choose as was measured.
    fn ordering(&self) -> String {
        let Order { pairs, misordered, .. } = &self.order;
        if *pairs == 0 {
            return "order     no two samples of equal size differ by more than 5 %".to_owned();
        }
        let Some(worst) = misordered.first() else {
            return format!("order     all {pairs} pairs of equal size as measured");
        };
        let [higher, lower] = [worst.higher, worst.lower].map(|at| {
            let sample = &self.fit.rows()[at].sample;
            format!("{} ({})", sample.label, sample.gbps)
        });
        let verdict = if worst.tied { "rated like" } else { "rated below" };
        let wrong = misordered.len();
        format!("order     {wrong} of {pairs} pairs of equal size wrongly: {higher} is {verdict} {lower}")
    }

    fn samples(&self) -> comfy_table::Table {
        let tiers = self.fit.model().tiers();
        let names = tiers.names();
        let header = ["sample", "devices", "ranks"].into_iter().chain(names.iter().map(String::as_str));
        let header: Vec<&str> = header.chain(["measured", "predicted", "residual", "leverage"]).collect();
        let mut rows = table(header.iter().copied(), 2..header.len());
        for (row, ring) in self.fit.rows().iter().zip(&self.rings) {
            let sample = &row.sample;
            let mut cells = vec![sample.label.clone(), ids(ring), sample.ranks.to_string()];
            cells.extend((0..tiers.len()).map(|tier| sample.links.count(tier).to_string()));
            cells.extend([sample.gbps, row.predicted, row.residual].map(|gbps| format!("{gbps:.2}")));
            cells.push(format!("{:.3}", row.leverage));
            rows.add_row(cells);
        }
        rows
    }

    fn errors(&self) -> comfy_table::Table {
        let header =
            ["errors, GB/s", "RMSE", "MAE", "largest", "R²", "paper's relative", "paper's RMSE", "paper's MAE"];
        let mut rows = table(header, 1..header.len());
        let mut row = |name: String, errors: &Errors| {
            let r_squared = errors.r_squared.map_or("-".to_owned(), |value| format!("{value:.4}"));
            let mut cells = vec![name];
            cells.extend([errors.rmse, errors.mae, errors.max].map(|gbps| format!("{gbps:.4}")));
            cells.push(r_squared);
            let published = &errors.published;
            cells.extend([published.relative, published.rmse, published.mae].map(|value| format!("{value:.4}")));
            rows.add_row(cells);
        };
        row("on the samples".to_owned(), self.fit.errors());
        for (name, validation) in &self.validations {
            if let Ok(validation) = validation {
                row(format!("held out, {name}"), &validation.errors);
            }
        }
        rows
    }

    fn json(&self) -> Value {
        let model = self.fit.model();
        let tiers = model.tiers().names();
        let terms: Vec<Value> = model
            .terms()
            .iter()
            .map(|(term, coefficient)| json!({ "term": term.label(model.tiers()), "coefficient": coefficient }))
            .collect();
        let sample = |(row, ring): (&mapa_regress::Row, &Vec<DeviceId>)| {
            let links: Map<String, Value> = tiers
                .iter()
                .enumerate()
                .map(|(tier, name)| (name.clone(), json!(row.sample.links.count(tier))))
                .collect();
            json!({
                "label": row.sample.label, "devices": ring.iter().map(|id| id.0).collect::<Vec<_>>(),
                "ranks": row.sample.ranks, "links": links, "gbps": row.sample.gbps,
                "predicted": row.predicted, "residual": row.residual, "leverage": row.leverage,
            })
        };
        let validation = |(name, result): &(String, Result<Validation, String>)| match result {
            Ok(validation) => {
                let folds = validation
                    .folds
                    .iter()
                    .map(|fold| json!({ "held_out": fold.name, "errors": errors_json(&fold.errors) }));
                let open =
                    validation.not_held_out.iter().map(|part| json!({ "held_out": part.name, "reason": part.why }));
                json!({
                    "by": name, "errors": errors_json(&validation.errors), "folds": folds.collect::<Vec<_>>(),
                    "not_held_out": open.collect::<Vec<_>>(),
                })
            }
            Err(why) => json!({ "by": name, "errors": null, "reason": why }),
        };
        let left_out = |(label, why): &(String, String)| json!({ "label": label, "reason": why });
        let design = self.fit.design();
        let label = |at: usize| &self.fit.rows()[at].sample.label;
        let misordered = |pair: &Misordered| {
            let gbps = [pair.higher, pair.lower].map(|at| self.fit.rows()[at].sample.gbps);
            let predicted = [pair.higher, pair.lower].map(|at| self.fit.rows()[at].predicted);
            let samples = [label(pair.higher), label(pair.lower)];
            json!({ "samples": samples, "gbps": gbps, "predicted": predicted, "tied": pair.tied })
        };
        json!({
            "machine": self.machine,
            "model": { "name": model.name(), "tiers": tiers, "terms": terms },
            "samples": self.fit.rows().iter().zip(&self.rings).map(sample).collect::<Vec<_>>(),
            "compared_pairs": self.order.pairs,
            "misordered": self.order.misordered.iter().map(misordered).collect::<Vec<_>>(),
            "errors": errors_json(self.fit.errors()),
            "design": { "rank": design.rank(), "terms": design.columns(), "condition": design.condition(), "singular_values": design.singular_values() },
            "validation": self.validations.iter().map(validation).collect::<Vec<_>>(),
            "left_out": self.found.left_out.iter().map(left_out).collect::<Vec<_>>(),
            "notes": self.notes, "written": self.written,
        })
    }
}

fn errors_json(errors: &Errors) -> Value {
    let published = &errors.published;
    json!({
        "samples": errors.samples, "rmse": errors.rmse, "mae": errors.mae, "max": errors.max,
        "relative": errors.relative, "r_squared": errors.r_squared,
        "published": { "relative": published.relative, "rmse": published.rmse, "mae": published.mae },
    })
}
