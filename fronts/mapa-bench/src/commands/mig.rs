//! `mig`: how a GPU can be partitioned into isolated instances.

use comfy_table::Table;
use mapa_core::mig::{Layout, Model};
use mapa_topologies::mig::{Figure, Gpu, Offer, ProfileKind, Status, named};

use crate::cli::MigArgs;
use mapa_cli::Failure;
use mapa_cli::Output;
#[cfg(feature = "parted")]
use mapa_cli::files::LocalFiles;
#[cfg(feature = "parted")]
use mapa_front::answer::mig::PartedGpu;
use mapa_front::commands::{MigRequest, mig_gpus};
use mapa_front::text::table;
#[cfg(feature = "parted")]
use mapa_front::{FileKind, Files, MachineSpec, commands::PartedRequest};

pub(crate) fn mig(args: &MigArgs, output: &mut Output) -> Result<(), Failure> {
    if let Some(file) = &args.parted {
        return parted(file, args, output);
    }
    let Some(name) = &args.gpu else {
        return list(output);
    };
    let request = MigRequest {
        gpu: name.clone(),
        fit: args.fit.clone(),
        layouts: args.layouts,
        media: args.media,
        double_memory: args.double_memory,
    };
    let outcome = request.outcome()?;
    if output.json {
        return output.object(&outcome.answer(args.layouts)?);
    }
    let (gpu, model) = (&outcome.gpu, &outcome.model);
    let Some(fit) = &outcome.fit else {
        return show(gpu, outcome.offer, model, args.layouts, output);
    };
    if args.layouts {
        draw(model, model.maximal_layouts(), output)?;
        output.line("")?;
    }
    let Ok(layout) = fit else {
        // `answer` makes the refusal of what does not fit.
        return outcome.answer(false).map(drop).map_err(Failure::from);
    };
    output.line(format_args!("{}: {}", gpu.name, model.print(layout)))?;
    output.line("")?;
    draw(model, std::iter::once(layout.clone()), output)?;
    output.line("")?;
    output.line(command(model, layout))
}

/// Shows what a file of mig-parted does to which GPU.
#[cfg(feature = "parted")]
fn parted(file: &str, args: &MigArgs, output: &mut Output) -> Result<(), Failure> {
    let request = PartedRequest {
        config: args.config.clone(),
        gpu: args.gpu.clone(),
        pci_id: args.pci_id.clone(),
    };
    let machine = match args.parted_machine.as_slice() {
        [] => None,
        machine => {
            let spec = MachineSpec {
                machine: machine.to_vec(),
                ..MachineSpec::default()
            };
            Some(spec.load(&LocalFiles, &mut |warning: String| output.warn(warning))?)
        }
    };
    let text = LocalFiles.text(file, FileKind::Settings)?;
    let answer = mapa_front::commands::parted(&text, machine.as_ref(), &request)
        .map_err(|error| error.within(file))?;
    if answer.refusal.is_some() {
        return Err(Failure::no_fit(&answer));
    }
    if output.json {
        return output.object(&answer);
    }
    let mut rows = table(["configuration", "GPU", "table", "instances"], []);
    for configuration in &answer.configurations {
        if configuration.gpus.is_empty() {
            let why = configuration
                .reason
                .as_deref()
                .unwrap_or("it is for no GPU here");
            rows.add_row([configuration.name.as_str(), "-", "-", why]);
        }
        for gpu in &configuration.gpus {
            rows.add_row([&configuration.name, &gpu.device, &gpu.gpu, &layout_of(gpu)]);
        }
    }
    output.page();
    output.line(rows)?;
    for note in &answer.notes {
        output.line(format_args!("note: {note}"))?;
    }
    output.line("Starts are ones at which all instances have room; mig-parted names none.")
}

#[cfg(not(feature = "parted"))]
fn parted(_: &str, _: &MigArgs, _: &mut Output) -> Result<(), Failure> {
    crate::features::require("parted", "--parted")
}

/// The instances of a GPU in words, or why there are none.
#[cfg(feature = "parted")]
fn layout_of(gpu: &PartedGpu) -> String {
    let Some(instances) = &gpu.instances else {
        return format!("do not fit: {}", gpu.reason.as_deref().unwrap_or_default());
    };
    if !gpu.mig {
        return "MIG off".to_owned();
    }
    if instances.is_empty() {
        return "MIG on, no instances".to_owned();
    }
    let words = instances.iter().map(|instance| {
        let place = format!("{}@{}", instance.profile, instance.start);
        match instance.compute.as_slice() {
            [] => place,
            parts => {
                let parts: Vec<String> = parts.iter().map(|slices| format!("{slices}c")).collect();
                format!("{place} ({})", parts.join(" "))
            }
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The command that creates the layout.
fn command(model: &Model, layout: &Layout) -> String {
    let each: Vec<String> = layout
        .instances()
        .iter()
        .map(|instance| {
            format!(
                "{}:{}",
                model.profile(instance.profile).name,
                instance.start
            )
        })
        .collect();
    // `-C` makes the compute instances too, without which no program can use an instance.
    format!("nvidia-smi mig -cgi {} -C", each.join(","))
}

/// Lists the GPUs.
fn list(output: &mut Output) -> Result<(), Failure> {
    let answer = mig_gpus()?;
    if output.json {
        return output.object(&answer);
    }
    let header = [
        "name",
        "slices",
        "GiB",
        "maximal layouts",
        "with double memory",
        "with all",
        "what it is",
    ];
    let mut rows = table(header, 1..=5);
    for listed in answer.gpus {
        let gpu = named(&listed.name).map_err(Failure::malformed)?;
        let counts = listed.maximal_layout_counts;
        let [plain, double, all] =
            [counts.plain, counts.double_memory, counts.all].map(|count| count.to_string());
        rows.add_row([
            listed.name,
            gpu.size().to_string(),
            gib(memory(&gpu)),
            plain,
            double,
            all,
            listed.about.title,
        ]);
    }
    output.page();
    output.line(rows)?;
    output.line("Slices: compute (g) and memory (m). Maximal layouts: layouts to which no instance can be added.")
}

/// Shows the profiles and layouts of a GPU.
fn show(
    gpu: &Gpu,
    offer: Offer,
    model: &Model,
    layouts: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    output.line(format_args!(
        "{}: {}, {} in all",
        gpu.name,
        gpu.title,
        gpu.size()
    ))?;
    output.line(format_args!("  Source: {}.", gpu.source))?;
    for note in &gpu.notes {
        output.line(format_args!("  {note}"))?;
    }
    output.line("")?;
    output.line(profiles(gpu, offer))?;
    if gpu
        .offered(offer)
        .any(|profile| !profile.by_analogy.is_empty())
    {
        output.line("* by analogy with another model, not from its documentation: see above.")?;
    }
    for (kind, option) in [
        (ProfileKind::DoubleMemory, "--double-memory"),
        (ProfileKind::Media, "--media"),
    ] {
        let hidden: Vec<&str> = gpu
            .profiles
            .iter()
            .filter(|profile| profile.kind == kind && !offer.has(kind))
            .map(|profile| profile.name.as_str())
            .collect();
        if !hidden.is_empty() {
            output.line(format_args!("{option} adds {}.", hidden.join(", ")))?;
        }
    }
    output.line("")?;
    let count = model.maximal_layouts().count();
    output.line(format_args!(
        "{count} maximal layouts, to which no instance can be added; {} legal layouts in all.",
        model.layouts().len()
    ))?;
    if layouts {
        output.line("")?;
        draw(model, model.maximal_layouts(), output)?;
    }
    Ok(())
}

/// The memory of the largest profile, GiB.
fn memory(gpu: &Gpu) -> f64 {
    gpu.profiles
        .iter()
        .map(|profile| profile.memory_gib)
        .fold(0.0, f64::max)
}

fn gib(gib: f64) -> String {
    format!("{gib:.2}")
}

fn profiles(gpu: &Gpu, offer: Offer) -> Table {
    let header = [
        "profile",
        "slices",
        "GiB",
        "starts",
        "most",
        "SMs",
        "copy",
        "decode",
        "encode",
        "JPEG",
        "flow",
        "create s",
        "destroy s",
    ];
    let mut rows = table(header, [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let seconds =
        |seconds: Option<f64>| seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.2}"));
    for profile in gpu.offered(offer) {
        // A star marks what the vendor does not state for this model.
        let figure = |figure: Figure, text: String| match profile.status(figure) {
            Status::Read => text,
            Status::ByAnalogy => text + "*",
        };
        let starts = profile
            .starts
            .iter()
            .map(u8::to_string)
            .collect::<Vec<_>>()
            .join(",");
        rows.add_row([
            profile.name.clone(),
            figure(Figure::MemorySlices, profile.size().to_string()),
            figure(Figure::MemoryGib, gib(profile.memory_gib)),
            figure(Figure::Starts, starts),
            figure(Figure::MaxInstances, profile.max_instances.to_string()),
            profile
                .sms
                .map_or("-".to_owned(), |sms| figure(Figure::Sms, sms.to_string())),
            figure(Figure::CopyEngines, profile.copy_engines.to_string()),
            figure(Figure::Decoders, profile.decoders.to_string()),
            figure(Figure::Encoders, profile.encoders.to_string()),
            figure(Figure::Jpeg, profile.jpeg.to_string()),
            figure(Figure::Ofa, profile.ofa.to_string()),
            seconds(profile.create_s),
            seconds(profile.destroy_s),
        ]);
    }
    rows
}

/// Draws the layouts on the grid of memory slices, one a line. Dots are free slices.
fn draw(
    model: &Model,
    layouts: impl Iterator<Item = Layout>,
    output: &mut Output,
) -> Result<(), Failure> {
    // A slice is wide enough for the name of every profile on its own slices.
    let width = model
        .profiles()
        .iter()
        .map(|profile| (profile.name.len() + 1).div_ceil(usize::from(profile.size.memory)))
        .max()
        .unwrap_or(1);
    let units = 0..model.size().memory;
    let numbers: String = units
        .clone()
        .map(|unit| format!(" {unit:<0$}", width - 1))
        .collect();
    output.line(numbers.trim_end())?;
    for layout in layouts {
        let mut line = String::new();
        let mut next = 0;
        for &instance in layout.instances() {
            let span = model.span(instance);
            // Instances are in the order of their starts, so what lies between two of them is free.
            line += &idle(width, next..span.start);
            let name = &model.profile(instance.profile).name;
            line += &format!("|{name:<0$}", width * span.len() - 1);
            next = span.end;
        }
        line += &idle(width, next..units.end);
        output.line(line + "|")?;
    }
    Ok(())
}

/// Free slices.
fn idle(width: usize, units: std::ops::Range<u8>) -> String {
    units.map(|_| format!("|{:.<1$}", "", width - 1)).collect()
}
