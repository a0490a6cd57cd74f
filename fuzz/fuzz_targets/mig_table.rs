//! Any table is a model or refused; on a model every layout is legal, and what fits one by one fits
//! at once.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_core::mig::{Layout, Model, Profile, ProfileId, Size};

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

fuzz_target!(|data: (u8, u8, Vec<u8>, Vec<u8>)| {
    let (compute, memory, rows, wishes) = data;
    let Ok(model) = Model::new("fuzz", Size::new(compute, memory), table(&rows)) else {
        return;
    };
    let mut layout = Layout::whole();
    for wish in wishes.into_iter().take(16) {
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
});
