//! One line of a log: the process that printed it, and its contents.
//!
//! NCCL prints `host:pid:tid [device] NCCL INFO text`; launchers and time stamps come before it.
//! The first words of the text determine its form. Forms differ between versions, and
//! `docs/patterns-from-nccl.md` lists the known ones.

use std::borrow::Cow;

/// The mark of a line of NCCL or RCCL.
const MARK: &str = "NCCL INFO ";

/// The process, thread and device that printed a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LineHead<'a> {
    pub(super) host: &'a str,
    pub(super) pid: u64,
    pub(super) tid: u64,
    pub(super) device: Option<u32>,
}

/// A fact about one communicator.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CommFact {
    /// A ring of a channel, from the rank that prints it.
    Ring(u32, Vec<u32>),
    /// A rank of the ring of a channel: the rank before, the rank itself and the one after.
    Hop(u32, [u32; 3]),
    /// A rank of the tree of a channel, and the half that the tree is for: the parent, the rank
    /// itself and its children.
    Tree(u32, Half, Option<u32>, u32, Vec<u32>),
    /// A connection of a channel: the ranks, the text in brackets behind each, and the transport.
    Connection {
        channel: u32,
        ends: [(u32, Option<String>); 2],
        via: String,
    },
    /// An algorithm other than rings and trees.
    Other(&'static str),
}

/// The half of an all-reduce that a tree is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Half {
    Both,
    Reduce,
    Broadcast,
    /// From the search, before the final `Trees` line.
    Draft,
}

/// A line about a communicator itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Init {
    pub(super) comm: u64,
    pub(super) rank: u32,
    pub(super) ranks: u32,
    pub(super) cuda: Option<u32>,
    pub(super) nvml: Option<u32>,
    pub(super) bus: Option<u64>,
    pub(super) id: Option<u64>,
    /// For a communicator that was split off another: the pointer of the parent, the ordinal of the
    /// split (newer versions), and the color.
    pub(super) split: Option<(u64, Option<u32>, u32)>,
    pub(super) stage: CommStage,
}

/// The stage in the life of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommStage {
    Start,
    Between,
    Complete,
    Gone,
}

/// A call, with the arguments that the log prints.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LoggedCall<'a> {
    pub(super) name: &'a str,
    pub(super) count: u64,
    pub(super) datatype: u32,
    pub(super) root: u32,
    pub(super) comm: u64,
    pub(super) ranks: Option<u32>,
}

/// The algorithm that a call runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallAlgorithm {
    OnRings,
    OnTrees,
    /// Another algorithm.
    On(&'static str),
}

/// The algorithm that the library chose for a call (subsystem TUNING).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChosenAlgorithm<'a> {
    /// The name of the call; older versions do not print it.
    pub(super) name: Option<&'a str>,
    pub(super) bytes: u64,
    pub(super) runs: CallAlgorithm,
    pub(super) comm: Option<u64>,
}

/// The contents of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NcclLine<'a> {
    /// Facts, their communicator if the line names it (RCCL), and whether the line was cut.
    Facts(Vec<CommFact>, Option<u64>, bool),
    Init(Init),
    Call(LoggedCall<'a>),
    Chosen(ChosenAlgorithm<'a>),
    Nothing,
}

/// Why a line that begins in a known form is not read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LineError {
    /// The form is unknown.
    Odd,
    /// A number is too large.
    TooLarge(String),
}

/// A line without its colour escapes.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut parts = line.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // `ESC [ parameters letter`.
        let rest = part
            .strip_prefix('[')
            .map(|rest| rest.trim_start_matches(|c: char| !c.is_ascii_alphabetic()));
        let mut rest = rest.unwrap_or(part).chars();
        rest.next();
        text.push_str(rest.as_str());
    }
    Cow::Owned(text)
}

/// The head and the text of a line; none for lines of other programs. If two outputs share a line,
/// the second.
pub(super) fn split(line: &str) -> Option<(LineHead<'_>, &str)> {
    let (head, text) = line.rsplit_once(MARK)?;
    let (before, device) = match head
        .trim_end()
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once('['))
    {
        Some((before, device)) => (before, device.trim().parse().ok()),
        None => (head, None),
    };
    let mut parts = before.split_whitespace().next_back()?.rsplitn(4, ':');
    let (tid, pid) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let host = parts.next()?;
    // `[1,0]<stdout>` of Open MPI may stand before it without a space.
    let host = host
        .rsplit_once("<stdout>")
        .or_else(|| host.rsplit_once("<stderr>"))
        .map_or(host, |(_, host)| host);
    (!host.is_empty()).then_some((
        LineHead {
            host,
            pid,
            tid,
            device,
        },
        text.trim_end(),
    ))
}

/// Reads the text of a line.
pub(super) fn read(text: &str) -> Result<NcclLine<'_>, LineError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["Channel" | "Ring", channel, ":", rest @ ..]
            if channel.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            let (rest, comm) = own(rest)?;
            Ok(NcclLine::Facts(
                vec![path(
                    number(channel.split('/').next().unwrap_or(channel))?,
                    rest,
                )?],
                comm,
                false,
            ))
        }
        ["Trees", rest @ ..] if rest.first().is_some_and(|word| word.starts_with('[')) => {
            let (rest, comm) = own(rest)?;
            let (facts, is_cut) = trees(rest)?;
            Ok(NcclLine::Facts(facts, comm, is_cut))
        }
        ["Tree", channel, ":", up, "->", rank, "->", down, rest @ ..] => {
            let (_, comm) = own(rest)?;
            let fact = CommFact::Tree(
                number(channel)?,
                Half::Draft,
                parent(up)?,
                number(rank)?,
                children(down)?,
            );
            Ok(NcclLine::Facts(vec![fact], comm, false))
        }
        ["NVLS", "Head" | "Trees", ..] | ["Connected", "NVLS", "tree", ..] => Ok(other("NVLS")),
        ["CollNet" | "Collnet", ..] | ["Connected", "collnet" | "CollNet" | "Collnet", ..] => {
            Ok(other("CollNet"))
        }
        [name, "opCount", ..] if name.ends_with(':') => {
            call(name.trim_end_matches(':'), &words).map(NcclLine::Call)
        }
        [name, bytes, "Bytes", "->", "Algo", runs, ..] if name.ends_with(':') => {
            chosen(Some(name.trim_end_matches(':')), bytes, runs, &words)
        }
        [bytes, "Bytes", "->", "Algo", runs, ..] => chosen(None, bytes, runs, &words),
        _ => Ok(init(text, &words)?.map_or(NcclLine::Nothing, NcclLine::Init)),
    }
}

/// A line that names another algorithm than rings and trees.
fn other(what: &'static str) -> NcclLine<'static> {
    NcclLine::Facts(vec![CommFact::Other(what)], None, false)
}

/// The words before `comm 0x...`, which RCCL adds, and the communicator.
fn own<'a, 'b>(words: &'b [&'a str]) -> Result<(&'b [&'a str], Option<u64>), LineError> {
    match words.iter().position(|word| *word == "comm") {
        Some(at) => Ok((
            words.get(..at).unwrap_or_default(),
            value(words, "comm").map(hex).transpose()?,
        )),
        None => Ok((words, None)),
    }
}

/// What follows the channel's number: a ring, a rank between its neighbours, or a connection.
fn path(channel: u32, words: &[&str]) -> Result<CommFact, LineError> {
    if let Some(at) = words.iter().position(|word| *word == "via") {
        let (ends, via) = words.split_at(at);
        let [from, "->", to, ..] = ends else {
            return Err(LineError::Odd);
        };
        return Ok(CommFact::Connection {
            channel,
            ends: [end(from)?, end(to)?],
            via: via.get(1..).unwrap_or_default().join(" "),
        });
    }
    match words {
        [before, "->", rank, "->", after] => Ok(CommFact::Hop(
            channel,
            [number(before)?, number(rank)?, number(after)?],
        )),
        [] => Err(LineError::Odd),
        // Newer versions end a line that they cut with dots, perhaps within a rank.
        [ranks @ .., last] if last.ends_with("...") => path(channel, ranks),
        _ => Ok(CommFact::Ring(
            channel,
            words
                .iter()
                .map(|word| number(word))
                .collect::<Result<_, _>>()?,
        )),
    }
}

/// `0[1b000]` or `0`.
fn end(word: &str) -> Result<(u32, Option<String>), LineError> {
    let Some((rank, rest)) = word.split_once('[') else {
        return Ok((number(word)?, None));
    };
    Ok((
        number(rank)?,
        Some(rest.trim_end_matches(']').to_ascii_lowercase()),
    ))
}

/// The trees in `[0] 1/-1/-1->0->-1 [1] ...`, and whether the end is missing: the library cuts the
/// line at 1,023 characters.
fn trees(words: &[&str]) -> Result<(Vec<CommFact>, bool), LineError> {
    let mut facts = Vec::new();
    for (at, pair) in words.chunks(2).enumerate() {
        let is_last = (at + 1) * 2 >= words.len();
        match tree(pair) {
            Ok(own) => facts.extend(own),
            Err(LineError::Odd) if is_last && !facts.is_empty() => return Ok((facts, true)),
            Err(wrong) => return Err(wrong),
        }
    }
    Ok((facts, false))
}

/// One tree: `[0] 1/-1/-1->0->-1` since 2.8, `[0] -1->0->1/-1/-1` in 2.4, and both with a `|`
/// between them from 2.5 to 2.7.
fn tree(pair: &[&str]) -> Result<Vec<CommFact>, LineError> {
    let [channel, text] = pair else {
        return Err(LineError::Odd);
    };
    let channel = channel
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .ok_or(LineError::Odd)?;
    let channel = number(channel)?;
    match text.split('|').collect::<Vec<_>>().as_slice() {
        [only] => {
            let (up, rank, down) = side(only)?;
            Ok(vec![CommFact::Tree(channel, Half::Both, up, rank, down)])
        }
        [reduce, broadcast] => {
            let halves = [
                (Half::Reduce, side(reduce)?),
                (Half::Broadcast, side(broadcast)?),
            ];
            Ok(halves
                .map(|(half, (up, rank, down))| CommFact::Tree(channel, half, up, rank, down))
                .into())
        }
        _ => Err(LineError::Odd),
    }
}

/// The parent, the rank and its children. The children are on the side with a `/`.
fn side(text: &str) -> Result<(Option<u32>, u32, Vec<u32>), LineError> {
    match text.split("->").collect::<Vec<_>>().as_slice() {
        [down, rank, up] if down.contains('/') => Ok((parent(up)?, number(rank)?, children(down)?)),
        [up, rank, down] if down.contains('/') => Ok((parent(up)?, number(rank)?, children(down)?)),
        _ => Err(LineError::Odd),
    }
}

fn parent(word: &str) -> Result<Option<u32>, LineError> {
    if word == "-1" {
        Ok(None)
    } else {
        number(word).map(Some)
    }
}

fn children(word: &str) -> Result<Vec<u32>, LineError> {
    word.split('/')
        .filter_map(|child| parent(child).transpose())
        .collect()
}

/// `AllReduce: opCount 0 sendbuff 0x1 ... count 1024 datatype 7 ... root 0 comm 0x2 [nranks=4]`.
fn call<'a>(name: &'a str, words: &[&'a str]) -> Result<LoggedCall<'a>, LineError> {
    let ranks = words
        .iter()
        .find_map(|word| word.strip_prefix("[nranks=")?.strip_suffix(']'));
    Ok(LoggedCall {
        name,
        count: large(needed(words, "count")?)?,
        datatype: number(needed(words, "datatype")?)?,
        // Calls of all ranks have no root; some versions print -1 for it.
        root: parent(needed(words, "root")?)?.unwrap_or(0),
        comm: hex(needed(words, "comm")?)?,
        ranks: ranks.map(number).transpose()?,
    })
}

/// `AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}`; up to 2.22 numbers, and
/// earlier no name.
fn chosen<'a>(
    name: Option<&'a str>,
    bytes: &str,
    runs: &str,
    words: &[&'a str],
) -> Result<NcclLine<'a>, LineError> {
    let runs = match runs.to_ascii_uppercase().as_str() {
        "0" | "TREE" => CallAlgorithm::OnTrees,
        "1" | "RING" => CallAlgorithm::OnRings,
        "2" | "3" | "COLLNET" | "COLLNET_DIRECT" | "COLLNET_CHAIN" => CallAlgorithm::On("CollNet"),
        "4" | "5" | "NVLS" | "NVLS_TREE" => CallAlgorithm::On("NVLS"),
        "6" | "PAT" => CallAlgorithm::On("PAT"),
        _ => return Err(LineError::Odd),
    };
    let comm = value(words, "comm").map(hex).transpose()?;
    Ok(NcclLine::Chosen(ChosenAlgorithm {
        name,
        bytes: large(bytes)?,
        runs,
        comm,
    }))
}

/// A line with `comm`, `rank` and `nranks`; none for any other.
fn init(text: &str, words: &[&str]) -> Result<Option<Init>, LineError> {
    let get = |key: &str| value(words, key);
    let ranks = get("nranks").or_else(|| get("nRanks"));
    let (Some(comm), Some(rank), Some(ranks)) = (get("comm"), get("rank"), ranks) else {
        return Ok(None);
    };
    let Ok(comm) = hex(comm) else { return Ok(None) };
    let stage = match () {
        () if text.contains("Init START") => CommStage::Start,
        () if text.contains("Init COMPLETE") => CommStage::Complete,
        () if text.contains("Destroy") || text.contains("Abort") => CommStage::Gone,
        () => CommStage::Between,
    };
    let split = match (get("parent"), get("color")) {
        (Some(parent), Some(color)) => {
            let count = get("splitCount")
                .or_else(|| get("childCount"))
                .map(number)
                .transpose()?;
            Some((hex(parent)?, count, number(color)?))
        }
        _ => None,
    };
    Ok(Some(Init {
        comm,
        rank: number(rank)?,
        ranks: number(ranks)?,
        cuda: get("cudaDev").map(number).transpose()?,
        nvml: get("nvmlDev").map(number).transpose()?,
        bus: get("busId").map(hex).transpose()?,
        id: get("commId").map(hex).transpose()?,
        split,
        stage,
    }))
}

/// The word that follows a key.
fn value<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    words
        .get(words.iter().position(|word| *word == key)? + 1)
        .copied()
}

/// The word that follows a key, which must be there.
fn needed<'a>(words: &[&'a str], key: &str) -> Result<&'a str, LineError> {
    value(words, key).ok_or(LineError::Odd)
}

fn number(word: &str) -> Result<u32, LineError> {
    u32::try_from(large(word)?).map_err(|_| LineError::TooLarge(word.to_owned()))
}

fn large(word: &str) -> Result<u64, LineError> {
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(LineError::Odd);
    }
    word.parse()
        .map_err(|_| LineError::TooLarge(word.to_owned()))
}

pub(super) fn hex(word: &str) -> Result<u64, LineError> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(LineError::Odd);
    }
    u64::from_str_radix(digits, 16).map_err(|_| LineError::TooLarge(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_behind_whatever_launchers_put_before_them() {
        for before in [
            "",
            "0: ",
            "[rank0]:",
            "[default0]:",
            "[1,0]<stdout>:",
            "[1,0]<stdout>",
            "[2026-03-12 13:57:49] ",
        ] {
            let line = format!("{before}node-1:10:20 [3] NCCL INFO Channel 00/02 :    0   1 ");
            let (head, text) = split(&line).unwrap();
            assert_eq!(
                head,
                LineHead {
                    host: "node-1",
                    pid: 10,
                    tid: 20,
                    device: Some(3)
                },
                "{line}"
            );
            assert_eq!(text, "Channel 00/02 :    0   1");
        }
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m text"), "red text");
        for other in [
            "loss 0.3",
            "NCCL INFO Channel 00 : 0 1",
            "a:b:c [0] NCCL INFO x",
            "NCCL version 2.18.1",
        ] {
            assert_eq!(split(other), None, "{other}");
        }
    }

    #[test]
    fn trees_of_all_versions_give_parent_and_children() {
        let both = |text| match read(text).unwrap() {
            NcclLine::Facts(facts, ..) => facts,
            other => panic!("{other:?}"),
        };
        let own = |half| CommFact::Tree(0, half, Some(7), 3, vec![1, 2]);
        assert_eq!(both("Trees [0] 1/2/-1->3->7"), [own(Half::Both)]);
        assert_eq!(both("Trees [0] 7->3->1/2/-1"), [own(Half::Both)]);
        assert_eq!(
            both("Trees [0] 1/2/-1->3->7|7->3->1/2/-1"),
            [own(Half::Reduce), own(Half::Broadcast)]
        );
        assert_eq!(both("Tree 0 : 7 -> 3 -> 1/2/-1"), [own(Half::Draft)]);
        assert_eq!(
            read("Trees [0] 1/2/-1->3->7 [1] 1/2"),
            Ok(NcclLine::Facts(vec![own(Half::Both)], None, true))
        );
        let rccl = "Trees [0] 1/2/-1->3->7 comm 0x2c nRanks 08 busId c8000";
        assert_eq!(
            read(rccl),
            Ok(NcclLine::Facts(vec![own(Half::Both)], Some(0x2c), false))
        );
    }

    #[test]
    fn choices_of_all_versions_tell_rings_from_trees() {
        let own = |name, bytes, runs, comm| {
            Ok(NcclLine::Chosen(ChosenAlgorithm {
                name,
                bytes,
                runs,
                comm,
            }))
        };
        let channels = "channel{Lo..Hi}={0..1}";
        for (text, expected) in [
            (
                format!("AllReduce: 8 Bytes -> Algo RING proto LL {channels}"),
                own(Some("AllReduce"), 8, CallAlgorithm::OnRings, None),
            ),
            (
                format!("AllReduce: 8 Bytes -> Algo Tree proto LL {channels} comm 0x7e"),
                own(Some("AllReduce"), 8, CallAlgorithm::OnTrees, Some(0x7e)),
            ),
            (
                format!("AllReduce: 8 Bytes -> Algo NVLS proto SIMPLE {channels} cgaClusterSize 4"),
                own(Some("AllReduce"), 8, CallAlgorithm::On("NVLS"), None),
            ),
            (
                "AllGather: 37756928 Bytes -> Algo 1 proto 2 time 2860.208008".to_owned(),
                own(Some("AllGather"), 37_756_928, CallAlgorithm::OnRings, None),
            ),
            (
                "1024 Bytes -> Algo 0 proto 0 time 9.5".to_owned(),
                own(None, 1024, CallAlgorithm::OnTrees, None),
            ),
            (
                "AllReduce: 8 Bytes -> Algo star proto LL".to_owned(),
                Err(LineError::Odd),
            ),
        ] {
            assert_eq!(read(&text), expected, "{text}");
        }
    }

    #[test]
    fn rings_hops_and_connections_are_told_apart() {
        let one = |text| match read(text).unwrap() {
            NcclLine::Facts(facts, ..) => facts.into_iter().next().unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            one("Channel 03/08 :    0   2   1"),
            CommFact::Ring(3, vec![0, 2, 1])
        );
        assert_eq!(one("Channel 00 :    0   1"), CommFact::Ring(0, vec![0, 1]));
        assert_eq!(one("Ring 12 : 3 -> 0 -> 1"), CommFact::Hop(12, [3, 0, 1]));
        let ends = |id: Option<&str>| [(0, id.map(str::to_owned)), (1, id.map(str::to_owned))];
        let via = |id, via: &str| CommFact::Connection {
            channel: 0,
            ends: ends(id),
            via: via.to_owned(),
        };
        assert_eq!(
            one("Channel 00/0 : 0[3] -> 1[3] via P2P/CUMEM"),
            via(Some("3"), "P2P/CUMEM")
        );
        assert_eq!(
            one("Ring 00 : 0[1b000] -> 1[1B000] via P2P/direct pointer"),
            via(Some("1b000"), "P2P/direct pointer")
        );
        assert_eq!(
            one("Ring 00 : 0 -> 1 [send] via NET/IB/0/GDRDMA"),
            via(None, "NET/IB/0/GDRDMA")
        );
        assert_eq!(
            read("Channel 00/02 : 0 99999999999"),
            Err(LineError::TooLarge("99999999999".to_owned()))
        );
        assert_eq!(read("Channel 00/02 : 0 x"), Err(LineError::Odd));
    }
}
