//! Groups of a training job, compared with Megatron-LM's numbering, written again from its
//! definition, and with a formula.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{Dimension, ModelShape, Parallelism};
use proptest::prelude::*;
use proptest::sample::select;

/// The groups of ranks that differ in the `wanted` digits alone, as
/// `generate_masked_orthogonal_rank_groups` of `megatron/core/parallel_state.py`
/// (NVIDIA/Megatron-LM, commit 00caa53) defines them: a group for each value of the other digits,
/// and in it a rank for each value of these; either count with the first digit fastest.
fn orthogonal_groups(digits: &[(&str, usize)], wanted: &[&str]) -> BTreeSet<Vec<u16>> {
    let strides: Vec<usize> = digits
        .iter()
        .scan(1, |stride, (_, size)| {
            let own = *stride;
            *stride *= size;
            Some(own)
        })
        .collect();
    let of = |inside: bool| -> Vec<(usize, usize)> {
        let own = digits
            .iter()
            .zip(&strides)
            .filter(|((name, _), _)| wanted.contains(name) == inside);
        own.map(|((_, size), stride)| (*size, *stride)).collect()
    };
    let count = |digits: &[(usize, usize)]| digits.iter().map(|(size, _)| size).product::<usize>();
    let rank = |digits: &[(usize, usize)], mut index: usize| {
        digits.iter().fold(0, |rank, (size, stride)| {
            let digit = index % size;
            index /= size;
            rank + digit * stride
        })
    };
    let (inside, outside) = (of(true), of(false));
    let group = |g| {
        (0..count(&inside))
            .map(|i| (rank(&outside, g) + rank(&inside, i)) as u16)
            .collect()
    };
    (0..count(&outside)).map(group).collect()
}

const ORDERS: [&str; 6] = [
    "tp-cp-ep-dp-pp",
    "tp-cp-ep-pp-dp",
    "cp-tp-ep-dp-pp",
    "ep-dp-tp-cp-pp",
    "pp-dp-ep-cp-tp",
    "dp-pp-tp-ep-cp",
];

fn jobs() -> impl Strategy<Value = (Parallelism, [usize; 6], &'static str)> {
    let degree = || 1usize..=4;
    let experts = (any::<prop::sample::Index>(), any::<bool>());
    (
        [degree(), degree(), degree(), degree()],
        experts,
        any::<bool>(),
        select(&ORDERS[..]),
    )
        .prop_map(|([t, p, d, s], (at, whole), ulysses, order)| {
            let expert_tensor = if whole { 1 } else { t };
            let stage = t * d * s / expert_tensor;
            let divisors: Vec<usize> = (1..=stage).filter(|degree| stage % degree == 0).collect();
            let e = divisors[at.index(divisors.len())];
            let name = if ulysses { "ulysses" } else { "sp" };
            let text =
                format!("tp={t},pp={p},dp={d},{name}={s},ep={e},etp={expert_tensor},order={order}");
            (text.parse().unwrap(), [t, p, d, s, e, expert_tensor], order)
        })
}

proptest! {
    #[test]
    fn groups_are_those_of_megatrons_rank_generator((job, [t, p, d, s, e, expert_tensor], order) in jobs()) {
        let sizes = BTreeMap::from([("tp", t), ("pp", p), ("dp", d), ("cp", s), ("ep", 1)]);
        let same_experts = t * d * s / expert_tensor / e;
        let of_experts = BTreeMap::from([("tp", expert_tensor), ("pp", p), ("dp", same_experts), ("cp", 1), ("ep", e)]);
        let digits = |sizes: &BTreeMap<&'static str, usize>| -> Vec<(&str, usize)> {
            order.split('-').map(|name| (name, sizes[name])).collect()
        };
        let (plain, experts) = (digits(&sizes), digits(&of_experts));
        let groups = |dimension| job.groups(dimension).into_iter().collect::<BTreeSet<_>>();
        for (dimension, wanted) in [
            (Dimension::Tensor, &["tp"][..]), (Dimension::Pipeline, &["pp"]), (Dimension::Sequence, &["cp"]),
            (Dimension::Data, &["dp", "cp"]),
        ] {
            prop_assert_eq!(groups(dimension), orthogonal_groups(&plain, wanted), "{} {}", job, dimension);
        }
        // Megatron-LM rejects numberings in which experts have other stages.
        if e > 1 && orthogonal_groups(&plain, &["pp"]) == orthogonal_groups(&experts, &["pp"]) {
            prop_assert_eq!(groups(Dimension::Expert), orthogonal_groups(&experts, &["ep"]), "{}", job);
            prop_assert_eq!(groups(Dimension::ExpertData), orthogonal_groups(&experts, &["dp"]), "{}", job);
        }
    }

    #[test]
    fn every_rank_is_in_one_group_of_each_dimension_and_edges_are_counted_by_formula((job, ..) in jobs()) {
        let ranks = job.ranks();
        let mut edges = 0;
        for dimension in Dimension::ALL {
            let (groups, n) = (job.groups(dimension), job.group_size(dimension));
            prop_assert!(groups.iter().all(|group| group.len() == n && group.is_sorted()), "{} {}", job, dimension);
            let mut all: Vec<u16> = groups.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..ranks as u16).collect::<Vec<_>>());
            edges += ranks / n * match dimension {
                _ if n == 1 => 0,
                Dimension::Pipeline => n - 1,
                _ if job.is_all_to_all(dimension) => n * (n - 1) / 2,
                _ => n,
            };
        }
        prop_assert_eq!(job.pattern().edges().len(), edges);
        // Experts stay in their stage.
        let stages = job.groups(Dimension::Pipeline);
        let stage = |rank: &u16| stages.iter().find_map(|stage| stage.iter().position(|candidate| candidate == rank));
        for group in job.groups(Dimension::Expert) {
            prop_assert!(group.iter().all(|rank| stage(rank) == stage(&group[0])));
        }
    }

    #[test]
    fn texts_round_trip((job, ..) in jobs()) {
        prop_assert_eq!(job.to_string().parse::<Parallelism>().unwrap(), job);
    }
}

#[test]
fn errors_name_the_word() {
    let said = [
        ("tp=2,dp=2,ep=4", "ep=4"),
        ("tp=2,dp=2,ep=3,etp=1", "ep=3"),
        ("tp=4,dp=2,ep=2,etp=2", "etp=2"),
        ("sp=2,ulysses=2", "ulysses=2"),
        ("sp=2,cp=2", "cp=2"),
        ("tp=2,dp=2,order=tp-pp", "order=tp-pp"),
        ("tp=2,order=tp-tp", "order=tp-tp"),
        ("tp=2,order=horovod", "order=horovod"),
        ("ep=0", "ep=0"),
        ("edp=2", "edp=2"),
    ]
    .map(|(text, word)| {
        let message = text.parse::<Parallelism>().unwrap_err().to_string();
        let start = format!("parallel job: `{word}`: ");
        let rest = message.strip_prefix(&start);
        let rest = rest.unwrap_or_else(|| panic!("{message}"));
        let reasons = ["expected ", "already set by `", "no setting is called `"];
        assert!(
            reasons.iter().any(|reason| rest.starts_with(reason)),
            "{message}"
        );
        assert!(message.contains("expected "), "{message}");
        format!("{text:?} -> {message}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "tp=2,dp=2,ep=4" -> parallel job: `ep=4`: expected experts among a number of devices that divides sp x dp, or with etp=1 tp x sp x dp
    "tp=2,dp=2,ep=3,etp=1" -> parallel job: `ep=3`: expected experts among a number of devices that divides sp x dp, or with etp=1 tp x sp x dp
    "tp=4,dp=2,ep=2,etp=2" -> parallel job: `etp=2`: expected etp=1, each expert on one device, or the same as tp
    "sp=2,ulysses=2" -> parallel job: `ulysses=2`: already set by `sp=2`: expected each setting once
    "sp=2,cp=2" -> parallel job: `cp=2`: already set by `sp=2`: expected each setting once
    "tp=2,dp=2,order=tp-pp" -> parallel job: `order=tp-pp`: expected order=tp-cp-ep-dp-pp, fastest first, each once and none missing whose degree is above 1; or order=megatron, deepspeed, torchtitan or vllm
    "tp=2,order=tp-tp" -> parallel job: `order=tp-tp`: expected order=tp-cp-ep-dp-pp, fastest first, each once and none missing whose degree is above 1; or order=megatron, deepspeed, torchtitan or vllm
    "tp=2,order=horovod" -> parallel job: `order=horovod`: expected order=tp-cp-ep-dp-pp, fastest first, each once and none missing whose degree is above 1; or order=megatron, deepspeed, torchtitan or vllm
    "ep=0" -> parallel job: `ep=0`: expected tp=T,pp=P,dp=D, sp=S or ulysses=S, ep=E and etp=1, order=tp-cp-ep-dp-pp, each once and degrees whole numbers of at least 1, such as tp=4,pp=2,dp=1
    "edp=2" -> parallel job: `edp=2`: no setting is called `edp`: expected tp=T,pp=P,dp=D, sp=S or ulysses=S, ep=E and etp=1, order=tp-cp-ep-dp-pp, each once and degrees whole numbers of at least 1, such as tp=4,pp=2,dp=1
    "#);
    assert_eq!(
        "tp=2,pp=2,order=tp-pp"
            .parse::<Parallelism>()
            .unwrap()
            .to_string(),
        "tp=2,pp=2,dp=1,order=tp-pp-sp-ep-dp"
    );
}

#[test]
fn bytes_of_a_model_are_those_worked_out_by_hand() {
    let text = "layers=32,hidden=4096,sequence=2048,micro-batch=1,micro-batches=8,expert-parameters=8e9,top-k=2";
    let model: ModelShape = text.parse().unwrap();
    let bytes = |degrees: &str, dimension| {
        degrees
            .parse::<Parallelism>()
            .unwrap()
            .with_bytes_of_model(&model)
            .unwrap()
            .bytes(dimension)
    };
    // 8 x 2048 tokens of 4096 numbers of two bytes are 2^27 bytes: 134,217,728.
    let activations = 134_217_728.0;
    assert_eq!(bytes("tp=4,pp=2", Dimension::Pipeline), activations);
    assert_eq!(bytes("tp=4,pp=2", Dimension::Tensor), 8_589_934_592.0);
    // 12 x 32 x 4096^2 = 6,442,450,944 parameters, an eighth of them on each rank.
    assert_eq!(bytes("tp=4,pp=2,dp=2", Dimension::Data), 1_610_612_736.0);
    // Half the sequence each: 6 x 32 x 2^26 / 2 and 8 x 32 x 2^26 / 2.
    assert_eq!(bytes("tp=2,sp=2", Dimension::Sequence), 6_442_450_944.0);
    assert_eq!(
        bytes("tp=2,ulysses=2", Dimension::Sequence),
        8_589_934_592.0
    );
    assert_eq!(
        bytes("dp=4,ep=2", Dimension::Expert),
        4.0 * 2.0 * 32.0 * activations
    );
    assert_eq!(bytes("dp=4,ep=2", Dimension::ExpertData), 8e9);
    assert_eq!(bytes("dp=4,ep=2", Dimension::Tensor), 1e9);
    for (text, word) in [
        ("layers=2,hidden=3", "sequence=?"),
        ("layers=0,hidden=3,sequence=1", "layers=0"),
        ("depth=2", "depth=2`: no setting is called `depth"),
        ("layers=inf", "layers=inf"),
        ("", ""),
    ] {
        let message = text.parse::<ModelShape>().unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("parallel job: `{word}`: expected layers=L")),
            "{message}"
        );
    }
    let twice = "layers=2,layers=2".parse::<ModelShape>().unwrap_err();
    assert_eq!(
        twice.to_string(),
        "parallel job: `layers=2`: already set by `layers=2`: expected each setting once"
    );
}

#[test]
fn groups_of_the_frameworks_documentation() {
    let groups = |text: &str, dimension| text.parse::<Parallelism>().unwrap().groups(dimension);
    // The example in Megatron-LM's `initialize_model_parallel`: 16 devices, tensor 2, pipeline 4.
    let text = "tp=2,pp=4,dp=2";
    assert_eq!(groups(text, Dimension::Data)[..3], [[0, 2], [1, 3], [4, 6]]);
    assert_eq!(
        groups(text, Dimension::Pipeline),
        [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]
    );
    // That of vLLM's: 8 devices, tensor 2, pipeline 4; and experts over all ranks of a stage,
    // copies being slowest.
    assert_eq!(
        groups("tp=2,pp=4,order=vllm", Dimension::Pipeline),
        [[0, 2, 4, 6], [1, 3, 5, 7]]
    );
    assert_eq!(
        groups("tp=2,pp=2,dp=2,ep=4,etp=1,order=vllm", Dimension::Expert),
        [[0, 1, 4, 5], [2, 3, 6, 7]]
    );
    // That of DeepSpeed's `ProcessTopology.get_axis_comm_lists`: pipe, data, model of two each.
    assert_eq!(
        groups("pp=2,dp=2,tp=2,order=deepspeed", Dimension::Pipeline),
        [[0, 4], [1, 5], [2, 6], [3, 7]]
    );
}
