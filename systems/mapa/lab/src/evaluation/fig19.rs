//! Fig. 19: how long a decision takes on an idle machine, in wall-clock time.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mapa_core::{Census, Coefficients, HardwareGraph, Pattern, Policy, Request, Tiers, preserve};
use mapa_lab::progress::Progress;
use serde::Serialize;

use super::setting::NamedMachine;
use mapa_front::Error;
use mapa_front::text::seconds;
use mapa_lab::claim::Claim;
use mapa_lab::picture::{Heights, NamedCurve, lines};
use mapa_lab::plan::Plan;
use mapa_lab::report::Section;

const MACHINES: [NamedMachine; 4] = [
    NamedMachine::new("summit"),
    NamedMachine::DGX,
    NamedMachine::new("torus-2d"),
    NamedMachine::new("cube-mesh-16"),
];

/// CPU seconds of the released program (tag sc21-final) for one sensitive job on an idle machine:
/// number of GPUs, time on a DGX-1V, time on the torus. The start of the process is included. Timed
/// once on a shared two-core server; this command does not time it. The released program keeps
/// every rank order of every set, so eight GPUs would not fit in memory.
const RELEASED: [(usize, Option<f64>, Option<f64>); 6] = [
    (2, Some(0.008), Some(0.010)),
    (3, Some(0.003), Some(0.018)),
    (4, Some(0.008), Some(0.450)),
    (5, Some(0.174), Some(15.7)),
    (6, Some(1.82), None),
    (7, Some(12.7), None),
];

/// Repetitions on a new machine each, of which the median counts.
const COLD: usize = 9;
/// Repetitions on a machine whose tables are built, of which the median counts.
const WARM: usize = 301;
/// No repetition starts after this time, except the first three.
const PATIENCE: Duration = Duration::from_millis(1500);

fn request(size: usize, sensitive: bool) -> Request {
    Request::new(Pattern::ring(size)).sensitive(sensitive)
}

/// Measures a decision, in seconds.
fn timed(policy: &impl Policy, request: &Request, graph: &HardwareGraph) -> f64 {
    let all = graph.all();
    let view = graph.with_free(&all);
    let start = Instant::now();
    let decision = policy.decide(black_box(request), &view);
    let took = start.elapsed().as_secs_f64();
    let _ = black_box(decision);
    took
}

/// The median of repeated measurements.
fn median(repeats: usize, mut one: impl FnMut() -> Result<f64, Error>) -> Result<f64, Error> {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < repeats && (times.len() < 3 || start.elapsed() < PATIENCE) {
        times.push(one()?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// The times of one machine and size.
struct SizePoint {
    machine: usize,
    size: usize,
    /// Seconds on a new machine: sensitive, not sensitive.
    cold: [f64; 2],
    /// Seconds on a machine whose tables are built: sensitive, not sensitive.
    warm: [f64; 2],
}

fn point(machine: usize, size: usize, graph: &HardwareGraph) -> Result<SizePoint, Error> {
    let policy = preserve();
    let mut point = SizePoint {
        machine,
        size,
        cold: [0.0; 2],
        warm: [0.0; 2],
    };
    for (at, sensitive) in [true, false].into_iter().enumerate() {
        let request = request(size, sensitive);
        point.cold[at] = median(COLD, || {
            Ok(timed(&policy, &request, &*MACHINES[machine].graph()?))
        })?;
        // The first decision builds the tables.
        timed(&policy, &request, graph);
        point.warm[at] = median(WARM, || Ok(timed(&policy, &request, graph)))?;
    }
    Ok(point)
}

/// Measures all machines and sizes.
fn measured(bar: &dyn Progress) -> Result<Vec<SizePoint>, Error> {
    bar.doing("decisions by the clock");
    let mut points = Vec::new();
    for (machine, candidate) in MACHINES.into_iter().enumerate() {
        let graph = candidate.graph()?;
        bar.more(graph.len() as u64 - 1);
        for size in 2..=graph.len() {
            points.push(point(machine, size, &graph)?);
            bar.done();
        }
    }
    Ok(points)
}

/// "In the order of milliseconds": the longest that was measured.
fn overhead(points: &[SizePoint]) -> [Claim; 2] {
    let warm = points.iter().flat_map(|it| it.warm).fold(0.0, f64::max);
    let cold = points.iter().flat_map(|it| it.cold).fold(0.0, f64::max);
    [
        (
            "a decision takes milliseconds on 6, 8 and 16 GPUs (idle, one thread): all but the first on a machine",
            warm,
        ),
        (
            "the first on a machine, which works out tables, does too",
            cold,
        ),
    ]
    .map(|(what, worst)| {
        let ours = format!("at most {} ms, sensitive or not", ms(worst));
        Claim::new(what, "order of ms", &[6]).timed(ours)
    })
}

pub(super) fn section(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    let points = measured(bar)?;
    let threads = threads(plan)?;
    let built = if cfg!(debug_assertions) {
        "without optimisation (a debug build)"
    } else {
        "with optimisation"
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let mut section = Section::new("fig-19", "Fig. 19: overhead per decision")
        .claims(overhead(&points))
        .claims([growth(&points)])
        .text(format!(
            "Preserve, a ring on an idle machine, milliseconds for each decision, medians, one thread; by a program built \
             {built}, on a machine of {cores} cores that others use too. First: on a new machine, whose tables of reachable link counts \
             are not built yet ({COLD} times). Again: with these tables ({WARM} times). Released: CPU time of the released program with \
             the start of its process, timed once on another machine. This command does not time it, and beyond seven GPUs it was not run. \
             Times of one machine on one day have no verdict."
        ));
    for (class, words) in CLASSES.into_iter().enumerate() {
        section = section
            .text(format!("{words} jobs:"))
            .table(header(class), rows(&points, class));
        let shows = format!(
            "Time per decision by number of GPUs, {} jobs, as Fig. 19",
            words.to_lowercase()
        );
        section = section.picture(FILES[class], picture(&points, class), shows);
    }
    section = section.text(threads_words(&threads));
    let cells = threads.iter().map(Threads::cells).collect();
    section = section.table(
        ["what", "1 thread", "threads", "that many", "speedup"],
        cells,
    );
    section.timed = true;
    let numbers: Vec<PointTimes> = points.iter().map(PointTimes::new).collect();
    Ok(section
        .numbers("cores", cores)
        .numbers("built", built)
        .numbers("seconds", numbers)
        .numbers("threads", threads))
}

/// The times of a point.
#[derive(Serialize)]
struct PointTimes {
    machine: &'static str,
    gpus: usize,
    first: ByClass,
    again: ByClass,
}

/// Seconds by class of job.
#[derive(Serialize)]
struct ByClass {
    sensitive: f64,
    insensitive: f64,
}

impl PointTimes {
    fn new(point: &SizePoint) -> Self {
        let by_class = |[sensitive, insensitive]: [f64; 2]| ByClass {
            sensitive,
            insensitive,
        };
        Self {
            machine: MACHINES[point.machine].name,
            gpus: point.size,
            first: by_class(point.cold),
            again: by_class(point.warm),
        }
    }
}

/// Classes of jobs, in the order of a point's times.
const CLASSES: [&str; 2] = ["Sensitive", "Insensitive"];
const FILES: [&str; 2] = ["fig-19.svg", "fig-19-insensitive.svg"];

/// Draws milliseconds over sizes, for the first decision on a machine and for later ones.
fn picture(points: &[SizePoint], class: usize) -> String {
    let colours = ["#a6a6a6", "#2fae86", "#4a9fe0", "#cc79a7"];
    let mut curves = Vec::new();
    for (machine, colour) in colours.into_iter().enumerate() {
        let own = points.iter().filter(|it| it.machine == machine);
        let name = MACHINES[machine].name;
        curves.push(NamedCurve {
            name: format!("{name}, first"),
            colour,
            dashed: false,
            points: own
                .clone()
                .map(|it| (it.size as f64, 1e3 * it.cold[class]))
                .collect(),
        });
        curves.push(NamedCurve {
            name: format!("{name}, again"),
            colour,
            dashed: true,
            points: own
                .map(|it| (it.size as f64, 1e3 * it.warm[class]))
                .collect(),
        });
    }
    let title = format!(
        "One decision on an idle machine, preserve, {} jobs",
        CLASSES[class].to_lowercase()
    );
    lines(curves, Heights::Log, &title, "GPUs wanted", "time, ms")
}

/// Formats seconds as milliseconds.
fn ms(time: f64) -> String {
    seconds(time * 1e3)
}

/// The header of the table of a class. The released program was timed on sensitive jobs only.
fn header(class: usize) -> Vec<String> {
    let machines = MACHINES.map(|machine| {
        [
            format!("{}, first", machine.name),
            format!("{}, again", machine.name),
        ]
    });
    let released = ["dgx-1v, released", "torus-2d, released"]
        .map(str::to_owned)
        .into_iter()
        .filter(|_| class == 0);
    std::iter::once("GPUs".to_owned())
        .chain(machines.into_iter().flatten())
        .chain(released)
        .collect()
}

/// One row for each size, under [`header`].
fn rows(points: &[SizePoint], class: usize) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for size in 2..=16 {
        let mut row = vec![size.to_string()];
        for machine in 0..MACHINES.len() {
            let point = points
                .iter()
                .find(|it| it.machine == machine && it.size == size);
            // Small machines have no large sizes.
            row.extend(point.map_or_else(Default::default, |it| {
                [ms(it.cold[class]), ms(it.warm[class])]
            }));
        }
        if class == 0 {
            let released = RELEASED.iter().find(|(candidate, ..)| *candidate == size);
            let times = released.map_or([None; 2], |&(_, dgx, torus)| [dgx, torus]);
            row.extend(times.map(|time| time.map(ms).unwrap_or_default()));
        }
        rows.push(row);
    }
    rows
}

/// "Increases modestly for larger job sizes (9 GPUs and above)" on sixteen.
fn growth(points: &[SizePoint]) -> Claim {
    let [two, small, large] = [2..=2, 2..=8, 9..=16].map(|sizes| {
        points
            .iter()
            .filter(|it| it.machine >= 2 && sizes.contains(&it.size))
            .flat_map(|it| it.cold)
            .fold(0.0, f64::max)
    });
    let ours = format!(
        "first decisions, the longest: {} ms at 9 to 16 GPUs, {:.1} times the {} ms of 2 to 8; growth lies before: {:.0} \
         times from 2 GPUs ({} ms) to the longest up to 8",
        ms(large),
        large / small,
        ms(small),
        small / two,
        ms(two)
    );
    let claim = Claim::new(
        "overhead grows modestly from 9 GPUs on, on 16",
        "a curve without numbers",
        &[6],
    );
    claim.timed(ours)
}

/// Seconds by one thread and by several.
#[derive(Serialize)]
struct Threads {
    what: String,
    one: f64,
    threads: usize,
    many: f64,
}

impl Threads {
    fn cells(&self) -> Vec<String> {
        let speedup = format!("{:.2}", self.one / self.many);
        vec![
            self.what.clone(),
            ms(self.one),
            self.threads.to_string(),
            ms(self.many),
            speedup,
        ]
    }
}

/// Explains the table of threads, and names where several threads are slower than one.
fn threads_words(all: &[Threads]) -> String {
    let slower: Vec<String> = all
        .iter()
        .filter(|threads| threads.many > threads.one)
        .map(|threads| {
            format!(
                "\"{}\" is slower by {} threads than by one, {:.2} times",
                threads.what,
                threads.threads,
                threads.many / threads.one
            )
        })
        .collect();
    let slower = if slower.is_empty() {
        "None is slower by several threads".to_owned()
    } else {
        slower.join("; ")
    };
    format!(
        "Several threads, milliseconds. Decisions: the time in which all threads made theirs, over the number of decisions; one decision \
         takes as many times longer as there are threads. Searches: the time of one search that threads share. {slower}."
    )
}

/// Compares one thread with several: for decisions at the same time, and for the rings of one
/// search.
fn threads(plan: &Plan) -> Result<Vec<Threads>, Error> {
    // At least two threads, even with `--threads 1`: this table is about several.
    let many = plan.threads.max(2);
    let torus = MACHINES[2].graph()?;
    timed(&preserve(), &request(8, true), &torus);
    let mut all = vec![
        Threads {
            what: "decisions on one machine, ring of 8 of 16, tables there".to_owned(),
            one: at_once(1, 2000, || Ok(torus.clone()))?,
            threads: many,
            many: at_once(many, 2000, || Ok(torus.clone()))?,
        },
        Threads {
            what: "first decisions, a machine each, ring of 8 of 16".to_owned(),
            one: at_once(1, 1, || MACHINES[2].graph())?,
            threads: many,
            many: at_once(many, 1, || MACHINES[2].graph())?,
        },
    ];
    for size in [5, 6, 7] {
        all.push(Threads {
            what: format!("one search over all rings of {size} of 16, each scored by Eq. 2"),
            one: median(5, || Ok(scored(&torus, size, 1)))?,
            threads: many,
            many: median(5, || Ok(scored(&torus, size, many)))?,
        });
    }
    Ok(all)
}

/// Measures decisions that several threads make at the same time: the seconds in which each thread
/// makes `each` decisions, over the number of decisions of all threads.
fn at_once(
    threads: usize,
    each: u32,
    machine: impl Fn() -> Result<Arc<HardwareGraph>, Error> + Sync,
) -> Result<f64, Error> {
    let (request, policy) = (request(8, true), preserve());
    median(9, || {
        let graphs: Vec<Arc<HardwareGraph>> =
            (0..threads).map(|_| machine()).collect::<Result<_, _>>()?;
        let start = Instant::now();
        std::thread::scope(|scope| {
            for graph in &graphs {
                let (request, policy) = (&request, &policy);
                scope.spawn(move || (0..each).for_each(|_| _ = timed(policy, request, graph)));
            }
        });
        Ok(start.elapsed().as_secs_f64() / f64::from(each) / threads as f64)
    })
}

/// Measures the seconds to score every ring of a size by Eq. 2 and keep the best, without tables,
/// as the paper does it.
fn scored(graph: &HardwareGraph, size: usize, threads: usize) -> f64 {
    let pattern = Pattern::ring(size);
    let matcher = pattern.matcher();
    let start = Instant::now();
    let best = matcher.on(graph).threads(threads).fold(
        || f64::NEG_INFINITY,
        |best, placement| {
            let links = Census::of(&pattern, placement, graph, &Tiers::PAPER);
            *best = best.max(Coefficients::FULL.predict(&links));
        },
        f64::max,
    );
    black_box(best);
    start.elapsed().as_secs_f64()
}
