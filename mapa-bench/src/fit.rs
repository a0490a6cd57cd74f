//! Whether and how wanted instances lie on one GPU.

use mapa_core::mig::{Layout, Model, ProfileId};
use mapa_topologies::mig::{Gpu, Offer, ProfileKind};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// The profiles that the words of an option mean.
pub(crate) fn wanted(
    option: &str,
    words: &str,
    gpu: &Gpu,
    offer: Offer,
    model: &Model,
) -> Result<Vec<ProfileId>, Failure> {
    let names = || gpu.offered(offer).map(|profile| profile.name.as_str()).collect::<Vec<_>>().join(", ");
    let find = |word: &str| {
        if word.trim().is_empty() {
            let what = format_args!("{option} `{words}`: expected profiles, separated by commas, of {}", names());
            return Err(Failure::malformed(what));
        }
        model.find(word).map_err(|unknown| match not_offered(word, gpu) {
            Some((name, option)) => Failure::malformed(format_args!("{} has {name} only with {option}", gpu.name)),
            None => Failure::malformed(unknown),
        })
    };
    words.split(',').map(find).collect()
}

/// A profile that the GPU has, and the option that offers it.
fn not_offered<'a>(word: &str, gpu: &'a Gpu) -> Option<(&'a str, &'static str)> {
    let profile = gpu.profiles.iter().find(|profile| profile.name.eq_ignore_ascii_case(word.trim()))?;
    match profile.kind {
        ProfileKind::Plain => None,
        ProfileKind::DoubleMemory => Some((&profile.name, "--double-memory")),
        ProfileKind::Media => Some((&profile.name, "--media")),
    }
}

/// How the wanted profiles can lie, or why they cannot.
pub(crate) fn fit(model: &Model, wanted: &[ProfileId]) -> Result<Layout, String> {
    model.fit(wanted).ok_or_else(|| {
        let best = model.best_layout(&Layout::whole(), &[], wanted);
        let most = best.and_then(|best| Ok((model.serves(&best, &[], wanted)?, model.print(&best))));
        let most = most.map_or_else(
            |_| String::new(),
            |(served, layout)| format!("; at most {served} of the {} can be had at once, as in {layout}", wanted.len()),
        );
        why_not(model, wanted) + &most
    })
}

fn why_not(model: &Model, wanted: &[ProfileId]) -> String {
    let count = |profile| wanted.iter().filter(|&&other| other == profile).count();
    let too_many = wanted.iter().find(|&&profile| count(profile) > usize::from(model.profile(profile).max_instances));
    if let Some(&id) = too_many {
        let profile = model.profile(id);
        let (name, most) = (&profile.name, profile.max_instances);
        return format!("{} of {name} are wanted, at most {most} may exist", count(id));
    }
    let sizes = || wanted.iter().map(|&profile| model.profile(profile).size);
    let memory: usize = sizes().map(|size| usize::from(size.memory)).sum();
    let compute: usize = sizes().map(|size| usize::from(size.compute)).sum();
    let device = model.size();
    if memory > usize::from(device.memory) {
        format!("they take {memory} memory slices, the GPU has {}", device.memory)
    } else if compute > usize::from(device.compute) {
        format!("they take {compute} compute slices, the GPU has {}", device.compute)
    } else {
        "two of them overlap on the grid, whichever of their starts they get".to_owned()
    }
}

/// The answer to whether they fit, as an object.
pub(crate) fn fit_json(gpu: &Gpu, model: &Model, fit: &Result<Layout, String>) -> Map<String, Value> {
    let mut answer = Map::new();
    answer.insert("gpu".to_owned(), json!(gpu.name));
    answer.insert("fit".to_owned(), fit.as_ref().map_or(Value::Null, |layout| instances(model, layout)));
    answer.insert("reason".to_owned(), json!(fit.as_ref().err()));
    answer
}

/// The refusal of what does not fit: its answer, with the key that refusals have.
pub(crate) fn no_fit(mut answer: Map<String, Value>) -> Failure {
    answer.insert("refusal".to_owned(), json!("infeasible"));
    Failure::NoFit(answer)
}

pub(crate) fn instances(model: &Model, layout: &Layout) -> Value {
    let instance = |instance: &mapa_core::mig::Instance| json!({ "profile": model.profile(instance.profile).name, "start": instance.start });
    json!(layout.instances().iter().map(instance).collect::<Vec<_>>())
}
