//! The application graph of a whole program: how many ranks it has, its parallel settings, and the
//! union of its calls' graphs.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{Parallelism, Pattern};

use super::axis::Axis;
use super::edges::{CallContext, CallOutcome, CallShape, EdgeSet};
use super::expr::{Expr, Language};
use super::judge::verdict;
use super::kinds::{Communication, Role, SourceCall};
use super::program::{CodePlace, SourceProgram};
use super::scan::Source;
use super::value::{Evaluator, SourceValue, neighbour};
use crate::algorithm::Algorithm;
use crate::application::{Application, Note};
use crate::error::Error;

/// Steps of evaluation for a whole program; calls beyond are undecided.
const FUEL: u32 = 50_000_000;

/// The application graph of a program, and the part of each call in it.
///
/// Needs the feature `source`, on by default.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Proposal {
    /// The union of the graphs of all calls, with traffic 1 on each edge; all-to-all if some call
    /// could not be decided.
    pub application: Application,
    /// The decision on each of [`Source::findings`], in the same order.
    pub decisions: Vec<Decision>,
}

/// The decision on a call.
///
/// Needs the feature `source`, on by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the call could be decided.
    pub is_decided: bool,
    /// The graph of the call, or the reason why it has none: `ring`, `0-1`, `undecided: ..`.
    pub what: String,
}

/// Numbers of ranks and degrees in the program, each with its first place.
#[derive(Default)]
struct StatedDegrees {
    ranks: BTreeMap<usize, String>,
    degrees: BTreeMap<Axis, BTreeMap<usize, String>>,
    defaults: BTreeMap<Axis, BTreeMap<usize, String>>,
    /// Dimensions whose degree the program sets to an unknown value.
    open: BTreeMap<Axis, String>,
    meshes: Vec<Mesh>,
    notes: Vec<Note>,
}

struct Mesh {
    extents: Vec<i64>,
    names: Vec<String>,
    place: String,
}

impl Source {
    /// The application graph: the union of the graphs of all calls, with traffic 1 on each edge.
    /// Without `ranks`, the number of ranks follows from constants in the program.
    ///
    /// # Errors
    /// No number of ranks, neither given nor in the program; 0 ranks, or more than
    /// [`MAX_DEVICES`](mapa_core::MAX_DEVICES); no call found.
    ///
    /// # Complexity
    /// O(c r) evaluations for c calls and r ranks, each bounded; at most 50 million steps in all.
    /// Calls beyond that limit are undecided.
    pub fn propose(&self, ranks: Option<usize>, algorithm: Algorithm) -> Result<Proposal, Error> {
        if self.findings.is_empty() {
            let files = self.programs.len();
            let why: Vec<_> = self
                .notes
                .iter()
                .take(3)
                .map(|note| format!("; {}: {}", note.place, note.what))
                .collect();
            return Err(Error::new(format!(
                "no known call in {files} source file{}: expected calls of NCCL, CUDA, MPI, torch.distributed or Horovod, or \
             settings of DeepSpeed, Megatron or vLLM{}",
                if files == 1 { "" } else { "s" },
                why.concat()
            )));
        }
        let mut settings = StatedDegrees::of(self);
        let degrees = settings.settle();
        let ranks = settings.count(self, ranks, &degrees)?;
        Pattern::from_edges(ranks, [])?;
        let is_bare = self
            .findings
            .iter()
            .all(|finding| finding.kind == Communication::Ranks);
        let is_script = |program: &SourceProgram| program.language == Language::Shell;
        let mut union = Union {
            ranks,
            pattern: Pattern::independent(ranks),
            is_open: self.is_partial,
            notes: Vec::new(),
        };
        if is_bare && self.programs.iter().any(is_script) {
            let what = "ranks are started, but no call by which they communicate was found";
            union.undecided(what.to_owned(), "");
        }
        let job = union.job(&degrees, &settings);
        let has_groups = union.meshes(&settings) | job.is_some();
        let decisions = union.calls(self, algorithm, has_groups, job.is_some());
        union.finish(self, job, settings, decisions)
    }
}

impl StatedDegrees {
    fn of(source: &Source) -> Self {
        let mut settings = Self::default();
        for (program, site, call, finding) in source.calls() {
            let evaluator = Evaluator::new(program, None);
            let number = |value| {
                let value = evaluator.int(value, site.place)?;
                usize::try_from(value).ok().filter(|value| *value > 0)
            };
            let place = finding.place();
            match &call.role {
                Role::Ranks(value) => {
                    if let Some(ranks) = number(value) {
                        settings.ranks.entry(ranks).or_insert(place);
                    }
                }
                Role::Degrees(degrees, is_default) => {
                    for (axis, value) in degrees {
                        match number(value) {
                            Some(ranks) if *axis == Axis::Ranks => {
                                settings.ranks.entry(ranks).or_insert_with(|| place.clone());
                            }
                            Some(degree) => {
                                let known = if *is_default {
                                    &mut settings.defaults
                                } else {
                                    &mut settings.degrees
                                };
                                known
                                    .entry(*axis)
                                    .or_default()
                                    .entry(degree)
                                    .or_insert_with(|| place.clone());
                            }
                            None if *axis != Axis::Ranks => {
                                settings.open.entry(*axis).or_insert_with(|| place.clone());
                            }
                            None => {}
                        }
                    }
                }
                Role::Mesh { shape, names } => {
                    settings.mesh(&evaluator, site.place, (shape, names.as_ref()), place)
                }
                Role::Grid(grid) => {
                    if let Some(SourceValue::Grid(extents, _)) = evaluator.any(grid, site.place)
                        && let Some(ranks) = product(&extents)
                    {
                        settings.ranks.entry(ranks).or_insert(place);
                    }
                }
                _ => {}
            }
        }
        settings
    }

    fn mesh(
        &mut self,
        evaluator: &Evaluator<'_>,
        at: CodePlace,
        (shape, names): (&Expr, Option<&Expr>),
        place: String,
    ) {
        let list = |expr| match evaluator.any(expr, at) {
            Some(SourceValue::List(values)) => values,
            _ => Vec::new(),
        };
        let extents: Option<Vec<i64>> = list(shape).iter().map(SourceValue::int).collect();
        let names: Vec<String> = names
            .map(list)
            .unwrap_or_default()
            .into_iter()
            .map(|name| match name {
                SourceValue::Text(name) => name,
                _ => String::new(),
            })
            .collect();
        let Some(extents) = extents.filter(|extents| !extents.is_empty()) else {
            // `meshes` takes a mesh with one axis and unknown extents, such as `(world_size,)`, to
            // have all ranks. Other meshes with unknown extents stay undecided.
            self.meshes.push(Mesh {
                extents: Vec::new(),
                names,
                place,
            });
            return;
        };
        if let Some(ranks) = product(&extents) {
            self.ranks.entry(ranks).or_insert_with(|| place.clone());
        }
        self.meshes.push(Mesh {
            extents,
            names,
            place,
        });
    }

    /// The degree of each dimension that has exactly one: that set by calls and launchers, else the
    /// default of an option.
    fn settle(&mut self) -> BTreeMap<Axis, usize> {
        let mut settled = BTreeMap::new();
        for axis in [
            Axis::Tensor,
            Axis::Pipeline,
            Axis::Data,
            Axis::Context,
            Axis::Expert,
        ] {
            let explicit = self.degrees.get(&axis);
            let Some(known) = explicit.or_else(|| self.defaults.get(&axis)) else {
                continue;
            };
            if known.len() > 1 {
                let all: Vec<_> = known
                    .iter()
                    .map(|(degree, place)| format!("{degree} ({place})"))
                    .collect();
                let what = format!(
                    "{}: {}: it is not known which one applies",
                    axis.name(),
                    all.join(", ")
                );
                self.notes.push(Note::undecided(what));
                self.open.entry(axis).or_default();
                continue;
            }
            if let Some((degree, place)) = known.iter().next() {
                if explicit.is_none() {
                    let what = format!(
                        "{}={degree}, the default: nothing overrides it",
                        axis.name()
                    );
                    self.notes.push(Note::assumed(what).at(place.as_str()));
                }
                // A place that only passes the degree on does not make it unknown.
                self.open.remove(&axis);
                settled.insert(axis, *degree);
            }
        }
        for (axis, place) in &self.open {
            if !place.is_empty() {
                let what = format!("{}: its degree is not known", axis.name());
                self.notes.push(Note::undecided(what).at(place.as_str()));
            }
        }
        settled
    }

    /// The number of ranks: the requested one, else the one that the program sets.
    fn count(
        &mut self,
        source: &Source,
        asked: Option<usize>,
        degrees: &BTreeMap<Axis, usize>,
    ) -> Result<usize, Error> {
        if asked == Some(0) {
            return Err(Error::new("0 ranks: expected at least 1"));
        }
        let others: Vec<_> = self
            .ranks
            .iter()
            .map(|(ranks, place)| format!("{ranks} ({place})"))
            .collect();
        match asked {
            Some(ranks) if !self.ranks.is_empty() && !self.ranks.contains_key(&ranks) => {
                let what = format!(
                    "{ranks} ranks, as requested; the program has {}",
                    others.join(", ")
                );
                self.notes.push(Note::assumed(what));
            }
            None if self.ranks.len() > 1 => {
                self.notes.push(Note::assumed(format!(
                    "the largest of several numbers of ranks: {}",
                    others.join(", ")
                )));
            }
            _ => {}
        }
        let degrees = (!degrees.is_empty()).then(|| degrees.values().product());
        let found = self.ranks.keys().next_back().copied().or(degrees);
        let most = || Some(devices(source).into_iter().next_back()? + 1);
        asked.or(found).or_else(most).ok_or_else(|| {
            Error::new("the source does not say how many ranks there are: expected their number (--gpus K)")
        })
    }
}

/// The devices that copies name by constant numbers.
fn devices(source: &Source) -> BTreeSet<usize> {
    let mut devices = BTreeSet::new();
    for (program, site, call, _) in source.calls() {
        let evaluator = Evaluator::new(program, None);
        if let Role::Devices(from, to) = &call.role {
            let known = [from, to].map(|device| evaluator.int(device, site.place));
            devices.extend(
                known
                    .into_iter()
                    .flatten()
                    .filter_map(|device| usize::try_from(device).ok()),
            );
        }
    }
    devices
}

fn product(extents: &[i64]) -> Option<usize> {
    let all = extents.iter().try_fold(1_i64, |all, extent| {
        all.checked_mul(*extent).filter(|all| *all > 0)
    })?;
    usize::try_from(all).ok()
}

/// The application graph while calls are added to it.
struct Union {
    ranks: usize,
    pattern: Pattern,
    /// Whether something could not be decided.
    is_open: bool,
    notes: Vec<Note>,
}

impl Union {
    fn add(&mut self, edges: &EdgeSet) {
        let edges = edges.iter().map(|(a, b)| (*a, *b, 1.0));
        // All ends are ranks of the job, so this does not fail.
        if let Ok(pattern) = Pattern::from_edges(self.ranks, edges) {
            self.pattern = self.pattern.union(&pattern);
        }
    }

    fn undecided(&mut self, what: String, place: &str) {
        self.is_open = true;
        self.notes.push(Note::undecided(what).at(place));
    }

    /// The training job that the settings describe; none if they describe none. Ranks beyond the
    /// product of the degrees are data parallel.
    fn job(
        &mut self,
        degrees: &BTreeMap<Axis, usize>,
        settings: &StatedDegrees,
    ) -> Option<Parallelism> {
        self.is_open |= !settings.open.is_empty();
        if degrees.is_empty() || !settings.open.is_empty() {
            return None;
        }
        let degree = |axis| degrees.get(&axis).copied().unwrap_or(1);
        let [tensor, pipeline, context, expert] =
            [Axis::Tensor, Axis::Pipeline, Axis::Context, Axis::Expert].map(degree);
        let data = degrees.get(&Axis::Data).copied();
        let others = tensor
            .saturating_mul(pipeline)
            .saturating_mul(context)
            .max(1);
        let data = data.unwrap_or(self.ranks / others).max(1);
        let mut words = format!("tp={tensor},pp={pipeline},dp={data}");
        for (name, degree) in [("cp", context), ("ep", expert)] {
            if degree > 1 {
                words.push_str(&format!(",{name}={degree}"));
            }
        }
        let job = match words.parse::<Parallelism>() {
            Ok(job) => job,
            Err(error) => {
                self.undecided(format!("{words}: {error}"), "");
                return None;
            }
        };
        if job.ranks() != self.ranks {
            self.undecided(format!("{job} is not of {} ranks", self.ranks), "");
            return None;
        }
        let edges: Vec<_> = job
            .pattern()
            .edges()
            .iter()
            .map(|edge| (edge.a, edge.b, 1.0))
            .collect();
        self.pattern = self
            .pattern
            .union(&Pattern::from_edges(self.ranks, edges).ok()?);
        Some(job)
    }

    /// Adds the rings, chains and groups along the axes of meshes. Returns whether there are any.
    fn meshes(&mut self, settings: &StatedDegrees) -> bool {
        let mut has_any = false;
        for mesh in &settings.meshes {
            let extents = match mesh.extents.is_empty() && mesh.names.len() <= 1 {
                true => vec![self.ranks as i64],
                false => mesh.extents.clone(),
            };
            if product(&extents) != Some(self.ranks) {
                self.undecided(
                    format!(
                        "the extents of the mesh are unknown or do not give {} ranks",
                        self.ranks
                    ),
                    &mesh.place,
                );
                continue;
            }
            has_any = true;
            for dimension in 0..extents.len() {
                let name = mesh
                    .names
                    .get(dimension)
                    .map(|name| name.to_ascii_lowercase());
                let edges = along(&extents, dimension, Axes::of(name.as_deref()));
                self.pattern = self
                    .pattern
                    .union(&Pattern::from_edges(self.ranks, edges).unwrap_or(self.pattern.clone()));
            }
        }
        has_any
    }

    fn calls(
        &mut self,
        source: &Source,
        algorithm: Algorithm,
        has_groups: bool,
        has_job: bool,
    ) -> Vec<Decision> {
        let mut fuel = FUEL;
        let has_open = self.is_open;
        let mut shapes: Vec<CallShape> = Vec::new();
        let is_sent = source.calls().any(|(_, _, call, _)| {
            matches!(call.kind, Communication::Send | Communication::SendReceive)
        });
        let mut decisions = Vec::new();
        for (program, site, call, finding) in source.calls() {
            let mut work = CallContext {
                program,
                site,
                ranks: self.ranks,
                algorithm,
                fuel,
            };
            let outcome = work.outcome(call);
            fuel = work.fuel;
            let outcome = match outcome {
                CallOutcome::Copies if has_groups => {
                    CallOutcome::Nothing("replicas, as the settings say")
                }
                CallOutcome::Copies => {
                    let shape = CallShape::AllReduce(algorithm);
                    CallOutcome::Shape(shape.name(), shape)
                }
                CallOutcome::Group if has_groups && has_open => {
                    CallOutcome::Nothing("within groups, of which not all are known")
                }
                CallOutcome::Group if has_groups => {
                    CallOutcome::Nothing("within the groups that the settings define")
                }
                CallOutcome::Group => {
                    CallOutcome::Undecided("which ranks are in its group is not known".to_owned())
                }
                CallOutcome::Senders if is_sent => {
                    CallOutcome::Nothing("from any source: the senders decide")
                }
                CallOutcome::Senders => {
                    CallOutcome::Undecided("from any source, but no call sends".to_owned())
                }
                other => other,
            };
            let (is_decided, what) = match outcome {
                CallOutcome::Shape(name, shape) => {
                    if !shapes.contains(&shape) {
                        shapes.push(shape);
                        self.pattern = self.pattern.union(&shape.pattern(self.ranks));
                    }
                    (true, name)
                }
                CallOutcome::Pairs(pairs) => {
                    self.add(&pairs);
                    (true, printed(&pairs))
                }
                CallOutcome::Undecided(why) => {
                    self.undecided(format!("{}: {why}", finding.call), &finding.place());
                    (false, format!("undecided: {why}"))
                }
                CallOutcome::Outside(rank) => {
                    let what = format!("rank {rank} is not one of {} ranks", self.ranks);
                    self.notes.push(
                        Note::left_out(format!("{}: {what}", finding.call)).at(finding.place()),
                    );
                    (true, what)
                }
                CallOutcome::Nothing(why) => {
                    (true, setting(call, has_job).unwrap_or(why).to_owned())
                }
                CallOutcome::Copies | CallOutcome::Group | CallOutcome::Senders => {
                    (true, String::new())
                }
            };
            decisions.push(Decision { is_decided, what });
        }
        decisions
    }

    fn finish(
        mut self,
        source: &Source,
        job: Option<Parallelism>,
        settings: StatedDegrees,
        decisions: Vec<Decision>,
    ) -> Result<Proposal, Error> {
        if self.is_open {
            self.pattern = self.pattern.union(&Pattern::all_to_all(self.ranks));
            self.notes.push(Note::assumed(
                "all-to-all, because not everything could be decided",
            ));
        }
        let files = source.programs.len();
        let counted =
            |many: usize, one: &str| format!("{many} {one}{}", if many == 1 { "" } else { "s" });
        let what = format!(
            "{} in {}",
            counted(source.findings.len(), "call"),
            counted(files, "source file")
        );
        let is_job_alone = |job: &Parallelism| {
            let own = job.pattern();
            let ends = |pattern: &Pattern| {
                let mut ends: Vec<_> = pattern
                    .edges()
                    .iter()
                    .map(|edge| (edge.a, edge.b))
                    .collect();
                ends.sort_unstable();
                ends
            };
            ends(&own) == ends(&self.pattern)
        };
        let name = job
            .filter(|_| !self.is_open)
            .map_or_else(|| "source".to_owned(), |job| job.to_string());
        let mut application = match job.filter(is_job_alone) {
            Some(job) => {
                let what = "bytes a step in the shares of published training runs: the source does not say";
                self.notes.push(Note::assumed(what));
                Application::from(job)
            }
            None => Application::new("source", "", self.pattern),
        };
        (application.name, application.source) = (name, what);
        application.verdict = verdict(source, self.ranks);
        application.notes = source
            .notes
            .iter()
            .cloned()
            .chain(settings.notes)
            .chain(self.notes)
            .collect();
        Ok(Proposal {
            application,
            decisions,
        })
    }
}

/// The decision on a setting.
fn setting(call: &SourceCall, has_job: bool) -> Option<&'static str> {
    match &call.role {
        Role::Degrees(degrees, _) if degrees.iter().all(|(axis, _)| *axis == Axis::Ranks) => {
            Some("sets the number of ranks")
        }
        Role::Degrees(..) if has_job => Some("part of the degrees"),
        Role::Degrees(..) => Some("undecided: see the notes"),
        Role::Mesh { .. } => Some("rings and chains along its axes"),
        _ => None,
    }
}

/// How ranks along one axis of a mesh communicate.
#[derive(Clone, Copy)]
enum Axes {
    Ring,
    Chain,
    AllToAll,
}

impl Axes {
    /// The communication along an axis with this conventional name. An unknown name means
    /// all-to-all.
    fn of(name: Option<&str>) -> Self {
        const RINGS: [&str; 12] = [
            "tp",
            "dp",
            "cp",
            "sp",
            "fsdp",
            "shard",
            "replicate",
            "tensor",
            "data",
            "model",
            "hsdp",
            "tensor_parallel",
        ];
        match name {
            None => Self::Ring,
            Some(name)
                if name.starts_with("pp")
                    || name.starts_with("pipe")
                    || name.starts_with("stage") =>
            {
                Self::Chain
            }
            Some(name)
                if RINGS
                    .iter()
                    .any(|ring| name.starts_with(ring) || name.ends_with(ring)) =>
            {
                Self::Ring
            }
            Some(_) => Self::AllToAll,
        }
    }
}

/// The edges along one axis of a mesh whose ranks are numbered with the last axis fastest.
fn along(extents: &[i64], dimension: usize, axes: Axes) -> Vec<(u16, u16, f64)> {
    let Some(ranks) = product(extents) else {
        return Vec::new();
    };
    let extent = extents.get(dimension).copied().unwrap_or(1);
    let closed = vec![matches!(axes, Axes::Ring) && extent > 1; extents.len()];
    let steps = if matches!(axes, Axes::AllToAll) {
        1..extent
    } else {
        1..2
    };
    let to = |rank: i64, by: i64| neighbour(extents, &closed, rank, dimension, by)?.rank();
    let edges = (0..ranks as i64).flat_map(|rank| {
        steps
            .clone()
            .filter_map(move |by| Some((rank, to(rank, by)?)))
    });
    edges
        .filter(|(a, b)| a != b)
        .map(|(a, b)| (a as u16, b as u16, 1.0))
        .collect()
}

/// The first few pairs as text: `0-1, 1-2`.
fn printed(pairs: &EdgeSet) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<_> = pairs
        .iter()
        .take(SHOWN)
        .map(|(a, b)| format!("{a}-{b}"))
        .collect();
    match pairs.len() {
        0 => "no edge among these ranks".to_owned(),
        many if many > SHOWN => format!("{}, .. ({many} edges)", shown.join(", ")),
        _ => shown.join(", "),
    }
}

impl CallShape {
    fn pattern(self, ranks: usize) -> Pattern {
        let rooted = |pattern: Pattern, root: usize| {
            let of = |rank: u16| ((usize::from(rank) + root) % ranks) as u16;
            let edges = pattern
                .edges()
                .iter()
                .map(|edge| (of(edge.a), of(edge.b), 1.0));
            Pattern::from_edges(ranks, edges).unwrap_or(pattern.clone())
        };
        match self {
            Self::AllReduce(Algorithm::Ring) | Self::Ring => Pattern::ring(ranks),
            Self::AllReduce(Algorithm::Tree) => Pattern::binary_tree(ranks),
            Self::AllReduce(Algorithm::Both) => Pattern::ring_tree(ranks),
            Self::Chain => Pattern::chain(ranks),
            Self::AllToAll => Pattern::all_to_all(ranks),
            Self::Tree(root) => rooted(Pattern::binary_tree(ranks), root),
            Self::Star(root) => rooted(Pattern::star(ranks), root),
        }
    }
}
