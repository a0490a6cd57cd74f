//! Finds the GPU in the catalogue that offers the printed profiles.
//!
//! Ids, placements and largest counts of the profiles must equal those in the GPU's table. Memory may differ by a few
//! hundredths, and so may the memory in a name (`3g.39gb`) where no GPU has the name, as both depend on the driver. A100 and H100 with 80 GB are
//! equal in all of these. If several GPUs remain, the numbers of streaming multiprocessors decide:
//! the GPU that agrees in the most profiles is chosen, and a tie gives no GPU.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use mapa_core::mig::Model;

use crate::dump::MigProfile;
use crate::mig::{Gpu, Offer, ProfileFacts, ProfileKind, catalogue, is_of_shape};

/// The largest difference between printed memory and the table's, as a fraction of the table's.
const MEMORY_TOLERANCE: f64 = 0.025;

static TABLES: LazyLock<Vec<Gpu>> = LazyLock::new(|| {
    catalogue()
        .iter()
        .filter_map(|entry| entry.gpu().ok())
        .collect()
});

/// The only GPU that offers these profiles of one device, and its MIG model with only the options
/// that the profiles need. Each profile comes with its number of streaming multiprocessors, if
/// printed.
pub(super) fn identify(
    profiles: &[(&MigProfile, Option<u32>)],
) -> Option<(&'static Gpu, Arc<Model>)> {
    let named: fn(&str, &str) -> bool = |name, other| name == other;
    identify_by(profiles, named).or_else(|| identify_by(profiles, is_of_shape))
}

/// The only GPU that offers these profiles, by which names of profiles are alike.
fn identify_by(
    profiles: &[(&MigProfile, Option<u32>)],
    alike: fn(&str, &str) -> bool,
) -> Option<(&'static Gpu, Arc<Model>)> {
    let mut best: Option<(&'static Gpu, usize)> = None;
    let mut tied = false;
    for gpu in TABLES.iter().filter(|gpu| offers(gpu, profiles, alike)) {
        let agree = profiles
            .iter()
            .filter(|(profile, sms)| has_sms(gpu, profile, *sms))
            .count();
        match best.map_or(Ordering::Greater, |(_, most)| agree.cmp(&most)) {
            Ordering::Greater => (best, tied) = (Some((gpu, agree)), false),
            Ordering::Equal => tied = true,
            Ordering::Less => {}
        }
    }
    let (gpu, _) = best.filter(|_| !tied && !profiles.is_empty())?;
    Some((gpu, gpu.model(offer(gpu, profiles)).ok()?))
}

fn offers(
    gpu: &Gpu,
    profiles: &[(&MigProfile, Option<u32>)],
    alike: fn(&str, &str) -> bool,
) -> bool {
    profiles
        .iter()
        .all(|(profile, _)| facts(gpu, profile).is_some_and(|facts| fits(facts, profile, alike)))
}

fn facts<'a>(gpu: &'a Gpu, profile: &MigProfile) -> Option<&'a ProfileFacts> {
    gpu.profiles
        .iter()
        .find(|facts| u32::from(facts.id) == profile.id)
}

fn fits(facts: &ProfileFacts, profile: &MigProfile, alike: fn(&str, &str) -> bool) -> bool {
    let near = |gib: f64| (gib - facts.memory_gib).abs() <= facts.memory_gib * MEMORY_TOLERANCE;
    (profile.name.as_ref()).is_none_or(|name| alike(name, &facts.name))
        && profile
            .free_of_total
            .is_none_or(|(_, total)| total == u32::from(facts.max_instances))
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
    let has = |kind| {
        profiles
            .iter()
            .any(|(profile, _)| facts(gpu, profile).is_some_and(|facts| facts.kind == kind))
    };
    Offer {
        media: has(ProfileKind::Media),
        double_memory: has(ProfileKind::DoubleMemory),
    }
}
