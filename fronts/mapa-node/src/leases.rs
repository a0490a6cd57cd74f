//! Leases for other programs, which no process holds.
//!
//! Kubernetes and Slurm decide themselves which pod or job computes, and MAPA does not start its processes. So such a
//! program registers a lease before it starts something, and ends it when that has ended. Nothing else ends it: no
//! recovery, no kill, no boot. When the program starts it compares [`Leases::of`] with what it knows to run.

use std::path::{Path, PathBuf};

use mapa_core::{DeviceId, Reason, Refusal};
use mapa_front::answer::node::{NodeAnswer, NodeQuery, OutsideRow};
use mapa_front::{Files, JobSpec, MachineSpec, Names, PolicySpec};
use mapa_live::{DriverSnapshot, Live, Processes};

use crate::acquire::{choose, snapshot, wake_head};
use crate::client::Client;
use crate::desk::{Books, keys, named};
use crate::error::Error;
use crate::foreign::driver_snapshot;
use crate::ledger::{
    DeviceKey, Durability, ENDED_BY_OWNER, Lease, Ledger, LedgerTx, OutsideOwner, UnixNanos,
};
use crate::local_files::LocalFiles;
use crate::memory::user;
use crate::node::Node;
use crate::recover::recover;
use crate::timed::{DECISION_TIME, Timed};

/// The leases of a machine, for programs such as a device plugin of Kubernetes.
///
/// # Examples
///
/// ```
/// use mapa_front::{JobSpec, MachineSpec, PolicySpec};
/// use mapa_node::{Leases, OutsideOwner};
///
/// let folder = tempfile::tempdir()?;
/// // On the machine itself: `MachineSpec::default()`.
/// let machine = MachineSpec::named("dgx-a100");
/// let mut leases = Leases::open(folder.path().join("ledger.db"), &machine, &Default::default())?;
///
/// // Kubernetes has chosen these devices for a pod.
/// let pod = OutsideOwner::new("kubernetes", "0b2f7c1e-pod")?;
/// let held = leases.grant(&pod, &["GPU0", "GPU1"], "the pod starts")?;
///
/// // For another, MAPA chooses among those that are free.
/// let other = OutsideOwner::new("kubernetes", "77aa01d4-pod")?;
/// let two = JobSpec { gpus: Some(2), ..JobSpec::default() };
/// let chosen = leases.acquire(&other, &two, &PolicySpec::default())?;
/// assert!(held.devices.iter().all(|device| !chosen.devices.contains(device)));
///
/// // Only its owner ends a lease, and may say so twice.
/// assert!(leases.end(&other, held.id).is_err());
/// assert!(leases.end(&pod, held.id)?);
/// assert!(!leases.end(&pod, held.id)?);
///
/// // What the ledger has of this kind.
/// let names: Vec<String> =
///     leases.of("kubernetes")?.iter().map(|lease| lease.owner.name().to_owned()).collect();
/// assert_eq!(names, ["77aa01d4-pod"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Leases {
    path: PathBuf,
    machine: MachineSpec,
    live: Live,
}

/// A lease that no process holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideLease {
    /// Its number. No other lease of the ledger ever has it.
    pub id: i64,
    /// Whose word alone ends it.
    pub owner: OutsideOwner,
    /// The devices, in rank order.
    pub devices: Vec<DeviceKey>,
    /// When it was given.
    pub granted: UnixNanos,
}

impl OutsideLease {
    fn of(lease: Lease) -> Option<Self> {
        Some(Self {
            id: lease.id,
            owner: lease.owner?,
            devices: lease.devices,
            granted: lease.granted,
        })
    }

    /// As the socket answers it.
    pub(crate) fn row(self) -> OutsideRow {
        OutsideRow {
            lease: self.id,
            owner: self.owner.answer(),
            uid: self.owner.uid(),
            devices: named(self.devices),
            since_ns: self.granted,
        }
    }

    /// As the socket answered it.
    fn of_row(row: OutsideRow) -> Result<Self, Error> {
        Ok(Self {
            id: row.lease,
            owner: OutsideOwner::new(&row.owner.kind, &row.owner.name)?.registered_by(row.uid),
            devices: keys(row.devices),
            granted: row.since_ns,
        })
    }
}

impl Leases {
    /// The leases of the ledger in this file, and of this machine. Where a daemon serves the ledger, it is asked at its
    /// socket, by this process's user alone, who must be root or the daemon's: such a lease outlives every process.
    ///
    /// # Errors
    /// As [`Ledger::open`] and [`Node::load`]; the ledger is of another machine; the daemon may not be asked.
    pub fn open(path: impl AsRef<Path>, machine: &MachineSpec, live: &Live) -> Result<Self, Error> {
        let leases = Self {
            path: path.as_ref().to_owned(),
            machine: machine.clone(),
            live: live.clone(),
        };
        if let Books::File(mut ledger) = Books::open(&leases.path)? {
            leases.node(&mut ledger)?;
        }
        Ok(leases)
    }

    /// Registers that an owner has these devices, which it has chosen itself, in rank order: names, UUIDs, PCI addresses
    /// or [`DeviceKey`]s as text. Only leases keep a device from it, not cordons, faults, processes or the queue: the
    /// owner may have devices already when it says so.
    ///
    /// # Errors
    /// Busy if a device is held, with the holder; malformed if one does not exist, is named twice, or none is.
    pub fn grant(
        &mut self,
        owner: &OutsideOwner,
        devices: &[impl AsRef<str>],
        reason: &str,
    ) -> Result<OutsideLease, Error> {
        let devices: Vec<String> = devices.iter().map(|one| one.as_ref().to_owned()).collect();
        match Books::open(&self.path)? {
            Books::File(mut ledger) => {
                let node = self.node(&mut ledger)?;
                grant(&mut ledger, &node, owner, &devices, reason)
            }
            Books::Daemon(client) => {
                let query = NodeQuery::Register {
                    owner: owner.answer(),
                    devices,
                    reason: reason.to_owned(),
                };
                registered(client, &query)
            }
        }
    }

    /// Chooses devices for an owner by a policy, among those that `mapa run` would give now, and registers that it has
    /// them. It takes no place in the queue: jobs that wait there come first. A daemon opens no file that job or policy
    /// name.
    ///
    /// # Errors
    /// The refusal: busy also while jobs wait. The request is malformed; the drivers do not answer.
    pub fn acquire(
        &mut self,
        owner: &OutsideOwner,
        job: &JobSpec,
        policy: &PolicySpec,
    ) -> Result<OutsideLease, Error> {
        match Books::open(&self.path)? {
            Books::File(mut ledger) => {
                let mut node = self.node(&mut ledger)?;
                let drivers = driver_snapshot(&node, &self.live)?;
                if !node.is_current(&drivers) {
                    node = self.node(&mut ledger)?;
                }
                let of = (&node, &drivers);
                choose_for(&mut ledger, of, owner, (job, policy), &LocalFiles)
            }
            Books::Daemon(client) => {
                let query = NodeQuery::Choose {
                    owner: owner.answer(),
                    spec: json(job)?,
                    policy: json(policy)?,
                };
                registered(client, &query)
            }
        }
    }

    /// Ends a lease: its owner says that nothing of it computes any more. False if it has ended already, or never was.
    ///
    /// # Errors
    /// The lease is of a process, or of another owner: see [`OutsideOwner::may_end`].
    pub fn end(&mut self, owner: &OutsideOwner, lease: i64) -> Result<bool, Error> {
        match Books::open(&self.path)? {
            Books::File(mut ledger) => end(&mut ledger, owner, lease),
            Books::Daemon(client) => {
                let owner = owner.answer();
                match asked(client, &NodeQuery::Unregister { owner, lease })? {
                    (NodeAnswer::Unregistered { ended }, _) => Ok(ended),
                    (_, client) => Err(client.unexpected()),
                }
            }
        }
    }

    /// The leases of owners of this kind, by number.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn of(&mut self, kind: &str) -> Result<Vec<OutsideLease>, Error> {
        match Books::open(&self.path)? {
            Books::File(mut ledger) => of_kind(&mut ledger, kind),
            Books::Daemon(client) => {
                let kind = kind.to_owned();
                match asked(client, &NodeQuery::Registered { kind })? {
                    (NodeAnswer::Registered { leases }, _) => {
                        leases.into_iter().map(OutsideLease::of_row).collect()
                    }
                    (_, client) => Err(client.unexpected()),
                }
            }
        }
    }

    /// The machine as it is now: this program runs for months, and instances and links come and go meanwhile.
    fn node(&self, ledger: &mut Ledger) -> Result<Node, Error> {
        let node = Node::load(&self.machine, &self.live, &mut |_| {})?;
        if !ledger.read(|books| node.is_bound(books))? {
            ledger.change(Durability::Disk, |books| node.bind(books, &user()))?;
        }
        Ok(node)
    }
}

fn json(spec: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(spec).map_err(Error::malformed)
}

/// Asks the daemon, and returns its answer.
fn asked(mut client: Client, query: &NodeQuery) -> Result<(NodeAnswer, Client), Error> {
    let asked = client.ask(query, &mut |_| {});
    let answer = asked.map_err(|error| error.told_at(client.socket()))?;
    Ok((answer, client))
}

/// The lease that the daemon has registered.
fn registered(client: Client, query: &NodeQuery) -> Result<OutsideLease, Error> {
    match asked(client, query)? {
        (NodeAnswer::Registered { leases }, client) => {
            let lease = leases.into_iter().next();
            OutsideLease::of_row(lease.ok_or_else(|| client.unexpected())?)
        }
        (_, client) => Err(client.unexpected()),
    }
}

/// As [`Leases::grant`], in this ledger.
pub(crate) fn grant(
    ledger: &mut Ledger,
    node: &Node,
    owner: &OutsideOwner,
    devices: &[String],
    reason: &str,
) -> Result<OutsideLease, Error> {
    let processes = Processes::new()?;
    let devices = devices_of(node, devices)?;
    change(ledger, |books| {
        let leases = recover(books, &processes, &owner.audited())?.leases;
        match held(books, node, &leases, &devices)? {
            Some(why) => Ok(Err(Refusal::Busy(Reason::Rule(why.into())))),
            None => granted(books, owner, &node.keys(&devices), reason).map(Ok),
        }
    })
}

/// As [`Leases::acquire`], in this ledger. Files that the request names are these.
pub(crate) fn choose_for(
    ledger: &mut Ledger,
    (node, drivers): (&Node, &DriverSnapshot),
    owner: &OutsideOwner,
    (job, policy): (&JobSpec, &PolicySpec),
    files: &dyn Files,
) -> Result<OutsideLease, Error> {
    let (names, processes) = (Names::built_in(), Processes::new()?);
    let work = job.job(files)?;
    if work.ranks == 0 {
        return Err(Error::malformed(
            "a request for no devices: expected at least one",
        ));
    }
    let model = policy.model(&names, files)?;
    let policy = policy.policy(&names, model.as_ref(), Some(&work))?;
    let policy = Timed::new(policy, Some(DECISION_TIME));
    let request = job.request(&work, node.graph())?;
    change(ledger, |books| {
        let seen = snapshot(books, node, &processes, &owner.audited(), drivers)?;
        let decision = match choose(books, node, &seen, &policy, &request)? {
            Ok(decision) => decision,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let devices: Vec<DeviceId> = decision.placement().iter().copied().collect();
        let keys = node.keys(&devices);
        granted(books, owner, &keys, &decision.to_string()).map(Ok)
    })
}

/// As [`Leases::end`], in this ledger.
pub(crate) fn end(ledger: &mut Ledger, owner: &OutsideOwner, lease: i64) -> Result<bool, Error> {
    let ended = ledger.change(Durability::Disk, |books| {
        let mut leases = books.leases()?.into_iter();
        let Some(found) = leases.find(|found| found.id == lease) else {
            return Ok(false);
        };
        if !found.owner.as_ref().is_some_and(|own| owner.may_end(own)) {
            return Err(Error::malformed(format_args!(
                "lease {lease} is of {}, not of {}: expected its owner, or mapa release",
                holder(&found),
                owner.audited()
            )));
        }
        books.release(&owner.audited(), &found, ENDED_BY_OWNER)
    })?;
    if ended {
        // It has ended, whether others are woken or find that out by their next poll.
        let _ = wake_head(ledger);
    }
    Ok(ended)
}

/// As [`Leases::of`], in this ledger.
pub(crate) fn of_kind(ledger: &mut Ledger, kind: &str) -> Result<Vec<OutsideLease>, Error> {
    let leases = ledger.read(|books| books.leases())?;
    let mut outside: Vec<OutsideLease> = leases.into_iter().filter_map(OutsideLease::of).collect();
    outside.retain(|lease| lease.owner.kind() == kind);
    Ok(outside)
}

/// Grants within one change, which also keeps what recovery found where it refuses. Others may start then.
fn change(
    ledger: &mut Ledger,
    grant: impl FnOnce(&LedgerTx<'_>) -> Result<Result<OutsideLease, Refusal>, Error>,
) -> Result<OutsideLease, Error> {
    let granted = ledger.change(Durability::Disk, grant)?;
    let _ = wake_head(ledger);
    Ok(granted?)
}

/// The devices that these words name.
///
/// # Errors
/// A device does not exist, or is named twice; none is named.
fn devices_of(node: &Node, words: &[String]) -> Result<Vec<DeviceId>, Error> {
    let present = node.loaded().idle.view().present();
    let mut devices = Vec::with_capacity(words.len());
    for word in words {
        let (whole, part) = word.split_once('/').unwrap_or((word, ""));
        let key = DeviceKey {
            whole: whole.to_owned(),
            part: part.to_owned(),
        };
        let id = match node.device(&key) {
            Some(id) => id,
            None => node.graph().find(word)?,
        };
        if !present.contains(id) {
            return Err(Error::malformed(format_args!(
                "{word}: not in the present layout of its device: expected a device or an instance that `mapa free` lists"
            )));
        }
        if devices.contains(&id) {
            return Err(Error::malformed(format_args!(
                "{word}: a device that is named twice: expected each once"
            )));
        }
        devices.push(id);
    }
    if devices.is_empty() {
        return Err(Error::malformed(
            "a lease of no devices: expected at least one",
        ));
    }
    Ok(devices)
}

/// Which of these devices a lease holds, and whose it is.
fn held(
    books: &LedgerTx<'_>,
    node: &Node,
    leases: &[Lease],
    devices: &[DeviceId],
) -> Result<Option<String>, Error> {
    let state = node.state(books, leases, &[])?;
    let taken = devices.iter().find_map(|id| {
        let mut held = state.held.iter();
        let (lease, _) = held.find(|(_, ids)| ids.contains(id))?;
        let lease = leases.iter().find(|own| own.id == *lease)?;
        Some((node.graph().device(*id), lease))
    });
    Ok(taken.map(|(device, lease)| {
        let (name, by) = (&device.name, holder(lease));
        format!("{name} free (lease {} of {by} holds it)", lease.id)
    }))
}

/// Who holds a lease, for people.
fn holder(lease: &Lease) -> String {
    match (&lease.owner, lease.process()) {
        (Some(owner), _) => owner.audited(),
        (None, Some(process)) => format!("{} (process {})", lease.asker.audited(), process.id.pid),
        (None, None) => lease.asker.audited(),
    }
}

/// Writes a lease, and returns it as the ledger has it.
fn granted(
    books: &LedgerTx<'_>,
    owner: &OutsideOwner,
    devices: &[DeviceKey],
    reason: &str,
) -> Result<OutsideLease, Error> {
    let id = books.grant_outside(owner, devices, reason)?;
    let mut leases = books.leases()?.into_iter();
    let lease = leases.find(|lease| lease.id == id);
    lease
        .and_then(OutsideLease::of)
        .ok_or_else(|| Error::at("the ledger", "has no lease that it has just granted"))
}
