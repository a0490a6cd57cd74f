//! Fig. 19: how long a decision takes on an idle machine, by the clock of the machine that this runs on.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use mapa_core::{Census, Coefficients, HardwareGraph, Pattern, Policy, Request, Tiers, preserve};
use serde_json::{Value, json};

use super::super::Plan;
use super::super::claim::{Claim, Verdict};
use super::super::picture::{Heights, Line, lines};
use super::super::report::Section;
use super::setting::Machine;
use crate::failure::Failure;
use crate::output::seconds;

const MACHINES: [Machine; 4] =
    [Machine::new("summit"), Machine::DGX, Machine::new("torus-2d"), Machine::new("cube-mesh-16")];

/// What the released program (tag sc21-final) took for one sensitive job of so many GPUs on an idle machine, seconds of CPU
/// time with its start, on a shared two-core server, timed once: on a DGX-1V, on the torus. This command does not make them. It
/// keeps every rank order of every set: eight would not fit in memory.
const RELEASED: [(usize, Option<f64>, Option<f64>); 6] = [
    (2, Some(0.008), Some(0.010)),
    (3, Some(0.003), Some(0.018)),
    (4, Some(0.008), Some(0.450)),
    (5, Some(0.174), Some(15.7)),
    (6, Some(1.82), None),
    (7, Some(12.7), None),
];

/// Repeats, of which the median counts: with a machine made anew each time, and with one whose tables are there.
const COLD: usize = 9;
const WARM: usize = 301;
/// No more repeats once so much time has passed.
const PATIENCE: Duration = Duration::from_millis(1500);

fn request(size: usize, sensitive: bool) -> Request {
    Request::new(Pattern::ring(size)).sensitive(sensitive)
}

/// Seconds that a decision takes.
fn timed(policy: &impl Policy, request: &Request, graph: &HardwareGraph) -> f64 {
    let all = graph.all();
    let view = graph.with_free(&all);
    let start = Instant::now();
    let decision = policy.decide(black_box(request), &view);
    let took = start.elapsed().as_secs_f64();
    let _ = black_box(decision);
    took
}

fn median(repeats: usize, mut one: impl FnMut() -> Result<f64, Failure>) -> Result<f64, Failure> {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < repeats && (times.len() < 3 || start.elapsed() < PATIENCE) {
        times.push(one()?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// A machine and a size.
struct Point {
    machine: usize,
    size: usize,
    /// Seconds: sensitive and not, each on a machine made anew and on one that is known.
    cold: [f64; 2],
    warm: [f64; 2],
}

fn point(machine: usize, size: usize, graph: &HardwareGraph) -> Result<Point, Failure> {
    let policy = preserve();
    let mut point = Point { machine, size, cold: [0.0; 2], warm: [0.0; 2] };
    for (at, sensitive) in [true, false].into_iter().enumerate() {
        let request = request(size, sensitive);
        point.cold[at] = median(COLD, || Ok(timed(&policy, &request, &*MACHINES[machine].graph()?)))?;
        timed(&policy, &request, graph);
        point.warm[at] = median(WARM, || Ok(timed(&policy, &request, graph)))?;
    }
    Ok(point)
}

/// All machines and sizes.
fn measured(bar: &ProgressBar) -> Result<Vec<Point>, Failure> {
    bar.set_message("decisions by the clock");
    let mut points = Vec::new();
    for (machine, own) in MACHINES.into_iter().enumerate() {
        let graph = own.graph()?;
        bar.inc_length(graph.len() as u64 - 1);
        for size in 2..=graph.len() {
            points.push(point(machine, size, &graph)?);
            bar.inc(1);
        }
    }
    Ok(points)
}

/// "In the order of milliseconds" is taken as below ten.
fn overhead(points: &[Point]) -> [Claim; 2] {
    let worst = |of: fn(&Point) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let [cold, warm] = [worst(|it| it.cold[0].max(it.cold[1])), worst(|it| it.warm[0].max(it.warm[1]))];
    let judged = |what: &str, worst: f64| {
        let ours = format!("at most {} ms, sensitive or not", ms(worst));
        let rule = "the longest below 10 ms (the limit is ours)";
        Claim::new(what, "order of ms", &[6]).found(ours, None, rule, Verdict::of(worst < 0.01))
    };
    [
        judged(
            "a decision takes milliseconds on 6, 8 and 16 GPUs (idle, one thread): all but the first on a machine",
            warm,
        ),
        judged("the first on a machine, which works out tables, does too", cold),
    ]
}

pub(super) fn section(plan: &Plan, bar: &ProgressBar) -> Result<Section, Failure> {
    let points = measured(bar)?;
    let threads = threads(plan)?;
    let built = if cfg!(debug_assertions) { "without optimisation (a debug build)" } else { "with optimisation" };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let mut section = Section::new("fig-19", "Fig. 19: overhead per decision")
        .claims(overhead(&points))
        .claims([growth(&points)])
        .text(format!(
            "Preserve, a ring on an idle machine, milliseconds a decision, medians, one thread; by a program built \
             {built}, on a machine of {cores} cores that others use too. First: on a machine that was just made, with \
             the tables of reachable link counts yet to be worked out ({COLD} times). Again: with them ({WARM} times). \
             Released: CPU time of the released program with the start of its process, timed once on another machine; \
             this command does not time it, and beyond seven GPUs it was not run."
        ));
    for (class, words) in CLASSES.into_iter().enumerate() {
        section = section.text(format!("{words} jobs:")).table(header(class), rows(&points, class));
        let shows = format!("Time per decision by number of GPUs, {} jobs, as Fig. 19", words.to_lowercase());
        section = section.picture(FILES[class], picture(&points, class), shows);
    }
    section = section.text(threads_words(&threads));
    let cells = threads.iter().map(Threads::cells).collect();
    section = section.table(["what", "1 thread", "threads", "that many", "speedup"], cells);
    section.timed = true;
    let numbers: Vec<Value> = points.iter().map(json).collect();
    Ok(section
        .numbers("cores", json!(cores))
        .numbers("built", json!(built))
        .numbers("seconds", json!(numbers))
        .numbers("threads", threads.iter().map(Threads::json).collect()))
}

fn json(point: &Point) -> Value {
    json!({
        "machine": MACHINES[point.machine].name, "gpus": point.size,
        "first": { "sensitive": point.cold[0], "insensitive": point.cold[1] },
        "again": { "sensitive": point.warm[0], "insensitive": point.warm[1] },
    })
}

/// Classes of jobs, in the order of a point's times.
const CLASSES: [&str; 2] = ["Sensitive", "Insensitive"];
const FILES: [&str; 2] = ["fig-19.svg", "fig-19-insensitive.svg"];

/// Milliseconds over sizes, first and again.
fn picture(points: &[Point], class: usize) -> String {
    let colours = ["#a6a6a6", "#2fae86", "#4a9fe0", "#cc79a7"];
    let line = |(machine, colour): (usize, &'static str), first: bool| {
        let own = points.iter().filter(|it| it.machine == machine);
        let time = |it: &Point| (it.size as f64, 1e3 * if first { it.cold[class] } else { it.warm[class] });
        let when = if first { "first" } else { "again" };
        let name = format!("{}, {when}", MACHINES[machine].name);
        Line { name, colour, dashed: !first, points: own.map(time).collect() }
    };
    let all = colours.into_iter().enumerate().flat_map(|own| [true, false].map(|first| line(own, first)));
    let title = format!("One decision on an idle machine, preserve, {} jobs", CLASSES[class].to_lowercase());
    lines(all.collect(), Heights::Log, &title, "GPUs wanted", "time, ms")
}

fn ms(time: f64) -> String {
    seconds(time * 1e3)
}

/// The released program was timed on sensitive jobs alone.
fn header(class: usize) -> Vec<String> {
    let machines = MACHINES.map(|own| [format!("{}, first", own.name), format!("{}, again", own.name)]);
    let released = ["dgx-1v, released", "torus-2d, released"].map(str::to_owned).into_iter().filter(|_| class == 0);
    std::iter::once("GPUs".to_owned()).chain(machines.into_iter().flatten()).chain(released).collect()
}

fn rows(points: &[Point], class: usize) -> Vec<Vec<String>> {
    let row = |size: usize| {
        let own = |machine| points.iter().find(|it| it.machine == machine && it.size == size);
        let cells = (0..MACHINES.len()).flat_map(|machine| {
            own(machine).map_or([String::new(), String::new()], |it| [ms(it.cold[class]), ms(it.warm[class])])
        });
        let released = RELEASED.iter().find(|(own, ..)| *own == size).map_or((None, None), |(_, a, b)| (*a, *b));
        let released = [released.0, released.1].map(|time| time.map(ms).unwrap_or_default());
        let released = released.into_iter().filter(|_| class == 0);
        std::iter::once(size.to_string()).chain(cells).chain(released).collect()
    };
    (2..=16).map(row).collect()
}

/// "Increases modestly for larger job sizes (9 GPUs and above)" on sixteen: more than before, and at most twice.
fn growth(points: &[Point]) -> Claim {
    let most = |sizes: std::ops::RangeInclusive<usize>| {
        let of = points.iter().filter(|it| it.machine >= 2 && sizes.contains(&it.size));
        of.map(|it| it.cold[0].max(it.cold[1])).fold(0.0, f64::max)
    };
    let [two, small, large] = [most(2..=2), most(2..=8), most(9..=16)];
    let ours = format!(
        "first decisions, the longest: {} ms at 9 to 16 GPUs, {:.1} times the {} ms of 2 to 8; growth lies before: {:.0} \
         times from 2 GPUs ({} ms) to the longest up to 8",
        ms(large),
        large / small,
        ms(small),
        small / two,
        ms(two)
    );
    let rule = "longest at 9 to 16 over longest at 2 to 8 above 1 and at most 2 (limits are ours)";
    let claim = Claim::new("overhead grows modestly from 9 GPUs on, on 16", "a curve without numbers", &[6]);
    claim.found(ours, None, rule, Verdict::of(large > small && large <= 2.0 * small))
}

/// Seconds by one thread and by several.
struct Threads {
    what: String,
    one: f64,
    threads: usize,
    many: f64,
}

impl Threads {
    fn cells(&self) -> Vec<String> {
        let speedup = format!("{:.2}", self.one / self.many);
        vec![self.what.clone(), ms(self.one), self.threads.to_string(), ms(self.many), speedup]
    }

    fn json(&self) -> Value {
        json!({ "what": self.what, "one": self.one, "threads": self.threads, "many": self.many })
    }
}

/// What the table of threads is of, and where several are slower.
fn threads_words(all: &[Threads]) -> String {
    let slower: Vec<String> = all
        .iter()
        .filter(|own| own.many > own.one)
        .map(|own| {
            format!(
                "\"{}\" is slower by {} threads than by one, {:.2} times",
                own.what,
                own.threads,
                own.many / own.one
            )
        })
        .collect();
    let slower = if slower.is_empty() { "None is slower by several threads".to_owned() } else { slower.join("; ") };
    format!(
        "Several threads, milliseconds. Decisions: the time in which all threads made theirs over the number of decisions, \
         so that one decision takes as many times longer as there are threads. Searches: the time of one search that \
         threads share. {slower}."
    )
}

/// One thread against several: deciding at once, and scoring the rings of one search.
fn threads(plan: &Plan) -> Result<Vec<Threads>, Failure> {
    // Several even where it is told to run on one: that is what is to be seen.
    let many = plan.threads.max(2);
    let torus = MACHINES[2].graph()?;
    timed(&preserve(), &request(8, true), &torus);
    let known = |threads: usize| at_once(threads, 2000, || Ok(torus.clone()));
    let anew = |threads: usize| at_once(threads, 1, || MACHINES[2].graph());
    let score = |size: usize, threads: usize| median(5, || Ok(scored(&torus, size, threads)));
    let mut all = vec![
        ("decisions on one machine, ring of 8 of 16, tables there".to_owned(), known(1)?, known(many)?),
        ("first decisions, a machine each, ring of 8 of 16".to_owned(), anew(1)?, anew(many)?),
    ];
    for size in [5, 6, 7] {
        let what = format!("one search over all rings of {size} of 16, each scored by Eq. 2");
        all.push((what, score(size, 1)?, score(size, many)?));
    }
    Ok(all.into_iter().map(|(what, one, more)| Threads { what, one, threads: many, many: more }).collect())
}

/// Seconds a decision, when so many threads decide at once: of each thread as many decisions, over all.
fn at_once(
    threads: usize,
    each: u32,
    machine: impl Fn() -> Result<Arc<HardwareGraph>, Failure> + Sync,
) -> Result<f64, Failure> {
    let (request, policy) = (request(8, true), preserve());
    median(9, || {
        let graphs: Vec<Arc<HardwareGraph>> = (0..threads).map(|_| machine()).collect::<Result<_, _>>()?;
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

/// Seconds to score every ring of a size by Eq. 2 and keep the best, without tables: as the paper does it.
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
