//! `fit`: a model of bandwidth from measurements, with its errors and validations.

use std::collections::{BTreeMap, BTreeSet};

use indicatif::ProgressBar;
use mapa_core::{DeviceId, HardwareGraph, LinkClass, Term, Tiers};
use mapa_regress::{
    Column, Error, Errors, Fit, FitConfig, Measurement, Method, Order, RankOrder, SampleConfig,
    Samples, Validation, fit as fitted, k_fold, leave_one_size_out, read_measurements, samples,
    write_model,
};
use mapa_topologies::Labels;
use serde_json::{Map, Value, json};

use crate::cli::{ColumnName, FitArgs, MethodName, RingName, Terms};
use crate::failure::Failure;
use crate::features;
use crate::files::{text, write};
use crate::machine::load;
use crate::output::{Output, progress};
use mapa_front::answer::id_list;
use mapa_front::text::table;

/// Runs whose largest message is smaller measure latency (the paper's Fig. 2a: links differ above
/// 1e5 bytes).
const LARGE: u64 = 1_000_000;

/// The largest difference between repetitions, relative to the lower. A larger one is noted.
const REPEATS: f64 = 0.1;

pub(crate) fn fit(args: &FitArgs, output: &mut Output) -> Result<(), Failure> {
    if args.lambda.is_some() && args.method != MethodName::Ridge {
        return Err(Failure::malformed(
            "--lambda is for --method ridge: expected that method, or no --lambda",
        ));
    }
    if args.plot.is_some() {
        features::require("plots", "--plot")?;
    }
    let loaded = load(&args.machine, output)?;
    let graph = loaded.graph();
    let steps = args.measurements.len() + 4;
    let bar = progress(steps, "{bar:30} {pos}/{len} {msg}", output)?;
    let answer = work(args, &loaded.machine.name, graph, &bar);
    bar.finish_and_clear();
    let answer = answer?;
    if output.json {
        output.object(&answer.json())
    } else {
        answer.print(output)
    }
}

/// A fitted model, and how far to trust it.
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

/// Reads the measurements, fits and validates the model, and writes the files.
fn work(
    args: &FitArgs,
    machine: &str,
    graph: &HardwareGraph,
    bar: &ProgressBar,
) -> Result<Answer, Failure> {
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
    if let Some(file) = &args.output {
        write(file, write_model(fit.model()))?;
        written.push(file.display().to_string());
    }
    #[cfg(feature = "plots")]
    if let Some(folder) = &args.plot {
        bar.set_message("plots");
        crate::files::make_folder(folder)?;
        let title = format!("{}, {machine}, {}", args.name, method_name(args));
        for (name, picture) in crate::plots::Plots::of(&fit, &title, &rings) {
            let file = folder.join(name);
            write(&file, picture)?;
            written.push(file.display().to_string());
        }
    }
    let order = fit.order();
    Ok(Answer {
        machine: machine.to_owned(),
        found,
        fit,
        rings,
        order,
        validations,
        notes,
        written,
    })
}

/// Checks that there is something to fit.
fn check(found: &Samples, measurements: &[Measurement]) -> Result<(), Failure> {
    if found.samples.is_empty() {
        let ops: BTreeSet<&str> = measurements
            .iter()
            .filter_map(|run| run.op.as_deref())
            .collect();
        let ops = Vec::from_iter(ops).join(", ");
        let hint = if ops.is_empty() {
            ops
        } else {
            format!(" (collectives measured: {ops}; see --op)")
        };
        return Err(Failure::malformed(format_args!(
            "no samples: {}{hint}",
            left_out(found).join("; ")
        )));
    }
    if found.samples.iter().all(|sample| sample.gbps == 0.0) {
        let of = found.samples.len();
        return Err(Failure::malformed(format_args!(
            "all {of} samples are 0 GB/s: expected measured bandwidths"
        )));
    }
    Ok(())
}

/// Each reason for which measurements were left out, with the first of these.
fn left_out(found: &Samples) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (label, why) in &found.left_out {
        reasons.entry(why).or_default().push(label);
    }
    let mut lines = Vec::new();
    for (why, labels) in reasons {
        let others = if labels.len() > 1 {
            format!(" and {} more", labels.len() - 1)
        } else {
            String::new()
        };
        lines.push(format!("{}{others}: {why}", labels[0]));
    }
    lines
}

/// The ring of each row of the fit. Rows are the samples in another order; equal samples keep their
/// order, so each row takes the first equal sample that is left.
fn rings(fit: &Fit, found: &Samples) -> Vec<Vec<DeviceId>> {
    let mut left: Vec<usize> = (0..found.samples.len()).collect();
    let mut rings = Vec::new();
    for row in fit.rows() {
        let place = left.iter().position(|&at| found.samples[at] == row.sample);
        rings.push(place.map_or_else(Vec::new, |place| found.rings[left.remove(place)].clone()));
    }
    rings
}

/// An error about a measurement, with its file in front. With several files, the measurement's
/// label starts with the file already.
fn in_file(error: &Error, args: &FitArgs) -> Failure {
    match &args.measurements[..] {
        [file] if error.sample().is_some() => Failure::at(file, error),
        _ => Failure::malformed(error),
    }
}

#[cfg(feature = "plots")]
fn method_name(args: &FitArgs) -> String {
    clap::ValueEnum::to_possible_value(&args.method)
        .map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The measurements of all files. With several files, labels start with the file.
fn read_all(files: &[String], bar: &ProgressBar) -> Result<Vec<Measurement>, Failure> {
    let mut all = Vec::new();
    for file in files {
        bar.set_message(file.clone());
        let mut runs = read_measurements(&text(file)?).map_err(|error| Failure::at(file, error))?;
        if files.len() > 1 {
            for run in &mut runs {
                run.label = format!("{file}, {}", run.label);
            }
        }
        all.append(&mut runs);
        bar.inc(1);
    }
    Ok(all)
}

fn tiers(words: &[String]) -> Result<Tiers, Failure> {
    let mut worst: Vec<LinkClass> = Vec::new();
    for word in words.iter().map(|word| word.trim()) {
        if !word.is_empty() {
            worst.push(Labels::default().parse(word).map_err(Failure::malformed)?);
        }
    }
    Ok(Tiers::new(&worst)?)
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
    FitConfig {
        method,
        terms,
        source,
        classes,
        allow_rank_deficient,
        ..FitConfig::new(args.name.clone(), tiers)
    }
}

/// An error of the fit, with the options that help against it.
fn hinted(error: &Error, args: &FitArgs) -> Failure {
    if !error.is_rank_deficient() {
        return in_file(error, args);
    }
    let linear = if matches!(args.terms, Terms::Eq2) {
        "--terms linear, "
    } else {
        ""
    };
    Failure::malformed(format_args!(
        "{error} (options: {linear}--method ridge --lambda L, --allow-rank-deficient)"
    ))
}

type Validations = Vec<(String, Result<Validation, String>)>;

/// Validates the fit by holding out parts of the samples, at most as many parts as there are
/// distinct link counts. With `--folds`, a failed validation is an error; without, it is printed.
fn validations(
    args: &FitArgs,
    found: &Samples,
    config: &FitConfig,
) -> Result<Validations, Failure> {
    let distinct = found
        .samples
        .iter()
        .map(|sample| sample.links)
        .collect::<BTreeSet<_>>()
        .len();
    let folds = args.folds.unwrap_or(5).min(distinct.max(2));
    if args.folds.is_some() {
        let validation = k_fold(&found.samples, config, folds).map_err(Failure::malformed)?;
        return Ok(vec![(format!("{folds} parts"), Ok(validation))]);
    }
    let parts = k_fold(&found.samples, config, folds);
    let sizes = leave_one_size_out(&found.samples, config);
    Ok(vec![
        (
            format!("{folds} parts"),
            parts.map_err(|error| error.to_string()),
        ),
        (
            "each size".to_owned(),
            sizes.map_err(|error| error.to_string()),
        ),
    ])
}

/// Reasons to doubt the model.
fn notes(args: &FitArgs, measurements: &[Measurement], found: &Samples, fit: &Fit) -> Vec<String> {
    let mut notes = Vec::new();
    let small = measurements
        .iter()
        .find(|run| run.largest_bytes().is_some_and(|bytes| bytes < LARGE));
    if let Some(run) = small {
        notes.push(format!(
            "{}: its largest message is below 1 MB, so it measures latency rather than bandwidth",
            run.label
        ));
    }
    if found.by_number {
        notes.push(
            "devices are matched by number, as the machine's description has no PCI addresses: numbers count within \
             CUDA_VISIBLE_DEVICES"
                .to_owned(),
        );
    }
    if args.op != "all" {
        notes.extend(contradictions(found));
    }
    let design = fit.design();
    if design.rank() < design.columns() {
        notes.push(format!(
            "the samples determine {} of {} coefficients: the others are of least norm, or chosen by the ridge or the \
             bounds",
            design.rank(),
            design.columns()
        ));
    }
    notes
}

/// Sets of devices whose repeated measurements differ: the lowest and the highest of each.
fn contradictions(found: &Samples) -> Vec<String> {
    let mut sets: BTreeMap<BTreeSet<DeviceId>, Vec<&mapa_regress::Sample>> = BTreeMap::new();
    for (sample, ring) in found.samples.iter().zip(&found.rings) {
        sets.entry(ring.iter().copied().collect())
            .or_default()
            .push(sample);
    }
    let mut notes = Vec::new();
    for (set, mut samples) in sets {
        samples.sort_by(|a, b| a.gbps.total_cmp(&b.gbps));
        let (Some(low), Some(high)) = (samples.first(), samples.last()) else {
            continue;
        };
        if high.gbps > (1.0 + REPEATS) * low.gbps {
            notes.push(format!(
                "devices {}: {} measured {:.2} GB/s, {} {:.2}",
                id_list(&Vec::from_iter(set)),
                high.label,
                high.gbps,
                low.label,
                low.gbps
            ));
        }
    }
    notes
}

impl Answer {
    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let model = self.fit.model();
        output.line(format_args!("machine   {}", self.machine))?;
        output.line(format_args!(
            "model     {}, {} samples",
            model.name(),
            self.found.samples.len()
        ))?;
        for why in left_out(&self.found) {
            output.line(format_args!("left out  {why}"))?;
        }
        for note in &self.notes {
            output.line(format_args!("note      {note}"))?;
        }
        output.line("")?;
        output.line(self.samples())?;
        output.line(
            "Bandwidths in GB/s. Leverage: the weight of a measurement in its own prediction.",
        )?;
        output.line("")?;
        let mut rows = table(["term", "coefficient"], [1]);
        for (term, coefficient) in model.terms() {
            rows.add_row([term.label(model.tiers()), format!("{coefficient:.6}")]);
        }
        output.line(rows)?;
        output.line("")?;
        let design = self.fit.design();
        let rank = format_args!("rank {} of {}", design.rank(), design.columns());
        output.line(format_args!(
            "design    {rank}, condition {:.1}",
            design.condition()
        ))?;
        output.line("")?;
        output.line(self.ordering())?;
        output.line("")?;
        output.line(self.errors())?;
        output.line(
            "\"Paper's\" columns are computed as the paper does: |r|² / |b|², and |r| / N for RMSE.",
        )?;
        for (name, result) in &self.validations {
            if let Err(why) = result {
                output.line(format_args!("not held out, {name}: {why}"))?;
            }
        }
        for (name, result) in &self.validations {
            for part in result.iter().flat_map(|own| &own.not_held_out) {
                output.line(format_args!(
                    "not held out, {name}: {}: without them, {}",
                    part.name, part.why
                ))?;
            }
        }
        self.written
            .iter()
            .try_for_each(|file| output.line(format_args!("written   {file}")))
    }

    /// Whether the predictions rank the samples as the measurements do. An allocator depends on the
    /// ranking alone.
    fn ordering(&self) -> String {
        let Order {
            pairs, misordered, ..
        } = &self.order;
        if *pairs == 0 {
            return "order     no two samples of equal size differ by more than 5 %".to_owned();
        }
        let Some(worst) = misordered.first() else {
            return format!("order     all {pairs} pairs of equal size are ranked as measured");
        };
        let [higher, lower] = [worst.higher, worst.lower].map(|at| {
            let sample = &self.fit.rows()[at].sample;
            format!("{} ({})", sample.label, sample.gbps)
        });
        let verdict = if worst.tied {
            "rated like"
        } else {
            "rated below"
        };
        let wrong = misordered.len();
        format!(
            "order     {wrong} of {pairs} pairs of equal size are misordered: {higher} is {verdict} {lower}"
        )
    }

    fn samples(&self) -> comfy_table::Table {
        let tiers = self.fit.model().tiers();
        let names = tiers.names();
        let header = ["sample", "devices", "ranks"]
            .into_iter()
            .chain(names.iter().map(String::as_str));
        let header: Vec<&str> = header
            .chain(["measured", "predicted", "residual", "leverage"])
            .collect();
        let mut rows = table(header.iter().copied(), 2..header.len());
        for (row, ring) in self.fit.rows().iter().zip(&self.rings) {
            let sample = &row.sample;
            let mut cells = vec![
                sample.label.clone(),
                id_list(ring),
                sample.ranks.to_string(),
            ];
            cells.extend((0..tiers.len()).map(|tier| sample.links.count(tier).to_string()));
            cells.extend(
                [sample.gbps, row.predicted, row.residual].map(|gbps| format!("{gbps:.2}")),
            );
            cells.push(format!("{:.3}", row.leverage));
            rows.add_row(cells);
        }
        rows
    }

    fn errors(&self) -> comfy_table::Table {
        let header = [
            "errors, GB/s",
            "RMSE",
            "MAE",
            "largest",
            "R²",
            "paper's relative",
            "paper's RMSE",
            "paper's MAE",
        ];
        let mut rows = table(header, 1..header.len());
        let mut row = |name: String, errors: &Errors| {
            let r_squared = errors
                .r_squared
                .map_or("-".to_owned(), |value| format!("{value:.4}"));
            let mut cells = vec![name];
            cells.extend([errors.rmse, errors.mae, errors.max].map(|gbps| format!("{gbps:.4}")));
            cells.push(r_squared);
            let published = &errors.published;
            cells.extend(
                [published.relative, published.rmse, published.mae]
                    .map(|value| format!("{value:.4}")),
            );
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
        let mut samples = Vec::new();
        for (row, ring) in self.fit.rows().iter().zip(&self.rings) {
            let links: Map<String, Value> = tiers
                .iter()
                .enumerate()
                .map(|(tier, name)| (name.clone(), json!(row.sample.links.count(tier))))
                .collect();
            samples.push(json!({
                "label": row.sample.label, "devices": ring.iter().map(|id| id.0).collect::<Vec<_>>(),
                "ranks": row.sample.ranks, "links": links, "gbps": row.sample.gbps,
                "predicted": row.predicted, "residual": row.residual, "leverage": row.leverage,
            }));
        }
        let mut misordered = Vec::new();
        for pair in &self.order.misordered {
            let rows = [pair.higher, pair.lower].map(|at| &self.fit.rows()[at]);
            misordered.push(json!({
                "samples": rows.map(|row| &row.sample.label), "gbps": rows.map(|row| row.sample.gbps),
                "predicted": rows.map(|row| row.predicted), "tied": pair.tied,
            }));
        }
        let design = self.fit.design();
        let left_out = self
            .found
            .left_out
            .iter()
            .map(|(label, why)| json!({ "label": label, "reason": why }));
        json!({
            "machine": self.machine,
            "model": { "name": model.name(), "tiers": tiers, "terms": terms },
            "samples": samples,
            "compared_pairs": self.order.pairs,
            "misordered": misordered,
            "errors": errors_json(self.fit.errors()),
            "design": { "rank": design.rank(), "terms": design.columns(), "condition": design.condition(), "singular_values": design.singular_values() },
            "validation": self.validations.iter().map(validation_json).collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
            "notes": self.notes, "written": self.written,
        })
    }
}

fn validation_json((name, result): &(String, Result<Validation, String>)) -> Value {
    let validation = match result {
        Ok(validation) => validation,
        Err(why) => return json!({ "by": name, "errors": null, "reason": why }),
    };
    let folds = validation
        .folds
        .iter()
        .map(|fold| json!({ "held_out": fold.name, "errors": errors_json(&fold.errors) }));
    let open = validation
        .not_held_out
        .iter()
        .map(|part| json!({ "held_out": part.name, "reason": part.why }));
    json!({
        "by": name, "errors": errors_json(&validation.errors), "folds": folds.collect::<Vec<_>>(),
        "not_held_out": open.collect::<Vec<_>>(),
    })
}

fn errors_json(errors: &Errors) -> Value {
    let published = &errors.published;
    json!({
        "samples": errors.samples, "rmse": errors.rmse, "mae": errors.mae, "max": errors.max,
        "relative": errors.relative, "r_squared": errors.r_squared,
        "published": { "relative": published.relative, "rmse": published.rmse, "mae": published.mae },
    })
}
