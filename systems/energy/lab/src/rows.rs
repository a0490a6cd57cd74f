//! The rules that are compared.

use mapa_front::Error;
use mapa_sim::stream;
use mapa_system_energy::{
    Fit, LargestFirst, LeastCost, MeanFinish, Power, PriceFile, RandomSlice, Rule, SlicedGpus,
    SmallestFirst,
};
use rand::RngExt;

/// A rule on layouts.
#[derive(Clone, Copy)]
pub(super) struct RuleRow {
    pub(super) name: &'static str,
    /// What it is, for the table.
    pub(super) what: &'static str,
    layouts: &'static str,
    rule: With,
}

/// What a rule is made from.
#[derive(Clone, Copy)]
enum With {
    /// The seed of a day.
    Seed(fn(u64) -> Box<dyn Rule>),
    /// A set of prices that ships.
    Prices(&'static str),
}

impl RuleRow {
    pub(super) fn machine(&self) -> Result<SlicedGpus, Error> {
        if let With::Prices(name) = self.rule {
            let file = PriceFile::named(name).map_err(Error::malformed)?;
            return file.machine.machine(Power::A100).map_err(Error::malformed);
        }
        SlicedGpus::new(self.layouts, Power::A100).map_err(Error::malformed)
    }

    /// The rule, for the day of this seed.
    pub(super) fn rule(&self, seed: u64) -> Result<Box<dyn Rule>, Error> {
        match self.rule {
            With::Seed(rule) => Ok(rule(seed)),
            // Not on guard: the report shows what prices do where they do not suit.
            With::Prices(name) => {
                let file = PriceFile::named(name).map_err(Error::malformed)?;
                let plan = mapa_system_energy::EnergyPlan::new(file.prices);
                Ok(Box::new(plan.map_err(Error::malformed)?))
            }
        }
    }
}

pub(super) const LARGEST: &str = "largest-first";
pub(super) const FIT: &str = "fit";
pub(super) const FIT_FULLEST: &str = "fit-fullest";
pub(super) const PLAN: &str = "energy-plan";
pub(super) const PLAN_LAYOUTS: &str = "energy-plan-layouts";
pub(super) const PLAN_LOADS: &str = "energy-plan-searched";
pub(super) const PLAN_EXACT: &str = "energy-plan-exact";
pub(super) const PLAN_ROUGH: &str = "energy-plan-rough";
pub(super) const PLAN_TIGHT: &str = "energy-plan-tight";
pub(super) const PLAN_CHANGING: &str = "energy-plan-repartitioned";
pub(super) const LARGEST_LAYOUTS: &str = "largest-first-layouts";

/// A plan by a set of prices that ships, on the machine that it is for.
const fn priced(name: &'static str, what: &'static str, prices: &'static str) -> RuleRow {
    RuleRow {
        name,
        what,
        layouts: "",
        rule: With::Prices(prices),
    }
}

/// Every rule. Differences are to the first.
pub(super) const ROWS: [RuleRow; 15] = [
    RuleRow {
        name: LARGEST,
        what: "the largest free slice",
        layouts: SlicedGpus::PUBLISHED,
        rule: With::Seed(|_| Box::new(LargestFirst)),
    },
    RuleRow {
        name: "eft-published",
        what: "\"earliest finish\" as the authors' code has it: by means of groups of sizes",
        layouts: SlicedGpus::PUBLISHED,
        rule: With::Seed(|_| Box::new(MeanFinish)),
    },
    RuleRow {
        name: "smallest-first",
        what: "the smallest free slice",
        layouts: SlicedGpus::PUBLISHED,
        rule: With::Seed(|_| Box::new(SmallestFirst)),
    },
    RuleRow {
        name: "random",
        what: "any free slice",
        layouts: SlicedGpus::PUBLISHED,
        rule: With::Seed(|seed| {
            let mut draws = stream(seed, "energy random rule");
            Box::new(RandomSlice::new(move |n: usize| draws.random_range(0..n)))
        }),
    },
    RuleRow {
        name: FIT,
        what: "the smallest free slice in time, else the largest",
        layouts: SlicedGpus::PUBLISHED,
        rule: With::Seed(|_| Box::new(Fit::default())),
    },
    RuleRow {
        name: FIT_FULLEST,
        what: "fit; of equal slices that on the fullest GPU",
        layouts: SlicedGpus::PUBLISHED,
        rule: With::Seed(|_| Box::new(Fit::fullest())),
    },
    RuleRow {
        name: "least-cost",
        what: "the least added energy, priced, plus tardiness",
        layouts: SlicedGpus::PUBLISHED,
        rule: With::Seed(|_| Box::new(LeastCost::default())),
    },
    RuleRow {
        name: LARGEST_LAYOUTS,
        what: "largest-first on the searched layouts",
        layouts: SlicedGpus::SEARCHED,
        rule: With::Seed(|_| Box::new(LargestFirst)),
    },
    priced(
        PLAN,
        "plan by prices, on the published layouts",
        "published-layouts",
    ),
    priced(
        PLAN_LAYOUTS,
        "plan by prices, on layouts that were searched for together with them",
        "best-layouts",
    ),
    priced(
        PLAN_LOADS,
        "plan by prices found at several loads, on searched layouts: the default",
        "searched-layouts",
    ),
    priced(
        PLAN_EXACT,
        "the same with prices found at one load",
        "exact-run-times",
    ),
    priced(
        PLAN_ROUGH,
        "the same with prices for run times that are guesses",
        "rough-run-times",
    ),
    priced(
        PLAN_TIGHT,
        "plan by prices for tight deadlines, on the published layouts",
        "tight-deadlines",
    ),
    priced(
        PLAN_CHANGING,
        "plan by prices, on GPUs that are repartitioned in .4 s",
        "repartitioned",
    ),
];
