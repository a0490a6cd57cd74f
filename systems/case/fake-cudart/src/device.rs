//! The device: memory by address, streams, events, symbols, and the oracle that watches.

use crate::oracle::{Oracle, OracleEvent};
use crate::report::{REPORT, ReportLine};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;

/// The environment variable that names allocations which fail.
pub const FAIL: &str = "FAKE_CUDART_FAIL";

/// Status with which a program ends to whose calls the oracle objected, if there is no report.
pub(crate) const OBJECTED: i32 = 70;

/// Everything the library knows.
#[derive(Default)]
pub(crate) struct FakeDevice {
    pub(crate) oracle: Oracle,
    /// Device memory: start and bytes.
    pub(crate) memory: BTreeMap<usize, usize>,
    /// Pinned host memory.
    pub(crate) pinned: BTreeMap<usize, usize>,
    /// Copies of symbols, by the address of their host variable.
    pub(crate) symbols: HashMap<usize, Vec<u8>>,
    /// Streams, and whether the default stream waits for them.
    pub(crate) streams: HashMap<u64, bool>,
    /// Events: on which stream each was recorded, and how much had been queued there.
    pub(crate) events: HashMap<u64, Option<(u64, u64)>>,
    queued: HashMap<u64, u64>,
    next_handle: u64,
    pub(crate) allocations: u64,
    failing: Option<Vec<u64>>,
    pub(crate) objections: u64,
}

impl FakeDevice {
    /// Tells the oracle, and reports what it objects to.
    pub(crate) fn tell(&mut self, event: OracleEvent) {
        if let OracleEvent::Launch { stream } | OracleEvent::Queue { stream } = event {
            *self.queued.entry(stream).or_default() += 1;
        }
        for objection in self.oracle.take(event) {
            self.objections += 1;
            let what = objection.to_string();
            if !write_line(&ReportLine::Objection { what: what.clone() }) {
                let _ = writeln!(std::io::stderr(), "fake-cudart: {what}");
            }
        }
    }

    /// Whether an address lies in memory of the device.
    pub(crate) fn holds(&self, address: usize) -> bool {
        let before = self.memory.range(..=address).next_back();
        before.is_some_and(|(start, bytes)| address - start < *bytes)
    }

    /// A new stream or event.
    pub(crate) fn handle(&mut self) -> u64 {
        self.next_handle += 1;
        // No address of anything, and not one of CUDA's special streams 1 and 2.
        0x1000 + self.next_handle * 16
    }

    /// Whether the allocation that comes next is to fail.
    pub(crate) fn fails(&mut self) -> bool {
        self.allocations += 1;
        let failing = self.failing.get_or_insert_with(|| {
            let told = std::env::var(FAIL).unwrap_or_default();
            told.split(',')
                .filter_map(|n| n.trim().parse().ok())
                .collect()
        });
        failing.contains(&self.allocations)
    }

    /// The default stream has finished, and those that it waits for.
    pub(crate) fn wait_default(&mut self) {
        let blocking: Vec<u64> = self
            .streams
            .iter()
            .filter(|(_, b)| **b)
            .map(|(s, _)| *s)
            .collect();
        for stream in blocking.into_iter().chain([0, 1, 2]) {
            self.tell(OracleEvent::Wait {
                stream: Some(stream),
            });
        }
    }

    pub(crate) fn record(&mut self, event: u64, stream: u64) {
        let so_far = self.queued.get(&stream).copied().unwrap_or(0);
        self.events.insert(event, Some((stream, so_far)));
    }

    /// Waits for what was queued before an event.
    pub(crate) fn wait_event(&mut self, event: u64) {
        if let Some(Some((stream, so_far))) = self.events.get(&event).copied()
            && self.queued.get(&stream).copied().unwrap_or(0) == so_far
        {
            self.tell(OracleEvent::Wait {
                stream: Some(stream),
            });
        }
    }
}

/// Appends a line to the report. Answers whether there is one.
pub(crate) fn write_line(line: &ReportLine) -> bool {
    let Some(path) = std::env::var_os(REPORT) else {
        return false;
    };
    let Ok(mut text) = serde_json::to_string(line) else {
        return false;
    };
    text.push('\n');
    // Opened for each line: the program may close what it does not know.
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    file.and_then(|mut f| f.write_all(text.as_bytes())).is_ok()
}
