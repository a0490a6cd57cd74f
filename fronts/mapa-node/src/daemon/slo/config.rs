//! `[slo]` of the daemon's configuration. `packaging/mapa-node.toml` has every key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use mapa_live::levers::{Bound, Bounds, CgroupPath, ProgramSpec, RouteFile};
use mapa_system_slo::replay::{ByReplay, ReplaySettings};
use mapa_system_slo::{EnabledLevers, Settings};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::daemon::sampling::LatencyExporter;
use crate::daemon::toml_file::{BoundedInt, Millis};

/// The control of latencies.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SloConfig {
    /// Which controller.
    #[serde(default)]
    pub controller: ControllerKind,
    /// How contention is detected.
    #[serde(default)]
    pub contention: ContentionSource,
    /// What all controllers share.
    #[serde(default)]
    pub settings: ControllerSettings,
    /// Which levers they have.
    #[serde(default)]
    pub levers: SloLeversConfig,
    /// The tenants that are promised a latency.
    pub tenants: BTreeMap<String, SloTenant>,
    /// Those who may be throttled.
    #[serde(default)]
    pub neighbours: BTreeMap<String, Neighbour>,
}

/// A controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ControllerKind {
    /// The paper's.
    #[default]
    Slo,
    /// By replay.
    SloReplay,
}

/// How contention is detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ContentionSource {
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
pub(crate) struct ControllerSettings {
    /// The length of a tick, ms.
    pub tick_ms: BoundedInt<1000, 5000>,
    /// For how many windows in a row the tail must be too high.
    pub persistence: BoundedInt<1, 10_000>,
    /// The latencies of a window.
    pub window: BoundedInt<1, 65_536>,
    /// The least ticks between two moves.
    pub dwell: BoundedInt<0, 1_000_000>,
    /// The least ticks between two throttles.
    pub cool_down: BoundedInt<0, 1_000_000>,
    /// The longest throttle, ticks.
    pub throttle_ticks: BoundedInt<1, 99>,
    /// The limit on a throttled neighbour's block I/O, MB/s.
    pub io_mb_s: BoundedInt<100, 500>,
    /// The share of multiprocessors of a throttled neighbour, percent.
    pub mps_percent: BoundedInt<50, 100>,
    /// Where contention is inferred: the traffic of others from which on somebody copies, MB/s.
    pub copying_above_mb_s: BoundedInt<1, 1_000_000>,
    /// Where contention is inferred: the use of multiprocessors by others from which on somebody trains, percent.
    pub training_above_percent: BoundedInt<1, 100>,
    /// Of `slo-replay`: the share of a request without neighbours that is transfer.
    pub transfer: Fraction,
}

/// A share from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Fraction(pub f64);

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if (0.0..=1.0).contains(&value) {
            return Ok(Self(value));
        }
        Err(D::Error::custom(format_args!("{value}: expected 0 to 1")))
    }
}

impl Default for ControllerSettings {
    fn default() -> Self {
        let usual = Settings::of_one_profile(EnabledLevers::NONE);
        Self {
            tick_ms: BoundedInt(usual.tick_ms.into()),
            persistence: BoundedInt(usual.persistence.into()),
            window: BoundedInt(usual.window.into()),
            dwell: BoundedInt(usual.dwell.into()),
            cool_down: BoundedInt(usual.cool_down.into()),
            throttle_ticks: BoundedInt(usual.throttle_ticks.into()),
            io_mb_s: BoundedInt(usual.io_mb_s.into()),
            mps_percent: BoundedInt(usual.mps_percent.into()),
            copying_above_mb_s: BoundedInt(usual.heavy_mb_s.into()),
            training_above_percent: BoundedInt(usual.training_percent.into()),
            transfer: Fraction(ByReplay::TRANSFER),
        }
    }
}

/// Which levers the controllers have. What these are on this machine is `[levers]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SloLeversConfig {
    /// Whether neighbours are throttled.
    pub throttle: bool,
    /// Whether tenants that have several places are relocated.
    pub relocate: bool,
}

impl Default for SloLeversConfig {
    fn default() -> Self {
        Self {
            throttle: true,
            relocate: true,
        }
    }
}

/// A tenant that is promised a latency.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SloTenant {
    /// The latency that its requests are promised.
    pub latency_slo_ms: Millis,
    /// An exporter that tells how long its requests took; the socket, if absent.
    #[serde(default)]
    pub exporter: Option<LatencyExporter>,
    /// Its devices at each place, by UUID: their traffic is its own.
    #[serde(default)]
    pub devices: Vec<BTreeSet<String>>,
    /// Where it can run. One place, at which it runs already, if absent.
    #[serde(default)]
    pub places: Vec<ProgramSpec>,
    /// The file that says where requests go.
    #[serde(default)]
    pub route: Option<PathBuf>,
}

/// What a neighbour does while it is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NeighbourRole {
    /// It copies a lot.
    Copy,
    /// It trains.
    Train,
}

/// Somebody who may be throttled.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Neighbour {
    /// What it does.
    pub activity: NeighbourRole,
    /// The file with its process id: what that has started belongs to it.
    #[serde(default)]
    pub pid_file: Option<PathBuf>,
    /// Its control group, in place of a file.
    #[serde(default)]
    pub group: Option<CgroupPath>,
    /// The tenant whose leases it is, in place of both.
    #[serde(default)]
    pub tenant: Option<String>,
    /// It counts as active from so much block I/O on, MB/s.
    #[serde(default = "ten")]
    pub active_above_mb_s: BoundedInt<1, 1_000_000>,
    /// The places of tenants that share a path with it; all, if empty.
    #[serde(default)]
    pub places: Vec<u32>,
}

fn ten() -> BoundedInt<1, 1_000_000> {
    BoundedInt(10)
}

impl Neighbour {
    /// Whether it shares a path with a place.
    pub(super) fn is_beside(&self, place: u32) -> bool {
        self.places.is_empty() || self.places.contains(&place)
    }
}

/// What a check of `[slo]` needs of the other tables of the configuration.
pub(crate) struct OtherTables<'a> {
    /// Whether `service.latencies` names a socket.
    pub has_latency_socket: bool,
    /// The tenants of `[tenants]` with a latency SLO or an exporter.
    pub controlled: BTreeSet<&'a str>,
    /// `levers.bounds`.
    pub bounds: &'a Bounds,
}

impl SloConfig {
    /// Checks what no single key says.
    ///
    /// # Errors
    /// The table at fault, and what was expected.
    pub(crate) fn check(&self, around: &OtherTables<'_>) -> Result<(), String> {
        if self.tenants.is_empty() {
            return Err("slo.tenants: expected at least one".to_owned());
        }
        let is_good = |name: &String| {
            let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !name.is_empty() && name.len() <= 128 && name.chars().all(is_good)
        };
        let mut names = self.tenants.keys().chain(self.neighbours.keys());
        if let Some(name) = names.find(|name| !is_good(name)) {
            return Err(format!(
                "slo: `{name}`: expected a name of letters, digits, `-`, `_` and `.`"
            ));
        }
        for (name, neighbour) in &self.neighbours {
            let keys = [
                neighbour.pid_file.is_some(),
                neighbour.group.is_some(),
                neighbour.tenant.is_some(),
            ];
            if keys.iter().filter(|is_set| **is_set).count() != 1 {
                return Err(format!(
                    "slo.neighbours.{name}: expected one of `pid_file`, `group` and `tenant`"
                ));
            }
            if neighbour.group.as_ref().is_some_and(CgroupPath::is_root) {
                return Err(format!(
                    "slo.neighbours.{name}.group: expected a group below the root, in which everybody is"
                ));
            }
        }
        self.within_bounds(around.bounds)?;
        for (name, tenant) in &self.tenants {
            self.check_tenant(name, tenant, around)?;
            self.settings_of(name)?;
        }
        Ok(())
    }

    fn check_tenant(
        &self,
        name: &str,
        tenant: &SloTenant,
        around: &OtherTables<'_>,
    ) -> Result<(), String> {
        if tenant.exporter.is_none() && !around.has_latency_socket {
            return Err(format!(
                "slo.tenants.{name}: expected an `exporter`, or the socket `service.latencies`"
            ));
        }
        // Two controllers would throttle for one tenant, by the same latencies.
        if around.controlled.contains(name) {
            return Err(format!(
                "slo.tenants.{name}: `tenants.{name}` has a latency SLO or an exporter too: expected one of them"
            ));
        }
        let places = tenant.places.len().max(1);
        if !tenant.devices.is_empty() && tenant.devices.len() != places {
            let lists = tenant.devices.len();
            return Err(format!(
                "slo.tenants.{name}.devices: {lists} lists: expected one for each of its places, {places}"
            ));
        }
        if self.contention == ContentionSource::Counters && tenant.devices.is_empty() {
            return Err(format!(
                "slo.tenants.{name}: expected `devices`, because `contention` is \"counters\""
            ));
        }
        if tenant.route.is_some() && tenant.places.len() < 2 {
            return Err(format!(
                "slo.tenants.{name}.route: expected two `places` or more"
            ));
        }
        Ok(())
    }

    /// Checks that no throttle would be refused by the bounds of levers.
    fn within_bounds(&self, bounds: &Bounds) -> Result<(), String> {
        let timing = &self.settings;
        let seconds = |ms: u64| ms.div_ceil(1000);
        let hold = timing.throttle_ticks.0 * timing.tick_ms.0;
        // A lever that no neighbour needs is not used.
        let any = |activity| {
            let mut all = self.neighbours.values();
            all.any(|neighbour| neighbour.activity == activity)
        };
        let (copies, trains) = (any(NeighbourRole::Copy), any(NeighbourRole::Train));
        let all = [
            (
                trains,
                "mps_percent",
                timing.mps_percent.0,
                "mps_percent",
                bounds.mps_percent,
            ),
            (
                copies,
                "io_mb_s",
                timing.io_mb_s.0,
                "io_mb_s",
                bounds.io_mb_s,
            ),
            (
                copies || trains,
                "throttle_ticks",
                seconds(hold),
                "max_duration_s",
                bounds.max_duration_s,
            ),
        ];
        for (is_needed, key, value, bound, Bound { min, max }) in all {
            if self.levers.throttle && is_needed && !(min..=max).contains(&value) {
                let unit = if bound == "max_duration_s" { " s" } else { "" };
                return Err(format!(
                    "slo.settings.{key}: {value}{unit}: expected {min} to {max}, which is `levers.bounds.{bound}`"
                ));
            }
        }
        Ok(())
    }

    /// The exporters of latencies, by tenant.
    pub(in crate::daemon) fn sources(&self) -> impl Iterator<Item = (String, LatencyExporter)> {
        let of = |(name, slo_tenant): (&String, &SloTenant)| {
            Some((name.clone(), slo_tenant.exporter.clone()?))
        };
        self.tenants.iter().filter_map(of)
    }

    /// The settings of a tenant's controller.
    ///
    /// # Errors
    /// As [`Settings::checked`].
    pub(super) fn settings_of(&self, tenant: &str) -> Result<Settings, String> {
        let timing = &self.settings;
        let tenant = &self.tenants[tenant];
        let levers = EnabledLevers {
            throttle: self.levers.throttle,
            moves: self.levers.relocate && tenant.places.len() > 1,
            validate: true,
            ..EnabledLevers::NONE
        };
        let settings = Settings {
            tick_ms: timing.tick_ms.0 as u32,
            promise_ns: tenant.latency_slo_ms.ns(),
            trigger_ns: tenant.latency_slo_ms.ns(),
            persistence: timing.persistence.0 as u32,
            window: timing.window.0 as u32,
            dwell: timing.dwell.0 as u32,
            cool_down: timing.cool_down.0 as u32,
            throttle_ticks: timing.throttle_ticks.0 as u32,
            io_mb_s: timing.io_mb_s.0 as u32,
            mps_percent: timing.mps_percent.0 as u32,
            heavy_mb_s: timing.copying_above_mb_s.0 as u32,
            training_percent: timing.training_above_percent.0 as u32,
            warm_handover: true,
            ..Settings::of_one_profile(levers)
        };
        settings.checked().map_err(|error| error.to_string())
    }

    /// The settings of a tenant's controller by replay. Tenants take turns.
    ///
    /// # Errors
    /// As [`ReplaySettings::checked`].
    pub(super) fn replay_of(&self, tenant: &str, turn: usize) -> Result<ReplaySettings, String> {
        let settings =
            ReplaySettings::new(self.settings_of(tenant)?).map_err(|error| error.to_string())?;
        let turn = turn as u32 % settings.every_ticks;
        Ok(ReplaySettings { turn, ..settings })
    }
}

#[cfg(test)]
impl SloConfig {
    /// Asserts that all but tenants and neighbours is as if it were not there.
    pub(in crate::daemon) fn assert_usual_but_for_tables(&self) {
        let table = |slo_config: &Self| {
            let mut table = toml::Table::try_from(slo_config).unwrap();
            table.remove("tenants");
            table.remove("neighbours");
            table
        };
        let usual: Self = crate::daemon::parse_toml("[tenants]\n").unwrap();
        assert_eq!(table(self), table(&usual));
    }
}

/// What a route's file says of a place.
pub(super) fn route_of(tenant: &SloTenant, place: &ProgramSpec) -> Option<RouteFile> {
    tenant.route.as_ref().map(|file| RouteFile {
        file: file.clone(),
        text: format!("{}\n", place.id),
    })
}

#[cfg(test)]
mod tests {
    use crate::daemon::check_node_config;

    fn check(text: &str, expected: &str) {
        let error = check_node_config(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }

    #[test]
    fn each_fault_is_named_with_what_was_expected() {
        let service = "[service]\nlatencies = \"l\"\n";
        let tenant = format!("{service}[slo.tenants.api]\nlatency_slo_ms = 15\n");
        assert_eq!(check_node_config(&tenant), Ok(()));
        check("[slo.tenants]\n", "slo.tenants: expected at least one");
        check(
            "[slo.tenants.api]\nlatency_slo_ms = 15\n",
            "slo.tenants.api: expected an `exporter`, or the socket `service.latencies`",
        );
        for more in [
            "latency_slo_ms = 20",
            "exporter = { kind = \"vllm\", url = \"http://h/m\", metric = \"vllm:time_to_first_token_seconds\" }",
        ] {
            check(
                &format!("{tenant}[tenants.api]\n{more}\n"),
                "slo.tenants.api: `tenants.api` has a latency SLO or an exporter too",
            );
        }
        for keys in ["", "group = \"a\"\ntenant = \"b\"\n"] {
            check(
                &format!(
                    "{tenant}[slo.neighbours.etl]\nactivity = \"copy\"
{keys}"
                ),
                "slo.neighbours.etl: expected one of `pid_file`, `group` and `tenant`",
            );
        }
        check(
            &format!("{tenant}route = \"r\"\n"),
            "slo.tenants.api.route: expected two `places`",
        );
        check(
            &tenant.replace("api", "\"a b\""),
            "expected a name of letters, digits",
        );
        check(&format!("{tenant}promise = 1\n"), "unknown field `promise`");
        check(
            &format!("{tenant}devices = [[\"GPU-a\"], [\"GPU-b\"]]\n"),
            "slo.tenants.api.devices: 2 lists: expected one for each of its places, 1",
        );
        check(
            &format!("{tenant}[slo.neighbours.etl]\nactivity = \"copy\"\ngroup = \"/\"\n"),
            "slo.neighbours.etl.group: expected a group below the root",
        );
        check(
            &format!("{tenant}[slo.neighbours.etl]\nactivity = \"copy\"\ngroup = \"../x\"\n"),
            "line 7: group `../x`",
        );
        let neighbours = "[slo.neighbours.etl]\nactivity = \"copy\"\ngroup = \"etl\"\n\
                          [slo.neighbours.ml]\nactivity = \"train\"\ngroup = \"ml\"\n";
        let bounds = |text: &str| format!("{tenant}{neighbours}[levers.bounds]\n{text}\n");
        let unused = bounds("io_mb_s = { min = 100, max = 200 }").replace("\"copy\"", "\"train\"");
        assert_eq!(check_node_config(&unused), Ok(()));
        check(
            &bounds("mps_percent = { min = 60, max = 100 }"),
            "slo.settings.mps_percent: 50: expected 60 to 100, which is `levers.bounds.mps_percent`",
        );
        check(
            &bounds("io_mb_s = { min = 100, max = 200 }"),
            "slo.settings.io_mb_s: 500: expected 100 to 200",
        );
        check(
            &bounds("max_duration_s = { min = 1, max = 10 }"),
            "slo.settings.throttle_ticks: 30 s: expected 1 to 10, which is `levers.bounds.max_duration_s`",
        );
        check(
            &format!(
                "{service}[slo]\ncontention = \"counters\"\n[slo.tenants.api]\nlatency_slo_ms = 15\n"
            ),
            "slo.tenants.api: expected `devices`, because `contention` is",
        );
    }
}
