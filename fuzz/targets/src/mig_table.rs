//! Any table is a model or refused; on a model every layout is legal, and what fits one by one fits
//! at once. Of small models the layouts are those that the definition enumerates.

use std::collections::BTreeSet;

use mapa_core::mig::{Instance, Layout, Model, Profile, ProfileId, Size};

/// Rows of compute slices, memory slices, maximum and the starts as bits.
fn table(rows: &[u8]) -> Vec<Profile> {
    let row = |(i, row): (usize, &[u8])| Profile {
        name: format!("p{i}"),
        size: Size::new(row[0], row[1]),
        memory_bytes: u64::from(row[1]) << 30,
        starts: (0..8).filter(|bit| row[3] >> bit & 1 == 1).collect(),
        max_instances: row[2],
    };
    rows.chunks_exact(4).enumerate().map(row).collect()
}

/// Whether instances may exist at once, from the definition: no slice twice, and no profile more often than it may be.
fn is_legal(model: &Model, instances: &[Instance]) -> bool {
    let slices: Vec<u8> = instances
        .iter()
        .flat_map(|&instance| model.span(instance))
        .collect();
    let apart = slices.iter().collect::<BTreeSet<_>>().len() == slices.len();
    let count = |id: usize| {
        instances
            .iter()
            .filter(|instance| usize::from(instance.profile.0) == id)
            .count()
    };
    let few = model.profiles().iter().enumerate();
    apart && { few }.all(|(id, profile)| count(id) <= usize::from(profile.max_instances))
}

/// A model lists every legal layout but the empty one, in order, and knows how often a profile still fits.
fn enumerate(model: &Model) {
    let mut every: Vec<Vec<Instance>> = vec![Vec::new()];
    for &instance in model.instances() {
        for at in 0..every.len() {
            let wider = [every[at].as_slice(), &[instance]].concat();
            if is_legal(model, &wider) {
                every.push(wider);
            }
        }
    }
    every.sort_unstable();
    let listed: Vec<Vec<Instance>> = model
        .layouts()
        .map(|layout| layout.instances().to_vec())
        .collect();
    assert_eq!(listed, every[1..]);
    for layout in model.layouts() {
        for id in (0..model.profiles().len() as u8).map(ProfileId) {
            let count = |instances: &[Instance]| {
                instances
                    .iter()
                    .filter(|instance| instance.profile == id)
                    .count()
            };
            let holds = |other: &&Vec<Instance>| {
                layout
                    .instances()
                    .iter()
                    .all(|instance| other.contains(instance))
            };
            let most = every.iter().filter(holds).map(|other| count(other)).max();
            let room = most.expect("it holds itself") - count(layout.instances());
            assert_eq!(model.room(&layout, id).expect("it is of this model"), room);
        }
    }
}

/// One input.
pub fn run(data: &[u8]) {
    let &[compute, memory, ref rest @ ..] = data else {
        return;
    };
    let (rows, wishes) = rest.split_at(rest.len() / 8 * 4);
    let Ok(model) = Model::new("fuzz", Size::new(compute, memory), table(rows)) else {
        return;
    };
    if model.instances().len() <= 9 {
        enumerate(&model);
    }
    let mut layout = Layout::whole();
    for wish in wishes.iter().copied().take(16) {
        let profile = ProfileId(wish);
        match model.create(&layout, profile) {
            Ok((next, instance)) => {
                assert!(next.has(instance) && !layout.has(instance));
                let wanted: Vec<_> = next
                    .instances()
                    .iter()
                    .map(|instance| instance.profile)
                    .collect();
                assert!(
                    model.fit(&wanted).is_some(),
                    "what was created one by one fits at once"
                );
                // Quadratic in the layouts.
                if model.layouts().len() < 1000 {
                    let share = model
                        .fragmentation(&next)
                        .expect("it is a layout of this model");
                    assert!((0.0..=1.0).contains(&share));
                }
                layout = next;
            }
            Err(_) => assert!(model.room(&layout, profile).map_or(true, |room| room == 0)),
        }
        if let Some(&first) = layout.instances().first().filter(|_| wish & 1 == 1) {
            layout = model.destroy(&layout, first).expect("it is there");
        }
    }
}
