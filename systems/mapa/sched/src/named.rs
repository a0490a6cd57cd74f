//! The schedulers of the system on MAPA: foresight, and its plan of order and placement, by name.

use mapa_core::Policy;

use crate::foresight::Foresight;
use crate::topology_plan::{PlanGoal, TopologyPlan, Trust};
use mapa_sched::LinkModel;
use mapa_sched::{BoxedScheduler, NamedScheduler, SettingValues, link_model};

/// The schedulers of this system.
pub const SCHEDULERS: [NamedScheduler; 2] = [
    NamedScheduler::new(
        "foresight",
        "first in, first out; on one machine a sensitive head waits for better links where that costs less",
        |policy, _, links| Ok(foresight(policy, links)),
    )
    .waits_for_links(),
    NamedScheduler::new(
        "topology-plan",
        "plans order and placement together by simulating what is to come; needs run times",
        topology_plan,
    )
    .waits_for_links()
    .settings(&[
        "goal=completion|makespan|slowdown",
        "blend=SHARE",
        "estimates=exact|rough|class-means",
        "search=JOBS",
        "ageing=on|off",
        "overtaking=TIMES|none",
        "model=eq-2|ring-packing",
        "seed=N",
    ]),
];

/// The scheduler `foresight`: its queue head waits for better links, if run times depend on links.
fn foresight(policy: Box<dyn Policy>, links: LinkModel) -> BoxedScheduler {
    let own = Foresight::new(policy);
    Box::new(match links {
        LinkModel::Usual => own,
        LinkModel::By(model) => own.by(mapa_core::Foresight::new(model)),
        LinkModel::None => own.patience(None),
    })
}

/// The settings of `topology-plan`.
fn topology_plan(
    policy: Box<dyn Policy>,
    settings: &SettingValues<'_>,
    links: LinkModel,
) -> Result<BoxedScheduler, mapa_core::Error> {
    let mut own = TopologyPlan::new()
        .model(link_model(settings, links)?)
        .placed_by(policy);
    if let Some(goal) = settings.get("goal") {
        let names = PlanGoal::ALL.map(PlanGoal::name).join(", ");
        own = own.goal(goal.read(&names, PlanGoal::find)?);
    }
    if let Some(blend) = settings.get("blend") {
        let share = |value: &str| {
            value
                .parse()
                .ok()
                .filter(|value| (0.0..=1000.0).contains(value))
        };
        own = own.blend(blend.read("a share of 0 or more", share)?);
    }
    if let Some(trust) = settings.get("estimates") {
        let names = Trust::ALL.map(Trust::name).join(", ");
        own = own.trust(trust.read(&names, Trust::find)?);
    }
    if let Some(search) = settings.get("search") {
        own = own.search(search.whole_to(100_000_000)?);
    }
    if let Some(ageing) = settings.get("ageing") {
        own = own.ageing(ageing.on_or_off("on or off")?);
    }
    if let Some(times) = settings.get("overtaking") {
        let expected = "mean run times, of 0 or more, or none";
        own = own.overtaking(times.number_or_none(0.0, expected)?);
    }
    if let Some(seed) = settings.get("seed") {
        own = own.seed(seed.whole()?);
    }
    Ok(Box::new(own))
}
