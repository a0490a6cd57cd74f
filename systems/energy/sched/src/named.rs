//! The schedulers of the system on energy and tardiness, by name.

use mapa_core::Policy;

use crate::{EnergyPlan, PriceFile, RuleName, RuleScheduler};
use mapa_sched::{BoxedScheduler, NamedScheduler, SettingValues};

/// The schedulers of this system.
pub const SCHEDULERS: [NamedScheduler; 2] = [
    NamedScheduler::new(
        "energy",
        "by deadline, each on a MIG instance that a rule chooses by run times, deadline and power",
        |policy, settings, _| by_rule(policy, settings),
    )
    .for_slices()
    .settings(&["rule=RULE", "seed=N"]),
    NamedScheduler::new(
        "energy-plan",
        "jobs with deadlines on MIG instances by prices: few late ones, little energy; reorders and waits",
        |policy, settings, _| by_prices(policy, settings),
    )
    .for_slices()
    .settings(&["prices=NAME"]),
];

/// The rule that decides if none is named: it has no parameters, and beats the published ones.
const USUAL_RULE: &str = "fit-fullest";

fn by_rule(
    policy: Box<dyn Policy>,
    settings: &SettingValues<'_>,
) -> Result<BoxedScheduler, mapa_core::Error> {
    let usual = RuleName::find(USUAL_RULE);
    let rule = match settings.get("rule") {
        Some(rule) => rule.read(
            &RuleName::ALL.map(|rule_name| rule_name.name).join(", "),
            RuleName::find,
        )?,
        None => usual.unwrap_or(const { &RuleName::ALL[0] }),
    };
    let seed = match settings.get("seed") {
        Some(seed) if !rule.is_random => {
            return seed.read("no seed, as this rule draws nothing", |_| None);
        }
        Some(seed) => seed.whole()?,
        None => 1,
    };
    let own = RuleScheduler::new(rule.rule(seed), policy);
    Ok(Box::new(own.named("energy")))
}

fn by_prices(
    policy: Box<dyn Policy>,
    settings: &SettingValues<'_>,
) -> Result<BoxedScheduler, mapa_core::Error> {
    let plan = match settings.get("prices") {
        Some(prices) => {
            let names: Vec<&str> = PriceFile::names().collect();
            let named = |name: &str| {
                PriceFile::named(name)
                    .and_then(|price_file| price_file.plan())
                    .ok()
            };
            prices.read(&names.join(", "), named)?
        }
        None => EnergyPlan::default(),
    };
    Ok(Box::new(RuleScheduler::new(plan, policy)))
}
