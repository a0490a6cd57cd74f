//! Every policy of every setting on every seed.

use mapa_front::Error;
use mapa_sim::{Interval, mean_interval, paired_interval};
use mapa_system_slo_sim::Trace;

use super::policies::Outcome;
use super::setting::Setting;
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;

/// A number of an outcome.
pub(super) type Of = fn(&Outcome) -> f64;

pub(super) const MISS: Of = |own| own.miss_percent;
pub(super) const FAIL: Of = |own| own.fail_percent;
pub(super) const P99: Of = |own| own.p99_ms;
pub(super) const RELAUNCHES: Of = |own| own.relaunches_per_hour;
pub(super) const SLICES: Of = |own| own.slices;
pub(super) const ANSWERED: Of = |own| own.answered;

/// The outcomes of one setting, by policy and seed.
pub(super) struct Trials {
    pub(super) setting: Setting,
    outcomes: Vec<Vec<Outcome>>,
}

pub(super) struct All(Vec<Trials>);

impl All {
    pub(super) fn of(&self, name: &str) -> Result<&Trials, Error> {
        let mut all = self.0.iter();
        all.find(|own| own.setting.name == name)
            .ok_or_else(|| Error::malformed("a setting that was not run"))
    }
}

impl Trials {
    pub(super) fn outcomes(&self, policy: &str) -> &[Outcome] {
        let at = self.setting.policies.iter().position(|own| own.0 == policy);
        at.and_then(|at| self.outcomes.get(at))
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn per_seed(&self, policy: &str, of: Of) -> Vec<f64> {
        self.outcomes(policy).iter().map(of).collect()
    }

    pub(super) fn mean(&self, policy: &str, of: Of) -> Interval {
        mean_interval(&self.per_seed(policy, of))
    }

    /// By how much a policy is above another, paired by seed.
    pub(super) fn above(&self, policy: &str, other: &str, of: Of) -> Interval {
        paired_interval(&self.per_seed(policy, of), &self.per_seed(other, of))
    }

    /// A policy's number divided by another's, seed by seed.
    pub(super) fn ratio(&self, policy: &str, other: &str, of: Of) -> Interval {
        let pairs = self.outcomes(policy).iter().zip(self.outcomes(other));
        let ratios: Vec<f64> = pairs.map(|(a, b)| of(a) / of(b)).collect();
        mean_interval(&ratios)
    }

    /// Throughput: answered requests over those of the first policy, which is static.
    pub(super) fn throughput(&self, policy: &str) -> Interval {
        let first = self.setting.policies.first().map_or("", |own| own.0);
        self.ratio(policy, first, ANSWERED)
    }

    /// On how many seeds numbers of these policies strictly fall, and of how many.
    pub(super) fn falls(&self, policies: &[&str], of: Of) -> (usize, usize) {
        let columns: Vec<Vec<f64>> = policies.iter().map(|own| self.per_seed(own, of)).collect();
        let seeds = columns.first().map_or(0, Vec::len);
        let falls = |seed: &usize| {
            columns
                .windows(2)
                .all(|pair| pair[0][*seed] > pair[1][*seed])
        };
        ((0..seeds).filter(falls).count(), seeds)
    }
}

pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<All, Error> {
    let settings = Setting::all();
    let outcomes = on_files(plan, bar, settings.len(), |at, seed| {
        let own = settings[at];
        let trace = Trace::draw(&own.scenario, seed).map_err(Error::malformed)?;
        let policies = own.policies.iter();
        policies
            .map(|(_, policy)| policy.outcome(&own.scenario, &trace, seed, own.change))
            .collect()
    })?;
    let all = settings.into_iter().zip(outcomes);
    Ok(All(all
        .map(|(setting, outcomes)| Trials { setting, outcomes })
        .collect()))
}
