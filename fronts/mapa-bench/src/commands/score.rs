//! `score`: the bandwidth of given devices by a model, term by term or ring by ring.

use mapa_core::{Estimate, HardwareGraph, Hop};

use crate::cli::{FlagState, ScoreArgs};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;
use mapa_cli::load;
use mapa_front::DeviceName;
use mapa_front::answer::score::{Expected, note_on_peers};
use mapa_front::answer::{labels, names};
use mapa_front::commands::{ExplainedSum, ScoreOutcome, ScoreRequest, ScoredBandwidth};
use mapa_front::text::{gbps, table};
use mapa_topologies::Vendor;

use super::packed;

pub(crate) fn score(args: &ScoreArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    let request = ScoreRequest {
        machine: args.machine.spec(),
        devices: DeviceName::of_texts(&args.devices),
        model: args.model.clone(),
        pattern: args.pattern.clone(),
        rates: args.rates.clone(),
        operation: args.operation.map(|operation| operation.to_string()),
        message_bytes: args.message_bytes,
        nvls: args.nvls.map(|nvls| nvls == FlagState::On),
    };
    let outcome = request.outcome(&NAMES, &LocalFiles, &loaded)?;
    if output.json {
        return output.object(&outcome.answer(&loaded));
    }
    print(&outcome, loaded.graph(), loaded.machine.vendor, output)
}

/// Prints the bandwidth as text.
fn print(
    outcome: &ScoreOutcome,
    graph: &HardwareGraph,
    vendor: Option<Vendor>,
    output: &mut Output,
) -> Result<(), Failure> {
    let order = if outcome.is_ordered {
        " in rank order"
    } else {
        ""
    };
    output.line(format_args!(
        "devices   {}{order}",
        names(&outcome.devices, graph).join(", ")
    ))?;
    output.line(format_args!("model     {}", outcome.model))?;
    match &outcome.bandwidth {
        ScoredBandwidth::None(why) | ScoredBandwidth::NoWay(why, _) => {
            output.line(format_args!("bandwidth none: {why}"))
        }
        ScoredBandwidth::Sum(sum) => print_sum(sum, graph, output),
        ScoredBandwidth::Packing(packed) => packed::print(packed, &outcome.devices, graph, output),
        ScoredBandwidth::OverNetwork(estimate) => {
            print_over_network(estimate, graph, vendor, output)
        }
        ScoredBandwidth::Expected(expected) => print_expected(expected, output),
    }
}

/// Prints what is expected.
fn print_expected(own: &Expected, output: &mut Output) -> Result<(), Failure> {
    let size = own
        .message_bytes
        .map_or("large messages".to_owned(), |bytes| {
            format!("messages of {bytes} bytes")
        });
    output.line(format_args!("operation {}, {size}", own.operation))?;
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
    // These are absent where no operation joins the devices.
    let [path, p2p, from, bound_by] = words.map(|word| word.as_deref().unwrap_or("none"));
    output.line(format_args!(
        "path      {path}; P2P {p2p}, {from}; bound by {bound_by} (measured on {} machines)",
        own.machines
    ))?;
    own.notes
        .iter()
        .try_for_each(|note| output.line(format_args!("note      {note}")))
}

/// Prints what direct links and the host as a network carry, at nominal bandwidths.
fn print_over_network(
    estimate: &Estimate,
    graph: &HardwareGraph,
    vendor: Option<Vendor>,
    output: &mut Output,
) -> Result<(), Failure> {
    let over_host = estimate.hop != Hop::Direct;
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
    let notes = note_on_peers(estimate, vendor, graph.fabric().is_virtual());
    notes
        .iter()
        .try_for_each(|note| output.line(format_args!("note      {note}")))
}

/// Prints a sum, term by term.
fn print_sum(
    sum: &ExplainedSum,
    graph: &HardwareGraph,
    output: &mut Output,
) -> Result<(), Failure> {
    if !sum.model.source().is_empty() {
        output.line(format_args!("source    {}", sum.model.source()))?;
    }
    let counts: Vec<String> = sum
        .links()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    output.line(format_args!("links     {}", counts.join(", ")))?;
    output.line("")?;
    let mut rows = table(["term", "value", "coefficient", "GB/s"], [1, 2, 3]);
    for (term, [value, coefficient, product]) in sum.terms() {
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
        format!("{:.3}", sum.gbps),
    ]);
    output.line(rows)?;
    output.line("")?;
    let value = gbps(sum.gbps);
    output.line(if sum.in_domain {
        format!("bandwidth {value} GB/s predicted")
    } else {
        format!("bandwidth not valid here ({value} GB/s predicted)")
    })?;
    for note in &sum.notes {
        output.line(format_args!("note      {note}"))?;
    }
    let Some((order, other, in_domain)) = &sum.best else {
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

/// A number with at most six decimals, without trailing zeros.
fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
