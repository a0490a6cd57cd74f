//! Hand-overs of tenants, on a thread of their own: a place may need minutes until it is ready, and meanwhile
//! throttles must end in time, and systemd must hear that the loop lives.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mapa_live::levers::{FolderJournal, Keeper, LeverFact, Lifetime, Pull};
use mapa_system_slo::Relaunched;
use tracing::warn;

use super::actuator::{print, tell};
use super::config::Config;
use crate::drive::now_ms;
use crate::error::Error;
use crate::undone::Undone;

/// How often what could not be taken back is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// How long the end of the program waits for a hand-over: systemd waits for 30 seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A hand-over to be done.
struct Move {
    number: u64,
    tenant: String,
    to: u32,
    warm: bool,
}

/// What became of a hand-over.
pub(super) struct Moved {
    /// Its number.
    pub number: u64,
    /// The tenant.
    pub tenant: String,
    /// What became of it.
    pub became: Relaunched,
}

/// Hand-overs, one after the other.
pub(super) struct Moves {
    to: Sender<Move>,
    done: Receiver<Moved>,
    worker: JoinHandle<()>,
    is_over: Arc<AtomicBool>,
    last: u64,
}

/// What does them.
struct Worker {
    config: Config,
    keeper: Keeper<FolderJournal>,
    is_dry: bool,
    undone: Undone,
    /// Where each tenant runs.
    at: BTreeMap<String, u32>,
}

impl Moves {
    /// Begins, with tenants that are at these places.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn begin(
        config: &Config,
        keeper: Keeper<FolderJournal>,
        is_dry: bool,
        at: BTreeMap<String, u32>,
    ) -> Result<Self, Error> {
        let (to, orders) = channel();
        let (told, done) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let worker = Worker {
            config: config.clone(),
            keeper,
            is_dry,
            undone: Undone::default(),
            at,
        };
        let over = is_over.clone();
        let worker = thread::Builder::new()
            .name("moves".to_owned())
            .spawn(move || worker.work(&orders, &told, &over))
            .map_err(|error| Error::at("hand-overs", error))?;
        Ok(Self {
            to,
            done,
            worker,
            is_over,
            last: 0,
        })
    }

    /// Has a tenant handed over to a place. Returns the number of the hand-over.
    pub(super) fn order(&mut self, tenant: &str, to: u32, warm: bool) -> u64 {
        self.last += 1;
        // Nobody is there to take it only after a panic, and then nothing is told of it: the controller gives it up.
        let _ = self.to.send(Move {
            number: self.last,
            tenant: tenant.to_owned(),
            to,
            warm,
        });
        self.last
    }

    /// What has been done since the last question.
    pub(super) fn done(&self) -> impl Iterator<Item = Moved> + '_ {
        self.done.try_iter()
    }

    /// Ends. A hand-over that is under way has some time; of one that takes longer the next start takes back
    /// what there is of it.
    pub(super) fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.to);
        let begun = Instant::now();
        while !self.worker.is_finished() {
            if begun.elapsed() > PATIENCE {
                warn!("a hand-over is under way: the next start takes it back");
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Worker {
    fn work(mut self, orders: &Receiver<Move>, told: &Sender<Moved>, is_over: &AtomicBool) {
        loop {
            let next = orders.recv_timeout(RETRY);
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            match next {
                Ok(order) => {
                    let became = self.carry_out(&order);
                    let moved = Moved {
                        number: order.number,
                        tenant: order.tenant,
                        became,
                    };
                    if told.send(moved).is_err() {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let facts = self.keeper.tick(now_ms());
            facts.iter().for_each(|fact| tell(fact, &mut self.undone));
        }
        let facts = self.keeper.close();
        facts.iter().for_each(|fact| tell(fact, &mut self.undone));
    }

    fn carry_out(&mut self, order: &Move) -> Relaunched {
        let own = &self.config.tenants[&order.tenant];
        let Some(at) = self.at.get_mut(&order.tenant) else {
            return Relaunched::Failed;
        };
        // A hand-over that its controller has given up may have been done after all, or not: what counts is where the
        // tenant is.
        if *at == order.to {
            return Relaunched::Done;
        }
        let places = (
            own.places.get(*at as usize),
            own.places.get(order.to as usize),
        );
        let (Some(old), Some(new)) = places else {
            return Relaunched::Failed;
        };
        let pull = Pull::HandOver {
            old: old.clone(),
            new: new.clone(),
            route: Config::route_of(own, new),
            warm: order.warm,
        };
        if self.is_dry {
            print(&order.tenant, self.keeper.plan(&pull));
            return Relaunched::Failed;
        }
        let fact = self.keeper.pull(&pull, Lifetime::Kept, now_ms());
        tell(&fact, &mut self.undone);
        match fact {
            LeverFact::Pulled { .. } | LeverFact::Extended { .. } | LeverFact::Unchanged { .. } => {
                *at = order.to;
                Relaunched::Done
            }
            _ => Relaunched::Failed,
        }
    }
}
