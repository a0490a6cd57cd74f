//! Job files with tenants: who serves requests, and who copies or trains beside, when and where.

use std::fmt;
use std::str::FromStr;

use mapa_system_slo::ModelParameters;
use mapa_table::{Comments, Row, Sheet, columns, optional_text, text};
use serde::Deserialize;

use super::draw::{Busy, DrawnRun, NeighbourAction};
use super::scenario::{HOSTS, Requests, SWITCHES, Scenario};
use crate::error::{Error, ErrorKind};

/// A tenant that serves requests, and the run in which it is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct ServingTenant {
    /// Its name.
    pub name: String,
    /// The place where it starts.
    pub place: u32,
    /// Its requests and promise.
    pub scenario: Scenario,
}

/// The tenants of a job file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileTenants {
    /// Those that serve requests.
    pub serving: Vec<ServingTenant>,
    /// The busy phases of those beside them.
    pub busy: Vec<Busy>,
}

/// What a tenant does, as a job file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TenantRole {
    Serves,
    Copies,
    Trains,
}

impl FromStr for TenantRole {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "serves" => Ok(Self::Serves),
            "copies" => Ok(Self::Copies),
            "trains" => Ok(Self::Trains),
            _ => Err(format!("`{text}`: expected serves, copies or trains")),
        }
    }
}

impl fmt::Display for TenantRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Serves => "serves",
            Self::Copies => "copies",
            Self::Trains => "trains",
        })
    }
}

/// A finite number of 0 or more.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Amount(f64);

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let own = text
            .parse()
            .ok()
            .filter(|value| (0.0..=1e9).contains(value));
        own.map(Self)
            .ok_or_else(|| format!("`{text}`: expected a number from 0 to 1e9"))
    }
}

/// A row of the file.
#[derive(Deserialize)]
struct TenantColumns {
    tenant: String,
    #[serde(with = "text")]
    does: TenantRole,
    #[serde(with = "text")]
    start_s: Amount,
    #[serde(with = "text")]
    end_s: Amount,
    #[serde(default)]
    place: Option<u32>,
    #[serde(default, with = "optional_text")]
    requests_per_s: Option<Amount>,
    #[serde(default, with = "optional_text")]
    transfer_ms: Option<Amount>,
    #[serde(default, with = "optional_text")]
    transfer_cv: Option<Amount>,
    #[serde(default, with = "optional_text")]
    compute_ms: Option<Amount>,
    #[serde(default, with = "optional_text")]
    compute_cv: Option<Amount>,
    #[serde(default, with = "optional_text")]
    promise_ms: Option<Amount>,
}

/// The columns that every file has.
const NEEDED: [&str; 4] = ["tenant", "does", "start_s", "end_s"];

/// Whether a job file is one of tenants: its header has a column `does`.
#[must_use]
pub fn is_tenants(file: &str) -> bool {
    let mut lines = file.lines().map(str::trim);
    let header = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    header.is_some_and(|header| {
        header
            .split(',')
            .any(|name| name.trim().eq_ignore_ascii_case("does"))
    })
}

/// Reads a job file of tenants.
///
/// A row that serves has requests a second, times and a promise; empty cells have those of the
/// scenario in which the promise can be kept. A row that copies or trains is busy from its start to
/// its end. A row that serves must start at 0; its end is the end of the run.
///
/// # Errors
/// The line and the column at fault, and what was expected there; no tenant that serves.
pub fn read_tenants(file: &str) -> Result<FileTenants, Error> {
    let sheet = Sheet::read(file, Comments::Anywhere, "tenants")?;
    sheet.check(&NEEDED, &columns::<TenantColumns>())?;
    let mut read = FileTenants {
        serving: Vec::new(),
        busy: Vec::new(),
    };
    for row in sheet.rows() {
        let own: TenantColumns = row.read()?;
        if own.end_s.0 <= own.start_s.0 {
            let what = format!(
                "end_s `{}`: expected more than start_s, {}",
                own.end_s.0, own.start_s.0
            );
            return Err(row.error(what).into());
        }
        let places = (HOSTS * SWITCHES) as u32;
        let place = own.place.unwrap_or(0);
        if place >= places {
            let what = format!("place `{place}`: expected 0 to {}", places - 1);
            return Err(row.error(what).into());
        }
        // Names become names of files.
        let is_plain = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
        if own.tenant.starts_with('.') || !own.tenant.chars().all(is_plain) {
            let what = format!(
                "tenant `{}`: expected letters, digits, `-`, `_`, `.` and blanks, and no `.` in front",
                own.tenant
            );
            return Err(row.error(what).into());
        }
        if matches!(own.does, TenantRole::Serves)
            && read.serving.iter().any(|before| before.name == own.tenant)
        {
            let what = format!("tenant `{}` serves twice: expected one row", own.tenant);
            return Err(row.error(what).into());
        }
        match own.does {
            TenantRole::Serves => read.serving.push(serving(&row, own, place)?),
            TenantRole::Copies => read.busy.push(busy(&own, place, NeighbourAction::Copies)),
            TenantRole::Trains => read.busy.push(busy(&own, place, NeighbourAction::Trains)),
        }
    }
    if read.serving.is_empty() {
        let what = "tenants: expected at least one row that serves".to_owned();
        return Err(ErrorKind::BadSlo(what).into());
    }
    read.busy.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
    Ok(read)
}

fn busy(own: &TenantColumns, place: u32, kind: NeighbourAction) -> Busy {
    let host = place / SWITCHES as u32 * SWITCHES as u32;
    Busy {
        from_ms: own.start_s.0 * 1e3,
        until_ms: own.end_s.0 * 1e3,
        kind,
        switch: place,
        other: host + (place - host + 1) % SWITCHES as u32,
    }
}

fn serving(row: &Row<'_>, own: TenantColumns, place: u32) -> Result<ServingTenant, Error> {
    if own.start_s.0 > 0.0 {
        let what = format!(
            "start_s `{}`: expected 0 for a tenant that serves",
            own.start_s.0
        );
        return Err(row.error(what).into());
    }
    let usual = Scenario::reachable();
    let rate = own.requests_per_s.map_or(5.0, |amount| amount.0);
    let or = |value: Option<Amount>, usual: f64| value.map_or(usual, |amount| amount.0);
    let scenario = Scenario {
        hours: own.end_s.0 / 3600.0,
        promise_ms: or(own.promise_ms, usual.promise_ms),
        requests: Requests::Poisson(rate),
        transfer_ms: or(own.transfer_ms, usual.transfer_ms),
        transfer_cv: or(own.transfer_cv, usual.transfer_cv),
        compute_ms: or(own.compute_ms, usual.compute_ms),
        compute_cv: or(own.compute_cv, usual.compute_cv),
        // A window holds some twenty seconds of requests.
        window: ((rate * 25.0) as u32).clamp(32, 1024),
        physics: ModelParameters { ..usual.physics },
        ..usual
    };
    let scenario = scenario
        .checked()
        .map_err(|error| row.error(error.to_string()))?;
    Ok(ServingTenant {
        name: own.tenant,
        place,
        scenario,
    })
}

impl FileTenants {
    /// The run of a tenant that serves: its requests by this seed, beside the neighbours of the
    /// file.
    ///
    /// # Errors
    /// As [`Scenario::checked`].
    pub fn trace(&self, own: &ServingTenant, seed: u64) -> Result<DrawnRun, Error> {
        Ok(DrawnRun {
            busy: self.busy.clone(),
            ..DrawnRun::draw(&own.scenario, seed)?
        })
    }
}
