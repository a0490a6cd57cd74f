//! Whether wanted MIG instances fit on one GPU, and where.

use mapa_core::mig::{Layout, Model, ProfileId};
use mapa_topologies::mig::{Gpu, Offer, ProfileKind};

use crate::error::Error;

/// The profiles that an option lists, separated by commas.
///
/// # Errors
///
/// If a profile is unknown, empty, or not among those offered.
pub fn wanted(
    option: &str,
    words: &str,
    gpu: &Gpu,
    offer: Offer,
    model: &Model,
) -> Result<Vec<ProfileId>, Error> {
    let mut profiles = Vec::new();
    for word in words.split(',') {
        if word.trim().is_empty() {
            let names: Vec<&str> = gpu
                .offered(offer)
                .map(|profile| profile.name.as_str())
                .collect();
            return Err(Error::malformed(format_args!(
                "{option} `{words}`: expected profiles, separated by commas, of {}",
                names.join(", ")
            )));
        }
        let found = model
            .find(word)
            .map_err(|unknown| match not_offered(word, gpu) {
                Some((name, option)) => {
                    Error::malformed(format_args!("{} has {name} only with {option}", gpu.name))
                }
                None => Error::malformed(unknown),
            });
        profiles.push(found?);
    }
    Ok(profiles)
}

/// A profile that the GPU has but that is not offered by default, and the option that offers it.
fn not_offered<'a>(word: &str, gpu: &'a Gpu) -> Option<(&'a str, &'static str)> {
    let profile = gpu
        .profiles
        .iter()
        .find(|profile| profile.name.eq_ignore_ascii_case(word.trim()))?;
    match profile.kind {
        ProfileKind::Plain => None,
        ProfileKind::DoubleMemory => Some((&profile.name, "--double-memory")),
        ProfileKind::Media => Some((&profile.name, "--media")),
    }
}

/// A layout that has the wanted profiles.
///
/// # Errors
/// The reason why there is none.
pub fn fit(model: &Model, wanted: &[ProfileId]) -> Result<Layout, String> {
    let profiles = model.profiles().len();
    if let Some(id) = wanted.iter().find(|id| usize::from(id.0) >= profiles) {
        return Err(format!("profile {}: expected an id below {profiles}", id.0));
    }
    if let Some(layout) = model.fit(wanted) {
        return Ok(layout);
    }
    let mut reason = why_not(model, wanted);
    // The largest part of the request that fits shows what to leave out.
    if let Ok(best) = model.best_layout(&Layout::whole(), &[], wanted)
        && let Ok(served) = model.serves(&best, &[], wanted)
    {
        reason += &format!(
            "; at most {served} of the {} can exist at once, as in {}",
            wanted.len(),
            model.print(&best)
        );
    }
    Err(reason)
}

/// Why the profiles cannot exist at once: too many of one kind, too few slices in all, or no way to
/// place them on the grid.
fn why_not(model: &Model, wanted: &[ProfileId]) -> String {
    // From the plainest reason to the last: the first that holds is the one to tell.
    for &id in wanted {
        let profile = model.profile(id);
        let count = wanted.iter().filter(|&&other| other == id).count();
        let (name, most) = (&profile.name, profile.max_instances);
        if count > usize::from(most) {
            return format!("{count} of {name} are wanted, at most {most} may exist");
        }
    }
    let (mut memory, mut compute) = (0, 0);
    for &id in wanted {
        let size = model.profile(id).size;
        memory += usize::from(size.memory);
        compute += usize::from(size.compute);
    }
    let device = model.size();
    if memory > usize::from(device.memory) {
        format!(
            "they take {memory} memory slices, the GPU has {}",
            device.memory
        )
    } else if compute > usize::from(device.compute) {
        format!(
            "they take {compute} compute slices, the GPU has {}",
            device.compute
        )
    } else {
        "wherever they start, two of them overlap on the grid of memory slices".to_owned()
    }
}
