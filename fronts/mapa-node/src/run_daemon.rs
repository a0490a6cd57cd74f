//! `mapa-node --scheduler NAME`: one scheduler, and the control of latencies, for as long as the machine is up.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use mapa_front::answer::node::Status;
use mapa_front::drive_log::{RECORD_VERSION, RecordHead};
use mapa_front::{MachineSpec, Names, SchedulerSpec};
use mapa_live::levers::{CgroupPath, LeverEvent, LeverManager, LeverSet};
use mapa_live::{Live, Processes, Roots};
use mapa_sched::{Fleet, Scheduler, SchedulerRun};
use mapa_topologies::{Machine, Vendor};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing::{info, warn};

use crate::acquire::wake_head;
use crate::cli::{Length, MachineArgs};
#[cfg(feature = "slo")]
use crate::daemon::LatencyControl;
use crate::daemon::{
    DaemonConfig, DriverParts, DriverStop, HostSampler, Inbox, InboxMessage, InboxSender, Metrics,
    Needs, NodeDriver, NodeJournal, NodeLevers, Recorder, Reporter, RunEnd, SharedStatus,
    folder_of, inbox, job_of_lease, now_ms,
};
use crate::error::Error;
use crate::health::{self, HealthTargets};
use crate::leader::{Leader, TICKET, acquire_leadership, refuse_second_leader};
use crate::ledger::{Durability, Ledger, UnixNanos, now};
use crate::local_files::LocalFiles;
use crate::mailbox::Mailbox;
use crate::mark;
use crate::memory::user;
use crate::node::Node;
use crate::output::Output;
use crate::path_visibility::PathVisibility;
use crate::service::{self, LogFormat, Served};
use crate::wakeup::WakeupSocket;

/// How long after an error the health of devices is watched again.
const WATCH_AGAIN: Duration = Duration::from_secs(10);

/// The options of the daemon.
#[derive(Debug, Args)]
pub(crate) struct DaemonArgs {
    /// Order the queue by this scheduler, for as long as the machine is up: a name with settings, such as
    /// easy-backfill or conservative-backfill,depth=8.
    #[arg(long, value_name = "NAME", long_help = scheduler_help())]
    pub scheduler: Option<SchedulerSpec>,
    /// The configuration: packaging/mapa-node.toml has every key.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Append the events that the scheduler gets and its actions to this file, for `mapa-node replay`.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Apply no change to the machine: print what would be applied. Jobs get their devices all the same.
    #[arg(long)]
    pub dry_run: bool,
    /// Where sysfs, procfs and cgroupfs lie [default: /].
    #[arg(long, value_name = "FOLDER", hide_short_help = true)]
    pub root: Option<PathBuf>,
    /// End after this time: 90, 90s, 10m, 2h, 1d [default: at SIGTERM or SIGINT].
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Length>,
    /// How the log is written: text or json.
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub log: LogFormat,
    /// Log actions too.
    #[arg(long)]
    pub verbose: bool,
}

/// How paths that the topology hides are known all the same.
#[cfg(feature = "slo")]
const INFERRED: &str = "; `[slo]` infers it from counters";
#[cfg(not(feature = "slo"))]
const INFERRED: &str = "";

/// The help of `--scheduler`: the schedulers that this build has, those of published systems among them.
fn scheduler_help() -> String {
    let names = Names::built_in();
    let lines = names.schedulers.iter().map(|row| {
        let name = std::iter::once(row.name.as_str()).chain(row.settings.iter().copied());
        let name: Vec<&str> = name.collect();
        format!("  {}: {}", name.join(","), row.summary)
    });
    format!(
        "Order the queue by this scheduler, for as long as the machine is up: a name, with settings behind commas:\n{}",
        lines.collect::<Vec<_>>().join("\n")
    )
}

/// Runs the daemon until a signal or its time ends it.
///
/// # Errors
/// The configuration, the scheduler or the machine is not as expected; another daemon is there; the
/// ledger fails.
pub(crate) fn drive(
    args: &DaemonArgs,
    machine: &MachineArgs,
    ledger: &Path,
    output: Output,
) -> Result<(), Error> {
    service::log(args.log, args.verbose);
    let config: DaemonConfig = match &args.config {
        Some(path) => DaemonConfig::read(path)?,
        None => DaemonConfig::default(),
    };
    let named = args.scheduler.clone();
    let spec = named.unwrap_or_else(|| config.queue.scheduler.clone());
    let scheduler = scheduler(&spec, &config)?;
    let mut live = machine.live();
    if let Some(root) = &args.root {
        live.roots = Roots::below(root);
    }
    let mut books = Ledger::open(ledger)?;
    let processes = Processes::new()?;
    books.read(|books| refuse_second_leader(books, &processes))?;
    if let Some(group) = &config.service.group {
        service::gid("service.group", group)?;
    }
    let leader = Leader {
        process: processes.own()?,
        owner: user(),
        scheduler: spec.words().to_owned(),
    };
    // Signals are heard before there is anything to give back.
    let (outside, inbox) = inbox();
    listen(&outside, books.id());
    // Changes that a crash has left are reverted before the machine is read. Only the process that has the journal
    // open applies changes.
    let (manager, left) = open_levers(&live, &config, ledger, &leader)?;
    // Last of all: a daemon that does not start leaves the ledger as it was.
    take(books.path())?;
    books.change(Durability::Disk, |books| {
        acquire_leadership(books, &processes, &leader)
    })?;
    let daemon = DaemonRun {
        args,
        config: &config,
        live: &live,
        processes: &processes,
        leader: &leader,
        spec,
        outside,
        machine: machine.spec(),
        output,
    };
    let ended = daemon.run(inbox, scheduler, ledger, manager, left);
    if let Err(error) = &ended {
        // Whoever waits need not wait for its silence to count.
        let why = format!("it failed: {error}");
        let Leader { owner, process, .. } = &leader;
        let resigned = books.change(Durability::Boot, |books| books.resign(owner, process, &why));
        drop(resigned.and_then(|()| wake_head(&mut books)));
    }
    ended
}

/// Makes a ledger this user's alone, and its folder one in which nobody else can put another in its place: who asks for
/// devices is what the kernel says at the socket, and not what somebody writes.
///
/// # Errors
/// The ledger is another user's, and this one may not take it.
fn take(ledger: &Path) -> Result<(), Error> {
    let own = rustix::process::geteuid().as_raw();
    for end in ["", "-wal", "-shm"] {
        let mut name = ledger.as_os_str().to_owned();
        name.push(end);
        let file = Path::new(&name);
        let Ok(found) = file.symlink_metadata() else {
            continue;
        };
        let failed = |error: std::io::Error| {
            Error::at(
                file.display(),
                format_args!(
                    "{error}: it is of user {}: expected one of user {own}, as whom this daemon runs: sudo chown {own} {}",
                    found.uid(),
                    file.display()
                ),
            )
        };
        if found.uid() != own {
            lchown(file, Some(own), None).map_err(failed)?;
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(file, Permissions::from_mode(0o600)).map_err(failed)?;
            info!(file = %file.display(), "the ledger is the daemon's alone now: others ask at its socket");
        }
    }
    let folder = ledger.parent().unwrap_or(Path::new("/"));
    let found = fs::metadata(folder).map_err(|error| Error::at(folder.display(), error))?;
    // In a folder such as /tmp nobody can remove another's files.
    let is_sticky = found.mode() & 0o1000 != 0;
    if found.mode() & 0o022 == 0 || is_sticky {
        return Ok(());
    }
    let mode = Permissions::from_mode(found.mode() & 0o7777 & !0o022);
    match fs::set_permissions(folder, mode) {
        Ok(()) => {
            info!(folder = %folder.display(), "others can no longer write the ledger's folder")
        }
        Err(error) => warn!(
            folder = %folder.display(), %error,
            "others can write the ledger's folder, and put another ledger there"
        ),
    }
    Ok(())
}

/// The scheduler of a configuration.
fn scheduler(
    spec: &SchedulerSpec,
    config: &DaemonConfig,
) -> Result<Box<dyn Scheduler + Send>, Error> {
    let queue = &config.queue;
    let names = Names::built_in();
    Ok(queue
        .policy
        .scheduler(&names, spec, &queue.execution, &LocalFiles)?)
}

/// The moment 0 of a run: before anything that is in the ledger.
fn epoch(ledger: &mut Ledger) -> Result<UnixNanos, Error> {
    ledger.read(|books| {
        let leases = books.leases()?.into_iter().map(|lease| lease.granted);
        let queue = books.queue()?.into_iter().map(|ticket| ticket.since);
        Ok(leases.chain(queue).fold(now(), UnixNanos::min))
    })
}

/// What a record begins with. The machine must read back as it is, or a replay would decide on
/// another one.
fn head(
    node: &Node,
    changes: &MachineSpec,
    spec: &SchedulerSpec,
    config: &DaemonConfig,
    began: UnixNanos,
) -> Result<RecordHead, Error> {
    let text = node.loaded().machine.to_toml().map_err(Error::malformed)?;
    // What the options change is in the text already; the name is what the text is read by.
    let changes = MachineSpec {
        machine: Vec::new(),
        mig: changes.mig.clone(),
        ..MachineSpec::default()
    };
    let again = Machine::from_toml(&text).map_err(Error::malformed)?;
    let again = changes.complete("the record's machine", again, &mut |_| {})?;
    if again.graph().fingerprint() != node.graph().fingerprint() {
        return Err(Error::malformed(
            "--record: this machine's description does not read back as it is: expected a machine that a machine file can hold",
        ));
    }
    Ok(RecordHead {
        version: RECORD_VERSION,
        release: env!("CARGO_PKG_VERSION").to_owned(),
        scheduler: spec.clone(),
        policy: config.queue.policy.clone(),
        execution: config.queue.execution.clone(),
        machine: text,
        changes,
        began,
    })
}

/// All that a run of the daemon rests on.
struct DaemonRun<'a> {
    args: &'a DaemonArgs,
    config: &'a DaemonConfig,
    live: &'a Live,
    processes: &'a Processes,
    leader: &'a Leader,
    spec: SchedulerSpec,
    outside: InboxSender,
    machine: MachineSpec,
    output: Output,
}

/// How long the daemon waits after its disk was full.
const STORAGE_PAUSE: Duration = Duration::from_millis(250);

impl DaemonRun<'_> {
    fn run(
        &self,
        inbox: Inbox,
        mut scheduler: Box<dyn Scheduler + Send>,
        ledger: &Path,
        manager: LeverManager<NodeJournal>,
        left: Vec<String>,
    ) -> Result<(), Error> {
        let mut ledger = Ledger::open(ledger)?;
        let node = self.load_node(&mut ledger)?;
        let began = epoch(&mut ledger)?;
        let recorder = self.open_record(&node, began)?;
        let shared = self.shared_status(&node);
        let reporter = reporter(&shared, &left);
        // The other drivers report no changes of health.
        if node.is_live() && node.vendor() == Vendor::Nvidia {
            self.watch_health(&shared, &node, ledger.path());
        }
        let news = Arc::new(Mailbox::new().map_err(|error| Error::at("the mailbox", error))?);
        let what = Served {
            ledger: ledger.path().to_owned(),
            machine: self.machine.clone(),
            live: self.live.clone(),
            check_drivers: self.config.queue.check_drivers,
        };
        let (config, to) = (&self.config.service, &self.outside);
        let served = service::serve(config, (&what, &ledger), &shared, to, &news)?;
        let fleet = Fleet::new([node.loaded().graph().clone()]);
        #[allow(unused_mut, reason = "a feature asks it for programs")]
        let mut levers = self.levers(manager, &mut ledger)?;
        #[cfg(feature = "slo")]
        let slo = LatencyControl::start(self.config, self.live, &mut levers)?;
        let needs = Needs {
            scheduler: self.needs_counters(),
            #[cfg(feature = "slo")]
            contention: (slo.as_ref()).map_or(Some(false), LatencyControl::needs_devices),
            #[cfg(not(feature = "slo"))]
            contention: Some(false),
        };
        let (to, live) = (&self.outside, self.live);
        let sampler = HostSampler::start(live, self.config, &node, needs, to, &shared)?;
        let mut driver = NodeDriver::new(DriverParts {
            ledger,
            node,
            machine: self.machine.clone(),
            processes: self.processes,
            live: self.live,
            config: self.config,
            leader: self.leader.clone(),
            began,
            levers,
            inbox,
            reporter,
            news: Some(news),
        });
        driver.recorder = recorder;
        driver.sampler = sampler;
        driver.end = RunEnd {
            signal: None,
            at: (self.args.duration).map(|length| Instant::now() + Duration::from_secs(length.0)),
        };
        #[cfg(feature = "slo")]
        {
            driver.slo = slo.map(|slo| Box::new(slo) as Box<_>);
        }
        if self.needs_counters() {
            self.report_hidden_paths(&mut driver);
        }
        info!(
            scheduler = self.leader.scheduler,
            ledger = %driver.ledger.path().display(),
            "ready"
        );
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        // Not before it is ready: an MPS daemon that does not answer takes its time.
        #[cfg(feature = "slo")]
        if let Some(slo) = driver.slo.take() {
            slo.introduce(&mut driver);
            driver.slo = Some(slo);
        }
        let mut ended = run_loop(&mut SchedulerRun::new(fleet), &mut *scheduler, &mut driver);
        loop {
            match &ended {
                Ok(RunStop::LinksChanged) => {
                    info!("links of the machine have changed: the scheduler begins anew on it");
                }
                // Nothing was changed, and what holds is in the ledger: once its disk has room, the scheduler begins
                // anew, as after a crash. Those who ask meanwhile are told.
                Err(Error::Storage(error)) => {
                    driver.reporter.error("ledger", error);
                    driver.rest(STORAGE_PAUSE);
                }
                _ => break,
            }
            ended = self.run_anew(&mut driver, &mut scheduler, began);
        }
        let ended = ended.map(drop);
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        drop(served);
        let why = match (&ended, driver.end.signal) {
            (Err(error), _) => format!("it failed: {error}"),
            (Ok(()), Some(signal)) => format!("signal {signal} ended it"),
            (Ok(()), None) => "it ended".to_owned(),
        };
        info!(why, "ends");
        driver.close(&why)?;
        ended
    }

    /// Another run, on the present graph of the machine: as if the daemon had started now.
    fn run_anew(
        &self,
        driver: &mut NodeDriver<'_>,
        scheduler: &mut Box<dyn Scheduler + Send>,
        began: UnixNanos,
    ) -> Result<RunStop, Error> {
        driver.begin_anew();
        *scheduler = self::scheduler(&self.spec, self.config)?;
        if driver.recorder.is_some() {
            // The last turn is written: a run ends between two turns.
            driver.recorder = self.open_record(&driver.node, began)?;
        }
        let fleet = Fleet::new([driver.node.loaded().graph().clone()]);
        let mut drive = SchedulerRun::new(fleet);
        // Where no job is there and no device is withheld, no turn follows that would tell it.
        driver.reporter.present(&driver.node, drive.seen());
        run_loop(&mut drive, &mut **scheduler, driver)
    }

    /// Reads the machine, and binds a new ledger to it.
    fn load_node(&self, ledger: &mut Ledger) -> Result<Node, Error> {
        let mut node = Node::load(&self.machine, self.live, &mut |warning| {
            self.output.aside(warning);
        })?;
        if !ledger.read(|books| node.is_bound(books))? {
            ledger.change(Durability::Disk, |books| {
                node.bind(books, &self.leader.owner)
            })?;
        }
        // Its levers can partition a device that has no instance.
        node.open_bare()?;
        Ok(node)
    }

    /// Opens the file of `--record`, if there is one.
    fn open_record(&self, node: &Node, began: UnixNanos) -> Result<Option<Recorder>, Error> {
        let Some(path) = &self.args.record else {
            return Ok(None);
        };
        let head = head(node, &self.machine, &self.spec, self.config, began)?;
        Ok(Some(Recorder::new(path, head)?))
    }

    /// What the service says before the first instant.
    fn shared_status(&self, node: &Node) -> Arc<SharedStatus> {
        Arc::new(SharedStatus {
            metrics: Metrics::new(),
            status: Mutex::new(Status {
                release: env!("CARGO_PKG_VERSION").to_owned(),
                pid: std::process::id(),
                since_ns: now(),
                machine: node.loaded().machine.name.clone(),
                scheduler: self.leader.scheduler.clone(),
                dry_run: self.args.dry_run,
                ..Status::default()
            }),
        })
    }

    /// The levers of this machine. What they hold already belongs to the leases that the ledger has.
    fn levers(
        &self,
        manager: LeverManager<NodeJournal>,
        ledger: &mut Ledger,
    ) -> Result<NodeLevers<'_, NodeJournal>, Error> {
        let leases = ledger.read(|books| books.leases())?;
        let job_of = |group: &CgroupPath| {
            let name = group.path().rsplit('/').next()?;
            let mut leases = leases.iter().map(|lease| lease.id);
            let lease = leases.find(|&lease| mark::name_of(&ledger.mark(lease)) == name);
            lease.map(job_of_lease)
        };
        let (levers, roots) = (&self.config.levers, &self.live.roots);
        let dry_run = self.args.dry_run;
        Ok(NodeLevers::new(manager, levers, roots, dry_run, job_of))
    }

    /// A scheduler of latencies throttles those who share a path: where the machine hides its paths, it cannot.
    fn report_hidden_paths(&self, driver: &mut NodeDriver<'_>) {
        if driver.node.is_live()
            && let PathVisibility {
                hidden: Some(why),
                // A driver that has not answered may tell it yet.
                unanswered: None,
                ..
            } = PathVisibility::of(self.live)
        {
            let what = format!(
                "{why}: jobs on other devices are not known to be beside a tenant and are not throttled{INFERRED}"
            );
            driver.reporter.error("topology", &what);
        }
    }

    /// Notes in the ledger what becomes of devices' health, for as long as this program runs.
    fn watch_health(&self, shared: &Arc<SharedStatus>, node: &Node, ledger: &Path) {
        let (shared, to) = (shared.clone(), self.outside.clone());
        let (live, owner) = (self.live.clone(), self.leader.owner.clone());
        let (devices, ledger) = (HealthTargets::new(node), ledger.to_owned());
        thread::spawn(move || {
            let tell = |what: String| {
                info!(what, "health");
                to.tell(InboxMessage::Wakeup);
            };
            let mut last = String::new();
            loop {
                if let Err(error) = health::monitor(&live, &devices, &ledger, &owner, || true, tell)
                {
                    shared.metrics.error("health");
                    let error = error.to_string();
                    if error != last {
                        warn!(error, "events of devices are not watched for a while");
                    }
                    last = error;
                }
                thread::sleep(WATCH_AGAIN);
            }
        });
    }

    /// Whether the scheduler gets the counters of the host: each sample is a turn.
    fn needs_counters(&self) -> bool {
        let names = Names::built_in();
        let row = names.schedulers.get(self.spec.name());
        row.is_some_and(|row| row.for_latencies)
    }
}

/// Who tells of this run, first of all which levers of an earlier one are left.
fn reporter(shared: &Arc<SharedStatus>, left: &[String]) -> Reporter {
    let mut told = Reporter::new(shared.clone(), sd_notify::watchdog_enabled());
    for lever in left {
        told.lever_failed(lever, "revert");
    }
    told
}

/// The levers, after what an earlier daemon has left was reverted; and the names of levers that
/// could not be.
fn open_levers(
    live: &Live,
    config: &DaemonConfig,
    ledger: &Path,
    leader: &Leader,
) -> Result<(LeverManager<NodeJournal>, Vec<String>), Error> {
    let folder = config.levers.journal.clone();
    let folder = folder.unwrap_or_else(|| folder_of(ledger));
    let journal = NodeJournal::open(&folder, ledger, leader)?;
    let levers = LeverSet::of(live, config.levers.bounds);
    let opened = LeverManager::open(levers, journal, now_ms());
    let (manager, events) = opened.map_err(|error| Error::at("levers", error))?;
    let mut failed = Vec::new();
    for event in events {
        match event {
            LeverEvent::Reverted { id, lever } => info!(id, lever, "change reverted after restart"),
            LeverEvent::RevertFailed { id, lever, left } => {
                warn!(id, lever, left = ?left, "revert failed after restart");
                failed.push(lever);
            }
            _ => {}
        }
    }
    Ok((manager, failed))
}

/// Why a run is over.
enum RunStop {
    /// The daemon ends.
    Ended,
    /// The machine has another graph: a run on it follows.
    LinksChanged,
}

/// Goes from instant to instant.
fn run_loop(
    drive: &mut SchedulerRun,
    scheduler: &mut dyn Scheduler,
    driver: &mut NodeDriver<'_>,
) -> Result<RunStop, Error> {
    loop {
        match drive.instant(scheduler, driver) {
            Ok(true) => {}
            Ok(false) => return Ok(RunStop::Ended),
            Err(DriverStop::LinksChanged) => return Ok(RunStop::LinksChanged),
            // The fleet did not book the event. The devices of a lease that could not be adopted are occupied
            // (`settle`); any other such event only remains in the record.
            Err(DriverStop::InvalidEvent(error)) => {
                driver.reporter.error("events", &error.to_string())
            }
            Err(DriverStop::Over(error)) => return Err(error),
        }
        // A daemon keeps no past: that is the ledger's.
        let record = drive.record_mut();
        for left in record.take_left() {
            if let Some(stay) = left.life.stays.list().first() {
                driver.reporter.waited(stay.from.since(left.life.arrived));
            }
        }
        drop(record.take_failed_orders());
    }
}

/// Listens for signals, and for wake-ups of the ledger.
fn listen(outside: &InboxSender, ledger: &str) {
    if let Ok(socket) = WakeupSocket::new(ledger, TICKET) {
        let to = outside.clone();
        thread::spawn(move || {
            while socket.wait().is_ok() {
                to.tell(InboxMessage::Wakeup);
            }
        });
    }
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        let to = outside.clone();
        thread::spawn(move || {
            for signal in &mut signals {
                // Services read their configuration again when they get it.
                if signal == SIGHUP {
                    info!("SIGHUP does nothing: the configuration is read at the start");
                } else {
                    to.tell(InboxMessage::Stop(signal));
                }
            }
        });
    }
}
