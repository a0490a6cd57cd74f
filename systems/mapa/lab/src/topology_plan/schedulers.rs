//! What is compared: first in, first out, backfilling, lists, and the plan.

use std::time::Duration;

use mapa_core::{Foresight, Policy, Rules, criteria::max, preserved_direct_gbps};
use mapa_sched::{Conservative, Easy, Fifo, FirstFit, Job, LinkModel, ListOrder, Order, Scheduler};
use mapa_system_mapa::{PlanGoal, PlanPart, TopologyPlan, Trust};

use super::setting::ToldRunTimes;
use crate::foresight::{Judge, preserve_by};

/// Where jobs are placed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum JobPlacing {
    /// By preserve.
    Preserve,
    /// Every job, also one that is not sensitive, gets the most bandwidth.
    Most,
    /// Sensitive jobs where they are fastest, others where most direct bandwidth stays.
    Fastest,
}

impl JobPlacing {
    const ALL: [Self; 3] = [Self::Preserve, Self::Most, Self::Fastest];

    fn name(self) -> &'static str {
        match self {
            Self::Preserve => "preserve",
            Self::Most => "most bandwidth",
            Self::Fastest => "fastest",
        }
    }

    /// The policy, by the judge's model.
    fn policy(self, judge: Judge) -> Box<dyn Policy> {
        match self {
            Self::Preserve => Box::new(preserve_by(judge.model())),
            Self::Most | Self::Fastest => Box::new(
                Rules::new("most bandwidth")
                    .prefer(max(judge.model()))
                    .then(max(preserved_direct_gbps())),
            ),
        }
    }
}

/// A plan, and how it differs from the one with all defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlanDifference {
    pub(super) goal: PlanGoal,
    /// Whether jobs age, and overtaking is limited.
    pub(super) ages: bool,
    pub(super) without: Option<PlanPart>,
    pub(super) search: usize,
    pub(super) blend: f64,
}

impl PlanDifference {
    /// The plan for a goal.
    pub(super) const fn of(goal: PlanGoal) -> Self {
        Self {
            goal,
            ages: true,
            without: None,
            search: TopologyPlan::SEARCH,
            blend: 0.0,
        }
    }

    /// The parts without which the plan runs, the plan with ten times the search, and that without
    /// any.
    pub(super) fn ablation() -> Vec<Self> {
        let own = Self::of(PlanGoal::Completion);
        let mut all = vec![
            Self { search: 0, ..own },
            Self {
                search: 10 * TopologyPlan::SEARCH,
                ..own
            },
        ];
        all.extend(PlanPart::ALL.map(|part| Self {
            without: Some(part),
            ..own
        }));
        all
    }

    pub(super) fn name(self) -> String {
        let mut name = match self.goal {
            PlanGoal::Makespan => PLAN_MAKESPAN,
            PlanGoal::Slowdown => PLAN_SLOWDOWN,
            _ => PLAN,
        }
        .to_owned();
        if self.search != TopologyPlan::SEARCH {
            name += &format!(", search={}", self.search);
        }
        if self.blend > 0.0 {
            name += &format!(", blend={}", self.blend);
        }
        if let Some(part) = self.without {
            name += match part {
                PlanPart::Sets => ", nobody waits for links",
                PlanPart::Bars => ", nobody bars",
                PlanPart::Prices => ", no search for a batch",
                PlanPart::Coming => ", no price of time",
                _ => ", new jobs last",
            };
        }
        if !self.ages {
            name += NO_AGEING;
        }
        name
    }

    fn scheduler(self, judge: Judge, told: ToldRunTimes) -> TopologyPlan {
        let own = TopologyPlan::new()
            .model(LinkModel::By(judge.model()))
            .goal(self.goal)
            .blend(self.blend)
            .search(self.search)
            .ageing(self.ages)
            .overtaking(if self.ages {
                TopologyPlan::OVERTAKING
            } else {
                f64::INFINITY
            })
            .trust(match told {
                ToldRunTimes::Exact => Trust::Exact,
                ToldRunTimes::Wrong(_) => Trust::Rough,
                ToldRunTimes::Means => Trust::ClassMeans,
            });
        match self.without {
            Some(part) => own.without(part),
            None => own,
        }
    }
}

/// A scheduler of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ComparedScheduler {
    Fifo(JobPlacing),
    /// First in, first out, as `foresight` places, with its patience.
    Foresight,
    /// EASY in this order; by arrival if there is none.
    Easy(Option<ListOrder>),
    Conservative,
    List {
        order: ListOrder,
        place: JobPlacing,
        /// The threshold on slowdown.
        phi: Option<f64>,
        /// Whether jobs age, and overtaking is limited.
        aged: bool,
    },
    Plan(PlanDifference),
}

pub(super) const FIFO: &str = "fifo-preserve";
pub(super) const FORESIGHT: &str = "foresight";
pub(super) const EASY: &str = "easy";
pub(super) const CONSERVATIVE: &str = "conservative";
pub(super) const PHI: &str = "shortest-max-slowdown";
pub(super) const AGED: &str = "shortest-max-slowdown, ageing";
pub(super) const STRONGEST: &str = "strongest";
pub(super) const BOUND: &str = "bound";
pub(super) const PLAN: &str = "topology-plan";
pub(super) const PLAN_MAKESPAN: &str = "topology-plan-makespan";
pub(super) const PLAN_SLOWDOWN: &str = "topology-plan-slowdown";
pub(super) const PLAN_UNAGED: &str = "topology-plan, no ageing";
const NO_AGEING: &str = ", no ageing";

/// The threshold of [`PHI`].
const PHI_IS: f64 = 1.2;
/// The thresholds that are tuned.
const PHIS: [f64; 5] = [1.0, 1.05, 1.1, 1.2, 1.5];
/// How many jobs have a reservation under conservative backfilling.
const DEPTH: usize = 60;

impl ComparedScheduler {
    /// A list that neither ages nor limits overtaking.
    pub(super) const fn list(order: ListOrder, phi: Option<f64>) -> Self {
        Self::List {
            order,
            place: JobPlacing::Fastest,
            phi,
            aged: false,
        }
    }

    /// The list with the threshold of [`PHI`] that ages and limits overtaking, as it does by
    /// default.
    pub(super) const fn aged(order: ListOrder) -> Self {
        Self::List {
            order,
            place: JobPlacing::Fastest,
            phi: Some(PHI_IS),
            aged: true,
        }
    }

    /// Every baseline among which the strongest is looked for.
    pub(super) fn baselines() -> Vec<Self> {
        let mut all: Vec<Self> = JobPlacing::ALL.map(Self::Fifo).to_vec();
        all.extend([
            Self::Foresight,
            Self::Easy(None),
            Self::Easy(Some(ListOrder::Shortest)),
            Self::Easy(Some(ListOrder::SmallestArea)),
            Self::Conservative,
        ]);
        for order in ListOrder::ALL {
            for place in JobPlacing::ALL {
                all.push(Self::List {
                    order,
                    place,
                    phi: None,
                    aged: false,
                });
            }
            all.extend(PHIS.map(|phi| Self::list(order, Some(phi))));
        }
        all
    }

    /// The baseline of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::baselines()
            .into_iter()
            .find(|baseline| baseline.name() == name)
    }

    /// The name in tables and in JSON.
    pub(super) fn name(self) -> String {
        match self {
            Self::Fifo(JobPlacing::Preserve) => FIFO.to_owned(),
            Self::Fifo(place) => format!("fifo, {}", place.name()),
            Self::Foresight => FORESIGHT.to_owned(),
            Self::Easy(None) => EASY.to_owned(),
            Self::Easy(Some(order)) => format!("{EASY}, {}", order.name()),
            Self::Conservative => CONSERVATIVE.to_owned(),
            Self::List {
                order: ListOrder::Shortest,
                phi: Some(PHI_IS),
                aged,
                ..
            } => if aged { AGED } else { PHI }.to_owned(),
            Self::List {
                order,
                place,
                phi,
                aged,
            } => {
                let how = match phi {
                    Some(phi) => format!("max-slowdown {phi}"),
                    None => place.name().to_owned(),
                };
                let aged = if aged { ", ageing" } else { "" };
                format!("{}, {how}{aged}", order.name())
            }
            Self::Plan(own) => own.name(),
        }
    }

    /// Whether it is told the run times over slow links. Reservations are kept if no estimate is
    /// too short; backfilling is best so, of the estimates that were tried.
    pub(super) fn is_told_longest(self) -> bool {
        matches!(self, Self::Easy(_) | Self::Conservative)
    }

    /// The scheduler, by the judge's model. A plan is also told how far to trust what it is told.
    pub(super) fn scheduler(self, judge: Judge, told: ToldRunTimes) -> Box<dyn Scheduler> {
        match self {
            Self::Fifo(place) => Box::new(Fifo::new(place.policy(judge))),
            Self::Foresight => {
                let policy = Foresight::new(judge.model());
                Box::new(mapa_system_mapa::Foresight::new(policy.clone()).by(policy))
            }
            Self::Easy(order) => {
                let own = Easy::new(JobPlacing::Preserve.policy(judge));
                match order {
                    None => Box::new(own),
                    Some(ListOrder::Shortest) => Box::new(own.order(Order::ShortestFirst)),
                    Some(_) => Box::new(own.order(Order::by(|a, b| area(a).total_cmp(&area(b))))),
                }
            }
            Self::Conservative => {
                Box::new(Conservative::new(JobPlacing::Preserve.policy(judge)).depth(DEPTH))
            }
            Self::List {
                order,
                place,
                phi,
                aged,
            } => {
                let mut own = FirstFit::new(order)
                    .model(LinkModel::By(judge.model()))
                    .max_slowdown(phi.unwrap_or(f64::INFINITY));
                if !aged {
                    own = own
                        .ageing(Duration::MAX, Duration::MAX)
                        .overtaking(Duration::MAX);
                }
                if place != JobPlacing::Fastest {
                    own = own.placed_by(place.policy(judge));
                }
                Box::new(own)
            }
            Self::Plan(own) => Box::new(own.scheduler(judge, told)),
        }
    }
}

/// Whether a scheduler of this name is a list with a threshold of 1.2, or one without any.
pub(super) fn is_list(name: &str, with: bool) -> bool {
    let phi = if with { Some(PHI_IS) } else { None };
    let lists = ListOrder::ALL.map(|order| ComparedScheduler::list(order, phi).name());
    lists.iter().any(|candidate| candidate == name)
}

/// The device-seconds of a job, as told.
fn area(job: &Job) -> f64 {
    let seconds = job.run_time.on(None).unwrap_or_default();
    job.request.pattern.len() as f64 * seconds.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baselines_have_names_of_their_own_and_can_be_made() {
        let mut names: Vec<String> = ComparedScheduler::baselines()
            .iter()
            .map(|baseline| baseline.name())
            .collect();
        let before = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
