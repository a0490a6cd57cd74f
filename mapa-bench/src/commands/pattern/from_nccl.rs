//! From NCCL's and RCCL's logs and graphs.

use std::fs;
use std::io::{self, Read};

use mapa_patterns::{Algorithm, Call, Collective, Communicator, Error, Messages, NcclJob, TreeHalf, Unit, read_nccl};
use serde_json::{Map, Value, json};

use super::answer;
use crate::cli::FromNccl;
use crate::failure::Failure;
use crate::output::{Output, table};

/// Sizes of messages that are listed for people.
const LISTED: usize = 40;

pub(super) fn from_nccl(args: &FromNccl, output: &mut Output) -> Result<(), Failure> {
    let algorithm: Algorithm = args.algorithm.parse().map_err(|error| Failure::malformed(format_args!("{error}")))?;
    let texts: Vec<(&str, String)> =
        args.files.iter().map(|file| Ok((name(file), text(file)?))).collect::<Result<_, Failure>>()?;
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let wrong = |error| Failure::malformed(format_args!("{error}"));
    let job = read_nccl(&texts).map_err(wrong)?;
    let mut application = job.application(algorithm).map_err(wrong)?;
    if application.unit.is_bytes() {
        application = application.without_noise(args.noise / 100.0).map_err(wrong)?;
    }
    let messages = messages(&job, args.write.steps).map_err(wrong)?;
    let mut keys = Map::new();
    keys.insert("communicators".to_owned(), job.communicators.iter().map(communicator).collect());
    keys.insert("messages".to_owned(), json!(job.messages));
    keys.insert("algorithm".to_owned(), json!(algorithm.to_string()));
    let devices = job.devices.iter().map(|own| json!({ "host": own.host, "bus": own.bus, "number": own.number }));
    keys.insert("devices".to_owned(), devices.collect());
    answer(application, messages, &args.write, (keys, lines(&job)), output)
}

/// What a rank hands to calls, in a step if it is told how many there were; none where no calls were seen.
fn messages(job: &NcclJob, steps: Option<f64>) -> Result<Option<Messages>, Error> {
    let mut messages = Messages::new();
    for &(bytes, calls) in &job.messages {
        messages.add(bytes as f64, calls as f64 / steps.unwrap_or(1.0))?;
    }
    Ok((!job.messages.is_empty()).then_some(messages))
}

fn name(file: &str) -> &str {
    if file == "-" { "standard input" } else { file }
}

/// What a file holds. Programs print what they like between NCCL's lines, so what is no UTF-8 is replaced.
fn text(file: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        io::stdin().read_to_end(&mut bytes).map(|_| ())
    } else {
        fs::read(file).map(|all| bytes = all)
    };
    read.map_err(|error| Failure::malformed(format_args!("{}: {error}", name(file))))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn communicator(own: &Communicator) -> Value {
    let rings =
        own.rings.iter().map(|ring| json!({ "channel": ring.channel, "ranks": ring.order(), "hops": ring.hops }));
    let half = |half: TreeHalf| match half {
        TreeHalf::Both => "both",
        TreeHalf::Reduce => "reduce",
        TreeHalf::Broadcast => "broadcast",
    };
    let trees = own.trees.iter();
    let trees = trees.map(|tree| json!({ "channel": tree.channel, "half": half(tree.half), "edges": tree.edges }));
    let connections = own.connections.iter();
    let connections =
        connections.map(|own| json!({ "channel": own.channel, "from": own.from, "to": own.to, "via": own.via }));
    let calls = own.calls.iter().map(|(from, call, times)| {
        let Call { collective, bytes, root, .. } = call;
        let from = (*collective == Collective::Send).then_some(from);
        json!({ "call": collective.to_string(), "bytes": bytes, "times": times, "from": from, "root": root })
    });
    let choices = own.choices.iter();
    let choices = choices.map(|(bytes, rings, trees)| json!({ "bytes": bytes, "rings": rings, "trees": trees }));
    json!({
        "name": own.name, "ranks": own.ranks, "devices": own.devices, "channels": own.channels,
        "rings": rings.collect::<Vec<_>>(), "trees": trees.collect::<Vec<_>>(),
        "connections": connections.collect::<Vec<_>>(), "calls": calls.collect::<Vec<_>>(),
        "choices": choices.collect::<Vec<_>>(),
    })
}

/// Tables of communicators, and of messages if calls were seen.
fn lines(job: &NcclJob) -> Vec<String> {
    let mut rows = table(["communicator", "ranks", "channels", "rings", "trees", "over", "calls"], [1, 2, 3, 4, 6]);
    for own in &job.communicators {
        let mut over: Vec<&str> =
            own.connections.iter().map(|own| own.via.split('/').next().unwrap_or_default()).collect();
        over.sort_unstable();
        over.dedup();
        let calls: u64 = own.calls.iter().map(|(.., times)| *times).fold(0, u64::saturating_add);
        let numbers = [own.ranks, own.channels, own.rings.len(), own.trees.len()].map(|number| number.to_string());
        let [ranks, channels, rings, trees] = numbers;
        rows.add_row([own.name.clone(), ranks, channels, rings, trees, over.join(", "), calls.to_string()]);
    }
    let mut lines = vec![String::new(), rows.to_string()];
    if !job.messages.is_empty() {
        let mut rows = table(["message", "calls"], [0, 1]);
        for &(bytes, calls) in job.messages.iter().take(LISTED) {
            rows.add_row([Unit::Bytes.print(bytes as f64).unwrap_or_default(), calls.to_string()]);
        }
        lines.extend([String::new(), rows.to_string()]);
        if let Some(rest) = job.messages.len().checked_sub(LISTED + 1) {
            lines.push(format!("and {} more: --json tells all", rest + 1));
        }
    }
    lines
}
