//! The configuration of `mapa-node slo`. `packaging/slo.toml` has every key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use mapa_live::levers::{BlockDevice, Bound, Bounds, Group, Launch, Route};
use mapa_system_slo::replay::{ByReplay, ReplaySettings};
use mapa_system_slo::{Levers, Settings};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::drive::sampling::{Source, Telemetry};
use crate::drive::{Millis, Whole, parse_toml};
use crate::error::Error;

/// The configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Which controller.
    #[serde(default)]
    pub controller: Which,
    /// The socket at which tenants tell how long requests took.
    #[serde(default)]
    pub latencies: Option<PathBuf>,
    /// The folder of what levers hold: it is read after a crash.
    pub state: PathBuf,
    /// How it is known who is beside a tenant.
    #[serde(default)]
    pub contention: Contention,
    /// Where counters come from besides the kernel and NVML.
    #[serde(default)]
    pub telemetry: Telemetry,
    /// What all controllers share.
    #[serde(default)]
    pub settings: Shared,
    /// The levers.
    #[serde(default)]
    pub levers: Hands,
    /// Those who are promised a latency.
    pub tenants: BTreeMap<String, Tenant>,
    /// Those who may be throttled.
    #[serde(default)]
    pub neighbours: BTreeMap<String, Neighbour>,
}

/// Checks a configuration of `mapa-node slo`.
///
/// # Errors
/// The line or the key at fault, and what was expected there.
pub fn check_slo_config(text: &str) -> Result<(), String> {
    let read = parse_toml::<Config>(text)?;
    read.checked().map(drop).map_err(|error| error.to_string())
}

/// A controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Which {
    /// The paper's.
    #[default]
    Slo,
    /// By replay.
    SloReplay,
}

/// How it is known who is beside a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contention {
    /// By counters where the topology is hidden, the tenant's devices are named, and no neighbour's places are.
    #[default]
    Auto,
    /// The neighbours that are named, while they are busy.
    Named,
    /// Inferred from the counters of devices.
    Counters,
}

/// Settings of the controllers that an operator may set. All others are the paper's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Shared {
    /// The length of a tick, ms.
    pub tick_ms: Whole<1000, 5000>,
    /// For how many windows in a row the tail must be too high.
    pub persistence: Whole<1, 10_000>,
    /// The latencies of a window.
    pub window: Whole<1, 65_536>,
    /// The least ticks between two moves.
    pub dwell: Whole<0, 1_000_000>,
    /// The least ticks between two throttles.
    pub cool_down: Whole<0, 1_000_000>,
    /// The longest throttle, ticks.
    pub throttle_ticks: Whole<1, 99>,
    /// The limit on a throttled neighbour's block I/O, MB/s.
    pub io_mb_s: Whole<100, 500>,
    /// The share of multiprocessors of a throttled neighbour, percent.
    pub mps_percent: Whole<50, 100>,
    /// Where contention is inferred: the traffic of others from which on somebody copies, MB/s.
    pub heavy_mb_s: Whole<1, 1_000_000>,
    /// Where contention is inferred: the use of multiprocessors by others from which on somebody trains, percent.
    pub training_percent: Whole<1, 100>,
    /// Of `slo-replay`: the share of a request without neighbours that is transfer.
    pub transfer: Share,
}

/// A share from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Share(pub f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if (0.0..=1.0).contains(&value) {
            return Ok(Self(value));
        }
        Err(D::Error::custom(format_args!("{value}: expected 0 to 1")))
    }
}

impl Default for Shared {
    fn default() -> Self {
        let own = Settings::of_one_profile(Levers::NONE);
        Self {
            tick_ms: Whole(own.tick_ms.into()),
            persistence: Whole(own.persistence.into()),
            window: Whole(own.window.into()),
            dwell: Whole(own.dwell.into()),
            cool_down: Whole(own.cool_down.into()),
            throttle_ticks: Whole(own.throttle_ticks.into()),
            io_mb_s: Whole(own.io_mb_s.into()),
            mps_percent: Whole(own.mps_percent.into()),
            heavy_mb_s: Whole(own.heavy_mb_s.into()),
            training_percent: Whole(own.training_percent.into()),
            transfer: Share(ByReplay::TRANSFER),
        }
    }
}

/// The levers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Hands {
    /// Whether neighbours are throttled.
    pub throttle: bool,
    /// Whether tenants that have several places are moved.
    pub moves: bool,
    /// The disks on which block I/O is limited.
    pub block_devices: Vec<BlockDevice>,
    /// The folder of the pipes of the MPS control daemon.
    pub mps_pipe: PathBuf,
    /// The control group below which neighbours get groups of their own.
    pub group: Group,
    /// The bounds of all levers.
    pub bounds: Bounds,
}

impl Default for Hands {
    fn default() -> Self {
        Self {
            throttle: true,
            moves: true,
            block_devices: Vec::new(),
            mps_pipe: PathBuf::from("/tmp/nvidia-mps"),
            group: Group::new("mapa").unwrap_or_default(),
            bounds: Bounds::default(),
        }
    }
}

/// A tenant that is promised a latency.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tenant {
    /// The latency that its requests are promised.
    pub promise_ms: Millis,
    /// An exporter that tells how long its requests took; the socket, if absent.
    #[serde(default)]
    pub exporter: Option<Source>,
    /// Its devices at each place, by UUID: their traffic is its own.
    #[serde(default)]
    pub devices: Vec<BTreeSet<String>>,
    /// Where it can run. One place, at which it runs already, if absent.
    #[serde(default)]
    pub places: Vec<Launch>,
    /// The file that says where requests go.
    #[serde(default)]
    pub route: Option<PathBuf>,
}

/// What a neighbour does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Does {
    /// It copies a lot.
    Copies,
    /// It trains.
    Trains,
}

/// Somebody who may be throttled.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Neighbour {
    /// What it does.
    pub does: Does,
    /// The file with its process id: what that has started belongs to it.
    #[serde(default)]
    pub pid_file: Option<PathBuf>,
    /// Its control group, in place of a file.
    #[serde(default)]
    pub group: Option<Group>,
    /// It counts as there if it moves so much, MB/s.
    #[serde(default = "ten")]
    pub from_mb_s: Whole<1, 1_000_000>,
    /// The places of tenants that it is beside; all, if empty.
    #[serde(default)]
    pub places: Vec<u32>,
}

fn ten() -> Whole<1, 1_000_000> {
    Whole(10)
}

impl Config {
    /// Checks what no single key says.
    ///
    /// # Errors
    /// The table at fault, and what was expected.
    pub(crate) fn checked(self) -> Result<Self, Error> {
        let bad = |what: String| Err(Error::malformed(what));
        if self.tenants.is_empty() {
            return bad("tenants: expected at least one".to_owned());
        }
        let named = |name: &String| {
            let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !name.is_empty() && name.len() <= 128 && name.chars().all(is_good)
        };
        if let Some(name) = self
            .tenants
            .keys()
            .chain(self.neighbours.keys())
            .find(|own| !named(own))
        {
            return bad(format!(
                "`{name}`: expected a name of letters, digits, `-`, `_` and `.`"
            ));
        }
        for (name, own) in &self.neighbours {
            if own.pid_file.is_some() == own.group.is_some() {
                return bad(format!("neighbours.{name}: expected `pid_file` or `group`"));
            }
            if own.group.as_ref().is_some_and(Group::is_root) {
                return bad(format!(
                    "neighbours.{name}.group: expected a group below the root, in which everybody is"
                ));
            }
        }
        self.within_bounds()?;
        for (name, own) in &self.tenants {
            if own.exporter.is_none() && self.latencies.is_none() {
                return bad(format!(
                    "tenants.{name}: expected an `exporter`, or the socket `latencies` above"
                ));
            }
            let places = own.places.len().max(1);
            if !own.devices.is_empty() && own.devices.len() != places {
                let lists = own.devices.len();
                return bad(format!(
                    "tenants.{name}.devices: {lists} lists: expected one for each of its places, {places}"
                ));
            }
            if self.contention == Contention::Counters && own.devices.is_empty() {
                return bad(format!(
                    "tenants.{name}: expected `devices`, because `contention` is \"counters\""
                ));
            }
            if own.route.is_some() && own.places.len() < 2 {
                return bad(format!(
                    "tenants.{name}.route: expected two `places` or more"
                ));
            }
        }
        for name in self.tenants.keys() {
            self.settings_of(name)?;
        }
        Ok(self)
    }

    /// Checks that no throttle would be refused by the bounds of levers.
    fn within_bounds(&self) -> Result<(), Error> {
        let (own, bounds) = (&self.settings, &self.levers.bounds);
        let seconds = |ms: u64| ms.div_ceil(1000);
        let hold = own.throttle_ticks.0 * own.tick_ms.0;
        // A lever that no neighbour needs is not pulled.
        let does = |what| self.neighbours.values().any(|own| own.does == what);
        let (copies, trains) = (does(Does::Copies), does(Does::Trains));
        let all = [
            (
                trains,
                "mps_percent",
                own.mps_percent.0,
                "mps_percent",
                bounds.mps_percent,
            ),
            (copies, "io_mb_s", own.io_mb_s.0, "io_mb_s", bounds.io_mb_s),
            (
                copies || trains,
                "throttle_ticks",
                seconds(hold),
                "hold_s",
                bounds.hold_s,
            ),
        ];
        for (is_needed, key, value, bound, Bound { least, most }) in all {
            if self.levers.throttle && is_needed && !(least..=most).contains(&value) {
                let unit = if bound == "hold_s" { " s" } else { "" };
                return Err(Error::malformed(format_args!(
                    "settings.{key}: {value}{unit}: expected {least} to {most}, which is `levers.bounds.{bound}`"
                )));
            }
        }
        Ok(())
    }

    /// The exporters of tenants' latencies.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.tenants
            .values()
            .filter_map(|own| own.exporter.as_ref())
    }

    /// The settings of a tenant's controller.
    ///
    /// # Errors
    /// As [`Settings::checked`].
    pub(crate) fn settings_of(&self, tenant: &str) -> Result<Settings, Error> {
        let own = &self.settings;
        let tenant = &self.tenants[tenant];
        let levers = Levers {
            throttle: self.levers.throttle,
            moves: self.levers.moves && tenant.places.len() > 1,
            validate: true,
            ..Levers::NONE
        };
        let settings = Settings {
            tick_ms: own.tick_ms.0 as u32,
            promise_ns: tenant.promise_ms.ns(),
            trigger_ns: tenant.promise_ms.ns(),
            persistence: own.persistence.0 as u32,
            window: own.window.0 as u32,
            dwell: own.dwell.0 as u32,
            cool_down: own.cool_down.0 as u32,
            throttle_ticks: own.throttle_ticks.0 as u32,
            io_mb_s: own.io_mb_s.0 as u32,
            mps_percent: own.mps_percent.0 as u32,
            heavy_mb_s: own.heavy_mb_s.0 as u32,
            training_percent: own.training_percent.0 as u32,
            warm_handover: true,
            ..Settings::of_one_profile(levers)
        };
        settings.checked().map_err(Error::malformed)
    }

    /// The settings of a tenant's controller by replay. Tenants take turns.
    ///
    /// # Errors
    /// As [`ReplaySettings::checked`].
    pub(crate) fn replay_of(&self, tenant: &str, turn: usize) -> Result<ReplaySettings, Error> {
        let own = ReplaySettings::new(self.settings_of(tenant)?).map_err(Error::malformed)?;
        let turn = turn as u32 % own.every_ticks;
        Ok(ReplaySettings { turn, ..own })
    }

    /// What a route's file says of a place.
    pub(crate) fn route_of(tenant: &Tenant, place: &Launch) -> Option<Route> {
        tenant.route.as_ref().map(|file| Route {
            file: file.clone(),
            text: format!("{}\n", place.id),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let read = parse_toml::<Config>(text);
        let error = match read {
            Ok(own) => own.checked().map(drop).unwrap_err().to_string(),
            Err(error) => error,
        };
        assert!(error.contains(expected), "{text}: {error}");
    }

    #[test]
    fn each_fault_is_named_with_what_was_expected() {
        let tenant = "state = \"s\"\nlatencies = \"l\"\n[tenants.api]\npromise_ms = 15\n";
        assert!(parse_toml::<Config>(tenant).unwrap().checked().is_ok());
        check(
            "state = \"s\"\n[tenants]\n",
            "tenants: expected at least one",
        );
        check(
            "state = \"s\"\n[tenants.api]\npromise_ms = 15\n",
            "tenants.api: expected an `exporter`, or the socket",
        );
        check(
            &format!("{tenant}[settings]\ntick_ms = 10\n"),
            "line 6: 10: expected 1000 to 5000",
        );
        check(
            &format!("{tenant}[settings]\ntransfer = 2.0\n"),
            "line 6: 2: expected 0 to 1",
        );
        check(
            &format!("{tenant}[neighbours.etl]\ndoes = \"copies\"\n"),
            "neighbours.etl: expected `pid_file` or `group`",
        );
        check(
            &format!("{tenant}route = \"r\"\n"),
            "tenants.api.route: expected two `places`",
        );
        check(
            &tenant.replace("api", "\"a b\""),
            "expected a name of letters, digits",
        );
        check(&format!("{tenant}promise = 1\n"), "unknown field `promise`");
        check(
            &format!("{tenant}devices = [[\"GPU-a\"], [\"GPU-b\"]]\n"),
            "tenants.api.devices: 2 lists: expected one for each of its places, 1",
        );
        check(
            &format!("{tenant}[neighbours.etl]\ndoes = \"copies\"\ngroup = \"/\"\n"),
            "neighbours.etl.group: expected a group below the root",
        );
        check(
            &format!("{tenant}[neighbours.etl]\ndoes = \"copies\"\ngroup = \"../x\"\n"),
            "line 7: group `../x`",
        );
        let neighbours = "[neighbours.etl]\ndoes = \"copies\"\ngroup = \"etl\"\n\
                          [neighbours.ml]\ndoes = \"trains\"\ngroup = \"ml\"\n";
        let bounds = |text: &str| format!("{tenant}{neighbours}[levers.bounds]\n{text}\n");
        let unused = bounds("io_mb_s = { least = 100, most = 200 }").replace("copies", "trains");
        assert!(parse_toml::<Config>(&unused).unwrap().checked().is_ok());
        check(
            &bounds("mps_percent = { least = 60, most = 100 }"),
            "settings.mps_percent: 50: expected 60 to 100, which is `levers.bounds.mps_percent`",
        );
        check(
            &bounds("io_mb_s = { least = 100, most = 200 }"),
            "settings.io_mb_s: 500: expected 100 to 200",
        );
        check(
            &bounds("hold_s = { least = 1, most = 10 }"),
            "settings.throttle_ticks: 30 s: expected 1 to 10, which is `levers.bounds.hold_s`",
        );
        check(
            &format!("contention = \"counters\"\n{tenant}"),
            "tenants.api: expected `devices`, because `contention` is",
        );
    }
}

#[cfg(test)]
mod packaged {
    use super::*;

    const FILE: &str = include_str!("../../../../../packaging/slo.toml");

    fn keys(own: &toml::Table, found: &mut Vec<String>) {
        for (key, value) in own {
            found.push(key.clone());
            match value {
                toml::Value::Table(inner) => keys(inner, found),
                toml::Value::Array(list) => {
                    for own in list.iter().filter_map(toml::Value::as_table) {
                        keys(own, found);
                    }
                }
                _ => {}
            }
        }
    }

    #[test]
    fn the_packaged_file_is_read_and_has_every_key() {
        let read: Config = parse_toml::<Config>(FILE).unwrap().checked().unwrap();
        assert_eq!(
            toml::Table::try_from(&read.settings).unwrap(),
            toml::Table::try_from(Shared::default()).unwrap(),
            "the file has the defaults"
        );
        // With what is behind `#`: a neighbour has a group or a file, so that one stays.
        let open: String = FILE
            .lines()
            .map(|line| {
                let key = line.strip_prefix("# ").filter(|own| {
                    let is_key = own
                        .split_once(" = ")
                        .is_some_and(|(key, _)| !key.contains(' '));
                    is_key && !own.starts_with("pid_file") || own.starts_with('[')
                });
                key.unwrap_or(line)
            })
            .filter(|line| !line.starts_with('#'))
            .map(|line| format!("{line}\n"))
            .collect();
        // A route is for two places or more.
        let place = &open[open.find("[[tenants").unwrap()..open.find("[neighbours").unwrap()];
        let open = open.replace(
            place,
            &format!("{place}{}", place.replace("api-0", "api-1")),
        );
        let open = open.replace("[[\"GPU-...\"]]", "[[\"GPU-a\"], [\"GPU-b\"]]");
        let full = parse_toml::<Config>(&open).unwrap().checked().unwrap();
        let mut all = Vec::new();
        keys(&toml::Table::try_from(&full).unwrap(), &mut all);
        for key in all {
            assert!(FILE.contains(&key), "{key} is not in the packaged file");
        }
    }
    const UNITS: [&str; 3] = [
        include_str!("../../../../../packaging/mapa-case.service"),
        include_str!("../../../../../packaging/mapa-node.service"),
        include_str!("../../../../../packaging/mapa-slo.service"),
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
        let read: Config = parse_toml(FILE).unwrap();
        let mut ledgers = 0;
        for unit in UNITS {
            let program = set(unit, "ExecStart")[0];
            assert!(
                program.starts_with("/usr/local/bin/mapa-node "),
                "{program}"
            );
            assert_eq!(set(unit, "UMask"), ["0007"], "{program}");
            assert_eq!(set(unit, "RuntimeDirectoryMode"), ["0750"], "{program}");
            assert_eq!(set(unit, "RuntimeDirectoryPreserve"), ["yes"], "{program}");
            let state = (set(unit, "StateDirectory"), set(unit, "StateDirectoryMode"));
            if state.0 == ["mapa"] {
                assert_eq!(state.1, ["2770"], "{program}");
                ledgers += 1;
            } else {
                // Root does what the files there say.
                assert_eq!(state.1, ["0700"], "{program}");
                let own = std::path::Path::new("/var/lib").join(state.0[0]);
                assert_eq!(read.state, own);
                let run = std::path::Path::new("/run").join(set(unit, "RuntimeDirectory")[0]);
                assert!(read.latencies.as_ref().unwrap().starts_with(run));
            }
        }
        assert_eq!(ledgers, 2, "of the daemon and of the manager of instances");
    }
}
