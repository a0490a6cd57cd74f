//! `sensitivity`: whether a job's speed depends on its links.

use mapa_patterns::{Evidence, LinkRates, Times};
use serde::{Deserialize, Serialize};

use crate::answer::sensitivity::Sensitivity;
use crate::error::Error;

/// What is known of a job that tells whether its speed depends on links. The first of these that is given decides: run
/// times on two allocations, messages with the time of an iteration, messages alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct EvidenceRequest {
    /// Run times on an allocation with good links, seconds, one for each run.
    pub fast_seconds: Vec<f64>,
    /// Run times on an allocation with worse links, seconds.
    pub slow_seconds: Vec<f64>,
    /// The messages that a rank sends in an iteration, `CALLSxBYTES`, separated by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<String>,
    /// The time of an iteration on good links, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration_seconds: Option<f64>,
    /// The worse and the better link that a prediction compares, GB/s; those of the published evidence if empty.
    pub link_gbps: Vec<f64>,
}

/// Whether a job's speed depends on its links, as `mapa-bench sensitivity --json` answers.
///
/// # Errors
/// If there is no evidence, or it makes no sense.
pub fn sensitivity(request: &EvidenceRequest) -> Result<Sensitivity, Error> {
    let evidence = request.evidence()?;
    // The verdict on no evidence would be `unknown`. Whoever gave no option is better told which there are.
    if evidence == Evidence::default() {
        return Err(Error::malformed(
            "expected evidence: --fast-seconds with --slow-seconds, or --messages; or --published",
        ));
    }
    let verdict = evidence.verdict().map_err(Error::malformed)?;
    Ok(Sensitivity::from(verdict))
}

impl EvidenceRequest {
    /// The evidence; none if nothing is given.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn evidence(&self) -> Result<Evidence, Error> {
        // One list alone counts as given: `Times::new` then says which of the two is missing.
        let is_timed = !(self.fast_seconds.is_empty() && self.slow_seconds.is_empty());
        let times = is_timed
            .then(|| Times::new(self.fast_seconds.as_slice(), self.slow_seconds.as_slice()));
        let links = match self.link_gbps.as_slice() {
            [] => Ok(LinkRates::PUBLISHED),
            [slow, fast] => LinkRates::new(*slow, *fast).map_err(Error::malformed),
            _ => Err(Error::malformed(
                "--link-gbps: expected SLOW,FAST, such as 12,50",
            )),
        };
        Ok(Evidence {
            times: times.transpose().map_err(Error::malformed)?,
            messages: self
                .messages
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(Error::malformed)?,
            iteration_seconds: self.iteration_seconds,
            links: links?,
        })
    }
}
