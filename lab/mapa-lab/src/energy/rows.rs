//! The rules that are compared.

use mapa_front::Error;
use mapa_sched::energy::{
    EnergyPlan, Fit, LargestFirst, LeastCost, Machine, MeanFinish, Power, Prices, RandomSlice,
    Rule, SmallestFirst,
};
use mapa_sim::stream;
use rand::RngExt;

/// A rule on layouts.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// What it is, for the table.
    pub(super) what: &'static str,
    layouts: &'static str,
    rule: fn(u64) -> Result<Box<dyn Rule>, Error>,
}

impl Row {
    pub(super) fn machine(&self) -> Result<Machine, Error> {
        Machine::new(self.layouts, Power::A100).map_err(Error::malformed)
    }

    /// The rule, for the day of this seed.
    pub(super) fn rule(&self, seed: u64) -> Result<Box<dyn Rule>, Error> {
        (self.rule)(seed)
    }
}

pub(super) const LARGEST: &str = "largest-first";
pub(super) const FIT: &str = "fit";
pub(super) const FIT_FULLEST: &str = "fit-fullest";
pub(super) const PLAN: &str = "energy-plan";
pub(super) const PLAN_LAYOUTS: &str = "energy-plan-layouts";
pub(super) const PLAN_EXACT: &str = "energy-plan-layouts-exact";
pub(super) const LARGEST_LAYOUTS: &str = "largest-first-layouts";

fn plan(prices: Prices) -> Result<Box<dyn Rule>, Error> {
    let plan = EnergyPlan::new(prices).map_err(Error::malformed)?;
    Ok(Box::new(plan))
}

/// Every rule. Differences are to the first.
pub(super) const ROWS: [Row; 11] = [
    Row {
        name: LARGEST,
        what: "the largest free slice",
        layouts: Machine::PUBLISHED,
        rule: |_| Ok(Box::new(LargestFirst)),
    },
    Row {
        name: "eft-published",
        what: "\"earliest finish\" as the authors' code has it: by means of groups of sizes",
        layouts: Machine::PUBLISHED,
        rule: |_| Ok(Box::new(MeanFinish)),
    },
    Row {
        name: "smallest-first",
        what: "the smallest free slice",
        layouts: Machine::PUBLISHED,
        rule: |_| Ok(Box::new(SmallestFirst)),
    },
    Row {
        name: "random",
        what: "any free slice",
        layouts: Machine::PUBLISHED,
        rule: |seed| {
            let mut draws = stream(seed, "energy random rule");
            Ok(Box::new(RandomSlice::new(move |n: usize| {
                draws.random_range(0..n)
            })))
        },
    },
    Row {
        name: FIT,
        what: "the smallest free slice in time, else the largest",
        layouts: Machine::PUBLISHED,
        rule: |_| Ok(Box::new(Fit::default())),
    },
    Row {
        name: FIT_FULLEST,
        what: "fit; of equal slices that on the fullest GPU",
        layouts: Machine::PUBLISHED,
        rule: |_| Ok(Box::new(Fit::fullest())),
    },
    Row {
        name: "least-cost",
        what: "the least added energy, priced, plus tardiness",
        layouts: Machine::PUBLISHED,
        rule: |_| Ok(Box::new(LeastCost::default())),
    },
    Row {
        name: LARGEST_LAYOUTS,
        what: "largest-first on the searched layouts",
        layouts: Machine::SEARCHED,
        rule: |_| Ok(Box::new(LargestFirst)),
    },
    Row {
        name: PLAN,
        what: "plan by prices, on the published layouts",
        layouts: Machine::PUBLISHED,
        rule: |_| plan(Prices::PUBLISHED_LAYOUTS),
    },
    Row {
        name: PLAN_LAYOUTS,
        what: "plan by prices, on the searched layouts: the default",
        layouts: Machine::SEARCHED,
        rule: |_| plan(Prices::SEARCHED_LAYOUTS),
    },
    Row {
        name: PLAN_EXACT,
        what: "the same with prices found at one load",
        layouts: Machine::SEARCHED,
        rule: |_| plan(Prices::EXACT_RUN_TIMES),
    },
];
