//! `fit`: from measurements to a model of bandwidth, with all that says how far to trust it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mapa_core::{HardwareGraph, LinkClass, Term, Tiers};
use mapa_regress::{
    Column, Error, Errors, Fit, FitConfig, Measurement, Method, RankOrder, SampleConfig, Samples, Validation,
    fit as fitted, k_fold, leave_one_size_out, read_measurements, samples, write_model,
};
use mapa_topologies::Labels;
use serde_json::{Map, Value, json};

use crate::cli::{ColumnName, FitArgs, MethodName, RingName, Terms};
use crate::failure::Failure;
use crate::machine::load;
use crate::output::{Output, table};
use crate::plots::Plots;

/// Below it, what is measured is latency (the paper's Fig. 2a: links differ above 1e5 bytes).
const LARGE: u64 = 1_000_000;

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
    validations: Vec<(String, Result<Validation, String>)>,
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
    let found = samples(&measurements, graph, &config).map_err(Failure::malformed)?;
    if found.samples.is_empty() {
        let why: Vec<String> = found.left_out.iter().map(|(label, why)| format!("{label}: {why}")).collect();
        return Err(Failure::malformed(format_args!("no samples: {}", why.join("; "))));
    }
    bar.inc(1);
    bar.set_message("fit");
    let config = fit_config(args, machine, config.tiers, &found);
    let fit = fitted(&found.samples, &config).map_err(|error| hinted(&error, args))?;
    bar.inc(1);
    bar.set_message("validation");
    let validations = validations(args, &found, &config)?;
    bar.inc(1);
    let notes = notes(&measurements, &found, &fit);
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
        for (name, picture) in Plots::of(&fit) {
            let file = folder.join(name);
            fs::write(&file, picture).map_err(|error| wrong(&file, error))?;
            written.push(file.display().to_string());
        }
    }
    Ok(Answer { machine: machine.to_owned(), found, fit, validations, notes, written })
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
        return Failure::malformed(error);
    }
    let linear = if matches!(args.terms, Terms::Eq2) { "--terms linear, " } else { "" };
    Failure::malformed(format_args!("{error} (options: {linear}--method ridge --lambda L, --allow-rank-deficient)"))
}

type Validations = Vec<(String, Result<Validation, String>)>;

/// With a number of folds that was asked for, whatever is wrong is an error; else it is told.
fn validations(args: &FitArgs, found: &Samples, config: &FitConfig) -> Result<Validations, Failure> {
    if let Some(folds) = args.folds {
        let validation = k_fold(&found.samples, config, folds).map_err(Failure::malformed)?;
        return Ok(vec![(format!("{folds} parts"), Ok(validation))]);
    }
    let told = |result: Result<Validation, Error>| result.map_err(|error| error.to_string());
    let parts = ("5 parts".to_owned(), told(k_fold(&found.samples, config, 5)));
    Ok(vec![parts, ("each size".to_owned(), told(leave_one_size_out(&found.samples, config)))])
}

fn notes(measurements: &[Measurement], found: &Samples, fit: &Fit) -> Vec<String> {
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

impl Answer {
    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let model = self.fit.model();
        output.line(format_args!("machine   {}", self.machine))?;
        output.line(format_args!("model     {}, {} samples", model.name(), self.found.samples.len()))?;
        let mut left_out: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (label, why) in &self.found.left_out {
            left_out.entry(why).or_default().push(label);
        }
        for (why, labels) in left_out {
            let others = if labels.len() > 1 { format!(" and {} more", labels.len() - 1) } else { String::new() };
            output.line(format_args!("left out  {}{others}: {why}", labels[0]))?;
        }
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
        output.line(self.errors())?;
        output.line("\"Paper's\" are the figures under its names: |r|² / |b|², and |r| / N for RMSE.")?;
        for (name, why) in self.validations.iter().filter_map(|(name, result)| Some((name, result.as_ref().err()?))) {
            output.line(format_args!("not held out, {name}: {why}"))?;
        }
        self.written.iter().try_for_each(|file| output.line(format_args!("written   {file}")))
    }

    fn samples(&self) -> comfy_table::Table {
        let tiers = self.fit.model().tiers();
        let names = tiers.names();
        let header = ["sample", "ranks"].into_iter().chain(names.iter().map(String::as_str));
        let header: Vec<&str> = header.chain(["measured", "predicted", "residual", "leverage"]).collect();
        let mut rows = table(header.iter().copied(), 1..header.len());
        for row in self.fit.rows() {
            let sample = &row.sample;
            let mut cells = vec![sample.label.clone(), sample.ranks.to_string()];
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
        let sample = |row: &mapa_regress::Row| {
            let links: Map<String, Value> = tiers
                .iter()
                .enumerate()
                .map(|(tier, name)| (name.clone(), json!(row.sample.links.count(tier))))
                .collect();
            json!({
                "label": row.sample.label, "ranks": row.sample.ranks, "links": links, "gbps": row.sample.gbps,
                "predicted": row.predicted, "residual": row.residual, "leverage": row.leverage,
            })
        };
        let validation = |(name, result): &(String, Result<Validation, String>)| match result {
            Ok(validation) => {
                let folds = validation
                    .folds
                    .iter()
                    .map(|fold| json!({ "held_out": fold.name, "errors": errors_json(&fold.errors) }));
                json!({ "by": name, "errors": errors_json(&validation.errors), "folds": folds.collect::<Vec<_>>() })
            }
            Err(why) => json!({ "by": name, "errors": null, "reason": why }),
        };
        let left_out = |(label, why): &(String, String)| json!({ "label": label, "reason": why });
        let design = self.fit.design();
        json!({
            "machine": self.machine,
            "model": { "name": model.name(), "tiers": tiers, "terms": terms },
            "samples": self.fit.rows().iter().map(sample).collect::<Vec<_>>(),
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
