//! `fit`: a model of bandwidth from measurements, with its errors and validations.

use std::collections::BTreeSet;

use indicatif::ProgressBar;
use mapa_core::{DeviceId, HardwareGraph, LinkClass, Term, Tiers};
use mapa_front::answer::fit as answer;
use mapa_regress::{
    Column, Error, Errors, Fit, FitConfig, Measurement, Method, Order, RankOrder, SampleConfig,
    Samples, fit as fitted, k_fold, leave_one_size_out, read_measurements, samples, write_model,
};
use mapa_topologies::Labels;

use crate::cli::{ColumnName, FitArgs, MethodName, RingName, Terms};
use crate::features;
use mapa_cli::Failure;
use mapa_cli::files::{text, write};
use mapa_cli::load;
use mapa_cli::{Output, progress};
use mapa_front::answer::id_list;
use mapa_front::text::table;

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
    validations: Vec<answer::Validated>,
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
    let rings = answer::rings(&fit, &found);
    let notes = answer::doubts(&measurements, &found, &fit, args.op != "all");
    let mut written = Vec::new();
    if let Some(file) = &args.output {
        write(file, write_model(fit.model()))?;
        written.push(file.display().to_string());
    }
    #[cfg(feature = "plots")]
    if let Some(folder) = &args.plot {
        bar.set_message("plots");
        mapa_cli::files::make_folder(folder)?;
        let title = format!("{}, {machine}, {}", args.name, args.method.name());
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
            answer::left_out(found).join("; ")
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

/// An error about a measurement, with its file in front. With several files, the measurement's
/// label starts with the file already.
fn in_file(error: &Error, args: &FitArgs) -> Failure {
    match &args.measurements[..] {
        [file] if error.sample().is_some() => Failure::at(file, error),
        _ => Failure::malformed(error),
    }
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

/// Validates the fit by holding out parts of the samples, at most as many parts as there are
/// distinct link counts. With `--folds`, a failed validation is an error; without, it is printed.
fn validations(
    args: &FitArgs,
    found: &Samples,
    config: &FitConfig,
) -> Result<Vec<answer::Validated>, Failure> {
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

impl Answer {
    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let model = self.fit.model();
        // Whether the model is to be trusted comes first.
        let (warnings, notes): (Vec<&String>, Vec<&String>) =
            (self.notes.iter()).partition(|note| note.starts_with("do not trust"));
        for warning in warnings {
            output.line(format_args!("warning   {warning}"))?;
        }
        output.line(format_args!("machine   {}", self.machine))?;
        output.line(format_args!(
            "model     {}, {} samples",
            model.name(),
            self.found.samples.len()
        ))?;
        for why in answer::left_out(&self.found) {
            output.line(format_args!("left out  {why}"))?;
        }
        for note in notes {
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

    fn json(&self) -> answer::Fit {
        answer::Fit {
            notes: self.notes.clone(),
            written: self.written.clone(),
            ..answer::Fit::new(
                &self.machine,
                &self.fit,
                &self.found,
                &self.rings,
                &self.validations,
            )
        }
    }
}
