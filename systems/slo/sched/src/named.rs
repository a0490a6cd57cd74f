//! The schedulers of the system on promised latencies, by name.

use mapa_core::Policy;

use mapa_sched::{BoxedScheduler, NamedScheduler, SettingValues};

/// The schedulers of this system.
pub const SCHEDULERS: [NamedScheduler; 2] = [
    NamedScheduler::new(
        "slo",
        "as fifo; keeps promised latencies by throttles and moves, as the paper on tail latency does; for live events",
        |policy, settings, _| slo(policy, settings),
    )
    .for_latencies()
    .settings(SLO),
    NamedScheduler::new(
        "slo-replay",
        "as slo, by replaying the last requests under each candidate",
        |policy, settings, _| slo_replay(policy, settings),
    )
    .for_latencies()
    .settings(SLO_REPLAY),
];

/// The settings of `slo`.
const SLO: &[&str] = &["levers=all|guards|moves|none", "promise=MS"];

/// The settings of `slo-replay`.
const SLO_REPLAY: &[&str] = &[
    "levers=all|guards|moves|none",
    "promise=MS",
    "transfer=SHARE",
];

/// What both controllers of latencies share.
fn guarding(settings: &SettingValues<'_>) -> Result<crate::Settings, mapa_core::Error> {
    let levers = match settings.get("levers") {
        Some(levers) => levers.one_of([
            ("all", crate::EnabledLevers::ALL),
            ("guards", crate::EnabledLevers::GUARDS),
            ("moves", crate::EnabledLevers::PLACEMENT),
            ("none", crate::EnabledLevers::NONE),
        ])?,
        None => crate::EnabledLevers::ALL,
    };
    let mut own = crate::Settings::of_one_profile(levers);
    if let Some(promise) = settings.get("promise") {
        let ns = promise.read("milliseconds above 0, at most 3600000", |value| {
            value
                .parse()
                .ok()
                .and_then(|ms: f64| crate::latency_ns(ms).ok())
                .filter(|ns| *ns > 0)
        })?;
        own.promise_ns = ns;
        own.trigger_ns = ns;
    }
    Ok(own)
}

fn slo(
    policy: Box<dyn Policy>,
    settings: &SettingValues<'_>,
) -> Result<BoxedScheduler, mapa_core::Error> {
    Ok(Box::new(crate::SloScheduler::new(
        policy,
        guarding(settings)?,
    )))
}

fn slo_replay(
    policy: Box<dyn Policy>,
    settings: &SettingValues<'_>,
) -> Result<BoxedScheduler, mapa_core::Error> {
    let transfer = match settings.get("transfer") {
        Some(share) => share.read("a share from 0 to 1", |value| {
            value
                .parse()
                .ok()
                .filter(|value| (0.0..=1.0).contains(value))
        })?,
        None => crate::replay::ByReplay::TRANSFER,
    };
    let own = crate::replay::ReplaySettings::around(guarding(settings)?);
    Ok(Box::new(crate::replay::SloReplayScheduler::of_share(
        policy, own, transfer,
    )))
}
