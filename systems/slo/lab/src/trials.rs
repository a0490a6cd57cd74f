//! Every policy of every setting on every seed.

use mapa_front::Error;
use mapa_sim::{Interval, mean_interval, paired_interval};
use mapa_system_slo_sim::DrawnRun;

use super::policies::SloOutcome;
use super::setting::SloSetting;
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;

/// A number of an outcome.
pub(super) type OutcomeNumber = fn(&SloOutcome) -> f64;

pub(super) const MISS: OutcomeNumber = |outcome| outcome.miss_percent;
pub(super) const FAIL: OutcomeNumber = |outcome| outcome.fail_percent;
pub(super) const P99: OutcomeNumber = |outcome| outcome.p99_ms;
pub(super) const RELAUNCHES: OutcomeNumber = |outcome| outcome.relaunches_per_hour;
pub(super) const SLICES: OutcomeNumber = |outcome| outcome.slices;
pub(super) const ANSWERED: OutcomeNumber = |outcome| outcome.answered;

/// The outcomes of one setting, by policy and seed.
pub(super) struct SloTrials {
    pub(super) setting: SloSetting,
    outcomes: Vec<Vec<SloOutcome>>,
}

pub(super) struct SloResults(Vec<SloTrials>);

impl SloResults {
    pub(super) fn of(&self, name: &str) -> Result<&SloTrials, Error> {
        let mut all = self.0.iter();
        all.find(|trials| trials.setting.name == name)
            .ok_or_else(|| Error::malformed("a setting that was not run"))
    }
}

impl SloTrials {
    pub(super) fn outcomes(&self, policy: &str) -> &[SloOutcome] {
        let at = self.setting.policies.iter().position(|row| row.0 == policy);
        at.and_then(|at| self.outcomes.get(at))
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn per_seed(&self, policy: &str, of: OutcomeNumber) -> Vec<f64> {
        self.outcomes(policy).iter().map(of).collect()
    }

    pub(super) fn mean(&self, policy: &str, of: OutcomeNumber) -> Interval {
        mean_interval(&self.per_seed(policy, of))
    }

    /// By how much a policy is above another, paired by seed.
    pub(super) fn above(&self, policy: &str, other: &str, of: OutcomeNumber) -> Interval {
        paired_interval(&self.per_seed(policy, of), &self.per_seed(other, of))
    }

    /// A policy's number divided by another's, seed by seed.
    pub(super) fn ratio(&self, policy: &str, other: &str, of: OutcomeNumber) -> Interval {
        let pairs = self.outcomes(policy).iter().zip(self.outcomes(other));
        let ratios: Vec<f64> = pairs.map(|(a, b)| of(a) / of(b)).collect();
        mean_interval(&ratios)
    }

    /// Throughput: answered requests over those of the first policy, which is static.
    pub(super) fn throughput(&self, policy: &str) -> Interval {
        let first = self.setting.policies.first().map_or("", |policy| policy.0);
        self.ratio(policy, first, ANSWERED)
    }

    /// On how many seeds numbers of these policies strictly fall, and of how many.
    pub(super) fn falls(&self, policies: &[&str], of: OutcomeNumber) -> (usize, usize) {
        let columns: Vec<Vec<f64>> = policies
            .iter()
            .map(|policy| self.per_seed(policy, of))
            .collect();
        let seeds = columns.first().map_or(0, Vec::len);
        let falls = |seed: &usize| {
            columns
                .windows(2)
                .all(|pair| pair[0][*seed] > pair[1][*seed])
        };
        ((0..seeds).filter(falls).count(), seeds)
    }
}

pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<SloResults, Error> {
    let settings = SloSetting::all();
    let outcomes = on_files(plan, bar, settings.len(), |at, seed| {
        let own = settings[at];
        let trace = DrawnRun::draw(&own.scenario, seed).map_err(Error::malformed)?;
        let policies = own.policies.iter();
        policies
            .map(|(_, policy)| policy.outcome(&own.scenario, &trace, seed, own.change))
            .collect()
    })?;
    let all = settings.into_iter().zip(outcomes);
    Ok(SloResults(
        all.map(|(setting, outcomes)| SloTrials { setting, outcomes })
            .collect(),
    ))
}
