//! Telemetry: over files, over a library without GPUs, over exporters that this test serves, and of this machine.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use mapa_live::telemetry::{
    CounterDelta, Exporter, LATENCY_BYTES, Sample, Sampler, SamplerConfig, ScrapeTarget, Width,
    node_use, read_latencies, read_metrics, since,
};
use mapa_live::{Interrupts, Live, ProcessId, Roots, low_interrupt_cpus};
use proptest::prelude::*;

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn live(&self) -> Live {
        let mut live = Live::default();
        live.roots = Roots::below(self.0.path());
        live.nvml = self.0.path().join("libnvidia-ml.so.1");
        live
    }

    /// The counters after so many seconds of the same work.
    fn at(&self, seconds: u64) {
        let s = seconds;
        self.write(
            "proc/stat",
            &format!(
                "cpu  {} 0 {} {} {} 0 0 0 7 0\ncpu0 1 2 3\n",
                100 + 30 * s,
                20 * s,
                1000 + 140 * s,
                10 * s
            ),
        );
        self.write("proc/loadavg", "1.50 1.00 0.50 2/300 4242\n");
        let fields = "0 ".repeat(10);
        self.write(
            "proc/42/stat",
            &format!(
                "42 (a (b) S {fields}{} {} 0 0 0 0 0 0 77 0 512 0\n",
                50 * s,
                25 * s
            ),
        );
        self.write(
            "proc/diskstats",
            &format!(
                " 259 0 nvme0n1 9 0 {} 0 9 0 {} 0 0 {} 0 0 0 0 0\n 259 1 nvme0n1p1 9 0 5 0 9 0 5 0 0 5 0\n   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 253 0 dm-0 9 0 {} 0 9 0 5 0 0 5 0\n",
                200_000 * s, 100_000 * s, 500 * s, 200_000 * s
            ),
        );
        self.write("sys/block/nvme0n1/device/numa_node", "1\n");
        self.write("sys/block/dm-0/dev", "253:0\n");
        for (name, receive, send) in [
            ("eth0", 3_000_000 * s, 1_000_000 * s),
            ("br0", 3_000_000 * s, 1_000_000 * s),
            ("lo", 9, 9),
        ] {
            let folder = format!("sys/class/net/{name}/statistics");
            self.write(&format!("{folder}/rx_bytes"), &receive.to_string());
            self.write(&format!("{folder}/tx_bytes"), &send.to_string());
            self.write(&format!("{folder}/rx_dropped"), &(4 * s).to_string());
            self.write(&format!("{folder}/tx_dropped"), "0");
        }
        self.write("sys/class/net/eth0/device/numa_node", "0\n");
        let port = "sys/class/infiniband/mlx5_0/ports/1/counters";
        self.write(&format!("{port}/port_rcv_data"), &(250_000 * s).to_string());
        self.write(
            &format!("{port}/port_xmit_data"),
            &(500_000 * s).to_string(),
        );
        self.write(
            "proc/interrupts",
            &format!("            CPU0       CPU1\n  24:  {}  {}  IO-APIC  eth0\n LOC:  {} 5 timer\nERR: 0\n", 5000 * s, 10 * s, 9999 * s),
        );
        self.write("sys/fs/cgroup/cgroup.controllers", "io\n");
        self.write(
            "sys/fs/cgroup/etl/io.stat",
            &format!(
                "259:0 rbytes={} wbytes={} rios=1 wios=0\n8:0 rbytes=0 wbytes=0\n",
                7_000_000 * s,
                2_000_000 * s
            ),
        );
    }

    fn sampler(&self) -> Sampler {
        let watched = SamplerConfig {
            groups: vec!["etl".to_owned()],
            processes: vec![ProcessId { pid: 42, start: 77 }],
            ..SamplerConfig::default()
        };
        Sampler::new(self.live(), watched)
    }
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-6)
}

fn missing<'a>(sample: &'a Sample, what: &str) -> Option<&'a str> {
    let signal = sample.missing.iter().find(|signal| signal.what == what);
    signal.map(|signal| signal.why.as_str())
}

#[test]
fn rates_are_those_between_two_samples() {
    let machine = Machine::new();
    machine.at(1);
    let mut sampler = machine.sampler();
    let first = sampler.sample(10_000);
    assert_eq!(first.interval_ms, None);
    assert!(first.cpu.busy_percent.is_none() && first.disks[0].read_mb_s.is_none());
    machine.at(3);
    let sample = sampler.sample(12_000);
    assert_eq!(sample.interval_ms, Some(2000));
    assert!(near(sample.cpu.busy_percent, 25.0), "{:?}", sample.cpu);
    assert!(near(sample.cpu.waiting_percent, 5.0) && near(sample.cpu.load, 1.5));
    assert!(
        near(sample.processes[0].cpu_percent, 75.0),
        "{:?}",
        sample.processes
    );
    assert_eq!(sample.processes[0].resident_pages, Some(512));
    let [disk] = &sample.disks[..] else {
        panic!(
            "{:?}: a partition, a logical volume and a disk that was never used are none",
            sample.disks
        )
    };
    assert!(
        near(disk.read_mb_s, 102.4) && near(disk.write_mb_s, 51.2),
        "{disk:?}"
    );
    assert!(near(disk.busy_percent, 50.0) && disk.numa == Some(1));
    assert!(near(sample.groups[0].read_mb_s, 7.0) && near(sample.groups[0].write_mb_s, 2.0));
    let [eth0, port] = &sample.nics[..] else {
        panic!("{:?}", sample.nics)
    };
    assert!(
        near(eth0.receive_mb_s, 3.0) && near(eth0.dropped_per_s, 4.0),
        "{eth0:?}"
    );
    assert!(
        port.name == "mlx5_0/1" && near(port.receive_mb_s, 1.0),
        "{port:?}"
    );
    let interrupts: Vec<(u32, f64)> = sample.interrupts_per_s.into_iter().collect();
    assert_eq!(interrupts, [(0, 5000.0), (1, 10.0)], "timers are none");
    assert!(
        missing(&sampler.sample(13_000), "gpus")
            .unwrap()
            .contains("cannot be loaded")
            || !cfg!(feature = "nvml")
    );
}

#[test]
fn what_is_not_there_is_reported_as_missing_and_never_as_zero() {
    let machine = Machine::new();
    let mut sampler = machine.sampler();
    for at in [0, 1000] {
        let sample = sampler.sample(at);
        for what in [
            "gpus",
            "cpu",
            "load",
            "disks",
            "block I/O of group etl",
            "nics",
            "interrupts",
            "process 42",
        ] {
            assert!(
                missing(&sample, what).is_some(),
                "{what}: {:?}",
                sample.missing
            );
        }
        assert!(sample.disks.is_empty() && sample.cpu.busy_percent.is_none());
    }
    // What comes back has no rate at first, since there is nothing to compare it with.
    machine.at(1);
    let sample = sampler.sample(2000);
    assert!(sample.disks[0].read_mb_s.is_none() && sample.cpu.busy_percent.is_none());
    machine.at(2);
    assert!(near(sampler.sample(3000).disks[0].read_mb_s, 102.4));
}

#[test]
fn counters_wrap_and_begin_anew() {
    let top = u64::from(u32::MAX);
    assert_eq!(since(5, 9, Width::Bits64), CounterDelta::Grew(4));
    assert_eq!(since(top - 1, 3, Width::Bits32), CounterDelta::Grew(5));
    assert_eq!(since(top - 1, 3, Width::Bits64), CounterDelta::Restarted);
    assert_eq!(since(1000, 3, Width::Bits32), CounterDelta::Restarted);
    let machine = Machine::new();
    machine.at(100);
    let mut sampler = machine.sampler();
    sampler.sample(0);
    machine.at(1);
    let sample = sampler.sample(1000);
    assert!(sample.disks[0].read_mb_s.is_none() && sample.cpu.busy_percent.is_none());
    assert!(
        missing(&sample, "disk nvme0n1 mb_s")
            .unwrap()
            .contains("anew")
    );
    assert!(missing(&sample, "nic eth0 mb_s").is_some());
    machine.at(2);
    assert!(near(sampler.sample(2000).disks[0].read_mb_s, 102.4));
    // A card that is reset past half of 32 bits has not wrapped.
    let received = |bytes: u64| {
        machine.write("sys/class/net/eth0/statistics/rx_bytes", &bytes.to_string());
    };
    received(top - 1);
    sampler.sample(2100);
    received(3);
    let sample = sampler.sample(2200);
    assert!(sample.nics[0].receive_mb_s.is_none(), "{:?}", sample.nics);
    machine.at(2);
    sampler.sample(2000);
    // A clock that stands or goes back gives no rates, and no infinite ones.
    assert_eq!(sampler.sample(2000).interval_ms, None);
    assert_eq!(sampler.sample(1000).interval_ms, None);
}

#[test]
fn interrupts_of_a_cpu_that_was_away_are_not_those_of_another() {
    let read = |text: &str| Interrupts::read(text).unwrap();
    let before = read("CPU0 CPU1 CPU2\n 9: 100 200 300 x\n");
    let after = read("CPU0 CPU2\n 9: 150 301 x\nNMI: 5 5\nbad line\n");
    let took: Vec<(u32, u64)> = after.since(&before).into_iter().collect();
    assert_eq!(took, [(0, 50), (2, 1)]);
    assert!(Interrupts::read("").is_err() && Interrupts::read("hello\n").is_err());
    // All CPUs are busy alike: none is left out.
    let even = (0..4).map(|cpu| (cpu, 1000)).collect();
    assert_eq!(
        low_interrupt_cpus(&"0-3".parse().unwrap(), &even, 1, 0).len(),
        4
    );
    let one = [(0, 1000), (1, 0)].into();
    assert_eq!(
        low_interrupt_cpus(&"0-1".parse().unwrap(), &one, 2, 0).len(),
        2,
        "two are asked for"
    );
}

/// Serves texts over HTTP, one for each connection, then nothing.
fn serve(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

fn ok(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

const VLLM: &str = "# HELP vllm:num_requests_running Number of requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine=\"0\",model_name=\"meta/llama, \\\"3\\\"\"} 4.0
vllm:num_requests_waiting{engine=\"0\",model_name=\"m}\"} 2
vllm:time_to_first_token_seconds_bucket{le=\"+Inf\",model_name=\"m}\"} 7
vllm:time_to_first_token_seconds_sum{model_name=\"m}\"} 1.5e-1 1395066363000
vllm:time_to_first_token_seconds_count{model_name=\"m}\"} 7
vllm:kv_cache_usage_perc NaN
";

#[test]
fn exporters_are_scraped_and_what_they_lack_is_reported() {
    let machine = Machine::new();
    machine.at(1);
    let dcgm = "DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\",UUID=\"GPU-a\"} 0.5\nDCGM_FI_PROF_SM_ACTIVE{gpu=\"0\",UUID=\"GPU-a\",GPU_I_ID=\"3\"} 0.25\n";
    let dynamo = "dynamo_frontend_queued_requests{model=\"m\"} 3\n";
    let targets = [
        (Exporter::Vllm, serve(vec![ok(VLLM)])),
        (Exporter::Dcgm, serve(vec![ok(dcgm)])),
        (Exporter::Dynamo, serve(vec![ok(dynamo)])),
        (
            Exporter::Vllm,
            serve(vec![
                "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_owned(),
            ]),
        ),
        (Exporter::Vllm, serve(vec![ok("<html>")])),
        (
            Exporter::Vllm,
            serve(vec![
                "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nvllm".to_owned(),
            ]),
        ),
        (Exporter::Vllm, "http://127.0.0.1:1/metrics".to_owned()),
    ];
    let targets = targets.map(|(exporter, url)| ScrapeTarget { exporter, url });
    let mut sampler = machine.sampler();
    sampler.watched().targets = targets.to_vec();
    let sample = sampler.sample(0);
    let [vllm, dcgm, dynamo] = &sample.scraped[..] else {
        panic!("{:?}", sample.missing)
    };
    assert_eq!(
        vllm.signals["vllm:num_requests_running"]["meta/llama, \"3\""],
        4.0
    );
    assert_eq!(
        vllm.signals["vllm:time_to_first_token_seconds_sum"]["m}"],
        0.15
    );
    let lacks = format!("{} vllm:kv_cache_usage_perc", targets[0].url);
    assert!(
        missing(&sample, &lacks).is_some(),
        "not a number is no value"
    );
    let own = &dcgm.signals["DCGM_FI_PROF_SM_ACTIVE"];
    assert_eq!((own["GPU-a"], own["GPU-a/3"]), (0.5, 0.25));
    assert_eq!(dynamo.signals["dynamo_frontend_queued_requests"]["m"], 3.0);
    for (target, why) in targets[3..].iter().zip(["503", "line 1", "", ""]) {
        let said = missing(&sample, &target.url).unwrap();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn an_exporter_that_hangs_holds_the_sampler_up_no_longer_than_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    let machine = Machine::new();
    let mut sampler = machine.sampler();
    sampler.watched().scrape_limit = Duration::from_millis(200);
    sampler.watched().targets = vec![ScrapeTarget {
        exporter: Exporter::Dcgm,
        url: url.clone(),
    }];
    let begin = std::time::Instant::now();
    let sample = sampler.sample(0);
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(missing(&sample, &url).is_some());
}

#[test]
fn exporters_that_hang_hold_no_sample_up_and_the_last_answer_is_reported_with_its_age() {
    let hung = TcpListener::bind("127.0.0.1:0").unwrap();
    let once = TcpListener::bind("127.0.0.1:0").unwrap();
    let exporter = Exporter::Vllm;
    let of = |listener: &TcpListener, path: usize| ScrapeTarget {
        exporter,
        url: format!("http://{}/{path}", listener.local_addr().unwrap()),
    };
    let mut targets = vec![of(&once, 0)];
    targets.extend((0..40).map(|path| of(&hung, path)));
    std::thread::spawn(move || {
        let (mut stream, _) = once.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(ok("vllm:num_requests_running 4\n").as_bytes());
        drop(stream);
        // From then on it takes questions, and says nothing.
        let _held: Vec<_> = once.incoming().collect();
    });
    let machine = Machine::new();
    machine.at(1);
    let mut sampler = machine.sampler();
    let hour = Duration::from_secs(3600);
    sampler.watched().scrape_limit = hour;
    sampler.watched().scrape_wait = Some(Duration::from_millis(5));
    sampler.watched().targets = targets.clone();
    let begun = std::time::Instant::now();
    let mut at_ms = 0;
    let mut next = || {
        at_ms += 1000;
        assert!(begun.elapsed() < hour / 4, "it waits for those that hang");
        sampler.sample(at_ms)
    };
    let first = loop {
        let sample = next();
        if let [scrape] = &sample.scraped[..] {
            break scrape.clone();
        }
    };
    assert_eq!(first.signals["vllm:num_requests_running"][""], 4.0);
    let later = loop {
        let sample = next();
        assert!(!sample.disks.is_empty(), "counters are there");
        if sample.scraped[0].age_ms > first.age_ms + 20 {
            break sample;
        }
    };
    assert_eq!(later.scraped[0].signals, first.signals);
    for target in &targets[1..] {
        let said = missing(&later, &target.url).unwrap();
        assert_eq!(said, "it has not answered yet");
    }
}

#[test]
fn an_exporter_that_takes_the_place_of_another_is_asked_and_the_other_is_forgotten() {
    let machine = Machine::new();
    let mut sampler = machine.sampler();
    for body in [
        "vllm:num_requests_running 1\n",
        "vllm:num_requests_running 2\n",
    ] {
        let target = ScrapeTarget {
            exporter: Exporter::Vllm,
            url: serve(vec![ok(body)]),
        };
        sampler.watched().targets = vec![target.clone()];
        let sample = sampler.sample(0);
        let asked: Vec<_> = sample.scraped.iter().map(|scrape| &scrape.target).collect();
        assert_eq!(asked, [&target], "{:?}", sample.missing);
    }
}

#[test]
fn counters_are_those_of_before_a_slow_exporter_answers() {
    let machine = std::sync::Arc::new(Machine::new());
    machine.at(1);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    let work = std::sync::Arc::clone(&machine);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut asked = [0; 4096];
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut asked);
            // The machine goes on working meanwhile.
            work.at(99);
            let _ = stream.write_all(ok("a 1\n").as_bytes());
        }
    });
    let mut sampler = machine.sampler();
    let exporter = Exporter::Vllm;
    sampler.watched().targets = vec![ScrapeTarget { exporter, url }];
    sampler.sample(0);
    machine.at(2);
    let sample = sampler.sample(1000);
    assert_eq!(sample.scraped.len(), 1);
    assert!(near(sample.disks[0].read_mb_s, 102.4), "{:?}", sample.disks);
    assert!(near(sample.groups[0].read_mb_s, 7.0) && near(sample.nics[0].receive_mb_s, 3.0));
    assert_eq!(sample.interrupts_per_s[&0], 5000.0);
}

#[test]
fn texts_that_are_no_metrics_are_rejected_by_line() {
    let said = [
        "a 1\nb\n",
        "a{b=\"c} 1",
        "a{b} 1",
        "a{b=1} 1",
        "a one",
        "9a 1",
        "a{b=\"c\" d=\"e\"} 1",
    ]
    .map(|text| {
        let error = read_metrics(text).unwrap_err();
        format!("{text:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "a 1\nb\n" -> line 2: `b`: expected a value
    "a{b=\"c} 1" -> line 1: `a{b="c} 1`: expected a quote at the end of a label's value
    "a{b} 1" -> line 1: `a{b} 1`: expected a label, key="value"
    "a{b=1} 1" -> line 1: `a{b=1} 1`: expected a quote after `=`
    "a one" -> line 1: `a one`: expected a number
    "9a 1" -> line 1: `9a 1`: expected the name of a metric
    "a{b=\"c\" d=\"e\"} 1" -> line 1: `a{b="c" d="e"} 1`: expected `,` or `}` after a label
    "#);
    let labels: String = (0..65).map(|at| format!("l{at}=\"x\",")).collect();
    insta::assert_snapshot!(
        read_metrics(&format!("a{{{labels}}} 1")).unwrap_err(),
        @r#"line 1: `a{l0="x",l1="x",l2="x",l3="x",l4="x",l5="x",l6="x",l7="x",l8`: expected at most 64 labels"#
    );
    let metrics = read_metrics("a{} +Inf\nb{c=\"\\\\\\n\",} -Inf # {} 1\n").unwrap();
    assert_eq!(metrics[1].labels["c"], "\\\n");
    assert!(metrics[0].value.is_infinite());
}

#[test]
fn latencies_are_read_and_what_else_is_reported_is_counted() {
    let (latencies, bad) = read_latencies(b"chat 12500000\nchat 7\n");
    let told: Vec<(&str, u64)> = latencies
        .iter()
        .map(|latency| (latency.tenant.as_str(), latency.ns))
        .collect();
    assert_eq!((told, bad), (vec![("chat", 12_500_000), ("chat", 7)], 0));
    let text = b"other 5\nchat -1\nchat 1 2\nchat x\n\xff\xfe 1\nchat 3600000000001\n";
    let (latencies, bad) = read_latencies(text);
    assert_eq!((latencies.len(), bad), (1, 5));
    assert_eq!(read_latencies(b""), (vec![], 0));
    assert_eq!(read_latencies(&[b'x'; LATENCY_BYTES]), (vec![], 1));
}

proptest! {
    #[test]
    fn any_datagram_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (latencies, bad) = read_latencies(&bytes);
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        prop_assert_eq!(latencies.len() as u64 + bad, lines.count() as u64);
    }

    #[test]
    fn any_text_is_metrics_or_rejected(text in "([a-z:]{1,4}(\\{[a-z]=\"[^\n]{0,4}\"\\})? [0-9eINn.+-]{1,6}\n|[^\n]{0,12}\n){0,4}") {
        if let Ok(metrics) = read_metrics(&text) {
            prop_assert!(metrics.len() <= text.lines().count());
        }
    }
}

#[cfg(feature = "nvml")]
mod devices {
    use fake_nvml::{Code, Config, Counters, Fake, Fault, Process, built_library, install};
    use mapa_live::telemetry::{PathUse, path_use};

    use super::*;

    fn machine(name: &str) -> (tempfile::TempDir, Live, Fake) {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::new(name).with_state(folder.path().join("state"));
        let mut live = Live::default();
        live.nvml = install(&built_library().unwrap(), folder.path(), &config).unwrap();
        live.roots = Roots::below(folder.path());
        let fake = Fake::open(&config).unwrap();
        (folder, live, fake)
    }

    fn set(fake: &Fake, device: u32, change: impl FnOnce(&mut Counters)) {
        fake.set_counters(device, change).unwrap();
    }

    #[test]
    fn devices_are_sampled_and_a_lost_one_is_reported() {
        let (_folder, live, fake) = machine("dgx-a100");
        set(&fake, 3, |counters| {
            counters.gpu_utilization = 87;
            counters.memory_utilization = 40;
            counters.pcie_rx_kbps = 2_500_000;
            counters.pcie_tx_kbps = 500_000;
            counters.pcie_replays = u32::MAX - 1;
            counters.power_mw = 250_000;
        });
        fake.start_process(3, Process::new(4242)).unwrap();
        let mut sampler = Sampler::new(live, SamplerConfig::default());
        sampler.sample(0);
        set(&fake, 3, |counters| counters.pcie_replays = 8);
        fake.lose(5).unwrap();
        fake.inject(Fault::new("nvmlDeviceGetPowerUsage", Code::NotSupported).on(2))
            .unwrap();
        let sample = sampler.sample(2000);
        let numbers: Vec<u32> = sample.gpus.iter().map(|gpu| gpu.index).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7], "{:?}", sample.missing);
        let gpu = &sample.gpus[3];
        assert!(
            near(gpu.sm_percent, 87.0) && near(gpu.memory_percent, 40.0),
            "{gpu:?}"
        );
        assert!(near(gpu.pcie_receive_mb_s, 2500.0) && near(gpu.power_w, 250.0));
        assert!(
            near(gpu.pcie_retries_per_s, 5.0),
            "over the end of 32 bits: {gpu:?}"
        );
        assert_eq!(gpu.processes.as_deref(), Some(&[4242][..]));
        assert!(!sample.gpus[5].healthy && sample.gpus[5].sm_percent.is_none());
        assert!(missing(&sample, "gpu 5").is_some());
        assert!(missing(&sample, "gpu 2 power_w").is_some());
        // A counter that begins anew after a reset has no rate.
        set(&fake, 3, |counters| counters.pcie_replays = 0);
        let sample = sampler.sample(4000);
        assert!(sample.gpus[3].pcie_retries_per_s.is_none());
        assert!(
            missing(&sample, "gpu 3 pcie_retries")
                .unwrap()
                .contains("anew")
        );
    }

    #[test]
    fn the_use_of_a_path_is_that_of_the_devices_of_others() {
        let (_folder, live, fake) = machine("dgx-a100");
        set(&fake, 0, |counters| counters.gpu_utilization = 99);
        set(&fake, 1, |counters| {
            counters.gpu_utilization = 80;
            counters.pcie_rx_kbps = 2_000_000;
            counters.pcie_tx_kbps = 600_000;
        });
        let mut sampler = Sampler::new(live, SamplerConfig::default());
        let sample = sampler.sample(0);
        let uuid = |at: usize| sample.gpus[at].uuid.clone().unwrap();
        let of = |sample: &Sample, devices: &[usize], alone: &[usize]| {
            let names = |list: &[usize]| list.iter().map(|&at| uuid(at)).collect();
            path_use(sample, &names(devices), &names(alone))
        };
        let expected = PathUse {
            pcie_mb_s: Some(2600),
            pcie_retries: None,
            sm_percent: Some(80),
            memory_percent: Some(0),
        };
        assert_eq!(
            of(&sample, &[0, 1], &[0]),
            expected,
            "its own use is not that of others, and a first sample has no rates"
        );
        assert_eq!(of(&sample, &[2, 3], &[]).pcie_mb_s, Some(0));
        assert_eq!(of(&sample, &[0], &[0]).sm_percent, None);
        // A device that does not answer makes the sum unknown, not smaller.
        fake.lose(1).unwrap();
        let later = sampler.sample(1000);
        assert_eq!(of(&later, &[0, 1], &[0]).pcie_mb_s, None);
    }
}

#[test]
fn nodes_have_their_disks_their_network_and_the_interrupts_beside_the_tenant() {
    let machine = Machine::new();
    machine.at(1);
    let mut sampler = machine.sampler();
    sampler.sample(0);
    machine.at(2);
    let sample = sampler.sample(1000);
    let told =
        [(0, "1"), (1, "8")].map(|(node, cores)| node_use(&sample, node, &cores.parse().unwrap()));
    assert_eq!(
        (told[0].block_io_mb_s, told[1].block_io_mb_s),
        (None, Some(154))
    );
    assert_eq!(
        told[0].nic_mb_s,
        Some(7),
        "4 of Ethernet, and 3 of InfiniBand that is at no node"
    );
    assert_eq!(
        (told[0].interrupts_per_s, told[1].interrupts_per_s),
        (Some(10), None)
    );
}

/// Samples this machine, without devices.
fn of_this_machine() -> Sampler {
    let mut live = Live::default();
    live.nvml = Path::new("/no/such/library").to_owned();
    let process = ProcessId::of("/proc".as_ref(), std::process::id().cast_signed())
        .unwrap()
        .unwrap();
    let watched = SamplerConfig {
        processes: vec![process],
        ..SamplerConfig::default()
    };
    Sampler::new(live, watched)
}

#[test]
fn this_machine_is_sampled() {
    let mut sampler = of_this_machine();
    sampler.sample(0);
    std::thread::sleep(Duration::from_millis(20));
    let sample = sampler.sample(20);
    assert!(sample.cpu.load.is_some());
    // Containers may hide the file.
    assert!(!sample.interrupts_per_s.is_empty() || missing(&sample, "interrupts").is_some());
    assert!(
        sample.processes[0]
            .resident_pages
            .is_some_and(|pages| pages > 0)
    );
    let text = serde_json::to_string(&sample).unwrap();
    assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), sample);
}

/// A process that does nothing but sample: this test binary, run once more with `MAPA_TEST_SAMPLES` set.
#[test]
fn sampling_process() {
    let Ok(samples) = std::env::var("MAPA_TEST_SAMPLES") else {
        return;
    };
    let samples: u64 = samples.parse().unwrap();
    let mut sampler = of_this_machine();
    // Without pages of files, which the kernel drops and reads again as it likes.
    let resident = || {
        let status = fs::read_to_string("/proc/self/statm").unwrap();
        let pages: Vec<u64> = status
            .split_whitespace()
            .map(|text| text.parse().unwrap())
            .collect();
        (pages[1] - pages[2]) * rustix::param::page_size() as u64
    };
    for at in 0..200 {
        sampler.sample(at);
    }
    let before = resident();
    let begin = std::time::Instant::now();
    for at in 0..samples {
        sampler.sample(1000 + at);
    }
    let grown = resident().saturating_sub(before);
    let each = begin.elapsed().as_secs_f64() / samples as f64 * 1e3;
    println!("{samples} samples of this machine: {each:.3} ms each, grown by {grown} bytes");
}

#[test]
fn memory_is_flat() {
    let samples = std::env::var("MAPA_SAMPLES").map_or(2000, |samples| samples.parse().unwrap());
    let out = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["telemetry::sampling_process", "--exact", "--nocapture"])
        .env("MAPA_TEST_SAMPLES", samples.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    let line = said.lines().find(|line| line.contains("grown by"));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    eprintln!("{line}");
    let bytes = line.rsplit(' ').nth(1).unwrap();
    let grown: u64 = bytes.parse().unwrap();
    // The least that a sample could leave behind is an entry of a list.
    assert!(grown < 64 * samples, "{line}");
}
