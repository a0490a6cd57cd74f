//! `fit`: a model of bandwidth from measurements, with its errors and validations.

use mapa_front::Loaded;
use mapa_front::answer::fit as answer;
use mapa_front::commands::{FitOutcome, FitRequest};
use mapa_regress::{Errors, Order, write_model};

use crate::cli::FitArgs;
use crate::features;
use mapa_cli::Failure;
use mapa_cli::files::{LocalFiles, write};
use mapa_cli::load;
use mapa_cli::{Output, progress};
use mapa_front::answer::id_list;
use mapa_front::text::table;

pub(crate) fn fit(args: &FitArgs, output: &mut Output) -> Result<(), Failure> {
    let request = FitRequest {
        machine: args.machine.spec(),
        measurements: args.measurements.clone(),
        method: args.method.into(),
        lambda: args.lambda,
        tiers: args.tiers.clone(),
        terms: args.terms.into(),
        folds: args.folds,
        column: args.column.into(),
        op: args.op.clone(),
        ring: args.ring.into(),
        allow_rank_deficient: args.allow_rank_deficient,
        name: args.name.clone(),
    };
    request.check()?;
    // A missing feature is reported before files are read.
    if args.plot.is_some() {
        features::require("plots", "--plot")?;
    }
    let loaded = load(&args.machine, output)?;
    // The steps of `outcome`, one for each file and three more, and one for the pictures.
    let steps = args.measurements.len() + 4;
    let bar = progress(steps, "steps", "{bar:30} {pos}/{len} {msg}", output)?;
    let answer = work(args, &request, &loaded, &bar);
    // The bar is cleared first, or an error would be printed behind it.
    bar.clear();
    let answer = answer?;
    if output.json {
        output.object(&answer.outcome.answer(&answer.written))
    } else {
        answer.print(output)
    }
}

/// A fitted model, how far to trust it, and the files that were written.
struct FitAnswer {
    outcome: FitOutcome,
    order: Order,
    written: Vec<String>,
}

/// Reads the measurements, fits and validates the model, and writes the files.
fn work(
    args: &FitArgs,
    request: &FitRequest,
    loaded: &Loaded,
    bar: &mapa_cli::Bar,
) -> Result<FitAnswer, Failure> {
    let outcome = request.outcome(&LocalFiles, loaded, &mut |next, over| {
        bar.say(next);
        bar.set_done(over as u64);
    })?;
    let fit = &outcome.fit;
    let mut written = Vec::new();
    if let Some(file) = &args.output {
        write(file, write_model(fit.model()))?;
        written.push(file.display().to_string());
    }
    #[cfg(feature = "plots")]
    if let Some(folder) = &args.plot {
        bar.say("plots");
        mapa_cli::files::make_folder(folder)?;
        let machine = &outcome.machine;
        let title = format!("{}, {machine}, {}", args.name, args.method.name());
        for (name, picture) in crate::plots::Plots::of(fit, &title, &outcome.rings) {
            let file = folder.join(name);
            write(&file, picture)?;
            written.push(file.display().to_string());
        }
    }
    Ok(FitAnswer {
        order: fit.order(),
        outcome,
        written,
    })
}

impl FitAnswer {
    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let model = self.outcome.fit.model();
        // Whether the model is to be trusted comes first.
        let (warnings, notes): (Vec<&String>, Vec<&String>) =
            // The words are those of `too_few` in doubts.rs of mapa-front.
            (self.outcome.notes.iter()).partition(|note| note.starts_with("do not trust"));
        for warning in warnings {
            output.line(format_args!("warning   {warning}"))?;
        }
        output.line(format_args!("machine   {}", self.outcome.machine))?;
        output.line(format_args!(
            "model     {}, {} samples",
            model.name(),
            self.outcome.found.samples.len()
        ))?;
        for why in answer::left_out(&self.outcome.found) {
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
        let design = self.outcome.fit.design();
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
        for (name, result) in &self.outcome.validations {
            if let Err(why) = result {
                output.line(format_args!("not held out, {name}: {why}"))?;
            }
        }
        for (name, result) in &self.outcome.validations {
            for part in result
                .iter()
                .flat_map(|validation| &validation.not_held_out)
            {
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
            let sample = &self.outcome.fit.rows()[at].sample;
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
        let tiers = self.outcome.fit.model().tiers();
        let names = tiers.names();
        let header = ["sample", "devices", "ranks"]
            .into_iter()
            .chain(names.iter().map(String::as_str));
        let header: Vec<&str> = header
            .chain(["measured", "predicted", "residual", "leverage"])
            .collect();
        let mut rows = table(header.iter().copied(), 2..header.len());
        for (row, ring) in self.outcome.fit.rows().iter().zip(&self.outcome.rings) {
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
        row("on the samples".to_owned(), self.outcome.fit.errors());
        for (name, validation) in &self.outcome.validations {
            if let Ok(validation) = validation {
                row(format!("held out, {name}"), &validation.errors);
            }
        }
        rows
    }
}
