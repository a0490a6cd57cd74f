//! `train`: trains a net that picks MIG slices for jobs with deadlines.

mod args;

use std::fs;
use std::path::{Path, PathBuf};

use crate::answer::train::{CurvePoint, Difference, TrainedRule, Training};
use mapa_front::FileKind;
use mapa_front::text::table;
use mapa_sim::paired_interval;
use mapa_system_energy::learned::{Learned, Weights};
use mapa_system_energy::{Fit, LargestFirst, Power, Rule, SlicedGpus};
use mapa_system_energy_rl::{Config, Trainer, evaluate};
use mapa_system_energy_sim::Totals;

pub(crate) use args::TrainArgs;
use args::{FormulationName, SettingsName};
use mapa_cli::Failure;
use mapa_cli::files::{bytes, rewrite};
use mapa_cli::{Output, SystemCommand, progress, time_limit};

/// The seed of the first day on which a net is compared. Days of training and of learning curves
/// have others.
const FIRST_DAY: u64 = 50_001;

impl SystemCommand for TrainArgs {
    const NAME: &'static str = "train";
    const ABOUT: &'static str =
        "Train a net that picks MIG slices for jobs with deadlines, and compare it with rules";

    fn run(&self, output: &mut Output) -> Result<(), Failure> {
        train(self, output)
    }
}

fn train(args: &TrainArgs, output: &mut Output) -> Result<(), Failure> {
    let config = config(args);
    let trainer = trained(args, &config, output)?;
    let weights = trainer.weights().map_err(Failure::malformed)?;
    rewrite(&args.into, weights.to_bytes())?;
    // The weights are written, so nothing is left to go on with.
    let _ = fs::remove_file(checkpoint(&args.into));
    let curve = trainer.curve().iter().map(|point| CurvePoint {
        steps: point.steps,
        late_percent: 100.0 * point.late,
    });
    let answer = Training {
        formulation: config.formulation.name().to_owned(),
        settings: settings_name(args.settings).to_owned(),
        seed: args.seed,
        steps: trainer.steps(),
        layouts: config.layouts.clone(),
        into: args.into.display().to_string(),
        curve: curve.collect(),
        days: args.days,
        first_day: FIRST_DAY,
        rules: rules(args, &config, weights)?,
    };
    if output.json {
        return output.object(&answer);
    }
    print(&answer, output)
}

fn settings_name(settings: SettingsName) -> &'static str {
    match settings {
        SettingsName::Published => "published",
        SettingsName::Ours => "ours",
    }
}

fn config(args: &TrainArgs) -> Config {
    let own = match (args.formulation, args.settings) {
        (FormulationName::Enhanced, SettingsName::Published) => Config::published(),
        (FormulationName::Enhanced, SettingsName::Ours) => Config::ours(),
        (FormulationName::Original, SettingsName::Published) => Config::original(),
        // What is learned from is the first formulation; how, is ours.
        (FormulationName::Original, SettingsName::Ours) => {
            let Config {
                formulation,
                reward,
                draw,
                ..
            } = Config::original();
            Config {
                formulation,
                reward,
                draw,
                ..Config::ours()
            }
        }
    };
    Config {
        steps: args.steps.unwrap_or(own.steps),
        ..own
    }
}

/// The file from which a training can go on.
fn checkpoint(into: &Path) -> PathBuf {
    let mut name = into.as_os_str().to_owned();
    name.push(".checkpoint");
    name.into()
}

/// The training at its end. It can be stopped after any update.
fn trained(args: &TrainArgs, config: &Config, output: &Output) -> Result<Trainer, Failure> {
    let file = checkpoint(&args.into);
    let (seed, threads) = (args.seed, args.threads.get());
    let trainer = if args.resume {
        let name = file.display().to_string();
        let kept = bytes(&name, FileKind::Table)?;
        Trainer::resume(config.clone(), seed, threads, &kept)
            .map_err(|error| Failure::at(name, error))
    } else {
        Trainer::new(config.clone(), seed, threads).map_err(Failure::malformed)
    };
    let mut trainer = trainer?;
    let updates = config.updates();
    let bar = progress(
        updates as usize,
        "updates",
        "{bar:30} {pos}/{len} {msg} {eta}",
        output,
    )?;
    while !trainer.is_over() {
        trainer.update().map_err(Failure::malformed)?;
        rewrite(&file, trainer.checkpoint())?;
        let kept = file.display();
        time_limit::keeps(format_args!("{kept} is kept: --resume goes on"));
        bar.set_done(trainer.updates());
        if let Some(last) = trainer.curve().last() {
            bar.say(&format!(
                "late {:.1} % at {} steps",
                100.0 * last.late,
                last.steps
            ));
        }
    }
    bar.clear();
    Ok(trainer)
}

/// The net and rules to compare it with, on fresh days.
fn rules(args: &TrainArgs, config: &Config, weights: Weights) -> Result<Vec<TrainedRule>, Failure> {
    let machine = SlicedGpus::new(&config.layouts, Power::A100).map_err(Failure::malformed)?;
    let learned = Learned::new(weights, &machine).map_err(Failure::malformed)?;
    let rules: [Box<dyn Rule>; 3] = [
        Box::new(LargestFirst),
        Box::new(Fit::default()),
        Box::new(learned),
    ];
    let seeds: Vec<u64> = (FIRST_DAY..).take(args.days).collect();
    let mut all: Vec<(String, Vec<Totals>)> = Vec::new();
    for mut rule in rules {
        let days = evaluate(&mut *rule, &config.layouts, &config.draw, &seeds);
        all.push((rule.name().to_owned(), days.map_err(Failure::malformed)?));
    }
    let late =
        |days: &[Totals]| -> Vec<f64> { days.iter().map(|day| 100.0 * day.late_share()).collect() };
    let largest = all.first().map(|row| late(&row.1)).unwrap_or_default();
    let each = all.iter().map(|(name, days)| {
        let above = paired_interval(&late(days), &largest);
        let bound = |value: f64| value.is_finite().then_some(value);
        TrainedRule {
            name: name.clone(),
            late_percent: mean(days, |totals| 100.0 * totals.late_share()),
            tardiness_minutes: mean(days, Totals::mean_tardiness),
            energy_watt_minutes: mean(days, |totals| totals.watt_minutes),
            late_above_largest_first: Difference {
                mean: above.mean,
                low: bound(above.low),
                high: bound(above.high),
            },
        }
    });
    Ok(each.collect())
}

fn mean(days: &[Totals], of: impl Fn(&Totals) -> f64) -> f64 {
    days.iter().map(of).sum::<f64>() / days.len() as f64
}

fn print(answer: &Training, output: &mut Output) -> Result<(), Failure> {
    output.line(format_args!(
        "trained   {}, {}, {} steps, seed {}",
        answer.formulation, answer.settings, answer.steps, answer.seed
    ))?;
    let points = answer.curve.iter();
    let points = points.map(|point| format!("{:.1} % at {}", point.late_percent, point.steps));
    let points: Vec<String> = points.collect();
    output.line(format_args!("late      {}", points.join(", ")))?;
    output.line(format_args!("written   {}", answer.into))?;
    output.line("")?;
    let heads = [
        "rule",
        "late",
        "above largest-first, points",
        "tardiness, min",
        "energy, 10^6 W min",
    ];
    let mut rows = table(heads, [1, 3, 4]);
    for rule in &answer.rules {
        let Difference { mean, low, high } = rule.late_above_largest_first;
        let above = match (low, high) {
            (Some(low), Some(high)) => format!("{mean:+.2} ({low:+.2} to {high:+.2})"),
            _ => format!("{mean:+.2}"),
        };
        rows.add_row([
            rule.name.clone(),
            format!("{:.1} %", rule.late_percent),
            above,
            format!("{:.3}", rule.tardiness_minutes),
            format!("{:.3}", rule.energy_watt_minutes / 1e6),
        ]);
    }
    output.line(rows)?;
    output.line(format_args!(
        "\n{} fresh days from seed {}; intervals of 95 %, paired by day",
        answer.days, answer.first_day
    ))
}
