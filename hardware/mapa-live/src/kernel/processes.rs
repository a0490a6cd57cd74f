//! Processes: whether the one that is meant still runs, and which others bear its mark or come from it.
//!
//! A process id alone means nothing: the kernel gives it to somebody else later. A boot, a process
//! id and the moment at which the process started are together unique. A process id is also only
//! meant within its PID namespace; what another namespace wrote cannot be judged from here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal, test_kill_process,
};
use rustix::time::{ClockId, clock_gettime};

use super::namespaces::Namespaces;
use super::process::{Identity, Liveness, ProcessId, Stat};
use crate::error::Error;

/// How often all processes are scanned for marks, at most: only a machine on which processes that
/// were never seen before end all the time needs so many.
const PASSES: usize = 300;

/// How often a process without variables is read again. Some have none for good.
const BARE_PASSES: usize = 3;

/// The parent of the kernel's threads.
const KTHREADD: i32 = 2;

/// The number of the PID namespace in which every process of the machine has its own number:
/// `PROC_PID_INIT_INO` in the kernel's `proc_ns.h`.
const FIRST_NAMESPACE: i64 = 0xefff_fffc;

/// The processes that bear marks.
#[derive(Clone, Debug, Default)]
pub struct Marked {
    /// By mark, the first that started first.
    pub found: BTreeMap<String, Vec<Identity>>,
    /// Whether every process could be read. If not, one that bears a mark may be missing.
    pub complete: bool,
}

/// The processes of this boot, as this process sees them.
#[derive(Clone, Debug)]
pub struct Processes {
    proc: PathBuf,
    boot: String,
    namespace: i64,
}

impl Processes {
    /// The processes below `/proc`.
    ///
    /// # Errors
    /// `/proc` is not there, or does not name the boot.
    pub fn new() -> Result<Self, Error> {
        let proc = PathBuf::from("/proc");
        if is_clock_shifted(&proc) {
            return Err(Error::unavailable(
                "this process is in a time namespace with a shifted boot clock, so other programs would misread the starts of processes: expected the clock of the machine",
            ));
        }
        let file = proc.join("sys/kernel/random/boot_id");
        let boot = fs::read_to_string(&file)
            .map_err(|error| Error::unavailable(format!("{}: {error}", file.display())))?;
        let namespace =
            fs::metadata(proc.join("self/ns/pid")).map_or(0, |metadata| metadata.ino() as i64);
        Ok(Self {
            proc,
            boot: boot.trim().to_owned(),
            namespace,
        })
    }

    /// The same processes as if the machine had been started anew: tests of recovery.
    #[must_use]
    pub fn of_boot(mut self, boot: &str) -> Self {
        boot.clone_into(&mut self.boot);
        self
    }

    /// The kernel's id of this boot.
    #[must_use]
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// This process.
    ///
    /// # Errors
    /// `/proc` does not show this process.
    pub fn own(&self) -> Result<Identity, Error> {
        let pid = std::process::id() as i32;
        self.identity(pid).ok_or_else(|| {
            Error::unavailable(format!(
                "{}: does not show this process: expected procfs",
                self.proc.display()
            ))
        })
    }

    /// The process of this number; none if it has ended.
    #[must_use]
    pub fn identity(&self, pid: i32) -> Option<Identity> {
        let stat = self.stat(pid).filter(|stat| !stat.is_dead)?;
        Some(self.named(pid, stat.start))
    }

    fn named(&self, pid: i32, start: i64) -> Identity {
        Identity {
            boot: self.boot.clone(),
            namespace: self.namespace,
            id: ProcessId { pid, start },
        }
    }

    /// Whether a process runs.
    #[must_use]
    pub fn life(&self, of: &Identity) -> Liveness {
        // The boot first: all processes of an earlier boot have ended, in every namespace.
        if of.boot != self.boot {
            return Liveness::Ended;
        }
        if of.namespace != self.namespace {
            return Liveness::Elsewhere;
        }
        match self.stat(of.id.pid) {
            Some(stat) if stat.start == of.id.start && !stat.is_dead => Liveness::Runs,
            Some(_) => Liveness::Ended,
            // `hidepid` hides others' processes from `/proc`. Asking for one of this number does not.
            None => match number(of.id.pid).map(test_kill_process) {
                None | Some(Err(Errno::SRCH)) => Liveness::Ended,
                Some(_) => Liveness::Elsewhere,
            },
        }
    }

    /// The processes of other PID namespaces, as far as this one sees them: O(processes of the machine).
    #[must_use]
    pub fn namespaces(&self) -> Namespaces {
        // Under `hidepid` others' processes are not listed, or not with their starts: nor is the first of all.
        let sees_all = self.namespace == FIRST_NAMESPACE && self.stat(1).is_some();
        let pids = self.pids();
        let identity = |pid| self.identity(pid);
        Namespaces::read(&self.proc, &pids, self.namespace, sees_all, identity)
    }

    /// Whether the process of this number may be that one: it runs, or is hidden from here.
    #[must_use]
    pub fn may_run(&self, of: &Identity) -> bool {
        of.namespace == self.namespace && self.life(of) != Liveness::Ended
    }

    fn stat(&self, pid: i32) -> Option<Stat> {
        Stat::of(&self.proc, pid).ok().flatten()
    }

    /// The ids of all processes that can be seen.
    fn pids(&self) -> Vec<i32> {
        let Ok(entries) = fs::read_dir(&self.proc) else {
            return Vec::new();
        };
        let mut pids: Vec<i32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        pids.sort_unstable();
        pids
    }

    /// The processes that have this variable, by its value, their mark: the first that started leads.
    ///
    /// Reading `/proc` is no snapshot. Three things hide a process from one pass, and each asks for
    /// another: it was started by one that ended before it was read; it is being replaced by another
    /// program (exec), which shows no variables for a moment; it is ending, when its memory is gone
    /// before the files that it has open are closed, and with them its devices.
    ///
    /// O(all processes of the machine) a pass: asked only when a lease's own processes are gone.
    #[must_use]
    pub fn marked(&self, variable: &str) -> Marked {
        let mut found: BTreeMap<String, Vec<Identity>> = BTreeMap::new();
        let mut complete = false;
        // Processes that were read and bear no mark. That they end hides nobody.
        let mut others: BTreeSet<i32> = BTreeSet::new();
        for pass in 0..PASSES {
            // Each pass begins afresh, as processes of the one before may have ended.
            found.clear();
            let (mut ended, mut ending, mut bare) = (false, false, false);
            for pid in self.pids() {
                let folder = self.proc.join(pid.to_string());
                let variables = match self.variables(pid) {
                    Ok(variables) => variables,
                    Err(error) => {
                        // Those of other users are nobody's that could be found here.
                        let hidden = error.kind() == ErrorKind::PermissionDenied;
                        // Threads of the kernel and zombies have no variables to read.
                        if hidden || self.is_bare(pid) {
                            others.insert(pid);
                        }
                        ended |= !others.contains(&pid);
                        continue;
                    }
                };
                if mark_in(&variables, variable).is_some() {
                    // Its number may be another's by now, so who has it is read before its mark.
                    match self.marked_one(pid, variable) {
                        Some((mark, identity)) => found.entry(mark).or_default().push(identity),
                        // It has ended, and what it has started since may bear the mark too.
                        None => ended = true,
                    }
                } else if !variables.is_empty() || self.is_bare(pid) {
                    others.insert(pid);
                } else if fs::read_link(folder.join("exe")).is_err() {
                    ending = true;
                } else {
                    bare = true;
                }
            }
            if !ended && !ending && (!bare || pass >= BARE_PASSES) {
                complete = true;
                break;
            }
            if ending || bare {
                thread::sleep(Duration::from_millis(1));
            }
        }
        for processes in found.values_mut() {
            processes.sort_by_key(|process| (process.id.start, process.id.pid));
        }
        Marked { found, complete }
    }

    /// The process of this number with its mark, if it bears one and goes on.
    fn marked_one(&self, pid: i32, variable: &str) -> Option<(String, Identity)> {
        let identity = self.identity(pid)?;
        let mark = self.mark_of(pid, variable)?;
        (self.life(&identity) == Liveness::Runs).then_some((mark, identity))
    }

    /// The processes whose numbers a list has, such as that of a control group. A number may be another's by the time
    /// of the scan: who has it is read before the list is, and that it still has it after that.
    pub fn listed(&self, list: impl Fn() -> Vec<i32>) -> Vec<Identity> {
        let numbers = list().into_iter();
        let mut found: Vec<Identity> = numbers.filter_map(|pid| self.identity(pid)).collect();
        let listed: BTreeSet<i32> = list().into_iter().collect();
        found.retain(|identity| {
            listed.contains(&identity.id.pid) && self.life(identity) == Liveness::Runs
        });
        found
    }

    /// Whether a process is a thread of the kernel, or a zombie: it has no variables.
    fn is_bare(&self, pid: i32) -> bool {
        self.stat(pid)
            .is_some_and(|stat| stat.is_dead || stat.parent == KTHREADD || pid == KTHREADD)
    }

    /// Whether a process of this user started no earlier than that tick and hides its variables: it
    /// may belong to any lease of the user.
    #[must_use]
    pub fn hides_one_of(&self, uid: u32, since: i64) -> bool {
        self.pids().into_iter().any(|pid| {
            let folder = self.proc.join(pid.to_string());
            let is_owner = fs::metadata(&folder).is_ok_and(|metadata| metadata.uid() == uid);
            let is_later = self
                .identity(pid)
                .is_some_and(|identity| identity.id.start >= since);
            // One that has ended meanwhile cannot be opened either, and holds nothing.
            // Opening is enough: the kernel checks there who may read.
            let opened = || fs::File::open(folder.join("environ"));
            let is_hidden =
                || opened().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
            is_owner && is_later && !self.is_bare(pid) && is_hidden()
        })
    }

    /// The processes below this one: children, their children, and so on, nearest first. Whose child a
    /// process is and when it started are read at once, so that a number which is used again is not
    /// taken for it.
    #[must_use]
    pub fn below(&self, ancestor: i32) -> Vec<Identity> {
        self.families().below(ancestor)
    }

    /// Who has started whom, of all processes: for who asks for those below several.
    #[must_use]
    pub fn families(&self) -> ProcessTree {
        let mut children: BTreeMap<i32, Vec<Identity>> = BTreeMap::new();
        for pid in self.pids() {
            if let Some(stat) = self.stat(pid).filter(|stat| !stat.is_dead) {
                let identity = self.named(pid, stat.start);
                children.entry(stat.parent).or_default().push(identity);
            }
        }
        ProcessTree(children)
    }

    /// Sends a signal to a process, and to no later one of its number. Nothing happens if it has ended.
    ///
    /// # Errors
    /// The kernel refuses: it is another user's.
    pub fn signal(&self, of: &Identity, signal: Signal) -> io::Result<()> {
        let Some(pid) = number(of.id.pid) else {
            return Ok(());
        };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Some(handle),
            Err(Errno::SRCH) => return Ok(()),
            // Kernels before 5.3.
            Err(Errno::NOSYS) => None,
            Err(error) => return Err(error.into()),
        };
        // The handle is of whoever has the number now.
        if self.life(of) != Liveness::Runs {
            return Ok(());
        }
        let sent = match handle {
            Some(handle) => pidfd_send_signal(handle, signal),
            None => kill_process(pid, signal),
        };
        match sent {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// When a process started, nanoseconds since the boot: up to a tick of the kernel too early.
    #[must_use]
    pub fn since_boot(&self, of: &Identity) -> i64 {
        let tick = 1_000_000_000 / i64::try_from(clock_ticks_per_second().max(1)).unwrap_or(100);
        of.id.start.saturating_mul(tick)
    }

    /// When a process started, by the clock that files have too: up to a tick of the kernel too early.
    #[must_use]
    pub fn started(&self, of: &Identity) -> SystemTime {
        // The kernel counts the start from the boot on, with the time that the machine was
        // suspended.
        let up = clock_gettime(ClockId::Boottime);
        let up = Duration::new(up.tv_sec.unsigned_abs(), up.tv_nsec as u32);
        let since = of.id.start.unsigned_abs() as f64 / clock_ticks_per_second() as f64;
        let age = up.saturating_sub(Duration::from_secs_f64(since));
        SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH)
    }

    /// The signals that this process ignores, as a set of bits: signal 1 is the lowest.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        let status = fs::read_to_string(self.proc.join("self/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
            .unwrap_or_default()
    }

    /// The value of this variable of a process, its mark, if it can be read.
    #[must_use]
    pub fn mark_of(&self, pid: i32, variable: &str) -> Option<String> {
        mark_in(&self.variables(pid).ok()?, variable)
    }

    /// The effective user of a process, if it can be seen.
    #[must_use]
    pub fn uid_of(&self, pid: i32) -> Option<u32> {
        let folder = fs::metadata(self.proc.join(pid.to_string()));
        folder.ok().map(|found| found.uid())
    }

    /// Whether a process has this file open (device and inode), as far as this one may see that.
    #[must_use]
    pub fn has_open(&self, pid: i32, file: (u64, u64)) -> bool {
        let open = fs::read_dir(self.proc.join(pid.to_string()).join("fd"));
        let mut open = open.into_iter().flatten().flatten();
        open.any(|entry| {
            let found = fs::metadata(entry.path());
            found.is_ok_and(|found| (found.dev(), found.ino()) == file)
        })
    }

    /// The file name of the program that a process executes, if this one may see it.
    #[must_use]
    pub fn program_of(&self, pid: i32) -> Option<String> {
        let path = fs::read_link(self.proc.join(pid.to_string()).join("exe")).ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    /// The names of the control groups in which a process is, and of those above them; none if it cannot be read.
    #[must_use]
    pub fn groups_of(&self, pid: i32) -> BTreeSet<String> {
        let file = self.proc.join(pid.to_string()).join("cgroup");
        let text = fs::read_to_string(file).unwrap_or_default();
        let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        let names = paths.flat_map(|path| path.split('/'));
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// The variables of a process, with a zero byte behind each: those of one program, or none at all while it
    /// is being replaced by another.
    fn variables(&self, pid: i32) -> io::Result<Vec<u8>> {
        let path = self.proc.join(pid.to_string()).join("environ");
        let mut size = 1 << 14;
        loop {
            // The kernel answers one read from one program's memory. After the process has executed another program,
            // a second read finds the end of the file, and the text is cut. So each try is one read of a file that it opens.
            let mut variables = vec![0; size];
            let read = fs::File::open(&path)?.read(&mut variables)?;
            if read < size {
                variables.truncate(read);
                return Ok(variables);
            }
            size *= 4;
        }
    }

    /// Whether there is surely no process of this number, which a driver told. In a container a driver
    /// may tell numbers of outside, so there nobody can say.
    #[must_use]
    pub fn is_gone(&self, pid: i32) -> bool {
        self.namespace == FIRST_NAMESPACE
            && number(pid).is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
    }

    /// The name of a process, for people.
    #[must_use]
    pub fn name(&self, pid: i32) -> String {
        let name = fs::read_to_string(self.proc.join(pid.to_string()).join("comm"));
        name.map_or_else(|_| String::new(), |name| name.trim().to_owned())
    }
}

/// Whether the boot clock of this process is not that of the machine: the starts of processes are shifted by as much.
fn is_clock_shifted(proc: &std::path::Path) -> bool {
    let namespace = |name: &str| {
        fs::metadata(proc.join("self/ns").join(name))
            .map(|found| found.ino())
            .ok()
    };
    // The offsets are those of the children of this process, if they get another namespace.
    if namespace("time") != namespace("time_for_children") {
        return false;
    }
    let offsets = fs::read_to_string(proc.join("self/timens_offsets")).unwrap_or_default();
    offsets.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("boottime") && words.any(|word| word != "0")
    })
}

fn mark_in(variables: &[u8], variable: &str) -> Option<String> {
    let mut variables = variables.split(|byte| *byte == 0);
    let value =
        variables.find_map(|text| text.strip_prefix(variable.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(value.to_vec()).ok()
}

/// The number of a process as the kernel takes it; none of what somebody else has written down that is no number.
fn number(pid: i32) -> Option<Pid> {
    (pid > 0).then(|| Pid::from_raw(pid)).flatten()
}

/// Who had started whom when processes were listed, by parent.
#[derive(Debug)]
pub struct ProcessTree(BTreeMap<i32, Vec<Identity>>);

impl ProcessTree {
    /// The processes below one, nearest first.
    pub fn below(&self, ancestor: i32) -> Vec<Identity> {
        let children = |pid: i32| self.0.get(&pid).cloned().unwrap_or_default();
        let mut found = children(ancestor);
        // No process is below itself, but a list that is read while numbers are used again may say so.
        let mut seen = BTreeSet::from([ancestor]);
        let mut at = 0;
        while at < found.len() {
            if seen.insert(found[at].id.pid) {
                found.extend(children(found[at].id.pid));
            }
            at += 1;
        }
        found
    }

    /// Whether a process was there.
    pub fn has(&self, own: &Identity) -> bool {
        self.0.values().flatten().any(|other| other == own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_the_same_number_of_another_start_or_boot_does_not() {
        let processes = Processes::new().unwrap();
        let identity = processes.own().unwrap();
        assert_eq!(processes.life(&identity), Liveness::Runs);
        assert!(processes.may_run(&identity));
        let later = Identity {
            id: ProcessId {
                start: identity.id.start + 1,
                ..identity.id
            },
            ..identity.clone()
        };
        assert_eq!(processes.life(&later), Liveness::Ended);
        assert!(!processes.may_run(&later));
        let elsewhere = Identity {
            namespace: identity.namespace + 1,
            ..identity.clone()
        };
        assert_eq!(processes.life(&elsewhere), Liveness::Elsewhere);
        // Its number is another process's here.
        assert!(!processes.may_run(&elsewhere));
        assert_eq!(
            processes.of_boot("another").life(&identity),
            Liveness::Ended
        );
    }

    #[test]
    fn a_signal_reaches_the_process_that_is_meant_and_no_later_one_of_its_number() {
        let processes = Processes::new().unwrap();
        let begun = SystemTime::now();
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let identity = processes.identity(child.id() as i32).unwrap();
        let started = processes.started(&identity);
        // The start is in ticks.
        let early = begun - Duration::from_millis(50);
        assert!(
            early <= started && started <= SystemTime::now(),
            "{started:?}"
        );
        let below = processes.below(std::process::id() as i32);
        assert!(below.contains(&identity), "{below:?}");
        // As if the number had been another's when the signal was meant for that one.
        let earlier = Identity {
            id: ProcessId {
                start: identity.id.start - 1,
                ..identity.id
            },
            ..identity.clone()
        };
        processes.signal(&earlier, Signal::KILL).unwrap();
        // A signal that was sent would have ended it by the time that another one does.
        processes.signal(&identity, Signal::TERM).unwrap();
        let status = child.wait().unwrap();
        let by = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(by, Some(Signal::TERM.as_raw()));
        processes.signal(&identity, Signal::TERM).unwrap();
    }

    #[test]
    fn a_number_that_nobody_has_is_gone_where_all_can_be_seen() {
        let mut processes = Processes::new().unwrap();
        let own_pid = std::process::id() as i32;
        processes.namespace = FIRST_NAMESPACE;
        assert_eq!(
            [own_pid, 1 << 29].map(|pid| processes.is_gone(pid)),
            [false, true]
        );
        processes.namespace = FIRST_NAMESPACE + 1;
        assert!(!processes.is_gone(1 << 29));
    }

    #[test]
    fn the_mark_is_a_whole_variable() {
        let found = |text: &str| mark_in(text.as_bytes(), "MAPA_LEASE");
        assert_eq!(found("A=1\0MAPA_LEASE=x:7\0B=2\0"), Some("x:7".to_owned()));
        assert_eq!(found("MAPA_LEASES=x:7\0NOT_MAPA_LEASE=x:7\0"), None);
    }

    #[test]
    fn variables_are_whole_while_a_process_executes_one_program_after_another() {
        let processes = Processes::new().unwrap();
        let script = r#"[ "$1" -gt 0 ] && exec sh -c "$0" "$0" $(($1 - 1)); exec sleep 600"#;
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, script, "200"]);
        // Many reads' worth of variables, were they read in parts.
        for number in 0..6 {
            command.env(format!("MAPA_TEST_{number}"), "x".repeat(100_000));
        }
        let mut child = command.spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        while processes.name(pid) != "sleep" {
            assert_eq!(child.try_wait().unwrap(), None);
            let variables = processes.variables(pid).unwrap();
            // Before the first program is executed they are those of this test.
            let shared = |number| {
                let mark = mark_in(&variables, &format!("MAPA_TEST_{number}"));
                mark.map(|text| text.len())
            };
            let found: Vec<usize> = (0..6).filter_map(shared).collect();
            assert!(
                found.is_empty() || found == [100_000; 6],
                "{found:?} of {} bytes",
                variables.len()
            );
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_number_on_a_list_is_that_of_a_process_that_is_on_it_and_goes_on() {
        use std::cell::{Cell, RefCell};
        let all = Processes::new().unwrap();
        let identity = all.own().unwrap();
        assert_eq!(
            all.listed(|| vec![identity.id.pid]),
            std::slice::from_ref(&identity)
        );
        // It leaves after its identity was read.
        let reads = Cell::new(0);
        let leaves = || {
            reads.set(reads.get() + 1);
            if reads.get() == 1 {
                vec![identity.id.pid]
            } else {
                Vec::new()
            }
        };
        assert_eq!(all.listed(leaves), []);
        // It ends while the list is read, and its number is another's, or nobody's.
        let child = std::process::Command::new("sleep").arg("600").spawn();
        let child = RefCell::new(child.unwrap());
        let reads = Cell::new(0);
        let ends = || {
            reads.set(reads.get() + 1);
            let mut child = child.borrow_mut();
            if reads.get() == 2 {
                child.kill().unwrap();
                child.wait().unwrap();
            }
            vec![child.id() as i32]
        };
        assert_eq!(all.listed(ends), []);
        assert_eq!(reads.get(), 2);
    }
}
