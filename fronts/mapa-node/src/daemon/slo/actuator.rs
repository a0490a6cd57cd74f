//! Carries out a controller's actions on the neighbours, by the levers of the daemon.

use std::cell::OnceCell;

use mapa_live::ProcessId;
use mapa_live::levers::{
    CgroupPath, Controller, Holder, LeverChange, LeverError, LeverEvent, Lifetime, MpsServer, Plan,
};
use mapa_system_slo::ControllerAction;
use tracing::info;

use super::config::{Neighbour, NeighbourRole, SloConfig};
use super::neighbours::{leases, processes};
use crate::daemon::changes::{self, LimitKind, LimitTarget};
use crate::daemon::driver::{NodeDriver, now_ms};

/// The levers of the controllers.
#[derive(Clone, Copy)]
pub(super) struct Actuator<'a> {
    /// The configuration.
    pub config: &'a SloConfig,
}

impl Actuator<'_> {
    /// What the configuration names for throttles and is not there. It may come later.
    pub(super) fn absent(self, driver: &mut NodeDriver<'_>) -> Vec<String> {
        let (levers, roots) = (&driver.config.levers, &driver.live.roots);
        let mut all = Vec::new();
        if !self.config.levers.throttle {
            return all;
        }
        let blocks = roots.sys.join("dev/block");
        for disk in &levers.block_devices {
            if !blocks.join(disk.to_string()).exists() {
                all.push(format!(
                    "levers.block_devices: this machine has no disk `{disk}`: expected one of /proc/diskstats"
                ));
            }
        }
        let neighbours = || self.config.neighbours.values();
        let copies = |neighbour: &Neighbour| neighbour.activity == NeighbourRole::Copy;
        if changes::disks_of(levers, roots).is_empty() && neighbours().any(copies) {
            all.push("levers.block_devices: no disk, so nobody who copies is throttled".to_owned());
        }
        if !neighbours().all(copies) {
            let server = MpsServer(levers.mps_pipe.clone());
            let why = match driver.levers.manager.levers().mps.is_running(&server) {
                Ok(true) => None,
                Ok(false) => Some(format!(
                    "no MPS control daemon answers at {}",
                    server.0.display()
                )),
                Err(why) => Some(why.to_string()),
            };
            all.extend(why.map(|why| format!("levers.mps_pipe: {why}")));
        }
        for (name, neighbour) in &self.config.neighbours {
            if let Some(file) = neighbour.pid_file.as_ref().filter(|file| !file.exists()) {
                let file = file.display();
                all.push(format!("slo.neighbours.{name}.pid_file: no file {file}"));
            }
            if let Some(group) = &neighbour.group
                && let Ok(Some((_, root))) = Controller::BlockIo.hierarchy(roots)
                && !root.join(group.path()).is_dir()
            {
                let folder = root.join(group.path());
                let folder = folder.display();
                all.push(format!("slo.neighbours.{name}.group: no folder {folder}"));
            }
        }
        all
    }

    /// Does what a tenant's controller orders to its neighbours. `from` is the place of the tenant.
    pub(super) fn carry_out(
        self,
        driver: &mut NodeDriver<'_>,
        tenant: &str,
        from: u32,
        order: &ControllerAction,
        tick: u64,
        now_ms: u64,
    ) {
        match order {
            ControllerAction::Throttle {
                until,
                io_mb_s,
                mps_percent,
            } => {
                let ticks = until.saturating_sub(tick);
                let until_ms = now_ms + ticks * self.config.settings.tick_ms.0;
                let lifetime = Lifetime::Until { ms: until_ms };
                self.throttle(driver, tenant, from, (*io_mb_s, *mps_percent), lifetime);
            }
            ControllerAction::Lift => {
                let who = of_tenant(tenant);
                driver
                    .levers
                    .free(|hand| hand.who == who, &mut driver.reporter);
            }
            // Tenants are handed over by `HandoverQueue`, and none is admitted here.
            ControllerAction::Relaunch { .. }
            | ControllerAction::Restore { .. }
            | ControllerAction::Admit { .. }
            | ControllerAction::Reject { .. } => {}
        }
    }

    fn throttle(
        self,
        driver: &mut NodeDriver<'_>,
        tenant: &str,
        place: u32,
        (io_mb_s, mps_percent): (u32, u32),
        lifetime: Lifetime,
    ) {
        for (name, neighbour) in &self.config.neighbours {
            if !neighbour.is_beside(place) {
                continue;
            }
            let changes = match neighbour.activity {
                NeighbourRole::Copy => self.block_io(driver, name, neighbour, io_mb_s, lifetime),
                NeighbourRole::Train => changes::mps(mps_percent, &driver.config.levers)
                    .map(|change| vec![(change, lifetime)]),
            };
            let changes = match changes {
                Ok(changes) => changes,
                Err(why) => {
                    let what = format!("neighbour {name} cannot be throttled: {why}");
                    driver.reporter.error("slo", &what);
                    continue;
                }
            };
            let holder = Holder::new(of_tenant(tenant), format!("neighbour {name}"));
            let mut is_held = false;
            for (change, lifetime) in changes {
                is_held |= self.apply(driver, &holder, &change, lifetime);
                // A lever that does not answer takes its time, and each has some.
                driver.reporter.ping_watchdog();
            }
            if is_held {
                driver.levers.manager.share(&holder);
            }
        }
    }

    /// Applies a change on a neighbour. True if it is held.
    fn apply(
        self,
        driver: &mut NodeDriver<'_>,
        holder: &Holder,
        change: &LeverChange,
        lifetime: Lifetime,
    ) -> bool {
        let whom = &holder.what;
        let event = driver
            .levers
            .manager
            .apply_for(holder, change, lifetime, now_ms());
        tell(driver, whom, &event);
        matches!(
            event,
            LeverEvent::Applied { .. } | LeverEvent::Extended { .. }
        )
    }

    /// The changes that limit the block I/O of a neighbour: where it has no control group of its own, it is put into one
    /// first.
    fn block_io(
        self,
        driver: &mut NodeDriver<'_>,
        name: &str,
        neighbour: &Neighbour,
        mb_s: u32,
        lifetime: Lifetime,
    ) -> Result<Vec<(LeverChange, Lifetime)>, String> {
        let mut targets = Vec::new();
        if let Some(group) = &neighbour.group {
            targets.push(LimitTarget {
                processes: Vec::new(),
                group: group.clone(),
                enrol: false,
            });
        } else if neighbour.tenant.is_some() {
            let jobs: Vec<_> = leases(neighbour, driver).map(|(job, _)| job).collect();
            for job in jobs {
                targets.push(driver.target(job, LimitKind::BlockIo)?);
            }
        } else {
            let group = CgroupPath::new(format!("{}/slo-{name}", driver.config.levers.group));
            let processes: Vec<ProcessId> = processes(neighbour, driver, &OnceCell::new());
            if !processes.is_empty() {
                targets.push(LimitTarget {
                    processes,
                    group: group.map_err(|error| error.to_string())?,
                    enrol: true,
                });
            }
        }
        if targets.is_empty() {
            return Err("no process of it runs".to_owned());
        }
        let (levers, roots) = (&driver.config.levers, &driver.live.roots);
        let of = |target: &LimitTarget| changes::block_io(target, mb_s, lifetime, levers, roots);
        let all: Result<Vec<_>, String> = targets.iter().map(of).collect();
        Ok(all?.concat())
    }
}

/// A tenant as the holder of changes.
pub(super) fn of_tenant(tenant: &str) -> String {
    format!("tenant {tenant}")
}

/// Reports the result of a change.
pub(super) fn tell(driver: &mut NodeDriver<'_>, whom: &str, event: &LeverEvent) {
    let levers = &driver.levers;
    if levers.report_rehearsed(event, whom, &mut driver.reporter) {
        return;
    }
    let what = match event {
        LeverEvent::Applied { id, lever } => {
            info!(id, lever, whom, "change applied");
            return;
        }
        LeverEvent::Failed { failure, .. } => (&failure.lever, format!("{whom}: {failure}")),
        LeverEvent::Refused { lever, why } => {
            (lever, format!("{whom}: {lever} was refused: {why}"))
        }
        _ => return driver.levers.report_revert(event, &mut driver.reporter),
    };
    driver.reporter.lever_failed(what.0, "apply");
    driver.reporter.error("slo", &what.1);
}

/// Tells what a dry run would do.
pub(super) fn print(driver: &mut NodeDriver<'_>, whom: &str, plan: Result<Plan, LeverError>) {
    match plan {
        Ok(plan) => driver.reporter.dry_run(&format!("{whom}: {plan}")),
        Err(why) => driver
            .reporter
            .dry_run(&format!("{whom}: it would be refused: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use mapa_live::Roots;
    use mapa_live::levers::SimulatedMachine;

    use super::*;
    use crate::daemon::driver_tests::Base;
    use crate::daemon::parse_toml;

    const TEXT: &str = "[service]\nlatencies = \"l\"\n[levers]\nblock_devices = [\"254:0\"]\n\
        [slo.tenants.a]\nlatency_slo_ms = 15\n[slo.tenants.b]\nlatency_slo_ms = 15\n\
        [slo.neighbours.x]\nactivity = \"train\"\ngroup = \"x\"\nplaces = [0]\n\
        [slo.neighbours.y]\nactivity = \"train\"\ngroup = \"y\"\nplaces = [1]\n";

    fn base(text: &str) -> Base {
        let mut base = Base::new();
        base.config = parse_toml(text).unwrap();
        base
    }

    fn actuator(base: &Base) -> Actuator<'_> {
        Actuator {
            config: base.config.slo.as_ref().unwrap(),
        }
    }

    fn throttle(until: u64) -> ControllerAction {
        ControllerAction::Throttle {
            until,
            io_mb_s: 500,
            mps_percent: 50,
        }
    }

    #[test]
    fn a_group_of_two_neighbours_is_limited_as_long_as_one_of_them_needs_it() {
        let text = TEXT.replace("train", "copy").replace("\"y\"", "\"x\"");
        let base = base(&text);
        let actuator = actuator(&base);
        let twin = SimulatedMachine::with_group("x").unwrap();
        let (mut driver, _outside) = base.driver_with(twin.levers());
        let before = twin.state();
        let now = now_ms();
        actuator.carry_out(&mut driver, "a", 0, &throttle(30), 0, now);
        actuator.carry_out(&mut driver, "b", 1, &throttle(30), 0, now);
        let limited = twin.state();
        assert_ne!(limited, before);
        actuator.carry_out(&mut driver, "a", 0, &ControllerAction::Lift, 1, now);
        assert_eq!(twin.state(), limited, "`y` is throttled");
        actuator.carry_out(&mut driver, "b", 1, &ControllerAction::Lift, 2, now);
        assert_eq!(twin.state(), before);
    }

    #[test]
    fn a_share_of_two_neighbours_holds_as_long_as_one_of_them_needs_it() {
        let base = base(TEXT);
        let actuator = actuator(&base);
        let twin = SimulatedMachine::new();
        twin.add_mps(&MpsServer(base.config.levers.mps_pipe.clone()), &[7]);
        let (mut driver, _outside) = base.driver_with(twin.levers());
        let before = twin.state();
        let now = now_ms();
        // A tenant at place 0 throttles `x` for 30 ticks, one at place 1 `y` for 10: the same share.
        actuator.carry_out(&mut driver, "a", 0, &throttle(30), 0, now);
        actuator.carry_out(&mut driver, "b", 1, &throttle(10), 0, now);
        assert_ne!(twin.state(), before);
        driver.levers.tick(now + 20_000, &mut driver.reporter);
        assert_ne!(twin.state(), before, "the first one's time is not over");
        actuator.carry_out(&mut driver, "b", 1, &ControllerAction::Lift, 20, now);
        assert_ne!(twin.state(), before, "`x` is throttled");
        actuator.carry_out(&mut driver, "a", 0, &ControllerAction::Lift, 20, now);
        assert_eq!(twin.state(), before);
        assert_eq!(driver.levers.manager.active().count(), 0);
    }

    #[test]
    fn a_neighbour_that_holds_a_lease_is_limited_where_its_lease_is() {
        let text = TEXT.replace("\"train\"\ngroup = \"x\"", "\"copy\"\ntenant = \"etl\"");
        let base = base(&text);
        let actuator = actuator(&base);
        let twin = SimulatedMachine::with_group("mapa").unwrap();
        let (mut driver, _outside) = base.driver_with(twin.levers());
        actuator.carry_out(&mut driver, "a", 0, &throttle(30), 0, now_ms());
        assert_eq!(
            driver.levers.manager.active().count(),
            0,
            "it holds none yet"
        );
        let status = driver.reporter.status();
        let what = &status.errors[0].error;
        assert!(what.contains("x cannot be throttled: no process"), "{what}");
    }

    #[test]
    fn what_the_configuration_names_and_is_not_there_is_reported() {
        let tree = tempfile::tempdir().unwrap();
        let pid_file = tree.path().join("y.pid");
        let text = TEXT.replacen("train", "copy", 1).replace(
            "group = \"y\"",
            &format!("pid_file = \"{}\"", pid_file.display()),
        );
        let mut base = base(&text);
        let roots = Roots::below(tree.path());
        std::fs::create_dir_all(&roots.cgroup).unwrap();
        std::fs::write(roots.cgroup.join("cgroup.controllers"), "cpuset io\n").unwrap();
        base.live.roots = roots.clone();
        let actuator = actuator(&base);
        let twin = SimulatedMachine::new();
        let (mut driver, _outside) = base.driver_with(twin.levers());
        let missing = actuator.absent(&mut driver);
        let expected = [
            "levers.block_devices: this machine has no disk `254:0`",
            "levers.mps_pipe: ",
            "slo.neighbours.x.group: no folder ",
            "slo.neighbours.y.pid_file: no file ",
        ];
        assert_eq!(missing.len(), expected.len(), "{missing:?}");
        for (message, expected) in missing.iter().zip(expected) {
            assert!(message.starts_with(expected), "{message}");
        }
        std::fs::create_dir_all(roots.sys.join("dev/block/254:0")).unwrap();
        std::fs::create_dir(roots.cgroup.join("x")).unwrap();
        std::fs::write(&pid_file, "1\n").unwrap();
        twin.add_mps(&MpsServer(base.config.levers.mps_pipe.clone()), &[7]);
        assert_eq!(actuator.absent(&mut driver), [""; 0]);
    }
}
