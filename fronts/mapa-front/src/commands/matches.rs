//! `match`: the matches of a pattern on a machine, or of one graph in another.

use std::num::NonZeroUsize;

use mapa_core::{
    Allocator, Edge, Limits, Link, LinkClass, MatchConfig, Pattern, Placement, Refusal, Request,
    Scored, SearchStats, View, max_bandwidth_with,
};
use mapa_topologies::read_graph;
use serde::{Deserialize, Serialize};

use crate::answer::matches::{Count, MatchesInGraph, MatchesOnMachine};
use crate::answer::{self, ids, names};
use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::job::Job;
use crate::machine::{Loaded, MachineSpec};
use crate::model::{ModelChoice, choose_model};
use crate::names::{ModelSpec, Names};
use crate::request::{DeviceName, JobSpec, min_link, slice, with_busy};

/// How matches are counted, and how many are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MatchSettings {
    /// Whether only induced matches count: ranks without an edge lie on devices without a link.
    pub induced: bool,
    /// Whether every rank order counts; else orders that differ by a symmetry of the pattern count once.
    pub raw: bool,
    /// How many matches are listed.
    pub list: usize,
    /// The search stops after this many matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The search stops after this many nodes.
    pub max_nodes: u64,
}

impl Default for MatchSettings {
    fn default() -> Self {
        Self {
            induced: false,
            raw: false,
            list: 0,
            limit: None,
            // Counting all matches takes far longer than the choice of one placement, for which `Request::NODES`
            // is meant.
            max_nodes: 1_000_000_000,
        }
    }
}

/// A request for the matches of a job's pattern on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MatchRequest {
    /// The machine. Whoever computes the answer has loaded it by this.
    pub machine: MachineSpec,
    /// The job: its pattern, its number of ranks, the profile of their instances and the worst class of link that its
    /// edges may use count here.
    pub job: JobSpec,
    /// Devices and instances in use.
    pub busy: Vec<DeviceName>,
    /// How matches are counted.
    pub settings: MatchSettings,
    /// How many threads count. The number does not change the count.
    pub threads: NonZeroUsize,
    /// How many of the best sets of devices are listed, with the best match on each, by the bandwidth of the model.
    pub top: usize,
    /// The model of bandwidth: if absent, that by which `allocate` reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
}

impl Default for MatchRequest {
    fn default() -> Self {
        Self {
            machine: MachineSpec::default(),
            job: JobSpec::default(),
            busy: Vec::new(),
            settings: MatchSettings::default(),
            threads: NonZeroUsize::MIN,
            top: 0,
            model: None,
        }
    }
}

/// A request for the matches of one graph in another, both from files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct GraphMatchRequest {
    /// The file of the graph that is sought.
    pub pattern: String,
    /// The file of the graph in which it is sought.
    pub target: String,
    /// How matches are counted.
    pub settings: MatchSettings,
}

/// The matches of a job's pattern on a machine.
pub struct MatchOutcome {
    /// The job, with the contents of its pattern file if it has one.
    pub job: Job,
    /// The pattern with what each rank demands.
    pub pattern: Pattern,
    /// The machine with the devices in use.
    pub state: Allocator,
    /// How many matches there are, and how the search ended.
    pub stats: SearchStats,
    /// The first matches, in the order of ranks.
    pub listed: Vec<Placement>,
    /// The best match on each of the best sets of devices.
    pub top: Vec<Scored>,
    /// Whether the search for these ended.
    pub is_top_complete: bool,
    /// The model by which these are the best.
    pub model_choice: ModelChoice,
}

/// The matches of one graph in another.
pub struct GraphMatchOutcome {
    /// How many matches there are, and how the search ended.
    pub stats: SearchStats,
    /// The first matches: the vertex of each vertex of the pattern.
    pub listed: Vec<Vec<u32>>,
}

/// The matches of a job's pattern on a machine, as `mapa-bench match --json` answers.
///
/// # Errors
/// If the request cannot be read, or names what the machine does not have.
pub fn find_matches(
    names: &Names,
    files: &dyn Files,
    loaded: &Loaded,
    request: &MatchRequest,
) -> Result<MatchesOnMachine, Error> {
    let outcome = request.outcome(names, files, loaded)?;
    Ok(outcome.answer(loaded, request))
}

/// The matches of one graph in another, as `mapa-bench match --pattern-file --target-file --json` answers.
///
/// # Errors
/// If a file cannot be read, or a pattern is too large.
pub fn find_in_graph(
    files: &dyn Files,
    request: &GraphMatchRequest,
) -> Result<MatchesInGraph, Error> {
    Ok(request.outcome(files)?.answer(request))
}

impl MatchSettings {
    fn config(&self) -> MatchConfig {
        MatchConfig::new().distinct(!self.raw).induced(self.induced)
    }

    fn limits(&self) -> Limits {
        Limits::NONE
            .nodes(self.max_nodes)
            .matches(self.limit.unwrap_or(u64::MAX))
    }

    fn count(&self, stats: SearchStats) -> Count {
        Count::new(stats, !self.raw, self.induced)
    }
}

impl MatchRequest {
    /// What the answer is made of.
    ///
    /// # Errors
    /// As [`find_matches`].
    pub fn outcome(
        &self,
        names: &Names,
        files: &dyn Files,
        loaded: &Loaded,
    ) -> Result<MatchOutcome, Error> {
        let (graph, settings) = (loaded.graph(), &self.settings);
        let job = self.job.job(files)?;
        let wanted = job
            .pattern
            .clone()
            .each(slice(self.job.slice.as_deref(), graph)?);
        let state = with_busy(&loaded.idle, &self.busy)?;
        let least = min_link(self.job.min_link.as_deref())?;
        let enough = |_: &Edge, link: Link| link.class >= least;
        let matcher = settings.config().compile(&wanted);
        let mut search = matcher
            .on(graph)
            .within(state.view().free())
            .limits(settings.limits())
            .threads(self.threads.get());
        // A filter on links costs time at each edge, so it is set only where it can exclude one.
        if least > LinkClass::None {
            search = search.links(&enough);
        }
        let stats = search.count();
        // A search prepares its tables before its first match, so one for an empty list is not started.
        let listed = if settings.list == 0 {
            Vec::new()
        } else {
            // The list is in the order of ranks, which is not the order in which counting is fastest.
            let by_rank = settings.config().by_rank(true).compile(&wanted);
            // This search has one thread, whatever the request says: which match several threads find first is a matter
            // of chance.
            let mut in_order = by_rank
                .on(graph)
                .within(state.view().free())
                .limits(settings.limits());
            if least > LinkClass::None {
                in_order = in_order.links(&enough);
            }
            // The search goes on only as far as the list takes matches.
            in_order.iter().take(settings.list).collect()
        };
        let request = Request::new(wanted).min_link(least);
        let pattern = request.pattern.clone();
        let model = self.model.as_ref();
        let model = model
            .map(|spec| spec.load(names, None, files))
            .transpose()?;
        let model_choice = choose_model(model.as_ref(), &pattern, graph);
        let (top, is_top_complete) = self.best(request, &model_choice, &state.view());
        Ok(MatchOutcome {
            model_choice,
            job,
            pattern,
            stats,
            listed,
            top,
            is_top_complete,
            state,
        })
    }

    /// The best match on each of the best sets of devices, and whether the search was complete; no match if the job has
    /// none.
    fn best(&self, request: Request, model: &ModelChoice, view: &View<'_>) -> (Vec<Scored>, bool) {
        // A decision has the best set besides, so the search keeps one set less than are listed.
        let Some(runners_up) = self.top.checked_sub(1) else {
            return (Vec::new(), true);
        };
        let request = request
            .runners_up(runners_up)
            .limits(self.settings.limits());
        // Its runners-up are the next best sets by the same bandwidth.
        let by_bandwidth = max_bandwidth_with(model.objective.clone());
        match view.decide(by_bandwidth, &request) {
            Ok(decision) => {
                let others = decision
                    .runners_up()
                    .iter()
                    .map(|runner_up| runner_up.scored.clone());
                let all = std::iter::once(decision.best().clone()).chain(others);
                (all.collect(), decision.search().complete())
            }
            // Having no match is an answer here, and no error.
            Err(Refusal::Busy(_) | Refusal::Infeasible(_)) => (Vec::new(), true),
            Err(Refusal::LimitReached(_)) => (Vec::new(), false),
        }
    }
}

impl MatchOutcome {
    /// The answer to this request.
    #[must_use]
    pub fn answer(&self, loaded: &Loaded, request: &MatchRequest) -> MatchesOnMachine {
        let graph = loaded.graph();
        let named = |placement: &Placement| {
            let names = names(placement, graph).into_iter();
            names.map(str::to_owned).collect()
        };
        MatchesOnMachine {
            count: request.settings.count(self.stats),
            machine: loaded.machine.name.clone(),
            gpus: self.job.ranks,
            pattern: request.job.pattern.clone(),
            matches: self.listed.iter().map(|placement| ids(placement)).collect(),
            names: self.listed.iter().map(named).collect(),
            top: self
                .top
                .iter()
                .map(|best| answer::Scored::new(best, graph))
                .collect(),
            bandwidth_model: self.model_choice.objective.name().to_owned(),
            top_complete: self.is_top_complete,
        }
    }
}

impl GraphMatchRequest {
    /// What the answer is made of.
    ///
    /// # Errors
    /// As [`find_in_graph`].
    pub fn outcome(&self, files: &dyn Files) -> Result<GraphMatchOutcome, Error> {
        let graph = |file: &str| {
            read_graph(&files.bytes(file, FileKind::Pattern)?)
                .map_err(|error| Error::at(file, error))
        };
        let (wanted, there) = (graph(&self.pattern)?, graph(&self.target)?);
        let matcher = self
            .settings
            .config()
            .compile_graph(&wanted)
            .map_err(|error| Error::at(&self.pattern, error))?;
        let search = matcher.on(&there).limits(self.settings.limits());
        // A search filters the graph before its first match, so one for an empty list is not started.
        let listed = match self.settings.list {
            0 => Vec::new(),
            list => search.iter().take(list).collect(),
        };
        Ok(GraphMatchOutcome {
            stats: search.count(),
            listed,
        })
    }
}

impl GraphMatchOutcome {
    /// The answer to this request.
    #[must_use]
    pub fn answer(&self, request: &GraphMatchRequest) -> MatchesInGraph {
        MatchesInGraph {
            count: request.settings.count(self.stats),
            pattern: request.pattern.clone(),
            target: request.target.clone(),
            matches: self.listed.clone(),
        }
    }
}
