//! What can be named besides: a plan by prices of a file, and a trained net.

use std::path::Path;

use mapa_cli::files::LocalFiles;
use mapa_core::Policy;
use mapa_front::names::{Names, SchedulerRow};
use mapa_front::{Error, FileKind, Files};
use mapa_sched::{NamedScheduler, Scheduler};
use mapa_system_energy::SCHEDULERS;
use mapa_system_energy::learned::{Learned, Weights};
use mapa_system_energy::{Power, PriceFile, RuleScheduler};

/// Adds the schedulers that read files.
pub fn add(names: &mut Names) {
    names.schedulers = names
        .schedulers
        .iter()
        .cloned()
        .map(|row| match row.name.as_str() {
            PLAN => row.made(&["prices=NAME|FILE"], by_prices),
            _ => row,
        })
        .chain([learned()])
        .collect();
}

const PLAN: &str = "energy-plan";
const LEARNED: &str = "learned";

type BoxedEnergyScheduler = Box<dyn Scheduler + Send>;

/// A trained net as a scheduler, from a file of `mapa-bench train`.
fn learned() -> SchedulerRow {
    let mut row = SchedulerRow::new(
        LEARNED,
        "jobs with deadlines on MIG instances by a trained net, for GPUs in the layouts that it was trained for",
        |policy| Box::new(mapa_sched::Fifo::new(policy)),
    );
    row.for_slices = true;
    row.made(&["weights=FILE"], |words, policy| {
        let Some(file) = setting(words, "weights") else {
            return Err(Error::malformed(format_args!(
                "scheduler `{words}`: expected {LEARNED},weights=FILE"
            )));
        };
        let wrong =
            |error: &dyn std::fmt::Display| Error::malformed(format_args!("{file}: {error}"));
        let bytes = LocalFiles.bytes(file, FileKind::Table)?;
        let weights = Weights::from_bytes(&bytes).map_err(|error| wrong(&error))?;
        let rule = Learned::of(weights, Power::A100).map_err(|error| wrong(&error))?;
        Ok(Box::new(RuleScheduler::new(rule, policy)))
    })
}

/// A plan by prices that ship, or by those of a file.
fn by_prices(words: &str, policy: Box<dyn Policy>) -> Result<BoxedEnergyScheduler, Error> {
    let file = setting(words, "prices").filter(|name| PriceFile::named(name).is_err());
    let Some(file) = file.filter(|file| Path::new(file).exists()) else {
        // A name, or what is neither: the message lists the names.
        return NamedScheduler::among(&SCHEDULERS, words, policy).map_err(Error::malformed);
    };
    let text = LocalFiles.text(file, FileKind::Table)?;
    let plan = PriceFile::read(&text).and_then(|price_file| price_file.plan());
    let plan = plan.map_err(|error| Error::malformed(format_args!("{file}: {error}")))?;
    Ok(Box::new(RuleScheduler::new(plan, policy)))
}

/// The value of a setting behind a scheduler's name.
fn setting<'w>(words: &'w str, key: &str) -> Option<&'w str> {
    let settings = words.split(',').skip(1);
    let values = settings.filter_map(|setting| setting.split_once('='));
    let mut own = values.filter(|(name, _)| name.trim() == key);
    own.next().map(|(_, value)| value.trim())
}
