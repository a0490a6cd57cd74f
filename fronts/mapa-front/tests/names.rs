//! Registries: what MAPA ships, and what a program adds.

use mapa_core::{
    BuiltIn, ModelUse, Pattern, Policy, Request, Rules,
    criteria::{lowest_ids, max},
    ring_packing_gbps,
};
use mapa_front::names::{
    Choice, ExecutionRow, ModelRow, Names, PolicyRow, Preserved, SchedulerRow,
};
use mapa_front::simulation::Runner;
use mapa_front::{Model, PolicySpec, WorkloadSpec};
use mapa_sched::{Fifo, Fleet, LinkModel};
use mapa_sim::{Fixed, Workload};
use mapa_topologies::named;

use crate::common::InMemory;

/// What MAPA ships, and a policy, a model, a scheduler and an execution model of a program's own.
fn with_own() -> Names {
    let mut names = Names::built_in();
    let row = PolicyRow::new(
        "own",
        "the best by the model, else the lowest ids",
        |choice| {
            let rules = Rules::new("own");
            Ok(Box::new(match choice.model {
                Some(model) => rules.prefer(max(model.objective.clone())),
                None => rules.prefer(lowest_ids()),
            }))
        },
    );
    names
        .policies
        .add(row.takes_model(ModelUse::Always))
        .unwrap();
    let rings = ModelRow::new("my-rings", "rings under my name", "everywhere", || {
        Ok(Model::own(ring_packing_gbps()))
    });
    names.models.add(rings).unwrap();
    let fifo = SchedulerRow::new("my-fifo", "first in, first out", |policy| {
        Box::new(Fifo::new(policy))
    });
    names.schedulers.add(fifo).unwrap();
    let fixed = ExecutionRow::new("my-fixed", "as the job file says", |_| Box::new(Fixed));
    names
        .executions
        .add(fixed.by_links(|| LinkModel::None))
        .unwrap();
    names
}

#[test]
fn a_programs_own_rows_work_in_every_request() {
    let names = with_own();
    let graph = named("dgx-1v").unwrap().graph().unwrap();
    let model = names.model("my-rings", None, &InMemory::default()).unwrap();
    let job = Request::new(Pattern::ring(2));
    let decide = |model| {
        let choice = Choice {
            model,
            ..Choice::default()
        };
        let policy = names.policy("own", &choice).unwrap();
        let free = graph.all();
        policy
            .decide(&job, &graph.with_free(&free))
            .unwrap()
            .placement()
            .set()
    };
    assert_eq!(decide(None), [0, 1].into());
    // 0 - 3 is the first pair with two links.
    assert_eq!(decide(Some(&model)), [0, 3].into());

    let workload = WorkloadSpec {
        generate: Some("mapa,jobs=20".to_owned()),
        ..WorkloadSpec::default()
    };
    let workload = workload.load(&InMemory::default()).unwrap();
    let fleet = Fleet::new([std::sync::Arc::new(graph.clone())]);
    let run = |policy: &str, scheduler: &str, execution: &str| {
        let (scheduler, execution) = (scheduler.into(), execution.into());
        let model = names.execution(&execution, &workload).unwrap();
        let policy = names.policy(policy, &Choice::default()).unwrap();
        let mut ended = 0;
        let run = Runner::new(
            &names,
            (&workload, &fleet),
            &scheduler,
            (&execution, &*model),
        )
        .under(policy, &mut || ended += 1)
        .unwrap();
        assert_eq!(ended, 20);
        run.summary.number("makespan_s").unwrap()
    };
    assert_eq!(
        run("own", "my-fifo", "my-fixed"),
        run("lowest-id", "fifo", "fixed")
    );
}

#[test]
fn a_policy_that_draws_numbers_is_given_a_seed() {
    let mut names = Names::built_in();
    let drawn = PolicyRow::new("random", "any match", |choice| {
        Ok(Box::new(mapa_core::random(
            "placement",
            choice.seed.unwrap_or_default(),
            0,
        )))
    });
    names.policies.add(drawn.needs_seed()).unwrap();
    let without: PolicySpec = "random".parse().unwrap();
    let error = without.policy(&names, None, None).map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the policy random draws random numbers: expected a seed"
    );
    let graph = named("dgx-1v").unwrap().graph().unwrap();
    let free = graph.all();
    let decide = |seed: u64| {
        let spec: PolicySpec = format!("random seed={seed}").parse().unwrap();
        let policy = spec.policy(&names, None, None).unwrap();
        let job = Request::new(Pattern::ring(3));
        policy
            .decide(&job, &graph.with_free(&free))
            .unwrap()
            .placement()
            .clone()
    };
    assert_eq!(decide(1), decide(1));
    assert!((2..20).any(|seed| decide(seed) != decide(1)));
}

#[test]
fn a_name_is_taken_once() {
    let mut names = Names::built_in();
    let twice = PolicyRow::new("greedy", "another", |_| unreachable!("it is not added"));
    let error = names.policies.add(twice).unwrap_err().to_string();
    assert_eq!(
        error,
        "a policy is called `greedy` already: expected another name"
    );
}

#[test]
fn rows_carry_the_names_that_they_make() {
    let names = Names::built_in();
    for row in names.policies_of_streams() {
        let policy = names.policy(&row.name, &Choice::default()).unwrap();
        assert_eq!(policy.name(), row.name);
    }
    for row in &names.executions {
        let model = names
            .execution(&row.name.as_str().into(), &Workload::default())
            .unwrap();
        assert!(
            !model.name().is_empty() && !row.summary.is_empty(),
            "{}",
            row.name
        );
    }
    for row in &names.schedulers {
        let policy = row.policy.clone().unwrap_or_else(|| "lowest-id".to_owned());
        let policy = names.policy(&policy, &Choice::default()).unwrap();
        let made = names
            .scheduler(&row.name.as_str().into(), policy, &"fixed".into())
            .unwrap();
        assert!(
            made.name().starts_with(row.name.as_str()),
            "{}",
            made.name()
        );
    }
    for row in &names.models {
        let model = names.model(&row.name, None, &InMemory::default()).unwrap();
        assert!(!model.objective.name().is_empty(), "{}", row.domain);
    }
    let paper = names.policy_names(&["paper".to_owned()]).join(" ");
    assert_eq!(paper, "lowest-id topo-aware greedy preserve");
    let all = ["all".to_owned(), "greedy".to_owned()];
    let whole = BuiltIn::ALL
        .iter()
        .filter(|built_in| !built_in.for_instances)
        .count();
    assert_eq!(
        names.policy_names(&all).len(),
        whole + 2,
        "and two of vendors"
    );
}

#[test]
fn what_a_policy_does_not_take_is_refused_by_name() {
    let names = Names::built_in();
    let model = names.model("tree", None, &InMemory::default()).unwrap();
    let by_tree = Choice {
        model: Some(&model),
        ..Choice::default()
    };
    let error = |name, choice: &Choice<'_>| match names.policy(name, choice) {
        Ok(_) => panic!("{name}: expected an error"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        error("greedy", &by_tree),
        "a model is for the policies auto, preserve, max-bandwidth, foresight, not greedy: expected one of these, or no model"
    );
    let direct = Choice {
        preserved: Preserved::Direct,
        ..Choice::default()
    };
    assert!(names.policy("preserve", &direct).is_ok());
    insta::assert_snapshot!(
        error("greedy", &direct),
        @"--preserved is for the policy preserve, not greedy: expected --policy preserve, or no --preserved"
    );
    // The names that follow are also of systems that are built in.
    insta::assert_snapshot!(
        error("best", &Choice::default()).split(", ").next().unwrap(),
        @"no policy is called `best`: expected one of auto"
    );
    // A stream of jobs has no traffic that could be known.
    insta::assert_snapshot!(
        error("min-step-time", &Choice::default()).split(", ").next().unwrap(),
        @"no policy is called `min-step-time`: expected one of auto"
    );
    let execution = |words: &str| match names.execution(&words.into(), &Workload::default()) {
        Ok(_) => panic!("{words}: expected an error"),
        Err(error) => error.to_string(),
    };
    // The list has the models of all systems.
    #[cfg(feature = "all-systems")]
    assert_eq!(
        execution("fixed,gbps=3"),
        "no execution model is called `fixed,gbps=3`: expected fixed, by-size, effective-bandwidth, ring-packing, by-warps[,slice=WARPS], \
         pcie-equal-share[,gbps=GB/s] or pcie-max-min"
    );
    #[cfg(feature = "pcie")]
    insta::assert_snapshot!(
        execution("pcie-equal-share,gbps=0"),
        @"pcie-equal-share,gbps=0: `gbps=0`: expected GB/s above 0"
    );
}
