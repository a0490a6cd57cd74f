//! `score`: the bandwidth of given devices by a model, term by term or ring by ring.

use std::sync::Arc;

use mapa_core::{
    Bandwidth, Candidate, Census, DeviceId, DeviceSet, Efficiency, Estimate, Expected,
    HardwareGraph, Hop, LinkModel, Objective, Pattern, Placement, Rates, Request, greedy,
};
use mapa_topologies::{Machine, Warning, collective_rates};

use crate::cli::{ScoreArgs, Switched};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::Disk;
use mapa_cli::load;
use mapa_front::answer::score::{self as answer, NoBandwidth, Order, Score, SumOfTerms};
use mapa_front::answer::{ids, labels, names};
use mapa_front::job::{is_file, job, pattern};
use mapa_front::text::{gbps, table};
use mapa_front::{Kind, Packing};

use super::packed::Packed;

pub(crate) fn score(args: &ScoreArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    let graph = loaded.graph();
    let devices = in_order(&args.devices, graph)?;
    let rates = args
        .rates
        .as_ref()
        .map(|words| rates(words, &loaded.machine, graph))
        .transpose()?;
    let model = NAMES.model(&args.model, rates, &Disk)?;
    let ordered = matches!(model.kind, Kind::Links(_));
    let shown = Shown {
        devices: &devices,
        graph,
        model: &args.model,
        ordered,
        rated: rates.is_some_and(|rates| rates != Rates::NOMINAL),
        warnings: &loaded.machine.warnings,
    };
    match &model.kind {
        own if !matches!(own, Kind::Expected(_)) && args.is_of_operation() => {
            Err(Failure::malformed(
                "--operation, --message-bytes and --nvls are for --model expected and files of shares: expected such a model",
            ))
        }
        own if devices.len() < 2 && !matches!(own, Kind::Expected(_)) => shown.one_device(output),
        Kind::Links(links) => {
            let pattern = own_pattern(args.pattern.as_deref().unwrap_or("ring"), devices.len())?;
            let mut explained = Explained::new(links, &model.objective, &pattern, &devices, graph)?;
            if model.is_eq_2 && !is_ring(&pattern) {
                explained
                    .notes
                    .push("Eq. 2 was fitted to rings, not to other patterns");
            }
            shown.links(&explained, output)
        }
        Kind::Expected(_) if args.pattern.is_some() => Err(Failure::malformed(
            "--pattern is for sums of terms: expected --operation, and no --pattern",
        )),
        Kind::Expected(expected) => shown.expected(expected, args, output),
        Kind::Own => Err(Failure::malformed(
            "--model: expected a sum of terms or a packing, which can be explained",
        )),
        Kind::Packing(_) if args.pattern.is_some() => Err(Failure::malformed(
            "--pattern is for sums of terms: a packing depends on the set of devices, not on a pattern; expected no --pattern",
        )),
        Kind::Packing(packing) => match packing.of(graph, &devices.set()) {
            Some(bandwidth) => shown.packing(packing, &bandwidth, output),
            None => shown.one_device(output),
        },
    }
}

/// The pattern on these devices. A pattern file or degrees must have as many ranks.
fn own_pattern(words: &str, devices: usize) -> Result<Pattern, Failure> {
    if !words.contains('=') && !is_file(words, &Disk) {
        return Ok(pattern(words, devices, &Disk)?);
    }
    let own = job(words, None, None, &Disk)?;
    if own.ranks == devices {
        return Ok(own.pattern);
    }
    let ranks = own.ranks;
    let name = own
        .application
        .map_or_else(|| words.to_owned(), |own| own.name);
    Err(Failure::malformed(format_args!(
        "--devices: the pattern {name} has {ranks} ranks: expected {ranks} devices, not {devices}"
    )))
}

/// The devices of a list, in its order.
fn in_order(list: &[String], graph: &HardwareGraph) -> Result<Placement, Failure> {
    let mut devices: Vec<DeviceId> = Vec::new();
    for word in list.iter().filter(|word| !word.trim().is_empty()) {
        let id = graph.find(word)?;
        if devices.contains(&id) {
            return Err(Failure::malformed(format_args!(
                "--devices: {} is named twice",
                graph.device(id).name
            )));
        }
        devices.push(id);
    }
    if devices.is_empty() {
        return Err(Failure::malformed(
            "--devices names no device: expected a list such as 0,3,4",
        ));
    }
    Ok(devices.into_iter().collect())
}

/// The rates of links that `--rates` names.
fn rates(words: &str, machine: &Machine, graph: &HardwareGraph) -> Result<Rates, Failure> {
    match words {
        "nominal" => return Ok(Rates::NOMINAL),
        "nccl" => {
            return collective_rates(machine).ok_or_else(|| {
                Failure::malformed(
                    "--rates nccl: the rate at which NCCL or RCCL counts these links is not known: expected a \
                     measured pair A,B=GBPS",
                )
            });
        }
        _ => {}
    }
    let parts = words.split_once('=').and_then(|(pair, measured)| {
        let (a, b) = pair.split_once(',')?;
        Some((a, b, measured.trim().parse().ok()?))
    });
    let (a, b, measured) = parts.ok_or_else(|| {
        Failure::malformed(format_args!(
            "--rates {words}: expected nominal, nccl, or a measured pair A,B=GBPS"
        ))
    })?;
    let (a, b) = (graph.find(a)?, graph.find(b)?);
    let over_host = a != b && graph.link(a, b).class.is_host();
    Rates::calibrated(graph, a, b, measured).map_err(|error| match over_host {
        true => Failure::malformed(format_args!(
            "{error}; for paths through the host, use --pcie-gbps"
        )),
        false => error.into(),
    })
}

/// Why there is no expectation.
const NO_WAY: &str = "no operation of one server joins these devices";

/// Why one device has no expectation.
const ONE: &str = "one device has no collective bandwidth";

fn no_bandwidth(why: &str) -> NoBandwidth {
    NoBandwidth {
        gbps: None,
        in_domain: false,
        reason: why.to_owned(),
    }
}

/// The parts of every answer.
struct Shown<'a> {
    devices: &'a Placement,
    graph: &'a HardwareGraph,
    model: &'a str,
    /// Whether the score depends on the order of the devices.
    ordered: bool,
    /// Whether links are at other rates than nominal, which measurements may exceed.
    rated: bool,
    /// What was odd about the machine's description. Where text is printed, it is said already.
    warnings: &'a [Warning],
}

impl Shown<'_> {
    fn answer(&self, bandwidth: answer::Bandwidth, output: &mut Output) -> Result<(), Failure> {
        let names = names(self.devices, self.graph).into_iter();
        output.object(&Score {
            model: self.model.to_owned(),
            devices: ids(self.devices),
            names: names.map(str::to_owned).collect(),
            bandwidth,
        })
    }

    fn title(&self, output: &mut Output) -> Result<(), Failure> {
        let order = if self.ordered { " in rank order" } else { "" };
        output.line(format_args!(
            "devices   {}{order}",
            names(self.devices, self.graph).join(", ")
        ))?;
        output.line(format_args!("model     {}", self.model))
    }

    fn one_device(self, output: &mut Output) -> Result<(), Failure> {
        if output.json {
            return self.answer(answer::Bandwidth::None(no_bandwidth(ONE)), output);
        }
        self.title(output)?;
        output.line(format_args!("bandwidth none: {ONE}"))
    }

    /// The answer for what is expected.
    fn expected(
        self,
        model: &Expected,
        args: &ScoreArgs,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let nominal = *model.efficiency() == Efficiency::nominal();
        if nominal && args.is_of_operation() {
            return Err(Failure::malformed(
                "--operation, --message-bytes and --nvls are for --model expected and files of shares: expected such a model",
            ));
        }
        let operation = if nominal {
            model.operation()
        } else {
            args.operation.unwrap_or_default()
        };
        let model = Expected::new(operation, Arc::clone(model.efficiency()))
            .message_bytes(args.message_bytes.map(u64::from))
            .in_switch(args.nvls != Some(Switched::Off));
        let devices: Vec<DeviceId> = self.devices.iter().copied().collect();
        let in_pairs = !operation.is_collective() && !operation.is_of_host();
        if in_pairs && devices.len() > 1 && devices.len() % 2 == 1 {
            return Err(Failure::malformed(format_args!(
                "--operation {operation}: expected pairs of devices, from each first to each second, not {} devices",
                devices.len()
            )));
        }
        let bytes = args.message_bytes.map(u64::from);
        let Some(estimate) = model.along(self.graph, &devices) else {
            let why = if devices.len() == 1 { ONE } else { NO_WAY };
            if output.json {
                let none = match nominal {
                    true => answer::Bandwidth::None(no_bandwidth(why)),
                    false => {
                        answer::Bandwidth::Expected(answer::Expected::none(why, operation, bytes))
                    }
                };
                return self.answer(none, output);
            }
            self.title(output)?;
            return output.line(format_args!("bandwidth none: {why}"));
        };
        if nominal {
            return self.over_network(&estimate, output);
        }
        let mut own = answer::Expected::new(&estimate, operation, bytes);
        if output.json {
            own.notes
                .extend(self.warnings.iter().map(Warning::to_string));
            return self.answer(answer::Bandwidth::Expected(own), output);
        }
        self.title(output)?;
        let size = own
            .message_bytes
            .map_or("large messages".to_owned(), |bytes| {
                format!("messages of {bytes} bytes")
            });
        output.line(format_args!("operation {operation}, {size}"))?;
        let range = own.low_gbps.zip(own.high_gbps).zip(own.nominal_gbps);
        output.line(match own.gbps.zip(range) {
            Some((value, ((low, high), nominal))) => format!(
                "bandwidth {} GB/s expected, {} to {}; links at nominal rate carry {}",
                gbps(value),
                gbps(low),
                gbps(high),
                gbps(nominal)
            ),
            None => "bandwidth not known".to_owned(),
        })?;
        let words = [&own.path, &own.p2p, &own.p2p_from, &own.bound_by];
        let [path, p2p, from, bound_by] = words.map(|word| word.as_deref().unwrap_or("none"));
        output.line(format_args!(
            "path      {path}; P2P {p2p}, {from}; bound by {bound_by} (measured on {} machines)",
            own.machines
        ))?;
        own.notes
            .iter()
            .try_for_each(|note| output.line(format_args!("note      {note}")))
    }

    /// The answer for direct links and the host as a network, at nominal bandwidths.
    fn over_network(self, estimate: &Estimate, output: &mut Output) -> Result<(), Failure> {
        let over_host = estimate.hop != Hop::Direct;
        if output.json {
            let packing = answer::Packing {
                gbps: estimate.gbps,
                at_most_gbps: estimate.gbps,
                exact: !over_host,
                imitated: false,
                over_host,
                in_domain: true,
                rings: None,
                trees: None,
                pair_gbps: None,
            };
            return self.answer(answer::Bandwidth::Packing(packing), output);
        }
        self.title(output)?;
        let way = if over_host {
            "over the host"
        } else {
            "over direct links"
        };
        output.line(format_args!(
            "bandwidth {} GB/s {way}, at nominal rates",
            gbps(estimate.gbps)
        ))?;
        // At nominal rates only peer access is assumed: what is not known has no say.
        let notes = answer::note_on_peers(estimate);
        notes
            .iter()
            .try_for_each(|note| output.line(format_args!("note      {note}")))
    }

    /// The answer for a sum of terms.
    fn links(self, explained: &Explained<'_>, output: &mut Output) -> Result<(), Failure> {
        if output.json {
            return self.answer(answer::Bandwidth::Sum(explained.answer()), output);
        }
        self.title(output)?;
        if !explained.model.source().is_empty() {
            output.line(format_args!("source    {}", explained.model.source()))?;
        }
        explained.print(self.graph, output)
    }

    /// The answer for a packing.
    fn packing(
        self,
        packing: &Packing,
        found: &Bandwidth,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let set = self.devices.set();
        let packed = Packed {
            found,
            packing,
            graph: self.graph,
            at_most: packing.at_most(found, self.graph, &set),
            trees: match packing {
                Packing::Trees(trees) if !found.over_host => trees.trees(self.graph, &set),
                _ => Vec::new(),
            },
            devices: self.devices,
            rated: self.rated,
        };
        if output.json {
            return self.answer(answer::Bandwidth::Packing(packed.answer()), output);
        }
        self.title(output)?;
        packed.print(output)
    }
}

/// A sum of terms for a placement.
struct Explained<'a> {
    model: &'a LinkModel,
    census: Census,
    gbps: f64,
    in_domain: bool,
    /// The rank order of highest aggregated bandwidth on the same devices, its prediction and
    /// whether that is in the domain; none if that order has the same links.
    best: Option<(Placement, f64, bool)>,
    notes: Vec<&'static str>,
}

impl<'a> Explained<'a> {
    fn new(
        model: &'a LinkModel,
        objective: &Objective<'_>,
        pattern: &Pattern,
        devices: &Placement,
        graph: &HardwareGraph,
    ) -> Result<Self, Failure> {
        for edge in pattern.edges() {
            let [a, b] = [edge.a, edge.b].map(|rank| devices[usize::from(rank)]);
            if !graph.link(a, b).exists() {
                let [a, b] = [a, b].map(|id| &graph.device(id).name);
                return Err(Failure::malformed(format_args!(
                    "no link joins {a} and {b}"
                )));
            }
        }
        let idle = graph.all();
        let view = graph.with_free(&idle);
        let scored = |placement: &[DeviceId]| {
            let census = Census::of(pattern, placement, graph, model.tiers());
            (
                census,
                model.predict(&census),
                objective.in_domain(&Candidate {
                    view,
                    pattern,
                    placement,
                }),
            )
        };
        let (census, gbps, in_domain) = scored(devices);
        let best = best_order(&devices.set(), pattern, graph).and_then(|order| {
            let (other, gbps, in_domain) = scored(&order);
            (other != census).then_some((order, gbps, in_domain))
        });
        let mut notes = Vec::new();
        if !in_domain {
            notes.push("the model was not fitted to placements like this one");
        }
        if gbps < 0.0 {
            notes.push(
                "a negative bandwidth is impossible: the model does not apply to these links",
            );
        }
        Ok(Self {
            model,
            census,
            gbps,
            in_domain,
            best,
            notes,
        })
    }

    /// The number of links of each tier, by name.
    fn links(&self) -> impl Iterator<Item = (String, u32)> {
        self.model
            .tiers()
            .names()
            .into_iter()
            .enumerate()
            .map(|(tier, name)| (name, self.census.count(tier)))
    }

    /// Each term with its value, coefficient and product.
    fn terms(&self) -> impl Iterator<Item = (String, [f64; 3])> {
        self.model
            .explain(&self.census)
            // Adding 0 turns -0, which would print as such, into 0.
            .map(|(term, value, factor)| (term, [value, factor, value * factor + 0.0]))
    }

    fn answer(&self) -> SumOfTerms {
        let term = |(term, [value, coefficient, product]): (String, [f64; 3])| answer::Term {
            term,
            value,
            coefficient,
            product,
        };
        SumOfTerms {
            gbps: self.gbps,
            in_domain: self.in_domain,
            source: self.model.source().to_owned(),
            links: self.links().collect(),
            terms: self.terms().map(term).collect(),
            best_order: self.best.as_ref().map(|(order, gbps, in_domain)| Order {
                devices: ids(order),
                gbps: *gbps,
                in_domain: *in_domain,
            }),
            notes: self.notes.iter().map(|&note| note.to_owned()).collect(),
        }
    }

    fn print(&self, graph: &HardwareGraph, output: &mut Output) -> Result<(), Failure> {
        let counts: Vec<String> = self
            .links()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        output.line(format_args!("links     {}", counts.join(", ")))?;
        output.line("")?;
        let mut rows = table(["term", "value", "coefficient", "GB/s"], [1, 2, 3]);
        for (term, [value, coefficient, product]) in self.terms() {
            rows.add_row([
                term,
                short(value),
                short(coefficient),
                format!("{product:.3}"),
            ]);
        }
        rows.add_row([
            "sum".to_owned(),
            String::new(),
            String::new(),
            format!("{:.3}", self.gbps),
        ]);
        output.line(rows)?;
        output.line("")?;
        let value = gbps(self.gbps);
        output.line(if self.in_domain {
            format!("bandwidth {value} GB/s predicted")
        } else {
            format!("bandwidth not valid here ({value} GB/s predicted)")
        })?;
        for note in &self.notes {
            output.line(format_args!("note      {note}"))?;
        }
        let Some((order, other, in_domain)) = &self.best else {
            return Ok(());
        };
        let outside = if *in_domain {
            ""
        } else {
            ", to which the model was not fitted"
        };
        output.line(format_args!(
            "note      the order of highest aggregated bandwidth on these devices is {}: {} GB/s{outside}",
            labels(order, graph),
            gbps(*other)
        ))
    }
}

/// Whether the pattern is one cycle through all ranks, as [`Pattern::ring`]; for two ranks, two
/// edges.
fn is_ring(pattern: &Pattern) -> bool {
    let n = pattern.len();
    let near = |rank: usize| {
        let ends = pattern
            .edges()
            .iter()
            .map(|edge| [edge.a, edge.b].map(usize::from));
        ends.filter(move |ends| ends.contains(&rank))
            .map(move |[a, b]| if a == rank { b } else { a })
    };
    if (0..n).any(|rank| near(rank).count() != 2) {
        return false;
    }
    let mut met = vec![0];
    while let Some(next) = met
        .last()
        .and_then(|&last| near(last).find(|next| !met.contains(next)))
    {
        met.push(next);
    }
    met.len() == n
}

/// The rank order of highest aggregated bandwidth on these devices, if there is any.
fn best_order(set: &DeviceSet, pattern: &Pattern, graph: &HardwareGraph) -> Option<Placement> {
    let best = graph
        .with_free(set)
        .decide(greedy(), &Request::new(pattern.clone()))
        .ok()?;
    Some(best.placement().clone())
}

/// A number with at most six decimals, without trailing zeros.
fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
