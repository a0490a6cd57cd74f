//! Run times that are known only roughly.

use mapa_system_energy::SliceJob;
use rand_distr::{Distribution, StandardNormal};

use crate::error::{Error, ErrorKind};
use mapa_sim::stream;

/// The jobs as they turn out if their owners' run times are wrong: each is multiplied by a
/// log-normal factor of mean 1, the same for all sizes of slice. `sigma` is the standard deviation
/// of its logarithm. A second argument of [`run_as`](super::run_as) tells the rule the owners' ones.
///
/// # Errors
/// A sigma that is not finite or below 0; a factor so small or large that a run time is not a
/// number above 0.
pub fn wrong_run_times(told: &[SliceJob], sigma: f64, seed: u64) -> Result<Vec<SliceJob>, Error> {
    if !(sigma.is_finite() && sigma >= 0.0) {
        let what = format!("sigma {sigma} of run times: expected a number of 0 or more");
        return Err(ErrorKind::BadDay(what).into());
    }
    let mut errors = stream(seed, "energy wrong run times");
    let wrong = told.iter().map(|slice_job| {
        let normal: f64 = StandardNormal.sample(&mut errors);
        let factor = (sigma * normal - sigma * sigma / 2.0).exp();
        let minutes = slice_job.minutes().map(|p| p * factor);
        Ok(SliceJob::new(
            slice_job.arrives(),
            slice_job.deadline(),
            minutes,
        )?)
    });
    wrong.collect()
}
