//! Chooses the algorithm that finds the optimum: tries each in turn, from the cheapest.

use super::by_component::within_components;
use super::by_counts::best_by_counts;
use super::by_islands::ByIslands;
use super::by_table::ByTable;
use super::problem::{AlgorithmResult, Problem, RankedAnswer};
use crate::matching::StopReason;
use crate::reach::{Effort, MOST};
use crate::score::{Objective, PairSum, PairsOf};

/// The most nodes of a trial search, before a table is made that takes longer than most searches.
/// The trial runs even if an earlier decision has left the table, since an answer must not depend
/// on earlier decisions.
const TRIAL_NODES: u64 = 200_000;

/// The most nodes of a search over partial sets before other ways are tried.
const PARTS_NODES: u64 = 400_000;

/// Up to how many free devices a table of all sets takes microseconds.
const MOST_IN_SMALL_TABLES: usize = 10;

impl Problem<'_, '_> {
    /// The best placement and as many runners-up on other sets as the request wants, best first.
    ///
    /// # Complexity
    /// At most as many nodes as [`Problem::limits`] has. If a table ranks all sets, O(1) once it is
    /// made for the machine; see the modules of the algorithms for the rest.
    pub(crate) fn best(&self) -> RankedAnswer {
        if let Some(answer) = best_by_counts(self) {
            return answer;
        }
        within_components(self, |component| component.best())
            .or_else(self, |rest| rest.best_of_all())
    }

    /// The best placements on any devices, whether or not direct links join them.
    fn best_of_all(&self) -> RankedAnswer {
        if self.is_better_searched() {
            let trial = self.limited(PARTS_NODES);
            let (entries, stats) = trial.best_by_search();
            if stats.stopped != StopReason::NodeLimit || self.limits.nodes <= trial.limits.nodes {
                return (entries, stats);
            }
            return AlgorithmResult::Open { spent: stats.nodes }
                .or_else(self, |rest| rest.best_by_others());
        }
        self.best_by_others()
    }

    /// Whether a search over partial sets mostly ends before a table is made: it looks at few sets, where
    /// a table has the value of each, and that value takes long.
    fn is_better_searched(&self) -> bool {
        let devices = self.view.free().len();
        let takes_long = self.objectives().any(Objective::is_chosen_and_bounded);
        let is_bounded = self.criteria.first().is_some_and(|criterion| {
            criterion.objective().is_some_and(|objective| {
                let is_left = |sum: &PairSum<'_>| sum.of == PairsOf::Left;
                objective.pair_sum().is_some_and(is_left)
                    || objective
                        .foresight()
                        .is_some_and(|foresight| foresight.by_degree.is_some())
            })
        });
        // With more devices there is no table.
        let sizes = MOST_IN_SMALL_TABLES + 1..=MOST;
        takes_long && is_bounded && self.request.runners_up == 0 && sizes.contains(&devices)
    }

    /// This problem with a lower limit on nodes.
    fn limited(&self, nodes: u64) -> Self {
        Self {
            limits: self.limits.nodes(self.limits.nodes.min(nodes)),
            ..*self
        }
    }

    /// The best placements by a table, by islands, or by a search over all sets.
    fn best_by_others(&self) -> RankedAnswer {
        let spent = match ByTable::best(self, Effort::Little) {
            AlgorithmResult::Settled(answer) => return answer,
            AlgorithmResult::Open { spent } => spent,
        };
        if let Some(answer) = ByIslands::best(self) {
            return answer;
        }
        AlgorithmResult::Open { spent }.or_else(self, |rest| {
            if ByTable::would_take_long(rest) {
                rest.best_by_trial()
            } else {
                rest.best_by_search()
            }
        })
    }

    /// Runs a search with limited nodes. If that does not end, makes a table that takes long.
    fn best_by_trial(&self) -> RankedAnswer {
        let trial = self.limited(TRIAL_NODES);
        let (entries, stats) = trial.best_by_search();
        let rest = self.after(stats.nodes);
        // A search with no more nodes than the trial took gets no further than the trial.
        if stats.stopped != StopReason::NodeLimit || rest.limits.nodes <= stats.nodes {
            return (entries, stats);
        }
        let (better, mut more) =
            ByTable::best(&rest, Effort::Any).or_else(&rest, |rest| rest.best_by_search());
        more.nodes += stats.nodes;
        // If the caller's time is up before the second attempt ends, the trial's placement is
        // as good a one as there is.
        let kept = more.stopped.is_of_time() && !entries.is_empty();
        (if kept { entries } else { better }, more)
    }
}
