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
        let mut own = Self {
            sizes: Vec::new(),
            gpus: Vec::new(),
            slices: Vec::new(),
            power,
        };
        for (gpu, layout) in layouts.split('|').enumerate() {
            let first = own.sizes.len() as u32;
            let mut sum = 0_u32;
            for word in layout.split(',').map(str::trim) {
                let size = word.parse().ok().filter(|&size| class_of(size).is_some());
                let Some(size) = size else {
                    let what = format!(
                        "layout of GPU {gpu}: `{word}`: expected sizes of 1, 2, 3, 4 or 7 with commas between them, \
                         such as 4,2,1"
                    );
                    return Err(ErrorKind::BadSliceMachine(what).into());
                };
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

    /// The layouts, in the form in which [`Machine::new`] takes them.
    #[must_use]
    pub fn layouts(&self) -> String {
        let of_gpu = |gpu: u32| {
            let sizes = self.sizes[self.slices_of(gpu)].iter().map(u8::to_string);
            sizes.collect::<Vec<_>>().join(",")
        };
        let all: Vec<String> = (0..self.gpu_count() as u32).map(of_gpu).collect();
        all.join(" | ")
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
