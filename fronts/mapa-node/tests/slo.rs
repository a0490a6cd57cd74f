//! `mapa-node slo` with programs that it starts.

use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::common::Systemd;

/// The programs of this test end when the folder is gone.
const ALIVE: &str = "while [ -e \"$0\" ]; do sleep 0.1; done";

/// A program that is ended where a test fails too.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A place takes long to be ready. Meanwhile the loop goes on, and systemd hears it. A program that is started again adds
/// to the record.
#[test]
fn a_tenant_is_handed_over_while_the_loop_lives_and_the_record_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    std::fs::write(path("alive"), "").unwrap();
    let trainer = Command::new("sh")
        .args(["-c", ALIVE, &path("alive")])
        .spawn();
    let trainer = Running(trainer.unwrap());
    std::fs::write(path("pid"), trainer.0.id().to_string()).unwrap();
    let alive = path("alive");
    let place = |id: &str, more: &str| {
        format!(
            "[[tenants.api.places]]\nid = \"{id}-{}\"\ncommand = [\"sh\", \"-c\", '{ALIVE}', \"{alive}\"]\n{more}\n",
            std::process::id()
        )
    };
    let ready = format!(
        "ready = {{ by = \"file\", path = \"{}\" }}\nready_s = 600",
        path("ready")
    );
    let config = format!(
        "latencies = \"{}\"\nstate = \"{}\"\n[settings]\npersistence = 1\ndwell = 0\n[levers]\nthrottle = false\n[tenants.api]\npromise_ms = 15\nroute = \"{}\"\n{}{}[neighbours.train]\ndoes = \"trains\"\npid_file = \"{}\"\nplaces = [0]\n",
        path("socket"),
        path("state"),
        path("route"),
        place("old", ""),
        place("new", &ready),
        path("pid"),
    );
    std::fs::write(path("slo.toml"), config).unwrap();
    let systemd = Systemd::new(folder.path());
    let wait = Duration::from_millis(20);
    let start = || {
        let log = std::fs::File::create(path("log")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_mapa-node"))
            .args([
                "slo",
                "--config",
                &path("slo.toml"),
                "--record",
                &path("record"),
            ])
            .env("NOTIFY_SOCKET", systemd.path())
            .stderr(log)
            .spawn();
        Running(child.unwrap())
    };
    let mut slo = start();
    let to = UnixDatagram::unbound().unwrap();
    let begun = Instant::now();
    // Nothing is ready, so it is under way.
    let mut moving = None;
    while moving.is_none_or(|began| systemd.beats() < began + 4) {
        assert!(begun.elapsed() < Duration::from_secs(90), "{}", read("log"));
        let _ = to.send_to(b"api 40000000\n", path("socket"));
        if moving.is_none() && read("log").contains("order=Relaunch") {
            moving = Some(systemd.beats());
        }
        std::thread::sleep(wait);
    }
    assert_eq!(systemd.told()[0], "READY=1");
    assert_eq!(read("route"), "");
    std::fs::write(path("ready"), "").unwrap();
    while !read("log").contains("became=Done") {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "{}",
            read("log")
        );
        std::thread::sleep(wait);
    }
    assert_eq!(read("route"), format!("new-{}\n", std::process::id()));
    let end = |slo: &mut Running| {
        let pid = slo.0.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        assert!(slo.0.wait().unwrap().success(), "{}", read("log"));
    };
    end(&mut slo);
    while systemd.told().last().is_none_or(|own| own != "STOPPING=1") {
        assert!(
            begun.elapsed() < Duration::from_secs(150),
            "{:?}",
            systemd.told()
        );
        std::thread::sleep(wait);
    }

    let first = read("record/api.jsonl");
    assert!(first.lines().count() > 1, "{first}");
    // As one that was killed leaves it.
    std::fs::write(path("record/api.jsonl"), format!("{first}{{\"line\":")).unwrap();
    let mut again = start();
    while !read("log").contains("ready") {
        assert!(
            begun.elapsed() < Duration::from_secs(180),
            "{}",
            read("log")
        );
        std::thread::sleep(wait);
    }
    end(&mut again);
    let both = read("record/api.jsonl");
    let head = both.strip_prefix(&first).unwrap();
    assert!(head.starts_with("{\"line\":\"head\""), "{head}");
    let log = mapa_front::slo_log::read_log(&both).unwrap();
    let replayed = mapa_front::slo_log::replay_log(&log).unwrap();
    assert!(
        replayed.differ.is_empty() && replayed.decisions > 0,
        "{replayed:?}"
    );
}
