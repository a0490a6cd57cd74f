//! Two users of one machine, with a ledger that their group shares. Only root can become both.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::common::{Place, error, text};

pub(crate) const USERS: [u32; 2] = [51_001, 51_002];
pub(crate) const GROUP: u32 = 51_000;

/// A place that both users may use; none if this is not root, or a root that cannot become them.
pub(crate) fn place() -> Option<Place> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: expected root, who can become two users");
        return None;
    }
    let place = Place::new();
    // A container may have no such users.
    let given = std::os::unix::fs::chown(place.path(), None, Some(GROUP));
    let become_one = |user: u32| Command::new("true").gid(GROUP).uid(user).status();
    let became = USERS.map(|user| become_one(user).map(drop));
    if let Some(error) = [given].into_iter().chain(became).find_map(Result::err) {
        eprintln!("skipped: root may not be user {USERS:?} of group {GROUP}: {error}");
        return None;
    }
    let mode = std::fs::Permissions::from_mode(0o2770);
    std::fs::set_permissions(place.path(), mode).unwrap();
    Some(place)
}

/// The program as one of the users.
pub(crate) fn mapa(place: &Place, user: usize, words: &[&str]) -> Command {
    let own = place.mapa(words);
    // The built program may lie where only its builder can read it.
    let program = place.path().join("mapa");
    if !program.exists() {
        std::fs::copy(own.get_program(), &program).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    // The shell sets what `install -m 2770` and `umask 007` of the page do.
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 007; exec \"$0\" \"$@\""])
        .arg(program)
        .args(own.get_args())
        .env("LOCKS", place.path())
        .env_remove("MAPA_LEASE")
        .env("USER", format!("user{user}"))
        .current_dir("/")
        .stdin(Stdio::null())
        .gid(GROUP)
        .uid(USERS[user]);
    command
}

/// The numbers of the leases that a user sees.
fn leases(place: &Place, user: usize) -> Vec<serde_json::Value> {
    let output = mapa(place, user, &["--json", "ps"]).output().unwrap();
    assert!(output.status.success(), "{}", error(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["leases"].as_array().unwrap().clone()
}

fn kill(pid: &str) {
    let done = Command::new("kill").args(["-9", pid]).status().unwrap();
    assert!(done.success(), "{pid}");
}

/// A program that is ended with all that it has started, also where a test fails.
pub(crate) struct Running(pub(crate) std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let pid = self.0.id().to_string();
        drop(Command::new("kill").args(["-TERM", &pid]).status());
        drop(self.0.wait());
    }
}

#[test]
fn two_users_share_a_ledger_and_neither_takes_the_others_devices() {
    let Some(place) = place() else { return };
    let hold = "echo >>$LOCKS/there; exec sleep 600";
    let mut first = Running(
        mapa(&place, 0, &["run", "-n", "5", "--", "sh", "-c", hold])
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    place.await_lines("there", 1);
    let refused = mapa(&place, 1, &["run", "-n", "4", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(75), "{}", error(&refused));
    let script = "echo $MAPA_DEVICES";
    let other = mapa(&place, 1, &["run", "-n", "3", "--", "sh", "-c", script])
        .output()
        .unwrap();
    assert_eq!(text(&other), "GPU5,GPU6,GPU7", "{}", error(&other));

    // The first job wakes the second when it ends and frees the devices that the second waits for.
    let waiter = mapa(&place, 1, &["run", "-n", "8", "--wait", "--", "true"]);
    let waiter = { waiter }.stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    loop {
        let ps = place.json(&["ps"]);
        if ps["queue"].as_array().unwrap().len() == 1 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{ps}");
    }
    let held = leases(&place, 1)[0].clone();
    // One user may not end the other's lease; its owner may.
    let lease = held["lease"].to_string();
    let not_mine = mapa(&place, 1, &["release", &lease]).output().unwrap();
    assert_eq!(not_mine.status.code(), Some(125), "{}", error(&not_mine));
    assert!(
        error(&not_mine).contains("expected its owner, or root"),
        "{}",
        error(&not_mine)
    );
    let mine = mapa(&place, 0, &["release", &lease]).output().unwrap();
    assert_eq!(mine.status.code(), Some(0), "{}", error(&mine));
    first.0.wait().unwrap();
    let output = waiter.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    let owners: Vec<serde_json::Value> = place.json(&["tenants"])["tenants"]
        .as_array()
        .unwrap()
        .clone();
    let uids: Vec<u64> = owners
        .iter()
        .map(|owner| owner["uid"].as_u64().unwrap())
        .collect();
    assert_eq!(uids, USERS.map(u64::from), "{owners:?}");
}

#[test]
fn a_lease_of_another_user_whose_variables_cannot_be_read_is_kept_until_root_looks() {
    let Some(place) = place() else { return };
    // The shell notes itself and ends; what it leaves cannot be found but by its variables.
    let script = "sleep 600 & echo $! >$LOCKS/left; echo >>$LOCKS/there; wait";
    let mut job = Running(
        mapa(&place, 0, &["run", "-n", "8", "--", "sh", "-c", script])
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    place.await_lines("there", 1);
    let shell = leases(&place, 0)[0]["command_pid"].to_string();
    job.0.kill().unwrap();
    job.0.wait().unwrap();
    kill(&shell);
    let left = place.text("left").trim().to_owned();
    // The second user may not read the first one's variables, so the lease is kept, by nobody.
    let environ = format!("cat /proc/{left}/environ");
    let mut peek = Command::new("sh");
    let peek = peek
        .args(["-c", &environ])
        .gid(GROUP)
        .uid(USERS[1])
        .stderr(Stdio::null());
    assert!(!peek.status().unwrap().success());
    let kept = leases(&place, 1);
    assert_eq!(
        (kept.len(), &kept[0]["adopted"]),
        (1, &serde_json::json!(false)),
        "{kept:?}"
    );
    let refused = mapa(&place, 1, &["run", "-n", "1", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(75), "{}", error(&refused));
    // Root can, and adopts it; and frees it once it has ended.
    assert_eq!(place.json(&["ps"])["leases"][0]["pid"].to_string(), left);
    kill(&left);
    let begun = Instant::now();
    while !leases(&place, 1).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
    let free = mapa(&place, 1, &["run", "-n", "8", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(free.status.code(), Some(0), "{}", error(&free));
}

/// The folder says who may write a ledger, and not the umask of the user who comes first.
#[test]
fn a_ledger_in_a_groups_folder_is_the_groups() {
    let Some(place) = place() else { return };
    let own = mapa(&place, 0, &["free"]);
    let words: Vec<_> = own.get_args().skip(2).map(ToOwned::to_owned).collect();
    let mut first = Command::new("sh");
    first
        .args(["-c", "umask 022; exec \"$0\" \"$@\""])
        .args(words)
        .current_dir("/")
        .gid(GROUP)
        .uid(USERS[0]);
    assert!(first.output().unwrap().status.success());
    let second = mapa(&place, 1, &["run", "-n", "1", "--", "true"]);
    let second = { second }.output().unwrap();
    assert_eq!(second.status.code(), Some(0), "{}", error(&second));
}

/// Nobody can tell whether there is a ledger in a folder that he may not read.
#[test]
fn unreadable_ledger_is_an_error_not_an_empty_list() {
    let Some(place) = place() else { return };
    assert!(mapa(&place, 0, &["free"]).status().unwrap().success());
    let open = tempfile::tempdir().unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(open.path(), mode).unwrap();
    let program = open.path().join("mapa");
    std::fs::copy(place.path().join("mapa"), &program).unwrap();
    let own = place.mapa(&["ps"]);
    let mut stranger = Command::new(program);
    stranger.args(own.get_args()).current_dir("/");
    let output = stranger.gid(51_003).uid(51_003).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", error(&output));
    assert!(
        error(&output).contains("ledger.db: Permission denied"),
        "{}",
        error(&output)
    );
    assert!(
        !error(&output).contains("no ledger yet"),
        "{}",
        error(&output)
    );
}
