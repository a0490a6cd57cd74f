//! Rules by name.

use mapa_core::Lots;

use super::heuristics::{
    EarliestFinish, Fit, LargestFirst, LeastCost, MeanFinish, RandomSlice, SmallestFirst,
};
use super::rule::Rule;

/// A rule without parameters but a seed: its name, and what it does in one line.
#[derive(Clone, Copy)]
pub struct RuleName {
    /// The name, as [`Rule::name`] gives it.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// Whether it draws random numbers.
    pub is_random: bool,
    make: fn(u64) -> Box<dyn Rule + Send>,
}

impl RuleName {
    /// Every such rule. The first four are those that Hisaria et al. compare.
    pub const ALL: [Self; 8] = [
        Self::new("largest-first", "the largest free slice", |_| {
            Box::new(LargestFirst)
        }),
        Self::new(
            "eft-published",
            "\"earliest finish\" as the authors' code has it: by means of groups of sizes",
            |_| Box::new(MeanFinish),
        ),
        Self::new("smallest-first", "the smallest free slice", |_| {
            Box::new(SmallestFirst)
        }),
        Self {
            is_random: true,
            ..Self::new("random", "any free slice", |seed| {
                let lots = Lots::new("energy random rule", seed);
                let mut draws = 0_u64;
                Box::new(RandomSlice::new(move |n: usize| {
                    draws += 1;
                    lots.below(draws - 1, n)
                }))
            })
        },
        Self::new("eft", "the slice on which the job ends first", |_| {
            Box::new(EarliestFinish)
        }),
        Self::new(
            "fit",
            "the smallest slice in time, else the largest",
            |_| Box::new(Fit::default()),
        ),
        Self::new(
            "fit-fullest",
            "as fit; of equal slices, that on the fullest GPU",
            |_| Box::new(Fit::fullest()),
        ),
        Self::new("least-cost", "the least energy plus tardiness", |_| {
            Box::new(LeastCost::default())
        }),
    ];

    const fn new(
        name: &'static str,
        summary: &'static str,
        make: fn(u64) -> Box<dyn Rule + Send>,
    ) -> Self {
        Self {
            name,
            summary,
            is_random: false,
            make,
        }
    }

    /// The rule of this name, if there is one.
    ///
    /// ```
    /// use mapa_system_energy::RuleName;
    ///
    /// let fit = RuleName::find("fit").map(|rule| rule.rule(1));
    /// assert_eq!(fit.map(|rule| rule.name().to_owned()), Some("fit".to_owned()));
    /// ```
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        const ALL: &[RuleName] = &RuleName::ALL;
        ALL.iter().find(|rule_name| rule_name.name == name)
    }

    /// Makes the rule. Only rules that [draw](Self::is_random) use the seed, with a stream of the
    /// name `energy random rule`.
    #[must_use]
    pub fn rule(&self, seed: u64) -> Box<dyn Rule + Send> {
        (self.make)(seed)
    }
}
