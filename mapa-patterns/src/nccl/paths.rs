//! Rings and trees from the claims of ranks, and whether these claims agree.

use std::collections::{BTreeMap, BTreeSet};

use super::communicator::{Ring, Tree, TreeHalf};
use super::gather::{LogPlace, Member};
use super::line::{CommFact, Half, hex};
use crate::error::Error;

/// The subject of a claim about a rank in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClaimSubject {
    /// The rank after it in the ring.
    Next,
    /// The rank before it.
    Before,
    /// Its parent in the tree; [`ROOT`] if it has none.
    Parent(Half),
    /// Its bus id.
    Bus,
}

pub(super) const ROOT: u64 = u64::MAX;

/// The key of a claim: its subject, the channel and the rank.
pub(super) type ClaimKey = (ClaimSubject, u32, u32);

/// Claims that do not contradict each other.
pub(super) type Claims<'a> = BTreeMap<ClaimKey, (u64, LogPlace<'a>)>;

/// The fewest ranks at which NCCL cuts the line of a ring: 20 up to 2.2x, then as many as 127
/// characters hold.
const CUT_FROM: usize = 20;

/// All claims of a member of a communicator of `ranks` ranks.
///
/// # Errors
/// The member contradicts itself, or names a rank that does not exist.
pub(super) fn claims<'a>(member: &Member<'a>, ranks: u32) -> Result<Claims<'a>, Error> {
    let mut claims = Claims::new();
    for (place, fact) in &member.facts {
        for (key, value) in of_fact(fact, ranks).map_err(|what| place.error(what))? {
            claim(&mut claims, key, value, *place)?;
        }
    }
    if let (Some(rank), Some(bus)) = (member.rank, member.bus) {
        claim(&mut claims, (ClaimSubject::Bus, 0, rank), bus, member.place)?;
    }
    Ok(claims)
}

/// Adds a claim, unless an earlier one contradicts it.
///
/// # Errors
/// An earlier claim with the same key and another value; the message names both places.
pub(super) fn claim<'a>(
    claims: &mut Claims<'a>,
    key: ClaimKey,
    value: u64,
    place: LogPlace<'a>,
) -> Result<(), Error> {
    let (own, first) = *claims.entry(key).or_insert((value, place));
    if own == value {
        return Ok(());
    }
    let (what, channel, rank) = key;
    let [own, value] = [own, value].map(|value| match value {
        ROOT => "none".to_owned(),
        rank => rank.to_string(),
    });
    let at = first.text();
    Err(place.error(match what {
        ClaimSubject::Next => {
            format!("channel {channel}: rank {value} after {rank}, but {own} at {at}: expected one")
        }
        ClaimSubject::Before => format!(
            "channel {channel}: rank {value} before {rank}, but {own} at {at}: expected one"
        ),
        ClaimSubject::Parent(_) => format!(
            "channel {channel}: parent {value} of rank {rank}, but {own} at {at}: expected one"
        ),
        ClaimSubject::Bus => format!("rank {rank}: another bus id than at {at}: expected the same"),
    }))
}

/// A rank of a communicator of `ranks` ranks, or an error if there is no such rank.
fn sound(rank: u32, ranks: u32) -> Result<u32, String> {
    if rank < ranks {
        Ok(rank)
    } else {
        Err(format!(
            "rank {rank} of {ranks}: expected a rank below {ranks}"
        ))
    }
}

/// The claims that a line makes.
fn of_fact(fact: &CommFact, ranks: u32) -> Result<Vec<(ClaimKey, u64)>, String> {
    let hop = |channel, from, to| {
        let (from, to) = (sound(from, ranks)?, sound(to, ranks)?);
        Ok([
            ((ClaimSubject::Next, channel, from), u64::from(to)),
            ((ClaimSubject::Before, channel, to), u64::from(from)),
        ])
    };
    match fact {
        CommFact::Ring(channel, order) => {
            let mut order = order.clone();
            let named: BTreeSet<u32> = order.iter().copied().collect();
            if named.len() < order.len() {
                return Err("a ring that names a rank twice: expected each once".to_owned());
            }
            if order.len() < ranks as usize {
                if order.len() < CUT_FROM {
                    return Err(format!("a ring of {} ranks: expected {ranks}", order.len()));
                }
                // NCCL may have cut the number of the last rank.
                order.pop();
            } else {
                order.extend(order.first().copied());
            }
            let hops: Result<Vec<_>, String> = order
                .iter()
                .zip(order.iter().skip(1))
                .map(|(&from, &to)| hop(*channel, from, to))
                .collect();
            Ok(hops?.into_iter().flatten().collect())
        }
        CommFact::Hop(channel, [before, rank, after]) => Ok(hop(*channel, *before, *rank)?
            .into_iter()
            .chain(hop(*channel, *rank, *after)?)
            .collect()),
        CommFact::Tree(channel, half, parent, rank, children) => {
            let own = parent.map_or(Ok(ROOT), |parent| sound(parent, ranks).map(u64::from))?;
            let rank = sound(*rank, ranks)?;
            let mut claims = vec![((ClaimSubject::Parent(*half), *channel, rank), own)];
            for child in children {
                claims.push((
                    (ClaimSubject::Parent(*half), *channel, sound(*child, ranks)?),
                    u64::from(rank),
                ));
            }
            Ok(claims)
        }
        CommFact::Connection { ends, .. } => {
            let mut claims = Vec::new();
            for (rank, id) in ends {
                let rank = sound(*rank, ranks)?;
                // Since 2.19 the number of the device stands there; the last digits of a bus id are
                // its function's.
                let bus = id
                    .as_deref()
                    .filter(|id| id.len() > 3)
                    .and_then(|id| hex(id).ok());
                claims.extend(bus.map(|bus| ((ClaimSubject::Bus, 0, rank), bus)));
            }
            Ok(claims)
        }
        CommFact::Other(_) => Ok(Vec::new()),
    }
}

/// The rings that follow from claims.
///
/// # Errors
/// As many hops as ranks that do not form a ring.
pub(super) fn rings(claims: &Claims<'_>, ranks: u32) -> Result<Vec<Ring>, Error> {
    let mut by_channel: BTreeMap<u32, BTreeMap<u32, (u32, LogPlace<'_>)>> = BTreeMap::new();
    for (&(what, channel, rank), &(next, place)) in claims {
        if what == ClaimSubject::Next {
            by_channel
                .entry(channel)
                .or_default()
                .insert(rank, (next as u32, place));
        }
    }
    by_channel
        .into_iter()
        .map(|(channel, next)| ring(channel, &next, ranks))
        .collect()
}

fn ring(
    channel: u32,
    next: &BTreeMap<u32, (u32, LogPlace<'_>)>,
    ranks: u32,
) -> Result<Ring, Error> {
    if next.len() < ranks as usize {
        return Ok(Ring {
            channel,
            hops: next.iter().map(|(&from, &(to, _))| (from, to)).collect(),
            is_whole: false,
        });
    }
    let mut hops = Vec::new();
    let mut at = 0;
    for _ in 0..ranks {
        let Some(&(to, _)) = next.get(&at) else { break };
        hops.push((at, to));
        at = to;
        if at == 0 {
            break;
        }
    }
    if hops.len() < ranks as usize {
        let what = format!(
            "channel {channel}: a ring of {} ranks from rank 0 on: expected {ranks}",
            hops.len()
        );
        return Err(next
            .values()
            .next()
            .map_or_else(|| Error::new(&what), |(_, place)| place.error(&what)));
    }
    Ok(Ring {
        channel,
        hops,
        is_whole: true,
    })
}

/// The trees that follow from claims.
///
/// # Errors
/// Parents that form a cycle.
pub(super) fn trees(claims: &Claims<'_>) -> Result<Vec<Tree>, Error> {
    let mut found: BTreeMap<(u32, Half), BTreeMap<u32, (u64, LogPlace<'_>)>> = BTreeMap::new();
    for (&(what, channel, rank), &claim) in claims {
        if let ClaimSubject::Parent(half) = what {
            found
                .entry((channel, half))
                .or_default()
                .insert(rank, claim);
        }
    }
    // Drafts of the search count only where no final tree was printed.
    if found.keys().any(|(_, half)| *half != Half::Draft) {
        found.retain(|(_, half), _| *half != Half::Draft);
    }
    let mut trees: Vec<Tree> = Vec::new();
    for ((channel, half), parents) in found {
        for (&rank, (_, place)) in &parents {
            // Following parents for more steps than there are ranks means a cycle.
            let mut at = u64::from(rank);
            let mut steps = 0;
            while let Some(&(parent, _)) = u32::try_from(at).ok().and_then(|at| parents.get(&at)) {
                (at, steps) = (parent, steps + 1);
                if steps > parents.len() {
                    return Err(place.error(format!(
                        "channel {channel}: the parents form a cycle: expected a tree"
                    )));
                }
            }
        }
        let edges: Vec<(u32, u32)> = parents
            .iter()
            .filter_map(|(&child, &(parent, _))| Some((u32::try_from(parent).ok()?, child)))
            .collect();
        let half = match half {
            Half::Both | Half::Draft => TreeHalf::Both,
            Half::Reduce => TreeHalf::Reduce,
            Half::Broadcast => TreeHalf::Broadcast,
        };
        match trees.last_mut() {
            // NCCL 2.5 to 2.7 prints the two halves apart, though they mostly are one tree.
            Some(last) if last.channel == channel && last.edges == edges => {
                last.half = TreeHalf::Both
            }
            _ => trees.push(Tree {
                channel,
                half,
                edges,
            }),
        }
    }
    trees.retain(|tree| !tree.edges.is_empty());
    Ok(trees)
}
