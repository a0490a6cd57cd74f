//! Which model should choose? For many sets of free devices, and every job size that leaves a
//! choice, this example shows which devices four models choose, and which bandwidth an all-reduce
//! on rings reaches there. It prints the tables and draws the picture of docs/bandwidth-models.md.
//!
//! ```sh
//! cargo run --release -p mapa-examples --example bandwidth_models                   # five machines
//! cargo run --release -p mapa-examples --example bandwidth_models -- dgx-1v summit  # these machines
//! cargo run --release -p mapa-examples --example bandwidth_models -- measured       # against a DGX-1 with P100s
//! cargo run --release -p mapa-examples --example bandwidth_models -- plot > docs/img/choosing-by-model.svg
//! ```

use std::collections::HashMap;
use std::error::Error;

use kuva::prelude::{BarPlot, Layout, Plot, render_to_svg};
use mapa_core::{
    AllToAll, Bandwidth, Channels, DeviceId, DeviceSet, HardwareGraph, Pattern, Policy, Rates,
    Request, RingPacking, TreePacking, greedy, lowest_id, max_bandwidth, preserve,
};
use mapa_topologies::named;

const MACHINES: [&str; 5] = [
    "dgx-1p",
    "dgx-1v",
    "torus-2d",
    "summit",
    "a100-pcie-8-bridged",
];
/// Colours that colour-blind readers can tell apart, after Okabe and Ito.
const COLOURS: [&str; 4] = ["#999999", "#E69F00", "#56B4E9", "#009E73"];

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["plot"] => print!("{}", picture()?),
        ["measured"] => measured()?,
        [] => table(&MACHINES)?,
        machines => table(machines)?,
    }
    Ok(())
}

/// The models, under the names that the page uses. Jobs are bandwidth-sensitive, so Preserve takes
/// the highest value of Eq. 2.
fn models() -> Vec<(&'static str, Box<dyn Policy>)> {
    vec![
        ("lowest ids", Box::new(lowest_id())),
        ("AggBW (greedy)", Box::new(greedy())),
        ("Eq. 2 (preserve)", Box::new(preserve())),
        ("ring packing", Box::new(max_bandwidth())),
    ]
}

/// The bandwidths that one model's choices reach.
#[derive(Default)]
struct Tally {
    decisions: usize,
    gbps: f64,
    /// The number of choices that no other set beats.
    best: usize,
    /// The lowest bandwidth over the best possible one, and the choice that has it.
    worst: Option<(f64, String)>,
}

impl Tally {
    fn add(&mut self, gbps: f64, best: f64, chosen: &DeviceSet, free: &DeviceSet) {
        self.decisions += 1;
        self.gbps += gbps;
        let share = gbps / best;
        self.best += usize::from(share > 1.0 - 1e-9);
        if self
            .worst
            .as_ref()
            .is_none_or(|(worst, _)| share < worst - 1e-9)
        {
            self.worst = Some((
                share,
                format!(
                    "{} of {}: {gbps:.0} for {best:.0} GB/s",
                    ids(chosen),
                    ids(free)
                ),
            ));
        }
    }
}

fn ids(set: &DeviceSet) -> String {
    set.iter()
        .map(|id| id.to_string())
        .collect::<Vec<_>>()
        .join(",")
}

/// The sets of devices that are assumed to be free, and the largest job. On up to eight devices:
/// all sets, and jobs of any size. On sixteen devices: 1,024 sets from a multiplicative sequence,
/// and jobs of up to eight devices.
fn free_sets(graph: &HardwareGraph) -> (Vec<DeviceSet>, usize) {
    let n = graph.wholes().len();
    let of_bits = |bits: u32| {
        (0..n as u32)
            .filter(|i| bits >> i & 1 == 1)
            .map(DeviceId)
            .collect()
    };
    if n <= 8 {
        return ((1u32..1 << n).map(of_bits).collect(), n);
    }
    (
        (1..=1024u32)
            .map(|i| of_bits(i.wrapping_mul(40_503) & 0xffff))
            .collect(),
        8,
    )
}

/// Compares all models on every free set and every job size that leaves a choice.
fn compare(name: &str) -> Result<Vec<(&'static str, Tally)>, Box<dyn Error>> {
    let graph = named(name)?.graph()?;
    let rings = RingPacking::default();
    let mut known: HashMap<DeviceSet, f64> = HashMap::new();
    let mut reached = |set: &DeviceSet| {
        let gbps = || rings.of(&graph, set).map_or(0.0, |found| found.gbps);
        *known.entry(set.clone()).or_insert_with(gbps)
    };
    let models = models();
    let mut tallies: Vec<_> = models
        .iter()
        .map(|(name, _)| (*name, Tally::default()))
        .collect();
    let (free_sets, largest) = free_sets(&graph);
    for free in &free_sets {
        for k in 2..free.len().min(largest + 1) {
            let request = Request::new(Pattern::ring(k)).sensitive(true);
            let mut chosen = Vec::new();
            for (_, policy) in &models {
                let decision = policy.decide(&request, &graph.with_free(free))?;
                chosen.push(decision.placement().iter().copied().collect::<DeviceSet>());
            }
            // The last model chooses by the same bandwidth that is compared here.
            let best = chosen.last().map_or(0.0, &mut reached);
            for ((_, tally), set) in tallies.iter_mut().zip(&chosen) {
                tally.add(reached(set), best, set, free);
            }
        }
    }
    Ok(tallies)
}

fn table(machines: &[&str]) -> Result<(), Box<dyn Error>> {
    println!("| machine | choices | by | mean GB/s | as good as the best | worst |");
    println!("|---|---|---|---|---|---|");
    for machine in machines {
        for (model, tally) in compare(machine)? {
            let Tally {
                decisions,
                gbps,
                best,
                worst,
            } = tally;
            let n = decisions as f64;
            let (share, case) = worst.ok_or("no choice on this machine")?;
            let worst = if share < 1.0 - 1e-9 {
                format!("{:.0} % ({case})", 100.0 * share)
            } else {
                "-".to_owned()
            };
            let (mean, good) = (gbps / n, 100.0 * best as f64 / n);
            println!("| `{machine}` | {decisions} | {model} | {mean:.1} | {good:.1} % | {worst} |");
        }
    }
    Ok(())
}

/// Prints a table for the first n GPUs of a DGX-1 with P100s: the models' bandwidths, with the link
/// rates that NCCL assumes, beside the all-reduce bandwidths that the Tartan suite measured
/// (uuudown/Tartan, nccl-tests, NCCL 2).
fn measured() -> Result<(), Box<dyn Error>> {
    const MEASURED: [f64; 7] = [17.28, 34.56, 52.09, 5.57, 34.70, 34.72, 62.24];
    let graph = named("dgx-1p")?.graph()?;
    let rates = Rates {
        direct: 18.0 / 20.0,
        host: 1.0,
        between_sockets: Some(6.0),
    };
    println!(
        "| GPUs | all-reduce measured | channels searched | ring packing | tree packing | all-to-all |"
    );
    println!("|---|---|---|---|---|---|");
    for (n, measured) in (2..).zip(MEASURED) {
        let set = DeviceSet::first_n(n);
        let channels = Channels::new(rates, &Channels::SPEEDS).of(&graph, &set);
        let others = [
            RingPacking::new(rates).of(&graph, &set),
            TreePacking::new(rates).of(&graph, &set),
        ];
        let exchange = AllToAll::new(rates).of(&graph, &set);
        let number = |found: Option<Bandwidth>| {
            found.map_or("-".to_owned(), |found| format!("{:.1}", found.gbps))
        };
        let [rings, trees] = others.map(number);
        println!(
            "| {n} | {measured:.2} | {} | {rings} | {trees} | {} |",
            number(channels),
            number(exchange)
        );
    }
    Ok(())
}

fn picture() -> Result<String, Box<dyn Error>> {
    let mut bars = BarPlot::new();
    let mut names = Vec::new();
    for machine in MACHINES {
        let tallies = compare(machine)?;
        names = tallies.iter().map(|(model, _)| *model).collect();
        let share = |(_, tally): &(&str, Tally)| 100.0 * tally.best as f64 / tally.decisions as f64;
        let values: Vec<(f64, String)> = tallies
            .iter()
            .map(share)
            .zip(COLOURS.map(str::to_owned))
            .collect();
        bars = bars.with_group(machine, values);
    }
    let plots = vec![Plot::Bar(bars.with_legend(names))];
    let layout = Layout::auto_from_plots(&plots)
        .with_title(
            "How often no other set of free GPUs has more ring bandwidth than the chosen one",
        )
        .with_y_label("% of choices")
        .with_y_axis_min(0.0)
        .with_y_axis_max(100.0)
        .with_width(960.0)
        .with_height(480.0);
    Ok(render_to_svg(plots, layout))
}
