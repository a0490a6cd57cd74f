//! Whole layouts: which instances a device shall have, and the starts that give them room.

use serde::{Deserialize, Serialize};

use super::control::{MigOffer, MigPlace, MigState};
use crate::levers::error::LeverError;

/// The layout that a device shall have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigLayout {
    /// Whether MIG shall be on.
    pub enabled: bool,
    /// All instances that the device shall have; none unless MIG is on.
    #[serde(default)]
    pub instances: Vec<MigInstanceSpec>,
}

/// An instance that a device shall have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigInstanceSpec {
    /// The profile: `3g.20gb`.
    pub profile: String,
    /// The first memory slice; wherever there is room, if `None`.
    #[serde(default)]
    pub start: Option<u32>,
    /// The compute slices of its compute instances; one with all slices, if empty.
    #[serde(default)]
    pub compute: Vec<u32>,
}

impl MigInstanceSpec {
    /// An instance with one compute instance, wherever there is room.
    #[must_use]
    pub fn of(profile: impl Into<String>) -> Self {
        Self {
            profile: profile.into(),
            start: None,
            compute: Vec::new(),
        }
    }
}

/// What has to be done to a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) mode: Option<bool>,
    pub(crate) destroy: Vec<MigPlace>,
    pub(crate) create: Vec<MigPlace>,
}

/// The most instances of a layout. A device has at most seven; one more is refused with its number.
const MOST: usize = 16;

/// The changes from a state to a layout. Instances that are in both stay where they are, as many as is
/// possible; the rest get the first starts at which all fit, the smallest the last ones.
///
/// # Complexity
/// At most the product of the starts of each wish: 7! for seven of the smallest profile, less by what stays.
pub(crate) fn changes(
    state: &MigState,
    layout: &MigLayout,
    offers: &[MigOffer],
) -> Result<Changes, LeverError> {
    if !layout.enabled {
        if !layout.instances.is_empty() {
            return Err(LeverError::infeasible(
                "a layout with instances",
                "expected mig-enabled: true, since MIG is off in it",
            ));
        }
        return Ok(Changes {
            mode: state.enabled.then_some(false),
            destroy: state.instances.clone(),
            create: Vec::new(),
        });
    }
    let wanted = wishes(layout, offers)?;
    let mut places = arrange(&wanted, &state.instances).ok_or_else(|| {
        LeverError::infeasible(print(layout), "its instances do not fit together")
    })?;
    places.sort();
    let stays = |place: &MigPlace, among: &[MigPlace]| among.contains(place);
    Ok(Changes {
        mode: (!state.enabled).then_some(true),
        destroy: state
            .instances
            .iter()
            .filter(|instance| !stays(instance, &places))
            .cloned()
            .collect(),
        create: places
            .into_iter()
            .filter(|place| !stays(place, &state.instances))
            .collect(),
    })
}

/// The profiles of a layout in words.
pub(crate) fn print(layout: &MigLayout) -> String {
    let names: Vec<String> = layout
        .instances
        .iter()
        .map(|wish| match wish.start {
            Some(start) => format!("{}:{start}", wish.profile),
            None => wish.profile.clone(),
        })
        .collect();
    format!("the layout [{}]", names.join(", "))
}

/// A wish, what the device offers for it, and its compute instances.
type ResolvedInstance<'a> = (&'a MigInstanceSpec, &'a MigOffer, Vec<u32>);

/// Each wish with what the device offers for it, all checked.
fn wishes<'a>(
    layout: &'a MigLayout,
    offers: &'a [MigOffer],
) -> Result<Vec<ResolvedInstance<'a>>, LeverError> {
    if layout.instances.len() > MOST {
        return Err(LeverError::OutOfBounds {
            bound: "instances of a device".to_owned(),
            value: format!("{} instances", layout.instances.len()),
            expected: format!("0 to {MOST} instances"),
        });
    }
    let mut wanted = Vec::with_capacity(layout.instances.len());
    for wish in &layout.instances {
        let offer = offers.iter().find(|offer| offer.name == wish.profile);
        let offer = offer.ok_or_else(|| {
            let names: Vec<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
            let names = names.join(", ");
            LeverError::infeasible(
                format!("profile {}", wish.profile),
                format!("expected one of {names}"),
            )
        })?;
        if let Some(start) = wish.start.filter(|start| !offer.starts.contains(start)) {
            return Err(LeverError::infeasible(
                format!("{} at {start}", wish.profile),
                format!("expected a start of {:?}", offer.starts),
            ));
        }
        let count = layout
            .instances
            .iter()
            .filter(|instance| instance.profile == wish.profile)
            .count();
        // The search below would refuse it too, but could only say that the instances do not fit.
        if count > offer.most as usize {
            return Err(LeverError::infeasible(
                format!("{count} instances of {}", wish.profile),
                format!("expected at most {}", offer.most),
            ));
        }
        wanted.push((wish, offer, compute_of(wish, offer)?));
    }
    Ok(wanted)
}

/// The compute instances of a wish, checked against the slices of its profile.
fn compute_of(wish: &MigInstanceSpec, offer: &MigOffer) -> Result<Vec<u32>, LeverError> {
    if wish.compute.is_empty() {
        return Ok(vec![offer.compute_slices]);
    }
    let sum: u32 = wish
        .compute
        .iter()
        .fold(0, |sum, slices| sum.saturating_add(*slices));
    if wish.compute.contains(&0) || sum > offer.compute_slices {
        return Err(LeverError::infeasible(
            format!("compute instances {:?} of {}", wish.compute, wish.profile),
            format!("expected 1 to {} slices in all", offer.compute_slices),
        ));
    }
    let mut compute = wish.compute.clone();
    // The largest first: that is the order of starts which leaves each of them a legal one.
    compute.sort_unstable_by(|a, b| b.cmp(a));
    Ok(compute)
}

/// Places for all wishes. First each wish takes an instance that exists and is as wished; if the rest then
/// has no room, everything is arranged anew.
fn arrange(wanted: &[ResolvedInstance<'_>], existing: &[MigPlace]) -> Option<Vec<MigPlace>> {
    let mut places: Vec<Option<MigPlace>> = vec![None; wanted.len()];
    let mut free: Vec<&MigPlace> = existing.iter().collect();
    // Wishes with a start choose before those without, or these would take what those need.
    for with_start in [true, false] {
        for (at, (wish, _, compute)) in wanted.iter().enumerate() {
            if wish.start.is_some() != with_start {
                continue;
            }
            let its = free.iter().position(|place| {
                place.profile == wish.profile
                    && place.compute == *compute
                    && wish.start.is_none_or(|start| start == place.start)
            });
            places[at] = its.map(|its| free.remove(its).clone());
        }
    }
    let kept = places.clone();
    if search(wanted, &mut places) {
        return places.into_iter().collect();
    }
    // What exists may be in the way: give up kept places of wishes without a start.
    let mut anew: Vec<Option<MigPlace>> = kept
        .into_iter()
        .zip(wanted)
        .map(|(place, (wish, ..))| place.filter(|_| wish.start.is_some()))
        .collect();
    search(wanted, &mut anew).then(|| anew.into_iter().flatten().collect())
}

/// Fills the places that are open, the largest wish first, by trying every start.
fn search(wanted: &[ResolvedInstance<'_>], places: &mut [Option<MigPlace>]) -> bool {
    let open = (0..wanted.len()).filter(|&at| places[at].is_none());
    // Wishes with a start first, then the largest: they have the fewest places to choose from.
    let Some(at) = open.max_by_key(|&at| (wanted[at].0.start.is_some(), wanted[at].1.size)) else {
        return true;
    };
    let (wish, offer, compute) = &wanted[at];
    // The smallest go to the end, so that larger ones find room at the starts that they are bound to.
    let mut starts = offer.starts.clone();
    if offer.size == 1 {
        starts.reverse();
    }
    for start in starts {
        if wish.start.is_some_and(|candidate| candidate != start) {
            continue;
        }
        let end = start + offer.size;
        let taken = places
            .iter()
            .flatten()
            .any(|place| place.start < end && start < place.start + place.size);
        if taken {
            continue;
        }
        places[at] = Some(MigPlace {
            start,
            size: offer.size,
            profile: wish.profile.clone(),
            compute: compute.clone(),
        });
        if search(wanted, places) {
            return true;
        }
        places[at] = None;
    }
    false
}
