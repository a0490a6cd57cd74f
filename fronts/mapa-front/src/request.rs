//! The request that a job makes of a machine.

use std::fmt;
use std::str::FromStr;

use mapa_core::mig::{Model, ProfileId};
use mapa_core::{
    Allocator, Decision, Demand, DeviceId, DeviceSet, HardwareGraph, LinkClass, Pattern, Request,
};
use mapa_topologies::Labels;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::Files;
use crate::job::{self, Job};
use crate::words;

/// A job as a request describes it.
///
/// In JSON and TOML a job is a table of these keys; in words it is the same keys as `key=value`,
/// separated by spaces: `gpus=4 sensitive=true`, or `pattern=tp=4,pp=2 avoid=GPU3`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// How many devices the job needs, or instances with `slice`. A training job and a pattern file
    /// imply the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<usize>,
    /// Which ranks communicate: a shape, edges such as `0-1,1-2`, degrees of parallelism such as
    /// `tp=4,pp=2`, or a pattern file.
    #[serde(default = "ring")]
    pub pattern: String,
    /// Bytes that each rank of a training job sends in a step, such as `tp=2e9,pp=1e8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Whether the job's speed depends on its links; as the pattern file says if absent, else
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<bool>,
    /// The MIG profile of each rank's instance; a whole device if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// Memory that each rank uses, GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// Whether several ranks may share a device or instance.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shared: bool,
    /// PCIe traffic of each rank, GB/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_traffic: Option<f64>,
    /// Warps that each rank has in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warps: Option<u32>,
    /// How many network cards must be near: see `nic_within` and `nic_for`. Jobs and ranks may share a card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nics: Option<u8>,
    /// How near these must be, the worst class of path: `pix` (the default), `pxb`, `phb`, `node` or `sys`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic_within: Option<String>,
    /// The devices that they must be near: each (`gpu`, the default), or that of rank 0 (`job`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic_for: Option<NicFor>,
    /// Devices that the job must get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_include: Vec<DeviceName>,
    /// Devices that the job must not get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub avoid: Vec<DeviceName>,
    /// The worst class of link that the job's edges may use: `sys`, `node`, `phb`, `pxb`, `pix`,
    /// `nv1`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_link: Option<String>,
    /// Whether the whole job must be on one NUMA node.
    #[serde(default, skip_serializing_if = "is_false")]
    pub same_numa: bool,
    /// Which devices count as alike: `product`, so that all are of one product, or `any`. Default: `product`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<Like>,
    /// The search stops after this many nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_nodes: Option<u64>,
    /// The search stops after this many placements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// The shape of a job that names none.
pub fn ring() -> String {
    "ring".to_owned()
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The name of a device or of a lease: a text, or an integer. The integer of a device is its id; a
/// text is an id, a name, a UUID or a PCI address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a string or an integer, not below 0")]
pub enum DeviceName {
    /// An integer.
    Id(u64),
    /// A text.
    Text(String),
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl DeviceName {
    /// The device of this name; none for a blank text.
    ///
    /// # Errors
    /// If the machine has no such device.
    pub fn find(&self, graph: &HardwareGraph) -> Result<Option<DeviceId>, Error> {
        Ok(match self {
            Self::Id(id) => {
                let id = DeviceId(u32::try_from(*id).unwrap_or(u32::MAX));
                graph.check(id)?;
                Some(id)
            }
            Self::Text(text) if text.trim().is_empty() => None,
            Self::Text(text) => Some(graph.find(text)?),
        })
    }

    /// Names as a command line gives them.
    pub fn of_texts<T: AsRef<str>>(list: &[T]) -> Vec<Self> {
        list.iter()
            .map(|text| Self::Text(text.as_ref().to_owned()))
            .collect()
    }
}

impl Default for JobSpec {
    fn default() -> Self {
        Self {
            gpus: None,
            pattern: ring(),
            bytes: None,
            sensitive: None,
            slice: None,
            memory: None,
            shared: false,
            pcie_traffic: None,
            warps: None,
            nics: None,
            nic_within: None,
            nic_for: None,
            must_include: Vec::new(),
            avoid: Vec::new(),
            min_link: None,
            same_numa: false,
            like: None,
            max_nodes: None,
            limit: None,
        }
    }
}

/// Which devices of a job network cards must be near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NicFor {
    /// Each device.
    #[default]
    Gpu,
    /// The device of rank 0 alone.
    Job,
}

impl FromStr for NicFor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "gpu" => Ok(Self::Gpu),
            "job" => Ok(Self::Job),
            _ => Err(Error::at(
                format_args!("nic_for={text}"),
                "expected gpu or job",
            )),
        }
    }
}

/// Which devices count as alike: a job gets like ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Like {
    /// Those of one product.
    #[default]
    Product,
    /// All.
    Any,
}

impl FromStr for Like {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "product" => Ok(Self::Product),
            "any" => Ok(Self::Any),
            _ => Err(Error::at(
                format_args!("like={text}"),
                "expected product or any",
            )),
        }
    }
}

impl FromStr for JobSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        words::table(text, "pattern", &["must_include", "avoid"])
    }
}

impl JobSpec {
    /// The job: its pattern, with what is known of its traffic.
    ///
    /// # Errors
    /// As [`job::job`].
    pub fn job(&self, files: &dyn Files) -> Result<Job, Error> {
        job::job(&self.pattern, self.bytes.as_deref(), self.gpus, files)
    }

    /// What the job requests of this machine, checked.
    ///
    /// # Errors
    /// If a device, a profile or a class of links is unknown, a number is out of range, or the
    /// request contradicts itself.
    pub fn request(&self, job: &Job, graph: &HardwareGraph) -> Result<Request, Error> {
        let demand = demand(self, graph)?;
        let mut pattern = job.pattern.clone().each(demand);
        if let Some((nics, within)) = self.nics(graph)? {
            let near = demand.near_nics(nics, within);
            pattern = match self.nic_for.unwrap_or_default() {
                NicFor::Gpu => pattern.each(near),
                NicFor::Job => pattern.with_demand(0, near),
            };
        }
        let mut request = Request::new(pattern)
            .sensitive(job.sensitivity(self.sensitive))
            .must_include(devices(&self.must_include, graph)?)
            .avoid(devices(&self.avoid, graph)?)
            .min_link(min_link(self.min_link.as_deref())?)
            .same_numa(self.same_numa)
            .unlike(self.like == Some(Like::Any));
        // A limit that is absent keeps the default of `Request::new`.
        if let Some(nodes) = self.max_nodes {
            request.limits.nodes = nodes;
        }
        if let Some(matches) = self.limit {
            request.limits.matches = matches;
        }
        // Contradictions between keys show now that all are there.
        request.check(graph)?;
        Ok(request)
    }

    /// How many network cards must be near, and how near.
    ///
    /// # Errors
    /// A class that is no path through the host; a machine without cards on record; what qualifies cards, without a number of
    /// them.
    fn nics(&self, graph: &HardwareGraph) -> Result<Option<(u8, LinkClass)>, Error> {
        let Some(nics) = self.nics.filter(|nics| *nics > 0) else {
            if self.nic_within.is_some() || self.nic_for.is_some() {
                return Err(Error::malformed(
                    "--nic-within and --nic-for are about --nics: expected --nics 1, or none of them",
                ));
            }
            return Ok(None);
        };
        let word = self.nic_within.as_deref().unwrap_or("pix");
        let within = min_link(Some(word))?;
        if !within.is_host() {
            return Err(Error::malformed(format_args!(
                "--nic-within {word}: expected the class of a path through the host: pix, pxb, phb, node or sys"
            )));
        }
        // Without cards on record every demand would be infeasible, which would hide the cause.
        if graph.devices().iter().all(|device| device.nics.is_empty()) {
            return Err(Error::malformed(
                "--nics: the machine's description has no network cards: expected one that has, such as the whole of \
                 `nvidia-smi topo -m`, or lstopo's XML",
            ));
        }
        Ok(Some((nics, within)))
    }
}

/// What each rank requests: an instance of the size of this profile, or a whole device if no
/// profile is named.
///
/// # Errors
///
/// If no device has the profile, or if devices of several models give it different sizes.
pub fn slice(word: Option<&str>, graph: &HardwareGraph) -> Result<Demand, Error> {
    let Some(word) = word else {
        return Ok(Demand::whole());
    };
    let mut models: Vec<&Model> = Vec::new();
    for model in graph.wholes().iter().filter_map(|id| graph.model(id)) {
        if models.iter().all(|known| **known != **model) {
            models.push(model);
        }
    }
    // A machine may mix models: the profile need not exist in all of them, but where it does it
    // must mean the same.
    let (found, unknown): (Vec<_>, Vec<_>) = models
        .iter()
        .map(|model| model.find(word).map(|profile| exactly(model, profile)))
        .partition(Result::is_ok);
    let mut demands: Vec<Demand> = found.into_iter().flatten().collect();
    // Two unequal demands are an error below, so it is enough to drop equal neighbours.
    demands.dedup();
    let place = format_args!("slice `{word}`");
    match (
        demands.as_slice(),
        unknown.into_iter().find_map(Result::err),
    ) {
        ([demand], _) => Ok(*demand),
        ([], Some(unknown)) => Err(Error::at(place, unknown)),
        ([], None) => Err(Error::at(
            place,
            "no device of this machine supports MIG: expected --mig GPU, or `mig` in the machine file",
        )),
        _ => Err(Error::at(
            place,
            "its size differs between the devices of this machine: expected a profile of one size",
        )),
    }
}

/// A demand for an instance of the profile's size; or for the profile itself, if an earlier profile
/// has the same size.
fn exactly(model: &Model, profile: ProfileId) -> Demand {
    let size = model.profile(profile).size;
    // Any profile of the size will do, so that more instances fit. Only the name of a further profile, such as one
    // with media engines, asks for that one.
    let first = model.profiles().iter().position(|other| other.size == size);
    if first == Some(usize::from(profile.0)) {
        Demand::slice(size)
    } else {
        Demand::profile(profile)
    }
}

/// What each rank requests, with what it uses of that.
///
/// # Errors
///
/// If a number is out of range, or if memory is given and the machine has none on record.
fn demand(spec: &JobSpec, graph: &HardwareGraph) -> Result<Demand, Error> {
    let wants = slice(spec.slice.as_deref(), graph)?;
    let mut demand = wants.warps(spec.warps.unwrap_or_default());
    if let Some(gib) = spec.memory {
        demand = demand.memory((positive("--memory", gib)? * f64::from(1 << 30)) as u64);
        // Without memory on record every demand would be infeasible, which would hide the cause.
        let mut devices = graph.devices().iter();
        if devices.all(|device| device.memory_bytes.is_none()) {
            return Err(Error::malformed(
                "--memory: the machine's description does not say how much memory its devices have",
            ));
        }
    }
    if let Some(gbps) = spec.pcie_traffic {
        demand = demand.pcie_gbps(positive("--pcie-traffic", gbps)?);
    }
    Ok(if spec.shared { demand.shared() } else { demand })
}

fn positive(option: &str, value: f64) -> Result<f64, Error> {
    // NaN fails both comparisons.
    if value > 0.0 && value <= 1e6 {
        return Ok(value);
    }
    Err(Error::malformed(format_args!(
        "{option} {value}: expected a positive number, at most 1e6"
    )))
}

/// The devices that a list names.
///
/// # Errors
///
/// If a name or an id is unknown.
pub fn devices(list: &[DeviceName], graph: &HardwareGraph) -> Result<DeviceSet, Error> {
    let mut set = DeviceSet::new();
    for name in list {
        if let Some(id) = name.find(graph)? {
            set.insert(id);
        }
    }
    Ok(set)
}

/// The worst class of link that edges may use; any, if none is named.
pub fn min_link(word: Option<&str>) -> Result<LinkClass, Error> {
    word.map_or(Ok(LinkClass::None), |word| {
        Labels::default().parse(word).map_err(Error::malformed)
    })
}

/// The idle machine with these devices and instances in use. A partitioned device stands for all
/// its instances.
///
/// # Errors
///
/// If a name is unknown, or if the device or instance does not exist under the current layout.
pub fn with_busy(idle: &Allocator, list: &[DeviceName]) -> Result<Allocator, Error> {
    let graph = idle.graph();
    let view = idle.view();
    let mut busy = DeviceSet::new();
    for id in devices(list, graph)?.iter() {
        let there = &graph.with_parts(&[id.0].into()) & view.present();
        if there.is_empty() {
            let device = graph.device(id);
            let (name, whole) = (&device.name, &graph.device(device.parent).name);
            let layout = graph
                .model(device.parent)
                .map(|model| model.print(&view.layout_of(device.parent)))
                .unwrap_or_default();
            return Err(Error::malformed(format_args!(
                "--busy {name}: not in the layout of {whole}, which is {layout}: expected a device or instance of \
                 that layout"
            )));
        }
        busy.extend(there.iter());
    }
    let mut state = idle.clone();
    // A request for no device is malformed.
    if !busy.is_empty() {
        let tenants = Request::new(Pattern::independent(busy.len()).each(Demand::any()));
        state.commit(Decision::of_use("busy", &tenants, &view, busy.iter())?)?;
    }
    Ok(state)
}
