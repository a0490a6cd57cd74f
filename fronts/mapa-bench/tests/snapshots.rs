//! What every command prints, kept as snapshots. `INSTA_UPDATE=always` writes them anew; read the
//! difference before it is committed.

use std::path::Path;

use crate::common::Folder;

/// A folder with the files that the commands read.
fn folder() -> Folder {
    let folder = Folder::new();
    let files = [
        (
            "jobs.csv",
            "gpus,duration_s,arrival_s,sensitive,task\n3,17,120,true,VGG-16\n2,90000,130,,a\n9,1,1,false,b\n12,1,2,,c\n4,200000,140,,d\n",
        ),
        ("nothing.txt", "nothing that is known\n"),
        ("ring.txt", "3 3\n0 1\n1 2\n2 0\n"),
        (
            "shared.csv",
            "job,profile,slice\na,ResNet50,1g.1m\nb,Bloom560m,1g.1m\n",
        ),
        (
            "sweep.toml",
            "machines = [\"dgx-1v\"]\npolicies = [\"greedy\", \"auto\"]\ngenerate = [\"mapa,jobs=10\"]\nseeds = \"1..3\"\n",
        ),
        (
            "measured.csv",
            "devices,gbps,label\n0 3,46.4,double link\n0 1,22.9,single link\n0 5,9.1,across sockets\n0 6,9.3,across sockets too\n0 2 3,66.3,three\n0 1 2 3,89.0,four\n0 1 4 5,86.1,four across\n0 1 2,39.7,three of one double\n",
        ),
        (
            "runs.csv",
            "job,slice,copies,runtime_s,tokens\nBloom7b1,1g.1m,1,50.1,1000\nBloom7b1,1g.1m,2,62.7,1000\nBloom7b1,1g.1m,3,94.2,1000\nBloom7b1,2g.2m,1,31.0,1000\n",
        ),
        (
            "topo.txt",
            "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tNV12\tSYS\tSYS\t0-7\t0\nGPU1\tNV12\tX\tSYS\tSYS\t0-7\t0\nGPU2\tSYS\tSYS\tX\tNV12\t8-15\t1\nGPU3\tSYS\tSYS\tNV12\tX\t8-15\t1\n",
        ),
        (
            "pattern.toml",
            "format = \"mapa-pattern\"\nversion = 1\nname = \"exchange\"\nranks = 4\nunit = \"bytes-per-step\"\nedges = [[0, 1, 8.0e9], [1, 2, 1.0e9], [2, 3, 8.0e9], [3, 0, 1.0e9]]\n",
        ),
    ];
    for (name, text) in files {
        folder.write(name, text);
    }
    let patterns = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mapa-patterns/tests");
    for name in [
        "programs/ddp.sbatch",
        "programs/ddp.py",
        "programs/jacobi.c",
        "programs/layer.cpp",
        "logs/tp2-dp2.log",
        "readings/fig-9b.txt",
    ] {
        let from = patterns.join(name);
        let to = folder.at(from.file_name().unwrap().to_str().unwrap());
        std::fs::copy(from, to).unwrap();
    }
    folder
}

/// Every command, its refusals and errors, in the order in which they run: later ones read what
/// earlier ones write. Times that were measured are not among them (`workers`).
const COMMANDS: [(&str, &str); 72] = [
    ("machines", "machines"),
    ("machines-filter", "machines nvl h100"),
    ("machines-none", "machines no-such-words"),
    ("topo", "topo --machine dgx-1v"),
    ("topo-switch", "topo --machine hgx-h100"),
    ("topo-dump", "topo --machine topo.txt"),
    (
        "topo-instances",
        "topo --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g",
    ),
    ("topo-unknown", "topo --machine dgx-1w"),
    ("read", "read jobs.csv nothing.txt topo.txt nowhere"),
    ("match", "match --machine dgx-1v --gpus 3 --list 3 --top 3"),
    (
        "match-limit",
        "match --machine torus:4x4 --gpus 4 --max-nodes 10",
    ),
    (
        "match-files",
        "match --pattern-file ring.txt --target-file ring.txt --list 2",
    ),
    ("allocate", "allocate --machine dgx-1v --gpus 3 --busy 0,1"),
    (
        "allocate-dump",
        "allocate --machine topo.txt --gpus 2 --busy 0",
    ),
    (
        "allocate-insensitive",
        "allocate --machine topo.txt --gpus 2 --busy 0 --sensitive=false",
    ),
    ("allocate-one", "allocate --machine dgx-1v --gpus 1"),
    (
        "allocate-explain",
        "allocate --machine dgx-1v --gpus 4 --busy 0 --explain",
    ),
    ("allocate-switch", "allocate --machine hgx-h100 --gpus 8"),
    (
        "allocate-preserve",
        "allocate --machine dgx-1v --gpus 2 --policy preserve",
    ),
    (
        "allocate-greedy-h100",
        "allocate --machine hgx-h100 --gpus 4 --policy greedy",
    ),
    (
        "allocate-fleet",
        "allocate --machine fleet:2xdgx-1v --gpus 10 --policy lowest-id",
    ),
    (
        "allocate-step-time",
        "allocate --machine dgx-1v --pattern tp=4,pp=2 --policy min-step-time",
    ),
    (
        "allocate-training",
        "allocate --machine dgx-1v --pattern tp=2,pp=2 --busy 0",
    ),
    (
        "allocate-instances",
        "allocate --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g --slice 1g --gpus 2",
    ),
    (
        "allocate-large",
        "allocate --machine gb200-nvl72 --gpus 16 --busy 0,5",
    ),
    (
        "allocate-pcie",
        "allocate --machine l40s-x8 --gpus 2 --busy 0",
    ),
    ("allocate-never", "allocate --machine dgx-1v --gpus 9"),
    (
        "allocate-busy",
        "allocate --machine dgx-1v --gpus 4 --busy 0,1,2,3,4",
    ),
    (
        "allocate-limit",
        "allocate --machine dgx-1v --gpus 5 --max-nodes 3 --policy greedy",
    ),
    (
        "allocate-wrong-model",
        "allocate --machine dgx-1v --gpus 2 --policy greedy --model tree",
    ),
    (
        "allocate-wrong-policy",
        "allocate --machine dgx-1v --gpus 2 --policy presrve",
    ),
    ("compare", "compare --machine dgx-1v --gpus 3 --busy 0"),
    (
        "compare-model",
        "compare --machine dgx-1v --gpus 3 --sensitive --model tree",
    ),
    (
        "compare-training",
        "compare --machine dgx-1v --pattern tp=2,pp=2",
    ),
    ("compare-h100", "compare --machine hgx-h100 --gpus 8"),
    (
        "compare-busy",
        "compare --machine dgx-1v --gpus 4 --busy 0,1,2,3,4",
    ),
    (
        "compare-instances",
        "compare --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g --slice 1g --gpus 2",
    ),
    ("score", "score --machine dgx-1v --devices 0,1,2"),
    (
        "score-rings",
        "score --machine dgx-1v --devices 0,1,2 --model ring-packing",
    ),
    (
        "score-trees",
        "score --machine dgx-1v --devices 0,1,2 --model tree",
    ),
    (
        "score-all-to-all",
        "score --machine dgx-1v --devices 0,1,2,3 --model all-to-all",
    ),
    ("score-h100", "score --machine hgx-h100 --devices 0,1,2,3"),
    ("score-one", "score --machine dgx-1v --devices 0"),
    (
        "fit",
        "fit --machine dgx-1v measured.csv --terms linear --output model.toml",
    ),
    ("fit-too-few", "fit --machine dgx-1v measured.csv"),
    (
        "allocate-fitted",
        "allocate --machine dgx-1v --gpus 4 --model model.toml",
    ),
    ("mig", "mig"),
    ("mig-gpu", "mig --gpu a100-40gb"),
    ("mig-fit", "mig --gpu a100-40gb --fit 3g,2g,1g,1g --layouts"),
    ("mig-no-fit", "mig --gpu a100-40gb --fit 3g,3g,1g"),
    ("pattern-parallelism", "pattern from-parallelism tp=2,pp=2"),
    ("pattern-shape", "pattern show ring --gpus 4"),
    ("pattern-file", "pattern show pattern.toml"),
    (
        "pattern-source",
        "pattern from-source layer.cpp jacobi.c --gpus 4",
    ),
    (
        "pattern-launch",
        "pattern from-source ddp.sbatch --output job.toml",
    ),
    (
        "allocate-source",
        "allocate --machine dgx-1v --pattern job.toml",
    ),
    ("pattern-nccl", "pattern from-nccl tp2-dp2.log --steps 2"),
    ("pattern-nvlink", "pattern from-nvlink fig-9b.txt"),
    ("sensitivity-published", "sensitivity --published"),
    (
        "sensitivity",
        "sensitivity --fast-seconds 10 --slow-seconds 14",
    ),
    (
        "simulate",
        "simulate --machine dgx-1v --generate mapa,jobs=40",
    ),
    (
        "simulate-paper",
        "simulate --machine dgx-1v --generate mapa,jobs=40 --policy paper,auto",
    ),
    (
        "simulate-rejected",
        "simulate --machine dgx-1v --jobs jobs.csv --policy auto,preserve",
    ),
    (
        "simulate-servers",
        "simulate --servers 2xdgx-1v,dgx-2 --network 25 --jobs jobs.csv",
    ),
    ("sweep-list", "sweep sweep.toml --list"),
    ("sweep", "sweep sweep.toml --into cells"),
    (
        "defrag",
        "defrag --machine dgx-1v --job a=0,5 --job b=3 --want 4",
    ),
    (
        "contention",
        "contention --machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --jobs shared.csv",
    ),
    ("profile", "profile runs.csv --demand Bloom7b1=17.65"),
    ("wrong-command", "alocate --machine dgx-1v"),
    ("help", "-h"),
    ("help-allocate", "allocate -h"),
];

// The rows of all systems are in what is compared.
#[cfg(feature = "all-systems")]
#[test]
fn what_every_command_prints_is_kept() {
    let folder = folder();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, words) in COMMANDS {
            let output = folder.run(words);
            let [out, err] =
                [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            let code = output.status.code().unwrap();
            let mut text = format!("$ mapa-bench {words}\n{out}");
            if !err.is_empty() {
                text += &format!("--- standard error\n{err}");
            }
            if code != 0 {
                text += &format!("--- exit status {code}\n");
            }
            insta::assert_snapshot!(name, text);
        }
    });
}
