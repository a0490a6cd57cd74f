//! What a controller orders, done to neighbours and tenants of this machine.

use std::cell::OnceCell;

use mapa_live::levers::{
    Controller, FolderJournal, Group, Holder, Keeper, LeverError, LeverFact, Lifetime, Limits,
    MpsServer, Plan, Pull,
};
use mapa_live::{ProcessId, Processes, Roots};
use mapa_system_slo::Order;
use tracing::{info, warn};

use super::config::{Config, Does, Neighbour};
use super::neighbours::processes;
use crate::undone::Undone;

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
    /// What could not be taken back, as it was told.
    pub undone: Undone,
}

impl Hands<'_> {
    /// What the configuration names for throttles and is not there. It may come later.
    pub(super) fn absent(&mut self) -> Vec<String> {
        let levers = &self.config.levers;
        let mut all = Vec::new();
        if !levers.throttle {
            return all;
        }
        let blocks = self.roots.sys.join("dev/block");
        for disk in &levers.block_devices {
            if !blocks.join(disk.to_string()).exists() {
                all.push(format!(
                    "levers.block_devices: this machine has no disk `{disk}`: expected one of /proc/diskstats"
                ));
            }
        }
        let copies = |own: &Neighbour| own.does == Does::Copies;
        if levers.block_devices.is_empty() && self.config.neighbours.values().any(copies) {
            all.push("levers.block_devices: no disk, so nobody who copies is throttled".to_owned());
        }
        if !self.config.neighbours.values().all(copies) {
            let server = MpsServer(levers.mps_pipe.clone());
            let why = match self.keeper.hands().mps.is_running(&server) {
                Ok(true) => None,
                Ok(false) => Some(format!(
                    "no MPS control daemon answers at {}",
                    server.0.display()
                )),
                Err(why) => Some(why.to_string()),
            };
            all.extend(why.map(|why| format!("levers.mps_pipe: {why}")));
        }
        for (name, own) in &self.config.neighbours {
            if let Some(file) = own.pid_file.as_ref().filter(|own| !own.exists()) {
                let file = file.display();
                all.push(format!("neighbours.{name}.pid_file: no file {file}"));
            }
            if let Some(group) = &own.group
                && let Ok(Some((_, root))) = Controller::BlockIo.hierarchy(self.roots)
                && !root.join(group.path()).is_dir()
            {
                let folder = root.join(group.path());
                let folder = folder.display();
                all.push(format!("neighbours.{name}.group: no folder {folder}"));
            }
        }
        all
    }

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
        tell(fact, &mut self.undone);
    }

    /// Does what a tenant's controller orders to its neighbours.
    pub(super) fn carry_out(
        &mut self,
        tenant: &str,
        from: u32,
        order: &Order,
        tick: u64,
        now_ms: u64,
    ) {
        match order {
            Order::Throttle {
                until,
                io_mb_s,
                mps_percent,
            } => {
                let ticks = until.saturating_sub(tick);
                let until = now_ms + ticks * self.config.settings.tick_ms.0;
                self.throttle(tenant, from, *io_mb_s, *mps_percent, until, now_ms);
            }
            Order::Lift => self.lift(tenant),
            // Tenants are handed over by `Moves`, and none is admitted here.
            Order::Relaunch { .. }
            | Order::Restore { .. }
            | Order::Admit { .. }
            | Order::Reject { .. } => {}
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
            let holder = Holder::new(tenant, name);
            let mut is_held = false;
            for (pull, lifetime) in pulls {
                is_held |= self.pull(&holder, &pull, lifetime, now_ms);
            }
            if is_held {
                self.keeper.share(&holder);
            }
        }
    }

    /// Pulls a lever on a neighbour. True if it is held.
    fn pull(&mut self, holder: &Holder, pull: &Pull, lifetime: Lifetime, now_ms: u64) -> bool {
        if self.is_dry {
            print(&holder.what, self.keeper.plan(pull));
            return false;
        }
        let fact = self.keeper.pull_for(holder, pull, lifetime, now_ms);
        self.told(&fact);
        matches!(fact, LeverFact::Pulled { .. } | LeverFact::Extended { .. })
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
            Some(group) => group.clone(),
            None => {
                let group = Group::new(format!("{}/slo-{name}", levers.group.path()))
                    .map_err(|error| error.to_string())?;
                let processes: Vec<ProcessId> =
                    processes(own, self.roots, self.processes, &OnceCell::new());
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
        for fact in self.keeper.free(|own| own.who == tenant) {
            self.told(&fact);
        }
    }
}

/// Logs what became of a pull. What cannot be taken back is logged when that is news.
pub(super) fn tell(fact: &LeverFact, undone: &mut Undone) {
    if !undone.is_news(fact) {
        return;
    }
    match fact {
        LeverFact::Undone { id, lever } => info!(id, lever, "taken back"),
        LeverFact::NotUndone { id, lever, left } => {
            warn!(id, lever, left = ?left, "could not be taken back: tried again");
        }
        LeverFact::Failed { failure, .. } => warn!(%failure, "a lever failed"),
        LeverFact::Refused { lever, why } => warn!(lever, %why, "a lever was refused"),
        LeverFact::Pulled { id, lever } => info!(id, lever, "pulled"),
        _ => {}
    }
}

/// Logs a dry run.
pub(super) fn print(whom: &str, plan: Result<Plan, LeverError>) {
    match plan {
        Ok(plan) => {
            for line in plan.to_string().lines() {
                info!(whom, would = line, "dry run");
            }
        }
        Err(why) => warn!(whom, %why, "dry run: it would be refused"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mapa_live::levers::Twin;

    use super::*;
    use crate::drive::parse_toml;

    const TEXT: &str = "state = \"s\"\nlatencies = \"l\"\n[tenants.a]\npromise_ms = 15\n[tenants.b]\npromise_ms = 15\n\
        [neighbours.x]\ndoes = \"trains\"\ngroup = \"x\"\nplaces = [0]\n\
        [neighbours.y]\ndoes = \"trains\"\ngroup = \"y\"\nplaces = [1]\n";

    /// The hands of a configuration, over a machine that is none.
    fn hands<'a>(
        config: &'a Config,
        twin: &Twin,
        folder: &Path,
        (roots, processes): (&'a Roots, &'a Processes),
    ) -> Hands<'a> {
        let journal = FolderJournal::open(folder).unwrap();
        let (keeper, _) = Keeper::open(twin.hands(), journal, 0).unwrap();
        Hands {
            config,
            roots,
            processes,
            keeper,
            is_dry: false,
            undone: Undone::default(),
        }
    }

    #[test]
    fn a_group_of_two_neighbours_is_limited_as_long_as_one_of_them_needs_it() {
        let text = TEXT.replace("trains", "copies").replace("\"y\"", "\"x\"");
        let text = text.replace(
            "[tenants.a]",
            "[levers]\nblock_devices = [\"254:0\"]\n[tenants.a]",
        );
        let config: Config = parse_toml(&text).unwrap();
        let twin = Twin::with_group("x").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (roots, processes) = (Roots::default(), Processes::new().unwrap());
        let mut hands = hands(&config, &twin, folder.path(), (&roots, &processes));
        let before = twin.state();
        let throttle = Order::Throttle {
            until: 30,
            io_mb_s: 500,
            mps_percent: 50,
        };
        hands.carry_out("a", 0, &throttle, 0, 0);
        hands.carry_out("b", 1, &throttle, 0, 0);
        let limited = twin.state();
        assert_ne!(limited, before);
        hands.carry_out("a", 0, &Order::Lift, 1, 1000);
        assert_eq!(twin.state(), limited, "`y` is throttled");
        hands.carry_out("b", 1, &Order::Lift, 2, 2000);
        assert_eq!(twin.state(), before);
    }

    #[test]
    fn a_share_of_two_neighbours_holds_as_long_as_one_of_them_needs_it() {
        let config: Config = parse_toml(TEXT).unwrap();
        let twin = Twin::new();
        twin.add_mps(&MpsServer(config.levers.mps_pipe.clone()), &[7]);
        let folder = tempfile::tempdir().unwrap();
        let (roots, processes) = (Roots::default(), Processes::new().unwrap());
        let mut hands = hands(&config, &twin, folder.path(), (&roots, &processes));
        let before = twin.state();
        let throttle = |until| Order::Throttle {
            until,
            io_mb_s: 500,
            mps_percent: 50,
        };
        // A tenant at place 0 throttles `x` for 30 ticks, one at place 1 `y` for 10: the same share.
        hands.carry_out("a", 0, &throttle(30), 0, 0);
        hands.carry_out("b", 1, &throttle(10), 0, 0);
        assert_ne!(twin.state(), before);
        hands.tick(20_000);
        assert_ne!(twin.state(), before, "the first one's time is not over");
        hands.carry_out("b", 1, &Order::Lift, 20, 20_000);
        assert_ne!(twin.state(), before, "`x` is throttled");
        hands.carry_out("a", 0, &Order::Lift, 20, 20_000);
        assert_eq!(twin.state(), before);
        assert_eq!(hands.keeper.held().count(), 0);
    }

    #[test]
    fn what_the_configuration_names_and_is_not_there_is_told() {
        let tree = tempfile::tempdir().unwrap();
        let pid_file = tree.path().join("y.pid");
        let mut text = TEXT.replace(
            "[tenants.a]",
            "[levers]\nblock_devices = [\"254:0\"]\n[tenants.a]",
        );
        text = text.replacen("trains", "copies", 1).replace(
            "group = \"y\"",
            &format!("pid_file = \"{}\"", pid_file.display()),
        );
        let config: Config = parse_toml(&text).unwrap();
        let twin = Twin::new();
        let journal = tree.path().join("journal");
        let (roots, processes) = (Roots::below(tree.path()), Processes::new().unwrap());
        std::fs::create_dir_all(&roots.cgroup).unwrap();
        std::fs::write(roots.cgroup.join("cgroup.controllers"), "cpuset io\n").unwrap();
        let mut hands = hands(&config, &twin, &journal, (&roots, &processes));
        let told = hands.absent();
        let expected = [
            "levers.block_devices: this machine has no disk `254:0`",
            "levers.mps_pipe: ",
            "neighbours.x.group: no folder ",
            "neighbours.y.pid_file: no file ",
        ];
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "{told}");
        }
        std::fs::create_dir_all(roots.sys.join("dev/block/254:0")).unwrap();
        std::fs::create_dir(roots.cgroup.join("x")).unwrap();
        std::fs::write(&pid_file, "1\n").unwrap();
        twin.add_mps(&MpsServer(config.levers.mps_pipe.clone()), &[7]);
        assert_eq!(hands.absent(), [""; 0]);
    }
}
