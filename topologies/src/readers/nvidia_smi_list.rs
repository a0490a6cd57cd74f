//! Reader for the output of `nvidia-smi -L`: devices, their names and UUIDs, and their MIG devices. And for the names in
//! reports of issues (PyTorch's, vLLM's: `GPU 0: NVIDIA L20`; SGLang's: `GPU 0,1: NVIDIA L20`), which have no UUIDs.
//!
//! A MIG device is printed below its GPU: `MIG 3g.20gb Device 0: (UUID: MIG-...)`. If several
//! compute instances share a GPU instance, each is a separate MIG device, with its share in the
//! profile: `1c.3g.20gb`. In the first drivers, a UUID consists of the GPU's UUID, the number of
//! the GPU instance and the number of the compute instance.

use std::collections::HashMap;

use mapa_core::{DeviceId, Fabric};

use super::headings::{self, GpuHeading, Uuid};
use super::{nvidia_smi_topo, text};
use crate::dump::{Dump, MigInstance, Says};
use crate::error::Error;
use crate::kind::Kind;
use crate::machine::{Labels, Machine, Warning};
use crate::vendor::Vendor;

/// Whether a text has a line that names a GPU, by its UUID or as a product. A text with a matrix is left to its
/// reader, because the matrix has more information.
pub(super) fn is(text: &str) -> bool {
    let names_gpu = text::lines(text).any(|(_, line)| {
        // A cut line that names a GPU is an error here, and counts as one that does.
        headings::parse_all(&line, 0).map_or(true, |named| named.iter().any(GpuHeading::is_named))
    });
    names_gpu && !nvidia_smi_topo::is(text)
}

pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let mut list = List::default();
    for (line, clean) in text::lines(text) {
        list.read_line(&clean, line)?;
    }
    let List {
        headings,
        mig_instances,
        mut warnings,
        elided,
        ..
    } = list;
    if headings.is_empty() {
        return Err(Error::new(
            "no devices found: expected lines such as `GPU 0: NAME (UUID: GPU-...)`",
        ));
    }
    let missing = headings::check(&headings)?;
    let every_device = missing.is_none() && !elided;
    warnings.extend(missing);
    let mut fabric = Fabric::new();
    for (id, heading) in headings.into_iter().enumerate() {
        let line = heading.line;
        let node = heading.into_node(id, None, &mut warnings);
        fabric
            .add(node)
            .map_err(|error| Error::core(Some(line), error))?;
    }
    warnings.sort_by_key(|warning| warning.line);
    let machine = Machine {
        name: "smi-list".to_owned(),
        title: format!("{} devices, read from nvidia-smi -L", fabric.device_count()),
        source: "nvidia-smi -L".to_owned(),
        notes: Vec::new(),
        vendor: Some(Vendor::Nvidia),
        labels: Labels::default(),
        fabric,
        warnings,
    };
    let mut dump = Dump::new(
        Kind::NvidiaSmiList,
        machine,
        Says {
            every_device,
            ..Says::default()
        },
    );
    dump.mig_instances = mig_instances;
    Ok(dump)
}

#[derive(Default)]
struct List {
    headings: Vec<GpuHeading>,
    mig_instances: Vec<MigInstance>,
    /// The lines of MIG devices, by UUID.
    lines: HashMap<String, usize>,
    warnings: Vec<Warning>,
    elided: bool,
}

impl List {
    fn read_line(&mut self, text: &str, line: usize) -> Result<(), Error> {
        let named = headings::parse_all(text, line)?;
        if !named.is_empty() {
            self.headings.extend(named);
        } else if let Some(mig) = mig_device(text, line)? {
            self.add(mig, line)?;
        } else if text::is_elision(text) && !self.elided {
            self.elided = true;
            let what = "something is left out here: the machine has more devices than are listed"
                .to_owned();
            self.warnings.push(Warning {
                line: Some(line),
                what,
            });
        }
        Ok(())
    }

    fn add(&mut self, mig: ListedMigDevice, line: usize) -> Result<(), Error> {
        let Some(device) = self.headings.len().checked_sub(1) else {
            let what = "a MIG device of a GPU that is not named: expected a line `GPU 0: NAME (UUID: GPU-...)` before it";
            return Err(Error::at(line, what));
        };
        let Some(profile) = mig.profile else {
            let what = "a MIG device without its profile, as the first drivers print it: left out"
                .to_owned();
            self.warnings.push(Warning {
                line: Some(line),
                what,
            });
            return Ok(());
        };
        let mut instance = MigInstance::new(DeviceId(device as u32), profile);
        instance.uuid = mig.uuid.told(line, &mut self.warnings);
        if let Some(uuid) = &instance.uuid {
            instance.instance_id = gpu_instance(uuid);
            if let Some(first) = self.lines.insert(uuid.clone(), line) {
                let what = format!(
                    "a second MIG device is called {uuid}, after line {first}: expected each once"
                );
                return Err(Error::at(line, what));
            }
        }
        self.mig_instances.push(instance);
        Ok(())
    }
}

struct ListedMigDevice {
    profile: Option<String>,
    uuid: Uuid,
}

/// Parses a line that names a MIG device. Returns `None` for other lines.
fn mig_device(text: &str, line: usize) -> Result<Option<ListedMigDevice>, Error> {
    let Some((before, rest)) = text.split_once("MIG ") else {
        return Ok(None);
    };
    let whole_word = !before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
    if !text::is_margin(before) || !whole_word {
        return Ok(None);
    }
    let (name, uuid) = Uuid::split(rest, line)?;
    let mut words = name.split_whitespace().peekable();
    let profile = words.next_if(|word| *word != "Device").map(str::to_owned);
    let number = match (words.next(), words.next(), words.next()) {
        (Some("Device"), Some(number), None) => number.strip_suffix(':'),
        _ => None,
    };
    let counted = number
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    if !counted || uuid == Uuid::Absent {
        return Err(Error::at(
            line,
            "expected a MIG device such as `MIG 3g.20gb     Device  0: (UUID: MIG-...)`",
        ));
    }
    Ok(Some(ListedMigDevice { profile, uuid }))
}

/// The number of the GPU instance in `MIG-GPU-.../1/0`.
fn gpu_instance(uuid: &str) -> Option<u32> {
    let mut parts = uuid.strip_prefix("MIG-GPU-")?.split('/').skip(1);
    let (instance, compute) = (parts.next()?, parts.next()?);
    parts.next().is_none().then(|| {
        compute
            .parse::<u32>()
            .ok()
            .and_then(|_| instance.parse().ok())
    })?
}
