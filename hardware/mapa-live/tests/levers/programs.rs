//! Programs, as real processes: started behind a gate, handed over warm, ended with all that they started.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use mapa_live::levers::{
    LeverChange, LeverSet, ProgramSpec, Programs, ReadinessProbe, RouteFile, SimulatedMachine,
    SystemPrograms,
};
use mapa_live::{ProcessId, Roots};

fn programs() -> SystemPrograms {
    SystemPrograms::new(&Roots::default())
}

fn levers() -> LeverSet {
    let mut levers = SimulatedMachine::new().levers();
    levers.programs = Box::new(programs());
    levers
}

/// A mark of this test alone.
fn mark(name: &str) -> String {
    format!("mapa-test-{}-{name}", std::process::id())
}

fn sleeper(name: &str) -> ProgramSpec {
    let mut launch = ProgramSpec::new(mark(name), ["sleep", "100000"]);
    launch.stop_s = 1;
    launch
}

#[test]
fn a_program_runs_once_under_its_id_and_ends_with_its_children() {
    let mut launch = sleeper("children");
    launch.command = ["sh", "-c", "sleep 100000 & sleep 100000"]
        .map(str::to_owned)
        .into();
    launch.env.insert("OWN".to_owned(), "a b".to_owned());
    let mut programs = programs();
    let first = programs.start(&launch).unwrap();
    let second = super::programs::programs().start(&launch).unwrap();
    assert_eq!(first, second, "another program finds it by its mark");
    let environment = fs::read(format!("/proc/{}/environ", first.pid)).unwrap();
    let mut words = environment.split(|&byte| byte == 0);
    assert!(words.any(|word| word == b"OWN=a b"));
    assert!(programs.is_ready(&launch).unwrap());
    programs.stop(&launch).unwrap();
    assert_eq!(programs.running(&launch.id).unwrap(), None);
    assert!(programs.is_ready(&launch).is_err());
    programs.stop(&launch).unwrap();
}

#[test]
fn a_mark_of_another_user_is_not_trusted() {
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: not root, so no process of another user can be started");
        return;
    }
    let launch = sleeper("stranger");
    let mut stranger = std::process::Command::new("sleep")
        .arg("100000")
        .env("MAPA_LAUNCH", &launch.id)
        .uid(65_534)
        .spawn()
        .unwrap();
    let mut programs = programs();
    let running = programs.running(&launch.id).unwrap();
    let started = programs.start(&launch).unwrap();
    programs.stop(&launch).unwrap();
    let lives = stranger.try_wait().unwrap().is_none();
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert_eq!(running, None);
    assert_ne!(started.pid, stranger.id().cast_signed());
    assert!(lives, "nor is it ended");
}

#[test]
fn one_that_ignores_its_end_is_killed_after_its_time() {
    let mut launch = sleeper("stubborn");
    launch.command = ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]
        .map(str::to_owned)
        .into();
    let mut programs = programs();
    let process = programs.start(&launch).unwrap();
    // It has set its trap once it has a child.
    let children = format!("/proc/{0}/task/{0}/children", process.pid);
    let begin = Instant::now();
    while fs::read_to_string(&children).is_ok_and(|pids| pids.trim().is_empty()) {
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    let begin = Instant::now();
    programs.stop(&launch).unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(1));
    assert!(!process.is_alive("/proc".as_ref()).unwrap());
}

#[test]
fn what_is_no_program_or_ends_at_once_is_an_error_that_names_it() {
    let mut programs = programs();
    let error = programs
        .start(&ProgramSpec::new(mark("none"), ["/no/such/program"]))
        .unwrap_err();
    assert!(error.to_string().contains("/no/such/program"), "{error}");
    let error = programs.start(&ProgramSpec::new(mark("short"), ["false"]));
    let ready = match error {
        Err(error) => error,
        Ok(_) => {
            std::thread::sleep(Duration::from_millis(300));
            programs.pause();
            programs
                .is_ready(&ProgramSpec::new(mark("short"), ["false"]))
                .unwrap_err()
        }
    };
    assert!(ready.to_string().contains("ended"), "{ready}");
}

/// A program that serves HTTP on a port with the tools that every system has, after a time.
fn server(name: &str, after_s: &str, port: u16) -> ProgramSpec {
    let address: SocketAddr = ([127, 0, 0, 1], port).into();
    let mut launch = sleeper(name);
    launch.command = [
        "sh".to_owned(),
        "-c".to_owned(),
        format!("sleep {after_s}; exec python3 -m http.server {port} --bind 127.0.0.1 2>/dev/null"),
    ]
    .into();
    launch.ready = ReadinessProbe::Tcp { address };
    launch.ready_s = 30;
    launch
}

/// A port that nobody else is given while it is held. A server that sets `SO_REUSEADDR` may listen there, as Python's does.
fn held_port() -> (u16, OwnedFd) {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};
    let flags = SocketFlags::CLOEXEC;
    let held = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    rustix::net::sockopt::set_socket_reuseaddr(&held, true).unwrap();
    bind(&held, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let at = SocketAddr::try_from(getsockname(&held).unwrap()).unwrap();
    (at.port(), held)
}

#[test]
fn a_warm_hand_over_has_somebody_who_serves_at_all_times() {
    if std::process::Command::new("python3")
        .arg("-V")
        .output()
        .is_err()
    {
        eprintln!("skipped: no python3, whose server this test hands over");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("route");
    let ((first, _first), (second, _second)) = (held_port(), held_port());
    let old = server("old", "0", first);
    let mut new = server("new", "0.2", second);
    new.ready = ReadinessProbe::Http {
        url: format!("http://127.0.0.1:{second}/"),
    };
    let mut levers = levers();
    let start = levers
        .plan(&LeverChange::Run {
            program: old.clone(),
        })
        .unwrap();
    levers.apply(&start).unwrap();
    fs::write(&file, first.to_string()).unwrap();
    // A client asks whoever the route names, all the time.
    let (route, stop) = (file.clone(), folder.path().join("stop"));
    let ended = stop.clone();
    let client = std::thread::spawn(move || {
        let (mut asked, mut failed) = (0u32, 0u32);
        while !ended.exists() {
            let port: u16 = fs::read_to_string(&route).unwrap().parse().unwrap();
            let at: SocketAddr = ([127, 0, 0, 1], port).into();
            asked += 1;
            if std::net::TcpStream::connect_timeout(&at, Duration::from_secs(2)).is_err() {
                // Between the read of the route and the call the route may have changed.
                let again: u16 = fs::read_to_string(&route).unwrap().parse().unwrap();
                failed += u32::from(again == port);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        (asked, failed)
    });
    let change = LeverChange::HandOver {
        old: old.clone(),
        new: new.clone(),
        route: Some(RouteFile {
            file: file.clone(),
            text: second.to_string(),
        }),
        warm: true,
    };
    let plan = levers.plan(&change).unwrap();
    let shown = plan.to_string();
    assert!(
        shown.contains("answers 200 to 299") && shown.contains("kill -TERM"),
        "{shown}"
    );
    levers.apply(&plan).unwrap();
    assert_eq!(levers.programs.running(&old.id).unwrap(), None);
    assert_eq!(fs::read_to_string(&file).unwrap(), second.to_string());
    // And back again.
    levers.revert(&plan).unwrap();
    assert_eq!(levers.programs.running(&new.id).unwrap(), None);
    assert_eq!(fs::read_to_string(&file).unwrap(), first.to_string());
    fs::write(&stop, "").unwrap();
    let (asked, failed) = client.join().unwrap();
    levers.revert(&start).unwrap();
    // How often depends on what else runs here.
    assert!(asked > 5, "{asked}");
    assert_eq!(failed, 0, "of {asked}");
}

#[test]
fn one_that_is_not_ready_in_time_is_stopped_and_the_old_one_serves_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("route");
    let old = sleeper("stays");
    let mut new = sleeper("late");
    new.ready = ReadinessProbe::File {
        path: folder.path().join("never"),
    };
    new.ready_s = 1;
    let mut levers = levers();
    let start = levers
        .plan(&LeverChange::Run {
            program: old.clone(),
        })
        .unwrap();
    levers.apply(&start).unwrap();
    let process: ProcessId = levers.programs.running(&old.id).unwrap().unwrap();
    let change = LeverChange::HandOver {
        old: old.clone(),
        new: new.clone(),
        route: Some(RouteFile {
            file: file.clone(),
            text: "late".to_owned(),
        }),
        warm: true,
    };
    let plan = levers.plan(&change).unwrap();
    let failure = levers.apply(&plan).unwrap_err();
    assert!(
        failure.to_string().contains("not ready within 1 s"),
        "{failure}"
    );
    assert!(failure.left.is_empty());
    assert_eq!(levers.programs.running(&old.id).unwrap(), Some(process));
    assert_eq!(levers.programs.running(&new.id).unwrap(), None);
    assert!(!file.exists());
    levers.revert(&start).unwrap();
}
