//! Layouts as NVIDIA's mig-parted writes them: a YAML file with named configurations.
//!
//! ```yaml
//! version: v1
//! mig-configs:
//!   half:
//!     - devices: [0, 1]
//!       mig-enabled: true
//!       mig-devices:
//!         "3g.20gb": 2
//!     - devices: all
//!       device-filter: "0x20B010DE"
//!       mig-enabled: false
//! ```
//!
//! mig-parted names no starts: a layout that comes from a file gets the first ones that have room.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::control::{MigDevice, MigState};
use super::layout::{MigInstanceSpec, MigLayout};
use crate::levers::error::LeverError;

/// The longest file that is read.
const MOST_BYTES: usize = 1 << 20;
/// The most instances of one kind on a device; a device has seven at most.
const MOST_COUNT: u32 = 64;

/// A file of mig-parted, version `v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartedFile {
    /// The configurations, by name.
    pub configs: BTreeMap<String, Vec<PartedSpec>>,
}

/// What a configuration says of some devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PartedSpec {
    /// The PCI ids of the devices that are meant, `0x20B010DE`; all, if there are none.
    #[serde(default, skip_serializing_if = "Filter::is_empty")]
    pub device_filter: Filter,
    /// The devices to which the line applies, if they pass the filter.
    pub devices: PartedDevices,
    /// Whether the devices shall have MIG on.
    pub mig_enabled: bool,
    /// How many instances of each kind: `1g.5gb`, or `1c.3g.20gb` for a part of an instance.
    #[serde(default)]
    pub mig_devices: BTreeMap<String, u32>,
}

/// One PCI id, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Filter {
    /// One; an empty text is none.
    One(String),
    /// A device with any of these ids passes.
    Several(Vec<String>),
}

impl Default for Filter {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Filter {
    fn list(&self) -> &[String] {
        match self {
            Self::One(one) if one.is_empty() => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }

    fn is_empty(&self) -> bool {
        self.list().is_empty()
    }
}

/// Devices by number, or all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PartedDevices {
    /// The devices with these numbers of NVIDIA's.
    Some(Vec<u32>),
    /// The word `all`.
    All(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PartedYaml {
    version: String,
    mig_configs: BTreeMap<String, Vec<PartedSpec>>,
}

impl PartedFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The line that is not understood, another version, or what no device can have.
    pub fn read(text: &str) -> Result<Self, LeverError> {
        let bad = |why: String| LeverError::infeasible("mig-parted file", why);
        if text.len() > MOST_BYTES {
            return Err(bad(format!(
                "{} bytes: expected at most {MOST_BYTES}",
                text.len()
            )));
        }
        let written: PartedYaml =
            serde_saphyr::from_str(text).map_err(|error| bad(first_line(&error.to_string())))?;
        if written.version != "v1" {
            let start: String = written.version.chars().take(40).collect();
            return Err(bad(format!("version {start}: expected v1")));
        }
        for (name, specs) in &written.mig_configs {
            for spec in specs {
                spec.check().map_err(|why| bad(format!("{name}: {why}")))?;
            }
        }
        Ok(Self {
            configs: written.mig_configs,
        })
    }

    /// Writes the file; [`read`](Self::read) gives the same again.
    ///
    /// # Errors
    /// A name that YAML cannot write.
    pub fn write(&self) -> Result<String, LeverError> {
        let written = PartedYaml {
            version: "v1".to_owned(),
            mig_configs: self.configs.clone(),
        };
        serde_saphyr::to_string(&written)
            .map_err(|error| LeverError::infeasible("mig-parted file", error.to_string()))
    }

    /// The layout that a configuration gives each device that it names. A later line overrides an earlier
    /// one, as in mig-parted.
    ///
    /// # Errors
    /// There is no such configuration, or no such device.
    pub fn layouts(
        &self,
        name: &str,
        devices: &[MigDevice],
    ) -> Result<BTreeMap<String, MigLayout>, LeverError> {
        let specs = self.configs.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.configs.keys().map(String::as_str).collect();
            LeverError::infeasible(
                format!("configuration {name}"),
                format!("expected one of {}", names.join(", ")),
            )
        })?;
        let mut layouts = BTreeMap::new();
        for spec in specs {
            if let PartedDevices::Some(numbers) = &spec.devices {
                let known = |number: &&u32| !devices.iter().any(|device| device.index == **number);
                if let Some(number) = numbers.iter().find(known) {
                    return Err(LeverError::infeasible(
                        format!("configuration {name}: device {number}"),
                        "this machine has no such device with MIG",
                    ));
                }
            }
            for device in devices.iter().filter(|device| spec.is_of(device)) {
                layouts.insert(device.uuid.clone(), spec.layout());
            }
        }
        Ok(layouts)
    }

    /// A file with one configuration: how devices are partitioned now.
    #[must_use]
    pub fn of(name: &str, states: &[(MigDevice, MigState)]) -> Self {
        let specs = states.iter().map(|(device, state)| {
            let mut mig_devices = BTreeMap::new();
            for place in &state.instances {
                for kind in kinds(&place.profile, &place.compute) {
                    *mig_devices.entry(kind).or_insert(0) += 1;
                }
            }
            PartedSpec {
                device_filter: Filter::default(),
                devices: PartedDevices::Some(vec![device.index]),
                mig_enabled: state.enabled,
                mig_devices,
            }
        });
        Self {
            configs: [(name.to_owned(), specs.collect())].into(),
        }
    }
}

impl PartedSpec {
    fn check(&self) -> Result<(), String> {
        // serde takes any text for this variant, so the word is checked here.
        if let PartedDevices::All(word) = &self.devices
            && word != "all"
        {
            let start: String = word.chars().take(40).collect();
            return Err(format!(
                "devices `{start}`: expected `all` or a list of numbers"
            ));
        }
        for filter in self.device_filter.list() {
            if pci_id(filter).is_none() {
                let start: String = filter.chars().take(40).collect();
                return Err(format!(
                    "device-filter `{start}`: expected a PCI id, 0x20B010DE"
                ));
            }
        }
        for (kind, count) in &self.mig_devices {
            // Only the form is checked. Which profiles a device has is known when a layout is
            // planned for it.
            let (slices, profile) = split(kind);
            let size = profile.split_once('g').and_then(|(size, rest)| {
                let size: u32 = size.parse().ok()?;
                (rest.starts_with('.') && (1..=16).contains(&size)).then_some(size)
            });
            let fits =
                size.is_some_and(|size| slices.is_none_or(|slice| (1..=size).contains(&slice)));
            if !fits || !profile.is_ascii() || profile.len() > 64 {
                let start: String = kind.chars().take(40).collect();
                return Err(format!(
                    "`{start}`: expected a profile such as 1g.5gb or 1c.3g.20gb"
                ));
            }
            if *count > MOST_COUNT {
                return Err(format!("{kind}: {count}: expected at most {MOST_COUNT}"));
            }
        }
        if !self.mig_enabled && self.mig_devices.values().any(|count| *count > 0) {
            return Err("mig-enabled: false with mig-devices: expected none".to_owned());
        }
        Ok(())
    }

    fn is_of(&self, device: &MigDevice) -> bool {
        let named = match &self.devices {
            PartedDevices::All(_) => true,
            PartedDevices::Some(numbers) => numbers.contains(&device.index),
        };
        let filter = self.device_filter.list();
        let passes = filter.is_empty()
            || device
                .pci_id
                .is_some_and(|id| filter.iter().any(|pattern| pci_id(pattern) == Some(id)));
        named && passes
    }

    /// The layout of one device. Parts of instances (`1c.3g.20gb`) are put together: as many into one
    /// instance as it has slices.
    fn layout(&self) -> MigLayout {
        let mut instances = Vec::new();
        let mut parts: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (kind, &count) in &self.mig_devices {
            let (slices, profile) = split(kind);
            let count = count as usize;
            match slices {
                None => instances.extend(std::iter::repeat_n(MigInstanceSpec::of(profile), count)),
                Some(slices) => {
                    let own = parts.entry(profile).or_default();
                    own.extend(std::iter::repeat_n(slices, count));
                }
            }
        }
        for (profile, mut slices) in parts {
            let size = profile
                .split_once('g')
                .and_then(|(size, _)| size.parse().ok());
            let size: u32 = size.unwrap_or(0);
            // The largest first, each into the first instance with room.
            slices.sort_unstable_by(|a, b| b.cmp(a));
            let mut open: Vec<Vec<u32>> = Vec::new();
            for slice in slices {
                let fits = |into: &&mut Vec<u32>| into.iter().sum::<u32>() + slice <= size;
                match open.iter_mut().find(fits) {
                    Some(into) => into.push(slice),
                    None => open.push(vec![slice]),
                }
            }
            instances.extend(open.into_iter().map(|compute| MigInstanceSpec {
                compute,
                ..MigInstanceSpec::of(profile)
            }));
        }
        MigLayout {
            enabled: self.mig_enabled,
            instances,
        }
    }
}

/// The names by which mig-parted knows an instance: its profile, or one for each part.
fn kinds(profile: &str, compute: &[u32]) -> Vec<String> {
    let size = profile
        .split_once('g')
        .and_then(|(size, _)| size.parse().ok());
    match compute {
        [] => vec![profile.to_owned()],
        // mig-parted does not name a compute instance that has all slices: it is the usual one.
        [all] if Some(*all) == size => vec![profile.to_owned()],
        parts => parts
            .iter()
            .map(|part| format!("{part}c.{profile}"))
            .collect(),
    }
}

/// `1c.3g.20gb` as a number of slices and a profile.
fn split(kind: &str) -> (Option<u32>, &str) {
    let part = kind
        .split_once("c.")
        .and_then(|(slices, profile)| Some((slices.parse().ok()?, profile)));
    part.map_or((None, kind), |(slices, profile)| (Some(slices), profile))
}

fn pci_id(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"))?;
    // `+5` is a number to Rust.
    let digits = Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    u32::from_str_radix(digits?, 16).ok()
}

/// The first line of a message, at most 300 characters of it.
fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(300)
        .collect()
}
