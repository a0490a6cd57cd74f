//! Partitions by the command `nvidia-smi mig`, where the library cannot be called.
//!
//! Its tables are for people: rows are found by what they look like, and a table without its title is an
//! error.

use std::path::PathBuf;
use std::time::Duration;

use super::control::{MigControl, MigDevice, MigOffer, MigOp, MigPlace, MigState};
use crate::command::{self, CommandFailure};
use crate::levers::error::LeverError;
use crate::live::Live;

/// The partitions of this machine's devices, by `nvidia-smi`.
#[derive(Clone, Debug)]
pub struct MigCommand {
    program: PathBuf,
    limit: Duration,
}

/// An instance in the table of `-lgi`.
struct InstanceRow {
    profile: String,
    id: u32,
    start: u32,
    size: u32,
}

impl MigCommand {
    /// Partitions by the command of [`Live::nvidia_smi`], each call within [`Live::time_limit`].
    #[must_use]
    pub fn new(live: &Live) -> Self {
        Self {
            program: live.nvidia_smi.clone(),
            limit: live.time_limit,
        }
    }

    fn run(&self, words: &[&str]) -> Result<String, LeverError> {
        let what = self.shell(words);
        match command::run(&self.program, words, self.limit) {
            Ok(out) => Ok(String::from_utf8_lossy(&out).into_owned()),
            Err(CommandFailure::Missing) => Err(LeverError::missing(
                self.program.display().to_string(),
                "no such command",
            )),
            Err(CommandFailure::Hung(limit)) => Err(LeverError::failed(
                what,
                format!("no answer within {limit:?}: killed"),
            )),
            Err(CommandFailure::Failed(status, said)) => {
                let why = format!("{status}: {said}");
                let says = |words: &str| said.to_ascii_lowercase().contains(words);
                Err(if says("in use") {
                    LeverError::busy(what, why)
                } else if says("insufficient resources") {
                    LeverError::infeasible(what, why)
                } else {
                    LeverError::failed(what, why)
                })
            }
            Err(CommandFailure::System(error)) => Err(LeverError::failed(what, error.to_string())),
        }
    }

    fn shell(&self, words: &[&str]) -> String {
        format!("{} {}", self.program.display(), words.join(" "))
    }

    /// The answer of a question that fails where there is nothing to list.
    fn list(&self, words: &[&str], title: &str) -> Result<String, LeverError> {
        let table = match self.run(words) {
            Ok(table) => table,
            Err(LeverError::Failed { why, .. }) if is_empty(&why) => return Ok(String::new()),
            Err(error) => return Err(error),
        };
        if is_empty(&table) || table.contains(title) {
            return Ok(table);
        }
        Err(LeverError::failed(
            self.shell(words),
            format!("expected a table `{title}`"),
        ))
    }

    /// The GPU instances of a device.
    fn rows(&self, device: &str) -> Result<Vec<InstanceRow>, LeverError> {
        let table = self.list(&["mig", "-lgi", "-i", device], "GPU instances:")?;
        Ok(rows(&table)
            .filter_map(|words| {
                // The device, `MIG`, the profile, its number, the instance, `start:size`.
                let mig = words.iter().position(|word| *word == "MIG")?;
                let [profile, _, id, place] = words.get(mig + 1..)? else {
                    return None;
                };
                let (start, size) = place_of(place)?;
                Some(InstanceRow {
                    profile: (*profile).to_owned(),
                    id: id.parse().ok()?,
                    start,
                    size,
                })
            })
            .collect())
    }

    /// The compute instances of a device: the GPU instance, the number and the slices of each.
    fn computes(&self, device: &str) -> Result<Vec<(u32, u32, u32)>, LeverError> {
        let table = self.list(&["mig", "-lci", "-i", device], "Compute instances:")?;
        Ok(rows(&table)
            .filter_map(|words| {
                // The device, the GPU instance, `MIG`, the profile, its number, the instance, `start:size`.
                let mig = words.iter().position(|word| *word == "MIG")?;
                let [_, _, id, place] = words.get(mig + 1..)? else {
                    return None;
                };
                let instance = words.get(mig.checked_sub(1)?)?.parse().ok()?;
                Some((instance, id.parse().ok()?, place_of(place)?.1))
            })
            .collect())
    }

    fn find(&self, device: &str, place: &MigPlace) -> Result<Option<InstanceRow>, LeverError> {
        let mut rows = self.rows(device)?.into_iter();
        Ok(rows.find(|row| row.start == place.start && row.profile == place.profile))
    }

    /// The numbers of the compute profiles of a GPU instance, by slices (`-lcip`).
    fn compute_profiles(&self, device: &str, instance: u32) -> Result<Vec<(u32, u32)>, LeverError> {
        let words = ["mig", "-lcip", "-i", device, "-gi", &instance.to_string()];
        let table = self.list(&words, "Compute instance profiles:")?;
        Ok(rows(&table)
            .filter_map(|words| {
                // The device, the GPU instance, `MIG`, the profile, its number with a star for the usual one,
                // and what is free.
                let mig = words.iter().position(|word| *word == "MIG")?;
                let (profile, id) = (words.get(mig + 1)?, words.get(mig + 2)?);
                let slices = profile.split_once("c.").or(profile.split_once("g."))?.0;
                Some((id.trim_end_matches('*').parse().ok()?, slices.parse().ok()?))
            })
            .collect())
    }
}

/// Whether a text says that there is nothing to list.
fn is_empty(text: &str) -> bool {
    // The device itself is what is not found in `No devices were found`.
    const NOTHING: [&str; 5] = [
        "no gpu instances found",
        "no gpu instance profiles found",
        "no compute instances found",
        "no compute instance profiles found",
        "no mig-enabled",
    ];
    let text = text.to_ascii_lowercase();
    text.trim().is_empty() || NOTHING.iter().any(|notice| text.contains(notice))
}

/// The rows of a table, as words, without its borders.
fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table
        .lines()
        .filter(|line| line.trim_start().starts_with('|'))
        .map(|line| {
            let inside = line.trim().trim_matches('|');
            inside.split_whitespace().collect()
        })
}

/// `4:4` as a start and a size.
fn place_of(text: &str) -> Option<(u32, u32)> {
    let (start, size) = text.split_once(':')?;
    Some((start.parse().ok()?, size.parse().ok()?))
}

/// `{0,1,2}:1`, `{0}:8` or `0:8` as starts and a size.
fn places_of(text: &str) -> Option<(Vec<u32>, u32)> {
    let (starts, size) = text.rsplit_once(':')?;
    let starts: Result<Vec<u32>, _> = starts
        .trim_matches(['{', '}'])
        .split(',')
        .map(|start| start.trim().parse())
        .collect();
    Some((starts.ok()?, size.parse().ok()?))
}

impl MigControl for MigCommand {
    fn devices(&self) -> Result<Vec<MigDevice>, LeverError> {
        let words = [
            "--query-gpu=index,uuid,pci.device_id,mig.mode.current",
            "--format=csv,noheader",
        ];
        let text = self.run(&words)?;
        let mut devices = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let device = match fields[..] {
                // A GPU that has no MIG.
                [_, _, _, "[N/A]" | "N/A"] => continue,
                [index, uuid, pci, _] => index.parse().ok().map(|index| MigDevice {
                    index,
                    uuid: uuid.to_owned(),
                    pci_id: pci
                        .strip_prefix("0x")
                        .and_then(|digits| u32::from_str_radix(digits, 16).ok()),
                }),
                _ => None,
            };
            devices.push(device.ok_or_else(|| {
                let start: String = line.chars().take(120).collect();
                let why = format!("line `{start}`: expected a number, a UUID, a PCI id and a mode");
                LeverError::failed(self.shell(&words), why)
            })?);
        }
        Ok(devices)
    }

    fn state(&self, device: &str) -> Result<MigState, LeverError> {
        let words = [
            "-i",
            device,
            "--query-gpu=mig.mode.current,mig.mode.pending",
            "--format=csv,noheader",
        ];
        let text = self.run(&words)?;
        let modes = text.trim().split_once(',');
        let modes = modes.map(|(now, pending)| (now.trim(), pending.trim()));
        let is = |mode: &str| match mode {
            "Enabled" => Some(true),
            "Disabled" => Some(false),
            _ => None,
        };
        let modes = modes.and_then(|(now, pending)| Some((is(now)?, is(pending)?)));
        let Some((enabled, pending)) = modes else {
            let start: String = text.trim().chars().take(120).collect();
            return Err(LeverError::missing(
                format!("MIG on {device}"),
                format!("{}: `{start}`", self.shell(&words)),
            ));
        };
        let mut instances = Vec::new();
        if enabled {
            let computes = self.computes(device)?;
            for row in self.rows(device)? {
                let of_instance = computes.iter().filter(|(instance, ..)| *instance == row.id);
                let mut compute: Vec<u32> = of_instance.map(|(.., slices)| *slices).collect();
                compute.sort_unstable_by(|a, b| b.cmp(a));
                instances.push(MigPlace {
                    start: row.start,
                    size: row.size,
                    profile: row.profile,
                    compute,
                });
            }
            instances.sort();
        }
        Ok(MigState {
            enabled,
            pending,
            instances,
        })
    }

    fn offers(&self, device: &str) -> Result<Vec<MigOffer>, LeverError> {
        let table = self.list(&["mig", "-lgip", "-i", device], "GPU instance profiles:")?;
        let words = ["mig", "-lgipp", "-i", device];
        let text = self.run(&words)?;
        // `GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1`
        let places: Vec<(u32, (Vec<u32>, u32))> = text
            .lines()
            .filter_map(|line| {
                let (_, rest) = line.split_once("Profile ID")?;
                let (id, places) = rest.split_once("Placement")?;
                let places = places.split_once(':')?.1.trim();
                Some((id.trim().parse().ok()?, places_of(places)?))
            })
            .collect();
        let mut offers = Vec::new();
        for words in rows(&table) {
            // The device, `MIG`, the profile, its number, `free/total`, and so on.
            let Some(mig) = words.iter().position(|word| *word == "MIG") else {
                continue;
            };
            let offer = words.get(mig + 1..mig + 4).and_then(|fields| {
                let (name, id, free) = (fields[0], fields[1].parse().ok()?, fields[2]);
                let (_, (starts, size)) = places.iter().find(|(candidate, _)| *candidate == id)?;
                let size_in_name = name.split_once('g')?.0;
                Some(MigOffer {
                    name: name.to_owned(),
                    id,
                    compute_slices: size_in_name.parse().ok()?,
                    size: *size,
                    starts: starts.clone(),
                    most: free.split_once('/')?.1.parse().ok()?,
                })
            });
            offers.extend(offer);
        }
        if offers.is_empty() {
            return Err(LeverError::failed(
                self.shell(&words),
                "expected profiles with placements",
            ));
        }
        Ok(offers)
    }

    fn set_mode(&mut self, device: &str, on: bool) -> Result<(), LeverError> {
        let now = self.state(device)?;
        if (now.enabled, now.pending) == (on, on) {
            return Ok(());
        }
        let word = |on: bool| if on { "1" } else { "0" };
        self.run(&["-i", device, "-mig", word(on)])?;
        let now = self.state(device)?;
        if now.enabled == on {
            return Ok(());
        }
        // Without this, the next reset would bring the mode of a change that was reported as
        // failed.
        if now.pending == on {
            self.run(&["-i", device, "-mig", word(!on)])?;
        }
        Err(LeverError::busy(
            self.commands(MigOp::Mode(device, on)),
            "it takes a reset of the device, or the end of its users",
        ))
    }

    fn create(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError> {
        if self.find(device, place)?.is_none() {
            let offers = self.offers(device)?;
            let offer = offers.iter().find(|offer| offer.name == place.profile);
            let id = offer.map(|offer| offer.id).ok_or_else(|| {
                let what = format!("profile {}", place.profile);
                LeverError::missing(what, "the device does not offer it")
            })?;
            let at = format!("{id}:{}", place.start);
            self.run(&["mig", "-cgi", &at, "-i", device])?;
        }
        // The new number is looked up by place, since the command prints it in a sentence for
        // people.
        let row = self.find(device, place)?.ok_or_else(|| {
            let what = self.commands(MigOp::Create(device, place));
            LeverError::failed(what, "the command said yes, and there is no such instance")
        })?;
        // The instance may be there without all of its compute instances, after an attempt that
        // failed.
        let mut lacks = place.compute.clone();
        for (instance, _, slices) in self.computes(device)? {
            if instance == row.id
                && let Some(at) = lacks.iter().position(|lack| *lack == slices)
            {
                lacks.remove(at);
            }
        }
        if lacks.is_empty() {
            return Ok(());
        }
        let profiles = self.compute_profiles(device, row.id)?;
        for slices in lacks {
            let profile = profiles.iter().find(|(_, candidate)| *candidate == slices);
            let (id, _) = profile.ok_or_else(|| {
                let what = format!("a compute instance of {slices} slices in {}", place.profile);
                LeverError::missing(what, "the device does not offer it")
            })?;
            let (id, instance) = (id.to_string(), row.id.to_string());
            self.run(&["mig", "-cci", &id, "-gi", &instance, "-i", device])?;
        }
        Ok(())
    }

    fn destroy(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError> {
        let Some(row) = self.find(device, place)? else {
            return Ok(());
        };
        let instance = row.id.to_string();
        // First the compute instances: a driver destroys no GPU instance that has some.
        for (of, id, _) in self.computes(device)? {
            if of == row.id {
                let id = id.to_string();
                self.run(&["mig", "-dci", "-ci", &id, "-gi", &instance, "-i", device])?;
            }
        }
        self.run(&["mig", "-dgi", "-gi", &instance, "-i", device])?;
        Ok(())
    }

    fn commands(&self, change: MigOp<'_>) -> String {
        let program = self.program.display();
        match change {
            MigOp::Mode(device, on) => format!("{program} -i {device} -mig {}", u32::from(on)),
            MigOp::Create(device, place) => {
                let start = place.start;
                // The number is what the device gives the profile, and it tells them only in MIG mode.
                let offers = self.offers(device).unwrap_or_default();
                let offer = offers.iter().find(|offer| offer.name == place.profile);
                let id = offer.map_or_else(
                    || format!("<{}>", place.profile),
                    |offer| offer.id.to_string(),
                );
                let mut words = format!("{program} mig -cgi {id}:{start} -i {device}");
                for slices in &place.compute {
                    words += &format!(
                        "\n{program} mig -cci <{slices} slices> -gi <at {start}> -i {device}"
                    );
                }
                words
            }
            MigOp::Destroy(device, place) => {
                // The numbers are those of the moment.
                let row = self.find(device, place).ok().flatten();
                let gi = row.as_ref().map_or_else(
                    || format!("<{} at {}>", place.profile, place.start),
                    |row| row.id.to_string(),
                );
                let computes = self.computes(device).unwrap_or_default();
                let mut words = String::new();
                for (of, ci, _) in computes {
                    if row.as_ref().is_some_and(|row| row.id == of) {
                        words += &format!("{program} mig -dci -ci {ci} -gi {gi} -i {device}\n");
                    }
                }
                words + &format!("{program} mig -dgi -gi {gi} -i {device}")
            }
        }
    }
}
