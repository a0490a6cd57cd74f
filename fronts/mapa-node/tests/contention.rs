//! `[slo]` of the daemon on hosts that show, and that hide, which devices share a path. The host is a folder: control groups
//! of v2, no processes; the driver is a library that speaks as NVIDIA's does.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fake_nvml::{Code, Config, Fake, Fault, built_library, install};

use super::common::{Systemd, error};
use super::slo::replayed;

/// A host of eight GPUs, with a daemon for a tenant on GPU 0 and a neighbour in the control group `etl`, which
/// has no process: no counter of the neighbour itself says that it copies.
struct Host {
    folder: tempfile::TempDir,
    fake: Fake,
    systemd: Systemd,
    daemon: Option<Child>,
}

impl Host {
    /// The host. One that hides its topology does not tell what joins two devices.
    fn new(is_hidden: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::new("dgx-a100").with_state(folder.path().join("state"));
        install(&built_library().unwrap(), folder.path(), &config).unwrap();
        let fake = Fake::open(&config).unwrap();
        if is_hidden {
            let call = "nvmlDeviceGetTopologyCommonAncestor";
            fake.inject(Fault::new(call, Code::NotSupported)).unwrap();
        }
        let systemd = Systemd::new(folder.path());
        let host = Self {
            folder,
            fake,
            systemd,
            daemon: None,
        };
        let group = host.path().join("root/sys/fs/cgroup/etl");
        fs::create_dir_all(&group).unwrap();
        let root = group.parent().unwrap();
        fs::write(root.join("cgroup.controllers"), "cpuset cpu io memory\n").unwrap();
        fs::write(root.join("cgroup.subtree_control"), "io\n").unwrap();
        for file in ["cgroup.procs", "cgroup.subtree_control", "io.max"] {
            fs::write(group.join(file), "").unwrap();
        }
        host
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// The limit on the neighbour's block I/O.
    fn limit(&self) -> String {
        self.read("root/sys/fs/cgroup/etl/io.max")
    }

    /// Starts the daemon, with these lines for the tenant, of `[slo]` and at the top.
    fn start(&mut self, top: &str, slo: &str, tenant: &str) {
        let path = |name: &str| self.path().join(name).display().to_string();
        let uuid = self.fake.uuid(0).unwrap();
        let config = format!(
            "{top}\n[service]\nlatencies = \"{}\"\n[levers]\nblock_devices = [\"259:0\"]\n[slo]\n{slo}\n[slo.settings]\npersistence = 1\nwindow = 2\n[slo.levers]\nrelocate = false\n[slo.tenants.api]\nlatency_slo_ms = 15\ndevices = [[\"{uuid}\"]]\n{tenant}\n[slo.neighbours.etl]\nactivity = \"copy\"\ngroup = \"etl\"\n",
            path("socket"),
        );
        fs::write(path("node.toml"), config).unwrap();
        let daemon = Command::new(env!("CARGO_BIN_EXE_mapa-node"))
            .args(["--nvml", &path("libnvidia-ml.so.1")])
            .args(["--ledger", &path("ledger.db")])
            .args(["--config", &path("node.toml"), "--root", &path("root")])
            .args(["--record", &path("record")])
            .env("NOTIFY_SOCKET", self.systemd.path())
            // It says that it lives once a second, as often as it ticks.
            .env("WATCHDOG_USEC", "2000000")
            // Discovery keeps its answers in the user's cache.
            .env("XDG_CACHE_HOME", path("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(path("log")).unwrap())
            .spawn();
        self.daemon = Some(daemon.unwrap());
    }

    /// Lets a device move so much over PCIe, MB/s.
    fn move_over(&self, device: u32, mb_s: u32) {
        let change = |counters: &mut fake_nvml::Counters| counters.pcie_rx_kbps = mb_s * 1000;
        self.fake.set_counters(device, change).unwrap();
    }

    /// Tells that requests take 40 ms, until something is so.
    fn late_until(&self, so: impl Fn() -> bool) {
        let (begun, to) = (Instant::now(), UnixDatagram::unbound().unwrap());
        while !so() {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "{}",
                self.read("log")
            );
            let _ = to.send_to(b"api 40000000\n", self.path().join("socket"));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Tells that requests take 40 ms, for so many ticks.
    fn late_for(&self, ticks: usize) {
        let before = self.systemd.watchdog_pings();
        self.late_until(|| self.systemd.watchdog_pings() >= before + ticks);
    }

    /// Ends the daemon, and returns its log.
    fn end(&mut self) -> String {
        let daemon = self.daemon.take().unwrap();
        let pid = daemon.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        let output = daemon.wait_with_output().unwrap();
        let log = self.read("log");
        assert!(output.status.success(), "{} {log}", error(&output));
        let is_limited = self.limit().contains("=500000000");
        assert!(!is_limited, "what was limited is free again: {log}");
        // What was decided can be decided again.
        let again = replayed(&self.path().join("record"));
        assert!(again.is_same() && again.latency.is_some(), "{again:?}");
        log
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            drop(daemon.kill());
            drop(daemon.wait());
        }
    }
}

#[test]
fn on_a_host_that_hides_its_topology_neighbours_are_throttled_by_what_devices_move() {
    let mut host = Host::new(true);
    // Its own traffic, and that of a device at another NUMA node, are no contention.
    host.move_over(0, 9000);
    host.move_over(7, 9000);
    host.start("", "", "");
    host.late_for(6);
    assert_eq!(host.limit(), "", "{}", host.read("log"));
    host.move_over(1, 3000);
    host.late_until(|| host.limit().contains("259:0 rbps=500000000 wbps=500000000"));
    let log = host.end();
    for expected in [
        "contention is inferred from the counters of devices",
        "the driver does not tell the paths between devices",
        "contention, inferred from counters tenant=\"api\" place=0 copies=true trains=false pcie_mb_s=3000",
        "contention=\"inferred from counters\"",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
}

#[test]
fn on_a_host_that_shows_its_topology_the_neighbours_that_are_named_count() {
    let mut host = Host::new(false);
    host.move_over(1, 3000);
    host.start("", "", "");
    host.late_for(6);
    assert_eq!(host.limit(), "");
    let log = host.end();
    assert!(
        log.contains("the topology is known") && !log.contains("order=Throttle"),
        "{log}"
    );
}

#[test]
fn a_counter_that_goes_missing_is_reported_and_one_that_is_wanted_names_the_path() {
    let mut host = Host::new(false);
    // GPU 1 shares a switch with GPU 0, GPU 2 does not.
    host.move_over(2, 9000);
    host.start("", "contention = \"counters\"", "");
    host.late_for(6);
    assert_eq!(host.limit(), "", "{}", host.read("log"));
    let call = "nvmlDeviceGetPcieThroughput";
    host.fake
        .inject(Fault::new(call, Code::NotSupported).on(1))
        .unwrap();
    host.move_over(1, 9000);
    host.late_for(6);
    assert_eq!(host.limit(), "", "nobody knows: {}", host.read("log"));
    host.fake.clear_faults().unwrap();
    host.late_until(|| !host.limit().is_empty());
    let log = host.end();
    for expected in [
        "a signal is missing what=\"gpu 1 pcie_mb_s\" why=\"the driver does not tell it\"",
        "a signal is back what=\"gpu 1 pcie_mb_s\"",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
}

/// Exporters: each answer is made anew.
fn serve(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 4096];
            let length = stream.read(&mut asked).unwrap_or(0);
            let asked = String::from_utf8_lossy(&asked[..length]).into_owned();
            let body = answer(asked.split(' ').nth(1).unwrap_or_default());
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    url
}

#[test]
fn exporters_alone_tell_latencies_and_traffic() {
    let mut host = Host::new(true);
    let uuid = host.fake.uuid(1).unwrap().to_owned();
    let traffic = Arc::new(Mutex::new(0));
    let moved = traffic.clone();
    let requests = Mutex::new(BTreeMap::<String, u32>::new());
    // Each poll finds ten more requests, of 40 ms each.
    let url = serve(move |path| match path {
        "/dcgm" => format!(
            "DCGM_FI_PROF_PCIE_RX_BYTES{{UUID=\"{uuid}\"}} {0}\nDCGM_FI_PROF_PCIE_TX_BYTES{{UUID=\"{uuid}\"}} {0}\n",
            moved.lock().unwrap()
        ),
        _ => {
            let mut requests = requests.lock().unwrap();
            let count = requests.entry(path.to_owned()).or_default();
            *count += 10;
            let name = "vllm:time_to_first_token_seconds";
            format!(
                "{name}_sum{{model_name=\"m\"}} {}\n{name}_count{{model_name=\"m\"}} {count}\n",
                f64::from(*count) * 0.04
            )
        }
    });
    let top = format!("[telemetry]\ndcgm = \"{url}/dcgm\"");
    let tenant = format!(
        "[slo.tenants.api.exporter]\nkind = \"vllm\"\nurl = \"{url}/vllm\"\nmetric = \"vllm:time_to_first_token_seconds\"\n"
    );
    host.start(&top, "", &tenant);
    let begun = Instant::now();
    while host.systemd.watchdog_pings() < 6 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{}",
            host.read("log")
        );
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(host.limit(), "", "{}", host.read("log"));
    *traffic.lock().unwrap() = 2_000_000_000_u64;
    while host.limit().is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "{}",
            host.read("log")
        );
        thread::sleep(Duration::from_millis(20));
    }
    let log = host.end();
    assert!(
        log.contains("copies=true trains=false pcie_mb_s=4000"),
        "{log}"
    );
    let lacks = "vllm:num_requests_running\" why=\"the exporter does not have it\"";
    assert!(log.contains(lacks), "{log}");
}
