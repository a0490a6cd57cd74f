//! MPS, against a process that speaks its control protocol with its oddities.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use mapa_live::levers::{
    LeverChange, LeverError, LeverSet, Mps, MpsCommand, MpsScope, MpsServer, SimulatedMachine, Step,
};

struct Daemon {
    folder: tempfile::TempDir,
}

impl Daemon {
    /// A folder with the stand-in, and no daemon yet.
    fn none() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/levers/mps-stand-in.sh");
        let mut copy = Command::new("install");
        copy.args(["-m", "755", script])
            .arg(folder.path().join("nvidia-cuda-mps-control"));
        assert!(copy.status().unwrap().success());
        Self { folder }
    }

    /// With servers of these process ids.
    fn running(servers: &str) -> Self {
        let daemon = Self::none();
        daemon.mps().start(&daemon.server()).unwrap();
        fs::write(daemon.path("servers"), servers).unwrap();
        daemon
    }

    /// Has the daemon start a server, which gets its values.
    fn start(&self, pid: u32) {
        for entry in fs::read_dir(self.path("values")).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let own = match name.split_once('-') {
                None => format!("percent-{pid}"),
                Some(("limit", device)) if !device.contains('-') => format!("limit-{pid}-{device}"),
                Some(_) => continue,
            };
            fs::copy(entry.path(), self.path("values").join(own)).unwrap();
        }
        let all = fs::read_to_string(self.path("servers")).unwrap();
        fs::write(self.path("servers"), format!("{all}{pid}\n")).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("pipe").join(name)
    }

    fn server(&self) -> MpsServer {
        MpsServer(self.folder.path().join("pipe"))
    }

    fn mps(&self) -> MpsCommand {
        let mut mps_command = MpsCommand::at(self.folder.path().join("nvidia-cuda-mps-control"));
        mps_command.time_limit = Duration::from_secs(20);
        mps_command
    }

    fn levers(&self) -> LeverSet {
        let mut levers = SimulatedMachine::new().levers();
        levers.mps = Box::new(self.mps());
        levers
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.mps().quit(&self.server());
    }
}

#[test]
fn a_share_is_set_for_the_daemon_and_each_server_and_reverted() {
    let daemon = Daemon::running("41\n42\n");
    let mut levers = daemon.levers();
    let change = LeverChange::MpsPercent {
        server: daemon.server(),
        percent: 50,
    };
    let plan = levers.plan(&change).unwrap();
    let pipe = daemon.server().0.display().to_string();
    let shown = plan.to_string().replace(&pipe, "PIPE");
    let command = daemon.mps().command.display().to_string();
    assert_eq!(
        shown.replace(&command, "COMMAND"),
        "# warning: MPS clients that run keep the share that they started with\n\
         echo set_active_thread_percentage 41 50 | CUDA_MPS_PIPE_DIRECTORY=PIPE COMMAND\n\
         echo set_active_thread_percentage 42 50 | CUDA_MPS_PIPE_DIRECTORY=PIPE COMMAND\n\
         echo set_default_active_thread_percentage 50 | CUDA_MPS_PIPE_DIRECTORY=PIPE COMMAND\n"
    );
    levers.apply(&plan).unwrap();
    let mps = daemon.mps();
    let percent = |scope| mps.percent(&daemon.server(), scope).unwrap();
    assert_eq!(percent(MpsScope::Daemon), 50_000);
    assert_eq!(percent(MpsScope::Server { pid: 42 }), 50_000);
    assert!(levers.plan(&change).unwrap().is_empty());
    // A server that has ended meanwhile has nothing to be put back.
    fs::write(daemon.path("servers"), "41\n").unwrap();
    levers.revert(&plan).unwrap();
    assert_eq!(percent(MpsScope::Daemon), 100_000);
    assert_eq!(percent(MpsScope::Server { pid: 41 }), 100_000);
    levers.revert(&plan).unwrap();
}

#[test]
fn the_daemon_keeps_the_old_value_without_an_error_and_that_is_noticed() {
    let daemon = Daemon::running("");
    let server = daemon.server();
    let mut mps = daemon.mps();
    // Out of range: the command ends without an error, and the old value stays.
    let error = mps
        .set_percent(&server, MpsScope::Daemon, 150_000)
        .unwrap_err();
    assert!(
        matches!(&error, LeverError::NotApplied { has, .. } if has == "100 percent"),
        "{error}"
    );
    // A daemon that ignores the command, as one that is too old to know it does.
    fs::write(daemon.path("stubborn"), "").unwrap();
    let mut levers = daemon.levers();
    let change = LeverChange::MpsPercent {
        server: server.clone(),
        percent: 60,
    };
    let plan = levers.plan(&change).unwrap();
    let failure = levers.apply(&plan).unwrap_err();
    assert_eq!(failure.why.reason(), "not-applied", "{failure}");
    assert!(failure.left.is_empty());
    let error = mps
        .set_pinned(&server, MpsScope::Daemon, 0, Some(2048))
        .unwrap_err();
    assert!(
        matches!(&error, LeverError::NotApplied { has, .. } if has == "no limit"),
        "{error}"
    );
}

#[test]
fn a_failure_at_the_second_server_takes_the_first_back() {
    let daemon = Daemon::running("41\n42\n");
    let mut levers = daemon.levers();
    let change = LeverChange::MpsPercent {
        server: daemon.server(),
        percent: 70,
    };
    let plan = levers.plan(&change).unwrap();
    fs::write(daemon.path("servers"), "41\n").unwrap();
    let failure = levers.apply(&plan).unwrap_err();
    assert_eq!(
        (failure.step, failure.why.reason()),
        (1, "missing"),
        "{failure}"
    );
    assert!(failure.left.is_empty());
    let mps = daemon.mps();
    for scope in [MpsScope::Daemon, MpsScope::Server { pid: 41 }] {
        assert_eq!(mps.percent(&daemon.server(), scope).unwrap(), 100_000);
    }
}

#[test]
fn limits_of_pinned_memory_have_units_and_are_lifted() {
    let daemon = Daemon::running("41\n");
    let server = daemon.server();
    let mut levers = daemon.levers();
    let apply = |mib| LeverChange::MpsPinned {
        server: server.clone(),
        device: 0,
        mib,
    };
    let plan = levers.plan(&apply(Some(3072))).unwrap();
    levers.apply(&plan).unwrap();
    let mps = daemon.mps();
    let limit = || {
        mps.pinned(&server, MpsScope::Server { pid: 41 }, 0)
            .unwrap()
    };
    assert_eq!(limit(), Some(3072), "told as 3G");
    let next = levers.plan(&apply(Some(1000))).unwrap();
    levers.apply(&next).unwrap();
    assert_eq!(limit(), Some(1000), "told as 1000M");
    levers.revert(&next).unwrap();
    assert_eq!(limit(), Some(3072));
    levers.revert(&plan).unwrap();
    assert_eq!(limit(), None);
    assert_eq!(mps.pinned(&server, MpsScope::Daemon, 1).unwrap(), None);
    // The daemon would hold it, and tell 1G: it could not be seen that it holds.
    let error = levers.plan(&apply(Some(1500))).unwrap_err();
    assert_eq!(error.reason(), "infeasible");
    insta::assert_snapshot!(
        error.to_string(),
        @"a limit of 1500 MiB: expected whole GiB, or less than one: MPS tells no others, so it could not be seen that the limit holds"
    );
}

/// The share, in percent, and the limit of a daemon and of each server.
fn values(mps: &dyn Mps, server: &MpsServer) -> Vec<(u32, Option<u64>)> {
    let of = |scope| {
        let share = mps.percent(server, scope).unwrap();
        (share / 1000, mps.pinned(server, scope, 0).unwrap())
    };
    mps.scopes(server).unwrap().into_iter().map(of).collect()
}

/// Changes while the daemon starts server 43, and reverts it. Server 42 has the values that are applied before.
fn born_meanwhile(
    mut levers: LeverSet,
    server: &MpsServer,
    start: &dyn Fn(u32),
    change: &LeverChange,
) {
    let of = MpsScope::Server { pid: 42 };
    levers.mps.set_percent(server, of, 60_000).unwrap();
    levers.mps.set_pinned(server, of, 0, Some(2048)).unwrap();
    let before = values(&*levers.mps, server);
    assert_eq!(before, [(100, None), (100, None), (60, Some(2048))]);
    let plan = levers.plan(change).unwrap();
    levers.apply(&plan).unwrap();
    start(43);
    let held = values(&*levers.mps, server);
    assert_ne!(held[0], before[0]);
    assert_eq!(held[3], held[0], "it has what its daemon has");
    levers.revert(&plan).unwrap();
    let after = values(&*levers.mps, server);
    assert_eq!((&after[..3], after[3]), (&before[..], before[0]));
}

/// A daemon passes its values on to the servers that it starts, so there they would outlive the change.
#[test]
fn servers_that_came_while_a_value_was_held_get_the_one_before() {
    let changes = |server: &MpsServer| {
        let server = server.clone();
        let share = LeverChange::MpsPercent {
            server: server.clone(),
            percent: 60,
        };
        let limit = LeverChange::MpsPinned {
            server,
            device: 0,
            mib: Some(2048),
        };
        [share, limit]
    };
    for at in 0..2 {
        let daemon = Daemon::running("41\n42\n");
        let server = daemon.server();
        let start = |pid| daemon.start(pid);
        born_meanwhile(daemon.levers(), &server, &start, &changes(&server)[at]);
        let twin = SimulatedMachine::new();
        twin.add_mps(&server, &[41, 42]);
        let start = |pid| twin.start_mps_server(&server, pid).unwrap();
        born_meanwhile(twin.levers(), &server, &start, &changes(&server)[at]);
    }
}

#[test]
fn a_limit_that_may_be_a_fraction_more_than_is_reported_is_set() {
    let daemon = Daemon::running("");
    let server = daemon.server();
    let mut levers = daemon.levers();
    fs::create_dir_all(daemon.path("values")).unwrap();
    fs::write(daemon.path("values/limit-0"), "1536\n").unwrap();
    let apply = |mib| LeverChange::MpsPinned {
        server: server.clone(),
        device: 0,
        mib: Some(mib),
    };
    let plan = levers.plan(&apply(1024)).unwrap();
    assert!(
        plan.to_string().contains("# warning: MPS tells limits"),
        "{plan}"
    );
    levers.apply(&plan).unwrap();
    let has = fs::read_to_string(daemon.path("values/limit-0")).unwrap();
    assert_eq!(has, "1024\n");
    levers.bounds.mps_pinned_mib.min = 0;
    let error = levers.plan(&apply(0)).unwrap_err();
    insta::assert_snapshot!(
        error.to_string(),
        @"a limit of 0 MiB: expected one above 0, or none: MPS takes 0 for no limit"
    );
}

/// A plan of many steps would wait for each of them.
#[test]
fn a_daemon_that_gives_no_answer_is_not_asked_again_at_once() {
    let daemon = Daemon::running("41\n42\n");
    let mut levers = daemon.levers();
    let mut mps = daemon.mps();
    mps.time_limit = Duration::from_secs(1);
    levers.mps = Box::new(mps);
    let change = LeverChange::MpsPercent {
        server: daemon.server(),
        percent: 60,
    };
    let plan = levers.plan(&change).unwrap();
    levers.apply(&plan).unwrap();
    fs::write(daemon.path("hangs"), "").unwrap();
    let left = levers.revert(&plan).unwrap_err();
    let said: Vec<String> = left.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said.iter()
            .all(|message| message.ends_with("no answer within 1s")),
        "{said:?}"
    );
    // Nor is it news that it goes on.
    let again = levers.revert(&plan).unwrap_err();
    let again: Vec<String> = again.iter().map(ToString::to_string).collect();
    assert_eq!(again, said);
    assert_eq!(fs::read_to_string(daemon.path("hangs")).unwrap(), "asked\n");
    fs::remove_file(daemon.path("hangs")).unwrap();
    while levers.revert(&plan).is_err() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let of = |scope| daemon.mps().percent(&daemon.server(), scope).unwrap();
    assert_eq!(of(MpsScope::Daemon), 100_000);
    assert_eq!(of(MpsScope::Server { pid: 42 }), 100_000);
}

#[test]
fn a_daemon_is_started_and_ended_and_its_absence_is_reported() {
    let daemon = Daemon::none();
    let server = daemon.server();
    let mut levers = daemon.levers();
    let error = levers
        .plan(&LeverChange::MpsPercent {
            server: server.clone(),
            percent: 60,
        })
        .unwrap_err();
    assert_eq!(error.reason(), "missing", "{error}");
    let apply = |running| LeverChange::MpsDaemon {
        server: server.clone(),
        running,
    };
    assert!(levers.plan(&apply(false)).unwrap().is_empty());
    let plan = levers.plan(&apply(true)).unwrap();
    assert!(matches!(plan.steps[..], [Step::MpsDaemon { to: true, .. }]));
    levers.apply(&plan).unwrap();
    assert!(daemon.mps().is_running(&server).unwrap());
    levers.apply(&plan).unwrap();
    levers.revert(&plan).unwrap();
    assert!(!daemon.mps().is_running(&server).unwrap());
    // A share that was set dies with the daemon: nothing is left to be put back.
    levers.apply(&plan).unwrap();
    let share = levers
        .plan(&LeverChange::MpsPercent {
            server: server.clone(),
            percent: 60,
        })
        .unwrap();
    levers.apply(&share).unwrap();
    levers.revert(&plan).unwrap();
    levers.revert(&share).unwrap();
    let none = MpsCommand::at(daemon.folder.path().join("none"));
    assert_eq!(none.scopes(&server).unwrap_err().reason(), "missing");
    // Without the command it cannot be told whether a daemon runs, and what it was set to may hold.
    assert_eq!(none.is_running(&server).unwrap_err().reason(), "missing");
    let mut blind = daemon.levers();
    blind.mps = Box::new(none);
    assert_eq!(blind.revert(&share).unwrap_err()[0].reason(), "missing");
}
