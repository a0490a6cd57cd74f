//! The schedulers of the system on instances that jobs share (CASE), by name.

use mapa_core::Policy;

use crate::{
    Case, CaseOrder, CaseSettings, ClassDivision, ContextMemory, Growers, MemoryFit,
    ProcessBinding, SlurmMig,
};
use mapa_sched::{BoxedScheduler, NamedScheduler, SettingValues};

/// The schedulers of this system.
pub const SCHEDULERS: [NamedScheduler; 3] = [
    NamedScheduler::new(
        "case",
        "isolated jobs have an instance each; the tasks of all others share instances, as CASE packs them",
        |policy, settings, _| case(CaseSettings::CORRECTED, "case", policy, settings),
    )
    .places_tasks()
    .settings(CASE),
    NamedScheduler::new(
        "case-balanced",
        "as case; divides instances between both classes, drains and re-provisions them",
        |policy, settings, _| {
            case(CaseSettings::BALANCED, "case-balanced", policy, settings)
        },
    )
    .places_tasks()
    .settings(CASE),
    NamedScheduler::new(
        "slurm-mig",
        "the baseline of case: every job has the smallest instance that holds it, for life",
        |policy, settings, _| slurm_mig(policy, settings),
    )
    .places_tasks()
    .settings(&["head=pass|block", "fit=below|up-to"]),
];

/// The settings of `case` and `case-balanced`.
const CASE: &[&str] = &[
    "bind=once|free",
    "growers=one|any",
    "fit=below|up-to",
    "context=MB",
    "workers=N",
    "classes=isolated-first|others-first|balance",
    "drain=on|off",
    "isolated=arrival|longest|shortest",
    "others=arrival|longest|shortest",
    "reprovision=on|off",
];

fn case(
    mut own: CaseSettings,
    name: &str,
    policy: Box<dyn Policy>,
    settings: &SettingValues<'_>,
) -> Result<BoxedScheduler, mapa_core::Error> {
    if let Some(bind) = settings.get("bind") {
        own.binding = bind.one_of(ProcessBinding::ALL)?;
    }
    if let Some(growers) = settings.get("growers") {
        own.growers = growers.one_of(Growers::ALL)?;
    }
    if let Some(fit) = settings.get("fit") {
        own.fit = fit.one_of(MemoryFit::ALL)?;
    }
    if let Some(context) = settings.get("context") {
        // Decimal megabytes, as the default is given.
        own.context = ContextMemory::fixed(context.whole::<u32>().map(u64::from)? * 1_000_000);
    }
    if let Some(workers) = settings.get("workers") {
        own.workers = workers.read("a whole number above 0", |value| {
            value.parse().ok().filter(|&workers: &u32| workers > 0)
        })?;
    }
    if let Some(classes) = settings.get("classes") {
        own.classes = classes.one_of(ClassDivision::ALL)?;
    }
    if let Some(drain) = settings.get("drain") {
        own.drain = drain.on_or_off("on, off")?;
    }
    if let Some(order) = settings.get("isolated") {
        own.isolated = order.one_of(CaseOrder::ALL)?;
    }
    if let Some(order) = settings.get("others") {
        own.others = order.one_of(CaseOrder::ALL)?;
    }
    if let Some(reprovision) = settings.get("reprovision") {
        own.reprovision = reprovision.on_or_off("on, off")?;
    }
    Ok(Box::new(Case::new(own, policy).named(name)))
}

/// The settings of `slurm-mig`.
fn slurm_mig(
    policy: Box<dyn Policy>,
    settings: &SettingValues<'_>,
) -> Result<BoxedScheduler, mapa_core::Error> {
    let mut own = SlurmMig::new(policy);
    if let Some(head) = settings.get("head") {
        own = own.blocking(head.one_of([("pass", false), ("block", true)])?);
    }
    if let Some(fit) = settings.get("fit") {
        own = own.fit(fit.one_of(MemoryFit::ALL)?);
    }
    Ok(Box::new(own))
}
