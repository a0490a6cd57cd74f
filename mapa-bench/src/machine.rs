//! Finding the machine that is meant.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use mapa_core::mig::{Layout, Model};
use mapa_core::{Allocator, DeviceId, HardwareGraph};
use mapa_topologies::mig::{Gpu, Offer, ProfileKind};
use mapa_topologies::{Dump, Error, Kind, Machine, Merged, merge, mig, named, read, read_kfd};

use crate::cli::MachineArgs;
use crate::discovery::{Discovery, discover};
use crate::failure::Failure;
use crate::fit::{fit, fit_json, no_fit, wanted};
use crate::output::Output;

/// The machine that is meant.
pub(crate) struct Loaded {
    pub(crate) machine: Machine,
    /// How it was found, if it is the one that this runs on.
    pub(crate) discovery: Option<Discovery>,
    /// Its state while nothing is in use; its devices are cut up as the options say.
    pub(crate) idle: Allocator,
}

impl Loaded {
    pub(crate) fn graph(&self) -> &Arc<HardwareGraph> {
        self.idle.graph()
    }
}

/// Reads the machine and lowers it; its warnings go to standard error.
pub(crate) fn load(args: &MachineArgs, output: &Output) -> Result<Loaded, Failure> {
    let cut = args.mig.as_deref().map(Cut::parse).transpose()?;
    let (mut machine, layouts, discovery) = match &args.machine[..] {
        [] => discover(args).map(|(machine, discovery)| (machine, Vec::new(), Some(discovery)))?,
        names => {
            let model = cut.as_ref().map(|cut| &cut.model);
            described(names, model, output).map(|(machine, layouts)| (machine, layouts, None))?
        }
    };
    let name = if args.live { "--live".to_owned() } else { args.machine.join(", ") };
    if let Some(Cut { model, .. }) = &cut {
        machine.fabric.set_mig(Some(model));
        machine.notes.push(format!("Set by option: every device can be cut up as {}.", model.name()));
    }
    if let Some(gbps) = args.pcie_gbps {
        machine.fabric.set_host_gbps(gbps)?;
        machine.notes.push(format!("Set by option: {gbps} GB/s for every path through the host."));
    }
    if let Some(gbps) = args.nvlink_gbps {
        machine.fabric.set_direct_gbps(gbps)?;
        machine.notes.push(format!("Set by option: {gbps} GB/s for every direct link."));
    }
    for warning in &machine.warnings {
        // Of several, each warning names its own.
        match args.machine.len() {
            0 | 1 => output.warn(format_args!("{name}: {warning}")),
            _ => output.warn(warning),
        }
    }
    let graph = machine.graph().map_err(|error| Failure::malformed(format_args!("{name}: {error}")))?;
    let mut idle = Allocator::new(Arc::new(graph));
    if cut.as_ref().is_none_or(|cut| cut.layout.is_none()) {
        for (whole, layout) in &layouts {
            idle.layout_is(*whole, layout)?;
        }
    }
    if let Some(Cut { layout: Some(layout), .. }) = &cut {
        for whole in idle.graph().wholes().iter() {
            idle.layout_is(whole, layout)?;
        }
    }
    Ok(Loaded { machine, discovery, idle })
}

/// How every device can be cut up, and how it is: whole, if there is no layout.
struct Cut {
    model: Arc<Model>,
    layout: Option<Layout>,
}

impl Cut {
    /// What `--mig GPU[=PROFILES]` means. Offered are the plain profiles, and the kinds of those that are named.
    fn parse(text: &str) -> Result<Self, Failure> {
        let (name, words) = text.split_once('=').map_or((text, None), |(name, words)| (name, Some(words)));
        let gpu = mig::named(name).map_err(Failure::malformed)?;
        let offer = words.map_or(Offer::PLAIN, |words| offer(&gpu, words));
        let model = gpu.model(offer).map_err(Failure::malformed)?;
        let Some(words) = words else { return Ok(Self { model, layout: None }) };
        let layout = fit(&model, &wanted("--mig", words, &gpu, offer, &model)?);
        let answer = fit_json(&gpu, &model, &layout);
        layout.map(|layout| Self { model, layout: Some(layout) }).map_err(|_| no_fit(answer))
    }
}

/// The smallest offer that has what is named.
fn offer(gpu: &Gpu, words: &str) -> Offer {
    let named = |kind| {
        let of_kind = gpu.profiles.iter().filter(move |profile| profile.kind == kind);
        of_kind.into_iter().any(|profile| words.split(',').any(|word| word.trim().eq_ignore_ascii_case(&profile.name)))
    };
    Offer { media: named(ProfileKind::Media), double_memory: named(ProfileKind::DoubleMemory) }
}

/// The machine that these describe together, and how its devices are cut up.
fn described(
    names: &[String],
    model: Option<&Arc<Model>>,
    output: &Output,
) -> Result<(Machine, Vec<(DeviceId, Layout)>), Failure> {
    let dumps = names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
    let wrong = |error: Error| Failure::malformed(format_args!("{}: {error}", names.join(", ")));
    let Merged { mut dump, contradictions, .. } = merge(dumps).map_err(wrong)?;
    if model.is_some() {
        dump.machine.fabric.set_mig(model);
    }
    for contradiction in contradictions {
        output.warn(contradiction);
    }
    let layouts = dump.layouts().map_err(wrong)?;
    if layouts.is_empty() && !dump.mig_instances.is_empty() {
        let lacks = "MIG instances are listed, but not how their GPUs can be cut up and where they begin: left out";
        output.warn(format_args!("{lacks}; --mig GPU and `nvidia-smi mig -lgi` tell"));
    }
    Ok((dump.into_machine().map_err(wrong)?, layouts))
}

fn find(name: &str) -> Result<Dump, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::malformed(format_args!("{name}: {error}"));
    if name == "-" {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| wrong(&error))?;
        return read(&bytes).map_err(|error| wrong(&error));
    }
    match named(name) {
        Ok(machine) => Ok(machine.into()),
        Err(_)
            if !Path::new(name).exists() && (name.contains(['/', '\\']) || Path::new(name).extension().is_some()) =>
        {
            Err(Failure::malformed(format_args!("{name}: no such file")))
        }
        Err(unknown) if !Path::new(name).exists() => {
            Err(Failure::malformed(format_args!("{unknown}, a file, or - for standard input")))
        }
        Err(_) => {
            let path = Path::new(name);
            let mut dump = if path.is_dir() {
                read_kfd(path).map_err(|error| wrong(&format_args!("a folder, so KFD's tree: {error}")))?
            } else {
                let bytes = fs::read(path).map_err(|error| wrong(&error))?;
                read(&bytes).map_err(|error| wrong(&error))?
            };
            // A dump does not know its name; its file does.
            if dump.kind != Kind::MachineFile
                && let Some(stem) = path.file_stem()
            {
                dump.machine.name = stem.to_string_lossy().into_owned();
            }
            Ok(dump)
        }
    }
}
