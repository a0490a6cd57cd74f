//! NCCL's logs and graphs: what is printed in their forms is read back, however lines and files are
//! ordered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::common::notes;
use mapa_patterns::{Algorithm, Application, NcclJob, Unit, read_nccl};
use proptest::prelude::*;

/// The forms of a generation of versions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    /// 2.4: no start, no bus id; trees as parent, rank, children.
    V24,
    /// 2.5 to 2.7: both halves of trees.
    V25,
    /// 2.8 to 2.17: bus ids, no commId.
    V28,
    /// From 2.18 on: commId.
    V2x,
    /// RCCL: communicators named in each line.
    Rccl,
}

const VERSIONS: [Version; 5] = [
    Version::V24,
    Version::V25,
    Version::V28,
    Version::V2x,
    Version::Rccl,
];

/// A communicator to print: for each rank its device, the rings in order, for each tree the parent
/// of each rank.
#[derive(Clone, Debug)]
struct Comm {
    devices: Vec<usize>,
    rings: Vec<Vec<usize>>,
    trees: Vec<Vec<Option<usize>>>,
}

fn bus(device: usize) -> usize {
    0x10000 + 0x1000 * device
}

/// The lines of one rank, in order. Devices are of a process each, eight in a host.
fn lines(comm: &Comm, number: usize, rank: usize, version: Version) -> Vec<String> {
    let (device, n) = (comm.devices[rank], comm.devices.len());
    let (host, gpu) = (device / 8, device % 8);
    let head = format!(
        "node{host}:{}:{} [{gpu}] NCCL INFO ",
        100 + device,
        5000 + 100 * number + device
    );
    let pointer = 0x7f00_0000 + 0x100 * number + device;
    let tail = if version == Version::Rccl {
        format!(" comm {pointer:#x} nRanks {n:02} busId {:x}", bus(device))
    } else {
        String::new()
    };
    let init = match version {
        Version::V24 => {
            format!("comm {pointer:#x} rank {rank} nranks {n} cudaDev {gpu} nvmlDev {gpu}")
        }
        Version::V25 | Version::V28 => {
            format!(
                "comm {pointer:#x} rank {rank} nranks {n} cudaDev {gpu} busId {:x}",
                bus(device)
            )
        }
        Version::V2x | Version::Rccl => format!(
            "ncclCommInitRank comm {pointer:#x} rank {rank} nranks {n} cudaDev {gpu} nvmlDev {gpu} busId {:x} commId {:#x}",
            bus(device),
            0xf6b0 + number
        ),
    };
    let has_start = matches!(version, Version::V2x | Version::Rccl);
    let mut text = Vec::new();
    if has_start {
        text.push(format!("{init} - Init START"));
        text.push(format!("comm {pointer:#x} rank {rank} nRanks {n} nNodes 1 localRanks {n} localRank {rank} MNNVL 0"));
    }
    for (c, ring) in comm.rings.iter().enumerate() {
        let at = ring
            .iter()
            .position(|candidate| *candidate == rank)
            .unwrap();
        let (before, after) = (ring[(at + n - 1) % n], ring[(at + 1) % n]);
        if rank == 0 {
            let channel = if version == Version::V24 {
                format!("{c:02}")
            } else {
                format!("{c:02}/{:02}", comm.rings.len())
            };
            // From 21 ranks on lines were cut.
            let ranks: String = (0..n.min(20))
                .map(|step| format!(" {:3}", ring[(at + step) % n]))
                .collect();
            text.push(format!("Channel {channel} :{ranks}{tail}"));
        }
        text.push(format!("Ring {c:02} : {before} -> {rank} -> {after}{tail}"));
    }
    let trees: String = comm
        .trees
        .iter()
        .enumerate()
        .map(|(c, parents)| {
            let up = parents[rank].map_or("-1".to_owned(), |parent| parent.to_string());
            let children = (0..n)
                .filter(|child| parents[*child] == Some(rank))
                .map(|child| child.to_string());
            let down = children
                .chain(std::iter::repeat_n("-1".to_owned(), 3))
                .take(3)
                .collect::<Vec<_>>()
                .join("/");
            match version {
                Version::V24 => format!(" [{c}] {up}->{rank}->{down}"),
                Version::V25 => format!(" [{c}] {down}->{rank}->{up}|{up}->{rank}->{down}"),
                _ => format!(" [{c}] {down}->{rank}->{up}"),
            }
        })
        .collect();
    text.push(format!("Trees{trees}{tail}"));
    for (c, ring) in comm.rings.iter().enumerate() {
        let at = ring
            .iter()
            .position(|candidate| *candidate == rank)
            .unwrap();
        let after = ring[(at + 1) % n];
        let end = |rank: usize| match version {
            Version::V24 | Version::V2x => format!("{rank}[{}]", comm.devices[rank] % 8),
            _ => format!("{rank}[{:x}]", bus(comm.devices[rank])),
        };
        let word = if matches!(version, Version::V24 | Version::V25) {
            format!("Ring {c:02}")
        } else {
            format!("Channel {c:02}/0")
        };
        text.push(format!(
            "{word} : {} -> {} via P2P/IPC{tail}",
            end(rank),
            end(after)
        ));
    }
    text.push(format!("{init} - Init COMPLETE"));
    text.into_iter()
        .map(|line| format!("{head}{line}\n"))
        .collect()
}

/// One log for each device, as NCCL_DEBUG_FILE=%h.%p gives them.
fn logs(comms: &[Comm], version: Version) -> Vec<Vec<String>> {
    let devices: BTreeSet<usize> = comms
        .iter()
        .flat_map(|comm| comm.devices.iter().copied())
        .collect();
    let of_device = |device| {
        let own = comms.iter().enumerate();
        own.filter_map(|(number, comm)| {
            let rank = comm
                .devices
                .iter()
                .position(|candidate| *candidate == device)?;
            Some(lines(comm, number, rank, version))
        })
        .flatten()
        .collect()
    };
    devices.into_iter().map(of_device).collect()
}

fn read(files: &[String]) -> NcclJob {
    let names: Vec<String> = (0..files.len()).map(|at| format!("log{at}")).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .zip(files)
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    read_nccl(&files).unwrap_or_else(|error| panic!("{error}\n{files:?}"))
}

fn edges(application: &Application) -> BTreeMap<(u16, u16), f64> {
    application
        .pattern
        .edges()
        .iter()
        .map(|edge| ((edge.a, edge.b), edge.traffic))
        .collect()
}

/// A ring through all from any order, and trees in which each joins one that came before.
fn comm(devices: Vec<usize>) -> impl Strategy<Value = Comm> {
    let n = devices.len();
    let order = || Just((0..n).collect::<Vec<usize>>()).prop_shuffle();
    let tree = (
        order(),
        prop::collection::vec(any::<prop::sample::Index>(), n),
    )
        .prop_map(move |(order, picks)| {
            let mut parents = vec![None; n];
            let mut children = vec![0; n];
            for at in 1..n {
                // Ranks have three children at most.
                let free: Vec<usize> = order[..at]
                    .iter()
                    .copied()
                    .filter(|rank| children[*rank] < 3)
                    .collect();
                let parent = free[picks[at].index(free.len())];
                (parents[order[at]], children[parent]) = (Some(parent), children[parent] + 1);
            }
            parents
        });
    (
        prop::collection::vec(order(), 1..4),
        prop::collection::vec(tree, 1..4),
    )
        .prop_map(move |(rings, trees)| Comm {
            devices: devices.clone(),
            rings,
            trees,
        })
}

/// A world, and pairs of halves of it: as tensor and data parallel groups are.
fn job() -> impl Strategy<Value = Vec<Comm>> {
    (1_usize..5).prop_flat_map(|half| {
        let world: Vec<usize> = (0..2 * half).collect();
        let (low, high) = (world[..half].to_vec(), world[half..].to_vec());
        let pairs: Vec<_> = (0..half).map(|at| comm(vec![at, at + half])).collect();
        (comm(world), comm(low), comm(high), pairs).prop_map(|(world, low, high, mut pairs)| {
            let mut all = vec![world, low, high];
            all.append(&mut pairs);
            all
        })
    })
}

/// How many channels lie between each pair of devices: of the busier direction.
fn expected(comms: &[Comm], algorithm: Algorithm) -> BTreeMap<(u16, u16), f64> {
    let mut sent: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let mut add = |a: usize, b: usize| {
        if a != b {
            *sent.entry((a, b)).or_default() += 1.0
        }
    };
    for comm in comms {
        let n = comm.devices.len();
        for ring in comm.rings.iter().filter(|_| algorithm != Algorithm::Tree) {
            (0..n).for_each(|at| add(comm.devices[ring[at]], comm.devices[ring[(at + 1) % n]]));
        }
        for parents in comm.trees.iter().filter(|_| algorithm != Algorithm::Ring) {
            for (child, parent) in parents.iter().enumerate() {
                if let Some(parent) = *parent {
                    add(comm.devices[child], comm.devices[parent]);
                    add(comm.devices[parent], comm.devices[child]);
                }
            }
        }
    }
    let mut busier: BTreeMap<(u16, u16), f64> = BTreeMap::new();
    for ((a, b), amount) in sent {
        let own = busier
            .entry((a.min(b) as u16, a.max(b) as u16))
            .or_default();
        *own = own.max(amount);
    }
    busier
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(64))]

    #[test]
    fn what_is_printed_of_any_rings_and_trees_is_read_back(comms in job(), numbered in any::<bool>()) {
        // Without commId, groups of one size can only be told apart by what they say of each other.
        let version = if numbered { Version::V2x } else { Version::Rccl };
        let job = read(&logs(&comms, version).into_iter().map(|lines| lines.concat()).collect::<Vec<_>>());
        prop_assert_eq!(job.communicators.len(), comms.len());
        for algorithm in Algorithm::ALL {
            let application = job.application(algorithm).unwrap();
            prop_assert_eq!(application.unit, Unit::Channels);
            prop_assert_eq!(edges(&application), expected(&comms, algorithm));
        }
    }

    #[test]
    fn all_versions_print_one_communicator_alike(comm in (2_usize..30).prop_flat_map(|n| comm((0..n).collect()))) {
        for version in VERSIONS {
            let logs = logs(std::slice::from_ref(&comm), version).into_iter().map(|lines| lines.concat());
            let job = read(&logs.collect::<Vec<_>>());
            let communicator = &job.communicators[0];
            prop_assert_eq!((communicator.ranks, communicator.rings.len(), communicator.trees.len()), (comm.devices.len(), comm.rings.len(), comm.trees.len()));
            for (ring, told) in communicator.rings.iter().zip(&comm.rings) {
                let order: Vec<usize> = ring.order().unwrap().into_iter().map(|rank| rank as usize).collect();
                let at = told.iter().position(|rank| *rank == 0).unwrap();
                let mut told = told.clone();
                told.rotate_left(at);
                prop_assert_eq!(order, told, "{:?}", version);
            }
            let single = std::slice::from_ref(&comm);
            prop_assert_eq!(edges(&job.application(Algorithm::Both).unwrap()), expected(single, Algorithm::Both), "{:?}", version);
            prop_assert_eq!(communicator.connections.iter().all(|connection| connection.via == "P2P/IPC"), true);
        }
    }

    #[test]
    fn order_of_files_and_interleaving_of_their_lines_change_nothing(comms in job(), picks in prop::collection::vec(any::<prop::sample::Index>(), 1..400)) {
        for version in [Version::V2x, Version::V28] {
            let logs = logs(&comms, version);
            let files: Vec<String> = logs.iter().map(|lines| lines.concat()).collect();
            let job = read(&files);
            // One file, of which each line comes from any of the logs that have some left, with
            // lines of others between.
            let mut open: Vec<std::collections::VecDeque<&String>> = logs.iter().map(|lines| lines.iter().collect()).collect();
            let mut one = String::new();
            let mut picks = picks.iter().cycle();
            while !open.is_empty() {
                let at = picks.next().unwrap().index(open.len());
                match open[at].pop_front() {
                    Some(line) => { writeln!(one, "[rank{at}]:{line}loss = 0.5").unwrap(); }
                    None => { open.remove(at); }
                }
            }
            let mixed = read(&[one]);
            prop_assert_eq!(&mixed.communicators, &job.communicators);
            prop_assert_eq!(&mixed.devices, &job.devices);
            let names: Vec<String> = (0..files.len()).map(|at| format!("log{at}")).collect();
            let turned: Vec<(&str, &str)> = names.iter().zip(&files).map(|(name, text)| (name.as_str(), text.as_str())).rev().collect();
            prop_assert_eq!(read_nccl(&turned).unwrap(), job);
        }
    }

    #[test]
    fn rings_of_a_graph_in_xml_are_those_of_the_log(comm in (2_usize..9).prop_flat_map(|n| comm((0..n).collect()))) {
        let mut xml = format!("<graphs version=\"1\">\n<graph id=\"0\" pattern=\"4\" nchannels=\"{}\" speedintra=\"20\" speedinter=\"20\">\n", comm.rings.len());
        for ring in &comm.rings {
            let gpus: String = ring.iter().map(|gpu| format!("<gpu dev=\"{gpu}\"/>")).collect();
            writeln!(xml, "<channel>{gpus}</channel>").unwrap();
        }
        xml += "</graph>\n</graphs>\n";
        let graph = read(&[xml]);
        let single = std::slice::from_ref(&comm);
        let log = read(&logs(single, Version::V2x).into_iter().map(|lines| lines.concat()).collect::<Vec<_>>());
        prop_assert_eq!(&graph.communicators[0].rings, &log.communicators[0].rings);
        prop_assert_eq!(edges(&graph.application(Algorithm::Ring).unwrap()), edges(&log.application(Algorithm::Ring).unwrap()));
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}", words in prop::collection::vec(prop::sample::select(vec![
        "a:1:2 [0] NCCL INFO ", "Channel 00/02 :", "Ring 00 :", "Trees [0]", "->", "0", "1", "-1", "/", "comm 0xa0", "rank", "nranks", "via",
        "\n", " ", "[0]", "AllReduce: opCount 0", "count", "datatype 7", "root", "99999999999", "Init COMPLETE", "commId 0x1", "Tree", ":",
    ]), 0..60)) {
        for text in [text, words.join(" ")] {
            if let Ok(job) = read_nccl(&[("a", &text)]) {
                for algorithm in Algorithm::ALL {
                    job.application(algorithm).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_changed_byte_never_panics(comms in job(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = logs(&comms, Version::V2x).concat().concat().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(job) = read_nccl(&[("a", &String::from_utf8_lossy(&bytes))]) {
            job.application(Algorithm::Both).unwrap();
        }
    }
}

/// Two ranks of a communicator with commId, as 2.20 prints them, then `more`, each line from rank
/// 0's main thread.
fn two(more: &[&str]) -> String {
    let comm = Comm {
        devices: vec![0, 1],
        rings: vec![vec![0, 1]; 2],
        trees: vec![vec![None, Some(0)]; 2],
    };
    let mut text = logs(&[comm], Version::V2x).concat().concat();
    more.iter()
        .for_each(|line| writeln!(text, "node0:100:100 [0] NCCL INFO {line}").unwrap());
    text
}

fn error(text: &str) -> String {
    read_nccl(&[("x.log", text)]).unwrap_err().to_string()
}

const CALL: &str = "sendbuff 0x1 recvbuff 0x2 count 1000 datatype 7 op 0";

#[test]
fn calls_become_bytes_counted_once_for_all_ranks() {
    let call = |rank: usize, name: &str, root: usize| {
        format!(
            "node0:{}:{} [{rank}] NCCL INFO {name}: opCount 0 {CALL} root {root} comm {:#x} [nranks=2] stream 0x5\n",
            100 + rank,
            100 + rank,
            0x7f00_0000 + rank
        )
    };
    let bytes = |calls: &[String], algorithm| {
        let job = read_nccl(&[("log", &(two(&[]) + &calls.concat()))]).unwrap();
        let application = job.application(algorithm).unwrap();
        assert_eq!(application.unit, Unit::Bytes);
        (edges(&application)[&(0, 1)], job.messages)
    };
    let all: Vec<String> = (0..2).map(|rank| call(rank, "AllReduce", 0)).collect();
    for algorithm in Algorithm::ALL {
        // Two ranks: 2 (n - 1) / n is 1, and so much goes up and down a tree of two.
        assert_eq!(bytes(&all, algorithm), (4000.0, vec![(4000, 1)]));
    }
    let gather: Vec<String> = (0..2).map(|rank| call(rank, "AllGather", 0)).collect();
    assert_eq!(bytes(&gather, Algorithm::Both), (4000.0, vec![(8000, 1)]));
    assert_eq!(
        bytes(&[call(0, "Broadcast", 0)], Algorithm::Both),
        (4000.0, vec![(4000, 1)])
    );
    // One sends and the other receives: one message.
    assert_eq!(
        bytes(&[call(0, "Send", 1), call(1, "Recv", 0)], Algorithm::Both).0,
        4000.0
    );
    assert_eq!(
        bytes(
            &[call(0, "Send", 1), call(0, "Send", 1), call(1, "Recv", 0)],
            Algorithm::Both
        )
        .0,
        8000.0
    );
    assert_eq!(
        bytes(
            &[call(0, "AllReduce", 0), call(0, "Send", 1)],
            Algorithm::Ring
        ),
        (8000.0, vec![(4000, 2)])
    );
}

#[test]
fn an_all_reduce_of_four_puts_a_share_on_each_ring() {
    let comm = Comm {
        devices: vec![0, 1, 2, 3],
        rings: vec![vec![0, 1, 2, 3], vec![0, 2, 1, 3]],
        trees: vec![vec![None, Some(0), Some(1), Some(2)]],
    };
    let mut text = logs(&[comm], Version::V2x).concat().concat();
    writeln!(
        text,
        "node0:100:100 [0] NCCL INFO AllReduce: opCount 0 {CALL} root 0 comm 0x7f000000 [nranks=4] stream 0x5"
    )
    .unwrap();
    let job = read_nccl(&[("log", &text)]).unwrap();
    let of = |algorithm| edges(&job.application(algorithm).unwrap());
    // 2 * 3/4 * 4000 bytes over two rings; 1-2 lies on both, once in each direction; 3-0 on both in
    // one.
    assert_eq!(
        of(Algorithm::Ring),
        BTreeMap::from([
            ((0, 1), 3000.0),
            ((1, 2), 3000.0),
            ((2, 3), 3000.0),
            ((0, 3), 6000.0),
            ((0, 2), 3000.0),
            ((1, 3), 3000.0)
        ])
    );
    assert_eq!(
        of(Algorithm::Tree),
        BTreeMap::from([((0, 1), 4000.0), ((1, 2), 4000.0), ((2, 3), 4000.0)])
    );
    assert_eq!(of(Algorithm::Both)[&(0, 1)], 3500.0);
}

#[test]
fn what_contradicts_itself_is_refused_with_its_file_and_line() {
    let init = |rank: u32, ranks: u64, word: &str| {
        format!(
            "a:1:2 [0] NCCL INFO comm 0xa0 rank {rank} nranks {ranks} cudaDev 0 busId 1b000 - Init {word}\n"
        )
    };
    let whole = |line: &str| {
        format!(
            "{}a:1:2 [0] NCCL INFO {line}\n{}",
            init(0, 3, "START"),
            init(0, 3, "COMPLETE")
        )
    };
    assert_eq!(
        error(&whole("Channel 00/02 :    0   1   1")),
        "x.log: line 2: a ring that names a rank twice: expected each once"
    );
    assert_eq!(
        error(&whole("Channel 00/02 :    0   1")),
        "x.log: line 2: a ring of 2 ranks: expected 3"
    );
    assert_eq!(
        error(&whole("Channel 00/02 :    0   1   3")),
        "x.log: line 2: rank 3 of 3: expected a rank below 3"
    );
    assert_eq!(
        error(&whole("Trees [0] 7/-1/-1->0->-1")),
        "x.log: line 2: rank 7 of 3: expected a rank below 3"
    );
    let twice = whole("Channel 00/02 : 0 1 2\na:1:2 [0] NCCL INFO Ring 00 : 1 -> 0 -> 2");
    assert_eq!(
        error(&twice),
        "x.log: line 3: channel 0: rank 0 after 1, but 2 at x.log:2: expected one"
    );
    insta::assert_snapshot!(
        error(&whole("Trees [0] 1/-1/-1->0->1")),
        @"x.log: line 2: channel 0: the parents form a cycle: expected a tree"
    );
    assert_eq!(
        error(&(init(0, 3, "START") + &init(0, 4, "COMPLETE"))),
        "x.log: line 2: comm 0xa0: nranks 4, but 3 before: expected the same"
    );
    assert_eq!(
        error(&init(3, 3, "START")),
        "x.log: line 1: rank 3 of 3: expected a rank below 3"
    );
    assert_eq!(
        error(&init(0, 4_000_000_000, "START")),
        "x.log: line 1: 4000000000 ranks: expected 1 to 1024"
    );
    assert_eq!(
        error(&init(0, 40_000_000_000, "START")),
        "x.log: line 1: `40000000000`: expected a smaller number"
    );
    insta::assert_snapshot!(
        error("loss 0.5\n"),
        @"no line of NCCL: expected `host:pid:tid [device] NCCL INFO ...` (NCCL_DEBUG=INFO)"
    );
    insta::assert_snapshot!(
        error("a:1:2 [0] NCCL INFO Using network Socket\n"),
        @"no communicator: expected lines of the subsystems INIT and GRAPH (NCCL_DEBUG_SUBSYS=INIT,GRAPH)"
    );
    insta::assert_snapshot!(
        error(&two(&[&format!("AllReduce: opCount 0 {CALL}0000000000000000 root 7 comm 0x7f000000 [nranks=2]").replace("count 1000", "count 9999999999999999999")])),
        @"x.log: line 19: root 7 of 2 ranks: expected a rank below 2"
    );
}

#[test]
fn harmless_lines_are_left_out_with_a_note() {
    let notes = |text: &str| {
        let job = read_nccl(&[("x.log", text)]).unwrap();
        job.application(Algorithm::Both)
            .unwrap()
            .notes
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(notes(&two(&[])), [""; 0]);
    let cut = two(&["Using network IB"]) + "node0:100:100 [0] NCCL INFO Channel 07/08 :    0";
    assert!(
        notes(&cut)[0].contains("the last line has no line end"),
        "{:?}",
        notes(&cut)
    );
    assert!(notes(&two(&["Channel 00/08 : 0[0] 1[1] via"]))[0].starts_with("left-out: x.log:"));
    assert!(
        notes(&two(&["FooReduce: opCount 0 sendbuff 0x1 count 1 datatype 7 op 0 root 0 comm 0x7f000000 [nranks=2]"]))
            [0]
        .contains("an unknown call or data type")
    );
}

#[test]
fn one_ranks_log_gives_all_rings_and_what_is_missing_is_said() {
    let comm = Comm {
        devices: (0..8).collect(),
        rings: vec![(0..8).collect()],
        trees: vec![(0..8_usize).map(|rank| rank.checked_sub(1)).collect()],
    };
    let job = read(&[logs(&[comm], Version::V28)[0].concat()]);
    let application = job.application(Algorithm::Ring).unwrap();
    assert_eq!(application.pattern.edges().len(), 8);
    assert_eq!(
        (
            application.labels[0].as_str(),
            application.labels[7].as_str()
        ),
        ("node0:10000", "rank 7")
    );
    assert_eq!(
        application.notes[0].to_string(),
        "undecided: communicator 0x7f000000: only the logs of 1 of its 8 ranks were given"
    );
}

#[test]
fn a_communicator_of_which_nothing_is_told_is_all_to_all_and_says_so() {
    let init = |rank: usize| {
        format!(
            "a:{0}:{0} [{rank}] NCCL INFO comm 0xa{rank} rank {rank} nranks 4 cudaDev {rank} busId 1{rank}000 - Init COMPLETE\n",
            10 + rank
        )
    };
    let job = read(&(0..4).map(init).collect::<Vec<_>>());
    let application = job.application(Algorithm::Both).unwrap();
    assert_eq!(application.pattern.edges().len(), 6);
    assert!(
        application.notes[0]
            .to_string()
            .starts_with("assumed: communicator 0xa0: no rings or trees"),
        "{:?}",
        application.notes
    );
}

/// Four ranks of one process each with rings and trees, then so many all-reduces of 4,000 bytes by
/// each, by rank.
fn four(version: Version, calls: usize) -> Vec<String> {
    let chain = (0..4_usize).map(|rank| rank.checked_sub(1)).collect();
    let comm = Comm {
        devices: (0..4).collect(),
        rings: vec![vec![0, 1, 2, 3], vec![0, 3, 2, 1]],
        trees: vec![chain],
    };
    let mut logs: Vec<String> = logs(&[comm], version)
        .into_iter()
        .map(|lines| lines.concat())
        .collect();
    for (rank, log) in logs.iter_mut().enumerate() {
        let (pid, comm) = (100 + rank, 0x7f00_0000 + rank);
        for count in 0..calls {
            writeln!(log, "node0:{pid}:{pid} [{rank}] NCCL INFO AllReduce: opCount {count} {CALL} root 0 comm {comm:#x} [nranks=4]")
                .unwrap();
        }
    }
    logs
}

fn ring(bytes: f64) -> BTreeMap<(u16, u16), f64> {
    [(0, 1), (0, 3), (1, 2), (2, 3)]
        .into_iter()
        .map(|edge| (edge, bytes))
        .collect()
}

#[test]
fn trees_told_in_part_leave_all_bytes_to_the_rings_and_rings_told_in_part_are_all_to_all() {
    let logs = four(Version::V28, 1);
    for algorithm in Algorithm::ALL {
        let application = read(&logs[..1]).application(algorithm).unwrap();
        assert_eq!(edges(&application), ring(3000.0), "{algorithm}");
        assert_eq!(
            notes(&application).contains("its trees are incomplete: rings instead"),
            algorithm != Algorithm::Ring
        );
    }
    // Rank 2 alone tells two hops of each ring of four.
    let application = read(&logs[2..3]).application(Algorithm::Both).unwrap();
    assert_eq!(
        edges(&application).into_values().collect::<Vec<_>>(),
        [2000.0; 6]
    );
    assert!(
        notes(&application).contains("all-to-all instead"),
        "{}",
        notes(&application)
    );
    assert!(
        notes(&application).contains("only 2 of 4 hops of ring 0"),
        "{}",
        notes(&application)
    );
}

#[test]
fn a_run_given_twice_is_counted_once_and_two_runs_are_said() {
    for version in [Version::V28, Version::V2x] {
        let logs = four(version, 3);
        let once = read(&[logs.concat()]).application(Algorithm::Ring).unwrap();
        assert_eq!(edges(&once), ring(9000.0));
        let all = logs.concat();
        for twice in [
            vec![all.clone() + &all],
            vec![all.clone(), logs[0].clone()],
            vec![all.clone(), all.clone() + "end\n"],
        ] {
            let application = read(&twice).application(Algorithm::Ring).unwrap();
            assert_eq!(edges(&application), edges(&once), "{version:?}");
            assert!(
                notes(&application).contains("counted once, as one run given twice"),
                "{}",
                notes(&application)
            );
        }
        let other = all
            .replace("node0:10", "node0:70")
            .replace("0xf6b0", "0xf6c0");
        let own = read(&[all + &other]).application(Algorithm::Ring).unwrap();
        assert_eq!(edges(&own), ring(18_000.0), "{version:?}");
        assert!(
            notes(&own).contains("4 devices are used by more than one process"),
            "{}",
            notes(&own)
        );
    }
}

#[test]
fn a_log_that_ends_early_is_named_after_who_printed_it() {
    let log = four(Version::V28, 0)[0]
        .lines()
        .take_while(|line| !line.contains("COMPLETE"))
        .collect::<Vec<_>>()
        .join("\n");
    let job = read(&[log + "\n"]);
    assert_eq!(job.communicators[0].name, "node0:100:5000");
    assert!(
        notes(&job.application(Algorithm::Ring).unwrap())
            .contains("ends before its line `Init COMPLETE`")
    );
}

#[test]
fn all_reduces_go_where_nccl_says_that_it_sent_them() {
    let of = |line: &str| {
        let mut logs = four(Version::V2x, 1);
        writeln!(logs[0], "node0:100:100 [0] NCCL INFO {line}").unwrap();
        let application = read(&logs).application(Algorithm::Both).unwrap();
        (edges(&application), notes(&application))
    };
    let chain: BTreeMap<_, _> = [(0, 1), (1, 2), (2, 3)]
        .into_iter()
        .map(|edge| (edge, 4000.0))
        .collect();
    for line in [
        "AllReduce: 4000 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}",
        "4000 Bytes -> Algo 0 proto 0 time 9.5",
    ] {
        assert_eq!(of(line), (chain.clone(), String::new()), "{line}");
    }
    assert_eq!(
        of("4000 Bytes -> Algo 1 proto 2 time 34.6"),
        (ring(3000.0), String::new())
    );
    for line in [
        "AllGather: 4000 Bytes -> Algo 1 proto 2 time 3.1",
        "AllReduce: 8 Bytes -> Algo RING proto LL",
    ] {
        let (edges, notes) = of(line);
        assert_eq!(edges[&(0, 1)], 1500.0 + 2000.0, "{line}");
        assert!(notes.contains("half of the bytes over each"), "{notes}");
    }
    let (_, notes) = of("AllReduce: 4000 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..7}");
    assert!(notes.contains("NVLS, which it may use"), "{notes}");
}

#[test]
fn communicators_split_off_another_are_told_apart_by_count_and_color() {
    // Pairs 0-1 and 2-3 of the first split, 0-2 and 1-3 of the second, which all-reduces; in 2.19
    // commId is of the color alone.
    for is_numbered in [false, true] {
        let mut logs = four(Version::V2x, 0);
        for (rank, log) in logs.iter_mut().enumerate() {
            for (count, color, place) in [(1, rank / 2, rank % 2), (2, rank % 2, rank / 2)] {
                let (pid, comm) = (100 + rank, 0x9000_0000 + 0x100 * count + rank);
                let more = if is_numbered {
                    format!("commId 0xabc{color} ")
                } else {
                    String::new()
                };
                let count = if is_numbered {
                    String::new()
                } else {
                    format!("splitCount {count} ")
                };
                let head = format!("node0:{pid}:{pid} [{rank}] NCCL INFO");
                let init = format!(
                    "ncclCommSplit comm {comm:#x} rank {place} nranks 2 cudaDev {rank} nvmlDev {rank} busId {:x} parent {:#x} \
                     {count}color {color} key {rank} {more}",
                    bus(rank),
                    0x7f00_0000 + rank
                );
                writeln!(log, "{head} {init}- Init START").unwrap();
                if place == 0 {
                    writeln!(log, "{head} Channel 00/01 :    0   1").unwrap();
                }
                writeln!(log, "{head} {init}- Init COMPLETE").unwrap();
                if comm & 0x200 != 0 {
                    writeln!(
                        log,
                        "{head} AllReduce: opCount 0 {CALL} root 0 comm {comm:#x} [nranks=2]"
                    )
                    .unwrap();
                }
            }
        }
        let application = read(&logs).application(Algorithm::Both).unwrap();
        assert_eq!(
            edges(&application),
            BTreeMap::from([((0, 2), 4000.0), ((1, 3), 4000.0)]),
            "{is_numbered}"
        );
    }
}

#[test]
fn a_ring_cut_with_dots_gives_the_ranks_before_them() {
    let start =
        "a:1:2 [0] NCCL INFO comm 0xa0 rank 0 nranks 64 cudaDev 0 busId 1b000 commId 0x1 - Init";
    let ranks: String = (0..25).map(|rank| format!(" {rank}")).collect();
    let job = read(&[format!(
        "{start} START\na:1:2 [0] NCCL INFO Channel 00/01 :{ranks} 2...\n{start} COMPLETE\n"
    )]);
    assert_eq!(job.communicators[0].rings[0].hops.len(), 23);
}
