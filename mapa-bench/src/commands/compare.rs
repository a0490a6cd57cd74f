//! `compare`: every policy on one request.

use mapa_core::{BuiltIn, Policy};
use serde_json::{Value, json};

use super::allocate::links;
use crate::answer::{decision as decision_json, refusal};
use crate::cli::CompareArgs;
use crate::failure::Failure;
use crate::machine::load;
use crate::output::{Output, gbps, table};
use crate::request::{pattern, request};

pub(crate) fn compare(args: &CompareArgs, output: &mut Output) -> Result<(), Failure> {
    let (machine, graph) = load(&args.machine, output)?;
    let pattern = pattern(&args.job.pattern, args.job.gpus)?;
    let (request, free) = request(pattern, args.sensitive, &args.constraints, &graph)?;
    let view = graph.with_free(&free);
    let scores = ["aggregate_gbps", "effective_gbps", "preserved_gbps"];
    let mut rows = table(["policy", "devices", "links", "aggregate", "effective", "preserved"], [3, 4, 5]);
    let mut list = Vec::new();
    for built_in in BuiltIn::ALL.iter().filter(|built_in| !built_in.for_instances) {
        match BuiltIn::named(built_in.name)?.decide(&request, &view) {
            Ok(decision) => {
                let best = decision.best();
                let ranks: Vec<String> = best.placement().iter().map(ToString::to_string).collect();
                let ranks = ranks.join(",") + if decision.search().complete() { "" } else { " (search stopped early)" };
                let mut row = vec![built_in.name.to_owned(), ranks, links(best)];
                row.extend(scores.map(|name| best.score(name).map_or("-".to_owned(), gbps)));
                rows.add_row(row);
                list.push(Value::Object(decision_json(&decision, &graph)));
            }
            Err(why) => {
                rows.add_row([built_in.name.to_owned(), format!("{}: {why}", why.kind())]);
                let mut object = refusal(&why);
                object["policy"] = json!(built_in.name);
                list.push(object);
            }
        }
    }
    if output.json {
        return output.object(&json!({ "policies": list }));
    }
    let sensitive = if args.sensitive { "bandwidth-sensitive" } else { "not bandwidth-sensitive" };
    output.line(format_args!("{}, {} devices, {}, {sensitive}", machine.name, args.job.gpus, args.job.pattern))?;
    output.line(rows)?;
    output.line(
        "Devices in rank order; scores in GB/s: Eq. 1 (links added up), Eq. 2 (predicted), Eq. 3 (left to others).",
    )
}
