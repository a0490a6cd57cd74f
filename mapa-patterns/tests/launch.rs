//! Scripts that launch jobs: how many ranks they start, which degrees they set, which files they
//! run, and what is told of what they do not say.

use mapa_core::{Parallelism, Pattern};
use mapa_patterns::{Algorithm, Communication, Proposal, Sensitivity, Source};
use proptest::prelude::*;

const PRETRAIN: &str = include_str!("programs/pretrain.sh");
const SBATCH: &str = include_str!("programs/ddp.sbatch");
const DDP: &str = include_str!("programs/ddp.py");

fn propose(files: &[(&str, &str)]) -> Proposal {
    Source::scan(files.iter().copied())
        .propose(None, Algorithm::Ring)
        .unwrap()
}

/// A script and a program whose replicas sum their gradients.
fn ranks(script: &str) -> usize {
    propose(&[("run.sh", script), ("ddp.py", DDP)])
        .application
        .pattern
        .len()
}

/// The pairs of ranks that communicate, sorted.
fn pairs(pattern: &Pattern) -> Vec<(u16, u16)> {
    let mut pairs: Vec<_> = pattern
        .edges()
        .iter()
        .map(|edge| (edge.a, edge.b))
        .collect();
    pairs.sort_unstable();
    pairs
}

fn notes(proposal: &Proposal) -> Vec<String> {
    proposal
        .application
        .notes
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_script_of_megatron_is_the_training_job_of_its_degrees() {
    let proposal = propose(&[("pretrain.sh", PRETRAIN)]);
    let job: Parallelism = "tp=4,pp=2,dp=1".parse().unwrap();
    assert_eq!(proposal.application.parallelism, Some(job));
    assert_eq!(
        notes(&proposal)[0],
        "assumed: pretrain.sh:22: torchrun: 8, a default of the script: the environment may set another"
    );
    let verdict = &proposal.application.verdict;
    assert_eq!(verdict.sensitivity, Sensitivity::Sensitive);
    assert!(
        verdict
            .why
            .contains("--tensor-model-parallel-size (pretrain.sh:22)"),
        "{verdict}"
    );
    assert_eq!(Source::runs("pretrain.sh", PRETRAIN), ["pretrain_gpt.py"]);
}

#[test]
fn a_batch_script_has_the_gpus_that_it_asks_slurm_for() {
    assert_eq!(Source::runs("ddp.sbatch", SBATCH), ["ddp.py"]);
    let both = [("ddp.sbatch", SBATCH), ("ddp.py", DDP)];
    let proposal = propose(&both);
    assert_eq!(
        pairs(&proposal.application.pattern),
        pairs(&Pattern::ring(4))
    );
    let verdict = &proposal.application.verdict;
    assert_eq!(verdict.sensitivity, Sensitivity::Sensitive);
    assert!(
        verdict.why.contains("DistributedDataParallel (ddp.py:5)"),
        "{verdict}"
    );
    let source = Source::scan(both);
    let found: Vec<_> = source
        .findings()
        .iter()
        .map(|finding| (finding.place(), finding.kind))
        .collect();
    let expected = [
        ("ddp.sbatch:10".to_owned(), Communication::Ranks),
        ("ddp.py:5".to_owned(), Communication::DataParallel),
    ];
    assert_eq!(found, expected);
}

#[test]
fn each_launcher_starts_as_many_ranks_as_its_options_say() {
    for (script, expected) in [
        (
            "torchrun --nproc-per-node=4 --nnodes 2 ddp.py --nproc_per_node 9",
            8,
        ),
        ("torchrun --standalone --nproc_per_node 4 -m pkg.ddp", 4),
        (
            "python3 -m torch.distributed.run --nnodes=1:2 --nproc_per_node=4 ddp.py",
            8,
        ),
        (
            "python -m torch.distributed.launch --nproc_per_node=2 --use_env ddp.py",
            2,
        ),
        (
            "#SBATCH --gpus-per-node=4\ntorchrun --nproc_per_node gpu ddp.py",
            4,
        ),
        (
            "CUDA_VISIBLE_DEVICES=2,3,5 torchrun --nproc_per_node=auto ddp.py",
            3,
        ),
        (
            "export CUDA_VISIBLE_DEVICES=0,1\ndeepspeed ddp.py --deepspeed",
            2,
        ),
        ("CUDA_VISIBLE_DEVICES=0,1\npython ddp.py", 2),
        (
            "accelerate launch --multi_gpu --num_processes 4 --num_machines 1 ddp.py",
            4,
        ),
        (
            "deepspeed --num_gpus 4 --num_nodes=2 ddp.py --deepspeed_config x.json",
            8,
        ),
        ("deepspeed --include=localhost:0,1,2 ddp.py", 3),
        ("mpirun -np 4 --bind-to none ./a.out -n 100", 4),
        ("mpirun --allow-run-as-root -n 6 python ddp.py", 6),
        ("horovodrun -np 4 -H localhost:4 python ddp.py", 4),
        (
            "srun -N2 --ntasks-per-node=4 --gpus-per-task=1 python ddp.py",
            8,
        ),
        ("srun --ntasks 8 ./a.out", 8),
        ("srun --nodes=1 --ntasks=1 --gpus=4 python ddp.py", 4),
        (
            "#SBATCH -N 2\n#SBATCH --gres=gpu:4,lustre:1\npython ddp.py",
            8,
        ),
        ("#SBATCH -G a100:6\npython ddp.py", 6),
        (
            "#SBATCH --nodes=2-4\n#SBATCH --ntasks-per-node=4\nsrun python ddp.py",
            8,
        ),
        ("#SBATCH --gres=gpu\n#SBATCH -N 3\nsrun python ddp.py", 3),
        (
            "#SBATCH --gres=gpu:4\ntorchrun --nproc_per_node $(nvidia-smi -L | wc -l) ddp.py",
            4,
        ),
        (
            "#SBATCH --nodes 2\n#SBATCH --gpus-per-node 4\nN=$((SLURM_NNODES * SLURM_GPUS_PER_NODE))\n\
          accelerate launch --num_processes $N ddp.py",
            8,
        ),
        (
            "L=\"torchrun --nproc_per_node 4\"\nif [ -n \"$D\" ]; then\n  exec $L ddp.py\nfi",
            4,
        ),
        (
            "srun apptainer exec --nv image.sif torchrun --nproc_per_node 4 ddp.py",
            4,
        ),
        (
            "run() {\n  torchrun --nproc_per_node \"$1\" ddp.py\n}\nGPUS=${GPUS:-4}\ntorchrun --nproc_per_node=$GPUS ddp.py",
            4,
        ),
        (
            "torchrun --nproc_per_node 2 a.py; torchrun --nproc_per_node 4 ddp.py",
            4,
        ),
        (
            "sbatch <<EOF\n#SBATCH --gres=gpu:3\nsrun python ddp.py\nEOF",
            3,
        ),
        (
            "cat <<EOF > x\ntorchrun --nproc_per_node 8 x.py\nEOF\ntorchrun --nproc_per_node 2 ddp.py",
            2,
        ),
        (
            "echo torchrun --nproc_per_node 8\ntorchrun --nproc_per_node 2 ddp.py\r\n",
            2,
        ),
    ] {
        assert_eq!(ranks(script), expected, "{script}");
    }
}

#[test]
fn degrees_are_read_wherever_they_stand_on_the_line() {
    for (script, expected) in [
        (
            "torchrun --nproc_per_node 8 t.py --tensor-model-parallel-size 2 --context-parallel-size=2",
            "tp=2,cp=2,dp=2",
        ),
        (
            "torchrun --nproc_per_node 8 t.py --expert-model-parallel-size 4",
            "dp=8,ep=4",
        ),
        ("TP=4\nvllm serve model --tensor-parallel-size $TP", "tp=4"),
        (
            "A=\"--pipeline-model-parallel-size 2\"\nA=\"$A --tensor-model-parallel-size 2\"\ntorchrun --nproc_per_node 4 t.py $A",
            "tp=2,pp=2",
        ),
    ] {
        let job: Parallelism = expected.parse().unwrap();
        let proposal = propose(&[("run.sh", script)]);
        assert_eq!(proposal.application.parallelism, Some(job), "{script}");
    }
}

#[test]
fn what_a_script_does_not_say_is_told_and_assumed_to_be_all_to_all() {
    let alone = propose(&[("run.sh", "torchrun --nproc_per_node 4 train.py")]);
    assert_eq!(
        pairs(&alone.application.pattern),
        pairs(&Pattern::all_to_all(4))
    );
    assert!(
        notes(&alone)[0].contains("no call by which they communicate was found"),
        "{:?}",
        alone.application.notes
    );
    assert_eq!(alone.application.verdict.sensitivity, Sensitivity::Unknown);
    let script = "for g in 1 2 4; do torchrun --nproc_per_node $g ddp.py; done";
    let source = Source::scan([("run.sh", script), ("ddp.py", DDP)]);
    assert!(
        source.propose(None, Algorithm::Ring).is_err(),
        "no number of ranks"
    );
    let proposal = source.propose(Some(4), Algorithm::Ring).unwrap();
    assert_eq!(
        notes(&proposal)[0],
        "undecided: run.sh:1: torchrun: the script does not say what $g is"
    );
    let script = "torchrun --nproc_per_node 8 t.py --tensor-model-parallel-size $2";
    let proposal = propose(&[("run.sh", script)]);
    assert_eq!(proposal.application.parallelism, None);
    assert!(
        notes(&proposal)[0]
            .contains("--tensor-model-parallel-size: the script does not say what $2 is")
    );
    // The branches differ, so the value is not known.
    let script = "if a; then G=4; else G=8; fi\nmpirun -np $G python ddp.py";
    let source = Source::scan([("run.sh", script), ("ddp.py", DDP)]);
    assert!(source.propose(None, Algorithm::Ring).is_err());
    let broken = Source::scan([("run.sh", "torchrun --nproc_per_node 2 'ddp.py")]);
    assert!(
        broken.notes()[0].to_string().contains("run.sh:1"),
        "{:?}",
        broken.notes()
    );
    assert!(
        Source::scan([("run.sh", "make -j 8 && ls")])
            .findings()
            .is_empty()
    );
}

#[test]
fn files_that_scripts_run_are_named_as_they_name_them() {
    for (script, expected) in [
        ("python src/a.py && ./b.sh", &["src/a.py", "b.sh"][..]),
        ("D=src\nsrun python $D/a.py x.py", &["src/a.py"]),
        ("torchrun -m pkg.train", &["pkg/train.py"]),
        ("python -u -m pkg.train --x", &["pkg/train.py"]),
        ("bash -c 'python a.py'", &["a.py"]),
        ("python $1/a.py; python -c 'import x'", &[]),
    ] {
        let runs = Source::runs("run.sh", script);
        let runs: Vec<_> = runs
            .iter()
            .map(|run| run.trim_start_matches("./"))
            .collect();
        assert_eq!(runs, expected, "{script}");
    }
    assert!(Source::runs("a.py", "python b.py").is_empty());
}

#[test]
fn values_that_grow_without_end_are_given_up() {
    let grows = "A=xxxxxxxx\n".to_owned() + &"A=$A$A; B=(\"$A\" ${B[@]} ${B[@]})\n".repeat(200);
    let uses = "torchrun --nproc_per_node 2 $A ${B[@]} $A$A\n".repeat(20_000);
    let source = Source::scan([("run.sh", (grows + &uses).as_str())]);
    assert_eq!(source.findings().len(), 10_000);
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(8), ..mapa_core::testing::cases(256) })]

    /// However a number of ranks is written, it is the same.
    #[test]
    fn ranks_do_not_depend_on_how_they_are_written(each in 1_usize..9, nodes in 1_usize..5, way in 0..6) {
        let script = match way {
            0 => format!("torchrun --nproc_per_node={each} --nnodes={nodes} ddp.py"),
            1 => format!("E={each}; N={nodes}\ntorchrun --nproc_per_node ${{E}} \\\n --nnodes $N ddp.py"),
            2 => format!("A=(--nproc-per-node {each})\nA+=(--nnodes \"{nodes}\")\ntorchrun \"${{A[@]}}\" ddp.py"),
            3 => format!("mpirun -np $(( {each} * {nodes} )) python ddp.py"),
            4 => format!("#SBATCH -N {nodes}\n#SBATCH --gres=gpu:{each}\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node gpu ddp.py"),
            _ => format!("srun --nodes={nodes} --ntasks-per-node={each} python ddp.py"),
        };
        prop_assert_eq!(ranks(&script), each * nodes, "{}", script);
    }

    #[test]
    fn any_text_is_read_as_a_script(text in "\\PC*", parts in proptest::collection::vec(
        "(#SBATCH |torchrun |srun |-n ?|-N|--gres=gpu:?|--nproc_per_node[ =]|A\\+?=|export |\\$A|\\$\\{A(:-|\\[@\\])?|\\$\\(\\(?|\\)|`|\"|'|\\\\|<<E|E|\n|;|[0-9]{1,20}| |a\\.py|if |fi|é)", 0..30)) {
        for text in [text, parts.concat()] {
            let source = Source::scan([("run.sh", text.as_str())]);
            let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
            prop_assert!(source.findings().iter().all(|finding| (1..=lines).contains(&finding.line)), "{text}");
            let _ = source.propose(Some(3), Algorithm::Both);
            let _ = Source::runs("run.sh", &text);
        }
    }
}
