//! Programs are read as a programmer reads them: each call that communicates is found and comes to
//! its graph.

use mapa_core::Pattern;
use mapa_patterns::{
    Algorithm, Communication, Library, NoteKind, Proposal, Source, likeness, read_pattern,
    write_pattern,
};
use proptest::prelude::*;

const LAYER: &str = include_str!("programs/layer.cpp");
const JACOBI: &str = include_str!("programs/jacobi.c");
const LAUNCH: &str = include_str!("programs/launch.py");
const SHIFT: &str = include_str!("programs/shift.cu");
const RING: &str = include_str!("programs/ring.py");

/// What is found in one file: line, kind.
fn found(file: &str, text: &str) -> Vec<(usize, Communication)> {
    Source::scan([(file, text)])
        .findings()
        .iter()
        .map(|found| (found.line, found.kind))
        .collect()
}

fn propose(file: &str, text: &str, ranks: impl Into<Option<usize>>) -> Proposal {
    Source::scan([(file, text)])
        .propose(ranks.into(), Algorithm::Ring)
        .unwrap()
}

/// The pairs that talk.
fn pairs(proposal: &Proposal) -> Vec<(u16, u16)> {
    let mut pairs: Vec<_> = proposal
        .application
        .pattern
        .edges()
        .iter()
        .map(|edge| (edge.a, edge.b))
        .collect();
    pairs.dedup();
    pairs
}

fn of(pattern: &Pattern) -> Vec<(u16, u16)> {
    let mut pairs: Vec<_> = pattern
        .edges()
        .iter()
        .map(|edge| (edge.a, edge.b))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// A function of C++ around statements.
fn body(statements: &str) -> String {
    format!("void f() {{\n{statements}\n}}\n")
}

/// The pairs of statements of MPI in C, over four ranks, with `rank` and `size` known.
fn mpi(statements: &str) -> Proposal {
    let start = "int rank, size;\nMPI_Comm_rank(MPI_COMM_WORLD, &rank);\nMPI_Comm_size(MPI_COMM_WORLD, &size);\n";
    propose("x.c", &body(&format!("{start}{statements}")), 4)
}

/// The pairs of statements of Python with torch.distributed, over four ranks.
fn torch(statements: &str) -> Proposal {
    propose(
        "x.py",
        &format!("import torch.distributed as dist\n{statements}\n"),
        4,
    )
}

fn is_open(proposal: &Proposal) -> bool {
    let kinds: Vec<_> = proposal
        .application
        .notes
        .iter()
        .map(|note| note.kind)
        .collect();
    let is_all = pairs(proposal) == of(&Pattern::all_to_all(proposal.application.pattern.len()));
    is_all && kinds.contains(&NoteKind::Undecided) && kinds.contains(&NoteKind::Assumed)
}

#[test]
fn the_papers_layer_is_found_through_its_macro_and_comes_to_a_ring() {
    let source = Source::scan([("src/layer.cpp", LAYER)]);
    let [found] = source.findings() else {
        panic!("{:?}", source.findings())
    };
    assert_eq!(
        (found.place().as_str(), found.call.as_str()),
        ("src/layer.cpp:10", "ncclAllReduce")
    );
    assert_eq!(
        (found.library, found.kind),
        (Library::Nccl, Communication::AllReduce)
    );
    assert!(source.notes().is_empty(), "{:?}", source.notes());
    for (algorithm, pattern) in [
        (Algorithm::Ring, Pattern::ring(5)),
        (Algorithm::Tree, Pattern::binary_tree(5)),
        (Algorithm::Both, Pattern::ring_tree(5)),
    ] {
        let proposal = source.propose(Some(5), algorithm).unwrap();
        assert_eq!(
            of(&proposal.application.pattern),
            of(&pattern),
            "{algorithm}"
        );
        assert!(proposal.application.notes.is_empty());
    }
    let error = source
        .propose(None, Algorithm::Ring)
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(
        error,
        @"the source does not say how many ranks there are: expected their number (--gpus K)"
    );
}

#[test]
fn a_stencil_over_mpi_is_a_chain() {
    let proposal = propose("jacobi.c", JACOBI, 6);
    assert_eq!(of(&proposal.application.pattern), of(&Pattern::chain(6)));
    assert_eq!(
        likeness(&proposal.application.pattern)
            .map(|shape| shape.to_string())
            .as_deref(),
        Some("chain")
    );
    assert!(
        proposal.application.notes.is_empty(),
        "{:?}",
        proposal.application.notes
    );
    let kinds = [
        (17, Communication::SendReceive),
        (19, Communication::SendReceive),
        (23, Communication::Barrier),
    ];
    assert_eq!(found("jacobi.c", JACOBI), kinds);
}

#[test]
fn copies_between_devices_are_edges_between_these() {
    let proposal = propose("shift.cu", SHIFT, 4);
    assert_eq!(of(&proposal.application.pattern), of(&Pattern::chain(4)));
    let literal = body("cudaMemcpyPeer(a, 3, b, 1, n);\nhipMemcpyPeer(a, 0, b, 1, n);");
    let proposal = propose("x.cu", &literal, None);
    assert_eq!(
        (proposal.application.pattern.len(), pairs(&proposal)),
        (4, vec![(0, 1), (1, 3)])
    );
    let access = body(
        "for (int i = 0; i < 3; i++) {\ncudaSetDevice(i);\ncudaDeviceEnablePeerAccess(i + 1, 0);\n}",
    );
    assert_eq!(pairs(&propose("x.cu", &access, 4)), of(&Pattern::chain(4)));
    let by_members = body(
        "cudaMemcpy3DPeerParms p = {0};\np.srcDevice = 0;\np.dstDevice = 2;\ncudaMemcpy3DPeer(&p);",
    );
    assert_eq!(pairs(&propose("x.cu", &by_members, 3)), [(0, 2)]);
    assert!(is_open(&propose(
        "x.cu",
        &body("cuMemcpyPeer(a, c0, b, c1, n);"),
        3
    )));
}

#[test]
fn sends_of_nccl_go_to_their_peer_and_each_communicator_of_a_process_is_a_rank() {
    let ring = "int nDev = 4;\nncclComm_t comms[4];\nncclCommInitAll(comms, nDev, devs);\nncclGroupStart();\n\
        for (int i = 0; i < nDev; ++i) {\nNCCLCHECK(ncclSend(s[i], n, ncclFloat, (i + 1) % nDev, comms[i], t[i]));\n\
        NCCLCHECK(ncclRecv(r[i], n, ncclFloat, (i - 1 + nDev) % nDev, comms[i], t[i]));\n}\nncclGroupEnd();";
    let proposal = propose("x.cu", &body(ring), None);
    assert_eq!(pairs(&proposal), of(&Pattern::ring(4)));
    let all = "int rank, n;\nncclCommUserRank(comm, &rank);\nncclCommCount(comm, &n);\n\
        for (int r = 0; r < n; r++) { ncclSend(s, c, ncclInt8, r, comm, t); ncclRecv(d, c, ncclInt8, r, comm, t); }";
    let proposal = propose("x.cu", &body(all), 4);
    assert_eq!(pairs(&proposal), of(&Pattern::all_to_all(4)));
    assert!(proposal.application.notes.is_empty());
}

#[test]
fn every_collective_has_its_graph() {
    let star = vec![(0, 2), (1, 2), (2, 3)];
    let (ring, all) = (of(&Pattern::ring(4)), of(&Pattern::all_to_all(4)));
    for (call, kind, edges) in [
        (
            "ncclBroadcast(s, r, n, ncclFloat, 0, comm, st)",
            Communication::Broadcast,
            &ring,
        ),
        (
            "ncclBcast(s, n, ncclFloat, root, comm, st)",
            Communication::Broadcast,
            &ring,
        ),
        (
            "ncclReduce(s, r, n, ncclFloat, ncclSum, 0, comm, st)",
            Communication::Reduce,
            &ring,
        ),
        (
            "ncclAllGather(s, r, n, ncclFloat, comm, st)",
            Communication::AllGather,
            &ring,
        ),
        (
            "ncclReduceScatter(s, r, n, ncclFloat, ncclSum, comm, st)",
            Communication::ReduceScatter,
            &ring,
        ),
        (
            "ncclAlltoAll(s, r, n, ncclFloat, comm, st)",
            Communication::AllToAll,
            &all,
        ),
        (
            "ncclGather(s, r, n, ncclFloat, 2, comm, st)",
            Communication::Gather,
            &star,
        ),
        (
            "MPI_Allreduce(s, r, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD)",
            Communication::AllReduce,
            &ring,
        ),
        (
            "MPI_Alltoall(s, n, MPI_INT, r, n, MPI_INT, MPI_COMM_WORLD)",
            Communication::AllToAll,
            &all,
        ),
        (
            "MPI_Scatter(s, n, MPI_INT, r, n, MPI_INT, 2, MPI_COMM_WORLD)",
            Communication::Scatter,
            &star,
        ),
        (
            "MPI_Bcast(s, n, MPI_INT, 0, MPI_COMM_WORLD)",
            Communication::Broadcast,
            &of(&Pattern::binary_tree(4)),
        ),
    ] {
        let text = body(&format!("{call};"));
        assert_eq!(found("x.cpp", &text), [(2, kind)], "{call}");
        assert_eq!(
            of(&propose("x.cpp", &text, 4).application.pattern),
            *edges,
            "{call}"
        );
    }
    assert!(is_open(&propose(
        "x.c",
        &body("MPI_Gather(s, n, MPI_INT, r, n, MPI_INT, root, comm);"),
        4
    )));
}

#[test]
fn partners_are_worked_out_for_each_rank() {
    let send = |peer: &str| {
        pairs(&mpi(&format!(
            "MPI_Send(b, n, MPI_INT, {peer}, 0, MPI_COMM_WORLD);"
        )))
    };
    assert_eq!(send("rank + 1"), of(&Pattern::chain(4)));
    assert_eq!(send("(rank + 1) % size"), of(&Pattern::ring(4)));
    assert_eq!(send("rank ^ 1"), [(0, 1), (2, 3)]);
    assert_eq!(send("rank == 0 ? 3 : MPI_PROC_NULL"), [(0, 3)]);
    assert_eq!(send("0"), of(&Pattern::star(4)));
    let guarded = "if (rank == 0) { MPI_Send(b, n, MPI_INT, 2, 0, MPI_COMM_WORLD); }\n\
        else if (rank == 2) { MPI_Recv(b, n, MPI_INT, 0, 0, MPI_COMM_WORLD, &s); }\n\
        else { MPI_Send(b, n, MPI_INT, 3, 0, MPI_COMM_WORLD); }";
    assert_eq!(pairs(&mpi(guarded)), [(0, 2), (1, 3)]);
    let workers = "if (rank == 0) { for (int i = 1; i < size; i++) MPI_Recv(b, n, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &s); }\n\
        else MPI_Send(b, n, MPI_INT, 0, 0, MPI_COMM_WORLD);";
    assert_eq!(pairs(&mpi(workers)), of(&Pattern::star(4)));
}

#[test]
fn partners_that_cannot_be_worked_out_could_be_anyone() {
    let send = |before: &str| {
        mpi(&format!(
            "{before}\nMPI_Send(b, n, MPI_INT, peer, 0, MPI_COMM_WORLD);"
        ))
    };
    for before in [
        "int peer = choose(rank);",
        "int peer = rank + 1;\nif (is_odd) peer = rank - 1;",
        "int peer = 0;\nwhile (busy()) { peer = peer + 1; }",
        "int peer = 0;\nscanf(\"%d\", &peer);",
        "MPI_Status status;\nint peer = status.MPI_SOURCE;",
    ] {
        assert!(is_open(&send(before)), "{before}");
    }
    let proposal = send("int peer = choose(rank);");
    assert!(!proposal.decisions[0].is_decided);
    assert_eq!(proposal.application.notes[0].place, "x.c:6");
    let in_loop = "int peer = rank + 1;\nfor (;;) {\nMPI_Send(b, n, MPI_INT, peer, 0, MPI_COMM_WORLD);\npeer = next(peer);\n}";
    assert!(is_open(&mpi(in_loop)));
    let only_received = "MPI_Recv(b, n, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &s);";
    assert!(is_open(&mpi(only_received)));
    let split = "MPI_Comm half;\nMPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);\nMPI_Allreduce(s, r, n, MPI_INT, MPI_SUM, half);";
    assert!(is_open(&mpi(split)));
}

#[test]
fn grids_are_grids() {
    let grid = |periods: &str| {
        format!(
            "int dims[2] = {{2, 3}}, periods[2] = {periods};\nint up, down;\nMPI_Comm cart;\n\
             MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);\nMPI_Cart_shift(cart, 1, 1, &up, &down);\n\
             MPI_Sendrecv(a, n, MPI_INT, up, 0, b, n, MPI_INT, down, 0, cart, &s);"
        )
    };
    let open = vec![(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)];
    let proposal = propose("x.c", &body(&grid("{0, 0}")), None);
    assert_eq!(pairs(&proposal), open);
    assert!(
        proposal.application.notes.is_empty(),
        "{:?}",
        proposal.application.notes
    );
    let torus = [open, vec![(0, 2), (3, 5)]].concat();
    let mut closed = pairs(&propose("x.c", &body(&grid("{0, 1}")), None));
    closed.sort_unstable();
    assert_eq!(closed, {
        let mut torus = torus;
        torus.sort_unstable();
        torus
    });
    let balanced = "int size;\nMPI_Comm_size(MPI_COMM_WORLD, &size);\nint dims[2] = {0, 0}, periods[2] = {0, 0};\n\
        MPI_Dims_create(size, 2, dims);\nMPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);";
    assert_eq!(
        pairs(&propose("x.c", &body(balanced), 4)),
        [(0, 1), (0, 2), (1, 3), (2, 3)]
    );
    let python = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\ncart = comm.Create_cart([4], periods=[True])\n\
        left, right = cart.Shift(0, 1)\ncart.Sendrecv(a, dest=right, recvbuf=b, source=left)\n";
    let proposal = propose("x.py", python, None);
    assert_eq!(pairs(&proposal), [(0, 1), (0, 3), (1, 2), (2, 3)]);
    assert!(
        proposal.application.notes.is_empty(),
        "{:?}",
        proposal.application.notes
    );
}

#[test]
fn comments_strings_and_dropped_code_are_no_calls_but_macros_in_use_are() {
    for text in [
        "// ncclAllReduce(a, b, n, t, op, comm, s);",
        "/* MPI_Send(b, n, MPI_INT, 1, 0, MPI_COMM_WORLD); */",
        "puts(\"ncclAllReduce(a, b, n, t, op, comm, s)\");",
        "\n#if 0\nMPI_Barrier(MPI_COMM_WORLD);\n#endif\n",
        "\n#if 1\nint x;\n#else\nMPI_Barrier(MPI_COMM_WORLD);\n#endif\n",
        "\n#define SUM(x) ncclAllReduce(x, x, 1, t, op, comm, s)\n",
        "int ncclAllReduce(int);",
    ] {
        assert_eq!(found("x.cpp", &body(text)), [], "{text}");
    }
    for text in [
        "# dist.all_reduce(x)",
        "'dist.all_reduce(x)'",
        "print('use --tensor-model-parallel-size 4')",
    ] {
        assert_eq!(
            found(
                "x.py",
                &format!("import torch.distributed as dist\n{text}\n")
            ),
            [],
            "{text}"
        );
    }
    let used = "#define SUM(x) CHECK(ncclAllReduce(x, x, 1, t, op, comm, s))\n#define all ncclAllGather\n\
        void f() { SUM(a); all(a, b, n, t, comm, s); }\n";
    assert_eq!(
        found("x.cpp", used),
        [(1, Communication::AllReduce), (3, Communication::AllGather)]
    );
    assert_eq!(
        found(
            "x.cpp",
            &body("\n#if 0\nint x;\n#else\nMPI_Barrier(c);\n#endif\n")
        ),
        [(6, Communication::Barrier)]
    );
    let never = mpi("if (0) { MPI_Send(b, n, MPI_INT, unknown(), 0, MPI_COMM_WORLD); }");
    assert_eq!(
        (never.decisions[0].what.as_str(), pairs(&never)),
        ("never runs", vec![])
    );
}

#[test]
fn torch_is_known_by_what_was_imported() {
    for text in [
        "import torch.distributed as dist\ndist.all_reduce(x)",
        "import torch\ntorch.distributed.all_reduce(x)",
        "from torch import distributed as d\nd.all_reduce(x)",
        "from torch.distributed import all_reduce as together\ntogether(x)",
        "from torch.distributed import *\nall_reduce(x)",
        "import deepspeed.comm as dist\ndist.all_reduce(x)",
    ] {
        assert_eq!(
            found("x.py", text),
            [(2, Communication::AllReduce)],
            "{text}"
        );
    }
    assert_eq!(
        found(
            "x.py",
            "from functools import reduce\nreduce(f, xs)\nall_reduce(x)\nsocket.send(x, 1)\n"
        ),
        []
    );
    assert_eq!(pairs(&torch("dist.broadcast(x, 0)")), of(&Pattern::ring(4)));
    assert_eq!(
        pairs(&torch(
            "if dist.get_rank() == 0:\n    dist.send(x, dst=3)\nelse:\n    dist.recv(x, src=0)"
        )),
        of(&Pattern::star(4))
    );
    let guarded = "import os\nrank = int(os.environ['RANK'])\nif rank == 0:\n    dist.send(x, 2)\nelif rank == 2:\n    dist.recv(x, 0)";
    assert_eq!(pairs(&torch(guarded)), [(0, 2)]);
    assert_eq!(
        pairs(&torch(
            "def run(rank, size):\n    dist.send(x, (rank + 1) % size)"
        )),
        of(&Pattern::ring(4))
    );
    assert!(is_open(&torch("dist.all_reduce(x, group=some_group())")));
    assert!(is_open(&torch("def run(peer):\n    dist.send(x, peer)")));
    let proposal = propose("ring.py", RING, 5);
    assert_eq!(pairs(&proposal), of(&Pattern::ring(5)));
    assert!(
        proposal.application.notes.is_empty(),
        "{:?}",
        proposal.application.notes
    );
}

#[test]
fn a_launchers_degrees_become_a_job() {
    let proposal = propose("launch.py", LAUNCH, None);
    let job = proposal.application.parallelism.map(|job| job.to_string());
    assert_eq!(job.as_deref(), Some("tp=2,pp=2,dp=2"));
    assert_eq!(proposal.application.pattern.len(), 8);
    for (text, job) in [
        (
            "mpu.initialize_model_parallel(tensor_model_parallel_size=2, pipeline_model_parallel_size=4)",
            "tp=2,pp=4,dp=1",
        ),
        ("initialize_model_parallel(4, 2)", "tp=4,pp=2,dp=1"),
        (
            "from vllm import LLM\nllm = LLM(model='m', tensor_parallel_size=8)",
            "tp=8,pp=1,dp=1",
        ),
        (
            "from deepspeed.pipe import PipelineModule\nm = PipelineModule(layers=l, num_stages=2)",
            "tp=1,pp=2,dp=4",
        ),
        (
            "parser.add_argument('--tensor-model-parallel-size', type=int, default=2)",
            "tp=2,pp=1,dp=4",
        ),
        (
            "os.system(f'torchrun train.py --tensor-parallel-size 4')",
            "tp=4,pp=1,dp=2",
        ),
    ] {
        let proposal = propose("x.py", text, 8);
        let own = proposal.application.parallelism.map(|job| job.to_string());
        assert_eq!(
            own.as_deref(),
            Some(job),
            "{text}: {:?}",
            proposal.application.notes
        );
    }
    let contrary = "initialize_model_parallel(4)\ninitialize_model_parallel(2)\n";
    let proposal = propose("x.py", contrary, 8);
    assert!(is_open(&proposal));
    assert!(
        proposal.application.notes[0]
            .what
            .contains("2 (x.py:2), 4 (x.py:1)"),
        "{:?}",
        proposal.application.notes
    );
    assert!(is_open(&propose(
        "x.py",
        "initialize_model_parallel(args.tp)",
        8
    )));
    assert!(is_open(&propose("x.py", "initialize_model_parallel(3)", 8)));
    for (text, degrees) in [
        (
            "initialize_model_parallel(expert_model_parallel_size=2)",
            "dp=8,ep=2",
        ),
        (
            "initialize_model_parallel(2, context_parallel_size=2)",
            "tp=2,cp=2,dp=2",
        ),
    ] {
        let job: mapa_core::Parallelism = degrees.parse().unwrap();
        let proposal = propose("x.py", text, 8);
        assert_eq!(
            of(&proposal.application.pattern),
            of(&job.pattern()),
            "{text}"
        );
        assert_eq!(proposal.application.parallelism, Some(job), "{text}");
    }
}

#[test]
fn meshes_and_copies_of_models_are_rings() {
    let mesh = "from torch.distributed.device_mesh import init_device_mesh\n\
        mesh = init_device_mesh('cuda', (2, 4), mesh_dim_names=('dp', 'tp'))\n";
    let proposal = propose("x.py", mesh, None);
    let job: mapa_core::Parallelism = "tp=4,dp=2".parse().unwrap();
    assert_eq!(of(&proposal.application.pattern), of(&job.pattern()));
    assert!(is_open(&propose("x.py", mesh, 6)));
    for text in [
        "from torch.nn.parallel import DistributedDataParallel as DDP\nDDP(model)",
        "from torch.distributed.fsdp import fully_shard\nfully_shard(model)",
        "import deepspeed\nengine = deepspeed.initialize(model=m)",
        "config = {'zero_optimization': {'stage': 3}}",
    ] {
        let proposal = propose("x.py", text, 4);
        assert_eq!(pairs(&proposal), of(&Pattern::ring(4)), "{text}");
    }
}

#[test]
fn several_files_unite_and_broken_ones_are_noted() {
    let source = Source::scan([
        ("a.cu", SHIFT),
        ("b.cpp", LAYER),
        ("c.txt", ""),
        ("d.c", "void f( { MPI_Barrier(c); ) }\n\""),
    ]);
    let application = source
        .propose(Some(4), Algorithm::Ring)
        .unwrap()
        .application;
    // Calls may be missing, so it is all-to-all; without the broken file it is a ring.
    assert_eq!(of(&application.pattern), of(&Pattern::all_to_all(4)));
    let sound = Source::scan([("a.cu", SHIFT), ("b.cpp", LAYER)])
        .propose(Some(4), Algorithm::Ring)
        .unwrap();
    assert_eq!(of(&sound.application.pattern), of(&Pattern::ring(4)));
    let places: Vec<_> = source
        .notes()
        .iter()
        .map(|note| note.place.as_str())
        .collect();
    assert_eq!(places, ["c.txt", "d.c:1"]);
    let told = "void f() { ncclCommInitAll(comms, 4, devs); ncclCommInitAll(more, 8, devs); }";
    let proposal = propose("x.cu", told, None);
    assert_eq!(proposal.application.pattern.len(), 8);
    assert!(
        proposal.application.notes[0]
            .what
            .contains("4 (x.cu:1), 8 (x.cu:1)")
    );
}

#[test]
fn nothing_is_too_deep() {
    let deep = mapa_core::testing::scaled(100_000).max(25_000) as usize;
    for (file, open, close) in [
        ("x.c", "(", ")"),
        ("x.cu", "{", "}"),
        ("x.py", "[", "]"),
        ("x.py", "f(", ")"),
    ] {
        for text in [
            open.repeat(deep),
            format!("x = {}1{}", open.repeat(deep), close.repeat(deep)),
        ] {
            let source = Source::scan([(file, text.as_str())]);
            let _ = source.propose(Some(4), Algorithm::Ring);
        }
    }
    let sums = (0..200).map(|_| "x = x + x;\n").collect::<String>();
    assert!(is_open(&mpi(&format!(
        "int x = 1;\n{sums}MPI_Send(b, n, MPI_INT, x, 0, MPI_COMM_WORLD);"
    ))));
}

/// The pairs of copies of CUDA over so many devices, with `d`, `n` and `size` as given before.
fn copies(statements: &str, devices: usize) -> Proposal {
    propose(
        "x.cu",
        &body(&format!("int n = {devices};\n{statements}")),
        devices,
    )
}

#[test]
fn loops_are_run_however_they_count() {
    let copy = |head: &str| {
        pairs(&copies(
            &format!("{head} cudaMemcpyPeer(d, i + 1, d, i, b);"),
            4,
        ))
    };
    for head in [
        "for (int i = 0; i + 1 < n; i++)",
        "for (int i = 0; n > i + 1; ++i)",
        "for (int i = 0, j = 0; i < n - 1; i += 1, j--)",
        "for (int i = n - 2; i >= 0; i = i - 1)",
        "int i; for (i = 0; i != n - 1; i++)",
    ] {
        assert_eq!(copy(head), of(&Pattern::chain(4)), "{head}");
    }
    let halves = "for (int s = n / 2; s > 0; s /= 2)\nfor (int i = 0; i < s; i++) cudaMemcpyPeer(d, i, d, i + s, b);";
    assert_eq!(pairs(&copies(halves, 4)), [(0, 1), (0, 2), (1, 3)]);
    let cube: Vec<_> = (0..8)
        .flat_map(|a| [1, 2, 4].map(|bit| (a, a ^ bit)))
        .filter(|(a, b)| a < b)
        .collect();
    let start = "int rank, size;\nMPI_Comm_rank(MPI_COMM_WORLD, &rank);\nMPI_Comm_size(MPI_COMM_WORLD, &size);\n";
    let send = "int p = rank ^ mask;\nMPI_Send(b, n, MPI_INT, p, 0, MPI_COMM_WORLD);\n";
    for lines in [
        format!("for (int mask = 1; mask < size; mask <<= 1) {{\n{send}}}"),
        format!("for (int mask = size >> 1; mask; mask >>= 1) {{\n{send}}}"),
        format!("int mask = 1;\nwhile (mask < size) {{\n{send}mask *= 2;\n}}"),
    ] {
        let proposal = propose("x.c", &body(&format!("{start}{lines}")), 8);
        assert_eq!(pairs(&proposal), cube, "{lines}");
        assert!(proposal.application.notes.is_empty(), "{lines}");
    }
    assert_eq!(
        pairs(&torch(
            "for i in range(3, 0, -1):\n    dist.send(x, i - 1) if dist.get_rank() == i else None"
        )),
        {
            of(&Pattern::all_to_all(4))
                .into_iter()
                .filter(|(a, _)| *a < 3)
                .collect::<Vec<_>>()
        }
    );
    assert_eq!(
        pairs(&torch(
            "d = 1\nr = dist.get_rank()\nwhile d < 4:\n    dist.send(x, r ^ d)\n    d *= 2"
        ))
        .len(),
        4
    );
}

#[test]
fn what_a_loop_changes_in_other_ways_is_unknown() {
    for lines in [
        "int i = 0, j = 1; for (; i < n; i++, j--) cudaMemcpyPeer(d, j, d, 0, b);",
        "for (int i = 0, j = 2; i < n; i++, j--) cudaMemcpyPeer(d, j, d, 0, b);",
        "for (int i = 0, j = 2; i < n; i++, j = 3) cudaMemcpyPeer(d, j, d, 0, b);",
        "for (int i = 0; i < n; i++) { if (odd(i)) i++; cudaMemcpyPeer(d, i, d, 0, b); }",
        "int i = 4; while (i-- > 1) cudaMemcpyPeer(d, i, d, 0, b);",
        "int i = 4; do cudaMemcpyPeer(d, i, d, 0, b); while (--i > 1);",
        "int i = 1; while (i < n) { i++; cudaMemcpyPeer(d, i - 1, d, 0, b); }",
        "int i = 1; while (i < n) { if (odd(i)) continue; cudaMemcpyPeer(d, i, d, 0, b); i++; }",
        "int p = 1; for (int i = 0; i < m; i++) p = 2; cudaMemcpyPeer(d, p, d, 0, b);",
        "int p = 1; for (int i = 0; i < n; i++) { if (i == 0) break; p = 2; } cudaMemcpyPeer(d, p, d, 0, b);",
        "int i; for (i = 0; i < n; i++) { } cudaMemcpyPeer(d, i, d, 0, b);",
        "int p = 1; odd(n) && (p = 2); cudaMemcpyPeer(d, p, d, 0, b);",
        "int p = 1; odd(n) ? (p = 2) : (p = 3); cudaMemcpyPeer(d, p, d, 0, b);",
        "int p = 1; switch (n) { case 3: p = 2; } cudaMemcpyPeer(d, p, d, 0, b);",
        "int p = 1; try { run(); } catch (...) { p = 2; } cudaMemcpyPeer(d, p, d, 0, b);",
        "int p = 1; for (int p : list) cudaMemcpyPeer(d, p, d, 0, b);",
        "for (int i = 0; i < 5000; i++) if (i > 4500) cudaMemcpyPeer(d, i - 4500, d, 0, b);",
    ] {
        let proposal = copies(lines, 4);
        assert!(is_open(&proposal), "{lines}: {:?}", pairs(&proposal));
    }
    for lines in [
        "p = 1\nfor q in peers:\n    p = 2\ndist.send(x, p)",
        "p = 1\nfor q in peers:\n    pass\nelse:\n    p = 2\ndist.send(x, p)",
        "p = 1\n[dist.send(x, p) for p in peers]",
        "p = 1\nf = lambda p: dist.send(x, p)",
        "p = 1\ndef f():\n    global p\n    p = 2\ndist.send(x, p)",
    ] {
        assert!(
            is_open(&torch(lines)),
            "{lines}: {:?}",
            pairs(&torch(lines))
        );
    }
}

#[test]
fn comprehensions_over_ranges_are_loops_and_known_breaks_end_them() {
    let star = "comm = MPI.COMM_WORLD\nif comm.Get_rank() == 0:\n    \
        x = [comm.recv(source=i) for i in range(1, comm.Get_size()) if i != 2]\n";
    assert_eq!(
        pairs(&propose(
            "x.py",
            &format!("from mpi4py import MPI\n{star}"),
            4
        )),
        [(0, 1), (0, 3)]
    );
    let tree = "for (int d = 1; d < size; d *= 2) {\nif (rank & d) { MPI_Send(b, n, MPI_INT, rank - d, 0, MPI_COMM_WORLD); \
        break; }\nelse MPI_Recv(b, n, MPI_INT, rank + d, 0, MPI_COMM_WORLD, &s);\n}";
    assert_eq!(pairs(&mpi(tree)), [(0, 1), (0, 2), (2, 3)]);
}

#[test]
fn ranks_that_there_are_not_are_named() {
    let proposal = mpi("if (rank == 0) MPI_Send(b, n, MPI_INT, 12, 0, MPI_COMM_WORLD);");
    assert_eq!(
        proposal.application.notes[0].what,
        "MPI_Send: rank 12 is not one of 4 ranks"
    );
    assert_eq!(
        (
            pairs(&proposal),
            proposal.application.notes[0].place.as_str()
        ),
        (vec![], "x.c:5")
    );
    assert!(
        mpi("MPI_Send(b, n, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);")
            .application
            .notes
            .is_empty()
    );
}

#[test]
fn sources_without_known_calls_say_what_was_not_read() {
    let error = Source::scan([("run.pl", ""), ("x.py", "Trainer(devices=4)")])
        .propose(Some(4), Algorithm::Ring);
    let error = error.unwrap_err().to_string();
    insta::assert_snapshot!(
        error,
        @"no known call in 1 source file: expected calls of NCCL, CUDA, MPI, torch.distributed or Horovod, or settings of DeepSpeed, Megatron or vLLM; run.pl: unknown language: expected a file name of C, C++, CUDA, Python or a shell script"
    );
    insta::assert_snapshot!(
        error,
        @"no known call in 1 source file: expected calls of NCCL, CUDA, MPI, torch.distributed or Horovod, or settings of DeepSpeed, Megatron or vLLM; run.pl: unknown language: expected a file name of C, C++, CUDA, Python or a shell script"
    );
}

#[test]
fn groups_are_known_by_their_place_and_libraries_by_what_is_theirs() {
    for call in [
        "all_reduce(x, op, g)",
        "all_to_all_single(o, x, None, None, g)",
        "broadcast(x, 0, g)",
    ] {
        assert!(
            is_open(&torch(&format!("g = dist.new_group([0, 2])\ndist.{call}"))),
            "{call}"
        );
    }
    assert!(is_open(&propose(
        "x.py",
        "import torch.nn as nn\nnn.DataParallel(model, device_ids=[0, 1])",
        4
    )));
    let library = |text: &str| Source::scan([("x.py", text)]).findings()[0].library;
    assert_eq!(
        library("parser.add_argument('--num_processes', default=2)"),
        Library::Launcher
    );
    assert_eq!(
        library("x = dict(tp_size=1, tensor_parallel_size=2)"),
        Library::Settings
    );
    assert_eq!(library("initialize_model_parallel(4)"), Library::Megatron);
    let buffer = "void push(void* b, int size) { if (size > 65536) MPI_Send(b, size, MPI_INT, 3, 0, MPI_COMM_WORLD); }";
    assert_eq!(pairs(&propose("x.c", buffer, 4)), [(0, 3), (1, 3), (2, 3)]);
}

/// Words that programs are made of.
fn soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "ncclSend(",
        "MPI_Send(a,b,c,rank+1,0,MPI_COMM_WORLD)",
        "(",
        ")",
        "{",
        "}",
        ";",
        "\n",
        "for (int i = 0; i < 4; i++)",
        "int rank;",
        "MPI_Comm_rank(c, &rank);",
        "if (rank == 0)",
        "else",
        "#if 0\n",
        "#endif\n",
        "#define X(a) ",
        "X",
        "=",
        "x",
        "import torch.distributed as dist\n",
        "dist.send(x, dst=",
        "    ",
        "def f(rank):\n",
        "cudaMemcpyPeer(a, 0, b, 1, n)",
        "\"",
        "MPI_Cart_create(c, 2, dims, periods, 0, &cart);",
        "int dims[2] = {2, 2};",
        "1",
        "/",
        "%",
        "'",
        "for i in range(",
        "):",
        "é",
    ]);
    prop::collection::vec(words, 0..60).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(64))]

    #[test]
    fn any_text_is_scanned(text in prop_oneof![soup(), any::<String>()]) {
        for file in ["x.c", "x.cu", "x.py"] {
            let source = Source::scan([(file, text.as_str())]);
            let lines = text.matches('\n').count() + 1;
            prop_assert!(source.findings().iter().all(|found| (1..=lines).contains(&found.line)));
            if let Ok(proposal) = source.propose(Some(3), Algorithm::Both) {
                let again = read_pattern(&write_pattern(&proposal.application)).unwrap();
                prop_assert_eq!(again.pattern, proposal.application.pattern);
            }
        }
    }

    #[test]
    fn comments_spaces_and_names_of_locals_change_nothing(name in "[a-z]{3,8}_local", gap in "[ \t]{0,5}", at in any::<prop::sample::Index>()) {
        // A comment within a macro's text ends it for the parser.
        let main = JACOBI.find("int main").unwrap();
        let ends: Vec<usize> = JACOBI.match_indices(";").map(|(end, _)| end + 1).filter(|end| *end > main).collect();
        let end = *at.get(&ends);
        let text = format!("{}{gap}/* MPI_Send({name}) */{gap}{}", &JACOBI[..end], &JACOBI[end..]).replace("bottom", &name);
        prop_assert_eq!(found("jacobi.c", &text), found("jacobi.c", JACOBI));
        prop_assert_eq!(pairs(&propose("jacobi.c", &text, 5)), pairs(&propose("jacobi.c", JACOBI, 5)));
    }
}

#[test]
fn communicators_of_some_ranks_are_known_by_any_name() {
    let alias = "MPI_Comm sub; MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &sub); MPI_Comm pass = sub; MPI_Comm on = pass; \
                 MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, on);";
    assert!(is_open(&propose("x.c", &body(alias), 4)));
    let world = "MPI_Comm pass = MPI_COMM_WORLD; MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, pass);";
    assert_eq!(
        pairs(&propose("x.c", &body(world), 4)),
        of(&Pattern::ring(4))
    );
    let nccl = |ranks: &str| {
        format!(
            "ncclComm_t dp; ncclCommInitRank(&dp, {ranks}, id, rank); ncclAllReduce(a, b, 1, ncclFloat, ncclSum, dp, s);"
        )
    };
    let size = "int size; MPI_Comm_size(MPI_COMM_WORLD, &size); ";
    assert!(is_open(&propose(
        "x.cu",
        &body(&(size.to_owned() + &nccl("size / 2"))),
        4
    )));
    assert_eq!(
        pairs(&propose(
            "x.cu",
            &body(&(size.to_owned() + &nccl("size"))),
            4
        )),
        of(&Pattern::ring(4))
    );
    // A command is no communicator.
    let text =
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\ncommand.send(x, 3)\ncomm.send(x, dest=1)\n";
    assert_eq!(Source::scan([("x.py", text)]).findings().len(), 1);
}
