//! MIG by NVML, over a library without GPUs.

use std::time::Duration;

use fake_nvml::{Code, Config, Fake, Fault, Process, built_library, install};
use mapa_live::Live;
use mapa_live::levers::{
    FolderJournal, LeverChange, LeverEvent, LeverManager, LeverSet, Lifetime, MigControl,
    MigInstanceSpec, MigLayout, MigNvml, MigState, SimulatedMachine, Step,
};

struct Machine {
    folder: tempfile::TempDir,
    config: Config,
    live: Live,
}

impl Machine {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::new(name).with_state(folder.path().join("state"));
        config.log = Some(folder.path().join("log"));
        let mut live = Live::default();
        live.nvml = install(&built_library().unwrap(), folder.path(), &config).unwrap();
        live.time_limit = Duration::from_secs(60);
        Self {
            folder,
            config,
            live,
        }
    }

    /// With MIG on everywhere: a driver tells profiles in MIG mode only.
    fn partitioned() -> Self {
        let machine = Self::new("dgx-a100");
        for device in 0..8 {
            machine.fake().set_mig(device, true).unwrap();
        }
        machine
    }

    fn fake(&self) -> Fake {
        Fake::open(&self.config).unwrap()
    }

    fn mig(&self) -> MigNvml {
        MigNvml::new(&self.live)
    }

    fn uuid(&self, index: usize) -> String {
        self.mig().devices().unwrap()[index].uuid.clone()
    }

    fn levers(&self) -> LeverSet {
        let mut levers = SimulatedMachine::new().levers();
        levers.mig = Box::new(self.mig());
        levers
    }

    fn layout(&self, index: usize, profiles: &[&str]) -> LeverChange {
        LeverChange::Layout {
            device: self.uuid(index),
            layout: MigLayout {
                enabled: true,
                instances: profiles
                    .iter()
                    .map(|profile| MigInstanceSpec::of(*profile))
                    .collect(),
            },
        }
    }

    /// All partitions.
    fn states(&self) -> Vec<MigState> {
        let mig = self.mig();
        let devices = mig.devices().unwrap();
        devices
            .iter()
            .map(|device| mig.state(&device.uuid).unwrap())
            .collect()
    }
}

#[test]
fn a_layout_is_made_read_kept_where_it_is_the_same_and_reverted() {
    let machine = Machine::partitioned();
    let before = machine.states();
    assert_eq!(before.len(), 8);
    let mut levers = machine.levers();
    let first = machine.layout(0, &["3g.20gb", "2g.10gb", "1g.5gb"]);
    let plan = levers.plan(&first).unwrap();
    let uuid = machine.uuid(0);
    let shown = plan.to_string();
    assert!(
        shown.contains(&format!(
            "nvmlDeviceCreateGpuInstanceWithPlacement({uuid}, 3g.20gb, start 0, size 4)\n\
             nvmlGpuInstanceCreateComputeInstance({uuid} at 0, 3 slices)"
        )),
        "{shown}"
    );
    levers.apply(&plan).unwrap();
    assert!(levers.plan(&first).unwrap().is_empty());
    let state = machine.mig().state(&uuid).unwrap();
    let places: Vec<(u32, &str)> = state
        .instances
        .iter()
        .map(|instance| (instance.start, instance.profile.as_str()))
        .collect();
    assert_eq!(places, [(0, "3g.20gb"), (4, "2g.10gb"), (6, "1g.5gb")]);
    // A larger neighbour: only what changes is touched, and the process on the other instance runs on.
    let fake = machine.fake();
    let used = fake.state().unwrap().devices[0].mig.instances[0].clone();
    let mut process = Process::running(std::process::id()).unwrap();
    process.instance = Some((used.id, used.compute[0].id));
    fake.start_process(0, process).unwrap();
    let second = levers
        .plan(&machine.layout(0, &["3g.20gb", "3g.20gb"]))
        .unwrap();
    assert_eq!(second.steps.len(), 3, "{second}");
    levers.apply(&second).unwrap();
    levers.revert(&second).unwrap();
    assert_eq!(machine.mig().state(&uuid).unwrap(), state);
    fake.stop_process(0, std::process::id()).unwrap();
    levers.revert(&plan).unwrap();
    assert_eq!(machine.states(), before);
    levers.revert(&plan).unwrap();
    assert_eq!(machine.states(), before);
}

#[test]
fn a_failure_of_any_call_leaves_the_partition_as_it_was() {
    let machine = Machine::partitioned();
    let fake = machine.fake();
    let mut levers = machine.levers();
    let first = levers
        .plan(&machine.layout(0, &["4g.20gb", "2g.10gb"]))
        .unwrap();
    levers.apply(&first).unwrap();
    let before = machine.states();
    let plan = levers
        .plan(&machine.layout(0, &["3g.20gb", "2g.10gb", "1g.5gb"]))
        .unwrap();
    assert!(matches!(plan.steps[0], Step::Destroy { .. }), "{plan}");
    for (call, code, reason) in [
        ("nvmlGpuInstanceDestroy", Code::InUse, "busy"),
        ("nvmlComputeInstanceDestroy", Code::InUse, "busy"),
        (
            "nvmlDeviceCreateGpuInstanceWithPlacement",
            Code::InsufficientResources,
            "infeasible",
        ),
        (
            "nvmlGpuInstanceCreateComputeInstance",
            Code::Unknown,
            "failed",
        ),
        ("nvmlGpuInstanceGetInfo", Code::Unknown, "failed"),
        ("nvmlDeviceGetGpuInstances", Code::NoPermission, "failed"),
    ] {
        for skip in 0..3 {
            // The first calls succeed, then one fails.
            fake.clear_faults().unwrap();
            if skip > 0 {
                fake.inject(Fault::delay(call, 0).times(skip)).unwrap();
            }
            fake.inject(Fault::new(call, code).times(1)).unwrap();
            let outcome = levers.apply(&plan);
            fake.clear_faults().unwrap();
            match outcome {
                Err(failure) => {
                    assert_eq!(failure.why.reason(), reason, "{call} {skip}: {failure}");
                    assert!(failure.left.is_empty(), "{call} {skip}: {failure}");
                }
                // The call is not made so often.
                Ok(()) => levers.revert(&plan).unwrap(),
            }
            assert_eq!(machine.states(), before, "{call} {skip}");
        }
    }
}

#[test]
fn a_mode_that_takes_a_reset_is_busy_and_nothing_stays_pending() {
    let machine = Machine::new("dgx-a100");
    let fake = machine.fake();
    fake.start_process(2, Process::running(std::process::id()).unwrap())
        .unwrap();
    let before = machine.states();
    let mut levers = machine.levers();
    let plan = levers.plan(&machine.layout(2, &[])).unwrap();
    assert_eq!(
        plan.to_string(),
        format!("nvmlDeviceSetMigMode({}, 1)\n", machine.uuid(2))
    );
    let failure = levers.apply(&plan).unwrap_err();
    assert_eq!(
        (failure.step, failure.why.reason()),
        (0, "busy"),
        "{failure}"
    );
    assert!(
        failure.left.is_empty() && failure.to_string().contains("reset"),
        "{failure}"
    );
    assert_eq!(machine.states(), before);
    assert!(!machine.mig().state(&machine.uuid(2)).unwrap().pending);
}

#[test]
fn devices_without_mig_and_libraries_that_are_not_there_are_reported() {
    let machine = Machine::new("dgx-1v");
    assert_eq!(machine.mig().devices().unwrap(), []);
    let error = machine.mig().state("GPU-none").unwrap_err();
    assert_eq!(error.reason(), "missing", "{error}");
    let mut live = Live::default();
    live.nvml = machine.folder.path().join("none.so");
    let error = MigNvml::new(&live).devices().unwrap_err();
    assert_eq!(error.reason(), "missing", "{error}");
    // A library that hangs blocks no caller.
    let slow = Machine::new("dgx-a100");
    let fault = Fault::delay("nvmlDeviceGetMigMode", 3_000).times(1);
    slow.fake().inject(fault).unwrap();
    let mut live = slow.live.clone();
    live.time_limit = Duration::from_millis(300);
    let begin = std::time::Instant::now();
    let error = MigNvml::new(&live).devices().unwrap_err();
    insta::assert_snapshot!(error.to_string(), @"the devices: NVML: no answer within 300ms");
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[test]
fn an_instance_is_divided_into_compute_instances() {
    let machine = Machine::partitioned();
    let mig = machine.mig();
    let device = mig.devices().unwrap().swap_remove(3).uuid;
    let divided = MigInstanceSpec {
        compute: vec![1, 1],
        ..MigInstanceSpec::of("2g.10gb")
    };
    let layout = MigLayout {
        enabled: true,
        instances: vec![MigInstanceSpec::of("3g.20gb"), divided],
    };
    let mut levers = machine.levers();
    let change = LeverChange::Layout {
        device: device.clone(),
        layout,
    };
    let plan = levers.plan(&change).unwrap();
    levers.apply(&plan).unwrap();
    let mut compute: Vec<_> = (mig.state(&device).unwrap().instances.into_iter())
        .map(|instance| (instance.profile, instance.compute))
        .collect();
    compute.sort();
    assert_eq!(
        compute,
        [
            ("2g.10gb".to_owned(), vec![1, 1]),
            ("3g.20gb".to_owned(), vec![3])
        ]
    );
}

#[test]
fn a_program_that_dies_amid_a_layout_leaves_it_to_the_next() {
    let machine = Machine::partitioned();
    let before = machine.states();
    let change = machine.layout(1, &["3g.20gb", "3g.20gb"]);
    let journal = || FolderJournal::open(machine.folder.path().join("journal")).unwrap();
    for steps in 0..=2 {
        let mut levers = machine.levers();
        let plan = levers.plan(&change).unwrap();
        let entry = mapa_live::levers::JournalEntry {
            id: 1,
            change: change.clone(),
            plan: plan.clone(),
            lifetime: Lifetime::Kept,
            confirmed: false,
            boot: None,
        };
        mapa_live::levers::Journal::put(&mut journal(), &entry).unwrap();
        let mut part = plan;
        part.steps.truncate(steps);
        levers.apply(&part).unwrap();
        drop(levers);
        let (manager, events) = LeverManager::open(machine.levers(), journal(), 0).unwrap();
        assert!(
            matches!(events[..], [LeverEvent::Reverted { .. }]),
            "{events:?}"
        );
        drop(manager);
        assert_eq!(machine.states(), before);
    }
}
