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
//! mig-parted names no starts.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{Error, ErrorKind};

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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PartedSpec {
    /// The PCI ids of the devices that are meant, `0x20B010DE`; all, if there are none.
    #[serde(default)]
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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
}

/// Devices by number, or all.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum PartedDevices {
    /// The devices with these numbers of NVIDIA's.
    Some(Vec<u32>),
    /// The word `all`.
    All(String),
}

#[derive(Deserialize)]
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
    pub fn read(text: &str) -> Result<Self, Error> {
        if text.len() > MOST_BYTES {
            let what = format!("{} bytes: expected at most {MOST_BYTES}", text.len());
            return Err(Error::of_kind(ErrorKind::TooLarge, what));
        }
        let bad = |why: String| Error::new(why);
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

    /// The layout that a configuration gives each device that it names, by number. A later line overrides an
    /// earlier one, as in mig-parted. A line with a filter leaves out devices whose PCI id is not known.
    ///
    /// # Errors
    /// There is no such configuration, or no such device.
    pub fn layouts(
        &self,
        name: &str,
        devices: &[PartedDevice],
    ) -> Result<BTreeMap<u32, PartedLayout>, Error> {
        let mut layouts = BTreeMap::new();
        for spec in self.specs(name)? {
            if let PartedDevices::Some(numbers) = &spec.devices {
                let unknown =
                    |number: &&u32| !devices.iter().any(|device| device.index == **number);
                if let Some(number) = numbers.iter().find(unknown) {
                    return Err(Error::new(format!(
                        "device {number}: this machine has no such device with MIG"
                    )));
                }
            }
            for device in devices.iter().filter(|device| spec.is_of(device)) {
                layouts.insert(device.index, spec.layout());
            }
        }
        Ok(layouts)
    }

    /// What a configuration says, line by line.
    ///
    /// # Errors
    /// There is no such configuration; the message lists their names.
    pub fn specs(&self, name: &str) -> Result<&[PartedSpec], Error> {
        let specs = self.configs.get(name).map(Vec::as_slice);
        specs.ok_or_else(|| {
            let names: Vec<&str> = self.configs.keys().map(String::as_str).collect();
            Error::new(format!(
                "configuration {name}: expected one of {}",
                names.join(", ")
            ))
        })
    }
}

/// A device, as configurations name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartedDevice {
    /// The number.
    pub index: u32,
    /// The PCI device and vendor, `0x20B0_10DE`; `None` if not known.
    pub pci_id: Option<u32>,
}

/// The layout that a device shall have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartedLayout {
    /// Whether MIG shall be on.
    pub enabled: bool,
    /// The instances.
    pub instances: Vec<PartedInstance>,
}

/// An instance that a device shall have, wherever there is room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartedInstance {
    /// The profile: `3g.20gb`.
    pub profile: String,
    /// The compute slices of its compute instances; one with all slices, if empty.
    pub compute: Vec<u32>,
}

impl PartedInstance {
    fn of(profile: &str) -> Self {
        Self {
            profile: profile.to_owned(),
            compute: Vec::new(),
        }
    }
}

impl PartedSpec {
    /// Whether it is for some PCI ids only.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        !self.device_filter.list().is_empty()
    }

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
                size.is_some_and(|size| slices.is_none_or(|part| (1..=size).contains(&part)));
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

    fn is_of(&self, device: &PartedDevice) -> bool {
        let named = match &self.devices {
            PartedDevices::All(_) => true,
            PartedDevices::Some(numbers) => numbers.contains(&device.index),
        };
        let filter = self.device_filter.list();
        let passes = filter.is_empty()
            || device
                .pci_id
                .is_some_and(|id| filter.iter().any(|text| pci_id(text) == Some(id)));
        named && passes
    }

    /// The layout of one device. Parts of instances (`1c.3g.20gb`) are put together: as many into one
    /// instance as it has slices.
    fn layout(&self) -> PartedLayout {
        let mut instances = Vec::new();
        let mut parts: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (kind, &count) in &self.mig_devices {
            let (slices, profile) = split(kind);
            let count = count as usize;
            match slices {
                None => instances.extend(std::iter::repeat_n(PartedInstance::of(profile), count)),
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
            for part in slices {
                let fits = |into: &&mut Vec<u32>| into.iter().sum::<u32>() + part <= size;
                match open.iter_mut().find(fits) {
                    Some(into) => into.push(part),
                    None => open.push(vec![part]),
                }
            }
            instances.extend(open.into_iter().map(|compute| PartedInstance {
                compute,
                ..PartedInstance::of(profile)
            }));
        }
        PartedLayout {
            enabled: self.mig_enabled,
            instances,
        }
    }
}

/// `1c.3g.20gb` as a number of slices and a profile.
fn split(kind: &str) -> (Option<u32>, &str) {
    let part = kind
        .split_once("c.")
        .and_then(|(slices, profile)| Some((slices.parse().ok()?, profile)));
    part.map_or((None, kind), |(slices, profile)| (Some(slices), profile))
}

/// A PCI id as mig-parted's filters write it, `0x20B010DE`; `None` if it is not one.
#[must_use]
pub fn pci_id(text: &str) -> Option<u32> {
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
