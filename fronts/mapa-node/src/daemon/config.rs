//! The configuration of the daemon. `packaging/mapa-node.toml` has every key with its default.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use mapa_front::{ExecutionSpec, PolicySpec, SchedulerSpec};
use mapa_live::levers::{BlockDevice, Bounds, CgroupPath};
use serde::{Deserialize, Serialize};

use super::sampling::{LatencyExporter, Telemetry};
#[cfg(feature = "slo")]
use super::slo::{OtherTables, SloConfig};
use super::toml_file::{BoundedInt, Millis, parse, read};
use crate::error::Error;

/// The configuration of the daemon.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DaemonConfig {
    /// How the queue is ordered.
    pub queue: QueueConfig,
    /// What is known of tenants, by name.
    pub tenants: BTreeMap<String, TenantConfig>,
    /// The levers.
    pub levers: LeversConfig,
    /// Where counters come from besides the kernel and NVML.
    pub telemetry: Telemetry,
    /// Whom it answers.
    pub service: Service,
    /// Whose latency is controlled, beside whom; nobody's, if absent.
    #[cfg(feature = "slo")]
    pub slo: Option<SloConfig>,
}

impl DaemonConfig {
    /// Reads a configuration from a file.
    ///
    /// # Errors
    /// The file, the line or the table at fault, and what was expected there.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let config: Self = read(path)?;
        config
            .check()
            .map_err(|what| Error::malformed(format_args!("{}: {what}", path.display())))?;
        Ok(config)
    }

    /// Checks what no single key says.
    ///
    /// # Errors
    /// The table at fault, and what was expected.
    fn check(&self) -> Result<(), String> {
        CgroupPath::new(&self.levers.group)
            .map_err(|error| format!("levers.group = \"{}\": {error}", self.levers.group))?;
        #[cfg(feature = "slo")]
        if let Some(slo) = &self.slo {
            let is_controlled = |tenant: &TenantConfig| {
                tenant.latency_slo_ms.is_some() || tenant.exporter.is_some()
            };
            let controlled = self.tenants.iter();
            let controlled = controlled.filter(|(_, tenant)| is_controlled(tenant));
            slo.check(&OtherTables {
                has_latency_socket: self.service.latencies.is_some(),
                controlled: controlled.map(|(name, _)| name.as_str()).collect(),
                bounds: &self.levers.bounds,
            })?;
        }
        Ok(())
    }

    /// The exporters of latencies, by tenant.
    pub(crate) fn sources(&self) -> BTreeMap<String, LatencyExporter> {
        let of = |(name, tenant): (&String, &TenantConfig)| {
            Some((name.clone(), tenant.exporter.clone()?))
        };
        #[allow(unused_mut, reason = "a feature adds more")]
        let mut all: BTreeMap<_, _> = self.tenants.iter().filter_map(of).collect();
        #[cfg(feature = "slo")]
        if let Some(slo) = &self.slo {
            all.extend(slo.sources());
        }
        all
    }

    /// How often the counters are sampled, ms: as often as somebody looks at them.
    pub(crate) fn sample_ms(&self) -> u64 {
        let poll_ms = self.queue.poll_ms.0;
        #[cfg(feature = "slo")]
        if let Some(slo) = &self.slo {
            return poll_ms.min(slo.settings.tick_ms.0);
        }
        poll_ms
    }
}

/// Checks a configuration of the daemon.
///
/// # Errors
/// The line or the table at fault, and what was expected there.
pub fn check_node_config(text: &str) -> Result<(), String> {
    parse::<DaemonConfig>(text)?.check()
}

/// How the queue is ordered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct QueueConfig {
    /// The scheduler, if the command line names none.
    pub scheduler: SchedulerSpec,
    /// The policy by which it places jobs.
    pub policy: PolicySpec,
    /// The model of run times.
    pub execution: ExecutionSpec,
    /// The interval at which the ledger, the drivers and the counters are polled, ms.
    pub poll_ms: BoundedInt<100, 5_000>,
    /// Whether the drivers are asked who else uses the devices.
    pub check_drivers: bool,
    /// Whether a job is alone on its instance, for schedulers that share instances otherwise.
    pub isolated: bool,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            scheduler: "fifo".into(),
            policy: PolicySpec::default(),
            execution: "ring-packing".into(),
            poll_ms: BoundedInt(1000),
            check_drivers: true,
            isolated: true,
        }
    }
}

/// What is known of a tenant: what a ticket does not say.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TenantConfig {
    /// The latency that its requests are promised, ms.
    pub latency_slo_ms: Option<Millis>,
    /// Its priority, the higher the more important.
    pub priority: i64,
    /// The PCIe traffic of each of its devices, MB/s, if it copies a lot.
    pub pcie_mb_s: Option<BoundedInt<1, 1_000_000>>,
    /// Its jobs should end so many seconds after they have come.
    pub deadline_s: Option<BoundedInt<1, 3_153_600_000>>,
    /// An exporter that tells how long its requests took; the socket, if absent.
    pub exporter: Option<LatencyExporter>,
}

/// A kind of lever that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Lever {
    /// Limits on block I/O by control groups.
    BlockIo,
    /// CPUs of processes, away from those that serve interrupts.
    Affinity,
    /// MPS shares.
    Mps,
    /// MIG layouts.
    Mig,
}

/// The levers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LeversConfig {
    /// The levers that may be used.
    pub enabled: Vec<Lever>,
    /// The disks on which block I/O is limited; all whole disks of the machine, if empty.
    pub block_devices: Vec<BlockDevice>,
    /// The folder of the pipes of the MPS control daemon.
    pub mps_pipe: PathBuf,
    /// The folder of the journal of changes; if absent, the folder of the ledger.
    pub journal: Option<PathBuf>,
    /// The control group below which jobs get groups of their own.
    pub group: String,
    /// A throttle that nobody lifts ends after so many seconds.
    pub max_duration_s: BoundedInt<1, 495>,
    /// CPUs that serve fewer interrupts a second than this are quiet.
    pub max_interrupts_per_s: BoundedInt<1, 1_000_000>,
    /// At least so many CPUs stay for a job that is kept off those that serve interrupts.
    pub min_cpus: BoundedInt<1, 4096>,
    /// The bounds of all levers.
    pub bounds: Bounds,
}

impl Default for LeversConfig {
    fn default() -> Self {
        Self {
            enabled: vec![Lever::BlockIo, Lever::Affinity, Lever::Mps, Lever::Mig],
            block_devices: Vec::new(),
            mps_pipe: PathBuf::from("/tmp/nvidia-mps"),
            journal: None,
            group: "mapa".to_owned(),
            max_duration_s: BoundedInt(60),
            max_interrupts_per_s: BoundedInt(1000),
            min_cpus: BoundedInt(1),
            bounds: Bounds::default(),
        }
    }
}

/// Whom the daemon answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Service {
    /// The group whose members may use its sockets; the group of the daemon, if absent.
    pub group: Option<String>,
    /// Where `/metrics` is served by HTTP: an address of this machine; nowhere, if absent.
    pub metrics: Option<SocketAddr>,
    /// The Unix socket at which tenants tell how long their requests took; none if absent.
    pub latencies: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::parse_toml;
    use crate::daemon::sampling::Url;

    const FILE: &str = include_str!("../../../../packaging/mapa-node.toml");

    /// The keys of a table, with those of tables in it.
    fn keys(values: &toml::Table, found: &mut Vec<String>) {
        for (key, value) in values {
            found.push(key.clone());
            match value {
                toml::Value::Table(inner) => keys(inner, found),
                toml::Value::Array(list) => {
                    for values in list.iter().filter_map(toml::Value::as_table) {
                        keys(values, found);
                    }
                }
                _ => {}
            }
        }
    }

    #[test]
    fn the_packaged_file_has_every_key_and_each_default() {
        let read: DaemonConfig = parse_toml(FILE).unwrap();
        let (read, usual) = (
            toml::Table::try_from(&read).unwrap(),
            toml::Table::try_from(DaemonConfig::default()).unwrap(),
        );
        assert_eq!(read, usual);
        // Those without a default are there behind `#`.
        let open: String = FILE
            .lines()
            .map(|line| {
                line.strip_prefix("# ")
                    .filter(|text| text.contains(" = ") || text.starts_with('['))
                    .unwrap_or(line)
            })
            .filter(|line| !line.starts_with('#'))
            .map(|line| format!("{line}\n"))
            .collect();
        let open: DaemonConfig = parse_toml(&open).unwrap();
        #[cfg(feature = "slo")]
        open.slo.as_ref().unwrap().assert_usual_but_for_tables();
        let full = DaemonConfig {
            tenants: [(
                "api".to_owned(),
                TenantConfig {
                    latency_slo_ms: Some(Millis(15.0)),
                    priority: 0,
                    pcie_mb_s: Some(BoundedInt(12_000)),
                    deadline_s: Some(BoundedInt(3600)),
                    exporter: Some(
                        parse_toml(
                            "kind = \"vllm\"\nurl = \"http://127.0.0.1:8000/metrics\"\n\
                             metric = \"vllm:time_to_first_token_seconds\"\nmodel_name = \"my-model\"\n",
                        )
                        .unwrap(),
                    ),
                },
            )]
            .into(),
            telemetry: Telemetry {
                dcgm: Some(Url("http://127.0.0.1:9400/metrics".to_owned())),
            },
            levers: LeversConfig {
                journal: Some("/var/lib/mapa-node/pulls".into()),
                ..LeversConfig::default()
            },
            service: Service {
                group: Some("mapa".to_owned()),
                metrics: Some(([127, 0, 0, 1], 9464).into()),
                latencies: Some("/run/mapa/latencies".into()),
            },
            #[cfg(feature = "slo")]
            slo: open.slo.clone(),
            ..DaemonConfig::default()
        };
        let (open, full) = (
            toml::Table::try_from(open).unwrap(),
            toml::Table::try_from(full).unwrap(),
        );
        assert_eq!(open, full);
        let mut all = Vec::new();
        keys(&full, &mut all);
        for key in all {
            assert!(FILE.contains(&key), "{key} is not in the packaged file");
        }
    }

    const UNITS: [&str; 2] = [
        include_str!("../../../../packaging/mapa-case.service"),
        include_str!("../../../../packaging/mapa-node.service"),
    ];

    /// What a unit sets.
    fn set<'u>(unit: &'u str, key: &str) -> Vec<&'u str> {
        let of = |line: &'u str| line.strip_prefix(key)?.strip_prefix('=');
        unit.lines().filter_map(of).collect()
    }

    #[test]
    fn units_of_systemd_do_not_share_what_one_of_them_removes_or_another_may_not_write() {
        let folders: std::collections::BTreeSet<_> = UNITS
            .iter()
            .flat_map(|unit| set(unit, "RuntimeDirectory"))
            .collect();
        assert_eq!(folders.len(), UNITS.len(), "{folders:?}");
        for unit in UNITS {
            let program = set(unit, "ExecStart")[0];
            assert!(program.starts_with("/usr/local/bin/mapa-"), "{program}");
            assert_eq!(set(unit, "UMask"), ["0007"], "{program}");
            assert_eq!(set(unit, "RuntimeDirectoryMode"), ["0750"], "{program}");
            assert_eq!(set(unit, "RuntimeDirectoryPreserve"), ["yes"], "{program}");
        }
        // Both use the ledger. Its folder is that of one of them: at its start a unit sets the mode of its folders anew.
        let [case, node] = UNITS;
        assert_eq!(set(node, "StateDirectory"), ["mapa"]);
        assert_eq!(set(node, "StateDirectoryMode"), ["0750"]);
        assert_eq!(set(case, "StateDirectory"), [""; 0]);
    }

    /// The programs of tenants inherit what a unit takes away, and end with it unless it says otherwise.
    #[test]
    fn the_drop_in_for_places_gives_back_all_that_the_unit_takes_away() {
        let drop_in = include_str!("../../../../packaging/mapa-node-places.conf");
        let takes_away = |line: &&str| {
            let key = line.split_once('=').map_or("", |(key, _)| key);
            let prefixes = [
                "Protect",
                "Restrict",
                "Private",
                "SystemCall",
                "Lock",
                "NoNew",
            ];
            let more = ["CapabilityBoundingSet", "IPAddressDeny", "IPAddressAllow"];
            prefixes.iter().any(|prefix| key.starts_with(prefix)) || more.contains(&key)
        };
        let unit = UNITS[1].lines().filter(takes_away);
        let mut count = 0;
        for line in unit.filter(|line| !line.ends_with("=no")) {
            let key = line.split_once('=').map_or("", |(key, _)| key);
            let freed = set(drop_in, key);
            let is_freed = freed.iter().any(|text| ["", "no", "~"].contains(text));
            assert!(is_freed, "{key}: {freed:?}");
            count += 1;
        }
        assert!(count > 10, "{count}");
        assert_eq!(set(drop_in, "KillMode"), ["process"]);
    }
}
