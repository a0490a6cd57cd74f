//! `measured add`: rows of the output of bandwidth tests, and a fit of the machine alone.

use std::path::Path;
use std::sync::Arc;

use mapa_core::{
    DeviceId, Efficiency, Estimate, Expected, HardwareGraph, HostNetwork, Operation, PeerAccess,
    PeerSource,
};
use mapa_regress::{
    CopyRun, MeasuredRow, Measurement, Observation, SampleConfig, fit_machine, read_copies,
    read_measured, read_measurements, samples, write_efficiency, write_measured,
};
use serde::{Deserialize, Serialize};

use crate::answer::measured::{Added, AddedRow};
use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::machine::{Loaded, MachineSpec};
use crate::text::gbps;

/// A request for rows of the output of bandwidth tests, and for what the links of the machine reach.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MeasuredRequest {
    /// The machine, which the caller has loaded from this description.
    pub machine: MachineSpec,
    /// Files of the output.
    pub outputs: Vec<String>,
    /// The table of rows to which these are added; it need not exist. Rows that it has are not added again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// Whether shares are fitted to the measurements.
    pub fit: bool,
    /// The name of the machine in the rows; that of its description if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What the devices did, where the output does not say: `all_reduce`, `alltoall`, `copy`, ..
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The bytes of a message, where the output does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_bytes: Option<u64>,
    /// The version of the library or driver, for the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Where the measurement can be looked up, for the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Rows of measurements, with what was expected of each.
pub struct MeasuredOutcome {
    /// The rows, in the order of the outputs.
    pub rows: Vec<AddedRow>,
    /// Measurements of which no row was made, each with the reason.
    pub left_out: Vec<String>,
    /// Rows that the table has already, and measurements above what links carry at nominal rate.
    pub notes: Vec<String>,
    /// The text of the table `into` with these rows below the earlier ones; none unless the request names one.
    pub table: Option<String>,
    /// The text of a file of the fitted shares; none unless the request wants them.
    pub shares: Option<String>,
}

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
    /// Whether a copy between memory and a device uses the memory of the other socket; `None` for other
    /// operations, or if it is unknown.
    far: Option<bool>,
    tool: &'static str,
}

/// Rows of the output of bandwidth tests, as `mapa-bench measured add --json` answers. No file is written:
/// [`MeasuredRequest::outcome`] has the texts.
///
/// # Errors
/// If a file cannot be read, no measurement is of several devices of the machine, an output does not tell what was
/// measured and the request neither, or shares are wanted and the generation of the links is unknown.
pub fn measured(
    files: &dyn Files,
    loaded: &Loaded,
    request: &MeasuredRequest,
) -> Result<Added, Error> {
    Ok(request.outcome(files, loaded)?.answer(None, None))
}

impl MeasuredRequest {
    /// What the answer is made of, and the texts of the files.
    ///
    /// Time is quadratic in the number of rows: each is compared with those before it.
    ///
    /// # Errors
    /// As [`measured`].
    pub fn outcome(&self, files: &dyn Files, loaded: &Loaded) -> Result<MeasuredOutcome, Error> {
        if self.into.is_some() && self.machine.machine.is_empty() {
            return Err(Error::malformed(
                "--into: rows name the topology that they were measured on: expected --machine FILE, such as the output of `nvidia-smi topo -m`",
            ));
        }
        let operation = self.operation.as_deref().map(str::parse).transpose()?;
        let mut left_out = Vec::new();
        let mut runs = Vec::new();
        for file in &self.outputs {
            let text = files.text(file, FileKind::Log)?;
            let output = TestOutput {
                file,
                operation,
                message_bytes: self.message_bytes,
                graph: loaded.graph(),
            };
            runs.extend(output.read(&text, &mut left_out)?);
        }
        if runs.is_empty() {
            return Err(nothing_found(&left_out));
        }
        let mut rows = RowBuilder {
            request: self,
            loaded,
            topology: self.topology(files),
            server: self.server.as_ref().unwrap_or(&loaded.machine.name),
            shipped: Efficiency::shipped(),
            rows: self.earlier(files)?,
            added: Vec::new(),
            observations: Vec::new(),
            known: Vec::new(),
            notes: Vec::new(),
        };
        for run in &runs {
            rows.add(run)?;
        }
        rows.outcome(left_out)
    }

    /// The rows that the table has already.
    fn earlier(&self, files: &dyn Files) -> Result<Vec<MeasuredRow>, Error> {
        match self.into.as_deref().filter(|file| files.exists(file)) {
            Some(file) => read_measured(&files.text(file, FileKind::Table)?)
                .map_err(|error| Error::at(file, error)),
            None => Ok(Vec::new()),
        }
    }

    /// The topology of the rows: the name of the file, or that of the catalogue.
    fn topology(&self, files: &dyn Files) -> String {
        // The first name is the topology that is read again.
        let named = self.machine.machine.first().cloned().unwrap_or_default();
        let file = Path::new(&named).file_name();
        match file.filter(|_| files.exists(&named)) {
            Some(file) => file.to_string_lossy().into_owned(),
            None => format!("catalogue {named}"),
        }
    }
}

impl MeasuredOutcome {
    /// The answer, with the names of the files that were written: that of rows, and that of shares.
    #[must_use]
    pub fn answer(self, into: Option<String>, fit: Option<String>) -> Added {
        Added {
            rows: self.rows,
            left_out: self.left_out,
            notes: self.notes,
            into,
            fit,
        }
    }
}

fn nothing_found(left_out: &[String]) -> Error {
    let why = left_out
        .first()
        .map_or(String::new(), |why| format!(": {why}"));
    Error::malformed(format_args!(
        "no measurement of several devices of this machine was found{why}; expected the output of nccl-tests, rccl-tests, \
         nvbandwidth, p2pBandwidthLatencyTest or rocm_bandwidth_test"
    ))
}

/// The rows of a table, and the rows that are added to it.
struct RowBuilder<'a> {
    request: &'a MeasuredRequest,
    loaded: &'a Loaded,
    /// The topology, in the words of rows.
    topology: String,
    server: &'a str,
    shipped: Arc<Efficiency>,
    /// The rows of the table, then the new ones.
    rows: Vec<MeasuredRow>,
    added: Vec<AddedRow>,
    /// An entry for each of `added`; `None` if messages were too short to measure links.
    observations: Vec<Option<Observation>>,
    /// The ids of measurements that the table has already.
    known: Vec<String>,
    notes: Vec<String>,
}

impl RowBuilder<'_> {
    /// Adds the row of a run, unless it is there.
    fn add(&mut self, run: &MeasuredRun) -> Result<(), Error> {
        // The state of P2P that the test had, where it says so.
        let graph = match run.peers {
            Some(on) => with_peers(self.loaded, on)?,
            None => Arc::clone(self.loaded.graph()),
        };
        let model = Expected::new(run.operation, Arc::clone(&self.shipped))
            .message_bytes(Some(run.bytes))
            .far(run.far == Some(true));
        let estimate = model
            .along(&graph, &run.devices)
            .filter(|estimate| estimate.known);
        let mut row = self.row(run);
        // The same output may be added twice. A row that is there twice would count twice in a fit.
        let is_known = self.rows.iter().find(|other| is_same(other, &row));
        if let Some(other) = is_known {
            row.id.clone_from(&other.id);
            self.known.push(row.id.clone());
        }
        let is_new = is_known.is_none();
        self.notes
            .extend(estimate.as_ref().and_then(|estimate| above(estimate, &row)));
        self.added.push(AddedRow {
            id: row.id.clone(),
            operation: row.operation.clone(),
            devices: run.devices.iter().map(|id| id.0).collect(),
            measured_gbps: run.gbps,
            expected_gbps: estimate.as_ref().map(|estimate| estimate.gbps),
            low_gbps: estimate.as_ref().map(|estimate| estimate.low_gbps),
            high_gbps: estimate.as_ref().map(|estimate| estimate.high_gbps),
            fitted_gbps: None,
        });
        let long = model.of_large_messages(run.gbps, run.devices.len());
        self.observations.push(long.map(|long| Observation {
            id: row.id.clone(),
            server: self.server.to_owned(),
            gbps: long,
            ways: model.ways(&graph, &run.devices),
            generation: graph.link_generation().map(str::to_owned),
        }));
        if is_new {
            self.rows.push(row);
        }
        Ok(())
    }

    /// The row of a measurement, with an id that no other row has.
    fn row(&self, run: &MeasuredRun) -> MeasuredRow {
        let graph = self.loaded.graph();
        let settings = self.settings(run);
        let first = run.devices.first().copied().unwrap_or_default();
        let devices: Vec<String> = run.devices.iter().map(DeviceId::to_string).collect();
        let (operation, metric) = match run.operation {
            Operation::Copy => ("p2p unidirectional".to_owned(), "GB/s of copy"),
            Operation::CopyBothWays => (
                "p2p bidirectional".to_owned(),
                "GB/s of copy, both ways summed",
            ),
            operation if operation.is_of_host() => (operation.to_string(), "GB/s of copy"),
            operation => (operation.to_string(), "busbw"),
        };
        let (library, source) = (&self.request.library, &self.request.source);
        MeasuredRow {
            id: self.free_id(),
            server: self.server.to_owned(),
            machine: Some(self.loaded.machine.title.clone()),
            gpu: graph.device(first).product.clone(),
            gpus: Some(graph.wholes().len().to_string()),
            topology: Some(self.topology.clone()),
            path: None,
            devices: Some(devices.join(",")),
            operation,
            metric: Some(metric.to_owned()),
            gbps: run.gbps,
            size: Some(run.size.clone()),
            library: Some(library.clone().unwrap_or_else(|| run.tool.to_owned())),
            settings: (!settings.is_empty()).then(|| settings.join(", ")),
            problem: Some("no".to_owned()),
            confidence: Some("high".to_owned()),
            source: Some(
                source
                    .clone()
                    .unwrap_or_else(|| "measured by its owner".to_owned()),
            ),
        }
    }

    /// The settings of a run, in the words of rows: peer access, the socket of the memory, the slot.
    fn settings(&self, run: &MeasuredRun) -> Vec<String> {
        let graph = self.loaded.graph();
        let host = HostNetwork::of(graph);
        let first = run.devices.first().copied().unwrap_or_default();
        let slot =
            mapa_topologies::pcie_words(host.slot_gbps(first)).filter(|_| host.is_known(first));
        let open = run.peers.unwrap_or_else(|| {
            let b = run.devices.get(1).copied().unwrap_or(first);
            graph.peer_access(first, b).on
        });
        // Peer access plays no part in copies between memory and a device.
        let peers =
            (!run.operation.is_of_host()).then_some(if open { "P2P on" } else { "P2P off" });
        // Copies with near memory and with far memory are not alike.
        let memory = run.far.map(|far| match far {
            true => "far socket".to_owned(),
            false => "near socket".to_owned(),
        });
        let settings = peers.map(str::to_owned).into_iter().chain(memory);
        settings.chain(slot).collect()
    }

    /// The id of the next row.
    fn free_id(&self) -> String {
        let mut ids = (0u64..).map(|number| format!("{}#{number}", self.server));
        // The lowest number that is free: rows may have been deleted from the file.
        ids.find(|id| self.rows.iter().all(|row| row.id != *id))
            .unwrap_or_default()
    }

    /// The outcome of all runs.
    fn outcome(mut self, left_out: Vec<String>) -> Result<MeasuredOutcome, Error> {
        let shares = self.request.fit.then(|| self.fit()).transpose()?;
        let mut table = None;
        if let Some(file) = &self.request.into {
            if !self.known.is_empty() {
                let known = self.known.join(", ");
                self.notes
                    .push(format!("not added to {file} again: {known}"));
            }
            table = Some(write_measured(&self.rows).map_err(|error| Error::at(file, error))?);
        }
        Ok(MeasuredOutcome {
            rows: self.added,
            left_out,
            notes: self.notes,
            table,
            shares,
        })
    }

    /// Fits shares to the measurements, and sets the bandwidth that they predict in each row. Returns the text of a file of shares.
    fn fit(&mut self) -> Result<String, Error> {
        if !HostNetwork::of(self.loaded.graph()).all_known() {
            return Err(Error::malformed(
                "--fit: the generation of this machine's links is not known, so shares of them mean nothing: expected --pcie-gbps and, \
                 with direct links, --nvlink-gbps; or a dump that names the products, such as `nvidia-smi -L`",
            ));
        }
        let told: Vec<Observation> = self.observations.iter().flatten().cloned().collect();
        let mut fitted = fit_machine(&told, &self.shipped);
        fitted.efficiency.source = format!(
            "{} measurements of {}; what they do not tell: {}",
            told.len(),
            self.server,
            self.shipped.source
        );
        // Both have an entry for each measurement, in one order.
        for (row, observation) in self.added.iter_mut().zip(&self.observations) {
            let expected = observation
                .as_ref()
                .and_then(|observation| observation.expected(&fitted.efficiency));
            row.fitted_gbps = expected.map(|(gbps, ..)| gbps);
        }
        Ok(write_efficiency(&fitted))
    }
}

/// Whether two rows are of one measurement.
fn is_same(a: &MeasuredRow, b: &MeasuredRow) -> bool {
    let without = |row: &MeasuredRow| MeasuredRow {
        id: String::new(),
        ..row.clone()
    };
    without(a) == without(b)
}

/// A note if a measurement exceeds the nominal bandwidth of its links: then the description of the machine is wrong.
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
fn with_peers(loaded: &Loaded, on: bool) -> Result<Arc<HardwareGraph>, Error> {
    let mut machine = loaded.machine.clone();
    machine.fabric.set_peer_access_everywhere(PeerAccess {
        on,
        source: PeerSource::Told,
    });
    let graph = machine
        .graph()
        .map_err(|error| Error::at(&machine.name, error))?;
    Ok(Arc::new(graph))
}

/// An output of a test, and what the request adds to it.
struct TestOutput<'a> {
    file: &'a str,
    /// The operation, where the output names none.
    operation: Option<Operation>,
    /// The bytes of a message, where the output does not say.
    message_bytes: Option<u64>,
    graph: &'a HardwareGraph,
}

impl TestOutput<'_> {
    /// The measurements in its text. `left_out` gets those of which no row can be made.
    fn read(&self, text: &str, left_out: &mut Vec<String>) -> Result<Vec<MeasuredRun>, Error> {
        let file = self.file;
        // An output has copies or collectives, never both.
        let copies = read_copies(text).map_err(|error| Error::at(file, error))?;
        if !copies.is_empty() {
            return of_copies(&copies, file, self.graph, left_out);
        }
        let runs = read_measurements(text).map_err(|error| Error::at(file, error))?;
        let mut found = Vec::new();
        for run in &runs {
            match self.of_run(run) {
                Ok(run) => found.push(run),
                Err(SkipReason::Refused(error)) => return Err(Error::at(file, error)),
                Err(SkipReason::Out(why)) => left_out.push(format!("{file}: {why}")),
            }
        }
        Ok(found)
    }

    /// The measurement of a collective's run: that of its largest message.
    fn of_run(&self, run: &Measurement) -> Result<MeasuredRun, SkipReason> {
        let named = run
            .op
            .as_deref()
            .and_then(|text| text.parse::<Operation>().ok());
        // The output knows its operation better than the option.
        let operation = named.or(self.operation).ok_or_else(|| {
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
        let found = samples(one, self.graph, &config)
            .map_err(|error| SkipReason::Refused(error.to_string()))?;
        let Some(ring) = found.rings.first() else {
            let why = found
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
        let bytes = at.bytes.or(self.message_bytes).ok_or_else(|| {
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
}

/// The copies of which rows can be made.
fn of_copies(
    copies: &[CopyRun],
    file: &str,
    graph: &HardwareGraph,
    left_out: &mut Vec<String>,
) -> Result<Vec<MeasuredRun>, Error> {
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
    let node = graph.device(id).numa?;
    let highest = nodes?.into_iter().chain([cpu]).max()?;
    // Numbers of NUMA nodes run through the sockets, as in the network of the host.
    let half = (u64::from(highest) + 1).next_power_of_two().max(2) / 2;
    Some(u64::from(cpu) / half != u64::from(node) / half)
}

/// The two copies of a pair, or the copy of one device.
fn of_copy(copy: &CopyRun, file: &str, graph: &HardwareGraph) -> Result<MeasuredRun, Error> {
    let find = |id: u32| {
        let found = graph.find(&id.to_string());
        found.map_err(|error| Error::at(format_args!("{file}: line {}", copy.line), error))
    };
    let (operation, devices) = match (copy.from, copy.to) {
        (Some(a), Some(b)) if copy.both_ways => (Operation::CopyBothWays, vec![find(a)?, find(b)?]),
        (Some(a), Some(b)) => (Operation::Copy, vec![find(a)?, find(b)?]),
        (None, Some(b)) => (Operation::HostToDevice, vec![find(b)?]),
        (Some(a), None) => (Operation::DeviceToHost, vec![find(a)?]),
        (None, None) => {
            return Err(Error::malformed(format_args!(
                "{file}: line {}: a copy from memory to memory: expected a device",
                copy.line
            )));
        }
    };
    let size = format!("{} MB (test default)", copy.default_bytes / 1_000_000);
    let first = devices.first().copied();
    // The table of distances in the output wins over a guess from the numbers of nodes.
    let by_node = || is_far(copy.cpu?, first?, graph);
    Ok(MeasuredRun {
        operation,
        far: copy.far.or_else(by_node),
        devices,
        gbps: copy.gbps,
        bytes: copy.default_bytes,
        size,
        peers: copy.peers,
        tool: copy.tool,
    })
}

/// Why no row is made of a run.
enum SkipReason {
    /// The run cannot be a row: the request must say more.
    Refused(String),
    /// The run has no bandwidth between devices of this machine.
    Out(String),
}
