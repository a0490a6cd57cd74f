//! What a controller orders, done to neighbours and tenants of this machine.

use std::collections::{BTreeMap, BTreeSet};

use mapa_live::levers::{
    Controller, FolderJournal, Group, Keeper, LeverFact, Lifetime, Limits, MpsServer, Pull,
};
use mapa_live::{ProcessId, Roots};
use mapa_sched::slo::{Order, Relaunched};
use tracing::{info, warn};

use super::config::{Config, Does, Neighbour};
use super::eyes::processes;
use crate::process::Processes;

/// The levers of the controllers.
pub(super) struct Hands<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The roots of the system's files.
    pub roots: &'a Roots,
    /// The processes of this boot.
    pub processes: &'a Processes,
    /// The levers, with what they hold.
    pub keeper: Keeper<FolderJournal>,
    /// Whether nothing is done but told.
    pub is_dry: bool,
    /// By neighbour: the tenants for whom it is throttled.
    pub throttled: BTreeMap<String, BTreeSet<String>>,
    /// By neighbour: its pulls.
    pub held: BTreeMap<String, Vec<u64>>,
}

impl Hands<'_> {
    /// Takes back what is past its time.
    pub(super) fn tick(&mut self, now_ms: u64) {
        for fact in self.keeper.tick(now_ms) {
            self.told(&fact);
        }
    }

    /// Takes everything back.
    pub(super) fn close(&mut self) {
        for fact in self.keeper.close() {
            self.told(&fact);
        }
    }

    fn told(&mut self, fact: &LeverFact) {
        match fact {
            LeverFact::Undone { id, lever } => {
                info!(id, lever, "taken back");
                for own in self.held.values_mut() {
                    own.retain(|other| other != id);
                }
            }
            LeverFact::NotUndone { id, lever, left } => {
                warn!(id, lever, left = ?left, "could not be taken back: tried again");
            }
            LeverFact::Failed { failure, .. } => warn!(%failure, "a lever failed"),
            LeverFact::Refused { lever, why } => warn!(lever, %why, "a lever was refused"),
            LeverFact::Pulled { id, lever } => info!(id, lever, "pulled"),
            _ => {}
        }
    }

    /// Does what a tenant's controller orders. What became of a relaunch is told in the next tick.
    pub(super) fn carry_out(
        &mut self,
        tenant: &str,
        from: u32,
        order: &Order,
        tick: u64,
        now_ms: u64,
    ) -> Option<Relaunched> {
        match order {
            Order::Throttle {
                until,
                io_mb_s,
                mps_percent,
            } => {
                let ticks = until.saturating_sub(tick);
                let until = now_ms + ticks * self.config.settings.tick_ms.0;
                self.throttle(tenant, from, *io_mb_s, *mps_percent, until, now_ms);
                None
            }
            Order::Lift => {
                self.lift(tenant);
                None
            }
            Order::Relaunch { to, warm, .. } => Some(self.relaunch(tenant, from, to.place, *warm)),
            Order::Restore { to } => {
                let _ = self.relaunch(tenant, from, to.place, true);
                None
            }
            Order::Admit { .. } | Order::Reject { .. } => None,
        }
    }

    fn throttle(
        &mut self,
        tenant: &str,
        place: u32,
        io_mb_s: u32,
        mps_percent: u32,
        until_ms: u64,
        now_ms: u64,
    ) {
        let config = self.config;
        for (name, own) in &config.neighbours {
            if !(own.places.is_empty() || own.places.contains(&place)) {
                continue;
            }
            let lifetime = Lifetime::Until { ms: until_ms };
            let pulls = match own.does {
                Does::Copies => self.block_io(name, own, io_mb_s, lifetime),
                Does::Trains => Ok(vec![(
                    Pull::MpsPercent {
                        server: MpsServer(config.levers.mps_pipe.clone()),
                        percent: mps_percent,
                    },
                    lifetime,
                )]),
            };
            let pulls = match pulls {
                Ok(pulls) => pulls,
                Err(why) => {
                    warn!(neighbour = name, why, "cannot be throttled");
                    continue;
                }
            };
            let mut is_held = false;
            for (pull, lifetime) in pulls {
                is_held |= self.pull(name, &pull, lifetime, now_ms);
            }
            if is_held {
                let by = self.throttled.entry(name.clone()).or_default();
                by.insert(tenant.to_owned());
            }
        }
    }

    /// Pulls a lever on a neighbour. True if it is held.
    fn pull(&mut self, neighbour: &str, pull: &Pull, lifetime: Lifetime, now_ms: u64) -> bool {
        if self.is_dry {
            match self.keeper.plan(pull) {
                Ok(plan) => {
                    for line in plan.to_string().lines() {
                        info!(neighbour, would = line, "dry run");
                    }
                }
                Err(why) => warn!(neighbour, %why, "dry run: it would be refused"),
            }
            return false;
        }
        let fact = self.keeper.pull(pull, lifetime, now_ms);
        self.told(&fact);
        match fact {
            LeverFact::Pulled { id, .. } | LeverFact::Extended { id, .. } => {
                let own = self.held.entry(neighbour.to_owned()).or_default();
                if !own.contains(&id) {
                    own.push(id);
                }
                true
            }
            _ => false,
        }
    }

    fn block_io(
        &self,
        name: &str,
        own: &Neighbour,
        mb_s: u32,
        lifetime: Lifetime,
    ) -> Result<Vec<(Pull, Lifetime)>, String> {
        let levers = &self.config.levers;
        let mut pulls = Vec::new();
        let group = match &own.group {
            Some(group) => Group::new(group).map_err(|error| error.to_string())?,
            None => {
                let group = Group::new(format!("{}/slo-{name}", levers.group))
                    .map_err(|error| error.to_string())?;
                let processes: Vec<ProcessId> = processes(own, self.roots, self.processes);
                if processes.is_empty() {
                    return Err("no process of it runs".to_owned());
                }
                for process in processes {
                    let pull = Pull::Enrol {
                        process: Some(process),
                        group: group.clone(),
                        controllers: vec![Controller::BlockIo],
                    };
                    pulls.push((pull, Lifetime::Session));
                }
                group
            }
        };
        if levers.block_devices.is_empty() {
            return Err("expected a disk in `levers.block_devices`".to_owned());
        }
        for &device in &levers.block_devices {
            let pull = Pull::BlockIo {
                group: group.clone(),
                device,
                limits: Limits::mb_s(mb_s),
            };
            pulls.push((pull, lifetime));
        }
        Ok(pulls)
    }

    /// Lifts the throttles for a tenant, but for those that another one needs.
    pub(super) fn lift(&mut self, tenant: &str) {
        let mut free = Vec::new();
        self.throttled.retain(|name, by| {
            by.remove(tenant);
            if by.is_empty() {
                free.push(name.clone());
            }
            !by.is_empty()
        });
        for name in free {
            for id in self
                .held
                .remove(&name)
                .unwrap_or_default()
                .into_iter()
                .rev()
            {
                if let Some(fact) = self.keeper.undo(id) {
                    self.told(&fact);
                }
            }
        }
    }

    fn relaunch(&mut self, tenant: &str, from: u32, to: u32, warm: bool) -> Relaunched {
        let own = &self.config.tenants[tenant];
        let places = (own.places.get(from as usize), own.places.get(to as usize));
        let (Some(old), Some(new)) = places else {
            return Relaunched::Failed;
        };
        if from == to {
            return Relaunched::Done;
        }
        let pull = Pull::HandOver {
            old: old.clone(),
            new: new.clone(),
            route: Config::route_of(own, new),
            warm,
        };
        if self.is_dry {
            self.pull(tenant, &pull, Lifetime::Kept, 0);
            return Relaunched::Failed;
        }
        let fact = self.keeper.pull(&pull, Lifetime::Kept, 0);
        self.told(&fact);
        match fact {
            LeverFact::Pulled { .. } | LeverFact::Extended { .. } | LeverFact::Unchanged { .. } => {
                Relaunched::Done
            }
            _ => Relaunched::Failed,
        }
    }
}
