//! Mutated inputs of every command and kind of file (300 if `MAPA_INPUTS` is not set).

use std::fs;
use std::path::Path;

use crate::common::Folder;
use crate::mutation::{Kind, files, try_mutated};

fn kinds(folder: &Folder) -> Vec<Kind> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let of = |words: &str, inputs: &[&str]| Kind {
        words: words.to_owned(),
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
    let kinds = vec![
        Kind {
            words: "topo --machine FILE".to_owned(),
            inputs: machines.clone(),
        },
        Kind {
            words: "topo --machine FILE --write svg".to_owned(),
            inputs: machines.clone(),
        },
        Kind {
            words: "topo --machine FILE --json".to_owned(),
            inputs: machines.clone(),
        },
        Kind {
            words: "read FILE".to_owned(),
            inputs: machines.clone(),
        },
        Kind {
            words: "allocate --machine FILE --gpus 2 --explain".to_owned(),
            inputs: machines.clone(),
        },
        Kind {
            words: "compare --machine FILE --gpus 2 --json".to_owned(),
            inputs: machines.clone(),
        },
        Kind {
            words: "match --machine FILE --gpus 3 --pattern ring".to_owned(),
            inputs: machines.clone(),
        },
        Kind {
            words: "score --machine FILE --devices 0,1".to_owned(),
            inputs: machines,
        },
        of("allocate --machine dgx-1v --batch FILE", &[batch]),
        Kind {
            words: "allocate --machine dgx-1v --pattern FILE".to_owned(),
            inputs: vec![pattern.clone()],
        },
        Kind {
            words: "pattern show FILE".to_owned(),
            inputs: vec![pattern],
        },
        Kind {
            words: "simulate --machine dgx-1v --jobs FILE".to_owned(),
            inputs: jobs.clone(),
        },
        Kind {
            words: "simulate --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g --jobs FILE --json"
                .to_owned(),
            inputs: jobs,
        },
        of("simulate --machine dgx-1v --trace FILE", &[gavel]),
        of("simulate --scheduler slo --jobs FILE", &[tenants]),
        Kind {
            words: "tune --from FILE --rounds 0".to_owned(),
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
        of(
            "match --pattern-file FILE --target-file FILE --time-limit 1",
            &[graph],
        ),
        of(
            "score --machine dgx-1v --devices 0,1 --model FILE",
            &["format = \"mapa-coefficients\"\nversion = 1\n"],
        ),
        of(
            "slo replay FILE",
            &["{\"format\":\"mapa-slo-log\",\"version\":1}\n"],
        ),
    ];
    let program = |kind: Kind| Kind {
        words: format!("\"$MAPA\" {}", kind.words),
        ..kind
    };
    kinds.into_iter().map(program).collect()
}

#[test]
fn no_mutated_input_ends_a_command_other_than_by_an_answer() {
    let folder = Folder::new();
    let program = Path::new(env!("CARGO_BIN_EXE_mapa-bench"));
    try_mutated(program, folder.root(), &kinds(&folder), 300, |ended| {
        match ended.status {
            // A stream without a request has no answer.
            Some(0) => ended.has_output || ended.words.contains("--batch"),
            Some(2) => ended.said.starts_with("error: ") || ended.said.contains("\nerror: "),
            Some(3) => ended.has_output,
            _ => false,
        }
    });
}
