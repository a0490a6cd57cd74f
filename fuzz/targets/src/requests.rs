//! Any description of a job, field by field: it is read back as it was written, and it is a request of a machine or an error.
//! What a policy grants it passes the check that does no search, and the same request has the same answer again.

use std::sync::LazyLock;

use mapa_core::{Allocator, BuiltIn, Decision, HardwareGraph, Limits};
use mapa_front::{DeviceName, InMemory, JobSpec, Like, NicFor};
use mapa_topologies::policies::BUILT_IN;
use mapa_topologies::{Machine, named};

use crate::input::{Choices, text};

/// Eight GPUs; and two that can be partitioned, beside one that cannot, and network cards.
static GRAPHS: LazyLock<[HardwareGraph; 2]> = LazyLock::new(|| {
    let partitioned = r#"
        format = "mapa-machine"
        version = 1
        name = "fuzz"
        nodes = [
            { name = "cpu0", kind = "numa", number = 0 },
            { name = "nic0", kind = "nic", up = "cpu0" },
        ]
        devices = [
            { name = "GPU0", up = "cpu0", mig = "a30", memory_bytes = 25769803776 },
            { name = "GPU1", up = "cpu0", mig = "a30", memory_bytes = 25769803776 },
            { name = "GPU2", up = "cpu0" },
        ]
    "#;
    let machines = [named("dgx-1v"), Machine::from_toml(partitioned)];
    machines.map(|machine| {
        machine
            .and_then(|machine| machine.graph())
            .expect("well-formed")
    })
});

const PATTERNS: [&str; 16] = [
    "ring",
    "chain",
    "star",
    "tree",
    "all-to-all",
    "single",
    "independent",
    "0-1,1-2",
    "0-1:5,1-2:0",
    "tp=2",
    "tp=2,pp=2",
    "tp=2,dp=2,ep=2",
    "ring:2",
    "0-0",
    "",
    "tp=18446744073709551615",
];
const CLASSES: [&str; 8] = ["sys", "node", "phb", "pix", "nv1", "nv2", "nv0", "none"];
const SLICES: [&str; 6] = ["1g.6gb", "2g.12gb", "4g.24gb", "1g", "7g", ""];
const NAMES: [&str; 8] = ["GPU0", "GPU1", "GPU2", "7", "", "GPU9", "-1", "cpu0"];

/// A field: absent in half of all cases.
fn may<T>(choices: &mut Choices<'_>, value: impl FnOnce(&mut Choices<'_>) -> T) -> Option<T> {
    (choices.below(2) == 1).then(|| value(choices))
}

fn word(choices: &mut Choices<'_>, words: &[&str]) -> String {
    words[choices.below(words.len())].to_owned()
}

/// A number, mostly small.
fn number(choices: &mut Choices<'_>) -> u64 {
    match choices.byte() {
        small @ 0..240 => u64::from(small % 10),
        large => u64::MAX >> ((large - 240) * 4),
    }
}

fn real(choices: &mut Choices<'_>) -> f64 {
    const ODD: [f64; 8] = [0.0, 0.5, 3.0, 24.0, 1e-300, 1e300, -1.0, f64::MAX];
    ODD[choices.below(ODD.len())]
}

fn devices(choices: &mut Choices<'_>) -> Vec<DeviceName> {
    let one = |choices: &mut Choices<'_>| match choices.below(2) {
        0 => DeviceName::Id(number(choices)),
        _ => DeviceName::Text(word(choices, &NAMES)),
    };
    (0..choices.below(4).saturating_sub(1))
        .map(|_| one(choices))
        .collect()
}

fn spec(choices: &mut Choices<'_>) -> JobSpec {
    let mut spec = JobSpec {
        gpus: may(choices, |choices| number(choices) as usize),
        pattern: word(choices, &PATTERNS),
        sensitive: may(choices, |choices| choices.below(2) == 1),
        must_include: devices(choices),
        avoid: devices(choices),
        min_link: may(choices, |choices| word(choices, &CLASSES)),
        same_numa: choices.below(4) == 1,
        ..JobSpec::default()
    };
    if choices.below(2) == 1 {
        spec.slice = may(choices, |choices| word(choices, &SLICES));
        spec.memory = may(choices, real);
        spec.shared = choices.below(2) == 1;
        spec.pcie_traffic = may(choices, real);
        spec.warps = may(choices, |choices| number(choices) as u32);
        spec.nics = may(choices, |choices| number(choices) as u8);
        spec.nic_within = may(choices, |choices| word(choices, &CLASSES));
        spec.nic_for = may(choices, |choices| {
            [NicFor::Gpu, NicFor::Job][choices.below(2)]
        });
        spec.like = may(choices, |choices| {
            [Like::Product, Like::Any][choices.below(2)]
        });
        spec.max_nodes = may(choices, number);
        spec.limit = may(choices, number);
        spec.bytes = may(choices, |choices| {
            word(choices, &["tp=2e9", "tp=2e9,pp=1e8", "tp=-1", "x", ""])
        });
    }
    // What is left is the pattern in the user's own words.
    if choices.below(4) == 1 {
        spec.pattern = text(choices.0).to_owned();
    }
    spec
}

/// One input.
pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let graph = &GRAPHS[choices.below(GRAPHS.len())];
    let spec = spec(&mut choices);
    let written = serde_json::to_string(&spec).expect("plain data");
    assert_eq!(
        serde_json::from_str::<JobSpec>(&written).expect("it was written"),
        spec
    );
    let job = match spec.job(&InMemory::default()) {
        Ok(job) => job,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let request = match spec.request(&job, graph) {
        // Time is for what is asked here.
        Ok(request) => request.limits(Limits::NONE.nodes(10_000)),
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let allocator = Allocator::new(std::sync::Arc::new(graph.clone()));
    for named in BuiltIn::ALL.iter().chain(&BUILT_IN) {
        let policy = named.policy();
        let view = allocator.view();
        let decided = policy.decide(&request, &view);
        assert_eq!(policy.decide(&request, &view), decided, "{}", policy.name());
        if let Ok(decision) = decided {
            let placement = decision.placement().iter().copied();
            let checked = Decision::checked("again", &request, &view, placement);
            assert!(
                checked.is_ok(),
                "{}: {checked:?} of {request:?}",
                policy.name()
            );
            let mut machine = allocator.clone();
            machine.commit(decision).expect("it was just decided");
        }
    }
}
