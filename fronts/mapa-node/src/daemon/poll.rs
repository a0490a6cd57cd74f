//! Polls the ledger, the drivers and the counters, and sends the differences to the scheduler as events.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mapa_core::DeviceId;
use mapa_live::{DriverSnapshot, Live};
use mapa_sched::{DriverView, Event, Tenant};

use super::driver::{DriverNews, NodeDriver, now_ms};
use super::events::{InvalidTicket, LedgerSnapshot};
use super::sampling::GONE;
use crate::acquire::{snapshot_of, turn};
use crate::error::Error;
use crate::foreign::Stray;
use crate::foreign::driver_snapshot;
use crate::leader;
use crate::ledger::Durability;
use crate::node::Node;
use crate::recover::{recover, recover_leases};

/// How often it is looked whether those who wait are still there.
const RECOVERY: Duration = Duration::from_secs(1);

impl NodeDriver<'_> {
    /// Polls the ledger, the drivers and the counters, and puts the differences on the timeline.
    pub(super) fn poll(&mut self) -> Result<(), Error> {
        let poll = Duration::from_millis(self.config.queue.poll_ms.0);
        self.poll_at = Instant::now() + poll;
        // Expired throttles are reverted even while drivers do not answer.
        self.tick_levers()?;
        let drivers = match self.drivers() {
            Ok(drivers) => drivers,
            Err(error) => {
                // The users of devices are unknown: nothing is decided until the drivers answer again.
                self.reporter.error("drivers", &error.to_string());
                return self.change(Durability::Boot, |_| Ok(()));
            }
        };
        if self.mig.update(&drivers) || self.is_stale {
            self.reload()?;
        } else if !self.node.is_current(&drivers) {
            self.renew()?;
        }
        // A scheduler that has the graph of before decides nothing more.
        if self.is_stale || self.is_regraphed {
            return self.change(Durability::Boot, |_| Ok(()));
        }
        let (leader, processes) = (&self.leader, self.processes);
        let (known, node) = (&self.known, &self.node);
        // Of thousands who wait, each is looked for only now and then: whoever has gone meanwhile and gets devices gives
        // them back at the next poll.
        let begun = Instant::now();
        let is_whole = begun >= self.recover_at;
        let (found, faults) = self.ledger.change(Durability::Boot, |books| {
            leader::heartbeat(books, leader)?;
            let owner = &leader.owner;
            let recovered = if is_whole {
                recover(books, processes, owner)?
            } else {
                recover_leases(books, processes, owner)?
            };
            let seen = snapshot_of(books, node, processes, owner, (&drivers, recovered))?;
            let found = LedgerSnapshot::new(books, seen, known)?;
            Ok((found, books.faults(processes.boot())?))
        })?;
        if is_whole {
            // It takes a twentieth of the time at most.
            let took = begun.elapsed();
            self.recover_at = Instant::now() + RECOVERY.max(20 * took);
        }
        self.reporter.degraded(&self.node, &faults);
        let mut invalid = Vec::new();
        let mut known = std::mem::take(&mut self.known);
        let events = self.reading().diff(&mut known, &found, &mut invalid);
        self.known = known;
        let at = self.now();
        for event in events {
            if let Some(job) = event.leaves() {
                self.levers.left(job, &mut self.reporter);
            }
            self.timeline.put(at, event);
        }
        self.leases.clear();
        for lease in &found.seen.recovered.leases {
            if let Some(reported) = self.known.leases.get(&lease.id) {
                let held = found.held(lease.id).to_vec();
                self.leases.insert(reported.job, (lease.clone(), held));
            }
        }
        self.reporter.queue(found.waiting.len(), self.leases.len());
        self.tell_strays(&found.seen.strays);
        self.refuse(invalid)?;
        self.levers.sample_interrupts();
        self.sample();
        Ok(())
    }

    /// Takes the newest sample of the counters, for the scheduler and for the control of latencies.
    pub(super) fn sample(&mut self) {
        let at = self.now();
        let Some(sampler) = &mut self.sampler else {
            return;
        };
        if sampler.is_gone() {
            self.reporter.error("counters", GONE);
        }
        let Some((sample, read, signals)) = sampler.sample(&self.node) else {
            return;
        };
        if let Some(signals) = signals {
            self.timeline.put(at, Event::Signals(signals));
        }
        // Only the control of latencies needs more than the signals.
        #[cfg(not(feature = "slo"))]
        let _ = (sample, read);
        #[cfg(feature = "slo")]
        if let Some(slo) = &mut self.slo {
            slo.sampled(sample, read);
        }
    }

    /// Device status and device processes, as the drivers report them now.
    pub(super) fn drivers(&self) -> Result<DriverSnapshot, Error> {
        if !self.config.queue.check_drivers {
            return Ok(DriverSnapshot::default());
        }
        driver_snapshot(&self.node, self.live)
    }

    /// Refuses tickets that this machine cannot serve.
    pub(super) fn refuse(&mut self, invalid: Vec<InvalidTicket>) -> Result<(), Error> {
        for ticket in invalid {
            let why = format!("infeasible: {}", ticket.why);
            self.change(Durability::Boot, |books| {
                books.record_refusal(ticket.ticket, &why)
            })?;
            self.reporter.refused("infeasible");
            self.tell_answered(ticket.ticket);
        }
        Ok(())
    }

    /// Tells the owners of leases which of their processes compute elsewhere, once.
    fn tell_strays(&mut self, strays: &[Stray]) {
        self.told_strays.retain(|told| strays.contains(told));
        for stray in strays {
            if self.told_strays.insert(stray.clone()) {
                let text = format!("{}: others do not get this device", stray.why);
                self.tell(DriverNews::Notice {
                    lease: stray.lease,
                    text,
                });
            }
        }
    }

    /// Reverts expired changes.
    pub(super) fn tick_levers(&mut self) -> Result<(), Error> {
        let is_partitioned = self.levers.tick(now_ms(), &mut self.reporter);
        if is_partitioned && self.node.is_live() {
            self.reload()?;
        }
        Ok(())
    }

    /// Reads the machine anew: instances have other names after a repartition. If its drivers fail, it is as
    /// little known as while they do not answer: the next poll tries again, and nothing is decided before.
    ///
    /// # Errors
    /// The machine has other devices than before; the ledger fails.
    pub(super) fn reload(&mut self) -> Result<(), Error> {
        self.is_stale = true;
        let mut live = self.live.clone();
        live.refresh = true;
        match self.load(&live) {
            Ok(node) if node.has_devices_of(&self.node) => self.replace(node),
            Ok(_) => Err(Error::at(
                "the machine",
                "it has other devices than before: expected a restart of the daemon, which adopts what runs",
            )),
            Err(why) => {
                self.reporter.error("drivers", &why);
                Ok(())
            }
        }
    }

    /// Takes over the present links of the machine. Until that succeeds, decisions are made on the links of before,
    /// as a device that is lost takes the links of its neighbours with it: they must not all wait for it.
    fn renew(&mut self) -> Result<(), Error> {
        // What is kept has the devices that are lost now.
        let mut live = self.live.clone();
        live.refresh = false;
        match self.load(&live) {
            Ok(node) if node.has_devices_of(&self.node) => self.replace(node),
            Ok(_) => {
                let why = "links have changed, and devices are missing: its links count as before";
                self.reporter.error("links", why);
                Ok(())
            }
            Err(why) => {
                self.reporter.error("links", &why);
                Ok(())
            }
        }
    }

    /// The machine as its drivers describe it now.
    fn load(&self, live: &Live) -> Result<Node, String> {
        let loaded = Node::load(&self.machine, live, &mut |_| {});
        let loaded = loaded.map_err(|error| error.to_string());
        loaded.and_then(|node| whole(node, &self.node))
    }

    /// Goes on with another description of the same devices. A scheduler knows one graph as long as it runs, so if
    /// the graph is another one, the run ends, and the next one begins on it.
    fn replace(&mut self, mut node: Node) -> Result<(), Error> {
        let owner = self.leader.owner.clone();
        self.change(Durability::Disk, |books| node.bind(books, &owner))?;
        node.open_bare()?;
        self.is_regraphed |= node.graph() != self.node.graph();
        self.node = node;
        self.is_stale = false;
        Ok(())
    }

    /// Notes that this event may be refused.
    pub(super) fn adopts(&mut self, event: &Event) {
        let Event::Adopted { job, .. } = event else {
            return;
        };
        let mut leases = self.known.leases.iter();
        if let Some((&lease, _)) = leases.find(|(_, known_lease)| known_lease.job == job.id) {
            self.instant.adopting.push((lease, job.id));
        }
    }

    /// Leases that could not be adopted occupy their devices, so that nobody else gets them.
    pub(super) fn settle_adopted(&mut self, seen: DriverView<'_>) {
        for (lease, job) in std::mem::take(&mut self.instant.adopting) {
            if seen.fleet.lease_of(Tenant::Job(job)).is_some() {
                continue;
            }
            let Some((_, held)) = self.leases.get(&job) else {
                continue;
            };
            let graph = self.node.graph();
            let wholes: BTreeSet<DeviceId> =
                held.iter().map(|&id| graph.device(id).parent).collect();
            self.reporter.error(
                "leases",
                &format!("lease {lease} does not fit what is known: its devices are withheld"),
            );
            if let Some(known) = self.known.leases.get_mut(&lease) {
                known.occupies = wholes;
            }
        }
    }

    /// Says in the queue why each job waits.
    pub(super) fn say_why(&mut self) -> Result<(), Error> {
        let reason = turn(&self.leader.scheduler);
        if self.ledger.read(|books| books.all_wait_for(&reason))? {
            return Ok(());
        }
        self.change(Durability::Boot, |books| books.set_wait_reasons(&reason))
    }
}

/// A node of which the drivers have said as much as before. What they failed to say is not gone.
pub(super) fn whole(node: Node, before: &Node) -> Result<Node, String> {
    // Another source, which stands in for NVML while that is gone, knows less: instances, and who is lost.
    if before.is_by_nvml() && !node.is_by_nvml() {
        return Err("NVML has described this machine, and does not now".to_owned());
    }
    match node.unanswered() {
        Some(why) if before.unanswered() != Some(why) => Err(why.to_owned()),
        _ => Ok(node),
    }
}
