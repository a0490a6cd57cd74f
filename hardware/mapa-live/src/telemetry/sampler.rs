//! The sampler: counters in, rates out.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counter::{self, Width};
use super::cpu::{self, CpuTimes, CpuUse, ProcessUse};
use super::disk::{self, DiskCounters, DiskUse, GroupIo};
use super::gpu::{self, GpuUse};
use super::missing::{MOST, MissingSignal};
use super::net::{self, Nic, NicUse};
use super::scrape::{Exporter, ScrapeResult, ScrapeTarget};
use super::scrapes::ScrapePool;
use crate::found::GpuReading;
use crate::kernel::{Interrupts, ProcessId, files};
use crate::live::Live;

/// What is sampled besides what the machine has by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerConfig {
    /// Whether devices are asked by NVML.
    pub gpus: bool,
    /// Control groups whose block I/O is reported, by path.
    pub groups: Vec<String>,
    /// Processes whose use of the CPU is reported.
    pub processes: Vec<ProcessId>,
    /// Exporters that are scraped for each sample.
    pub targets: Vec<ScrapeTarget>,
    /// How long an exporter may take to answer.
    pub scrape_limit: Duration,
    /// How long a sample waits for the answers of exporters; `None`: until all have answered, or taken their limit.
    /// After this time a sample has the last answer of whoever has not answered yet, with its
    /// [age](ScrapeResult::age_ms).
    pub scrape_wait: Option<Duration>,
}

impl Default for SamplerConfig {
    fn default() -> Self {
        Self {
            gpus: true,
            groups: Vec::new(),
            processes: Vec::new(),
            targets: Vec::new(),
            scrape_limit: Duration::from_secs(2),
            scrape_wait: None,
        }
    }
}

/// What the machine did since the last sample. Lists are in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// When, in milliseconds by the caller's clock.
    pub at_ms: u64,
    /// The time since the last sample; `None` for the first, which has no rates.
    pub interval_ms: Option<u64>,
    /// GPUs that NVML lists; empty if it is not asked, or does not answer.
    pub gpus: Vec<GpuUse>,
    /// All CPUs together.
    pub cpu: CpuUse,
    /// Watched processes that run.
    pub processes: Vec<ProcessUse>,
    /// Whole disks that were ever used.
    pub disks: Vec<DiskUse>,
    /// The watched control groups that could be read.
    pub groups: Vec<GroupIo>,
    /// Interfaces of network cards, and ports of InfiniBand.
    pub nics: Vec<NicUse>,
    /// Interrupts of devices a second, by CPU.
    pub interrupts_per_s: BTreeMap<u32, f64>,
    /// The last answer of each exporter, perhaps from before this sample.
    pub scraped: Vec<ScrapeResult>,
    /// What could not be had, and why.
    pub missing: Vec<MissingSignal>,
}

/// The counters of the last sample.
#[derive(Default)]
struct PreviousCounters {
    at_ms: Option<u64>,
    replays: BTreeMap<u32, (Option<String>, u32)>,
    times: Option<CpuTimes>,
    processes: BTreeMap<ProcessId, u64>,
    disks: BTreeMap<String, DiskCounters>,
    groups: BTreeMap<String, (u64, u64)>,
    nics: BTreeMap<String, Nic>,
    interrupts: Option<Interrupts>,
}

/// Samples this machine. It keeps the counters of one sample, and no more.
///
/// # Examples
/// ```no_run
/// use mapa_live::Live;
/// use mapa_live::telemetry::{Sampler, SamplerConfig};
///
/// let mut sampler = Sampler::new(Live::default(), SamplerConfig::default());
/// for at_ms in [0, 1000] {
///     let sample = sampler.sample(at_ms);
///     for gpu in &sample.gpus {
///         println!("GPU{}: {:?} percent", gpu.index, gpu.sm_percent);
///     }
///     for missing in &sample.missing {
///         println!("{} is missing: {}", missing.what, missing.why);
///     }
/// }
/// ```
pub struct Sampler {
    live: Live,
    watched: SamplerConfig,
    before: PreviousCounters,
    scrapes: ScrapePool,
}

/// Bytes a second as MB/s.
fn mb_s(bytes: Option<f64>) -> Option<f64> {
    Some(bytes? / 1e6)
}

impl Sampler {
    /// A sampler of a machine.
    #[must_use]
    pub fn new(live: Live, watched: SamplerConfig) -> Self {
        Self {
            live,
            watched,
            before: PreviousCounters::default(),
            scrapes: ScrapePool::default(),
        }
    }

    /// What is sampled. Changes hold from the next sample on.
    pub fn watched(&mut self) -> &mut SamplerConfig {
        &mut self.watched
    }

    /// Reads all counters. `at_ms` is the time by a clock of the caller that does not go back.
    pub fn sample(&mut self, at_ms: u64) -> Sample {
        let interval_ms = self.before.at_ms.and_then(|was| at_ms.checked_sub(was));
        let interval_ms = interval_ms.filter(|interval| *interval > 0);
        let mut sample = Sample {
            at_ms,
            interval_ms,
            ..Sample::default()
        };
        // The kernel answers at once. Whoever may take seconds is asked after it, so that its counters are those of
        // the time that the caller has given.
        self.cpus(&mut sample);
        self.disks(&mut sample);
        self.groups(&mut sample);
        self.nics(&mut sample);
        self.interrupts(&mut sample);
        let limit = self.watched.scrape_limit;
        self.scrapes.ask(&self.watched.targets, limit);
        let readings = self.watched.gpus.then(|| gpu::readings(&self.live));
        self.scrapes.wait(self.watched.scrape_wait, limit);
        let (scraped, missing) = self.scrapes.answers();
        sample.scraped = scraped;
        sample.missing.extend(missing);
        if let Some(readings) = readings {
            self.gpus(readings, &mut sample);
        }
        self.before.at_ms = Some(at_ms);
        sample
    }

    fn gpus(&mut self, readings: Result<Vec<GpuReading>, MissingSignal>, sample: &mut Sample) {
        let readings = match readings {
            Ok(readings) => readings,
            Err(missing) => {
                // A count of an earlier sample must not be set against the interval since this one.
                self.before.replays.clear();
                sample.missing.push(missing);
                return;
            }
        };
        let mut replays = BTreeMap::new();
        for reading in readings {
            let index = reading.index;
            if let Some(count) = reading.pcie_replays {
                replays.insert(index, (reading.uuid.clone(), count));
            }
            let gpu = self.gpu(reading, sample);
            sample.gpus.push(gpu);
        }
        self.before.replays = replays;
    }

    /// The use of a device; what NVML does not say is taken from DCGM, where that is scraped.
    fn gpu(&self, reading: GpuReading, sample: &mut Sample) -> GpuUse {
        let index = reading.index;
        if let Some(why) = reading.lost {
            sample
                .missing
                .push(MissingSignal::new(format!("gpu {index}"), why));
            return GpuUse {
                index,
                uuid: reading.uuid,
                ..GpuUse::default()
            };
        }
        let was = self.before.replays.get(&index);
        // The number may be another device's since one was taken out.
        let was = was.filter(|(uuid, _)| *uuid == reading.uuid);
        let mut retries = None;
        if let (Some((_, was)), Some(now), Some(ms)) =
            (was, reading.pcie_replays, sample.interval_ms)
        {
            retries = counter::rate((*was).into(), now.into(), Width::Bits32, ms);
            if retries.is_none() {
                let what = format!("gpu {index} pcie_retries");
                sample
                    .missing
                    .push(MissingSignal::new(what, "the counter began anew"));
            }
        }
        let uuid = reading.uuid.clone().unwrap_or_default();
        let dcgm = |name: &str| {
            let scrapes = sample.scraped.iter();
            let scrapes = scrapes.filter(|scrape| scrape.target.exporter == Exporter::Dcgm);
            scrapes
                .filter_map(|scrape| scrape.signals.get(name)?.get(&uuid).copied())
                .next()
        };
        // Shares of DCGM are from 0 to 1; its bytes are bytes a second, whatever its help says.
        let share = |name: &str| dcgm(name).map(|share| share * 100.0);
        let kb = |kib: Option<u32>| kib.map(|kb| f64::from(kb) / 1000.0);
        let gpu = GpuUse {
            index,
            healthy: true,
            sm_percent: share("DCGM_FI_PROF_SM_ACTIVE").or(reading.sm_percent.map(f64::from)),
            memory_percent: share("DCGM_FI_PROF_DRAM_ACTIVE")
                .or(reading.memory_percent.map(f64::from)),
            pcie_receive_mb_s: mb_s(dcgm("DCGM_FI_PROF_PCIE_RX_BYTES"))
                .or(kb(reading.pcie_receive_kb_s)),
            pcie_send_mb_s: mb_s(dcgm("DCGM_FI_PROF_PCIE_TX_BYTES")).or(kb(reading.pcie_send_kb_s)),
            pcie_retries_per_s: retries,
            power_w: reading
                .power_mw
                .map(|mw| f64::from(mw) / 1000.0)
                .or(dcgm("DCGM_FI_DEV_POWER_USAGE")),
            memory_used_bytes: reading.memory_used_bytes,
            processes: reading.processes,
            uuid: reading.uuid,
        };
        let unsaid = [
            ("sm_percent", gpu.sm_percent.is_none()),
            ("memory_percent", gpu.memory_percent.is_none()),
            (
                "pcie_mb_s",
                gpu.pcie_receive_mb_s.is_none() || gpu.pcie_send_mb_s.is_none(),
            ),
            ("pcie_retries", reading.pcie_replays.is_none()),
            ("power_w", gpu.power_w.is_none()),
            ("processes", gpu.processes.is_none()),
        ];
        for (name, _) in unsaid.into_iter().filter(|(_, is)| *is) {
            let what = format!("gpu {index} {name}");
            sample
                .missing
                .push(MissingSignal::new(what, "the driver does not tell it"));
        }
        gpu
    }

    fn cpus(&mut self, sample: &mut Sample) {
        let proc = &self.live.roots.proc;
        match cpu::times(proc) {
            Ok(now) => {
                if let Some(before) = self.before.times {
                    (sample.cpu.busy_percent, sample.cpu.waiting_percent) = cpu::since(before, now);
                }
                self.before.times = Some(now);
            }
            Err(missing) => {
                // As for the other counters: a rate is over the last interval or not known.
                self.before.times = None;
                sample.missing.push(missing);
            }
        }
        sample.cpu.load = cpu::load(proc);
        if sample.cpu.load.is_none() {
            let why = format!("{}: not readable", proc.join("loadavg").display());
            sample.missing.push(MissingSignal::new("load", why));
        }
        // Processes are counted in ticks of the kernel's clock.
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        let mut counts = BTreeMap::new();
        for &process in self.watched.processes.iter().take(MOST) {
            let Some((ticks, resident)) = cpu::process(proc, process) else {
                let what = format!("process {}", process.pid);
                sample
                    .missing
                    .push(MissingSignal::new(what, "it has ended"));
                continue;
            };
            let was = self.before.processes.get(&process).copied();
            let rate = was
                .zip(sample.interval_ms)
                .and_then(|(was, ms)| counter::rate(was, ticks, Width::Bits64, ms));
            counts.insert(process, ticks);
            sample.processes.push(ProcessUse {
                process,
                cpu_percent: rate.map(|rate| 100.0 * rate / ticks_per_s),
                resident_pages: Some(resident),
            });
        }
        self.before.processes = counts;
    }

    fn disks(&mut self, sample: &mut Sample) {
        let disks = match disk::disks(&self.live.roots) {
            Ok(disks) => disks,
            Err(missing) => {
                self.before.disks.clear();
                sample.missing.push(missing);
                return;
            }
        };
        let mut counts = BTreeMap::new();
        for disk in disks {
            // Another disk may have the name of one that was taken out.
            let was = self.before.disks.get(&disk.name);
            let was = was
                .filter(|was| was.device == disk.device)
                .zip(sample.interval_ms);
            let rate = |before: fn(&DiskCounters) -> u64| {
                let (was, ms) = was?;
                counter::rate(before(was), before(&disk), Width::Bits64, ms)
            };
            let rates = [
                |disk: &DiskCounters| disk.read_bytes,
                |disk: &DiskCounters| disk.write_bytes,
            ]
            .map(rate);
            // The kernel counts this one in 32 bits.
            let busy = was
                .and_then(|(was, ms)| counter::rate(was.busy_ms, disk.busy_ms, Width::Bits32, ms));
            if was.is_some() && rates.contains(&None) {
                let what = format!("disk {} mb_s", disk.name);
                sample
                    .missing
                    .push(MissingSignal::new(what, "the counter began anew"));
            }
            sample.disks.push(DiskUse {
                name: disk.name.clone(),
                device: disk.device.clone(),
                numa: disk.numa,
                read_mb_s: mb_s(rates[0]),
                write_mb_s: mb_s(rates[1]),
                // In milliseconds a second: 1,000 are 100 %.
                busy_percent: busy.map(|busy| (busy / 10.0).min(100.0)),
            });
            counts.insert(disk.name.clone(), disk);
        }
        self.before.disks = counts;
    }

    fn groups(&mut self, sample: &mut Sample) {
        let mut counts = BTreeMap::new();
        for group in self.watched.groups.iter().take(MOST) {
            let now = match disk::group_bytes(&self.live.roots, group) {
                Ok(now) => now,
                Err(missing) => {
                    sample.missing.push(missing);
                    continue;
                }
            };
            let was = self
                .before
                .groups
                .get(group)
                .copied()
                .zip(sample.interval_ms);
            let rate = |before: u64, now: u64| counter::rate(before, now, Width::Bits64, was?.1);
            let read = was.and_then(|(was, _)| rate(was.0, now.0));
            let write = was.and_then(|(was, _)| rate(was.1, now.1));
            if was.is_some() && (read.is_none() || write.is_none()) {
                let what = format!("block I/O of group {group}");
                sample
                    .missing
                    .push(MissingSignal::new(what, "the counter began anew"));
            }
            sample.groups.push(GroupIo {
                group: group.clone(),
                read_mb_s: mb_s(read),
                write_mb_s: mb_s(write),
            });
            counts.insert(group.clone(), now);
        }
        self.before.groups = counts;
    }

    fn nics(&mut self, sample: &mut Sample) {
        let mut counts = BTreeMap::new();
        for nic in net::nics(&self.live.roots) {
            let was = self.before.nics.get(&nic.name).zip(sample.interval_ms);
            let rate = |before: u64, now: u64| {
                let (_, ms) = was?;
                counter::rate(before, now, Width::Bits64, ms)
            };
            let receive = was.and_then(|(was, _)| rate(was.receive, nic.receive));
            let send = was.and_then(|(was, _)| rate(was.send, nic.send));
            let dropped = was.and_then(|(was, _)| rate(was.dropped?, nic.dropped?));
            if was.is_some() && (receive.is_none() || send.is_none()) {
                let what = format!("nic {} mb_s", nic.name);
                sample
                    .missing
                    .push(MissingSignal::new(what, "the counter began anew"));
            }
            sample.nics.push(NicUse {
                name: nic.name.clone(),
                numa: nic.numa,
                receive_mb_s: mb_s(receive),
                send_mb_s: mb_s(send),
                dropped_per_s: dropped,
            });
            counts.insert(nic.name.clone(), nic);
        }
        if counts.is_empty() {
            let folder = self.live.roots.sys.join("class/net");
            let why = format!("{} has no card", folder.display());
            sample.missing.push(MissingSignal::new("nics", why));
        }
        self.before.nics = counts;
    }

    fn interrupts(&mut self, sample: &mut Sample) {
        let path = self.live.roots.proc.join("interrupts");
        let read = files::read(&path).map_err(|error| error.to_string());
        let now = match read.and_then(|text| Interrupts::read(&text)) {
            Ok(now) => now,
            Err(why) => {
                self.before.interrupts = None;
                let why = format!("{}: {why}", path.display());
                sample.missing.push(MissingSignal::new("interrupts", why));
                return;
            }
        };
        if let (Some(before), Some(ms)) = (&self.before.interrupts, sample.interval_ms) {
            let took = now.since(before).into_iter();
            sample.interrupts_per_s = took
                .map(|(cpu, count)| (cpu, count as f64 * 1000.0 / ms as f64))
                .collect();
        }
        self.before.interrupts = Some(now);
    }
}
