//! Finding the machine that this runs on, and saying how it was found.

use std::time::{Duration, SystemTime};

use mapa_topologies::Machine;
use mapa_topologies::live::{self, Attempt, Discovered, Live};
use serde_json::{Value, json};

use crate::cli::MachineArgs;
use crate::failure::Failure;

/// How a machine was found.
pub(crate) struct Discovery(Discovered);

/// Asks the drivers, or the cache.
pub(crate) fn discover(args: &MachineArgs) -> Result<(Machine, Discovery), Failure> {
    let mut live = Live::default();
    let places = [(&mut live.nvml, &args.nvml), (&mut live.nvidia_smi, &args.nvidia_smi), (&mut live.kfd, &args.kfd)];
    for (place, option) in places {
        if let Some(path) = option {
            place.clone_from(path);
        }
    }
    live.refresh = args.refresh;
    if args.no_cache {
        live.cache = None;
    }
    let found = live::discover(&live).map_err(Failure::malformed)?;
    Ok((found.machine.clone(), Discovery(found)))
}

impl Discovery {
    /// For people: who was asked, and what came of it.
    pub(crate) fn lines(&self) -> Vec<String> {
        let found = &self.0;
        let driver = found.driver.as_ref().map_or(String::new(), |driver| format!(", driver {driver}"));
        let file = found.file.as_ref().map(|file| file.display());
        if found.cached {
            let from = file.map_or(String::new(), |file| format!(" in {file}"));
            let ago = ago(found.at);
            return vec![format!("Found by {}{driver} {ago}, and kept{from}; --refresh asks anew.", found.by)];
        }
        let asked = |Attempt { source, place, failure, .. }: &Attempt| {
            let outcome = failure.as_ref().map_or_else(|| format!("found{driver}"), Clone::clone);
            format!("Asked {source} ({}): {outcome}.", place.display())
        };
        let mut lines: Vec<String> = found.tried.iter().map(asked).collect();
        lines.extend(instances(found));
        lines.extend(file.map(|file| format!("Kept in {file}.")));
        lines
    }

    /// For programs. What was not asked is null: instances are never kept.
    pub(crate) fn as_json(&self) -> Value {
        let found = &self.0;
        let tried = |Attempt { source, place, failure, .. }: &Attempt| json!({ "source": source.name(), "place": place.display().to_string(), "failure": failure });
        let instances = found.state.as_ref().map(|state| {
            let instance = |instance: &mapa_topologies::MigInstance| json!({ "device": instance.device.0, "profile": instance.profile, "uuid": instance.uuid });
            state.mig_instances.iter().map(instance).collect::<Vec<_>>()
        });
        json!({
            "by": found.by.name(), "cached": found.cached, "driver": found.driver,
            "at": found.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs(),
            "file": found.file.as_ref().map(|file| file.display().to_string()),
            "mig_instances": instances, "tried": found.tried.iter().map(tried).collect::<Vec<_>>(),
        })
    }
}

/// The instances of GPUs that are cut up.
fn instances(found: &Discovered) -> Option<String> {
    let instances = &found.state.as_ref()?.mig_instances;
    let names: Vec<String> =
        instances.iter().map(|instance| format!("{}/{}", instance.device, instance.profile)).collect();
    (!names.is_empty()).then(|| format!("MIG instances: {}.", names.join(", ")))
}

/// How long ago, in the largest unit that fits.
fn ago(at: SystemTime) -> String {
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
        assert_eq!([said(120), said(7_300), said(200_000)], ["2 minutes ago", "2 hours ago", "2 days ago"]);
        assert_eq!(ago(SystemTime::now() + Duration::from_secs(60)), "0 seconds ago");
    }
}
