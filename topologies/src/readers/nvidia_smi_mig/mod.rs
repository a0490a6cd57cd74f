//! Reader for the lists of `nvidia-smi mig`: the profiles that GPUs offer (`-lgip`), the possible
//! placements of each profile (`-lgipp`), and the existing instances (`-lgi`). A text may have one
//! or several of these.
//!
//! The width of the tables depends on the driver, and pages that quote them change the white space.
//! So a row is recognised by its words ([`line`]). A profile of `-lgip` has two lines; without the
//! second, the row is cut, which is an error. A table that is cut between rows is read with a
//! warning. [`model`] finds the GPU of the catalogue that offers the profiles of a device.

mod line;
mod model;

use std::collections::{BTreeMap, HashMap};

use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, MAX_DEVICES, NodeKind};

use self::line::{MigInstanceLine, MigLine, MigProfileLine, Placements};
use super::{nvidia_smi_topo, text};
use crate::dump::{Dump, MigInstance, MigProfile, Says};
use crate::error::Error;
use crate::kind::Kind;
use crate::machine::{Labels, Machine, Warning};
use crate::vendor::Vendor;

/// The id of the profile of the whole GPU. Every complete list of profiles ends with this profile.
const WHOLE_GPU: u32 = 0;

/// Whether a text has a title or row of one of the tables, or a line that begins like one of
/// `-lgipp`. A text with a matrix of `topo -m` is left to that reader, because the matrix has more
/// information.
pub(super) fn is(text: &str) -> bool {
    let known = text::lines(text).any(|(number, clean)| match line::parse(&clean, number) {
        Ok(line) => {
            matches!(
                line,
                MigLine::Profile(_)
                    | MigLine::Instance(_)
                    | MigLine::Placements(_)
                    | MigLine::Top { of_instances: true }
            )
        }
        // A broken row counts as a row.
        Err(_) => true,
    });
    known && !nvidia_smi_topo::is(text)
}

pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let mut lists = Lists::default();
    for (number, clean) in text::lines(text) {
        let line = line::parse(&clean, number)?;
        lists.read_line(line, number)?;
    }
    lists.end_of_text()?;
    lists.finish()
}

/// The position of the current line in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MigTablePlace {
    #[default]
    Outside,
    /// After a title, before the first row.
    Top,
    /// After the first line of a profile. Holds the number of that line.
    InProfile(usize),
    /// After a complete row. Holds the number of its last line.
    BelowRow(usize),
    /// After a border that follows a row.
    BelowBorder,
}

/// The state of reading.
#[derive(Default)]
struct Lists {
    place: MigTablePlace,
    /// Whether the table belongs to another command: compute instances, or `nvidia-smi` without
    /// options.
    foreign: bool,
    /// The devices by the vendor's numbers. `numbers` has these in the order of first appearance,
    /// each with its line.
    devices: HashMap<u32, DeviceId>,
    numbers: Vec<(u32, usize)>,
    profiles: Vec<MigProfile>,
    /// The streaming multiprocessors of each profile, where printed.
    sms: Vec<Option<u32>>,
    /// The index in `profiles`, by device and profile id.
    of: HashMap<(DeviceId, u32), usize>,
    instances: Vec<MigInstance>,
    /// The lines of instances, by device and instance id.
    lines: HashMap<(DeviceId, u32), usize>,
    computes: bool,
    warnings: Vec<Warning>,
}

impl Lists {
    fn read_line(&mut self, line: MigLine, number: usize) -> Result<(), Error> {
        if let MigTablePlace::InProfile(first) = self.place {
            return match line {
                // Some pages double the line ends, so blank lines are allowed here.
                MigLine::Blank => Ok(()),
                MigLine::ProfileEnd => {
                    self.place = MigTablePlace::BelowRow(number);
                    Ok(())
                }
                _ => Err(half(first)),
            };
        }
        match line {
            MigLine::Top { of_instances } => {
                if self.place != MigTablePlace::Top {
                    self.end_of_table();
                    (self.place, self.foreign) = (MigTablePlace::Top, !of_instances);
                }
                self.foreign &= !of_instances;
            }
            MigLine::Border => {
                if matches!(self.place, MigTablePlace::BelowRow(_)) {
                    self.place = MigTablePlace::BelowBorder;
                }
            }
            MigLine::Profile(profile) => {
                self.begin_row(number);
                self.place = MigTablePlace::InProfile(number);
                self.add_profile(profile, number)?;
            }
            MigLine::ProfileEnd if !self.foreign => {
                let what = "the second line of a profile without its first: expected `| 0 MIG 1g.5gb 19 7/7 ...` before it";
                return Err(Error::at(number, what));
            }
            MigLine::Instance(instance) => {
                self.begin_row(number);
                self.place = MigTablePlace::BelowRow(number);
                self.add_instance(instance, number)?;
            }
            MigLine::Placements(placements) => self.add_placements(placements, number)?,
            MigLine::Compute => {
                if !self.computes {
                    self.computes = true;
                    self.warn(
                        number,
                        "compute instances are left out: they are parts of GPU instances",
                    );
                }
            }
            MigLine::Row if self.place != MigTablePlace::Outside && !self.foreign => {
                return Err(Error::at(
                    number,
                    "an unknown row: expected `| 0 MIG 1g.5gb ...`",
                ));
            }
            MigLine::ProfileEnd | MigLine::Row | MigLine::Blank | MigLine::Other => {}
        }
        Ok(())
    }

    fn warn(&mut self, line: usize, what: impl Into<String>) {
        self.warnings.push(Warning {
            line: Some(line),
            what: what.into(),
        });
    }

    /// Adds a warning if the table of a row has no top: rows above it may be lost.
    fn begin_row(&mut self, number: usize) {
        if self.place == MigTablePlace::Outside {
            self.warn(
                number,
                "the top of the table is missing: there may be more rows",
            );
        }
    }

    /// Adds a warning if the table has no border at its end. Called if another table begins and at
    /// the end of the text.
    fn end_of_table(&mut self) {
        if let MigTablePlace::BelowRow(line) = self.place {
            self.warn(
                line,
                "the end of the table is missing: there may be more rows",
            );
        }
    }

    fn end_of_text(&mut self) -> Result<(), Error> {
        if let MigTablePlace::InProfile(first) = self.place {
            return Err(half(first));
        }
        self.end_of_table();
        Ok(())
    }

    /// The device with this vendor's number, added if it is new.
    fn device(&mut self, gpu: u32, number: usize) -> Result<DeviceId, Error> {
        let next = self.numbers.len();
        if let Some(&device) = self.devices.get(&gpu) {
            return Ok(device);
        }
        if next == MAX_DEVICES {
            return Err(Error::at(
                number,
                format!("more than {MAX_DEVICES} GPUs: expected those of one machine"),
            ));
        }
        let device = DeviceId(next as u32);
        self.devices.insert(gpu, device);
        self.numbers.push((gpu, number));
        Ok(device)
    }

    /// The index of the profile with this id, added if no other list had it.
    fn profile(&mut self, gpu: u32, id: u32, number: usize) -> Result<usize, Error> {
        let device = self.device(gpu, number)?;
        let next = self.profiles.len();
        let place = *self.of.entry((device, id)).or_insert(next);
        if place == next {
            self.profiles.push(MigProfile::new(device, id));
            self.sms.push(None);
        }
        Ok(place)
    }

    fn add_profile(&mut self, row: MigProfileLine, number: usize) -> Result<(), Error> {
        let MigProfileLine {
            gpu,
            name,
            id,
            free_of_total,
            memory_gib,
            sms,
        } = row;
        let place = self.profile(gpu, id, number)?;
        let profile = &mut self.profiles[place];
        if profile.name.is_some() {
            return Err(again(number, format!("profile {id} of GPU {gpu}")));
        }
        if free_of_total.0 > free_of_total.1 {
            let (free, total) = free_of_total;
            return Err(Error::at(
                number,
                format!("{free} of {total} instances are free: expected at most {total}"),
            ));
        }
        profile.name = Some(name);
        profile.free_of_total = Some(free_of_total);
        profile.memory_gib = Some(memory_gib);
        self.sms[place] = Some(sms);
        Ok(())
    }

    fn add_placements(&mut self, row: Placements, number: usize) -> Result<(), Error> {
        let Placements {
            gpu,
            id,
            starts,
            size,
        } = row;
        let place = self.profile(gpu, id, number)?;
        let profile = &mut self.profiles[place];
        if profile.placements.is_some() {
            return Err(again(
                number,
                format!("the list of placements of profile {id} of GPU {gpu}"),
            ));
        }
        profile.placements = Some((starts, size));
        Ok(())
    }

    fn add_instance(&mut self, row: MigInstanceLine, number: usize) -> Result<(), Error> {
        let MigInstanceLine {
            gpu,
            profile,
            profile_id,
            id,
            placement,
        } = row;
        let device = self.device(gpu, number)?;
        if self.lines.insert((device, id), number).is_some() {
            return Err(again(number, format!("instance {id} of GPU {gpu}")));
        }
        let mut instance = MigInstance::new(device, profile);
        instance.profile_id = Some(profile_id);
        instance.instance_id = Some(id);
        instance.placement = Some(placement);
        self.instances.push(instance);
        Ok(())
    }

    fn finish(self) -> Result<Dump, Error> {
        let Self {
            numbers,
            profiles,
            sms,
            instances,
            mut warnings,
            ..
        } = self;
        if numbers.is_empty() {
            let expected = "expected what `nvidia-smi mig -lgip`, `-lgipp` or `-lgi` prints";
            return Err(Error::new(format!(
                "no MIG profiles and no MIG instances found: {expected}"
            )));
        }
        let mut of_device: BTreeMap<DeviceId, Vec<(&MigProfile, Option<u32>)>> = BTreeMap::new();
        for (profile, sms) in profiles.iter().zip(sms) {
            of_device
                .entry(profile.device)
                .or_default()
                .push((profile, sms));
        }
        let mut notes = Vec::new();
        let mut fabric = Fabric::new();
        for (id, &(gpu, line)) in numbers.iter().enumerate() {
            let profiles = of_device
                .get(&DeviceId(id as u32))
                .map_or(&[][..], Vec::as_slice);
            if !profiles.is_empty() && profiles.iter().all(|(profile, _)| profile.id != WHOLE_GPU) {
                let what =
                    format!("no profile of the whole GPU {gpu}: the list of its profiles is cut");
                warnings.push(Warning {
                    line: Some(line),
                    what,
                });
            }
            let mig = model::identify(profiles);
            if !profiles.is_empty() {
                notes.push(note(
                    gpu,
                    mig.as_ref().map(|(table, _)| table.title.as_str()),
                ));
            }
            let info = DeviceInfo {
                index: (gpu as usize != id).then_some(gpu),
                mig: mig.map(|(_, model)| model),
                ..DeviceInfo::default()
            };
            let node = FabricNode {
                name: format!("GPU{gpu}"),
                kind: NodeKind::Device(info),
            };
            fabric
                .add(node)
                .map_err(|error| Error::core(Some(line), error))?;
        }
        warnings.sort_by_key(|warning| warning.line);
        let machine = Machine {
            name: "mig".to_owned(),
            title: format!(
                "{} devices, read from nvidia-smi mig",
                fabric.device_count()
            ),
            source: "nvidia-smi mig".to_owned(),
            notes,
            vendor: Some(Vendor::Nvidia),
            labels: Labels::default(),
            fabric,
            warnings,
        };
        // The command lists only GPUs that can be partitioned, so the list may lack devices.
        let mut dump = Dump::new(Kind::NvidiaSmiMig, machine, Says::default());
        dump.mig_profiles = profiles;
        dump.mig_instances = instances;
        Ok(dump)
    }
}

fn note(gpu: u32, title: Option<&str>) -> String {
    match title {
        Some(title) => format!("The profiles of GPU {gpu} are those of an {title}."),
        None => format!("The profiles of GPU {gpu} do not identify one known GPU."),
    }
}

fn half(first: usize) -> Error {
    Error::at(
        first,
        "a profile without its second line: expected one with CE, JPEG and OFA",
    )
}

fn again(line: usize, what: String) -> Error {
    Error::at(
        line,
        format!("{what} appears a second time: expected each once"),
    )
}
