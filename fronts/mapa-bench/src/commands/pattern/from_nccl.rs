//! `pattern from-nccl`: from logs and graphs of NCCL and RCCL.

use mapa_patterns::{
    Algorithm, Call, Collective, Communicator, Error, Messages, NcclJob, TreeHalf, Unit, read_nccl,
};
use serde_json::{Map, Value, json};

use super::answer::{More, answer};
use crate::cli::FromNccl;
use crate::failure::Failure;
use crate::files;
use crate::output::Output;
use mapa_front::text::table;

/// The most message sizes that the text lists.
const LISTED: usize = 40;

pub(super) fn from_nccl(args: &FromNccl, output: &mut Output) -> Result<(), Failure> {
    let algorithm: Algorithm = args.algorithm.parse().map_err(Failure::malformed)?;
    let mut logs = Vec::new();
    for file in &args.files {
        let name = if file == "-" { "standard input" } else { file };
        logs.push((name, files::log(file)?));
    }
    let texts: Vec<(&str, &str)> = logs
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let job = read_nccl(&texts).map_err(Failure::malformed)?;
    let mut application = job.application(algorithm).map_err(Failure::malformed)?;
    if application.unit.is_bytes() {
        application = application
            .without_noise(args.noise / 100.0)
            .map_err(Failure::malformed)?;
    }
    let messages = messages(&job, args.write.steps).map_err(Failure::malformed)?;
    let mut keys = Map::new();
    keys.insert(
        "communicators".to_owned(),
        job.communicators.iter().map(communicator).collect(),
    );
    keys.insert("messages".to_owned(), json!(job.messages));
    keys.insert("algorithm".to_owned(), json!(algorithm.to_string()));
    let devices = job
        .devices
        .iter()
        .map(|own| json!({ "host": own.host, "bus": own.bus, "number": own.number }));
    keys.insert("devices".to_owned(), devices.collect());
    let lines = lines(&job);
    answer(
        application,
        messages,
        &args.write,
        More { keys, lines },
        output,
    )
}

/// The messages of a rank: in a step if the number of steps is known, else in the whole log. None
/// if the log has no calls.
fn messages(job: &NcclJob, steps: Option<f64>) -> Result<Option<Messages>, Error> {
    let mut messages = Messages::new();
    for &(bytes, calls) in &job.messages {
        messages.add(bytes as f64, calls as f64 / steps.unwrap_or(1.0))?;
    }
    Ok((!job.messages.is_empty()).then_some(messages))
}

/// The JSON object of a communicator.
fn communicator(own: &Communicator) -> Value {
    let rings = own
        .rings
        .iter()
        .map(|ring| json!({ "channel": ring.channel, "ranks": ring.order(), "hops": ring.hops }));
    let trees = own.trees.iter().map(|tree| {
        let half = match tree.half {
            TreeHalf::Both => "both",
            TreeHalf::Reduce => "reduce",
            TreeHalf::Broadcast => "broadcast",
        };
        json!({ "channel": tree.channel, "half": half, "edges": tree.edges })
    });
    let connections = own.connections.iter().map(
        |own| json!({ "channel": own.channel, "from": own.from, "to": own.to, "via": own.via }),
    );
    let calls = own.calls.iter().map(|(from, call, times)| {
        let Call { collective, bytes, root, .. } = call;
        let from = (*collective == Collective::Send).then_some(from);
        json!({ "call": collective.to_string(), "bytes": bytes, "times": times, "from": from, "root": root })
    });
    let choices = own
        .choices
        .iter()
        .map(|(bytes, rings, trees)| json!({ "bytes": bytes, "rings": rings, "trees": trees }));
    json!({
        "name": own.name, "ranks": own.ranks, "devices": own.devices, "channels": own.channels,
        "rings": rings.collect::<Vec<_>>(), "trees": trees.collect::<Vec<_>>(),
        "connections": connections.collect::<Vec<_>>(), "calls": calls.collect::<Vec<_>>(),
        "choices": choices.collect::<Vec<_>>(),
    })
}

/// Tables of communicators, and of messages if the log has calls.
fn lines(job: &NcclJob) -> Vec<String> {
    let mut rows = table(
        [
            "communicator",
            "ranks",
            "channels",
            "rings",
            "trees",
            "over",
            "calls",
        ],
        [1, 2, 3, 4, 6],
    );
    for own in &job.communicators {
        let mut over: Vec<&str> = own
            .connections
            .iter()
            .map(|own| own.via.split('/').next().unwrap_or_default())
            .collect();
        over.sort_unstable();
        over.dedup();
        let calls: u64 = own
            .calls
            .iter()
            .map(|(.., times)| *times)
            .fold(0, u64::saturating_add);
        let numbers = [own.ranks, own.channels, own.rings.len(), own.trees.len()]
            .map(|number| number.to_string());
        let [ranks, channels, rings, trees] = numbers;
        rows.add_row([
            own.name.clone(),
            ranks,
            channels,
            rings,
            trees,
            over.join(", "),
            calls.to_string(),
        ]);
    }
    let mut lines = vec![String::new(), rows.to_string()];
    if !job.messages.is_empty() {
        let mut rows = table(["message", "calls"], [0, 1]);
        for &(bytes, calls) in job.messages.iter().take(LISTED) {
            rows.add_row([
                Unit::Bytes.print(bytes as f64).unwrap_or_default(),
                calls.to_string(),
            ]);
        }
        lines.extend([String::new(), rows.to_string()]);
        if let Some(rest) = job.messages.len().checked_sub(LISTED + 1) {
            lines.push(format!("and {} more: --json lists all", rest + 1));
        }
    }
    lines
}
