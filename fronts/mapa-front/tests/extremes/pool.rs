//! Extreme values of requests, and of what answers are made of.
//!
//! A request is a good one in which one key has a hostile value, as far as serde takes it.

use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use clap::Command;
use clap_complete::Shell;
use mapa_core::{
    Allocator, Bandwidth as Found, DeviceId, Expected, HardwareGraph, LinkModel, Objective,
    Operation, RingPacking,
};
use mapa_front::answer::defrag::{Defrag, Wanted};
use mapa_front::answer::node::Diagnosis;
use mapa_front::answer::simulate::{PolicyRun, Simulated};
use mapa_front::answer::sweep::RowsOf;
use mapa_front::answer::{Bandwidth, ModelChoice};
use mapa_front::commands::*;
use mapa_front::drive_log::{
    ActionLine, EventLine, JobLine, RecordHead, ReplayedDrive, Replayer, TurnLine,
};
use mapa_front::measured::{Question, Ways};
use mapa_front::names::{Choice, PolicyRow, Preserved, SchedulerRow};
use mapa_front::shell::{CommandGroup, OptionValues};
use mapa_front::*;
use mapa_sched::Event;
use mapa_topologies::Machine;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::foreign_pool::LOG;
use crate::shared::{Extreme, values};

values!(InMemory: [FILES.clone()]);
values!(Names: [NAMES.clone()]);
values!(Loaded: LOADED.iter().map(copy));
values!(FileKind: [FileKind::Machine, FileKind::Log]);
values!(Error: [Error::malformed(""), Error::at("\u{202e}", "\0")].into_iter().chain(MachineSpec::named("\0").load(&*FILES, &mut |_| {}).err()));

values!(AllocateRequest: ALLOCATE.clone());
values!(CompareRequest: COMPARE.clone());
values!(MatchRequest: MATCH.clone());
values!(GraphMatchRequest: IN_GRAPH.clone());
values!(ScoreRequest: SCORE.clone());
values!(DefragRequest: DEFRAG.clone());
values!(SimulateRequest: SIMULATE.clone());
values!(SweepRequest: SWEEP.clone());
values!(FitRequest: FIT.clone());
values!(MeasuredRequest: MEASURED.clone());
values!(MigRequest: MIG.clone());
values!(PartedRequest: PARTED.clone());
values!(PatternRequest: PATTERN.clone());
values!(EvidenceRequest: EVIDENCE.clone());
values!(JobSpec: JOB.clone());
values!(MachineSpec: MACHINE.clone());
values!(WorkloadSpec: WORKLOAD.clone());
values!(PolicySpec: POLICY.clone());
values!(DeviceName: [DeviceName::Id(0), DeviceName::Id(u64::MAX), DeviceName::Text(String::new()), DeviceName::Text("GPU1".to_owned()), DeviceName::Text("\0".to_owned())]);
values!(ModelSpec: ["", "\0", "ring-packing", "expected", "eq-2", "odd.txt"].into_iter().filter_map(|text| text.parse().ok()));
values!(Named: ["", ",", "fifo", "foresight,depth=18446744073709551615", "\u{202e},=", "effective-bandwidth"].map(Named::from));
values!(Preserved: [Preserved::All, Preserved::Direct]);
values!(P2p: [P2p::On, P2p::Off]);

values!(AllocateOutcome: few(&ALLOCATE, |request, loaded| Some(request.outcome(&NAMES, &*FILES, loaded).ok()?.0)));
values!(CompareOutcome: few(&COMPARE, |request, loaded| request.outcome(&NAMES, &*FILES, loaded).ok()).into_iter().take(2));
values!(MatchOutcome: few(&MATCH, |request, loaded| request.outcome(&NAMES, &*FILES, loaded).ok()));
values!(GraphMatchOutcome: IN_GRAPH.iter().filter_map(|request| request.outcome(&*FILES).ok()).take(2));
values!(ScoreOutcome: few(&SCORE, |request, loaded| request.outcome(&NAMES, &*FILES, loaded).ok()));
values!(ExplainedSum: ScoreOutcome::values().into_iter().filter_map(|outcome| match outcome.bandwidth { ScoredBandwidth::Sum(sum) => Some(sum), _ => None }));
values!(PackedLinks: ScoreOutcome::values().into_iter().filter_map(|outcome| match outcome.bandwidth { ScoredBandwidth::Packing(links) => Some(links), _ => None }));
values!(RunningJobs: few(&DEFRAG, |request, loaded| Some(request.outcome(&*FILES, loaded).ok()?.jobs)));
values!(FitOutcome: few(&FIT, |request, loaded| request.outcome(&*FILES, loaded, &mut |_, _| {}).ok()));
values!(MeasuredOutcome: few(&MEASURED, |request, loaded| request.outcome(&*FILES, loaded).ok()));
values!(MigOutcome: MIG.iter().filter_map(|request| request.outcome().ok()).take(4));
values!(PatternOutcome: PATTERN.iter().filter_map(|request| request.outcome(&*FILES, None, PatternInput::Files).ok()).take(8));
values!(ReadFile: READ.clone());
values!(ReadOutcome: ReadOutcome::ALL);
values!(SimulateOutcome<'static>: simulated());
values!(Simulated<'static>: [simulated().leak()[0].simulated()]);
values!(PolicyRun: simulated().into_iter().flat_map(|outcome| outcome.runs));
values!(RowsOf: [RowsOf::Cells, RowsOf::Jobs]);
values!(SweepPlan: SWEEP.iter().filter_map(|request| SweepPlan::new(&NAMES, &*FILES, request, &mut |_| {}).ok()).take(3));
values!(SweepPoint<'static>: CELLS.iter().map(|(point, _)| *point));
values!(FinishedCell: CELLS.iter().map(|(_, cell)| cell.clone()));
values!(SweepGroup<'static>: SweepGroup::all(&CELLS));
values!(SweepRows: [SweepRows::default()]);
values!(Batch<'static>: LOADED.iter().map(|loaded| Batch::new(&NAMES, &*FILES, copy(loaded))));

values!(Job: JOB.iter().filter_map(|spec| spec.job(&*FILES).ok()).take(12));
values!(Step: few(&ALLOCATE, |request, loaded| request.outcome(&NAMES, &*FILES, loaded).ok()?.0.step));
values!(Packing: [Packing::Rings(RingPacking::default())]);
values!(Model: ["ring-packing", "expected", "eq-2", "all-to-all", "trees"].into_iter().filter_map(|name| NAMES.model(name, None, &*FILES).ok()).chain([Model::own(Objective::values().remove(0)), Model::links(LinkModel::paper())]));
values!(ModelChoice: Expected::values().into_iter().map(|expected| ModelChoice { objective: expected.objective(), expected: Some(expected) }).chain(Objective::values().into_iter().map(|objective| ModelChoice { objective, expected: None })));
values!(Bandwidth: [Bandwidth::default(), Bandwidth { bandwidth_gbps: Some(f64::NAN), ..Bandwidth::default() }, Bandwidth { bandwidth_gbps: Some(f64::MAX), low_gbps: Some(f64::INFINITY), high_gbps: Some(-1.0), nominal_gbps: Some(0.0), ..Bandwidth::default() }]);
values!(Found: HardwareGraph::values().iter().filter_map(|graph| RingPacking::default().of(graph, &graph.all())));
values!(Choice<'static>: [Choice::default(), Choice { preserved: Preserved::Direct, seed: Some(u64::MAX), ..Choice::default() }, Choice { model: MODEL.as_ref(), ..Choice::default() }]);
values!(PolicyRow: NAMES.policies.iter().take(2).cloned());
values!(SchedulerRow: NAMES.schedulers.iter().take(2).cloned());
values!(Question: HardwareGraph::values().into_iter().flat_map(|graph| { let graph = Arc::new(graph); Vec::<DeviceId>::values().into_iter().map(move |devices| Question { graph: graph.clone(), devices, operation: Operation::AllReduce, bytes: Some(u64::MAX), ways: Ways::default(), scale: 0.0 }) }));
values!(Wanted: [f64::NAN, f64::MAX].map(|gbps| Wanted { pattern: "\0".to_owned(), at_least: gbps, now: Some(gbps), idle: None }));
values!(Defrag: [Defrag::new("", u32::MAX, [])]);
values!(Diagnosis: [Diagnosis { version: 0, checks: Vec::new() }]);
values!(AnswerSchema: ANSWERS.iter().take(2).copied());

values!(ActionLine: mapa_sched::Action::values().iter().filter_map(|action| ActionLine::of(action).ok()));
values!(EventLine: Event::values().iter().filter_map(|event| EventLine::of(event).ok()));
values!(JobLine: mapa_sched::Job::values().iter().map(JobLine::of));
values!(RecordHead: HEAD.clone());
values!(ReplayedDrive: [ReplayedDrive::default(), ReplayedDrive { differ: u64::MAX, ..ReplayedDrive::default() }]);
values!(Replayer: HEAD.iter().take(1).filter_map(|head| Replayer::new(head, &NAMES, &*FILES).ok()));
values!(TurnLine: [0, u64::MAX].map(|now| TurnLine { now, events: EventLine::values(), actions: ActionLine::values() }).into_iter().chain(EventLine::values().into_iter().map(|event| TurnLine { now: 1, events: vec![event], actions: vec![] })));

values!(Command: [Command::new(""), Command::new("a-b").version("\0").about("\u{202e}").subcommand(Command::new("c").arg(clap::Arg::new("x").long("x")))]);
values!(CommandGroup: [CommandGroup { heading: "", commands: vec!["", "c"] }]);
values!(OptionValues: [OptionValues::new("x", ["", "\0", "'\"$(`"].into_iter(), true)]);
values!(Shell: [Shell::Bash, Shell::Fish, Shell::Zsh]);

static NAMES: LazyLock<Names> = LazyLock::new(Names::built_in);
static MODEL: LazyLock<Option<Model>> = LazyLock::new(|| Model::values().pop());

static FILES: LazyLock<InMemory> = LazyLock::new(|| {
    let pattern = "format = \"mapa-pattern\"\nversion = 1\nname = \"x\"\nranks = 2\nunit = \"bytes\"\nedges = [[0, 1, 1e308]]\n";
    InMemory::default()
        .with("odd.txt", [0xff, 0, 0xfe])
        .with("none.txt", "")
        .with("jobs.csv", "gpus,duration_s\n1,0\n2,1e9\n")
        .with("none.csv", "gpus,duration_s\n0,1\n")
        .with("pattern.toml", pattern)
        .with("graph.txt", "3 3\n0 1\n1 2\n2 0\n")
        .with("copies.txt", COPIES)
        .with("nccl.txt", nccl(2))
        .with("three.txt", nccl(3))
        .with(
            "fig-9b.txt",
            include_str!("../../../../mapa-patterns/tests/readings/fig-9b.txt"),
        )
        .with("log.txt", LOG)
        .with(
            "state.json",
            "{\"held\": [{\"id\": 1, \"placement\": [0, 4294967295]}]}",
        )
});

const COPIES: &str = "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 786.23  17.00\n     1  17.00 1e308\n";

/// A run of nccl-tests on the first GPUs.
fn nccl(gpus: usize) -> String {
    let rank = |at| {
        format!("#  Rank  {at} Group  0 Pid 1 on n device  {at} [0000:0{at}:00] NVIDIA H100\n")
    };
    let ranks: String = (0..gpus).map(rank).collect();
    format!(
        "# nThread 1 nGpus {gpus} minBytes 8 maxBytes 8\n# Using devices\n{ranks}#\n#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n    33554432       8388608     float     sum      -1   1000.0   33.55   44.74       0    990.0   33.89   45.19       0\n# Avg bus bandwidth    : 45.2375\n"
    )
}

static READ: LazyLock<Vec<ReadFile>> = LazyLock::new(|| {
    let texts = ["", "\0", LOG, COPIES].map(str::as_bytes);
    let read = texts.map(|text| ReadFile::of_bytes("\u{202e}", text));
    let unreadable = ReadFile::unreadable("", None, String::new());
    read.into_iter().chain([unreadable]).collect()
});

/// Machines with and without links, instances and devices.
static LOADED: LazyLock<Vec<Loaded>> = LazyLock::new(|| {
    let words = ["dgx-1v", "machine=dgx-a100 mig=a100-40gb=3g,2g,1g,1g"];
    let specs = words.map(|text| text.parse::<MachineSpec>().expect("words"));
    let mut loaded: Vec<Loaded> = specs
        .iter()
        .map(|spec| spec.load(&*FILES, &mut |_| {}).expect("a machine"))
        .collect();
    let small = Machine::values().into_iter().rev().filter_map(|machine| {
        let graph = machine.graph().ok().filter(|graph| graph.len() <= 2)?;
        let idle = Allocator::new(Arc::new(graph));
        Some(Loaded { machine, idle })
    });
    loaded.extend(small.take(2));
    loaded
});

fn copy(loaded: &Loaded) -> Loaded {
    Loaded {
        machine: loaded.machine.clone(),
        idle: loaded.idle.clone(),
    }
}

/// The outcomes of some requests.
fn few<R, T>(requests: &[R], outcome: impl Fn(&R, &Loaded) -> Option<T>) -> Vec<T> {
    let found = requests.iter().step_by(requests.len() / 8);
    found
        .filter_map(|request| outcome(request, &LOADED[0]))
        .collect()
}

fn simulated() -> Vec<SimulateOutcome<'static>> {
    let outcome = |request: &'static SimulateRequest| {
        let policies = request.policies(&NAMES, &*FILES).ok()?;
        let machines = ("\0".to_owned(), simulation::fleet(&LOADED[0]).ok()?);
        request
            .outcome(&NAMES, &*FILES, policies, machines, true, &mut |_| {})
            .ok()
    };
    SIMULATE.iter().take(2).filter_map(outcome).collect()
}

static CELLS: LazyLock<Vec<(SweepPoint<'static>, FinishedCell)>> = LazyLock::new(|| {
    let plans = SweepPlan::values().leak();
    let points = plans.iter().flat_map(|plan| plan.cells().take(2));
    points
        .map(|point| (point, point.run(&NAMES, true)))
        .collect()
});

fn others() -> Vec<Value> {
    let texts = [
        "",
        "\0",
        "\u{202e}x",
        "0",
        "GPU0",
        "18446744073709551615",
        "4294967295",
        "ring",
        "tp=2",
        "tp=65535,pp=65535",
        "0-1:NaN",
        "0-1:1e308,1-0:1e308",
        "65535-0",
        "all",
        "none.txt",
        "odd.txt",
        "jobs.csv",
        "pattern.toml",
        "1g,7g",
        ",,=",
    ];
    let long = "x".repeat(3000);
    let texts = texts.into_iter().chain([&*long]);
    let lists = [
        json!([]),
        json!([""]),
        json!(["0", "1", "1"]),
        json!([u64::MAX]),
        json!([0, 1]),
        json!({}),
    ];
    let numbers = [
        json!(0),
        json!(1),
        json!(3),
        json!(-1),
        json!(u64::MAX),
        json!(1e308),
        json!(-1e308),
        json!(5e-324),
    ];
    let plain = texts.map(Value::from).chain(lists).chain(numbers);
    plain
        .chain([Value::Null, json!(true), json!(false)])
        .collect()
}

/// Good requests, and those in which one value below a key is another.
fn hostile<T: DeserializeOwned>(usual: &[Value]) -> Vec<T> {
    let mut all = usual.to_vec();
    let mut read: Vec<T> = Vec::new();
    for usual in usual {
        let mut pointers = Vec::new();
        below(usual, "", &mut pointers);
        for pointer in pointers {
            for other in others() {
                let mut request = usual.clone();
                *request.pointer_mut(&pointer).expect("a value") = other;
                all.push(request);
            }
            // JSON has no such numbers, but requests may.
            for number in [f64::NAN, f64::INFINITY] {
                let mut request = toml::Value::try_from(usual).expect("no null");
                let keys = pointer.split('/').skip(1);
                let value = keys.fold(&mut request, |value, key| match value {
                    toml::Value::Array(list) => &mut list[key.parse::<usize>().expect("a place")],
                    other => &mut other[key],
                });
                *value = toml::Value::Float(number);
                read.extend(request.try_into::<T>());
            }
        }
    }
    let good = usual.len();
    let mut found: Vec<T> = all
        .into_iter()
        .filter_map(|request| serde_json::from_value(request).ok())
        .collect();
    assert!(found.len() >= good, "a good request cannot be read");
    found.append(&mut read);
    found
}

/// Pointers to all values below one.
fn below(value: &Value, at: &str, found: &mut Vec<String>) {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(list) => (0..).map(|at: usize| at.to_string()).zip(list).collect(),
        _ => Vec::new(),
    };
    for (key, value) in parts {
        let at = format!("{at}/{key}");
        found.push(at.clone());
        below(value, &at, found);
    }
}

/// A default request, with these keys.
fn with<T: Default + Serialize>(keys: Value) -> Value {
    let mut request = serde_json::to_value(T::default()).expect("JSON");
    if let (Value::Object(all), Value::Object(keys)) = (&mut request, keys) {
        all.extend(keys);
    }
    request
}

fn jobs() -> [Value; 3] {
    [
        json!({"gpus": 2, "pattern": "ring", "sensitive": true, "must_include": ["0"], "avoid": [3], "min_link": "sys",
            "same_numa": false, "like": "any", "max_nodes": 1000, "limit": 1000}),
        json!({"gpus": 2, "pattern": "tp=2", "bytes": "tp=1e9"}),
        json!({"gpus": 2, "pattern": "independent", "slice": "1g", "memory": 1.0, "shared": true, "pcie_traffic": 1.0, "warps": 1,
            "nics": 1, "nic_within": "pix", "nic_for": "gpu"}),
    ]
}

/// Requests for jobs, with other keys.
fn of_jobs<T: DeserializeOwned>(keys: Value) -> Vec<T> {
    let requests = jobs().map(|job| {
        let mut request = keys.clone();
        request["job"] = job;
        request
    });
    hostile(&requests)
}

static JOB: LazyLock<Vec<JobSpec>> = LazyLock::new(|| hostile(&jobs()));
static ALLOCATE: LazyLock<Vec<AllocateRequest>> = LazyLock::new(|| {
    let mut requests: Vec<AllocateRequest> = of_jobs(json!({"busy": ["1"], "top": 2}));
    for row in NAMES.policies.iter() {
        let policy = json!({"policy": row.name, "seed": 1});
        requests.extend(serde_json::from_value::<AllocateRequest>(
            json!({"job": {"gpus": 2}, "policy": policy}),
        ));
    }
    requests
});
static POLICY: LazyLock<Vec<PolicySpec>> = LazyLock::new(|| {
    hostile(&[
        json!({"policy": "preserve", "model": "ring-packing", "preserved": "all", "seed": 1}),
    ])
});
static COMPARE: LazyLock<Vec<CompareRequest>> =
    LazyLock::new(|| of_jobs(json!({"busy": ["1"], "model": "ring-packing"})));
static MATCH: LazyLock<Vec<MatchRequest>> = LazyLock::new(|| {
    let settings =
        json!({"induced": false, "raw": false, "list": 2, "limit": 1000, "max_nodes": 1000});
    of_jobs(
        json!({"busy": ["1"], "settings": settings, "threads": 1, "top": 2, "model": "expected"}),
    )
});
static IN_GRAPH: LazyLock<Vec<GraphMatchRequest>> = LazyLock::new(|| {
    hostile(&[with::<GraphMatchRequest>(
        json!({"pattern": "graph.txt", "target": "graph.txt"}),
    )])
});
static SCORE: LazyLock<Vec<ScoreRequest>> = LazyLock::new(|| {
    hostile(&[
        json!({"devices": ["0", "1", "2"], "model": "paper", "pattern": "ring"}),
        json!({"devices": [0, 1], "model": "ring-packing", "rates": "0,3=20"}),
        json!({"devices": [0, 1, 2], "model": "expected", "operation": "all_reduce", "message_bytes": 1, "nvls": true}),
    ])
});
static DEFRAG: LazyLock<Vec<DefragRequest>> = LazyLock::new(|| {
    let keys = json!({"servers": 2, "jobs": ["a=0", "b=1/1,2:ring"], "busy": ["3"], "pin": ["a"], "want": "2", "at_least": 1.0, "max_nodes": 100});
    hostile(&[
        with::<DefragRequest>(keys),
        json!({"jobs": ["a=0"], "state": "state.json", "max_nodes": 100}),
    ])
});
static MACHINE: LazyLock<Vec<MachineSpec>> = LazyLock::new(|| {
    hostile(&[
        json!({"machine": ["dgx-1v"], "gpu_name": "NVIDIA A100-SXM4-40GB", "pcie_gbps": 1.0, "nvlink_gbps": 1.0, "p2p": "on"}),
        json!({"machine": ["dgx-a100"], "mig": "a100-40gb=3g,2g,1g,1g"}),
    ])
});
static WORKLOAD: LazyLock<Vec<WorkloadSpec>> = LazyLock::new(|| {
    hostile(&[
        json!({"generate": "mapa,jobs=3", "seed": 1, "at_once": true}),
        json!({"jobs": "jobs.csv"}),
        json!({"trace": "slurm-sacct=jobs.csv", "select": "jobs=3"}),
    ])
});
static SIMULATE: LazyLock<Vec<SimulateRequest>> = LazyLock::new(|| {
    let workload = json!({"generate": "mapa,jobs=3", "seed": 1, "at_once": false});
    let mut requests: Vec<SimulateRequest> = hostile(&[
        with::<SimulateRequest>(json!({"workload": workload, "policies": ["greedy"]})),
        json!({"servers": ["2xdgx-1v"], "network": 1.0, "workload": workload}),
        json!({"workload": {"jobs": "jobs.csv"}, "policies": ["preserve"], "model": "ring-packing"}),
    ]);
    // Two jobs for each scheduler, of which one is on an instance.
    let executions = NAMES.executions.iter().map(|row| ("fifo", &*row.name));
    let schedulers = NAMES
        .schedulers
        .iter()
        .map(|row| (&*row.name, "ring-packing"));
    for (scheduler, execution) in executions.chain(schedulers) {
        let request = json!({"workload": workload, "scheduler": scheduler, "execution": execution});
        requests.extend(serde_json::from_value::<SimulateRequest>(request));
    }
    requests
});
static SWEEP: LazyLock<Vec<SweepRequest>> = LazyLock::new(|| {
    let keys = json!({"machines": ["dgx-1v"], "p2p": "on", "pcie_gbps": 10.0, "policies": ["greedy"], "schedulers": ["fifo"],
        "executions": ["ring-packing"], "generate": ["mapa,jobs=3"], "seeds": [1], "at_once": false});
    hostile(&[
        keys,
        json!({"machines": ["dgx-a100"], "mig": "a100-40gb=3g,3g", "jobs": ["jobs.csv"]}),
    ])
});
static FIT: LazyLock<Vec<FitRequest>> = LazyLock::new(|| {
    let keys = json!({"measurements": ["nccl.txt", "three.txt"], "allow_rank_deficient": true, "folds": 2});
    hostile(&[
        with::<FitRequest>(keys),
        with::<FitRequest>(
            json!({"measurements": ["nccl.txt", "three.txt"], "method": "ridge", "lambda": 1.0}),
        ),
    ])
});
static MEASURED: LazyLock<Vec<MeasuredRequest>> = LazyLock::new(|| {
    let machine = json!({"machine": ["dgx-1v"]});
    hostile(&[
        json!({"machine": machine, "outputs": ["copies.txt"], "into": "rows.tsv", "fit": true, "server": "s"}),
        json!({"machine": machine, "outputs": ["nccl.txt"], "operation": "all_reduce", "message_bytes": 1, "library": "x", "source": "y"}),
    ])
});
static MIG: LazyLock<Vec<MigRequest>> = LazyLock::new(|| {
    let keys = json!({"gpu": "a100-40gb", "fit": "1g,2g", "layouts": true, "media": true, "double_memory": true});
    hostile(&[keys, json!({"gpu": "h100-80gb", "layouts": true})])
});
static PARTED: LazyLock<Vec<PartedRequest>> = LazyLock::new(|| {
    hostile(&[json!({"config": "all-1g.5gb", "gpu": "a100-40gb", "pci_id": "0x20B010DE"})])
});
static EVIDENCE: LazyLock<Vec<EvidenceRequest>> = LazyLock::new(|| hostile(&[evidence()]));
static PATTERN: LazyLock<Vec<PatternRequest>> = LazyLock::new(|| {
    let nccl = with::<NcclSource>(json!({"files": ["log.txt"]}));
    let counters = with::<CounterSource>(json!({"readings": ["fig-9b.txt"], "resets": true}));
    hostile(&[
        json!({"source": {"parallelism": {"degrees": "tp=2", "model": "layers=2,hidden=8,sequence=8"}}, "name": "x", "evidence": evidence()}),
        json!({"source": {"parallelism": {"degrees": "tp=2,dp=2", "bytes": "tp=1"}}, "sensitivity": "sensitive"}),
        json!({"source": {"pattern": {"pattern": "ring", "gpus": 3}}}),
        json!({"source": {"nccl": nccl}, "steps": 2.0}),
        json!({"source": {"counters": counters}}),
    ])
});
static HEAD: LazyLock<Vec<RecordHead>> = LazyLock::new(|| {
    let machine = LOADED[0].machine.to_toml().expect("TOML");
    hostile(&[
        json!({"version": drive_log::RECORD_VERSION, "release": "", "scheduler": "fifo", "policy": {"policy": "greedy"},
        "execution": "ring-packing", "machine": machine, "changes": {"machine": []}, "began": 0}),
    ])
});

fn evidence() -> Value {
    json!({"fast_seconds": [1.0, 1.0], "slow_seconds": [2.0, 2.0], "messages": "10x1000", "iteration_seconds": 1.0, "link_gbps": [1.0, 2.0]})
}

/// Asks for the answers to all requests on all machines: calls by name are some of these.
pub(crate) fn answer_all() {
    let (names, files) = (&*NAMES, &*FILES);
    for loaded in &*LOADED {
        each(&ALLOCATE, |request| allocate(names, files, loaded, request));
        each(&COMPARE, |request| compare(names, files, loaded, request));
        each(&MATCH, |request| {
            find_matches(names, files, loaded, request)
        });
        each(&SCORE, |request| score(names, files, loaded, request));
        each(&DEFRAG, |request| defrag(files, loaded, request));
        each(&FIT, |request| fit(files, loaded, request));
        each(&MEASURED, |request| measured(files, loaded, request));
        each(&PATTERN, |request| pattern(files, Some(loaded), request));
        each(&SIMULATE, |request| {
            simulate(names, files, Some(loaded), request)
        });
    }
    each(&SIMULATE, |request| simulate(names, files, None, request));
    each(&IN_GRAPH, |request| find_in_graph(files, request));
    each(&MIG, mig);
    each(&EVIDENCE, sensitivity);
    each(&MACHINE, |request| {
        Ok(topo(&request.load(files, &mut |_| {})?))
    });
}

fn each<R: Debug, A>(requests: &[R], answer: impl Fn(&R) -> Result<A, Error>) {
    for request in requests {
        let begun = Instant::now();
        let answered = panic::catch_unwind(AssertUnwindSafe(|| answer(request).err()));
        assert!(
            answered.is_ok(),
            "{request:?}: expected an answer or an error"
        );
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{request:?}: expected an answer within seconds"
        );
    }
}

/// What goes wrong with good requests: if they were refused, those with a hostile value would say little.
pub(crate) fn refused() -> Vec<String> {
    let (names, files, loaded) = (&*NAMES, &*FILES, &LOADED[0]);
    let on = Some(loaded);
    let answers = [
        (
            "allocate",
            allocate(names, files, loaded, &ALLOCATE[0]).err(),
        ),
        (
            "allocate",
            allocate(names, files, loaded, &ALLOCATE[1]).err(),
        ),
        ("compare", compare(names, files, loaded, &COMPARE[0]).err()),
        ("match", find_matches(names, files, loaded, &MATCH[0]).err()),
        ("match", find_in_graph(files, &IN_GRAPH[0]).err()),
        ("score", score(names, files, loaded, &SCORE[0]).err()),
        ("score", score(names, files, loaded, &SCORE[1]).err()),
        ("score", score(names, files, &LOADED[1], &SCORE[2]).err()),
        ("defrag", defrag(files, loaded, &DEFRAG[0]).err()),
        ("simulate", simulate(names, files, on, &SIMULATE[0]).err()),
        ("simulate", simulate(names, files, None, &SIMULATE[1]).err()),
        (
            "sweep",
            sweep(names, files, &SWEEP[0], true, [], &mut |_, _| Ok(())).err(),
        ),
        ("fit", fit(files, loaded, &FIT[0]).err()),
        ("fit", fit(files, loaded, &FIT[1]).err()),
        ("measured", measured(files, loaded, &MEASURED[0]).err()),
        ("measured", measured(files, loaded, &MEASURED[1]).err()),
        ("mig", mig(&MIG[0]).err()),
        ("sensitivity", sensitivity(&EVIDENCE[0]).err()),
        ("pattern", pattern(files, on, &PATTERN[0]).err()),
        ("pattern", pattern(files, on, &PATTERN[1]).err()),
        ("pattern", pattern(files, on, &PATTERN[2]).err()),
        ("pattern", pattern(files, on, &PATTERN[3]).err()),
        ("pattern", pattern(files, on, &PATTERN[4]).err()),
        ("machine", MACHINE[0].load(files, &mut |_| {}).err()),
        ("machine", MACHINE[1].load(files, &mut |_| {}).err()),
        ("workload", WORKLOAD[0].load(files).err()),
        ("workload", WORKLOAD[1].load(files).err()),
        ("head", Replayer::new(&HEAD[0], names, files).err()),
    ];
    let wrong = answers
        .into_iter()
        .filter_map(|(what, error)| Some(format!("{what}: {}", error?)));
    let line = Batch::values()[0].answer(1, line().to_string().as_bytes());
    let line = serde_json::to_value(line).expect("JSON");
    let refused = line.get("devices").is_none();
    wrong.chain(refused.then(|| line.to_string())).collect()
}

fn line() -> Value {
    json!({"op": "allocate", "id": 1, "gpus": 1, "pattern": "ring", "sensitive": true, "policy": "auto", "model": "ring-packing",
        "must_include": [], "avoid": [], "available": ["0"], "min_link": "sys", "like": "any", "same_numa": false})
}

/// Every line that a stream of requests may have, one after another.
pub(crate) fn answer_lines() {
    let lines = hostile::<Value>(&[line()]);
    let others = [
        json!({"op": "release", "id": 1}),
        json!({"op": "reset"}),
        json!({"op": "show"}),
    ];
    for mut batch in Batch::values() {
        for line in lines.iter().chain(&others) {
            let _ = batch.answer(usize::MAX, line.to_string().as_bytes());
        }
    }
}
