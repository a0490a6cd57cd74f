//! `mig --parted`: what a file of NVIDIA's mig-parted does to which GPU.

use mapa_core::NodeKind;
use mapa_core::mig::Model;
use mapa_topologies::mig::{Gpu, Offer, named, of_product, recognise};
use mapa_topologies::mig_parted::{
    PartedDevice, PartedDevices, PartedFile, PartedInstance as Wanted, PartedLayout, PartedSpec,
    pci_id,
};
use serde::{Deserialize, Serialize};

use crate::answer::mig::{Parted, PartedConfiguration, PartedGpu, PartedInstance};
use crate::error::Error;
use crate::instances::fit;
use crate::machine::Loaded;

/// A request to check a file of mig-parted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct PartedRequest {
    /// The configuration; without it, every one of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The table of MIG that every GPU is checked against, such as `a100-40gb`. Without it, that of each GPU of the
    /// machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// The PCI id of every GPU, such as `0x20B010DE`, for lines with a `device-filter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_id: Option<String>,
}

/// A GPU that configurations are checked against.
struct Target {
    index: u32,
    device: String,
    gpu: Gpu,
}

/// The most GPUs without a machine: a file may name any number.
const MOST_GPUS: u32 = 1024;

/// What a file of mig-parted does to which GPU, as `mapa-bench mig --parted FILE --json` answers. Without a machine, the
/// GPUs are those that the file names by number, or one if it says `all`.
///
/// # Errors
/// If the file is malformed, the configuration or the GPU is unknown, or no table of MIG is known for a GPU of the
/// machine.
pub fn parted(
    text: &str,
    machine: Option<&Loaded>,
    request: &PartedRequest,
) -> Result<Parted, Error> {
    let file = PartedFile::read(text).map_err(Error::malformed)?;
    let mut names: Vec<&str> = file.configs.keys().map(String::as_str).collect();
    if let Some(name) = &request.config {
        file.specs(name).map_err(Error::malformed)?;
        names.retain(|known| known == name);
    }
    let table = request.gpu.as_deref().map(named).transpose();
    let table = table.map_err(Error::malformed)?;
    let targets = match machine {
        Some(loaded) => of_machine(loaded, table.as_ref())?,
        None => of_file(&file, &names, table)?,
    };
    let pci = match &request.pci_id {
        None => None,
        Some(text) => Some(pci_id(text).ok_or_else(|| {
            Error::malformed(format_args!(
                "--pci-id `{text}`: expected a PCI id such as 0x20B010DE"
            ))
        })?),
    };
    let configurations: Vec<PartedConfiguration> = names
        .iter()
        .map(|name| configuration(&file, name, &targets, pci))
        .collect::<Result<_, _>>()?;
    let filtered = |name: &&str| {
        let specs = file.specs(name);
        specs.is_ok_and(|specs| specs.iter().any(PartedSpec::is_filtered))
    };
    let mut notes = Vec::new();
    if pci.is_none() && names.iter().any(filtered) {
        notes.push(
            "lines with a device-filter are for no GPU here, since no PCI id is known: --pci-id states it"
                .to_owned(),
        );
    }
    let asked = request.config.as_ref().and(configurations.first());
    let reason = asked.and_then(|configuration| configuration.reason.clone());
    Ok(Parted {
        refusal: reason.is_some().then(|| "infeasible".to_owned()),
        reason,
        configurations,
        notes,
    })
}

/// The GPUs of a machine, each with its table.
fn of_machine(loaded: &Loaded, table: Option<&Gpu>) -> Result<Vec<Target>, Error> {
    let graph = loaded.graph();
    let mut infos = loaded
        .machine
        .fabric
        .nodes()
        .filter_map(|(_, node)| match &node.kind {
            NodeKind::Device(info) => Some(info),
            _ => None,
        });
    let mut targets = Vec::new();
    for (index, id) in (0..).zip(graph.wholes().iter()) {
        let device = graph.device(id).name.clone();
        let info = infos.next();
        let of_model = || graph.model(id).and_then(|model| recognise(model));
        let of_name = || {
            let info = info?;
            of_product(info.product.as_deref()?, info.memory_bytes?)
        };
        let gpu = match table {
            Some(gpu) => gpu.clone(),
            None => match of_model().map(|(entry, _)| entry).or_else(of_name) {
                Some(entry) => entry.gpu().map_err(Error::malformed)?,
                None => {
                    return Err(Error::malformed(format_args!(
                        "{device}: no table of MIG is known for it: expected --gpu"
                    )));
                }
            },
        };
        targets.push(Target { index, device, gpu });
    }
    Ok(targets)
}

/// The GPUs that the configurations name by number; one if they name none.
fn of_file(file: &PartedFile, names: &[&str], table: Option<Gpu>) -> Result<Vec<Target>, Error> {
    let Some(gpu) = table else {
        return Err(Error::malformed(
            "mig --parted: expected --gpu, a table of MIG, or --machine",
        ));
    };
    let mut count = 1;
    for name in names {
        for spec in file.specs(name).map_err(Error::malformed)? {
            if let PartedDevices::Some(numbers) = &spec.devices {
                let next = numbers
                    .iter()
                    .max()
                    .map_or(0, |most| most.saturating_add(1));
                count = count.max(next);
            }
        }
    }
    if count > MOST_GPUS {
        return Err(Error::malformed(format_args!(
            "device {}: expected at most {}",
            count - 1,
            MOST_GPUS - 1
        )));
    }
    let target = |index| Target {
        index,
        device: format!("GPU{index}"),
        gpu: gpu.clone(),
    };
    Ok((0..count).map(target).collect())
}

/// What one configuration does.
fn configuration(
    file: &PartedFile,
    name: &str,
    targets: &[Target],
    pci_id: Option<u32>,
) -> Result<PartedConfiguration, Error> {
    let devices: Vec<PartedDevice> = targets
        .iter()
        .map(|target| PartedDevice {
            index: target.index,
            pci_id,
        })
        .collect();
    let layouts = match file.layouts(name, &devices) {
        Ok(layouts) => layouts,
        Err(error) => {
            return Ok(PartedConfiguration {
                name: name.to_owned(),
                fits: false,
                reason: Some(error.to_string()),
                gpus: Vec::new(),
            });
        }
    };
    let mut gpus = Vec::new();
    for target in targets {
        let Some(layout) = layouts.get(&target.index) else {
            continue;
        };
        let model = target.gpu.model(Offer::ALL).map_err(Error::malformed)?;
        let found = instances(&model, layout);
        gpus.push(PartedGpu {
            index: target.index,
            device: target.device.clone(),
            gpu: target.gpu.name.clone(),
            mig: layout.enabled,
            reason: found.as_ref().err().cloned(),
            instances: found.ok(),
        });
    }
    let reason = gpus.iter().find_map(|gpu| {
        let why = gpu.reason.as_ref()?;
        Some(format!("{}: {why}", gpu.device))
    });
    Ok(PartedConfiguration {
        name: name.to_owned(),
        fits: reason.is_none(),
        reason,
        gpus,
    })
}

/// The instances of a layout, at starts where all have room; or why there are none.
fn instances(model: &Model, layout: &PartedLayout) -> Result<Vec<PartedInstance>, String> {
    let mut wanted = Vec::new();
    for instance in &layout.instances {
        let found = model
            .find(&instance.profile)
            .map_err(|error| error.to_string())?;
        wanted.push(found);
    }
    let found = fit(model, &wanted)?;
    let mut parts: Vec<&Wanted> = layout.instances.iter().collect();
    let instances = found.instances().iter().map(|instance| {
        let profile = &model.profile(instance.profile).name;
        let at = parts.iter().position(|part| part.profile == *profile);
        PartedInstance {
            profile: profile.clone(),
            start: instance.start,
            compute: at.map_or_else(Vec::new, |at| parts.remove(at).compute.clone()),
        }
    });
    Ok(instances.collect())
}
