//! A simulated machine for every lever. Clones share it, so a test keeps one and gives [`LeverSet`] another.
//!
//! It refuses what a kernel and a driver refuse: groups that do not exist, CPUs that are not there,
//! instances that overlap or are in use. A fault can be set for any change, before it or in its midst.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::affinity::Affinity;
use super::block_io::{BlockDevice, BlockIo, BlockIoLimits};
use super::bounds::Bounds;
use super::cpuset::{Cpuset, Cpusets};
use super::error::LeverError;
use super::group::{CgroupOp, CgroupOps, CgroupPath, Controller};
use super::launch::{ProgramSpec, Programs};
use super::lever_set::LeverSet;
use super::mig::{MigControl, MigDevice, MigOffer, MigOp, MigPlace, MigState};
use super::mps::{Mps, MpsControlCommand, MpsScope, MpsServer, PinnedMib};
use crate::kernel::{Cpus, ProcessId};

/// A change that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// Nothing is changed.
    Before,
    /// The change is made, in part where it has parts, and an error is returned.
    Amid,
}

/// What a simulated machine is set to. Programs are compared by their marks: a program that was stopped and
/// started again is as before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedState {
    /// The groups, and whether each passes its controller on.
    pub groups: BTreeMap<(Controller, CgroupPath), bool>,
    /// The groups of processes; the root, if not listed.
    pub members: BTreeMap<(Controller, i32), CgroupPath>,
    /// Limits on block I/O.
    pub limits: BTreeMap<(CgroupPath, BlockDevice), BlockIoLimits>,
    /// CPUs and nodes of groups.
    pub cpusets: BTreeMap<CgroupPath, Cpuset>,
    /// The CPUs of threads, by process and thread.
    pub threads: BTreeMap<(i32, i32), Cpus>,
    /// MPS daemons, each with its own values and those of its servers.
    pub mps: BTreeMap<MpsServer, BTreeMap<MpsScope, SimulatedMps>>,
    /// Partitions of devices, by UUID.
    pub mig: BTreeMap<String, MigState>,
    /// The marks of programs that run.
    pub programs: BTreeSet<String>,
    /// What the files of routes say.
    pub routes: BTreeMap<PathBuf, String>,
}

/// What an MPS daemon, or a server, was set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedMps {
    /// The share of multiprocessors, in thousandths of a percent.
    pub percent: u32,
    /// Limits of pinned memory by device, MiB.
    pub pinned: BTreeMap<u32, u64>,
}

impl Default for SimulatedMps {
    fn default() -> Self {
        Self {
            percent: 100_000,
            pinned: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Default)]
struct Inside {
    state: SimulatedState,
    online: Cpus,
    mems: Cpus,
    offers: Vec<MigOffer>,
    /// Instances that are in use, by device and start.
    used: BTreeSet<(String, u32)>,
    never_ready: BTreeSet<String>,
    /// How many changes were made.
    changes: u64,
    faults: BTreeMap<u64, InjectedFault>,
}

/// A simulated machine: 8 CPUs on 2 nodes, and devices, groups, processes and daemons that are added.
#[derive(Clone, Debug, Default)]
pub struct SimulatedMachine(Arc<Mutex<Inside>>);

impl SimulatedMachine {
    /// A machine of 8 CPUs and 2 memory nodes, with root groups alone.
    #[must_use]
    pub fn new() -> Self {
        let twin = Self::default();
        {
            let mut inside = twin.inside();
            inside.online = (0..8).collect();
            inside.mems = (0..2).collect();
            for controller in [Controller::BlockIo, Controller::Cpuset] {
                let root = (controller, CgroupPath::default());
                inside.state.groups.insert(root, false);
            }
            let all = Cpuset {
                cpus: inside.online.clone(),
                mems: inside.mems.clone(),
            };
            inside.state.cpusets.insert(CgroupPath::default(), all);
        }
        twin
    }

    /// A machine with a group of each controller, and those above it.
    ///
    /// # Errors
    /// The path is none: see [`CgroupPath::new`].
    pub fn with_group(path: &str) -> Result<Self, LeverError> {
        let twin = Self::new();
        let group = CgroupPath::new(path)?;
        for controller in [Controller::BlockIo, Controller::Cpuset] {
            for ancestor in group.above().iter().chain([&group]) {
                twin.clone().make(controller, ancestor)?;
                if ancestor != &group {
                    twin.clone().pass_on(controller, ancestor, true)?;
                }
            }
        }
        Ok(twin)
    }

    /// Levers over this machine, with the usual bounds.
    #[must_use]
    pub fn levers(&self) -> LeverSet {
        LeverSet {
            groups: Box::new(self.clone()),
            block_io: Box::new(self.clone()),
            cpusets: Box::new(self.clone()),
            affinity: Box::new(self.clone()),
            mps: Box::new(self.clone()),
            mig: Box::new(self.clone()),
            programs: Box::new(self.clone()),
            bounds: Bounds::default(),
            reconcilers: Vec::new(),
            boot: None,
        }
    }

    /// Adds a process with threads that run on all CPUs. Its start is its number.
    pub fn add_process(&self, pid: i32, threads: &[i32]) -> ProcessId {
        let mut inside = self.inside();
        let online = inside.online.clone();
        for thread in [pid].iter().chain(threads) {
            inside.state.threads.insert((pid, *thread), online.clone());
        }
        ProcessId {
            pid,
            start: pid.into(),
        }
    }

    /// Ends a process.
    pub fn end_process(&self, pid: i32) {
        let state = &mut self.inside().state;
        state.threads.retain(|(owner, _), _| *owner != pid);
        state.members.retain(|(_, member), _| *member != pid);
    }

    /// Adds a device whose MIG profiles are those of a GPU of MAPA's tables, such as `a100-40gb`.
    ///
    /// # Errors
    /// There is no such table.
    pub fn add_device(&self, uuid: &str, gpu: &str) -> Result<(), LeverError> {
        let gpu = mapa_topologies::mig::named(gpu)
            .map_err(|error| LeverError::infeasible(format!("gpu {gpu}"), error.to_string()))?;
        let mut inside = self.inside();
        // All devices of a simulated machine offer the profiles of the one that was added last.
        inside.offers = gpu
            .profiles
            .iter()
            .map(|profile| MigOffer {
                name: profile.name.clone(),
                id: profile.id.into(),
                compute_slices: profile.compute_slices.into(),
                size: profile.memory_slices.into(),
                starts: profile.starts.iter().map(|&start| start.into()).collect(),
                most: profile.max_instances.into(),
            })
            .collect();
        inside
            .state
            .mig
            .insert(uuid.to_owned(), MigState::default());
        Ok(())
    }

    /// Says that a process uses the instance at a start, or no longer.
    pub fn use_instance(&self, device: &str, start: u32, used: bool) {
        let mut inside = self.inside();
        let key = (device.to_owned(), start);
        if used {
            inside.used.insert(key);
        } else {
            inside.used.remove(&key);
        }
    }

    /// Starts an MPS daemon with servers.
    pub fn add_mps(&self, server: &MpsServer, servers: &[u32]) {
        let server_scopes = servers.iter().map(|&pid| MpsScope::Server { pid });
        let scopes = [MpsScope::Daemon].into_iter().chain(server_scopes);
        let scopes = scopes
            .map(|scope| (scope, SimulatedMps::default()))
            .collect();
        self.inside().state.mps.insert(server.clone(), scopes);
    }

    /// Has an MPS daemon that runs start another server, which gets its values.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): no daemon.
    pub fn start_mps_server(&self, server: &MpsServer, pid: u32) -> Result<(), LeverError> {
        let mut inside = self.inside();
        let values = inside.mps(server, MpsScope::Daemon)?.clone();
        let daemon = inside.state.mps.entry(server.clone()).or_default();
        daemon.insert(MpsScope::Server { pid }, values);
        Ok(())
    }

    /// A program of this mark is never ready.
    pub fn never_ready(&self, id: &str) {
        self.inside().never_ready.insert(id.to_owned());
    }

    /// What the machine is set to.
    #[must_use]
    pub fn state(&self) -> SimulatedState {
        self.inside().state.clone()
    }

    /// Sets the machine behind the back of the levers.
    pub fn set_state(&self, state: SimulatedState) {
        self.inside().state = state;
    }

    /// Lets the change after `skip` further ones fail.
    pub fn fail(&self, skip: u64, fault: InjectedFault) {
        let mut inside = self.inside();
        let at = inside.changes + skip;
        inside.faults.insert(at, fault);
    }

    /// Takes all faults out.
    pub fn heal(&self) {
        self.inside().faults.clear();
    }

    /// How many changes were asked for so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.inside().changes
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change, unless a fault is set for it.
    fn change(
        &self,
        what: &str,
        own: impl FnOnce(&mut Inside, Option<InjectedFault>) -> Result<(), LeverError>,
    ) -> Result<(), LeverError> {
        let mut inside = self.inside();
        let at = inside.changes;
        // Counted also if it fails, so that a test can let each change of a plan fail in turn.
        inside.changes += 1;
        let fault = inside.faults.remove(&at);
        if fault != Some(InjectedFault::Before) {
            own(&mut inside, fault)?;
        }
        match fault {
            None => Ok(()),
            Some(_) => Err(LeverError::failed(what, "a fault that was set")),
        }
    }
}

impl Inside {
    fn group(&self, controller: Controller, group: &CgroupPath) -> Result<(), LeverError> {
        if self.state.groups.contains_key(&(controller, group.clone())) {
            return Ok(());
        }
        Err(LeverError::missing(
            format!("group {group}"),
            "it is not on the simulated machine",
        ))
    }

    fn process(&self, process: ProcessId) -> Result<(), LeverError> {
        let runs = self
            .state
            .threads
            .keys()
            .any(|(pid, _)| *pid == process.pid);
        // A process with another start had the number before, and has ended.
        if runs && process.start == i64::from(process.pid) {
            return Ok(());
        }
        Err(LeverError::missing(
            format!("process {}", process.pid),
            "it has ended",
        ))
    }

    fn device(&mut self, device: &str) -> Result<&mut MigState, LeverError> {
        self.state.mig.get_mut(device).ok_or_else(|| {
            LeverError::missing(
                format!("device {device}"),
                "it is not on the simulated machine",
            )
        })
    }

    fn mps(
        &mut self,
        server: &MpsServer,
        scope: MpsScope,
    ) -> Result<&mut SimulatedMps, LeverError> {
        let daemon = self.state.mps.get_mut(server);
        daemon
            .and_then(|scopes| scopes.get_mut(&scope))
            .ok_or_else(|| {
                LeverError::missing(
                    format!("MPS {} {scope:?}", server.0.display()),
                    "it does not run",
                )
            })
    }
}

impl CgroupOps for SimulatedMachine {
    fn exists(&self, controller: Controller, group: &CgroupPath) -> Result<bool, LeverError> {
        Ok(self.inside().group(controller, group).is_ok())
    }

    fn make(&mut self, controller: Controller, group: &CgroupPath) -> Result<(), LeverError> {
        self.change(&format!("make {group}"), |inside, _| {
            if let Some(above) = group.above().last() {
                inside.group(controller, above)?;
            }
            let key = (controller, group.clone());
            inside.state.groups.entry(key).or_insert(false);
            if controller == Controller::Cpuset {
                let above = group.above().last().cloned().unwrap_or_default();
                let inherited = inside
                    .state
                    .cpusets
                    .get(&above)
                    .cloned()
                    .unwrap_or_default();
                inside
                    .state
                    .cpusets
                    .entry(group.clone())
                    .or_insert(inherited);
            }
            Ok(())
        })
    }

    fn remove(&mut self, controller: Controller, group: &CgroupPath) -> Result<(), LeverError> {
        self.change(&format!("remove {group}"), |inside, _| {
            let state = &mut inside.state;
            let below = |descendant: &CgroupPath| descendant.above().contains(group);
            let used = state
                .groups
                .keys()
                .any(|(of, group)| *of == controller && below(group))
                || (state.members.iter())
                    .any(|((of, _), candidate)| *of == controller && candidate == group);
            if used {
                return Err(LeverError::busy(
                    format!("group {group}"),
                    "it is not empty",
                ));
            }
            state.groups.remove(&(controller, group.clone()));
            match controller {
                Controller::BlockIo => state.limits.retain(|(limited, _), _| limited != group),
                Controller::Cpuset => {
                    state.cpusets.remove(group);
                }
            }
            Ok(())
        })
    }

    fn is_passed_on(&self, controller: Controller, group: &CgroupPath) -> Result<bool, LeverError> {
        let inside = self.inside();
        let key = (controller, group.clone());
        Ok(inside.state.groups.get(&key).copied().unwrap_or(false))
    }

    fn pass_on(
        &mut self,
        controller: Controller,
        group: &CgroupPath,
        on: bool,
    ) -> Result<(), LeverError> {
        self.change(&format!("pass on at {group}"), |inside, _| {
            inside.group(controller, group)?;
            let state = &mut inside.state;
            let is_below = |descendant: &CgroupPath| descendant.above().last() == Some(group);
            let mut below = state.groups.iter();
            if !on
                && below
                    .any(|((of, group), passes)| *of == controller && *passes && is_below(group))
            {
                let what = format!("group {group}");
                return Err(LeverError::busy(what, "a group below it passes it on"));
            }
            // As the kernel does: the groups below lose their files, and what was in them.
            if !on && controller == Controller::BlockIo {
                state.limits.retain(|(group, _), _| !is_below(group));
            }
            state.groups.insert((controller, group.clone()), on);
            Ok(())
        })
    }

    fn members(
        &self,
        controller: Controller,
        group: &CgroupPath,
    ) -> Result<Vec<ProcessId>, LeverError> {
        let inside = self.inside();
        inside.group(controller, group)?;
        let members = inside.state.members.iter();
        let members =
            members.filter(|((of, _), candidate)| *of == controller && *candidate == group);
        Ok(members
            .map(|((_, pid), _)| ProcessId {
                pid: *pid,
                start: (*pid).into(),
            })
            .collect())
    }

    fn has_below(&self, controller: Controller, group: &CgroupPath) -> Result<bool, LeverError> {
        let inside = self.inside();
        inside.group(controller, group)?;
        let mut groups = inside.state.groups.keys();
        Ok(groups.any(|(of, descendant)| *of == controller && descendant.above().contains(group)))
    }

    fn group_of(
        &self,
        controller: Controller,
        process: ProcessId,
    ) -> Result<CgroupPath, LeverError> {
        let inside = self.inside();
        inside.process(process)?;
        let key = (controller, process.pid);
        Ok(inside.state.members.get(&key).cloned().unwrap_or_default())
    }

    fn join(
        &mut self,
        controller: Controller,
        process: ProcessId,
        group: &CgroupPath,
    ) -> Result<(), LeverError> {
        self.change(&format!("join {group}"), |inside, _| {
            inside.process(process)?;
            inside.group(controller, group)?;
            let key = (controller, process.pid);
            if group.is_root() {
                inside.state.members.remove(&key);
            } else {
                inside.state.members.insert(key, group.clone());
            }
            Ok(())
        })
    }

    fn commands(&self, act: CgroupOp<'_>) -> String {
        format!("simulated: {act:?}")
    }
}

impl BlockIo for SimulatedMachine {
    fn limits(&self, group: &CgroupPath, device: BlockDevice) -> Result<BlockIoLimits, LeverError> {
        let inside = self.inside();
        inside.group(Controller::BlockIo, group)?;
        let key = (group.clone(), device);
        Ok(inside.state.limits.get(&key).copied().unwrap_or_default())
    }

    fn set_limits(
        &mut self,
        group: &CgroupPath,
        device: BlockDevice,
        limits: BlockIoLimits,
    ) -> Result<(), LeverError> {
        self.change(&format!("limits of {group}"), |inside, fault| {
            inside.group(Controller::BlockIo, group)?;
            let key = (group.clone(), device);
            let old = inside.state.limits.get(&key).copied().unwrap_or_default();
            let mut new = limits;
            if fault.is_some() {
                // As on v1: one file is written, the next is refused.
                let [read, ..] = limits.parts();
                let [_, write, reads, writes] = old.parts();
                new = BlockIoLimits::of_parts([read, write, reads, writes]);
            }
            if new == BlockIoLimits::NONE {
                inside.state.limits.remove(&key);
            } else {
                inside.state.limits.insert(key, new);
            }
            Ok(())
        })
    }

    fn commands(&self, group: &CgroupPath, device: BlockDevice, limits: BlockIoLimits) -> String {
        format!("simulated: limits of {group} on {device}: {limits:?}")
    }
}

impl Cpusets for SimulatedMachine {
    fn cpuset(&self, group: &CgroupPath) -> Result<Cpuset, LeverError> {
        let inside = self.inside();
        inside.group(Controller::Cpuset, group)?;
        Ok(inside.state.cpusets.get(group).cloned().unwrap_or_default())
    }

    fn allowed(&self, group: &CgroupPath) -> Result<Cpuset, LeverError> {
        let above = group.above().last().cloned().unwrap_or_default();
        self.cpuset(&above)
    }

    fn set_cpuset(&mut self, group: &CgroupPath, set: &Cpuset) -> Result<(), LeverError> {
        self.change(&format!("cpuset of {group}"), |inside, fault| {
            inside.group(Controller::Cpuset, group)?;
            let mut new = set.clone();
            if fault.is_some() {
                // As with the kernel's two files: the CPUs are written, the nodes are refused.
                let old = inside.state.cpusets.get(group).cloned();
                new.mems = old.unwrap_or_default().mems;
            }
            inside.state.cpusets.insert(group.clone(), new);
            Ok(())
        })
    }

    fn commands(&self, group: &CgroupPath, set: &Cpuset) -> String {
        format!("simulated: cpuset of {group}: {} on {}", set.cpus, set.mems)
    }
}

impl Affinity for SimulatedMachine {
    fn threads(&self, process: ProcessId) -> Result<Vec<(i32, Cpus)>, LeverError> {
        let inside = self.inside();
        inside.process(process)?;
        let threads = inside.state.threads.iter();
        let threads = threads.filter(|((pid, _), _)| *pid == process.pid);
        Ok(threads
            .map(|((_, thread), cpus)| (*thread, cpus.clone()))
            .collect())
    }

    fn set_thread(
        &mut self,
        process: ProcessId,
        thread: i32,
        cpus: &Cpus,
    ) -> Result<(), LeverError> {
        self.change(&format!("affinity of {thread}"), |inside, _| {
            inside.process(process)?;
            if let Some(affinity) = inside.state.threads.get_mut(&(process.pid, thread)) {
                *affinity = cpus.clone();
            }
            Ok(())
        })
    }

    fn online(&self) -> Result<Cpus, LeverError> {
        Ok(self.inside().online.clone())
    }
}

impl Mps for SimulatedMachine {
    fn is_running(&self, server: &MpsServer) -> Result<bool, LeverError> {
        Ok(self.inside().state.mps.contains_key(server))
    }

    fn scopes(&self, server: &MpsServer) -> Result<Vec<MpsScope>, LeverError> {
        let mut inside = self.inside();
        inside.mps(server, MpsScope::Daemon)?;
        Ok(inside.state.mps[server].keys().copied().collect())
    }

    fn percent(&self, server: &MpsServer, scope: MpsScope) -> Result<u32, LeverError> {
        Ok(self.inside().mps(server, scope)?.percent)
    }

    fn set_percent(
        &mut self,
        server: &MpsServer,
        scope: MpsScope,
        thousandths: u32,
    ) -> Result<(), LeverError> {
        self.change("set the share", |inside, _| {
            inside.mps(server, scope)?.percent = thousandths;
            Ok(())
        })
    }

    fn pinned(
        &self,
        server: &MpsServer,
        scope: MpsScope,
        device: u32,
    ) -> Result<PinnedMib, LeverError> {
        Ok(self
            .inside()
            .mps(server, scope)?
            .pinned
            .get(&device)
            .copied())
    }

    fn set_pinned(
        &mut self,
        server: &MpsServer,
        scope: MpsScope,
        device: u32,
        limit: PinnedMib,
    ) -> Result<(), LeverError> {
        self.change("limit pinned memory", |inside, _| {
            let pinned = &mut inside.mps(server, scope)?.pinned;
            match limit {
                Some(mib) => pinned.insert(device, mib),
                None => pinned.remove(&device),
            };
            Ok(())
        })
    }

    fn start(&mut self, server: &MpsServer) -> Result<(), LeverError> {
        self.change("start MPS", |inside, _| {
            // A daemon that runs keeps what it was set to.
            let fresh = || [(MpsScope::Daemon, SimulatedMps::default())].into();
            inside.state.mps.entry(server.clone()).or_insert_with(fresh);
            Ok(())
        })
    }

    fn quit(&mut self, server: &MpsServer) -> Result<(), LeverError> {
        self.change("end MPS", |inside, _| {
            inside.state.mps.remove(server);
            Ok(())
        })
    }

    fn commands(&self, server: &MpsServer, line: &MpsControlCommand) -> String {
        format!("simulated: MPS {}: {line:?}", server.0.display())
    }
}

impl MigControl for SimulatedMachine {
    fn devices(&self) -> Result<Vec<MigDevice>, LeverError> {
        let inside = self.inside();
        let uuids = (0..).zip(inside.state.mig.keys());
        Ok(uuids
            .map(|(index, uuid)| MigDevice {
                index,
                uuid: uuid.clone(),
                pci_id: None,
            })
            .collect())
    }

    fn state(&self, device: &str) -> Result<MigState, LeverError> {
        Ok(self.inside().device(device)?.clone())
    }

    fn offers(&self, device: &str) -> Result<Vec<MigOffer>, LeverError> {
        let mut inside = self.inside();
        if !inside.device(device)?.enabled {
            return Err(LeverError::missing("MIG profiles", "MIG is off"));
        }
        Ok(inside.offers.clone())
    }

    fn set_mode(&mut self, device: &str, on: bool) -> Result<(), LeverError> {
        self.change("set the MIG mode", |inside, _| {
            let state = inside.device(device)?;
            if state.enabled != on && !state.instances.is_empty() {
                return Err(LeverError::busy(device, "it has instances"));
            }
            (state.enabled, state.pending) = (on, on);
            Ok(())
        })
    }

    fn create(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError> {
        self.change("create an instance", |inside, fault| {
            let state = inside.device(device)?;
            if !state.enabled {
                return Err(LeverError::infeasible(device, "MIG is off"));
            }
            if state.instances.contains(place) {
                return Ok(());
            }
            let mut new = place.clone();
            if fault.is_some() {
                new.compute.clear();
            }
            let end = place.start + place.size;
            // The same instance without all of its compute instances is completed.
            state.instances.retain(|instance| {
                instance.start != place.start
                    || instance.profile != place.profile
                    || instance.compute == place.compute
            });
            let taken = (state.instances.iter()).any(|instance| {
                instance.start < end && place.start < instance.start + instance.size
            });
            if taken {
                return Err(LeverError::infeasible(&place.profile, "the place is taken"));
            }
            state.instances.push(new);
            state.instances.sort();
            Ok(())
        })
    }

    fn destroy(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError> {
        self.change("destroy an instance", |inside, fault| {
            if inside.used.contains(&(device.to_owned(), place.start)) {
                return Err(LeverError::busy(&place.profile, "a process uses it"));
            }
            let same = |instance: &MigPlace| {
                instance.start == place.start && instance.profile == place.profile
            };
            let state = inside.device(device)?;
            if fault.is_some() {
                // The compute instances are gone, the instance is not.
                let partition = state.instances.iter_mut().find(|instance| same(instance));
                partition
                    .into_iter()
                    .for_each(|place| place.compute.clear());
            } else {
                state.instances.retain(|instance| !same(instance));
            }
            Ok(())
        })
    }

    fn commands(&self, change: MigOp<'_>) -> String {
        format!("simulated: {change:?}")
    }
}

impl Programs for SimulatedMachine {
    fn running(&self, id: &str) -> Result<Option<ProcessId>, LeverError> {
        let inside = self.inside();
        let at = inside
            .state
            .programs
            .iter()
            .position(|program| program == id);
        // A number that no process of a test has.
        Ok(at.map(|at| ProcessId {
            pid: 1_000_000 + at as i32,
            start: 0,
        }))
    }

    fn start(&mut self, launch: &ProgramSpec) -> Result<ProcessId, LeverError> {
        self.change("start a program", |inside, _| {
            inside.state.programs.insert(launch.id.clone());
            Ok(())
        })?;
        let running = self.running(&launch.id)?;
        running.ok_or_else(|| LeverError::failed(&launch.id, "it has ended"))
    }

    fn is_ready(&self, launch: &ProgramSpec) -> Result<bool, LeverError> {
        let inside = self.inside();
        if !inside.state.programs.contains(&launch.id) {
            return Err(LeverError::failed(&launch.id, "it has ended"));
        }
        if inside.never_ready.contains(&launch.id) {
            // Nobody waits on a simulated machine: a program that is never ready has ended.
            return Err(LeverError::failed(&launch.id, "it is never ready"));
        }
        Ok(true)
    }

    fn pause(&mut self) {}

    fn stop(&mut self, launch: &ProgramSpec) -> Result<(), LeverError> {
        self.change("stop a program", |inside, _| {
            inside.state.programs.remove(&launch.id);
            Ok(())
        })
    }

    fn route(&self, file: &Path) -> Result<Option<String>, LeverError> {
        Ok(self.inside().state.routes.get(file).cloned())
    }

    fn set_route(&mut self, file: &Path, text: Option<&str>) -> Result<(), LeverError> {
        self.change("set a route", |inside, _| {
            match text {
                Some(text) => inside.state.routes.insert(file.to_owned(), text.to_owned()),
                None => inside.state.routes.remove(file),
            };
            Ok(())
        })
    }
}
