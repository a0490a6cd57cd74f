//! The general schedulers by name.

use mapa_core::Policy;

use crate::backfill::{Conservative, Easy};
use crate::fifo::Fifo;
use crate::first_fit::{FirstFit, LinkModel, ListOrder};
use crate::named::{BoxedScheduler, NamedScheduler, SettingValues, link_model, seconds_or_none};
use crate::order::Order;
use crate::queue::Queue;

/// The general schedulers: those of no published system.
pub const SCHEDULERS: [NamedScheduler; 7] = [
    NamedScheduler::new(
        "fifo",
        "first in, first out; a head that cannot start blocks all others, as in the paper's evaluation",
        |policy, _, _| Ok(Box::new(Fifo::new(policy))),
    ),
    NamedScheduler::new(
        "easy-backfill",
        "by arrival; later jobs may start first if they do not delay the head",
        |policy, _, _| Ok(Box::new(Easy::new(policy))),
    ),
    NamedScheduler::new(
        "conservative-backfill",
        "by arrival; later jobs may start first if they delay no reservation",
        |policy, settings, _| {
            let scheduler = Conservative::new(policy);
            Ok(match settings.get("depth") {
                Some(depth) => Box::new(scheduler.depth(depth.whole_to(1_000_000)?)),
                None => Box::new(scheduler),
            })
        },
    )
    .settings(&["depth=JOBS"]),
    NamedScheduler::new(
        "shortest-first",
        "the shortest expected run time first; a head that cannot start blocks all others",
        |policy, _, _| Ok(Box::new(Queue::new(policy, Order::ShortestFirst))),
    ),
    NamedScheduler::new(
        "smallest-first",
        "the job of fewest devices first; a head that cannot start blocks all others",
        |policy, _, _| Ok(Box::new(Queue::new(policy, Order::SmallestFirst))),
    ),
    NamedScheduler::new(
        "priority",
        "the highest priority first, then by arrival; a head that cannot start blocks all others",
        |policy, _, _| Ok(Box::new(Queue::new(policy, Order::Priority))),
    ),
    NamedScheduler::new(
        "first-fit",
        "a list that skips what does not fit; sensitive jobs start only where they are fast enough",
        first_fit,
    )
    .waits_for_links()
    .settings(&[
        "order=ORDER",
        "max-slowdown=FACTOR|none",
        "model=eq-2|ring-packing",
        "place=policy|fastest",
        "patience=SECONDS|none",
        "pace=SECONDS",
        "overtaking=SECONDS|none",
    ]),
];

/// The settings of `first-fit`.
fn first_fit(
    policy: Box<dyn Policy>,
    settings: &SettingValues<'_>,
    links: LinkModel,
) -> Result<BoxedScheduler, mapa_core::Error> {
    let order = match settings.get("order") {
        Some(order) => order.read(
            &ListOrder::ALL.map(ListOrder::name).join(", "),
            ListOrder::find,
        )?,
        None => ListOrder::default(),
    };
    let mut scheduler = FirstFit::new(order);
    scheduler = scheduler.model(link_model(settings, links)?);
    if let Some(factor) = settings.get("max-slowdown") {
        let expected = "a factor of at least 1, or none";
        scheduler = scheduler.max_slowdown(factor.number_or_none(1.0, expected)?);
    }
    let by_policy = match settings.get("place") {
        Some(place) => place.read("policy or fastest", |value| match value {
            "policy" => Some(true),
            "fastest" => Some(false),
            _ => None,
        })?,
        None => true,
    };
    let patience = settings.get("patience").map(seconds_or_none).transpose()?;
    let pace = settings.get("pace").map(seconds_or_none).transpose()?;
    // `FirstFit::ageing` takes both; a setting that is left out gets the value of the other one.
    if let Some(either) = patience.or(pace) {
        scheduler = scheduler.ageing(patience.unwrap_or(either), pace.unwrap_or(either));
    }
    if let Some(limit) = settings.get("overtaking") {
        scheduler = scheduler.overtaking(seconds_or_none(limit)?);
    }
    Ok(if by_policy {
        Box::new(scheduler.placed_by(policy))
    } else {
        Box::new(scheduler)
    })
}
