//! `score`: what a model makes of given devices, term by term or ring by ring.

use mapa_core::{
    Bandwidth, Candidate, Census, DeviceId, DeviceSet, HardwareGraph, LinkModel, Objective, Pattern, Placement, Rates,
    Request, greedy,
};
use serde_json::{Map, Value, json};

use crate::answer::{ids, label, names};
use crate::cli::ScoreArgs;
use crate::failure::Failure;
use crate::machine::load;
use crate::model::{Kind, Model};
use crate::output::{Output, gbps, table};
use crate::request::pattern;

pub(crate) fn score(args: &ScoreArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    let graph = loaded.graph();
    let devices = in_order(&args.devices, graph)?;
    let rates = args.rates.as_ref().map(|words| rates(words, graph)).transpose()?;
    let model = Model::named(&args.model, rates)?;
    let mut head = Map::new();
    head.insert("model".to_owned(), json!(args.model));
    head.insert("devices".to_owned(), json!(ids(&devices)));
    head.insert("names".to_owned(), json!(names(&devices, graph)));
    let shown = Shown { head, devices: &devices, graph, model: &args.model };
    match &model.kind {
        _ if devices.len() < 2 => shown.one_device(output),
        Kind::Links(links) => {
            let pattern = pattern(args.pattern.as_deref().unwrap_or("ring"), devices.len())?;
            shown.links(links, &model.objective, &pattern, output)
        }
        Kind::Packing(_) if args.pattern.is_some() => Err(Failure::malformed(
            "--pattern is for sums of terms: what a set of devices can carry depends on no pattern",
        )),
        Kind::Packing(packing) => match packing.of(graph, &devices.set()) {
            Some(bandwidth) => shown.packing(&bandwidth, output),
            None => shown.one_device(output),
        },
    }
}

/// The devices that a list means, in its order.
fn in_order(list: &[String], graph: &HardwareGraph) -> Result<Placement, Failure> {
    let mut devices: Vec<DeviceId> = Vec::new();
    for word in list.iter().filter(|word| !word.trim().is_empty()) {
        let id = graph.find(word)?;
        if devices.contains(&id) {
            return Err(Failure::malformed(format_args!("--devices: {} is named twice", graph.device(id).name)));
        }
        devices.push(id);
    }
    if devices.is_empty() {
        return Err(Failure::malformed("--devices names none: expected such as 0,3,4"));
    }
    Ok(devices.into_iter().collect())
}

/// What `--rates` means.
fn rates(words: &str, graph: &HardwareGraph) -> Result<Rates, Failure> {
    if words == "nominal" {
        return Ok(Rates::NOMINAL);
    }
    let parse = || {
        let (pair, measured) = words.split_once('=')?;
        let (a, b) = pair.split_once(',')?;
        Some((a, b, measured.trim().parse::<f64>().ok()?))
    };
    let what = "expected nominal, or a measured pair A,B=GBPS";
    let (a, b, measured) = parse().ok_or_else(|| Failure::malformed(format_args!("--rates {words}: {what}")))?;
    Ok(Rates::calibrated(graph, graph.find(a)?, graph.find(b)?, measured)?)
}

/// What answers are made of.
struct Shown<'a> {
    /// The keys that every answer has.
    head: Map<String, Value>,
    devices: &'a Placement,
    graph: &'a HardwareGraph,
    model: &'a str,
}

impl Shown<'_> {
    fn answer(mut self, more: Value, output: &mut Output) -> Result<(), Failure> {
        if let Value::Object(more) = more {
            self.head.extend(more);
        }
        output.object(&self.head)
    }

    fn title(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(format_args!("devices   {} in rank order", names(self.devices, self.graph).join(", ")))?;
        output.line(format_args!("model     {}", self.model))
    }

    fn one_device(self, output: &mut Output) -> Result<(), Failure> {
        let why = "one device has no collective bandwidth";
        if output.json {
            return self.answer(json!({ "gbps": null, "in_domain": false, "reason": why }), output);
        }
        self.title(output)?;
        output.line(format_args!("bandwidth none: {why}"))
    }

    /// Of a sum of terms.
    fn links(
        self,
        model: &LinkModel,
        objective: &Objective<'_>,
        pattern: &Pattern,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let graph = self.graph;
        let apart = pattern.edges().iter().map(|edge| [edge.a, edge.b].map(|rank| self.devices[usize::from(rank)]));
        if let Some(pair) = apart.into_iter().find(|[a, b]| !graph.link(*a, *b).exists()) {
            let [a, b] = pair.map(|id| &graph.device(id).name);
            return Err(Failure::malformed(format_args!("nothing joins {a} and {b}")));
        }
        let idle = graph.all();
        let in_domain = |placement: &[DeviceId]| {
            objective.in_domain(&Candidate { view: graph.with_free(&idle), pattern, placement })
        };
        let count = |placement: &[DeviceId]| Census::of(pattern, placement, graph, model.tiers());
        let census = count(self.devices);
        let predicted = model.predict(&census);
        let best = best_order(&self.devices.set(), pattern, graph);
        let best = best.filter(|order| count(order) != census).map(|order| {
            let (gbps, holds) = (model.predict(&count(&order)), in_domain(&order));
            (order, gbps, holds)
        });
        let tiers: Vec<(String, u32)> =
            model.tiers().names().into_iter().enumerate().map(|(i, name)| (name, census.count(i))).collect();
        let terms: Vec<(String, f64, f64)> = model.explain(&census).collect();
        // Adding 0 makes no -0.
        let product = |value: f64, coefficient: f64| value * coefficient + 0.0;
        let holds = in_domain(self.devices);
        if output.json {
            let term = |(term, value, coefficient): &(String, f64, f64)| json!({ "term": term, "value": value, "coefficient": coefficient, "product": product(*value, *coefficient) });
            let order = best
                .as_ref()
                .map(|(order, gbps, holds)| json!({ "devices": ids(order), "gbps": gbps, "in_domain": holds }));
            let more = json!({
                "gbps": predicted, "in_domain": holds, "source": model.source(),
                "links": tiers.into_iter().collect::<std::collections::BTreeMap<_, _>>(),
                "terms": terms.iter().map(term).collect::<Vec<_>>(), "best_order": order,
            });
            return self.answer(more, output);
        }
        self.title(output)?;
        if !model.source().is_empty() {
            output.line(format_args!("source    {}", model.source()))?;
        }
        let counts: Vec<String> = tiers.iter().map(|(name, count)| format!("{count} {name}")).collect();
        output.line(format_args!("links     {}", counts.join(", ")))?;
        output.line("")?;
        let mut rows = table(["term", "value", "coefficient", "GB/s"], [1, 2, 3]);
        for (term, value, coefficient) in &terms {
            rows.add_row([
                term.clone(),
                short(*value),
                short(*coefficient),
                format!("{:.3}", product(*value, *coefficient)),
            ]);
        }
        rows.add_row(["sum".to_owned(), String::new(), String::new(), format!("{predicted:.3}")]);
        output.line(rows)?;
        output.line("")?;
        output.line(format_args!("bandwidth {} GB/s predicted", gbps(predicted)))?;
        if !holds {
            output.line("note      the model was not fitted to placements like this one")?;
        }
        if let Some((order, other, holds)) = best {
            let order: Vec<String> = order.iter().map(|&id| label(id, graph)).collect();
            let outside = if holds { "" } else { ", which the model was not fitted to" };
            output.line(format_args!(
                "note      the order of highest aggregated bandwidth on these devices is {}: {} GB/s{outside}",
                order.join(","),
                gbps(other)
            ))?;
        }
        Ok(())
    }

    /// Of what links can carry at once.
    fn packing(self, bandwidth: &Bandwidth, output: &mut Output) -> Result<(), Failure> {
        let exact = bandwidth.gbps == bandwidth.at_most_gbps;
        if output.json {
            let ring = |(ring, gbps): &(Vec<DeviceId>, f64)| json!({ "devices": ring.iter().map(|id| id.0).collect::<Vec<_>>(), "gbps": gbps });
            let more = json!({
                "gbps": bandwidth.gbps, "at_most_gbps": bandwidth.at_most_gbps, "exact": exact,
                "over_host": bandwidth.over_host, "in_domain": true,
                "rings": bandwidth.rings.iter().map(ring).collect::<Vec<_>>(),
            });
            return self.answer(more, output);
        }
        self.title(output)?;
        let graph = self.graph;
        if !bandwidth.rings.is_empty() {
            let mut rows = table(["ring", "GB/s"], [1]);
            for (ring, each) in &bandwidth.rings {
                let ring: Vec<String> = ring.iter().map(|&id| label(id, graph)).collect();
                rows.add_row([ring.join(","), gbps(*each)]);
            }
            rows.add_row(["sum".to_owned(), gbps(bandwidth.gbps)]);
            output.line("")?;
            output.line(rows)?;
            output.line("Half of a ring of three or more goes one way round, half the other.")?;
            output.line("")?;
        }
        let bound =
            if exact { "no packing is better".to_owned() } else { format!("at most {}", gbps(bandwidth.at_most_gbps)) };
        output.line(format_args!("bandwidth {} GB/s: {bound}", gbps(bandwidth.gbps)))?;
        if bandwidth.over_host {
            output.line("note      the slow path, through the host: direct links carry no more among these devices")?;
        }
        Ok(())
    }
}

/// The rank order of highest aggregated bandwidth on these devices; none where nothing was found.
fn best_order(set: &DeviceSet, pattern: &Pattern, graph: &HardwareGraph) -> Option<Placement> {
    let best = graph.with_free(set).decide(greedy(), &Request::new(pattern.clone())).ok()?;
    Some(best.placement().clone())
}

/// As few digits as tell it to six.
fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
