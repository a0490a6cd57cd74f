//! Fig. 2, 3, 5 and 6: what the paper measured on hardware to motivate its policy, beside our model
//! of run times.

use std::collections::BTreeMap;

use std::time::Duration;

use mapa_core::{DeviceId, LeaseId, MachineId, Pattern, Placement, Request, greedy, lowest_id};
use mapa_core::{HardwareGraph, Policy};
use mapa_patterns::PUBLISHED;
use mapa_sched::{Assignment, Fleet, Job, JobId};
use mapa_sim::{ByBandwidth, Execution, Submission};
use serde::Serialize;

use super::setting::NamedMachine;
use mapa_front::Error;
use mapa_lab::claim::{Claim, EXACT, Verdict};
use mapa_lab::picture::bars;
use mapa_lab::report::Section;

/// The time of a network on a ring of these devices, over its time at full speed.
fn slowdown(
    model: &ByBandwidth,
    fleet: &Fleet,
    task: &str,
    sensitive: bool,
    devices: &[DeviceId],
) -> f64 {
    let request = Request::new(Pattern::ring(devices.len())).sensitive(sensitive);
    let job = Submission::new(Job::new(JobId(0), request), Duration::from_secs(1)).task(task);
    let placement = Placement::from(devices);
    let at = Assignment {
        machine: MachineId(0),
        lease: LeaseId(0),
        placement,
        rest: Vec::new(),
    };
    model.slowdown(&job, &at, fleet)
}

/// Slowdowns of two GPUs by network.
#[derive(Serialize)]
struct OnLink {
    model: String,
    link: String,
    gpus: String,
    slowdown: BTreeMap<String, f64>,
}

/// The class of a workload.
#[derive(Serialize)]
struct WorkloadClass {
    workload: &'static str,
    calls: Option<u64>,
    ours: String,
    paper: String,
}

/// Slowdowns of a ring.
#[derive(Serialize)]
struct OnRing {
    gpus: usize,
    #[serde(rename = "where")]
    place: &'static str,
    ring: Vec<String>,
    #[serde(rename = "VGG-16")]
    vgg: f64,
    #[serde(rename = "GoogleNet")]
    google: f64,
}

/// Fig. 2b: two GPUs over each kind of link.
pub(super) fn fig_2b() -> Result<Section, Error> {
    let fleet = Fleet::new([NamedMachine::DGX.graph()?]);
    let models = [
        ("Eq. 2", ByBandwidth::eq_2()),
        ("ring packing", ByBandwidth::ring_packing()),
    ];
    let pairs = [
        ("double NVLink", "1, 5", [0, 4]),
        ("single NVLink", "1, 2", [0, 1]),
        ("PCIe", "1, 6", [0, 5]),
    ];
    let tasks = [
        ("VGG-16", true),
        ("AlexNet", true),
        ("Inception-v3", true),
        ("ResNet-50", true),
        ("GoogleNet", false),
    ];
    let mut rows = Vec::new();
    let mut numbers = Vec::new();
    let mut vgg = Vec::new();
    for (name, model) in &models {
        for (link, gpus, ids) in pairs {
            let devices = ids.map(DeviceId);
            let times =
                tasks.map(|(task, sensitive)| slowdown(model, &fleet, task, sensitive, &devices));
            vgg.push(times[0]);
            let cells = times.map(|time| format!("{time:.2}"));
            rows.push(
                [(*name).to_owned(), link.to_owned(), gpus.to_owned()]
                    .into_iter()
                    .chain(cells)
                    .collect(),
            );
            let times: BTreeMap<String, f64> = tasks
                .iter()
                .zip(times)
                .map(|((task, _), time)| ((*task).to_owned(), time))
                .collect();
            numbers.push(OnLink {
                model: (*name).to_owned(),
                link: link.to_owned(),
                gpus: gpus.to_owned(),
                slowdown: times,
            });
        }
    }
    let header = ["B by", "link", "GPUs, as printed"]
        .into_iter()
        .chain(tasks.map(|(task, _)| task));
    let ours = format!(
        "{:.2} times by Eq. 2, {:.2} by ring packing: assumed, not found",
        vgg[2], vgg[5]
    );
    let claim = Claim::new(
        "VGG-16 on two GPUs runs up to 3 times as fast over a double NVLink as over PCIe",
        "3x (measured)",
        &[4],
    );
    Ok(Section::new("fig-2b", "Fig. 2b: two GPUs over each link")
        .claims([claim.not_had(ours)])
        .text(
            "The paper measured Caffe on hardware. Our run times rest on this figure (A4), so they cannot confirm it. Times are multiples of \
             the time at full speed. Over PCIe they are below 3, because the ratio is defined at 10 GB/s, and Eq. 2 predicts 10.37 GB/s \
             there and ring packing 12.",
        )
        .table(header, rows)
        .numbers("slowdowns", numbers)
        .picture("fig-2b.svg", picture(&fleet, &models[0].1, tasks, pairs), "Slowdown of two GPUs by link, as Fig. 2b"))
}

/// Fig. 2a and 3: what was measured on links, and counted in a list.
pub(super) fn fig_2a_and_3() -> Section {
    let links = Claim::new(
        "bandwidth of NCCL's all-reduce over each link by size of data (Fig. 2a)",
        "curves without numbers",
        &[],
    );
    let list = Claim::new(
        "ever more machines of the Top500 have accelerators, most of these several kinds of links (Fig. 3)",
        "bars without numbers",
        &[],
    );
    Section::new("fig-2a-3", "Fig. 2a and 3: links measured, machines counted").claims([
        links.not_had("measured on a DGX-V100; links differ from 1e5 bytes on, of which A4 knows nothing: bandwidth alone makes run times"),
        list.not_had("a count of a public list, on which no allocation depends; not counted again"),
    ])
}

/// Draws bars over networks, one for each link.
fn picture(
    fleet: &Fleet,
    model: &ByBandwidth,
    tasks: [(&str, bool); 5],
    pairs: [(&str, &str, [u32; 2]); 3],
) -> String {
    let groups = tasks.map(|(task, sensitive)| {
        let slowdowns =
            pairs.map(|(_, _, ids)| slowdown(model, fleet, task, sensitive, &ids.map(DeviceId)));
        (task.to_owned(), slowdowns.to_vec())
    });
    let names = [
        ("double NVLink", "#4a9fe0"),
        ("single NVLink", "#2fae86"),
        ("PCIe", "#a6a6a6"),
    ];
    let title = "Two GPUs of a DGX-1V, run times by Eq. 2 (assumed: 3.0 for VGG-16)";
    bars(&groups, &names, title, "time over time at full speed")
}

/// Fig. 5: the networks' calls and classes.
pub(super) fn fig_5() -> Section {
    let mut rows = Vec::new();
    let mut numbers = Vec::new();
    for workload in &PUBLISHED {
        let [all, paper] =
            [workload.verdict().sensitivity, workload.class].map(|class| class.to_string());
        let calls = workload
            .calls()
            .map(|calls| calls.to_string())
            .unwrap_or_default();
        rows.push(vec![
            workload.name.to_owned(),
            calls,
            all.clone(),
            paper.clone(),
        ]);
        numbers.push(WorkloadClass {
            workload: workload.name,
            calls: workload.calls(),
            ours: all,
            paper,
        });
    }
    let same = PUBLISHED
        .iter()
        .filter(|workload| workload.verdict().sensitivity == workload.class)
        .count();
    let classes = Claim::new(
        "the nine workloads' classes follow from what is published of them",
        "4 sensitive, 5 not",
        &[],
    );
    let classes = classes.found(
        format!("{same} of 9 as printed"),
        None,
        EXACT,
        Verdict::of(same == PUBLISHED.len()),
    );
    let rule = Claim::new("messages and calls alone decide the class (section 2.3)", "implied", &[]).found(
        "CaffeNet makes 84,936 calls of AlexNet's size and is insensitive, AlexNet 80,001 and is sensitive",
        None,
        EXACT,
        Verdict::Fails,
    );
    let bytes = Claim::new(
        "distribution of message sizes (Fig. 5a)",
        "curves without numbers",
        &[],
    );
    Section::new("fig-5", "Fig. 5: messages, calls and sensitivity")
        .claims([classes, rule, bytes.not_had("needs the authors' profiles")])
        .text(
            "The evidence for each class is in [sensitivity](../../../docs/sensitivity.md). Calls are the paper's. They are per run, not per iteration.",
        )
        .table(["workload", "calls", "ours", "paper"], rows)
        .numbers("workloads", numbers)
}

/// Fig. 6: times by number of GPUs.
pub(super) fn fig_6() -> Result<Section, Error> {
    let graph = NamedMachine::DGX.graph()?;
    let fleet = Fleet::new([graph.clone()]);
    let model = ByBandwidth::eq_2();
    let mut rows = Vec::new();
    let mut numbers = Vec::new();
    for size in 2..=5 {
        for (where_, devices) in [
            ("lowest ids", chosen(&lowest_id(), &graph, size)?),
            ("highest AggBW", chosen(&greedy(), &graph, size)?),
            ("worst", worst(&model, &fleet, size)),
        ] {
            let [vgg, google] = [("VGG-16", true), ("GoogleNet", false)]
                .map(|(task, flag)| slowdown(&model, &fleet, task, flag, &devices));
            let ids: Vec<String> = devices.iter().map(|id| id.0.to_string()).collect();
            rows.push(vec![
                size.to_string(),
                where_.to_owned(),
                ids.join(","),
                format!("{vgg:.2}"),
                format!("{google:.2}"),
            ]);
            numbers.push(OnRing {
                gpus: size,
                place: where_,
                ring: ids,
                vgg,
                google,
            });
        }
    }
    let claim = Claim::new(
        "times by number of GPUs and iterations: VGG-16 depends on links, GoogleNet does not",
        "curves without numbers",
        &[4],
    );
    Ok(Section::new("fig-6", "Fig. 6: execution time by GPUs and iterations")
        .claims([claim.not_had("measured on hardware; the model has GoogleNet within 10 % by assumption")])
        .text(
            "Predictions of the model on an idle DGX-1V (0-based ids in ring order), as multiples of the time at full speed. Time is \
             proportional to iterations by construction, and a job's work does not depend on its number of GPUs. \"Worst\" is the longest \
             time by Eq. 2 over all rings.",
        )
        .table(["GPUs", "allocation", "ring", "VGG-16", "GoogleNet"], rows)
        .numbers("slowdowns", numbers))
}

/// The devices that a policy chooses on the idle machine.
fn chosen(
    policy: &impl Policy,
    graph: &HardwareGraph,
    size: usize,
) -> Result<Vec<DeviceId>, Error> {
    let all = graph.all();
    Ok(policy
        .decide(&Request::new(Pattern::ring(size)), &graph.with_free(&all))?
        .placement()
        .to_vec())
}

/// The ring on which VGG-16 takes longest, the first of several such rings.
fn worst(model: &ByBandwidth, fleet: &Fleet, size: usize) -> Vec<DeviceId> {
    let Some(machine) = fleet.machines().first() else {
        return Vec::new();
    };
    let mut worst = (0.0, Vec::new());
    for placement in Pattern::ring(size).matcher().on(machine.graph()).iter() {
        let time = slowdown(model, fleet, "VGG-16", true, &placement);
        if time > worst.0 {
            worst = (time, placement.to_vec());
        }
    }
    worst.1
}
