//! The JSON files of nccl-tests (`-J FILE`) and rccl-tests (`-Z json -x FILE`).
//!
//! nccl-tests write one object: the environment, the devices, and a list of results. If they were
//! built without MPI, they name the first device only, and the others follow it. rccl-tests write a
//! list of objects, one for each size, in place or out of place. They give only the number of
//! devices, which are assumed to be the first of the machine.

use std::collections::BTreeMap;

use serde_json::Value;

use super::measurement::{AtSize, Devices, Measurement, Rank};
use super::pci::PciPlace;
use super::words::{collective, refused};
use crate::error::Error;

pub(super) fn is_json(text: &str) -> bool {
    // A launcher's prefix begins with a bracket too: `[1,0]<stdout>:`.
    let text = text.trim_start();
    let after = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{') || after.is_some_and(|after| after.starts_with('{'))
}

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, Error> {
    let document: Value = serde_json::from_str(text).map_err(|error| {
        let cut_off = if error.is_eof() { ": cut off?" } else { "" };
        refused(error.line(), format_args!("{error}{cut_off}"))
    })?;
    match &document {
        Value::Array(rows) => rccl(rows),
        run => Ok(vec![nccl(run)?]),
    }
}

fn wrong(path: &str, what: &str) -> Error {
    refused(None, format_args!("{path}: {what}"))
}

/// Reads a bus bandwidth; `None` if the field is missing or null.
fn busbw(value: &Value, path: &str) -> Result<Option<f64>, Error> {
    match value {
        Value::Null => Ok(None),
        value => match value
            .as_f64()
            .filter(|gbps| gbps.is_finite() && *gbps >= 0.0)
        {
            Some(gbps) => Ok(Some(gbps)),
            None => Err(wrong(
                path,
                &format!("{value}: expected a number of GB/s, not negative"),
            )),
        },
    }
}

fn nccl(run: &Value) -> Result<Measurement, Error> {
    let results = run["results"]
        .as_array()
        .filter(|results| !results.is_empty());
    let results = results.ok_or_else(|| {
        wrong(
            "results",
            "expected a list of results: what nccl-tests write with -J",
        )
    })?;
    if run["average_bus_bandwidth"].is_null() {
        return Err(wrong(
            "average_bus_bandwidth",
            "missing: expected it at the end of the run; did the run end?",
        ));
    }
    if let Some(count) = run["out_of_bounds"]["count"]
        .as_u64()
        .filter(|count| *count > 0)
    {
        let what = format!(
            "{count} values were out of bounds: expected 0, as the collective had wrong results"
        );
        return Err(wrong("out_of_bounds", &what));
    }
    let mut sizes = Vec::new();
    for (i, result) in results.iter().enumerate() {
        let figure = |way: &str| {
            busbw(
                &result[way]["bus_bw"],
                &format!("results[{i}].{way}.bus_bw"),
            )
        };
        let (out_of_place, in_place) = (figure("out_of_place")?, figure("in_place")?);
        sizes.push(AtSize {
            bytes: result["size"].as_u64(),
            out_of_place,
            in_place,
        });
    }
    let words = |key: &str| {
        run[key]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    };
    let op = words("args").next().map(collective);
    let seen =
        words("env").find_map(|pair| pair.split_once("_VISIBLE_DEVICES=").map(|(_, list)| list));
    let visible = seen.map(|list| {
        list.split(',')
            .map(|name| name.trim().to_owned())
            .collect::<Vec<String>>()
    });
    let visible = visible.filter(|names| names.iter().any(|name| !name.is_empty()));
    let devices = match ranks(&run["config"])? {
        ranks if ranks.is_empty() => Devices::Unknown,
        ranks => Devices::Ranks { ranks, visible },
    };
    let label = op.clone().unwrap_or_else(|| "results".to_owned());
    Ok(Measurement {
        label,
        line: None,
        op,
        devices,
        sizes,
    })
}

fn ranks(config: &Value) -> Result<Vec<Rank>, Error> {
    let listed = config["devices"].as_array().map_or(&[][..], Vec::as_slice);
    let mut ranks = Vec::new();
    for (i, device) in listed.iter().enumerate() {
        let path = format!("config.devices[{i}]");
        let number = device["device"]
            .as_u64()
            .and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or_else(|| wrong(&path, "expected `device`, a number"))?;
        if device["group"] != listed[0]["group"] {
            return Err(wrong(
                &path,
                "ranks in several groups, which ran side by side: expected one group",
            ));
        }
        if device["rank"].as_u64() != Some(i as u64) {
            return Err(wrong(
                &path,
                &format!("rank {}: expected rank {i} in this place", device["rank"]),
            ));
        }
        let pci = match device["device_hex"].as_str() {
            None => None,
            Some(place) => Some(
                PciPlace::parse(place)
                    .ok_or_else(|| wrong(&path, "device_hex: expected such as 0000:07:00"))?,
            ),
        };
        ranks.push(Rank {
            host: device["hostname"].as_str().map(str::to_owned),
            number,
            pci,
        });
    }
    // One process's devices follow each other; only the first is written.
    let each = |key: &str| {
        config[key]
            .as_u64()
            .filter(|count| *count <= 1024)
            .unwrap_or(1) as u32
    };
    if let [first] = &ranks[..] {
        let (host, number) = (first.host.clone(), first.number);
        let others = 1..each("nthreads").saturating_mul(each("ngpus")).min(1024);
        ranks.extend(others.map(|i| Rank {
            host: host.clone(),
            number: number.saturating_add(i),
            pci: None,
        }));
    }
    Ok(ranks)
}

fn rccl(rows: &[Value]) -> Result<Vec<Measurement>, Error> {
    let mut runs: BTreeMap<(String, usize), Measurement> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        let path = format!("[{i}]");
        let name = row["name"].as_str().ok_or_else(|| {
            wrong(
                &path,
                "expected `name`, the collective: what rccl-tests write",
            )
        })?;
        if row["nodes"].as_u64().is_some_and(|nodes| nodes > 1) {
            return Err(wrong(&path, "ranks on several nodes: expected one machine"));
        }
        let count = ["ranks", "gpus"].iter().find_map(|key| row[key].as_u64());
        let count =
            count.ok_or_else(|| wrong(&path, "expected `ranks` or `gpus`, a number"))? as usize;
        let gbps = busbw(&row["busBw"], &format!("{path}.busBw"))?;
        let in_place = match row["inPlace"].as_u64() {
            Some(way @ (0 | 1)) => way == 1,
            _ => return Err(wrong(&path, "expected `inPlace`, 0 or 1")),
        };
        let at = AtSize {
            bytes: row["size"].as_u64(),
            out_of_place: gbps.filter(|_| !in_place),
            in_place: gbps.filter(|_| in_place),
        };
        let op = collective(name);
        let run = runs.entry((op.clone(), count)).or_insert_with(|| {
            let label = format!("{op} on {count}");
            Measurement {
                label,
                line: None,
                op: Some(op),
                devices: Devices::First(count),
                sizes: Vec::new(),
            }
        });
        run.sizes.push(at);
    }
    if runs.is_empty() {
        return Err(wrong("[]", "no results"));
    }
    Ok(runs.into_values().collect())
}
