//! Samples of the host, as events for schedulers.
//!
//! What a machine does not show is missing, and not zero: a scheduler that needs it holds still.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mapa_front::answer::node::UnreadSignal;
use mapa_live::telemetry::{Sample, SamplerConfig};
use mapa_live::{Cpus, Live};
use mapa_sched::Signals;

use super::config::DaemonConfig;
use super::events::MACHINE;
use super::inbox::InboxSender;
use super::reporter::SharedStatus;
use super::sampling::{Sampling, SamplingPlan, cpus};
use crate::error::Error;
use crate::node::Node;

/// What needs the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// The scheduler gets them.
    pub scheduler: bool,
    /// Who is beside a tenant is inferred from those of devices; `None` if that is not known yet.
    pub contention: Option<bool>,
}

/// The counters that the kernel, the drivers and exporters have.
pub(crate) struct HostSampler {
    sampling: Sampling,
    /// What is sampled, and how the drivers are asked.
    #[cfg(feature = "slo")]
    again: (SamplingPlan, Live),
    shared: Arc<SharedStatus>,
    /// The CPUs of each NUMA node; empty if the machine does not say.
    cpus: BTreeMap<u32, Cpus>,
    /// Whether the scheduler gets the samples.
    is_reported: bool,
}

impl HostSampler {
    /// The counters of this machine, if somebody needs them, or an exporter of latencies. A machine that is only
    /// described has no devices to be asked.
    ///
    /// # Errors
    /// The thread that samples cannot be started.
    pub(crate) fn start(
        live: &Live,
        config: &DaemonConfig,
        node: &Node,
        needs: Needs,
        to: &InboxSender,
        shared: &Arc<SharedStatus>,
    ) -> Result<Option<Self>, Error> {
        let sources = config.sources();
        let is_needed = needs.scheduler || needs.contention != Some(false);
        if !is_needed && sources.is_empty() {
            return Ok(None);
        }
        let watched = SamplerConfig {
            gpus: needs.contention == Some(true) || (needs.scheduler && node.is_live()),
            targets: config.telemetry.targets(sources.values()),
            ..SamplerConfig::default()
        };
        let plan = SamplingPlan {
            every: Duration::from_millis(config.sample_ms()),
            watched,
            sources,
            to: to.clone(),
        };
        Ok(Some(Self {
            sampling: Sampling::start(live, plan.clone())?,
            #[cfg(feature = "slo")]
            again: (plan, live.clone()),
            shared: shared.clone(),
            cpus: cpus(live),
            is_reported: needs.scheduler,
        }))
    }

    /// Whether nothing samples any more.
    pub(super) fn is_gone(&self) -> bool {
        self.sampling.is_gone()
    }

    /// Samples the devices too from now on.
    ///
    /// # Errors
    /// The thread that samples cannot be started.
    #[cfg(feature = "slo")]
    pub(super) fn watch_devices(&mut self) -> Result<(), Error> {
        let (plan, live) = &mut self.again;
        plan.watched.gpus = true;
        self.sampling = Sampling::start(live, plan.clone())?;
        Ok(())
    }

    /// The newest sample that was not taken yet, with when its counters were read, and its event for the scheduler:
    /// nothing of the first one, which has no rates.
    pub(super) fn sample(&mut self, node: &Node) -> Option<(Sample, Instant, Option<Signals>)> {
        let (sample, read) = self.sampling.take()?;
        let missing = sample.missing.iter().map(|signal| UnreadSignal {
            signal: signal.what.clone(),
            reason: signal.why.clone(),
        });
        self.shared.missing(missing.collect());
        let is_reported = self.is_reported && sample.interval_ms.is_some();
        let signals = is_reported.then(|| signals(&sample, node, &self.cpus));
        Some((sample, read, signals))
    }
}

/// A sample as an event. Values are whole numbers: casts of floats saturate.
fn signals(sample: &Sample, node: &Node, cpus: &BTreeMap<u32, Cpus>) -> Signals {
    let mut signals = Signals {
        machine: MACHINE,
        ..Signals::default()
    };
    let add = |number: &mut u32, rate: f64| *number = number.saturating_add(rate.round() as u32);
    for disk in &sample.disks {
        let moved = disk.read_mb_s.zip(disk.write_mb_s);
        if let Some((read, written)) = moved {
            // On a machine with one node the kernel does not say where a disk is: it is there.
            let of_node = signals.block_io_mb_s.entry(disk.numa.unwrap_or(0));
            add(of_node.or_default(), read + written);
        }
    }
    for (&cpu, &rate) in &sample.interrupts_per_s {
        let at = cpus.iter().find(|(_, cpus)| cpus.has(cpu));
        let of_node = signals.interrupts.entry(at.map_or(0, |(node, _)| *node));
        add(of_node.or_default(), rate);
    }
    let graph = node.graph();
    for gpu in &sample.gpus {
        let device = gpu.uuid.as_ref().and_then(|uuid| graph.find(uuid).ok());
        let port = device.and_then(|id| graph.device(id).port);
        let moved = gpu.pcie_receive_mb_s.zip(gpu.pcie_send_mb_s);
        if let Some((port, (received, sent))) = port.zip(moved) {
            add(signals.pcie_mb_s.entry(port).or_default(), received + sent);
        }
    }
    signals
}

#[cfg(test)]
mod tests {
    use mapa_front::MachineSpec;
    use mapa_live::telemetry::{DiskUse, GpuUse};

    use super::*;
    use crate::local_files::LocalFiles;

    #[test]
    fn counters_are_reported_by_node_and_port_and_missing_counters_are_not() {
        let loaded = MachineSpec::named("dgx-a100")
            .load(&LocalFiles, &mut |_| {})
            .unwrap();
        let node = Node::new(loaded, true);
        let disk = |numa, read| DiskUse {
            name: "vda".to_owned(),
            device: "254:0".to_owned(),
            numa,
            read_mb_s: read,
            write_mb_s: Some(1.4),
            busy_percent: None,
        };
        let sample = Sample {
            disks: vec![
                disk(None, Some(2.0)),
                disk(Some(1), Some(7.6)),
                disk(Some(1), None),
            ],
            interrupts_per_s: [(0, 10.0), (1, 20.0), (2, 1e12)].into(),
            gpus: vec![GpuUse {
                uuid: Some("GPU-of-nobody".to_owned()),
                pcie_receive_mb_s: Some(1.0),
                pcie_send_mb_s: Some(1.0),
                ..GpuUse::default()
            }],
            ..Sample::default()
        };
        let cpus = [(0, "0-1".parse().unwrap()), (1, "2".parse().unwrap())].into();
        let signals = signals(&sample, &node, &cpus);
        assert_eq!(signals.block_io_mb_s, [(0, 3), (1, 9)].into());
        assert_eq!(signals.interrupts, [(0, 30), (1, u32::MAX)].into());
        assert!(signals.pcie_mb_s.is_empty());
    }
}
