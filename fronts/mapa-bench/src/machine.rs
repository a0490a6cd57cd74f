//! The machine that the command line names.

use std::path::Path;
use std::sync::Arc;

use mapa_core::mig::{Layout, Model};
use mapa_core::{Allocator, DeviceId, HardwareGraph};
use mapa_live::read_kfd;
use mapa_topologies::mig::{Gpu, Offer, ProfileKind};
use mapa_topologies::{Dump, Kind, Machine, Merged, merge, mig, named, read};

use crate::cli::MachineArgs;
use crate::discovery::{Discovery, discover};
use crate::failure::Failure;
use crate::files::bytes;
use crate::instances::{fit, fit_json, no_fit, wanted};
use crate::output::Output;

/// A machine, and its state while nothing is in use.
pub(crate) struct Loaded {
    pub(crate) machine: Machine,
    /// How it was found, with `--live`.
    pub(crate) discovery: Option<Discovery>,
    /// Nothing is in use, and devices are partitioned as the options say.
    pub(crate) idle: Allocator,
}

impl Loaded {
    pub(crate) fn graph(&self) -> &Arc<HardwareGraph> {
        self.idle.graph()
    }
}

/// Reads the machine and compiles it to a graph. Its warnings go to standard error.
pub(crate) fn load(args: &MachineArgs, output: &Output) -> Result<Loaded, Failure> {
    let partition = args.mig.as_deref().map(Partition::parse).transpose()?;
    let (mut machine, layouts, discovery) = match &args.machine[..] {
        [] => {
            let (machine, discovery) = discover(args)?;
            (machine, Vec::new(), Some(discovery))
        }
        names => {
            let model = partition.as_ref().map(|own| &own.model);
            let (machine, layouts) = described(names, model, output)?;
            (machine, layouts, None)
        }
    };
    let name = if args.live {
        "--live".to_owned()
    } else {
        args.machine.join(", ")
    };
    if let Some(Partition { model, .. }) = &partition {
        machine.fabric.set_mig(Some(model));
        machine.notes.push(format!(
            "Set by option: every device has the MIG profiles of {}.",
            model.name()
        ));
    }
    if let Some(gbps) = args.pcie_gbps {
        machine.fabric.set_host_gbps(gbps)?;
        machine.notes.push(format!(
            "Set by option: {gbps} GB/s for every path through the host."
        ));
    }
    if let Some(gbps) = args.nvlink_gbps {
        machine.fabric.set_direct_gbps(gbps)?;
        machine
            .notes
            .push(format!("Set by option: {gbps} GB/s for every direct link."));
    }
    for warning in &machine.warnings {
        // With several descriptions, each warning names its own.
        match args.machine.len() {
            0 | 1 => output.warn(format_args!("{name}: {warning}")),
            _ => output.warn(warning),
        }
    }
    let graph = machine.graph().map_err(|error| Failure::at(name, error))?;
    let mut idle = Allocator::new(Arc::new(graph));
    match partition.and_then(|own| own.layout) {
        Some(layout) => {
            for whole in idle.graph().wholes().iter() {
                idle.layout_is(whole, &layout)?;
            }
        }
        None => {
            for (whole, layout) in &layouts {
                idle.layout_is(*whole, layout)?;
            }
        }
    }
    Ok(Loaded {
        machine,
        discovery,
        idle,
    })
}

/// The option `--mig`: how every device can be partitioned, and how it is.
struct Partition {
    model: Arc<Model>,
    /// None if the option names no profiles.
    layout: Option<Layout>,
}

impl Partition {
    /// Parses `GPU[=PROFILES]`. The model has the plain profiles, and those of the kinds of the
    /// named profiles.
    fn parse(text: &str) -> Result<Self, Failure> {
        let (name, words) = text
            .split_once('=')
            .map_or((text, None), |(name, words)| (name, Some(words)));
        let gpu = mig::named(name).map_err(Failure::malformed)?;
        let offer = words.map_or(Offer::PLAIN, |words| offer(&gpu, words));
        let model = gpu.model(offer).map_err(Failure::malformed)?;
        let Some(words) = words else {
            return Ok(Self {
                model,
                layout: None,
            });
        };
        let layout = fit(&model, &wanted("--mig", words, &gpu, offer, &model)?);
        let answer = fit_json(&gpu, &model, &layout);
        match layout {
            Ok(layout) => Ok(Self {
                model,
                layout: Some(layout),
            }),
            Err(_) => Err(no_fit(answer)),
        }
    }
}

/// The kinds of profiles that the named ones belong to.
fn offer(gpu: &Gpu, words: &str) -> Offer {
    let mut offer = Offer::PLAIN;
    for word in words.split(',').map(str::trim) {
        let named = gpu
            .profiles
            .iter()
            .find(|profile| word.eq_ignore_ascii_case(&profile.name));
        match named.map(|profile| profile.kind) {
            Some(ProfileKind::Media) => offer.media = true,
            Some(ProfileKind::DoubleMemory) => offer.double_memory = true,
            _ => {}
        }
    }
    offer
}

/// The machine that these descriptions make together, and the layouts of its partitioned devices.
fn described(
    names: &[String],
    model: Option<&Arc<Model>>,
    output: &Output,
) -> Result<(Machine, Vec<(DeviceId, Layout)>), Failure> {
    let dumps = names
        .iter()
        .map(|name| find(name))
        .collect::<Result<Vec<_>, _>>()?;
    let place = names.join(", ");
    let Merged {
        mut dump,
        contradictions,
        ..
    } = merge(dumps).map_err(|error| Failure::at(&place, error))?;
    if model.is_some() {
        dump.machine.fabric.set_mig(model);
    }
    for contradiction in contradictions {
        output.warn(contradiction);
    }
    let layouts = dump.layouts().map_err(|error| Failure::at(&place, error))?;
    if layouts.is_empty() && !dump.mig_instances.is_empty() {
        output.warn(
            "MIG instances are listed without the profiles of their GPUs or where they start: left out; \
             expected --mig GPU, and the output of `nvidia-smi mig -lgi`",
        );
    }
    let machine = dump
        .into_machine()
        .map_err(|error| Failure::at(&place, error))?;
    Ok((machine, layouts))
}

/// The description that `--machine` names: a name of the catalogue, a formula, a file, KFD's tree,
/// or `-` for standard input.
fn find(name: &str) -> Result<Dump, Failure> {
    if name == "-" {
        return read(&bytes(name)?).map_err(|error| Failure::at(name, error));
    }
    let unknown = match named(name) {
        Ok(machine) => return Ok(machine.into()),
        Err(unknown) => unknown,
    };
    let path = Path::new(name);
    if !path.exists() {
        let looks_like_a_path = name.contains(['/', '\\']) || path.extension().is_some();
        return Err(if looks_like_a_path {
            Failure::at(name, "no such file")
        } else {
            Failure::malformed(format_args!("{unknown}, a file, or - for standard input"))
        });
    }
    let mut dump = if path.is_dir() {
        read_kfd(path).map_err(|error| {
            Failure::at(
                name,
                format_args!("this is a folder, so it was read as KFD's tree: {error}"),
            )
        })?
    } else {
        read(&bytes(name)?).map_err(|error| Failure::at(name, error))?
    };
    // Only a machine file has a name of its own: other dumps take that of their file.
    if dump.kind != Kind::MachineFile
        && let Some(stem) = path.file_stem()
    {
        dump.machine.name = stem.to_string_lossy().into_owned();
    }
    Ok(dump)
}
