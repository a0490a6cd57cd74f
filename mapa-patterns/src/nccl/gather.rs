//! From lines to members: everything that one rank of one communicator printed.
//!
//! Lines of rings and trees do not name their communicator in NCCL. A thread prints them between
//! the lines that begin and end the initialisation of a communicator (since 2.9), or before the
//! line that ends it (older versions). RCCL names the communicator in each line.

use std::collections::BTreeMap;

use super::calls::{Call, Collective};
use super::line::{
    self, CallAlgorithm, ChosenAlgorithm, CommFact, CommStage, Init, LineError, LineHead, NcclLine,
};
use crate::application::Note;
use crate::error::Error;

/// The most ranks of a communicator.
pub(super) const MOST_RANKS: u32 = mapa_core::MAX_DEVICES as u32;

/// The place of a line: its file, and its number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogPlace<'a>(pub(super) &'a str, pub(super) usize);

impl LogPlace<'_> {
    pub(super) fn error(self, what: impl Into<String>) -> Error {
        Error::at(self.1, what).within(self.0)
    }

    pub(super) fn text(self) -> String {
        format!("{}:{}", self.0, self.1)
    }
}

/// Facts with their places.
pub(super) type PlacedFacts<'a> = Vec<(LogPlace<'a>, CommFact)>;

/// One rank of one communicator.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub(super) place: LogPlace<'a>,
    pub(super) host: &'a str,
    pub(super) pid: u64,
    /// The pointer that identifies the communicator in its process.
    pub(super) comm: u64,
    /// How many earlier members of the same process have the same pointer and rank.
    pub(super) nth: usize,
    pub(super) rank: Option<u32>,
    pub(super) ranks: Option<u32>,
    pub(super) cuda: Option<u32>,
    pub(super) nvml: Option<u32>,
    pub(super) bus: Option<u64>,
    pub(super) id: Option<u64>,
    pub(super) facts: PlacedFacts<'a>,
    /// How often each call was made.
    pub(super) calls: BTreeMap<Call, u64>,
    /// By the size of an all-reduce in bytes: how often the library chose rings and trees.
    pub(super) choices: BTreeMap<u64, (u64, u64)>,
    /// The thread that made it.
    pub(super) tid: u64,
    /// Whether the log ends before the line with the pointer.
    pub(super) is_nameless: bool,
    /// Whether the communicator was split off another. Its number is then derived from that of its
    /// parent, because the log has no commId for it, or not a unique one.
    pub(super) is_split: bool,
    is_complete: bool,
}

/// The members of all files.
#[derive(Default)]
pub(super) struct Gathered<'a> {
    pub(super) members: Vec<Member<'a>>,
    /// How many lines NCCL or RCCL printed.
    pub(super) lines: usize,
    /// What was left out, with its first place and the number of lines.
    left_out: BTreeMap<&'static str, (LogPlace<'a>, usize)>,
}

/// The state of reading one file.
#[derive(Default)]
struct FileState<'a> {
    /// By process and pointer: the member.
    comms: BTreeMap<(&'a str, u64, u64), usize>,
    /// By thread: the member that it is initialising.
    making: BTreeMap<(&'a str, u64, u64), usize>,
    /// By thread: facts whose communicator is not known yet.
    open: BTreeMap<(&'a str, u64, u64), PlacedFacts<'a>>,
    /// By process, rank and size: how many members were seen.
    seen: BTreeMap<(&'a str, u64, u32, u32), usize>,
    /// By process and bytes: the member that last made a call of that size, and the call.
    last: BTreeMap<(&'a str, u64, u64), (usize, Collective)>,
    /// How often communicators were split, by process and pointer.
    splits: BTreeMap<(&'a str, u64, u64), u32>,
}

const CUT: &str = "the last line has no line end: numbers in it may be cut";
const ODD: &str = "a line that begins in a known form and continues in an unknown one";
const CUT_TREES: &str = "NCCL cut the line before its last tree";
const HOMELESS: &str = "lines that may belong to several communicators, or to an unknown one";

impl<'a> Gathered<'a> {
    /// Reads one log.
    pub(super) fn read(&mut self, name: &'a str, text: &'a str) -> Result<(), Error> {
        let mut file = FileState::default();
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let place = LogPlace(name, at + 1);
            let Some((head, said)) = line::split(line) else {
                continue;
            };
            self.lines += 1;
            if !line.ends_with('\n') {
                self.leave(CUT, place);
                continue;
            }
            match line::read(said) {
                Ok(NcclLine::Nothing) => {}
                Ok(NcclLine::Init(init)) => self.init(&mut file, head, place, &init)?,
                Ok(NcclLine::Facts(facts, comm, is_cut)) => {
                    if is_cut {
                        self.leave(CUT_TREES, place);
                    }
                    for fact in facts {
                        self.fact(&mut file, head, place, comm, fact);
                    }
                }
                Ok(NcclLine::Call(asked)) => {
                    let at = self.of_pointer(&mut file, head, place, asked.comm);
                    let ranks = asked.ranks.or_else(|| self.members.get(at)?.ranks);
                    let call = Call::of(&asked, ranks).map_err(|what| place.error(what))?;
                    let Some(call) = call else {
                        self.leave("an unknown call or data type", place);
                        continue;
                    };
                    if let Some(member) = self.members.get_mut(at) {
                        member.agree(None, asked.ranks, place)?;
                        *member.calls.entry(call).or_default() += 1;
                        file.last
                            .insert((head.host, head.pid, call.bytes), (at, call.collective));
                    }
                }
                Ok(NcclLine::Chosen(chosen)) => self.chosen(&file, head, place, &chosen),
                Err(LineError::Odd) => self.leave(ODD, place),
                Err(LineError::TooLarge(word)) => {
                    return Err(place.error(format!("`{word}`: expected a smaller number")));
                }
            }
        }
        self.end(file)
    }

    pub(super) fn leave(&mut self, what: &'static str, place: LogPlace<'a>) {
        let (first, times) = self.left_out.entry(what).or_insert((place, 0));
        *first = place.min(*first);
        *times += 1;
    }

    /// What was left out, as notes.
    pub(super) fn finish(&mut self) -> Vec<Note> {
        let mut notes = Vec::new();
        for (what, (place, times)) in std::mem::take(&mut self.left_out) {
            let more = if times > 1 {
                format!(", and {} more such lines", times - 1)
            } else {
                String::new()
            };
            notes.push(Note::left_out(format!("{what}{more}")).at(place.text()));
        }
        notes
    }

    fn of_pointer(
        &mut self,
        file: &mut FileState<'a>,
        head: LineHead<'a>,
        place: LogPlace<'a>,
        comm: u64,
    ) -> usize {
        *file
            .comms
            .entry((head.host, head.pid, comm))
            .or_insert_with(|| {
                self.members.push(Member::new(head, place, comm));
                self.members.len() - 1
            })
    }

    /// Counts a choice of algorithm. It belongs to the communicator that its line names, else to
    /// the one in which the process last made a call of this size.
    fn chosen(
        &mut self,
        file: &FileState<'a>,
        head: LineHead<'a>,
        place: LogPlace<'a>,
        chosen: &ChosenAlgorithm<'_>,
    ) {
        let last = file.last.get(&(head.host, head.pid, chosen.bytes));
        let named = chosen
            .comm
            .and_then(|comm| file.comms.get(&(head.host, head.pid, comm)));
        let (at, kind) = match (named, last) {
            (Some(&at), _) if chosen.name.is_some() => (at, None),
            (_, Some(&(at, kind))) => (at, Some(kind)),
            _ => return,
        };
        // Only all-reduces are split between rings and trees.
        let is_named_other = chosen
            .name
            .is_some_and(|name| name != Collective::AllReduce.to_string());
        if is_named_other || kind.is_some_and(|kind| kind != Collective::AllReduce) {
            return;
        }
        let Some(member) = self.members.get_mut(at) else {
            return;
        };
        match chosen.runs {
            CallAlgorithm::OnRings => member.choices.entry(chosen.bytes).or_default().0 += 1,
            CallAlgorithm::OnTrees => member.choices.entry(chosen.bytes).or_default().1 += 1,
            CallAlgorithm::On(what) => member.facts.push((place, CommFact::Other(what))),
        }
    }

    /// The number of a communicator that was split off one with a number. It is a hash of the
    /// parent's number, the ordinal of the split and the color: in NCCL 2.18 to 2.2x the commId of
    /// a split follows from the parent and the color alone, and later versions do not print it.
    fn split(&self, file: &mut FileState<'a>, head: LineHead<'a>, init: &Init) -> Option<u64> {
        let (parent, count, color) = init.split?;
        let key = (head.host, head.pid, parent);
        let id = self.members.get(*file.comms.get(&key)?)?.id?;
        let ordinal = file.splits.entry(key).or_default();
        *ordinal += u32::from(init.stage == CommStage::Start);
        let words = [
            id,
            u64::from(count.unwrap_or(*ordinal)),
            u64::from(count.is_some()),
            u64::from(color),
        ];
        // FNV-1a, by words.
        Some(words.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
            (hash ^ word).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    fn init(
        &mut self,
        file: &mut FileState<'a>,
        head: LineHead<'a>,
        place: LogPlace<'a>,
        init: &Init,
    ) -> Result<(), Error> {
        if init.ranks == 0 || init.ranks > MOST_RANKS {
            return Err(place.error(format!("{} ranks: expected 1 to {MOST_RANKS}", init.ranks)));
        }
        if init.rank >= init.ranks {
            return Err(place.error(format!(
                "rank {} of {ranks}: expected a rank below {ranks}",
                init.rank,
                ranks = init.ranks
            )));
        }
        let (key, thread) = (
            (head.host, head.pid, init.comm),
            (head.host, head.pid, head.tid),
        );
        // Processes reuse pointers: another commId, or a second initialisation, is another member.
        if let Some(own) = file.comms.get(&key).and_then(|&at| self.members.get(at)) {
            let has_other_id =
                !own.is_split && own.id.zip(init.id).is_some_and(|(id, other)| id != other);
            let is_second = matches!(init.stage, CommStage::Start | CommStage::Complete);
            if has_other_id || own.is_complete && is_second {
                file.comms.remove(&key);
            }
        }
        let split = self.split(file, head, init);
        let at = self.of_pointer(file, head, place, init.comm);
        let Some(member) = self.members.get_mut(at) else {
            return Ok(());
        };
        if member.rank.is_none() {
            let nth = file
                .seen
                .entry((head.host, head.pid, init.rank, init.ranks))
                .or_default();
            (member.nth, member.tid) = (*nth, head.tid);
            *nth += 1;
        }
        member.agree(Some(init.rank), Some(init.ranks), place)?;
        member.cuda = init.cuda.or(member.cuda);
        member.nvml = member.nvml.or(init.nvml);
        member.bus = member.bus.or(init.bus);
        if member.id.is_none() {
            (member.id, member.is_split) = (split.or(init.id), split.is_some());
        }
        let open = file.open.remove(&thread).unwrap_or_default();
        match init.stage {
            CommStage::Gone => {
                file.comms.remove(&key);
                file.making.retain(|_, other| *other != at);
                file.open.insert(thread, open);
            }
            CommStage::Start => {
                file.making.insert(thread, at);
                self.homeless(head, open);
            }
            CommStage::Between => {
                if !member.is_complete {
                    file.making.insert(thread, at);
                }
                self.homeless(head, open);
            }
            CommStage::Complete => {
                member.is_complete = true;
                member.facts.extend(open);
                file.making.remove(&thread);
            }
        }
        Ok(())
    }

    fn fact(
        &mut self,
        file: &mut FileState<'a>,
        head: LineHead<'a>,
        place: LogPlace<'a>,
        comm: Option<u64>,
        fact: CommFact,
    ) {
        let thread = (head.host, head.pid, head.tid);
        let own = match comm {
            Some(comm) => Some(self.of_pointer(file, head, place, comm)),
            None => file.making.get(&thread).copied(),
        };
        match own.and_then(|at| self.members.get_mut(at)) {
            Some(member) => member.facts.push((place, fact)),
            None => file.open.entry(thread).or_default().push((place, fact)),
        }
    }

    /// Assigns the facts that remain without a communicator: to the only one of their process, or
    /// to a new one if the process has none.
    fn end(&mut self, file: FileState<'a>) -> Result<(), Error> {
        for ((host, pid, tid), open) in file.open {
            let head = LineHead {
                host,
                pid,
                tid,
                device: None,
            };
            if self
                .members
                .iter()
                .any(|member| (member.host, member.pid) == (host, pid))
            {
                self.homeless(head, open);
                continue;
            }
            let ring = open.iter().find_map(|(place, fact)| match fact {
                CommFact::Ring(_, ranks) => Some((*place, ranks.len() as u32)),
                _ => None,
            });
            let Some((place, ranks)) = ring else {
                open.iter().for_each(|(place, _)| {
                    self.leave("lines of a communicator of unknown size", *place)
                });
                continue;
            };
            if ranks > MOST_RANKS {
                return Err(place.error(format!("{ranks} ranks: expected 1 to {MOST_RANKS}")));
            }
            let rank = open.iter().find_map(|(_, fact)| match fact {
                CommFact::Hop(_, [_, rank, _]) | CommFact::Tree(_, _, _, rank, _) => Some(*rank),
                _ => None,
            });
            // Rank 0 alone prints rings.
            let rank = rank.filter(|rank| *rank < ranks).or(Some(0));
            let new = Member::new(head, place, tid);
            self.members.push(Member {
                rank,
                ranks: Some(ranks),
                facts: open,
                is_nameless: true,
                ..new
            });
        }
        Ok(())
    }

    /// Assigns connections that a thread made later, on demand, outside any initialisation: to the
    /// only communicator of its process, else they are left out.
    fn homeless(&mut self, head: LineHead<'a>, open: PlacedFacts<'a>) {
        for (place, fact) in open {
            let mut own: Vec<_> = self
                .members
                .iter_mut()
                .filter(|member| (member.host, member.pid) == (head.host, head.pid))
                .collect();
            match (own.as_mut_slice(), &fact) {
                ([only], CommFact::Connection { .. }) => only.facts.push((place, fact)),
                _ => self.leave(HOMELESS, place),
            }
        }
    }
}

impl<'a> Member<'a> {
    fn new(head: LineHead<'a>, place: LogPlace<'a>, comm: u64) -> Self {
        let (rank, ranks, nvml, bus, id) = Default::default();
        let cuda = head.device;
        let (nth, facts, calls, choices, is_nameless, is_split, is_complete) = Default::default();
        let LineHead { host, pid, tid, .. } = head;
        Self {
            place,
            host,
            pid,
            comm,
            nth,
            rank,
            ranks,
            cuda,
            nvml,
            bus,
            id,
            facts,
            calls,
            choices,
            tid,
            is_nameless,
            is_split,
            is_complete,
        }
    }

    /// Sets the rank and the number of ranks, which must not change.
    fn agree(
        &mut self,
        rank: Option<u32>,
        ranks: Option<u32>,
        place: LogPlace<'_>,
    ) -> Result<(), Error> {
        for (what, before, now) in [
            ("rank", &mut self.rank, rank),
            ("nranks", &mut self.ranks, ranks),
        ] {
            match (*before, now) {
                (Some(own), Some(now)) if own != now => {
                    let comm = self.comm;
                    return Err(place.error(format!(
                        "comm {comm:#x}: {what} {now}, but {own} before: expected the same"
                    )));
                }
                (None, Some(now)) => *before = Some(now),
                _ => {}
            }
        }
        Ok(())
    }
}
