//! From members to communicators, and from their devices to those of the job.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::calls::{Call, Collective};
use super::communicator::{Communicator, Connection, JobDevice, NcclJob};
use super::gather::{Gathered, Member};
use super::line::CommFact;
use super::paths::{Claims, claim, claims, rings, trees};
use crate::application::Note;
use crate::error::Error;

/// Members of one communicator, by rank.
struct MemberGroup<'a> {
    ranks: u32,
    members: BTreeMap<u32, Member<'a>>,
    claims: Claims<'a>,
}

/// The identity of a device: its host and bus id, or its process and its number there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum JobDeviceKey<'a> {
    Bus(&'a str, u64),
    Process(&'a str, u64, Option<u32>),
}

/// Unites members into the communicators of a job.
///
/// # Errors
/// Members that contradict each other; no member at all.
pub(super) fn unite(mut gathered: Gathered<'_>) -> Result<NcclJob, Error> {
    let members = std::mem::take(&mut gathered.members);
    let (known, unknown): (Vec<_>, Vec<_>) = members
        .into_iter()
        .partition(|member| member.rank.is_some() && member.ranks.is_some());
    for member in unknown {
        gathered.leave(
            "a communicator without its init lines (subsystem INIT), from here on",
            member.place,
        );
    }
    if known.is_empty() {
        let what = "no communicator: expected lines of the subsystems INIT and GRAPH (NCCL_DEBUG_SUBSYS=INIT,GRAPH)";
        return Err(Error::new(what));
    }
    let mut notes = gathered.finish();
    let groups = groups(merged(known, &mut notes), &mut notes)?;
    job(groups, notes)
}

/// Merges members that are one: the same rank of the same communicator of the same process, whose
/// lines several files may hold. A communicator is made once. If two logs count the calls of one
/// member, the larger count of each call holds, not the sum.
fn merged<'a>(mut members: Vec<Member<'a>>, notes: &mut Vec<Note>) -> Vec<Member<'a>> {
    members.sort_by_key(|member| {
        (
            member.id,
            member.host,
            member.pid,
            member.comm,
            member.rank,
            member.ranks,
            member.nth,
            member.place,
        )
    });
    let mut merged: Vec<Member<'_>> = Vec::new();
    let mut twice: BTreeMap<String, usize> = BTreeMap::new();
    for member in members {
        match merged.last_mut() {
            Some(last) if is_same(last, &member) => {
                last.cuda = last.cuda.or(member.cuda);
                last.nvml = last.nvml.or(member.nvml);
                last.bus = last.bus.or(member.bus);
                last.facts.extend(member.facts);
                if !last.calls.is_empty() && !member.calls.is_empty() {
                    *twice.entry(member.place.0.to_owned()).or_default() += 1;
                }
                for (call, times) in member.calls {
                    let most = last.calls.entry(call).or_default();
                    *most = times.max(*most);
                }
                for (bytes, (rings, trees)) in member.choices {
                    let most = last.choices.entry(bytes).or_default();
                    *most = (rings.max(most.0), trees.max(most.1));
                }
            }
            _ => merged.push(member),
        }
    }
    for (file, ranks) in twice {
        let what = format!(
            "{ranks} members of communicators appear in the logs more than once with their calls: counted once, \
             as one run given twice"
        );
        notes.push(Note::assumed(what).at(file));
    }
    merged
}

/// Whether both are one rank of one communicator: by its number if it has one, else by its order in
/// its process or by equal contents.
fn is_same(last: &Member<'_>, member: &Member<'_>) -> bool {
    let key = |member: &Member<'_>| {
        (
            member.id,
            member.pid,
            member.comm,
            member.rank,
            member.ranks,
        )
    };
    last.host == member.host
        && key(last) == key(member)
        && (member.id.is_some() || last.nth == member.nth || has_same_contents(last, member))
}

/// Whether one thread printed the same calls and facts for both.
fn has_same_contents(a: &Member<'_>, b: &Member<'_>) -> bool {
    let facts = a.facts.iter().map(|(_, fact)| fact);
    a.tid == b.tid && a.calls == b.calls && facts.eq(b.facts.iter().map(|(_, fact)| fact))
}

/// Groups members into communicators. Members with a number go by it. A member without one joins
/// the communicator with which it shares the most claims, among those of its size that lack its
/// rank and do not contradict it.
fn groups<'a>(
    mut members: Vec<Member<'a>>,
    notes: &mut Vec<Note>,
) -> Result<Vec<MemberGroup<'a>>, Error> {
    members.sort_by_key(|member| {
        (
            member.id,
            member.ranks,
            member.nth,
            member.host,
            member.pid,
            member.rank,
            member.comm,
        )
    });
    let mut groups: Vec<MemberGroup<'a>> = Vec::new();
    let mut by_id: BTreeMap<u64, usize> = BTreeMap::new();
    let mut is_open = false;
    for member in members {
        let (Some(rank), Some(ranks)) = (member.rank, member.ranks) else {
            continue;
        };
        let own_claims = claims(&member, ranks)?;
        let at = match member.id {
            Some(id) => by_id.get(&id).copied(),
            None => {
                let (at, is_tie) = best(&groups, rank, ranks, &own_claims);
                is_open |= is_tie;
                at
            }
        };
        let Some(group) = at.and_then(|at| groups.get_mut(at)) else {
            if let Some(id) = member.id {
                by_id.insert(id, groups.len());
            }
            groups.push(MemberGroup {
                ranks,
                members: BTreeMap::from([(rank, member)]),
                claims: own_claims,
            });
            continue;
        };
        if group.ranks != ranks {
            let what = format!(
                "nranks {ranks} in a communicator of {}: expected the same",
                group.ranks
            );
            return Err(member.place.error(what));
        }
        for (key, (value, place)) in own_claims {
            claim(&mut group.claims, key, value, place)?;
        }
        if let Some(other) = group.members.get(&rank) {
            let what = format!(
                "rank {rank} of the communicator of {}: expected another rank",
                other.place.text()
            );
            return Err(member.place.error(what));
        }
        group.members.insert(rank, member);
    }
    if is_open {
        let what = "communicators of equal size have no commId (NCCL before 2.18): ranks were grouped by rings \
                    and bus ids, else by the order of hosts and processes";
        notes.push(Note::assumed(what));
    }
    Ok(groups)
}

/// The communicator that a member without a number joins, and whether another fits equally well.
fn best(
    groups: &[MemberGroup<'_>],
    rank: u32,
    ranks: u32,
    own: &Claims<'_>,
) -> (Option<usize>, bool) {
    let mut best: Option<(usize, usize)> = None;
    let mut is_tie = false;
    for (at, group) in groups.iter().enumerate() {
        let has_id = group.members.values().any(|member| member.id.is_some());
        if has_id || group.ranks != ranks || group.members.contains_key(&rank) {
            continue;
        }
        let (mut agree, mut contradict) = (0, 0);
        for (key, (value, _)) in own {
            match group.claims.get(key) {
                Some((other, _)) if value == other => agree += 1,
                Some(_) => contradict += 1,
                None => {}
            }
        }
        match best {
            _ if contradict > 0 => {}
            Some((_, most)) if most > agree => {}
            Some((_, most)) if most == agree => is_tie = true,
            _ => (best, is_tie) = (Some((at, agree)), false),
        }
    }
    (best.map(|(at, _)| at), is_tie)
}

/// The job of these communicators: its devices, their ranks, and the calls.
fn job(groups: Vec<MemberGroup<'_>>, mut notes: Vec<Note>) -> Result<NcclJob, Error> {
    let members = || groups.iter().flat_map(|group| group.members.values());
    let buses: BTreeMap<_, _> = members()
        .filter_map(|member| Some(((member.host, member.pid, member.cuda?), member.bus?)))
        .collect();
    let mut keys: Vec<BTreeMap<u32, JobDeviceKey<'_>>> = Vec::new();
    for group in &groups {
        let mut of_group = BTreeMap::new();
        for (&rank, member) in &group.members {
            // Another communicator of the process may name the bus id that this one lacks.
            let bus = member
                .bus
                .or_else(|| buses.get(&(member.host, member.pid, member.cuda?)).copied());
            let key = bus.map_or(
                JobDeviceKey::Process(member.host, member.pid, member.cuda),
                |bus| JobDeviceKey::Bus(member.host, bus),
            );
            of_group.insert(rank, key);
        }
        keys.push(of_group);
    }
    // The largest communicator comes first: its ranks number the devices of the job.
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_cached_key(|&at| {
        let (group, keys) = (groups.get(at), keys.get(at));
        let nth = group.and_then(|group| group.members.values().map(|member| member.nth).min());
        let id = group.and_then(|group| group.members.values().find_map(|member| member.id));
        let size = Reverse(group.map(|group| (group.ranks, group.members.len())));
        (size, nth, keys.cloned(), id)
    });
    let mut job = NcclJob::default();
    let mut places: BTreeMap<JobDeviceKey<'_>, usize> = BTreeMap::new();
    let mut messages: BTreeMap<usize, BTreeMap<u64, u64>> = BTreeMap::new();
    for (nth, at) in order.into_iter().enumerate() {
        let (Some(group), Some(keys)) = (groups.get(at), keys.get(at)) else {
            continue;
        };
        let mut devices = Vec::new();
        for rank in 0..group.ranks {
            let own = keys.get(&rank).zip(group.members.get(&rank));
            devices.push(match own {
                Some((key, member)) => Some(*places.entry(key.clone()).or_insert_with(|| {
                    job.devices.push(device(member, key));
                    job.devices.len() - 1
                })),
                // The pattern has every rank of the largest communicator, also those without a log.
                None if nth == 0 => {
                    job.devices.push(JobDevice {
                        label: format!("rank {rank}"),
                        ..JobDevice::default()
                    });
                    Some(job.devices.len() - 1)
                }
                None => None,
            });
        }
        let distinct: BTreeSet<usize> = devices.iter().flatten().copied().collect();
        if let Some(member) = group
            .members
            .values()
            .next()
            .filter(|_| distinct.len() < devices.iter().flatten().count())
        {
            return Err(member
                .place
                .error("two ranks of the communicator on one device: expected one each"));
        }
        for (&rank, member) in &group.members {
            let Some(device) = devices.get(rank as usize).copied().flatten() else {
                continue;
            };
            let calls = messages.entry(device).or_default();
            for (call, times) in &member.calls {
                *calls.entry(call.bytes).or_default() += times;
            }
        }
        job.communicators
            .push(communicator(group, devices, &mut notes)?);
    }
    notes.extend(several(&groups));
    name_apart(&mut job.devices);
    let mut most: BTreeMap<u64, u64> = BTreeMap::new();
    for (bytes, times) in messages.into_values().flatten() {
        let own = most.entry(bytes).or_default();
        *own = (*own).max(times);
    }
    job.messages = most.into_iter().collect();
    job.notes = notes;
    Ok(job)
}

/// A note if several processes use one device, as in two runs in one log or two programs of one
/// job.
fn several(groups: &[MemberGroup<'_>]) -> Option<Note> {
    let mut processes: BTreeMap<(&str, u64), BTreeSet<u64>> = BTreeMap::new();
    for member in groups.iter().flat_map(|group| group.members.values()) {
        if let Some(bus) = member.bus {
            processes
                .entry((member.host, bus))
                .or_default()
                .insert(member.pid);
        }
    }
    let devices = processes.values().filter(|pids| pids.len() > 1).count();
    let what = format!(
        "{devices} device{} used by more than one process: treated as one job, with their traffic \
         summed; if these are several runs, give the logs of one",
        if devices == 1 { " is" } else { "s are" }
    );
    (devices > 0).then(|| Note::assumed(what))
}

/// A device by its bus id or process.
fn device(member: &Member<'_>, key: &JobDeviceKey<'_>) -> JobDevice {
    let bus = match key {
        JobDeviceKey::Bus(_, bus) => format!("{bus:x}"),
        JobDeviceKey::Process(..) => String::new(),
    };
    let word = match member.nvml {
        Some(number) => number.to_string(),
        None if bus.is_empty() => member.cuda.unwrap_or(0).to_string(),
        None => bus.clone(),
    };
    JobDevice {
        host: member.host.to_owned(),
        bus,
        number: member.nvml.or(member.cuda),
        label: format!("{}:{word}", member.host),
    }
}

/// Gives devices with equal labels, such as the only device that each process sees, labels with
/// their bus ids or ranks.
fn name_apart(devices: &mut [JobDevice]) {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for device in devices.iter() {
        *times.entry(device.label.clone()).or_default() += 1;
    }
    for (at, device) in devices.iter_mut().enumerate() {
        if times.get(&device.label).is_some_and(|&times| times > 1) {
            let word = if device.bus.is_empty() {
                format!("rank {at}")
            } else {
                device.bus.clone()
            };
            device.label = format!("{}:{word}", device.host);
        }
    }
}

/// A communicator of the job, with notes of what its logs lack.
fn communicator(
    group: &MemberGroup<'_>,
    devices: Vec<Option<usize>>,
    notes: &mut Vec<Note>,
) -> Result<Communicator, Error> {
    let mut connections: BTreeSet<Connection> = BTreeSet::new();
    let mut others: BTreeSet<&str> = BTreeSet::new();
    for (_, fact) in group.members.values().flat_map(|member| &member.facts) {
        match fact {
            CommFact::Connection {
                channel,
                ends: [(from, _), (to, _)],
                via,
            } => {
                connections.insert(Connection {
                    channel: *channel,
                    from: *from,
                    to: *to,
                    via: via.clone(),
                });
            }
            CommFact::Other(what) => {
                others.insert(what);
            }
            _ => {}
        }
    }
    let (rings, trees) = (rings(&group.claims, group.ranks)?, trees(&group.claims)?);
    let mut channels: BTreeSet<u32> = rings
        .iter()
        .map(|ring| ring.channel)
        .chain(trees.iter().map(|tree| tree.channel))
        .collect();
    if channels.is_empty() {
        channels = connections
            .iter()
            .map(|connection| connection.channel)
            .collect();
    }
    let name = name(group);
    if group.members.len() < group.ranks as usize {
        let (given, ranks) = (group.members.len(), group.ranks);
        notes.push(Note::undecided(format!(
            "communicator {name}: only the logs of {given} of its {ranks} ranks were given"
        )));
    }
    if group.members.values().any(|member| member.is_nameless) {
        let what = format!(
            "communicator {name}: the log ends before its line `Init COMPLETE`, so its calls are unknown"
        );
        notes.push(Note::undecided(what));
    }
    if let Some(ring) = rings.iter().find(|ring| !ring.is_whole) {
        let (channel, hops, ranks) = (ring.channel, ring.hops.len(), group.ranks);
        notes.push(Note::undecided(format!(
            "communicator {name}: the logs have only {hops} of {ranks} hops of ring {channel}"
        )));
    }
    for other in others {
        notes.push(Note::left_out(format!(
            "communicator {name}: {other}, which it may use in place of rings and trees"
        )));
    }
    let connections = connections.into_iter().collect();
    let (ranks, channels, calls, choices) = (
        group.ranks as usize,
        channels.len(),
        calls(group),
        choices(group),
    );
    Ok(Communicator {
        name,
        ranks,
        devices,
        channels,
        rings,
        trees,
        connections,
        calls,
        choices,
    })
}

/// The name of a communicator: its number, else the pointer of its lowest rank; if the log ends
/// before either, the process and thread.
fn name(group: &MemberGroup<'_>) -> String {
    let id = group
        .members
        .values()
        .find_map(|member| member.id.filter(|_| !member.is_split));
    let least = group.members.values().next();
    match (id, least) {
        (Some(id), _) => format!("{id:#x}"),
        (None, Some(member)) if member.is_nameless => {
            format!("{}:{}:{}", member.host, member.pid, member.comm)
        }
        (None, member) => format!("{:#x}", member.map_or(0, |member| member.comm)),
    }
}

/// The algorithms that the library chose, by the rank that printed most of them. Mostly rank 0
/// alone prints them.
fn choices(group: &MemberGroup<'_>) -> Vec<(u64, u64, u64)> {
    let mut choices: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (&bytes, &(rings, trees)) in group.members.values().flat_map(|member| &member.choices) {
        let most = choices.entry(bytes).or_default();
        *most = (rings.max(most.0), trees.max(most.1));
    }
    choices
        .into_iter()
        .map(|(bytes, (rings, trees))| (bytes, rings, trees))
        .collect()
}

/// The calls of a communicator. A call of all ranks is counted once, by the rank that printed it
/// most often; a call between two ranks, by the end that printed it most often.
fn calls(group: &MemberGroup<'_>) -> Vec<(u32, Call, u64)> {
    let mut calls: BTreeMap<(u32, Call), u64> = BTreeMap::new();
    for (&rank, member) in &group.members {
        for (call, &times) in &member.calls {
            let key = match call.collective {
                Collective::Send => (rank, *call),
                Collective::Recv => (
                    call.root,
                    Call {
                        collective: Collective::Send,
                        root: rank,
                        ..*call
                    },
                ),
                _ => (0, *call),
            };
            let most = calls.entry(key).or_default();
            *most = times.max(*most);
        }
    }
    calls
        .into_iter()
        .map(|((from, call), times)| (from, call, times))
        .collect()
}
