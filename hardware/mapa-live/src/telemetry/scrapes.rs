//! Exporters, asked side by side, each on a thread of its own: one that hangs holds nobody else up.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::missing::{MOST, MissingSignal};
use super::scrape::{self, ScrapeResult, ScrapeTarget};

/// The most exporters that are asked at once. Whoever was asked longest ago is next.
const AT_ONCE: usize = 16;

/// What came of an exporter: what it said, and what it lacks.
type ScrapeAnswer = (Option<ScrapeResult>, Vec<MissingSignal>);

/// One exporter.
struct ExporterWorker {
    target: ScrapeTarget,
    /// Where its answer comes, while it is asked.
    pending: Option<Receiver<ScrapeAnswer>>,
    /// Whether it is to be asked.
    is_due: bool,
    /// The number of the question that it was asked last.
    asked: u64,
    /// Its last answer, and when it came.
    last: Option<(Instant, ScrapeAnswer)>,
}

/// All exporters that are asked.
#[derive(Default)]
pub(super) struct ScrapePool {
    all: Vec<ExporterWorker>,
    /// How many questions were asked.
    asked: u64,
}

impl ScrapePool {
    /// Asks all of these, but those of whom an answer is awaited still. Others are forgotten.
    pub(super) fn ask(&mut self, targets: &[ScrapeTarget], limit: Duration) {
        let mut before = std::mem::take(&mut self.all);
        for target in targets.iter().take(MOST) {
            // The list may have changed since the last sample. An exporter that stays in it keeps
            // its pending answer.
            let known = before.iter().position(|worker| worker.target == *target);
            let mut worker = known.map_or_else(
                || ExporterWorker {
                    target: target.clone(),
                    pending: None,
                    is_due: false,
                    asked: 0,
                    last: None,
                },
                |at| before.swap_remove(at),
            );
            worker.hear(Duration::ZERO);
            worker.is_due = worker.pending.is_none();
            self.all.push(worker);
        }
        self.fill(limit);
    }

    /// Asks those whose turn it is.
    fn fill(&mut self, limit: Duration) {
        let awaited = self
            .all
            .iter()
            .filter(|worker| worker.pending.is_some())
            .count();
        for _ in awaited..AT_ONCE {
            let due = self.all.iter_mut().filter(|worker| worker.is_due);
            let Some(worker) = due.min_by_key(|worker| worker.asked) else {
                return;
            };
            self.asked += 1;
            worker.asked = self.asked;
            worker.ask(limit);
        }
    }

    /// Waits for answers: until all are there, or for so long at most.
    pub(super) fn wait(&mut self, patience: Option<Duration>, limit: Duration) {
        let until = patience.map(|duration| Instant::now() + duration);
        loop {
            for worker in &mut self.all {
                // A thread ends by the limit of its question, so this is only a bound on each wait.
                let left = until.map_or(Duration::from_secs(60), |until| {
                    until.saturating_duration_since(Instant::now())
                });
                worker.hear(left);
            }
            // Each answer that has come makes room for another question.
            self.fill(limit);
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            if is_over || self.all.iter().all(|worker| worker.pending.is_none()) {
                return;
            }
        }
    }

    /// The last answer of each, with its age; who has never answered is missing.
    pub(super) fn answers(&self) -> (Vec<ScrapeResult>, Vec<MissingSignal>) {
        let (mut scraped, mut missing) = (Vec::new(), Vec::new());
        for worker in &self.all {
            let Some((at, (said, lacks))) = &worker.last else {
                missing.push(MissingSignal::new(
                    &worker.target.url,
                    "it has not answered yet",
                ));
                continue;
            };
            let age_ms = u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
            scraped.extend(said.clone().map(|scrape| ScrapeResult { age_ms, ..scrape }));
            missing.extend(lacks.iter().cloned());
        }
        (scraped, missing)
    }
}

impl ExporterWorker {
    /// Asks on a thread, which ends by the limit.
    fn ask(&mut self, limit: Duration) {
        self.is_due = false;
        let (to, answer) = channel();
        let target = self.target.clone();
        let work = move || {
            // Nobody may wait for it any more.
            let _ = to.send(scrape::scrape(&target, limit));
        };
        let begun = thread::Builder::new().name("exporter".to_owned());
        match begun.spawn(work) {
            Ok(_) => self.pending = Some(answer),
            Err(error) => self.fails(&format!("no thread can ask it: {error}")),
        }
    }

    /// Takes its answer, if it comes within this time.
    fn hear(&mut self, within: Duration) {
        let Some(answer) = &self.pending else { return };
        match answer.recv_timeout(within) {
            Ok(answer) => self.last = Some((Instant::now(), answer)),
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => self.fails("its answer could not be read"),
        }
        self.pending = None;
    }

    fn fails(&mut self, why: &str) {
        let missing = vec![MissingSignal::new(&self.target.url, why)];
        self.last = Some((Instant::now(), (None, missing)));
    }
}
