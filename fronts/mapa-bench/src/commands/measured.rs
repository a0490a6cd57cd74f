//! `measured add`: rows of the output of bandwidth tests, and a fit of the machine alone.

use std::path::Path;
use std::sync::Arc;

use mapa_core::{
    DeviceId, Efficiency, Estimate, Expected, HardwareGraph, HostNetwork, Operation, PeerAccess,
    PeerSource,
};
use mapa_front::Loaded;
use mapa_front::answer::measured::{Added, AddedRow};
use mapa_front::text::{gbps, table};
use mapa_regress::{
    CopyRun, MeasuredRow, Measurement, Observation, SampleConfig, fit_machine, read_copies,
    read_measured, read_measurements, samples, write_efficiency, write_measured,
};

use crate::cli::{AddArgs, MeasuredAction, MeasuredArgs};
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::{text, write};
use mapa_cli::load;

/// A measurement of this machine.
struct MeasuredRun {
    operation: Operation,
    devices: Vec<DeviceId>,
    gbps: f64,
    bytes: u64,
    /// The size in words, for the row.
    size: String,
    /// Whether the devices reach each other's memory, where the output says so.
    peers: Option<bool>,
    /// Of a copy between memory and a device, whether the memory is that of the other socket, where
    /// that is known.
    far: Option<bool>,
    tool: &'static str,
}

pub(crate) fn measured(args: &MeasuredArgs, output: &mut Output) -> Result<(), Failure> {
    match &args.action {
        MeasuredAction::Add(args) => add(args, output),
    }
}

fn add(args: &AddArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    if let Some(path) = args.into.as_ref().filter(|_| args.into == args.fit) {
        return Err(Failure::malformed(format_args!(
            "--into and --fit are both {}: expected two files, one for rows and one for shares",
            path.display()
        )));
    }
    if args.into.is_some() && args.machine.machine.is_empty() {
        return Err(Failure::malformed(
            "--into: rows name the topology that they were measured on: expected --machine FILE, such as the output of `nvidia-smi topo -m`",
        ));
    }
    let mut left_out = Vec::new();
    let mut found = Vec::new();
    for file in &args.outputs {
        let own = text(file)?;
        found.extend(read(&own, file, args, loaded.graph(), &mut left_out)?);
    }
    if found.is_empty() {
        let why = left_out
            .first()
            .map_or(String::new(), |why| format!(": {why}"));
        return Err(Failure::malformed(format_args!(
            "no measurement of several devices of this machine was found{why}; expected the output of nccl-tests, rccl-tests, \
             nvbandwidth, p2pBandwidthLatencyTest or rocm_bandwidth_test"
        )));
    }
    let server = args
        .server
        .clone()
        .unwrap_or_else(|| loaded.machine.name.clone());
    let earlier = match args.into.as_deref().filter(|path| path.exists()) {
        Some(path) => read_measured(&text(&path.display().to_string())?)
            .map_err(|error| Failure::at(path.display(), error))?,
        None => Vec::new(),
    };
    let mut rows = earlier;
    let mut added = Vec::new();
    let mut notes = Vec::new();
    let mut known = Vec::new();
    let mut observations = Vec::new();
    let shipped = Efficiency::shipped();
    for measured in &found {
        // The state of P2P that the test had, where it says so.
        let graph = match measured.peers {
            Some(on) => with_peers(&loaded, on)?,
            None => Arc::clone(loaded.graph()),
        };
        let model = Expected::new(measured.operation, Arc::clone(&shipped))
            .message_bytes(Some(measured.bytes))
            .far(measured.far == Some(true));
        let estimate = model
            .along(&graph, &measured.devices)
            .filter(|estimate| estimate.known);
        let mut row = row(measured, args, &loaded, &server, &rows);
        // The same output may be added twice. A row that is there twice would count twice in a fit.
        let is_known = rows.iter().find(|other| is_same(other, &row));
        if let Some(other) = is_known {
            row.id.clone_from(&other.id);
            known.push(row.id.clone());
        }
        notes.extend(estimate.as_ref().and_then(|estimate| above(estimate, &row)));
        let is_new = is_known.is_none();
        added.push(AddedRow {
            id: row.id.clone(),
            operation: row.operation.clone(),
            devices: measured.devices.iter().map(|id| id.0).collect(),
            measured_gbps: measured.gbps,
            expected_gbps: estimate.as_ref().map(|estimate| estimate.gbps),
            low_gbps: estimate.as_ref().map(|estimate| estimate.low_gbps),
            high_gbps: estimate.as_ref().map(|estimate| estimate.high_gbps),
            fitted_gbps: None,
        });
        let long = model.of_large_messages(measured.gbps, measured.devices.len());
        observations.push(long.map(|long| Observation {
            id: row.id.clone(),
            server: server.clone(),
            gbps: long,
            ways: model.ways(&graph, &measured.devices),
            generation: graph.link_generation().map(str::to_owned),
        }));
        if is_new {
            rows.push(row);
        }
    }
    if let Some(path) = args.into.as_ref().filter(|_| !known.is_empty()) {
        notes.push(format!(
            "not added to {} again: {}",
            path.display(),
            known.join(", ")
        ));
    }
    if let Some(path) = &args.fit {
        if !HostNetwork::of(loaded.graph()).all_known() {
            return Err(Failure::malformed(
                "--fit: the generation of this machine's links is not known, so shares of them mean nothing: expected --pcie-gbps and, \
                 with direct links, --nvlink-gbps; or a dump that names the products, such as `nvidia-smi -L`",
            ));
        }
        let own: Vec<Observation> = observations.iter().flatten().cloned().collect();
        let mut fitted = fit_machine(&own, &shipped);
        fitted.efficiency.source = format!(
            "{} measurements of {server}; what they do not tell: {}",
            own.len(),
            shipped.source
        );
        // Both have an entry for each measurement, in one order.
        for (row, observation) in added.iter_mut().zip(&observations) {
            let expected = observation
                .as_ref()
                .and_then(|observation| observation.expected(&fitted.efficiency));
            row.fitted_gbps = expected.map(|(gbps, ..)| gbps);
        }
        write(path, write_efficiency(&fitted))?;
    }
    if let Some(path) = &args.into {
        let all = write_measured(&rows).map_err(|error| Failure::at(path.display(), error))?;
        write(path, all)?;
    }
    let answer = Added {
        rows: added,
        left_out,
        notes,
        into: args.into.as_ref().map(|path| path.display().to_string()),
        fit: args.fit.as_ref().map(|path| path.display().to_string()),
    };
    if output.json {
        return output.object(&answer);
    }
    print(&answer, output)
}

fn print(answer: &Added, output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(
        [
            "row",
            "operation",
            "devices",
            "measured",
            "expected",
            "nine in ten",
            "fitted",
        ],
        [3, 4, 6],
    );
    let number = |value: Option<f64>| value.map_or("-".to_owned(), gbps);
    for row in &answer.rows {
        let devices: Vec<String> = row.devices.iter().map(u32::to_string).collect();
        let range = row.low_gbps.zip(row.high_gbps);
        rows.add_row([
            row.id.clone(),
            row.operation.clone(),
            devices.join(","),
            gbps(row.measured_gbps),
            number(row.expected_gbps),
            range.map_or("-".to_owned(), |(low, high)| {
                format!("{} to {}", gbps(low), gbps(high))
            }),
            number(row.fitted_gbps),
        ]);
    }
    output.line(rows)?;
    for why in &answer.left_out {
        output.line(format_args!("left out  {why}"))?;
    }
    for note in &answer.notes {
        output.line(format_args!("note      {note}"))?;
    }
    for (what, file) in [("rows", &answer.into), ("shares", &answer.fit)] {
        if let Some(file) = file {
            output.line(format_args!("written   {what} to {file}"))?;
        }
    }
    if answer.into.is_none() && answer.fit.is_none() {
        output.line("note      nothing is written: name files with --into and --fit")?;
    }
    Ok(())
}

/// Whether two rows are of one measurement.
fn is_same(a: &MeasuredRow, b: &MeasuredRow) -> bool {
    let without = |row: &MeasuredRow| MeasuredRow {
        id: String::new(),
        ..row.clone()
    };
    without(a) == without(b)
}

/// Says that a measurement lies above what links carry, if it does: then something else is told
/// wrongly.
fn above(estimate: &Estimate, row: &MeasuredRow) -> Option<String> {
    // Tests print few digits, so a thousandth above is no contradiction.
    (row.gbps > estimate.nominal_gbps * 1.001).then(|| {
        format!(
            "{}: {} GB/s is above the {} that links carry at nominal rate: expected --pcie-gbps or --nvlink-gbps, if the links are faster than \
             MAPA takes them for",
            row.id,
            gbps(row.gbps),
            gbps(estimate.nominal_gbps)
        )
    })
}

/// The machine with this state of peer access.
fn with_peers(loaded: &Loaded, on: bool) -> Result<Arc<HardwareGraph>, Failure> {
    let mut machine = loaded.machine.clone();
    machine.fabric.set_peer_access_everywhere(PeerAccess {
        on,
        source: PeerSource::Told,
    });
    let graph = machine
        .graph()
        .map_err(|error| Failure::at(&machine.name, error))?;
    Ok(Arc::new(graph))
}

/// The measurements of one output.
fn read(
    text: &str,
    file: &str,
    args: &AddArgs,
    graph: &HardwareGraph,
    left_out: &mut Vec<String>,
) -> Result<Vec<MeasuredRun>, Failure> {
    // An output has copies or collectives, never both.
    let copies = read_copies(text).map_err(|error| Failure::at(file, error))?;
    if !copies.is_empty() {
        return of_copies(&copies, file, graph, left_out);
    }
    let runs = read_measurements(text).map_err(|error| Failure::at(file, error))?;
    let mut found = Vec::new();
    for run in &runs {
        match of_run(run, args, graph) {
            Ok(own) => found.push(own),
            Err(SkipReason::Refused(error)) => return Err(Failure::at(file, error)),
            Err(SkipReason::Out(why)) => left_out.push(format!("{file}: {why}")),
        }
    }
    Ok(found)
}

/// The copies of which rows can be made.
fn of_copies(
    copies: &[CopyRun],
    file: &str,
    graph: &HardwareGraph,
    left_out: &mut Vec<String>,
) -> Result<Vec<MeasuredRun>, Failure> {
    let (mut found, mut both_ways, mut unknown) = (Vec::new(), 0, 0);
    for copy in copies {
        let of_host = copy.from.is_none() || copy.to.is_none();
        if of_host && copy.both_ways {
            // The sum of a copy there and one back is neither.
            both_ways += 1;
            continue;
        }
        let one = of_copy(copy, file, graph)?;
        if of_host && copy.cpu.is_some() && one.far.is_none() {
            unknown += 1;
            continue;
        }
        found.push(one);
    }
    if both_ways > 0 {
        left_out.push(format!(
            "{file}: {both_ways} copies both ways between memory and a device: no operation of rows"
        ));
    }
    if unknown > 0 {
        left_out.push(format!(
            "{file}: {unknown} copies between memory and a device: whether the CPU is on the socket of the device is not known; expected the table of \
             NUMA distances in the output, or NUMA nodes in the topology"
        ));
    }
    Ok(found)
}

/// Whether a CPU, by its position among those of all NUMA nodes, is on another socket than a device.
fn is_far(cpu: u32, id: DeviceId, graph: &HardwareGraph) -> Option<bool> {
    let nodes = graph.wholes();
    let nodes: Option<Vec<u32>> = nodes.iter().map(|id| graph.device(id).numa).collect();
    let own = graph.device(id).numa?;
    let highest = nodes?.into_iter().chain([cpu]).max()?;
    // Numbers of NUMA nodes run through the sockets, as in the network of the host.
    let half = (u64::from(highest) + 1).next_power_of_two().max(2) / 2;
    Some(u64::from(cpu) / half != u64::from(own) / half)
}

/// The two copies of a pair, or the copy of one device.
fn of_copy(own: &CopyRun, file: &str, graph: &HardwareGraph) -> Result<MeasuredRun, Failure> {
    let find = |id: u32| {
        let found = graph.find(&id.to_string());
        found.map_err(|error| Failure::at(format_args!("{file}: line {}", own.line), error))
    };
    let (operation, devices) = match (own.from, own.to) {
        (Some(a), Some(b)) if own.both_ways => (Operation::CopyBothWays, vec![find(a)?, find(b)?]),
        (Some(a), Some(b)) => (Operation::Copy, vec![find(a)?, find(b)?]),
        (None, Some(b)) => (Operation::HostToDevice, vec![find(b)?]),
        (Some(a), None) => (Operation::DeviceToHost, vec![find(a)?]),
        (None, None) => {
            return Err(Failure::malformed(format_args!(
                "{file}: line {}: a copy from memory to memory: expected a device",
                own.line
            )));
        }
    };
    let size = format!("{} MB (test default)", own.default_bytes / 1_000_000);
    let first = devices.first().copied();
    // The table of distances in the output wins over a guess from the numbers of nodes.
    let by_node = || is_far(own.cpu?, first?, graph);
    Ok(MeasuredRun {
        operation,
        far: own.far.or_else(by_node),
        devices,
        gbps: own.gbps,
        bytes: own.default_bytes,
        size,
        peers: own.peers,
        tool: own.tool,
    })
}

/// Why no row is made of a run.
enum SkipReason {
    /// The run cannot be a row: the request must say more.
    Refused(String),
    /// The run has nothing to tell.
    Out(String),
}

fn of_run(
    run: &Measurement,
    args: &AddArgs,
    graph: &HardwareGraph,
) -> Result<MeasuredRun, SkipReason> {
    let named = run
        .op
        .as_deref()
        .and_then(|text| text.parse::<Operation>().ok());
    // The output knows its operation better than the option.
    let operation = named.or(args.operation).ok_or_else(|| {
        let told = run
            .op
            .as_deref()
            .map_or("names no operation".to_owned(), |text| {
                format!("says `{text}`, which is not one of ours")
            });
        SkipReason::Refused(format!("{} {told}: expected --operation", run.label))
    })?;
    // Runs of every operation are taken, since the operation is known by now.
    let config = SampleConfig {
        op: None,
        ..SampleConfig::default()
    };
    // One run at a time: a run that is left out has its own reason.
    let one = std::slice::from_ref(run);
    let own =
        samples(one, graph, &config).map_err(|error| SkipReason::Refused(error.to_string()))?;
    let Some(ring) = own.rings.first() else {
        let why = own
            .left_out
            .first()
            .map_or(String::new(), |(_, why)| why.clone());
        return Err(SkipReason::Out(format!("{}: {why}", run.label)));
    };
    // The ring is an order that `samples` has chosen. A row lists devices by number.
    let mut devices = ring.clone();
    devices.sort_unstable();
    // The largest message tells most of links.
    let largest = run.sizes.iter().max_by_key(|at| at.bytes);
    let at = largest.ok_or_else(|| SkipReason::Out(format!("{}: no sizes", run.label)))?;
    let bytes = at.bytes.or(args.message_bytes).ok_or_else(|| {
        SkipReason::Refused(format!(
            "{} has no size of messages: expected --message-bytes",
            run.label
        ))
    })?;
    let gbps = at.out_of_place.or(at.in_place).filter(|gbps| *gbps > 0.0);
    let gbps = gbps.ok_or_else(|| SkipReason::Out(format!("{}: no bandwidth", run.label)))?;
    Ok(MeasuredRun {
        operation,
        devices,
        gbps,
        bytes,
        size: format!("{bytes} B"),
        peers: None,
        far: None,
        tool: "nccl-tests",
    })
}

/// The row of a measurement, with an id that no other row has.
fn row(
    own: &MeasuredRun,
    args: &AddArgs,
    loaded: &Loaded,
    server: &str,
    rows: &[MeasuredRow],
) -> MeasuredRow {
    let graph = loaded.graph();
    let host = HostNetwork::of(graph);
    let first = own.devices.first().copied().unwrap_or_default();
    let slot = mapa_topologies::pcie_words(host.slot_gbps(first)).filter(|_| host.is_known(first));
    let open = own.peers.unwrap_or_else(|| {
        let b = own.devices.get(1).copied().unwrap_or(first);
        graph.peer_access(first, b).on
    });
    // Peer access plays no part in copies between memory and a device.
    let peers = (!own.operation.is_of_host()).then_some(if open { "P2P on" } else { "P2P off" });
    // Copies with near memory and with far memory are not alike.
    let memory = own.far.map(|far| match far {
        true => "far socket".to_owned(),
        false => "near socket".to_owned(),
    });
    let settings = peers.map(str::to_owned).into_iter().chain(memory);
    let settings: Vec<String> = settings.chain(slot).collect();
    // The lowest number that is free: rows may have been deleted from the file.
    let number = (0..).find(|number| {
        let id = format!("{server}#{number}");
        rows.iter().all(|row| row.id != id)
    });
    let devices: Vec<String> = own.devices.iter().map(DeviceId::to_string).collect();
    let (operation, metric) = match own.operation {
        Operation::Copy => ("p2p unidirectional".to_owned(), "GB/s of copy"),
        Operation::CopyBothWays => (
            "p2p bidirectional".to_owned(),
            "GB/s of copy, both ways summed",
        ),
        own if own.is_of_host() => (own.to_string(), "GB/s of copy"),
        own => (own.to_string(), "busbw"),
    };
    // The first name is the topology that is read again; a name of the catalogue is called one.
    let named = args.machine.machine.first().cloned().unwrap_or_default();
    let file = Path::new(&named)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let topology = match file.filter(|_| Path::new(&named).exists()) {
        Some(file) => file,
        None => format!("catalogue {named}"),
    };
    MeasuredRow {
        id: format!("{server}#{}", number.unwrap_or_default()),
        server: server.to_owned(),
        machine: Some(loaded.machine.title.clone()),
        gpu: graph.device(first).product.clone(),
        gpus: Some(graph.wholes().len().to_string()),
        topology: Some(topology),
        path: None,
        devices: Some(devices.join(",")),
        operation,
        metric: Some(metric.to_owned()),
        gbps: own.gbps,
        size: Some(own.size.clone()),
        library: Some(args.library.clone().unwrap_or_else(|| own.tool.to_owned())),
        settings: (!settings.is_empty()).then(|| settings.join(", ")),
        problem: Some("no".to_owned()),
        confidence: Some("high".to_owned()),
        source: Some(
            args.source
                .clone()
                .unwrap_or_else(|| "measured by its owner".to_owned()),
        ),
    }
}
