//! Mutated inputs of every command and kind of file, each by a process of its own: none panics, takes seconds or hundreds of
//! megabytes, or says that all is well without an answer. `MAPA_INPUTS` sets how many there are (300 if it is not set), and
//! `PROPTEST_RNG_SEED` which. The message of a failure has the command, and keeps the input.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Folder;

/// Seconds of the processor, and virtual memory in KiB, that a run may take. Virtual memory is more than what is used:
/// threads, tables of the program, and what was freed count.
const LIMITS: (u32, u32) = (4, 700 << 10);

/// What draws numbers: the generator of Marsaglia, which needs no crate.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// What is put into a text: numbers at their limits, quotes, separators, and what opens.
const PIECES: [&str; 30] = [
    "0",
    "-1",
    "1e400",
    "NaN",
    "inf",
    "-inf",
    "18446744073709551616",
    "4294967296",
    "1e-400",
    "0.1",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[2J",
    "\"",
    "'",
    ",",
    "\t",
    "\n",
    "\r\n",
    ";",
    "=",
    "[",
    "{",
    "(",
    "<a>",
    "null",
    "true",
    "../../x",
    "é",
];

/// A mutation of these bytes.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    let (at, other) = (random.below(bytes.len() + 1), random.below(bytes.len() + 1));
    let (low, high) = (at.min(other), at.max(other));
    match random.below(10) {
        0 if !bytes.is_empty() => {
            bytes[at.min(other).min(high.saturating_sub(1))] ^= 1 << random.below(8)
        }
        1 => bytes.truncate(at),
        2 => drop(bytes.drain(low..high)),
        3 => {
            let again = bytes[low..high].to_vec();
            bytes.splice(low..low, again);
        }
        4 => {
            let piece = random.of(&PIECES).as_bytes();
            bytes.splice(at..at, piece.iter().copied());
        }
        5 => {
            // A long run of one piece: deep nesting, wide rows, long fields.
            let piece = random.of(&PIECES).repeat(1 << random.below(17));
            bytes.splice(at..at, piece.bytes());
        }
        6 => {
            let mut lines: Vec<Vec<u8>> =
                bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            lines.swap(a, b);
            *bytes = lines.join(&b'\n');
        }
        7 => {
            let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
            let line = lines[random.below(lines.len())].to_vec();
            let many = [line, vec![b'\n']].concat().repeat(1 << random.below(12));
            bytes.splice(at..at, many);
        }
        8 => {
            // A number in the text becomes another.
            let digits = bytes.iter().skip(at).position(u8::is_ascii_digit);
            if let Some(start) = digits.map(|digits| at + digits) {
                let length = bytes[start..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                let piece = random.of(&PIECES[..10]).bytes();
                bytes.splice(start..start + length, piece);
            }
        }
        _ => bytes.reverse(),
    }
    bytes.truncate(2 << 20);
}

/// A command that reads `FILE`, and an input of the kind.
struct Kind {
    words: &'static str,
    inputs: Vec<Vec<u8>>,
}

fn kinds(folder: &Folder) -> Vec<Kind> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let of = |words, inputs: &[&str]| Kind {
        words,
        inputs: inputs.iter().map(|text| text.as_bytes().to_vec()).collect(),
    };
    // Of the commands' own: what one writes another reads.
    let written = |words: &str, file: &str| {
        let output = folder.run(&words.replace("FILE", file));
        assert!(
            output.status.success(),
            "{words}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        fs::read(folder.at(file)).unwrap()
    };
    let shown = |words: &str| folder.text(words).into_bytes();
    let mut machines: Vec<Vec<u8>> = ["toml", "nccl", "slurm", "json-graph", "dot"]
        .iter()
        .map(|format| shown(&format!("topo --machine dgx-1v --write {format}")))
        .collect();
    machines.push(shown("topo --machine dgx-a100 --write toml"));
    machines.extend(files(&root.join("topologies/tests/corpus"), 40_000));
    machines.extend(files(&root.join("topologies/machines"), 40_000));
    let jobs = vec![
        written(
            "simulate --machine dgx-1v --generate mapa,jobs=8 --save-jobs FILE",
            "jobs.csv",
        ),
        fs::read(root.join("examples/jobs/shared-instances.csv")).unwrap(),
    ];
    let pattern = written(
        "pattern from-parallelism tp=2,pp=2 --bytes tp=2e9,pp=1e8 --output FILE",
        "pattern.toml",
    );
    let tenants = "tenant,does,start_s,end_s,rate,slo_ms\na,serve,0,5,10,20\nb,copy,1,4,,\n";
    let prices = files(&root.join("systems/energy/sched/data"), 100_000);
    let runs = "job,copies,seconds\nA,1,10\nA,2,11\nA,4,22\nA,6,33\n";
    let contention = "job,device,pcie_gbps\na,GPU0,10\nb,GPU1,12.5\n";
    let nccl = "host:1:1 [0] NCCL INFO Channel 00/02 : 0 1 2 3\nhost:1:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x2 count 1024 datatype 7 op 0 root 0 comm 0x3 [nranks=4] stream 0x4\nhost:1:1 [0] NCCL INFO comm 0x3 rank 0 nranks 4 cudaDev 0 busId 1000 - Init COMPLETE\n";
    let nvlink = "GPU 0: Tesla V100 (UUID: GPU-a)\n\t Link 0: Data Tx: 100 KiB\n\t Link 0: Data Rx: 100 KiB\n";
    let nccl_tests = "# nThread 1 nGpus 2\n#  Rank  0 Group  0 Pid 1 on h device  0 [0x06] Tesla\n#  Rank  1 Group  0 Pid 1 on h device  1 [0x07] Tesla\n  1048576  262144  float  sum  -1  100.0  10.0  10.0  0  100.0  10.0  10.0  0\n";
    let measured = "devices,gbps\n0 1,10\n0 1 2,9\n0 3,20\n1 2 3,11\n0 1 2 3,9\n4 5,24\n";
    let sweep = "machines = [\"dgx-1v\"]\npolicies = [\"preserve\"]\ngenerate = [\"mapa,jobs=3\"]\nseeds = \"1..3\"\n";
    let held =
        "{\"held\": [{\"job\": \"a\", \"devices\": [0, 1]}, {\"job\": \"b\", \"devices\": [4]}]}";
    let parted = "version: v1\nmig-configs:\n  all-balanced:\n    - devices: all\n      mig-enabled: true\n      mig-devices:\n        \"1g.5gb\": 2\n        \"2g.10gb\": 1\n";
    let batch = "{\"gpus\": 2}\n{\"gpus\": 4, \"pattern\": \"ring\", \"busy\": [1]}\n{\"pattern\": \"tp=2,pp=2\"}\n";
    let c = "#include <nccl.h>\nint main(){ for (int i=0;i<10;i++) { ncclAllReduce(a,b,1024,ncclFloat,ncclSum,comm,s); MPI_Send(x,1,MPI_INT,1,0,w); } }\n";
    let python = "import torch.distributed as dist\ndef f(x):\n    for i in range(10):\n        dist.all_reduce(x)\n        dist.send(x, dst=1)\n";
    let shell = "#!/bin/sh\ntorchrun --nproc_per_node 4 train.py --tp 2\nmpirun -np 4 ./a.out\n";
    let graph = "4 4\n0 1\n1 2\n2 3\n3 0\n";
    let gavel = "job_id,num_gpus,submit_time,duration\n1,1,0,10\n2,2,5,20\n";
    vec![
        Kind {
            words: "topo --machine FILE",
            inputs: machines.clone(),
        },
        Kind {
            words: "topo --machine FILE --write svg",
            inputs: machines.clone(),
        },
        Kind {
            words: "topo --machine FILE --json",
            inputs: machines.clone(),
        },
        Kind {
            words: "read FILE",
            inputs: machines.clone(),
        },
        Kind {
            words: "allocate --machine FILE --gpus 2 --explain",
            inputs: machines.clone(),
        },
        Kind {
            words: "compare --machine FILE --gpus 2 --json",
            inputs: machines.clone(),
        },
        Kind {
            words: "match --machine FILE --gpus 3 --pattern ring",
            inputs: machines.clone(),
        },
        Kind {
            words: "score --machine FILE --devices 0,1",
            inputs: machines,
        },
        of("allocate --machine dgx-1v --batch FILE", &[batch]),
        Kind {
            words: "allocate --machine dgx-1v --pattern FILE",
            inputs: vec![pattern.clone()],
        },
        Kind {
            words: "pattern show FILE",
            inputs: vec![pattern],
        },
        Kind {
            words: "simulate --machine dgx-1v --jobs FILE",
            inputs: jobs.clone(),
        },
        Kind {
            words: "simulate --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g --jobs FILE --json",
            inputs: jobs,
        },
        of("simulate --machine dgx-1v --trace FILE", &[gavel]),
        of("simulate --scheduler slo --jobs FILE", &[tenants]),
        Kind {
            words: "tune --from FILE --rounds 0",
            inputs: prices,
        },
        of("profile FILE --demand A=10", &[runs]),
        of("contention --machine dgx-a100 --jobs FILE", &[contention]),
        of("pattern from-nccl FILE", &[nccl]),
        of("pattern from-nvlink FILE", &[nvlink]),
        of("measured add FILE --machine dgx-1v", &[nccl_tests]),
        of("fit --machine dgx-1v FILE", &[measured, nccl_tests]),
        of("sweep FILE --list", &[sweep]),
        of("defrag --machine dgx-1v --state FILE --want 2", &[held]),
        of("mig --parted FILE", &[parted]),
        of("pattern from-source FILE.c", &[c]),
        of("pattern from-source FILE.py", &[python]),
        of("pattern from-source FILE.sh", &[shell]),
        of("match --pattern-file FILE --target-file FILE", &[graph]),
        of(
            "score --machine dgx-1v --devices 0,1 --model FILE",
            &["format = \"mapa-coefficients\"\nversion = 1\n"],
        ),
        of(
            "slo replay FILE",
            &["{\"format\":\"mapa-slo-log\",\"version\":1}\n"],
        ),
    ]
}

/// The files below a folder that are not too long, in the order of their names.
fn files(folder: &Path, most: u64) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            all.extend(files(&path, most));
        } else if path.metadata().is_ok_and(|file| file.len() <= most) {
            all.push(fs::read(path).unwrap());
        }
    }
    all
}

#[test]
fn no_mutated_input_ends_a_command_other_than_by_an_answer() {
    let inputs = std::env::var("MAPA_INPUTS").map_or(300, |text| text.parse().unwrap());
    let mut random = Random(mapa_core::testing::seed(47) | 1);
    let folder = Folder::new();
    let kinds = kinds(&folder);
    for round in 0..inputs {
        // Every kind in turn, so that none is left out.
        let kind = &kinds[round % kinds.len()];
        let mut bytes = random.of(&kind.inputs).clone();
        for _ in 0..1 + random.below(4) {
            mutate(&mut random, &mut bytes);
        }
        let word = kind
            .words
            .split(' ')
            .find(|word| word.starts_with("FILE"))
            .unwrap();
        let file = word.replace("FILE", "input");
        folder.write(&file, &bytes);
        let words = kind.words.replace("FILE", "input");
        let (seconds, memory) = LIMITS;
        let output = Command::new("sh")
            .args([
                "-c",
                &format!("ulimit -v {memory} && ulimit -t {seconds} && exec \"$MAPA\" {words}"),
            ])
            .env("MAPA", env!("CARGO_BIN_EXE_mapa-bench"))
            // Memory is asked for in one piece, so that what was asked is what counts.
            .env("MALLOC_ARENA_MAX", "1")
            .env("RAYON_NUM_THREADS", "2")
            .current_dir(folder.root())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_an_answer = match output.status.code() {
            // A stream without a request has no answer.
            Some(0) => !output.stdout.is_empty() || words.contains("--batch"),
            Some(2) => said.starts_with("error: ") || said.contains("\nerror: "),
            Some(3) => !output.stdout.is_empty(),
            _ => false,
        };
        if !is_an_answer {
            let kept = std::env::temp_dir().join(format!("mapa-input-{round}-{file}"));
            fs::write(&kept, &bytes).unwrap();
            panic!(
                "mapa-bench {} (input {}): status {:?}, signal {:?}: {}",
                words,
                kept.display(),
                output.status.code(),
                output.status.signal(),
                said.chars().take(2000).collect::<String>()
            );
        }
    }
}
