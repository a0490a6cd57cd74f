//! The policy that the command line names.

use mapa_core::{
    Foresight, Policy, effective_gbps, max_bandwidth_with, preserve_with, preserved_direct_gbps,
    preserved_gbps,
};

use crate::cli::Preserved;
use crate::failure::Failure;
use crate::job::Job;
use crate::model::Model;
use crate::policies::{MIN_STEP_TIME, policies};

/// The policies that predict bandwidth by a model.
const BY_MODEL: [&str; 3] = ["preserve", "max-bandwidth", "foresight"];

/// Whether a policy predicts bandwidth by a model.
pub(crate) fn takes_model(name: &str) -> bool {
    BY_MODEL.contains(&name)
}

/// The policy of this name, which predicts bandwidth by the model, if one is given.
///
/// # Errors
///
/// If no policy has the name, or if the policy cannot use the model or `preserved`.
pub(crate) fn policy(
    name: &str,
    model: Option<&Model>,
    preserved: Preserved,
) -> Result<Box<dyn Policy>, Failure> {
    let model = model.map(|model| model.objective.clone());
    match (name, model, preserved) {
        (name, None, Preserved::All) => named(name),
        ("preserve", model, preserved) => {
            let left = match preserved {
                Preserved::All => preserved_gbps(),
                Preserved::Direct => preserved_direct_gbps(),
            };
            let predicted = model.unwrap_or_else(effective_gbps);
            Ok(Box::new(preserve_with(predicted, left)))
        }
        ("max-bandwidth", Some(model), Preserved::All) => Ok(Box::new(max_bandwidth_with(model))),
        ("foresight", Some(model), Preserved::All) => Ok(Box::new(Foresight::new(model))),
        (name, _, Preserved::Direct) => Err(Failure::malformed(format_args!(
            "--preserved is for the policy preserve, not {name}: expected --policy preserve, or no --preserved"
        ))),
        (name, Some(_), _) => Err(Failure::malformed(format_args!(
            "a model is for the policies {}, not {name}: expected one of these, or no model",
            BY_MODEL.join(", ")
        ))),
    }
}

fn named(name: &str) -> Result<Box<dyn Policy>, Failure> {
    if let Some(found) = policies().find(|policy| policy.name == name) {
        return Ok(found.policy());
    }
    let known: Vec<&str> = policies().map(|policy| policy.name).collect();
    Err(Failure::malformed(format_args!(
        "no policy is called `{name}`: expected one of {}",
        known.join(", ")
    )))
}

/// The policy of this name for a job: any policy of [`policy`], or [`MIN_STEP_TIME`], which
/// minimises the communication time of the job.
///
/// # Errors
///
/// As [`policy`]; and for [`MIN_STEP_TIME`], if the job's communication time is unknown.
pub(crate) fn policy_for(
    job: &Job,
    name: &str,
    model: Option<&Model>,
    preserved: Preserved,
) -> Result<Box<dyn Policy>, Failure> {
    if name != MIN_STEP_TIME || model.is_some() || preserved != Preserved::All {
        return policy(name, model, preserved);
    }
    if let Some(fastest) = job.fastest() {
        return Ok(Box::new(fastest));
    }
    Err(Failure::malformed(match &job.application {
        Some(own) if own.unit.is_bytes() => {
            format!(
                "--policy {MIN_STEP_TIME}: the pattern {} has no edges: expected ranks that communicate",
                own.name
            )
        }
        Some(own) => format!(
            "--policy {MIN_STEP_TIME}: the pattern {} counts traffic in `{}`: expected a pattern file with \
             unit = \"bytes\" or \"bytes-per-step\"",
            own.name, own.unit
        ),
        None => format!(
            "--policy {MIN_STEP_TIME} needs known traffic: expected a pattern such as tp=4,pp=2,dp=1, or a pattern file in bytes"
        ),
    }))
}
