//! GPUs with the layouts that they have.

use super::job::class_of;
use super::power::Power;
use crate::error::{Error, ErrorKind};

/// GPUs that are partitioned into slices once. Slices are numbered GPU by GPU, in the order of the
/// layouts.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    sizes: Vec<u8>,
    gpus: Vec<u32>,
    slices: Vec<std::ops::Range<u32>>,
    power: Power,
}

impl Machine {
    /// The eight A100s of Hisaria et al., by their code: 20 slices.
    pub const PUBLISHED: &'static str = "7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1";

    /// The best layouts of eight A100s that a coordinate descent over 14 layouts found for
    /// [`EnergyPlan`](super::EnergyPlan) on the published load. No bound says how far others lie.
    pub const SEARCHED: &'static str = "3,2,2 | 7 | 4,3 | 4,3 | 4,2,1 | 3,2,2 | 3,2,2 | 3,2,1,1";

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
        let mut own = Self {
            power,
            ..Self::none()
        };
        for (gpu, layout) in gpus.into_iter().enumerate() {
            let first = own.sizes.len() as u32;
            let mut sum = 0_u32;
            for size in layout {
                if class_of(size).is_none() {
                    let what = format!("GPU {gpu}: a slice of {size}: expected 1, 2, 3, 4 or 7");
                    return Err(ErrorKind::BadSliceMachine(what).into());
                }
                sum += u32::from(size);
                own.sizes.push(size);
                own.gpus.push(gpu as u32);
            }
            if sum > 7 {
                let what = format!("layout of GPU {gpu}: {sum} compute slices: expected at most 7");
                return Err(ErrorKind::BadSliceMachine(what).into());
            }
            own.slices.push(first..own.sizes.len() as u32);
        }
        Ok(own)
    }

    /// No GPU.
    pub(super) fn none() -> Self {
        Self {
            sizes: Vec::new(),
            gpus: Vec::new(),
            slices: Vec::new(),
            power: Power::A100,
        }
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

    /// The slices of a GPU.
    pub(super) fn slices_of(&self, gpu: u32) -> std::ops::Range<usize> {
        let own = &self.slices[gpu as usize];
        own.start as usize..own.end as usize
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
