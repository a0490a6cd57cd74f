//! Discovering the machine that this runs on, and describing how it was found.

use std::time::{Duration, SystemTime};

use mapa_front::answer::topology as answer;
use mapa_live::{Attempt, Discovered, Live};
use mapa_topologies::Machine;

use crate::args::MachineArgs;
use crate::failure::Failure;

/// How a machine was found.
#[derive(Debug)]
pub struct Discovery(Discovered);

/// The machine that this runs on, from the cache or the drivers.
pub(crate) fn discover(args: &MachineArgs) -> Result<(Machine, Discovery), Failure> {
    let mut live = Live::default();
    let places = [
        (&mut live.nvml, &args.nvml),
        (&mut live.nvidia_smi, &args.nvidia_smi),
    ];
    for (place, option) in places {
        if let Some(path) = option {
            place.clone_from(path);
        }
    }
    live.kfd.clone_from(&args.kfd);
    live.refresh = args.refresh;
    if args.no_cache {
        live.cache = None;
    }
    let found = mapa_live::discover(&live).map_err(Failure::malformed)?;
    Ok((found.machine.clone(), Discovery(found)))
}

impl Discovery {
    /// Lines of text: each source that was tried, and the outcome.
    pub fn lines(&self) -> Vec<String> {
        let found = &self.0;
        let driver = found
            .driver
            .as_ref()
            .map_or(String::new(), |driver| format!(", driver {driver}"));
        let file = found.file.as_ref().map(|file| file.display());
        // An answer from the cache has tried no source.
        if found.cached {
            let from = file.map_or(String::new(), |file| format!(" in {file}"));
            let ago = ago(found.at);
            return vec![format!(
                "Found by {}{driver} {ago}, and cached{from}; --refresh queries the drivers again.",
                found.by
            )];
        }
        let mut lines = Vec::new();
        for Attempt {
            source,
            place,
            failure,
            ..
        } in &found.tried
        {
            let outcome = failure
                .as_ref()
                .map_or_else(|| format!("found{driver}"), Clone::clone);
            lines.push(format!(
                "Queried {source} ({}): {outcome}.",
                place.display()
            ));
        }
        lines.extend(instances(found));
        lines.extend(file.map(|file| format!("Cached in {file}.")));
        lines
    }

    /// The key `discovery` of the JSON answer.
    pub fn answer(&self) -> answer::Discovery {
        let found = &self.0;
        let tried = found.tried.iter().map(|attempt| answer::Tried {
            source: attempt.source.name().to_owned(),
            place: attempt.place.display().to_string(),
            failure: attempt.failure.clone(),
        });
        let instances = found.state.as_ref().map(|state| {
            let instances = state.mig_instances.iter();
            instances
                .map(|instance| answer::LiveInstance {
                    device: instance.device.0,
                    profile: instance.profile.clone(),
                    uuid: instance.uuid.clone(),
                })
                .collect()
        });
        let since_1970 = found.at.duration_since(SystemTime::UNIX_EPOCH);
        answer::Discovery {
            by: found.by.name().to_owned(),
            cached: found.cached,
            driver: found.driver.clone(),
            at: since_1970.unwrap_or_default().as_secs(),
            file: found.file.as_ref().map(|file| file.display().to_string()),
            mig_instances: instances,
            tried: tried.collect(),
        }
    }
}

/// A line that lists the MIG instances, if there are any.
fn instances(found: &Discovered) -> Option<String> {
    let instances = &found.state.as_ref()?.mig_instances;
    let names: Vec<String> = instances
        .iter()
        .map(|instance| format!("{}/{}", instance.device, instance.profile))
        .collect();
    (!names.is_empty()).then(|| format!("MIG instances: {}.", names.join(", ")))
}

/// The time since then, in the largest unit of which at least two have passed.
fn ago(at: SystemTime) -> String {
    // A clock that was set back since then counts as no time.
    let seconds = at.elapsed().unwrap_or(Duration::ZERO).as_secs();
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let unit = units.into_iter().find(|(unit, _)| seconds >= 2 * unit);
    let (count, unit) = unit.map_or((seconds, "seconds"), |(unit, name)| (seconds / unit, name));
    format!("{count} {unit} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_the_largest_unit_that_fits_twice() {
        let said = |seconds| ago(SystemTime::now() - Duration::from_secs(seconds));
        assert_eq!([said(3), said(119)], ["3 seconds ago", "119 seconds ago"]);
        assert_eq!(
            [said(120), said(7_300), said(200_000)],
            ["2 minutes ago", "2 hours ago", "2 days ago"]
        );
        assert_eq!(
            ago(SystemTime::now() + Duration::from_secs(60)),
            "0 seconds ago"
        );
    }
}
