//! Which GPU of the catalogue offers the profiles that were printed.
//!
//! The profiles' numbers, names, places and greatest counts must be the table's. Drivers differ in memory by a few
//! hundredths, so that need only be near. A100 and H100 with 80 GB are alike in all of these: what is left is decided by
//! the streaming multiprocessors, of which more profiles must have the table's than with any other GPU.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use mapa_core::mig::Model;

use crate::dump::MigProfile;
use crate::mig::{Gpu, Offer, ProfileFacts, ProfileKind, catalogue};

/// How far printed memory may be from the table's, of which it is a part.
const MEMORY_TOLERANCE: f64 = 0.025;

static TABLES: LazyLock<Vec<Gpu>> = LazyLock::new(|| catalogue().iter().filter_map(|entry| entry.gpu().ok()).collect());

/// The one GPU that offers these profiles of a device, and its model with no more than they need; `sms` are their streaming
/// multiprocessors, where printed.
pub(super) fn identify(profiles: &[(&MigProfile, Option<u32>)]) -> Option<(&'static Gpu, Arc<Model>)> {
    let mut best: Option<(&'static Gpu, usize)> = None;
    let mut tied = false;
    for gpu in TABLES.iter().filter(|gpu| offers(gpu, profiles)) {
        let alike = profiles.iter().filter(|(profile, sms)| has_sms(gpu, profile, *sms)).count();
        match best.map_or(Ordering::Greater, |(_, most)| alike.cmp(&most)) {
            Ordering::Greater => (best, tied) = (Some((gpu, alike)), false),
            Ordering::Equal => tied = true,
            Ordering::Less => {}
        }
    }
    let (gpu, _) = best.filter(|_| !tied && !profiles.is_empty())?;
    Some((gpu, gpu.model(offer(gpu, profiles)).ok()?))
}

fn offers(gpu: &Gpu, profiles: &[(&MigProfile, Option<u32>)]) -> bool {
    profiles.iter().all(|(profile, _)| facts(gpu, profile).is_some_and(|facts| fits(facts, profile)))
}

fn facts<'a>(gpu: &'a Gpu, profile: &MigProfile) -> Option<&'a ProfileFacts> {
    gpu.profiles.iter().find(|facts| u32::from(facts.id) == profile.id)
}

fn fits(facts: &ProfileFacts, profile: &MigProfile) -> bool {
    let near = |gib: f64| (gib - facts.memory_gib).abs() <= facts.memory_gib * MEMORY_TOLERANCE;
    profile.name.as_ref().is_none_or(|name| *name == facts.name)
        && profile.free_of_total.is_none_or(|(_, total)| total == u32::from(facts.max_instances))
        && profile.memory_gib.is_none_or(near)
        && profile
            .placements
            .as_ref()
            .is_none_or(|(starts, size)| *starts == facts.starts && *size == facts.memory_slices)
}

fn has_sms(gpu: &Gpu, profile: &MigProfile, sms: Option<u32>) -> bool {
    sms.is_some() && facts(gpu, profile).is_some_and(|facts| facts.sms.map(u32::from) == sms)
}

fn offer(gpu: &Gpu, profiles: &[(&MigProfile, Option<u32>)]) -> Offer {
    let has = |kind| profiles.iter().any(|(profile, _)| facts(gpu, profile).is_some_and(|facts| facts.kind == kind));
    Offer { media: has(ProfileKind::Media), double_memory: has(ProfileKind::DoubleMemory) }
}
