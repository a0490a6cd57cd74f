//! What the tests share: a folder with a ledger, the program, and what it answers.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fake_nvml::{Config, Fake, built_library, install};
use mapa_node::{MARK, Processes, Requester};
use serde_json::Value;
use tempfile::TempDir;

/// A folder of its own with a ledger for a machine of eight GPUs.
pub(crate) struct Place {
    folder: TempDir,
    machine: String,
    /// Further words behind the machine.
    more: Vec<String>,
    /// The folder of the ledger, below the place's own.
    ledger: &'static str,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::of("dgx-a100")
    }

    pub(crate) fn of(machine: &str) -> Self {
        // Without it nothing would judge who is alone on a device.
        let flock = Command::new("flock").arg("--version").output();
        assert!(
            flock.is_ok_and(|output| output.status.success()),
            "expected the program flock, of util-linux"
        );
        Self {
            folder: tempfile::tempdir().unwrap(),
            machine: machine.to_owned(),
            more: Vec::new(),
            ledger: "",
        }
    }

    /// The same place, with the ledger in a folder below, such as one on a disk of its own.
    pub(crate) fn with_ledger_in(self, ledger: &'static str) -> Self {
        std::fs::create_dir(self.path().join(ledger)).unwrap();
        Self { ledger, ..self }
    }

    /// The same place, with these words behind every command.
    pub(crate) fn with(mut self, words: &[&str]) -> Self {
        self.more = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// The machine.
    pub(crate) fn machine(&self) -> &str {
        &self.machine
    }

    /// The words behind every command.
    pub(crate) fn more(&self) -> &[String] {
        &self.more
    }

    /// The same folder, with another machine.
    pub(crate) fn on(self, machine: &str) -> Self {
        Self {
            machine: machine.to_owned(),
            ..self
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path().join(self.ledger).join("ledger.db")
    }

    /// The program with these words behind the machine and the ledger.
    pub(crate) fn mapa(&self, words: &[&str]) -> Command {
        let mut command = Command::new(crate::mapa());
        command
            .args(["--machine", &self.machine, "--ledger"])
            .arg(self.ledger())
            .args(&self.more)
            .args(words)
            .env("LOCKS", self.path())
            .env_remove("MAPA_LEASE")
            .env_remove("CUDA_VISIBLE_DEVICES")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.mapa(words).output().unwrap()
    }

    /// The JSON answer of a command that must succeed.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(words);
        let output = self.run(&all);
        assert!(
            output.status.success(),
            "{words:?}: {} {}",
            error(&output),
            text(&output)
        );
        let answer = serde_json::from_slice(&output.stdout).unwrap();
        assert_answers(words, &answer);
        answer
    }

    /// The numbers of the leases that hold.
    pub(crate) fn leases(&self) -> Vec<i64> {
        let answer = self.json(&["ps"]);
        let leases = answer["leases"].as_array().unwrap();
        leases
            .iter()
            .map(|lease| lease["lease"].as_i64().unwrap())
            .collect()
    }

    /// The audit, first to last.
    pub(crate) fn log(&self) -> Vec<Value> {
        let answer = self.json(&["log", "-n", "1000000"]);
        answer["decisions"].as_array().unwrap().clone()
    }

    /// The file of this name in the folder; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// Waits until a file of this name in the folder has this many lines.
    pub(crate) fn await_lines(&self, name: &str, lines: usize) {
        let begun = Instant::now();
        while self.text(name).lines().count() < lines {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{name}: {}",
                self.text(name)
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A machine with drivers, which `mapa` discovers, and a ledger.
pub(crate) struct Machine {
    folder: TempDir,
    pub(crate) fake: Fake,
}

impl Machine {
    pub(crate) fn of(machine: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::new(machine).with_state(folder.path().join("state"));
        let driver = folder.path().join("driver");
        install(&built_library().unwrap(), &driver, &config).unwrap();
        let fake = Fake::open(&config).unwrap();
        Self { folder, fake }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path().join("ledger.db")
    }

    /// The program with these words. What it has discovered once it takes from its cache.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(crate::mapa());
        command
            .arg("--nvml")
            .arg(self.path().join("driver/libnvidia-ml.so.1"))
            .arg("--ledger")
            .arg(self.ledger())
            .args(words)
            .env("LOCKS", self.path())
            // Discovery keeps its answers in the user's cache.
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .env_remove(MARK)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn mapa(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// The JSON answer of a command that must succeed.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.mapa(&[&["--json"], words].concat());
        assert!(
            output.status.success(),
            "{words:?}: {} {}",
            error(&output),
            text(&output)
        );
        let answer = serde_json::from_slice(&output.stdout).unwrap();
        assert_answers(words, &answer);
        answer
    }

    /// A command that holds so many devices until `end`.
    pub(crate) fn holder(&self, gpus: usize) -> Child {
        self.hold(&["-n", &gpus.to_string()])
    }

    /// A command that holds devices until `end`.
    pub(crate) fn hold(&self, words: &[&str]) -> Child {
        let before = self.json(&["ps"])["leases"].as_array().unwrap().len();
        let lines = || {
            let text = std::fs::read_to_string(self.path().join("held"));
            text.unwrap_or_default().lines().count()
        };
        let said = lines();
        let script = [
            "--",
            "sh",
            "-c",
            "echo $CUDA_VISIBLE_DEVICES >>$LOCKS/held; exec sleep 600",
        ];
        let child = self.command(&[&["run"], words, &script].concat());
        let child = { child }.stderr(Stdio::null()).spawn().unwrap();
        self.until(|ps| {
            let leases = ps["leases"].as_array().unwrap();
            leases.len() > before
                && leases.iter().all(|lease| !lease["command_pid"].is_null())
                // It has passed the gate, and says what it holds.
                && lines() > said
        });
        child
    }

    /// Ends a command that holds devices.
    pub(crate) fn end(&self, child: &mut Child) {
        let pid = child.id().to_string();
        let done = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(done.success());
        child.wait().unwrap();
    }

    /// Waits until `mapa ps` says what is wanted.
    pub(crate) fn until(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let ps = self.json(&["ps"]);
            if wanted(&ps) {
                return ps;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{ps}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A service manager, as a service sees it: what it was told, in order.
pub(crate) struct Systemd {
    path: PathBuf,
    told: Arc<Mutex<Vec<String>>>,
}

impl Systemd {
    pub(crate) fn new(folder: &Path) -> Self {
        let path = folder.join("systemd");
        let socket = UnixDatagram::bind(&path).unwrap();
        let told = Arc::<Mutex<Vec<String>>>::default();
        let to = told.clone();
        // A service that tells more than is read would be held up.
        std::thread::spawn(move || {
            let mut buffer = [0; 256];
            while let Ok(length) = socket.recv(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..length]);
                to.lock().unwrap().push(text.trim().to_owned());
            }
        });
        Self { path, told }
    }

    /// The value of `NOTIFY_SOCKET`.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it was told.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// How many watchdog pings the service has sent.
    pub(crate) fn watchdog_pings(&self) -> usize {
        self.told()
            .iter()
            .filter(|candidate| *candidate == "WATCHDOG=1")
            .count()
    }
}

/// Asserts that an answer is valid by the schema of this name.
pub(crate) fn assert_valid(name: &str, answer: &Value) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut above = here.ancestors().map(|own| own.join("docs/schema"));
    let schemas = above.find(|own| own.is_dir()).unwrap();
    let file = schemas.join(format!("{name}.json"));
    let schema = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = schema
        .iter_errors(answer)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(faults, Vec::<String>::new(), "{name}: {answer}");
}

/// Asserts that an answer of `mapa` is valid by the schema of its command.
fn assert_answers(words: &[&str], answer: &Value) {
    let at = words.iter().position(|word| !word.starts_with('-'));
    let words = &words[at.unwrap()..];
    let name = match words {
        [
            "ps" | "free" | "release" | "log" | "tenants" | "cordon" | "uncordon" | "recover"
            | "run",
            ..,
        ] => format!("mapa-{}", words[0]),
        _ => panic!("{words:?}: expected a command that has a schema"),
    };
    assert_valid(&name, answer);
}

pub(crate) fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Takes a lock for each of its devices as long as a process of the job lives, and notes if somebody
/// else has it: a slow, obvious judge of who is alone where. Descriptors are inherited, so what the
/// job leaves behind holds its locks too.
pub(crate) const LOCK: &str = r#"
fd=3
for d in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
    eval "exec $fd>>\"\$LOCKS/gpu$d\""
    flock -n $fd
    # By 1 it says that somebody else has the lock; a test may also have killed it.
    [ $? -ne 1 ] || echo "gpu$d is held twice, lease $MAPA_LEASE" >>"$LOCKS/faults"
    fd=$((fd + 1))
done
"#;

/// This test as somebody who asks.
pub(crate) fn asker(processes: &Processes) -> Requester {
    Requester {
        tenant: "tester".to_owned(),
        uid: rustix::process::geteuid().as_raw(),
        process: processes.own().unwrap(),
        command: "true".to_owned(),
        policy: "{}".to_owned(),
        spec: "{}".to_owned(),
    }
}
