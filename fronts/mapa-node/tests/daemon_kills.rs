//! kill -9 of the daemon while it changes the machine. `MAPA_ROUNDS` sets how many rounds there are, 6 if it
//! is not set; `PROPTEST_RNG_SEED` draws other moments, so that rounds can run at the same time. Block I/O is limited for real where this is root and the kernel has `blkio`; MPS is a
//! stand-in that speaks its protocol; MIG is a library that speaks as NVIDIA's does.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fake_nvml::{Config, Fake, Fault, built_library, install};
use mapa_core::testing::seed;
use mapa_live::levers::{JournalEntry, Lifetime};
use mapa_node::Ledger;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rustix::time::{ClockId, clock_gettime};

use super::common::Place;
use super::daemon::Daemon;

fn rounds() -> u64 {
    std::env::var("MAPA_ROUNDS").map_or(6, |text| text.parse().unwrap())
}

/// The entries of the journal of changes, in the ledger's folder.
pub(crate) fn entries(ledger: &Path) -> Vec<JournalEntry> {
    let folder = ledger.with_file_name("ledger.db.pulls");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.map(|file| file.path());
    let files = files.filter(|file| file.extension().is_some_and(|text| text == "json"));
    // One that is crossed out meanwhile is none.
    files
        .filter_map(|file| fs::read(file).ok())
        .map(|text| serde_json::from_slice(&text).unwrap())
        .collect()
}

/// By the clock of throttles, which nobody can set.
pub(crate) fn since_boot_ms() -> u64 {
    let up = clock_gettime(ClockId::Boottime);
    (up.tv_sec * 1000 + up.tv_nsec / 1_000_000).unsigned_abs()
}

/// An MPS control daemon, which ends with the test.
pub(crate) struct Mps {
    folder: PathBuf,
}

impl Mps {
    pub(crate) fn new(place: &Place) -> Self {
        let folder = place.path().join("bin");
        fs::create_dir_all(&folder).unwrap();
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../hardware/mapa-live/tests/levers/mps-stand-in.sh"
        );
        let mut copy = Command::new("install");
        copy.args(["-m", "755", script]);
        copy.arg(folder.join("nvidia-cuda-mps-control"));
        assert!(copy.status().unwrap().success());
        let own = Self { folder };
        own.command()
            .arg("-d")
            .stderr(Stdio::null())
            .status()
            .unwrap();
        own
    }

    pub(crate) fn pipe(&self) -> PathBuf {
        self.folder.join("pipe")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.folder.join("nvidia-cuda-mps-control"));
        command.env("CUDA_MPS_PIPE_DIRECTORY", self.pipe());
        command
    }

    /// The share of multiprocessors, as the daemon says.
    fn percent(&self) -> String {
        let text = fs::read_to_string(self.pipe().join("values/percent"));
        text.map_or_else(|_| "100.0".to_owned(), |text| text.trim().to_owned())
    }

    pub(crate) fn path(&self) -> String {
        format!(
            "{}:{}",
            self.folder.display(),
            std::env::var("PATH").unwrap()
        )
    }
}

impl Drop for Mps {
    fn drop(&mut self) {
        if let Ok(pid) = fs::read_to_string(self.pipe().join("pid")) {
            drop(Command::new("kill").arg(pid.trim()).status());
        }
    }
}

/// The groups of block I/O that a daemon of this test has made.
fn groups(name: &str) -> Vec<String> {
    let folder = Path::new("/sys/fs/cgroup/blkio").join(name);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// A job that runs until it is killed.
fn job(place: &Place, tenant: &str, gpu: &str) -> Child {
    let words = ["run", "-n", "1", "--must-include", gpu, "--tenant", tenant];
    let script = format!("echo up >> \"$LOCKS/up-{tenant}\"; exec sleep 100000");
    let mut all = words.to_vec();
    all.extend(["--", "sh", "-c", &script]);
    let child = place.mapa(&all).spawn().unwrap();
    place.await_lines(&format!("up-{tenant}"), 1);
    child
}

#[test]
fn after_a_kill_no_throttle_outlives_its_time() {
    let place = Place::new();
    let mps = Mps::new(&place);
    let group = format!("mapa-test-{}", std::process::id());
    let config = place.path().join("node.toml");
    let text = format!(
        "[queue]\npoll_ms = 100\n[tenants.api]\nlatency_slo_ms = 15\n[tenants.etl]\npcie_mb_s = 12000\n[levers]\nmax_duration_s = 1\nmps_pipe = \"{}\"\ngroup = \"{group}\"\n",
        mps.pipe().display()
    );
    fs::write(&config, text).unwrap();
    let mut jobs = [
        job(&place, "api", "GPU0"),
        job(&place, "etl", "GPU1"),
        job(&place, "train", "GPU2"),
    ];
    let words = |scheduler| {
        [
            "--scheduler",
            scheduler,
            "--config",
            config.to_str().unwrap(),
        ]
    };
    let start = |scheduler| {
        let mut command = Daemon::command(&place, &words(scheduler));
        command.env("PATH", mps.path());
        Daemon::of(&place, command)
    };
    let mut random = Pcg64::seed_from_u64(seed(30));
    let (mut applied, mut killed_midway) = (0, 0);
    for round in 0..rounds() {
        let daemon = start("slo-replay");
        thread::sleep(Duration::from_millis(random.random_range(0..1800)));
        daemon.end("-KILL");
        // What was intended is written down, and nothing in it holds longer than it may.
        let left = entries(&place.ledger());
        for entry in &left {
            if let Lifetime::Until { ms } = entry.lifetime {
                assert!(ms <= since_boot_ms() + 1000, "round {round}: {entry:?}");
            }
        }
        applied += usize::from(!left.is_empty());
        killed_midway += left.iter().filter(|entry| !entry.confirmed).count();
        // Another daemon, whose scheduler orders no throttle, reverts it.
        let daemon = start("fifo");
        let begun = Instant::now();
        while !entries(&place.ledger()).is_empty() {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "round {round}: {:?} {}",
                entries(&place.ledger()),
                place.text("daemon.log")
            );
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(mps.percent(), "100.0", "round {round}");
        assert_eq!(groups(&group), [""; 0], "round {round}");
        assert_eq!(daemon.end("-TERM"), Some(0));
    }
    for job in &mut jobs {
        job.kill().unwrap();
        job.wait().unwrap();
    }
    for lease in place.leases() {
        drop(place.run(&["release", &lease.to_string()]));
    }
    // Many rounds are worth it. In a few on a busy machine a kill may come before every change.
    assert!(
        rounds() < 100 || applied * 4 >= rounds() as usize,
        "{applied}: {}",
        place.text("daemon.log")
    );
    eprintln!(
        "of {} rounds {applied} left changes behind, {killed_midway} unconfirmed",
        rounds()
    );
    let _ = fs::remove_dir(Path::new("/sys/fs/cgroup/blkio").join(&group));
}

/// A machine with MIG, through a library that speaks as NVIDIA's does.
pub(crate) struct Machine {
    pub(crate) place: Place,
    pub(crate) fake: Fake,
    more: Vec<String>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        let config = Config::new("dgx-a100").with_state(place.path().join("state"));
        let driver = place.path().join("driver");
        install(&built_library().unwrap(), &driver, &config).unwrap();
        let fake = Fake::open(&config).unwrap();
        for device in 0..fake.device_count() as u32 {
            fake.set_mig(device, true).unwrap();
        }
        let library = driver.join("libnvidia-ml.so.1");
        let more = ["--mig", "a100-40gb", "--nvml"].map(str::to_owned);
        Self {
            place,
            fake,
            more: [more.to_vec(), vec![library.display().to_string()]].concat(),
        }
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args(&self.more)
            .arg("--ledger")
            .arg(self.place.ledger())
            .env("XDG_CACHE_HOME", self.place.path().join("cache"))
            .env_remove("MAPA_LEASE")
            .stdin(Stdio::null());
        command
    }

    fn daemon(&self, scheduler: &str) -> Daemon {
        self.daemon_with(&["--scheduler", scheduler])
    }

    pub(crate) fn daemon_with(&self, words: &[&str]) -> Daemon {
        self.daemon_in(words, &std::env::var("PATH").unwrap())
    }

    /// A daemon that finds programs in these folders.
    pub(crate) fn daemon_in(&self, words: &[&str], path: &str) -> Daemon {
        let mut command = self.command(env!("CARGO_BIN_EXE_mapa-node"));
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.place.path().join("daemon.log"));
        command
            .args(words)
            .env("PATH", path)
            .stdout(Stdio::null())
            .stderr(log.unwrap());
        Daemon::of(&self.place, command)
    }

    /// The instances of each device, by UUID: profile and start.
    fn instances(&self) -> BTreeMap<String, Vec<String>> {
        let state = self.fake.state().unwrap();
        let mut found = BTreeMap::new();
        for index in 0..self.fake.device_count() as u32 {
            let uuid = self.fake.uuid(index).unwrap().to_owned();
            let gpu = mapa_topologies::mig::named("a100-40gb").unwrap();
            let name = |id: u32| {
                let mut profiles = gpu.profiles.iter();
                let own = profiles
                    .find(|profile| u32::from(profile.id) == id)
                    .unwrap();
                own.name.clone()
            };
            let own = &state.devices[index as usize].mig;
            let mut placed: Vec<(u8, String)> = own
                .instances
                .iter()
                .map(|instance| (instance.start, name(instance.profile)))
                .collect();
            placed.sort();
            let words = placed.iter().map(|(start, text)| format!("{text}@{start}"));
            found.insert(uuid, words.collect());
        }
        found
    }

    /// Destroys all instances, as an operator does by hand: there is something to do in every round.
    fn empty(&self) {
        let state = self.fake.state().unwrap();
        for (device, device_state) in (0u32..).zip(&state.devices) {
            for instance in &device_state.mig.instances {
                self.fake.destroy_instance(device, instance.id).unwrap();
            }
        }
    }

    /// The layouts as the ledger has them.
    fn layouts(&self) -> BTreeMap<String, String> {
        let mut ledger = Ledger::open(self.place.ledger()).unwrap();
        let rows = ledger.read(|books| books.layouts()).unwrap();
        rows.into_iter().collect()
    }
}

/// Whatever a daemon was about when it was killed: the next one leaves each device as the ledger says,
/// and no instance that nobody asked for.
#[test]
fn after_a_kill_layouts_are_as_the_ledger_says() {
    let machine = Machine::new();
    // Instances take a while, so that some kills come in their midst.
    for call in [
        "nvmlDeviceCreateGpuInstanceWithPlacement",
        "nvmlGpuInstanceCreateComputeInstance",
        "nvmlGpuInstanceDestroy",
    ] {
        machine.fake.inject(Fault::delay(call, 30)).unwrap();
    }
    let mut random = Pcg64::seed_from_u64(seed(31));
    let (mut left_behind, mut layouts) = (0, std::collections::BTreeSet::new());
    for round in 0..rounds() {
        let is_ready = || {
            let log = machine.place.text("daemon.log");
            log.matches("ready scheduler=\"pcie-plan").count()
        };
        let before = is_ready();
        let daemon = machine.daemon("pcie-plan,repartition=0");
        let profiles = ["1g.5gb", "2g.10gb", "3g.20gb"];
        let mut runs: Vec<Child> = (0..3)
            .map(|_| {
                let profile = profiles[random.random_range(0..3)];
                machine
                    .command(env!("CARGO_BIN_EXE_mapa"))
                    .args([
                        "run", "-n", "1", "--slice", profile, "--wait", "--time", "9s",
                    ])
                    .args(["--", "sleep", "0.05"])
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        // Some kills come at its start, and others once it is there, however busy the machine is.
        let begun = Instant::now();
        while round % 2 == 1 && is_ready() == before {
            assert!(begun.elapsed() < Duration::from_secs(60), "round {round}");
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(random.random_range(0..700)));
        daemon.end("-KILL");
        left_behind += usize::from(!entries(&machine.place.ledger()).is_empty());
        for run in &mut runs {
            drop(run.kill());
            run.wait().unwrap();
        }
        let daemon = machine.daemon("fifo");
        let begun = Instant::now();
        let is_ready = |log: String| log.matches("ready scheduler=\"fifo\"").count() as u64 > round;
        while !entries(&machine.place.ledger()).is_empty()
            || !is_ready(machine.place.text("daemon.log"))
        {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "round {round}: {:?} {}",
                entries(&machine.place.ledger()),
                machine.place.text("daemon.log")
            );
            thread::sleep(Duration::from_millis(20));
        }
        let (there, said) = (machine.instances(), machine.layouts());
        for (uuid, instances) in &there {
            let layout = said.get(uuid).map_or("whole", String::as_str);
            let expected = match instances.as_slice() {
                [] => ["whole", "nothing"].contains(&layout),
                own => own.join(" ") == layout,
            };
            assert!(
                expected,
                "round {round}: {uuid} has {instances:?}, the ledger says {layout}: {}",
                machine.place.text("daemon.log")
            );
            layouts.insert(instances.clone());
        }
        assert_eq!(daemon.end("-TERM"), Some(0));
        machine.empty();
    }
    // The rounds were worth it: devices were repartitioned. In a few a kill may come before.
    assert!(
        rounds() < 100 || layouts.len() > 1,
        "{layouts:?} {}",
        machine.place.text("daemon.log")
    );
    eprintln!(
        "of {} rounds {left_behind} left changes behind; {} layouts",
        rounds(),
        layouts.len()
    );
}

/// A job that waits for an instance which only a daemon can make is told the instance's UUID, though it
/// came before there was one.
#[test]
fn a_job_on_an_instance_that_the_daemon_has_made_gets_its_uuid() {
    let machine = Machine::new();
    let daemon = machine.daemon("pcie-plan,repartition=0");
    let script = "echo $CUDA_VISIBLE_DEVICES";
    let output = machine
        .command(env!("CARGO_BIN_EXE_mapa"))
        .args(["run", "-n", "1", "--slice", "2g.10gb", "--wait"])
        .args(["--time", "20s", "--", "sh", "-c", script])
        .output()
        .unwrap();
    let told = super::common::text(&output);
    let log = machine.place.text("daemon.log");
    assert!(
        output.status.success(),
        "{} {log}",
        super::common::error(&output)
    );
    assert!(told.starts_with("MIG-") && told.len() == 40, "{told} {log}");
    assert_eq!(daemon.end("-TERM"), Some(0));
}

/// A lever that fails is an event for the scheduler, a count in the metrics, and no half layout; a waiting
/// request gets it once it works.
#[test]
fn an_action_whose_lever_fails_is_reported_and_repeated() {
    let machine = Machine::new();
    let path = |name: &str| machine.place.path().join(name);
    let record = path("record");
    let fails = "nvmlDeviceCreateGpuInstanceWithPlacement";
    let fault = fake_nvml::Fault::new(fails, fake_nvml::Code::Unknown);
    machine.fake.inject(fault).unwrap();
    let record_to = record.to_str().unwrap();
    let words = [
        "--scheduler",
        "pcie-plan,repartition=0",
        "--record",
        record_to,
    ];
    let daemon = machine.daemon_with(&words);
    let mut job = machine
        .command(env!("CARGO_BIN_EXE_mapa"))
        .args(["run", "-n", "1", "--slice", "2g.10gb", "--wait"])
        .args(["--time", "60s", "--", "true"])
        .spawn()
        .unwrap();
    let log = || machine.place.text("daemon.log");
    let begun = Instant::now();
    let told = |list: &str, key: &str| super::daemon::kinds(&record, list, key);
    while !told("events", "event")
        .iter()
        .any(|candidate| candidate == "action-failed")
    {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", log());
        thread::sleep(Duration::from_millis(10));
    }
    let status = || {
        let output = Command::new(env!("CARGO_BIN_EXE_mapa-node"))
            .args(["status", "--ledger"])
            .arg(machine.place.ledger())
            .output();
        super::common::text(&output.unwrap())
    };
    let said = status();
    assert!(said.contains("failed     repartition: "), "{said}");
    assert!(
        said.contains("error      ") && said.contains(fails),
        "{said}"
    );
    let mut stream = UnixStream::connect(path("ledger.db.sock")).unwrap();
    writeln!(stream, "{{\"query\":\"metrics\"}}").unwrap();
    let mut metrics = String::new();
    BufReader::new(stream).read_line(&mut metrics).unwrap();
    let expected = "mapa_lever_failures_total{lever=\\\"mig\\\",step=\\\"apply\\\"} ";
    assert!(metrics.contains(expected), "{metrics}");
    assert!(job.try_wait().unwrap().is_none(), "it waits");
    machine.fake.clear_faults().unwrap();
    let status = job.wait().unwrap();
    assert!(status.success(), "{status} {}", log());
    assert_eq!(daemon.end("-TERM"), Some(0));
}
