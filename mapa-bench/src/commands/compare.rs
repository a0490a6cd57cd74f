//! `compare`: every policy on one request.

use mapa_core::{BuiltIn, Policy};
use serde_json::{Value, json};

use super::allocate::links;
use crate::answer::{decision as decision_json, label, refusal};
use crate::cli::{CompareArgs, Preserved};
use crate::failure::Failure;
use crate::machine::load;
use crate::model::Model;
use crate::output::{Output, gbps, table};
use crate::request::{demand, pattern, policy, request, slice, takes_model};

pub(crate) fn compare(args: &CompareArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    let graph = loaded.graph();
    let demand = demand(slice(args.job.slice.as_deref(), graph)?, &args.uses, graph)?;
    let pattern = pattern(&args.job.pattern, args.job.gpus)?.each(demand);
    let (request, state) = request(pattern, args.sensitive, &args.constraints, &loaded.idle)?;
    let view = state.view();
    // Whole devices of one tenant each are all the same to the policies for instances.
    let all = args.job.slice.is_some() || args.uses.shared;
    let scores = ["aggregate_gbps", "effective_gbps", "preserved_gbps"];
    let model = args.model.as_ref().map(|word| Model::named(word, None)).transpose()?;
    let mut rows = table(["policy", "devices", "links", "aggregate", "effective", "preserved"], [3, 4, 5]);
    let mut list = Vec::new();
    for built_in in BuiltIn::ALL.iter().filter(|built_in| all || !built_in.for_instances) {
        let model = model.as_ref().filter(|_| takes_model(built_in.name));
        match policy(built_in.name, model, Preserved::All)?.decide(&request, &view) {
            Ok(decision) => {
                let best = decision.best();
                let ranks: Vec<String> = best.placement().iter().map(|&id| label(id, graph)).collect();
                let ranks = ranks.join(",") + if decision.search().complete() { "" } else { " (search stopped early)" };
                let mut row = vec![built_in.name.to_owned(), ranks, links(best)];
                row.extend(scores.map(|name| best.score(name).map_or("-".to_owned(), gbps)));
                rows.add_row(row);
                list.push(Value::Object(decision_json(&decision, graph)));
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
    let (name, job) = (&loaded.machine.name, &args.job);
    let devices = job.slice.as_ref().map_or("devices".to_owned(), |slice| format!("instances of {slice}"));
    output.line(format_args!("{name}, {} {devices}, {}, {sensitive}", job.gpus, job.pattern))?;
    output.line(rows)?;
    output.line(
        "Devices in rank order; scores in GB/s: Eq. 1 (links added up), Eq. 2 (predicted), Eq. 3 (left to others).",
    )
}
