//! MPS, against a process that speaks its control protocol with its oddities.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use mapa_live::levers::{
    Hands, LeverError, Mps, MpsCommand, MpsScope, MpsServer, Pull, Step, Twin,
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
        let own = Self::none();
        own.mps().start(&own.server()).unwrap();
        fs::write(own.path("servers"), servers).unwrap();
        own
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("pipe").join(name)
    }

    fn server(&self) -> MpsServer {
        MpsServer(self.folder.path().join("pipe"))
    }

    fn mps(&self) -> MpsCommand {
        MpsCommand {
            command: self.folder.path().join("nvidia-cuda-mps-control"),
            time_limit: Duration::from_secs(20),
        }
    }

    fn hands(&self) -> Hands {
        let mut hands = Twin::new().hands();
        hands.mps = Box::new(self.mps());
        hands
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.mps().quit(&self.server());
    }
}

#[test]
fn a_share_is_set_for_the_daemon_and_each_server_and_taken_back() {
    let daemon = Daemon::running("41\n42\n");
    let mut hands = daemon.hands();
    let pull = Pull::MpsPercent {
        server: daemon.server(),
        percent: 50,
    };
    let plan = hands.plan(&pull).unwrap();
    let pipe = daemon.server().0.display().to_string();
    let shown = plan.to_string().replace(&pipe, "PIPE");
    let command = daemon.mps().command.display().to_string();
    assert_eq!(
        shown.replace(&command, "COMMAND"),
        "# warning: MPS clients that run keep the share that they started with\n\
         echo set_default_active_thread_percentage 50 | CUDA_MPS_PIPE_DIRECTORY=PIPE COMMAND\n\
         echo set_active_thread_percentage 41 50 | CUDA_MPS_PIPE_DIRECTORY=PIPE COMMAND\n\
         echo set_active_thread_percentage 42 50 | CUDA_MPS_PIPE_DIRECTORY=PIPE COMMAND\n"
    );
    hands.pull(&plan).unwrap();
    let mps = daemon.mps();
    let percent = |scope| mps.percent(&daemon.server(), scope).unwrap();
    assert_eq!(percent(MpsScope::Daemon), 50_000);
    assert_eq!(percent(MpsScope::Server { pid: 42 }), 50_000);
    assert!(hands.plan(&pull).unwrap().is_empty());
    // A server that has ended meanwhile has nothing to be put back.
    fs::write(daemon.path("servers"), "41\n").unwrap();
    hands.undo(&plan).unwrap();
    assert_eq!(percent(MpsScope::Daemon), 100_000);
    assert_eq!(percent(MpsScope::Server { pid: 41 }), 100_000);
    hands.undo(&plan).unwrap();
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
        matches!(&error, LeverError::NotTaken { has, .. } if has == "100 percent"),
        "{error}"
    );
    // A daemon that ignores the command, as one that is too old to know it does.
    fs::write(daemon.path("stubborn"), "").unwrap();
    let mut hands = daemon.hands();
    let pull = Pull::MpsPercent {
        server: server.clone(),
        percent: 60,
    };
    let plan = hands.plan(&pull).unwrap();
    let failure = hands.pull(&plan).unwrap_err();
    assert_eq!(failure.why.reason(), "not-taken", "{failure}");
    assert!(failure.left.is_empty());
    let error = mps
        .set_pinned(&server, MpsScope::Daemon, 0, Some(2048))
        .unwrap_err();
    assert!(
        matches!(&error, LeverError::NotTaken { has, .. } if has == "no limit"),
        "{error}"
    );
}

#[test]
fn a_failure_at_the_second_server_takes_the_first_back() {
    let daemon = Daemon::running("41\n42\n");
    let mut hands = daemon.hands();
    let pull = Pull::MpsPercent {
        server: daemon.server(),
        percent: 70,
    };
    let plan = hands.plan(&pull).unwrap();
    fs::write(daemon.path("servers"), "41\n").unwrap();
    let failure = hands.pull(&plan).unwrap_err();
    assert_eq!(
        (failure.step, failure.why.reason()),
        (2, "missing"),
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
    let mut hands = daemon.hands();
    let pull = |mib| Pull::MpsPinned {
        server: server.clone(),
        device: 0,
        mib,
    };
    let plan = hands.plan(&pull(Some(3072))).unwrap();
    hands.pull(&plan).unwrap();
    let mps = daemon.mps();
    let limit = || {
        mps.pinned(&server, MpsScope::Server { pid: 41 }, 0)
            .unwrap()
    };
    assert_eq!(limit(), Some(3072), "told as 3G");
    let next = hands.plan(&pull(Some(1000))).unwrap();
    hands.pull(&next).unwrap();
    assert_eq!(limit(), Some(1000), "told as 1000M");
    hands.undo(&next).unwrap();
    assert_eq!(limit(), Some(3072));
    hands.undo(&plan).unwrap();
    assert_eq!(limit(), None);
    assert_eq!(mps.pinned(&server, MpsScope::Daemon, 1).unwrap(), None);
    // The daemon would hold it, and tell 1G: it could not be seen that it holds.
    let error = hands.plan(&pull(Some(1500))).unwrap_err();
    assert_eq!(error.reason(), "infeasible");
    assert!(error.to_string().contains("whole GiB"), "{error}");
}

#[test]
fn a_daemon_is_started_and_ended_and_its_absence_is_told() {
    let daemon = Daemon::none();
    let server = daemon.server();
    let mut hands = daemon.hands();
    let error = hands
        .plan(&Pull::MpsPercent {
            server: server.clone(),
            percent: 60,
        })
        .unwrap_err();
    assert_eq!(error.reason(), "missing", "{error}");
    let pull = |running| Pull::MpsDaemon {
        server: server.clone(),
        running,
    };
    assert!(hands.plan(&pull(false)).unwrap().is_empty());
    let plan = hands.plan(&pull(true)).unwrap();
    assert!(matches!(plan.steps[..], [Step::MpsDaemon { to: true, .. }]));
    hands.pull(&plan).unwrap();
    assert!(daemon.mps().is_running(&server).unwrap());
    hands.pull(&plan).unwrap();
    hands.undo(&plan).unwrap();
    assert!(!daemon.mps().is_running(&server).unwrap());
    // A share that was set dies with the daemon: nothing is left to be put back.
    hands.pull(&plan).unwrap();
    let share = hands
        .plan(&Pull::MpsPercent {
            server: server.clone(),
            percent: 60,
        })
        .unwrap();
    hands.pull(&share).unwrap();
    hands.undo(&plan).unwrap();
    hands.undo(&share).unwrap();
    let none = MpsCommand {
        command: daemon.folder.path().join("none"),
        ..daemon.mps()
    };
    assert_eq!(none.scopes(&server).unwrap_err().reason(), "missing");
    // Without the command it cannot be told whether a daemon runs, and what it was set to may hold.
    assert_eq!(none.is_running(&server).unwrap_err().reason(), "missing");
    let mut blind = daemon.hands();
    blind.mps = Box::new(none);
    assert_eq!(blind.undo(&share).unwrap_err()[0].reason(), "missing");
}
