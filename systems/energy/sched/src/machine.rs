//! GPUs with the layouts that they have.

use super::placement::SlotPlacement;
use crate::error::{Error, ErrorKind};
use mapa_sched::slices::Power;
use mapa_sched::slices::class_of;

/// Between the number of GPUs and the time that an instance takes, where GPUs are repartitioned.
const ANY: &str = " x any, created in ";
const MINUTES: &str = " min";
/// A word that says how many GPUs there are must not take all memory.
const MOST_GPUS: usize = 1_000_000;

/// GPUs with their slices. Slices are numbered GPU by GPU. Either each GPU is partitioned once, and
/// its slices are those of its layout, in the order of the layout. Or it is repartitioned while jobs
/// run, and its slices are all [placements](SlotPlacement::ALL), of which only some exist at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct SlicedGpus {
    sizes: Vec<u8>,
    classes: Vec<u8>,
    gpus: Vec<u32>,
    slices: Vec<std::ops::Range<u32>>,
    /// For each slice, those of its GPU on which nothing may run beside it, itself too: bits by
    /// position on the GPU.
    conflicts: Vec<u16>,
    creation: Option<f64>,
    power: Power,
}

impl SlicedGpus {
    /// The eight A100s of Hisaria et al., by their code: 20 slices.
    pub const PUBLISHED: &'static str = "7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1";

    /// The best layouts of eight A100s that a coordinate descent over 14 layouts found for
    /// [`EnergyPlan`](super::EnergyPlan) on the published load. No bound says how far others lie.
    pub const SEARCHED: &'static str = "3,2,2 | 7 | 4,3 | 4,3 | 4,2,1 | 3,2,2 | 3,2,2 | 3,2,1,1";

    /// No GPU.
    pub(super) fn none() -> Self {
        Self::empty(Power::A100)
    }

    fn empty(power: Power) -> Self {
        Self {
            sizes: Vec::new(),
            classes: Vec::new(),
            gpus: Vec::new(),
            slices: Vec::new(),
            conflicts: Vec::new(),
            creation: None,
            power,
        }
    }

    /// Adds a slice of one of the sizes of jobs to the last GPU.
    fn push(&mut self, size: u8, conflicts: u16) {
        self.sizes.push(size);
        self.classes.push(class_of(size).unwrap_or_default() as u8);
        self.gpus.push(self.slices.len() as u32);
        self.conflicts.push(conflicts);
    }

    /// GPUs of this power with these layouts: the sizes of a GPU's slices with commas between them,
    /// GPUs with bars between them.
    ///
    /// # Errors
    /// A size other than 1, 2, 3, 4 or 7, or a GPU with none or with more than seven slices in sum.
    pub fn new(layouts: &str, power: Power) -> Result<Self, Error> {
        let mut gpus = Vec::new();
        for (gpu, layout) in layouts.split('|').enumerate() {
            let mut sizes: Vec<u8> = Vec::new();
            for word in layout.split(',').map(str::trim) {
                let size = word.parse().ok().filter(|&size| class_of(size).is_some());
                let Some(size) = size else {
                    let what = format!(
                        "layout of GPU {gpu}: `{word}`: expected sizes of 1, 2, 3, 4 or 7 with commas between them, \
                         such as 4,2,1"
                    );
                    return Err(ErrorKind::BadSliceMachine(what).into());
                };
                sizes.push(size);
            }
            gpus.push(sizes);
        }
        Self::of(gpus, power)
    }

    /// GPUs of this power, each with slices of these sizes; a GPU may have none.
    ///
    /// # Errors
    /// A size other than 1, 2, 3, 4 or 7, or a GPU with more than seven slices in sum.
    pub fn of(
        gpus: impl IntoIterator<Item = impl IntoIterator<Item = u8>>,
        power: Power,
    ) -> Result<Self, Error> {
        let mut machine = Self::empty(power);
        for (gpu, layout) in gpus.into_iter().enumerate() {
            let first = machine.sizes.len() as u32;
            let mut sum = 0_u32;
            for (at, size) in layout.into_iter().enumerate() {
                if class_of(size).is_none() {
                    let what = format!("GPU {gpu}: a slice of {size}: expected 1, 2, 3, 4 or 7");
                    return Err(ErrorKind::BadSliceMachine(what).into());
                }
                sum += u32::from(size);
                // More than seven are refused below.
                machine.push(size, 1 << at.min(15));
            }
            if sum > 7 {
                let what = format!("layout of GPU {gpu}: {sum} compute slices: expected at most 7");
                return Err(ErrorKind::BadSliceMachine(what).into());
            }
            machine.slices.push(first..machine.sizes.len() as u32);
        }
        Ok(machine)
    }

    /// A100s of this power that are repartitioned while jobs run. Each has all
    /// [placements](SlotPlacement::ALL) as slices, of which none exists at first. A slice is free if
    /// nothing runs on its memory slots. To start a job on a free slice that does not exist destroys
    /// the idle instances in its way and creates it. The job begins `creation_minutes` later, and
    /// its compute slices draw power from the start. Instances that nothing needs to be destroyed
    /// for are kept.
    ///
    /// # Errors
    /// No GPU, or more than a million; a time that is not finite or below 0.
    pub fn flexible(gpus: usize, power: Power, creation_minutes: f64) -> Result<Self, Error> {
        if gpus == 0 || !(creation_minutes.is_finite() && creation_minutes >= 0.0) {
            let what = format!(
                "{gpus} GPUs that are repartitioned in {creation_minutes} minutes: expected one GPU or more, \
                 and minutes of 0 or more"
            );
            return Err(ErrorKind::BadSliceMachine(what).into());
        }
        if gpus > MOST_GPUS {
            let what = format!("{gpus} GPUs: expected at most {MOST_GPUS}");
            return Err(ErrorKind::BadSliceMachine(what).into());
        }
        let mut machine = Self::empty(power);
        machine.creation = Some(creation_minutes);
        for _ in 0..gpus {
            let first = machine.sizes.len() as u32;
            for placement in SlotPlacement::ALL {
                machine.push(placement.size, placement.conflicts());
            }
            machine.slices.push(first..machine.sizes.len() as u32);
        }
        Ok(machine)
    }

    /// The layouts, in the form in which [`SlicedGpus::new`] takes them. Where GPUs are repartitioned:
    /// how many there are and how long it takes, such as `8 x any, created in 0.01 min`.
    #[must_use]
    pub fn layouts(&self) -> String {
        if let Some(minutes) = self.creation {
            return format!("{}{ANY}{minutes}{MINUTES}", self.gpu_count());
        }
        let of_gpu = |gpu: u32| {
            let sizes = self.sizes[self.slices_of(gpu)].iter().map(u8::to_string);
            sizes.collect::<Vec<_>>().join(",")
        };
        let all: Vec<String> = (0..self.gpu_count() as u32).map(of_gpu).collect();
        all.join(" | ")
    }

    /// How many slices these layouts have, if they are sound. No memory is taken for them.
    pub(super) fn slices_in(layouts: &str) -> usize {
        match layouts.split_once(ANY) {
            Some((gpus, _)) => gpus.parse().map_or(0, |gpus: usize| {
                gpus.saturating_mul(SlotPlacement::ALL.len())
            }),
            None => layouts.split([',', '|']).count(),
        }
    }

    /// The machine with these [layouts](SlicedGpus::layouts), in either form.
    ///
    /// # Errors
    /// As [`SlicedGpus::new`] and [`SlicedGpus::flexible`].
    pub fn of_layouts(layouts: &str, power: Power) -> Result<Self, Error> {
        let Some((gpus, minutes)) = layouts.split_once(ANY) else {
            return Self::new(layouts, power);
        };
        let gpus = gpus.parse().ok();
        let minutes = minutes
            .strip_suffix(MINUTES)
            .and_then(|text| text.parse().ok());
        let (Some(gpus), Some(minutes)) = (gpus, minutes) else {
            let what = format!("layouts `{layouts}`: expected such as 8{ANY}0.01{MINUTES}");
            return Err(ErrorKind::BadSliceMachine(what).into());
        };
        Self::flexible(gpus, power, minutes)
    }

    /// The size of each slice, in compute slices.
    #[must_use]
    pub fn sizes(&self) -> &[u8] {
        &self.sizes
    }

    /// The GPU of each slice.
    #[must_use]
    pub fn gpus(&self) -> &[u32] {
        &self.gpus
    }

    /// The position of its largest size in [`SIZES`](super::SIZES).
    pub(super) fn largest_class(&self) -> usize {
        let largest = self.sizes.iter().copied().max();
        largest.and_then(class_of).unwrap_or_default()
    }

    /// How long the creation of an instance takes, minutes; `None` if GPUs keep their layouts.
    #[must_use]
    pub fn creation_minutes(&self) -> Option<f64> {
        self.creation
    }

    /// The slices of a GPU.
    pub(super) fn slices_of(&self, gpu: u32) -> std::ops::Range<usize> {
        let own = &self.slices[gpu as usize];
        own.start as usize..own.end as usize
    }

    /// The position of the size of a slice in [`SIZES`](super::SIZES).
    pub(super) fn class(&self, slice: usize) -> usize {
        usize::from(self.classes[slice])
    }

    /// The slices of the same GPU on which nothing may run beside this one, itself too: bits by
    /// position on the GPU.
    pub(super) fn conflicts(&self, slice: usize) -> u16 {
        self.conflicts[slice]
    }

    /// The slices on which nothing may run beside this one, itself too.
    pub(super) fn overlapping(&self, slice: usize) -> impl Iterator<Item = usize> + '_ {
        let conflicts = self.conflicts[slice];
        let on_gpu = self.slices_of(self.gpus[slice]);
        let first = on_gpu.start;
        on_gpu.filter(move |on_gpu| conflicts >> (on_gpu - first) & 1 == 1)
    }

    /// How many GPUs there are.
    #[must_use]
    pub fn gpu_count(&self) -> usize {
        self.slices.len()
    }

    /// What one GPU draws.
    #[must_use]
    pub fn power(&self) -> &Power {
        &self.power
    }
}
