//! What commands compute: each request of `commands/*.jsonl` has the answer that stands beside it, byte for byte. The
//! program `mapa-bench` is held to the same files, by the `words` of each line.

use mapa_front::answer::Versioned;
use mapa_front::commands::{
    AllocateRequest, Batch, CompareRequest, DefragRequest, FinishedCell, MatchRequest,
    MeasuredRequest, PatternRequest, ScoreRequest, SimulateRequest, SweepPlan, SweepRequest,
    SweepRows, SweepTables, allocate, compare, defrag, find_matches, measured, mig, pattern, score,
    simulate, sweep, topo,
};
use mapa_front::{Error, InMemory, Loaded, MachineSpec, Names};
use mapa_sim::Table;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A line of a file: a command line, the same as a request, and the answer.
#[derive(serde::Deserialize)]
struct Case<R> {
    words: String,
    request: R,
    answer: Value,
}

/// The answer as `mapa-bench --json` prints it.
fn printed(answer: &impl Serialize) -> String {
    serde_json::to_value(Versioned::new(answer))
        .unwrap()
        .to_string()
}

/// Holds every line of a file to what `compute` answers.
fn check<R: DeserializeOwned, A: Serialize>(
    file: &str,
    machine: impl Fn(&R) -> &MachineSpec,
    compute: impl Fn(&Names, &InMemory, &Loaded, &R) -> Result<A, Error>,
) {
    let (names, files) = (Names::built_in(), InMemory::default());
    let mut lines = 0;
    for line in file.lines() {
        let case: Case<R> = serde_json::from_str(line).unwrap();
        let computed = machine(&case.request)
            .load(&files, &mut |_| {})
            .and_then(|loaded| compute(&names, &files, &loaded, &case.request));
        let answer = match &computed {
            Ok(answer) => printed(answer),
            Err(error) => printed(&error.answer()),
        };
        assert_eq!(answer, case.answer.to_string(), "{}", case.words);
        lines += 1;
    }
    assert!(lines > 3);
}

#[test]
fn allocate_answers_as_recorded() {
    check(
        include_str!("commands/allocate.jsonl"),
        |request: &AllocateRequest| &request.machine,
        |names, files, loaded, request| allocate(names, files, loaded, request),
    );
}

// The rows of all systems are in what is compared.
#[cfg(feature = "all-systems")]
#[test]
fn compare_answers_as_recorded() {
    check(
        include_str!("commands/compare.jsonl"),
        |request: &CompareRequest| &request.machine,
        |names, files, loaded, request| compare(names, files, loaded, request),
    );
}

#[test]
fn score_answers_as_recorded() {
    check(
        include_str!("commands/score.jsonl"),
        |request: &ScoreRequest| &request.machine,
        |names, files, loaded, request| score(names, files, loaded, request),
    );
}

#[test]
fn match_answers_as_recorded() {
    check(
        include_str!("commands/match.jsonl"),
        |request: &MatchRequest| &request.machine,
        |names, files, loaded, request| find_matches(names, files, loaded, request),
    );
}

#[test]
fn defrag_answers_as_recorded() {
    check(
        include_str!("commands/defrag.jsonl"),
        |request: &DefragRequest| &request.machine,
        |_, files, loaded, request| defrag(files, loaded, request),
    );
}

#[test]
fn topo_answers_as_recorded() {
    check(
        include_str!("commands/topo.jsonl"),
        |request: &MachineSpec| request,
        |_, _, loaded, _| Ok(topo(loaded)),
    );
}

/// Holds every line of a file of requests without a machine of their own.
fn check_alone<R: DeserializeOwned, A: Serialize>(
    file: &str,
    compute: impl Fn(&R) -> Result<A, Error>,
) {
    for line in file.lines() {
        let case: Case<R> = serde_json::from_str(line).unwrap();
        let answer = match compute(&case.request) {
            Ok(answer) => printed(&answer),
            Err(error) => printed(&error.answer()),
        };
        assert_eq!(answer, case.answer.to_string(), "{}", case.words);
    }
}

#[test]
fn mig_answers_as_recorded() {
    check_alone(include_str!("commands/mig.jsonl"), mig);
}

// The rows of all systems are in what is compared.
#[cfg(feature = "all-systems")]
#[test]
fn simulate_answers_as_recorded() {
    let (names, files) = (Names::built_in(), InMemory::default());
    check_alone(
        include_str!("commands/simulate.jsonl"),
        |request: &SimulateRequest| {
            let load = |machine: &MachineSpec| machine.load(&files, &mut |_| {});
            let loaded = request.machine.as_ref().map(load).transpose()?;
            simulate(&names, &files, loaded.as_ref(), request)
        },
    );
}

/// Several hundred jobs: some that run, one in nine that never can, and one in ten with tasks.
fn many_jobs() -> String {
    let mut jobs = "gpus,duration_s,memory_gb,tasks\n".to_owned();
    for job in 0..700 {
        jobs += &match job % 10 {
            9 => "1,,,host 5s; 1GB 10w 40s; host 1s\n".to_owned(),
            gpus => format!("{},{},,\n", gpus + 1, 10 + job % 70),
        };
    }
    jobs
}

#[test]
fn a_streamed_answer_is_the_one_that_is_held() {
    let (names, mut lists) = (Names::built_in(), [0; 4]);
    let files = InMemory::default().with("jobs.csv", many_jobs());
    for scheduler in ["fifo", "case"] {
        let request = format!(
            r#"{{"servers": ["2xdgx-1v"], "workload": {{"jobs": "jobs.csv"}}, "scheduler": "{scheduler}"}}"#
        );
        let request: SimulateRequest = serde_json::from_str(&request).unwrap();
        if names.schedulers.get(scheduler).is_none() {
            continue;
        }
        let policies = request.policies(&names, &files).unwrap();
        let machines = request.fleet(&files, &mut |_| {}).unwrap();
        let outcome = request.outcome(&names, &files, policies, machines, false, &mut |_| {});
        let outcome = outcome.unwrap();
        let written = ["jobs.csv".to_owned()];
        let held = outcome.answer(&written).unwrap();
        let streamed = outcome.streamed(&written).unwrap();
        assert_eq!(serde_json::to_string(&streamed).unwrap(), printed(&held));
        for policy in &held.policies {
            let lengths = [
                policy.jobs.len(),
                policy.tasks.len(),
                policy.series.len(),
                policy.rejections.len(),
            ];
            for (all, length) in lists.iter_mut().zip(lengths) {
                *all += length;
            }
        }
    }
    // Every kind of row was there.
    assert!(lists.iter().all(|&rows| rows > 0), "{lists:?}");
}

#[test]
fn a_stream_answers_as_single_requests_do_and_keeps_its_leases() {
    let (names, files) = (Names::built_in(), InMemory::default());
    let request: AllocateRequest = serde_json::from_str(
        r#"{"machine": {"machine": ["dgx-1v"]}, "job": {"gpus": 3, "sensitive": true}}"#,
    )
    .unwrap();
    let loaded = request.machine.load(&files, &mut |_| {}).unwrap();
    let alone = allocate(&names, &files, &loaded, &request).unwrap();
    let mut batch = Batch::new(&names, &files, loaded);
    let mut line = |text: &str| serde_json::to_value(batch.answer(7, text.as_bytes())).unwrap();
    let first = line(r#"{"op": "allocate", "id": 1, "gpus": 3, "sensitive": true}"#);
    let mut expected = serde_json::to_value(&alone).unwrap();
    expected["id"] = 1.into();
    assert_eq!(first, expected);
    let again = line(r#"{"op": "allocate", "id": "1", "gpus": 1}"#);
    assert_eq!(
        again["error"],
        "line 7: `1` has a lease already: release it first"
    );
    let refused = line(r#"{"op": "allocate", "id": "b", "gpus": 6}"#);
    assert_eq!(
        (&refused["refusal"], &refused["id"]),
        (&"busy".into(), &"b".into())
    );
    assert_eq!(line(r#"{"op": "show"}"#)["held"][0]["id"], 1);
    assert_eq!(
        line(r#"{"op": "release", "id": 1}"#)["released"],
        first["devices"]
    );
    assert_eq!(line("{")["ok"], false);
}

#[test]
fn a_machine_may_be_a_text_in_memory() {
    let text = mapa_topologies::named("dgx-1v").unwrap().to_toml().unwrap();
    let files = InMemory::default().with("mine.toml", text);
    let names = Names::built_in();
    let request = |machine: &str| -> AllocateRequest {
        let text = format!(r#"{{"machine": {{"machine": ["{machine}"]}}, "job": {{"gpus": 4}}}}"#);
        serde_json::from_str(&text).unwrap()
    };
    let answer = |request: AllocateRequest| {
        let loaded = request.machine.load(&files, &mut |_| {}).unwrap();
        allocate(&names, &files, &loaded, &request).unwrap()
    };
    assert_eq!(answer(request("mine.toml")), answer(request("dgx-1v")));
    let wrong = serde_json::from_str::<AllocateRequest>(r#"{"jobs": {}}"#).unwrap_err();
    insta::assert_snapshot!(
        wrong.to_string(),
        @"unknown field `jobs`, expected one of `machine`, `job`, `policy`, `busy`, `top` at line 1 column 7"
    );
}

#[test]
fn pattern_answers_as_recorded() {
    let files = InMemory::default();
    check_alone(
        include_str!("commands/pattern.jsonl"),
        |request: &PatternRequest| pattern(&files, None, request),
    );
}

#[test]
fn a_request_for_a_pattern_names_files_that_the_front_lends() {
    let request = |text: &str| serde_json::from_str::<PatternRequest>(text).unwrap();
    let nccl = request(r#"{"source": {"nccl": {"files": ["none.log"]}}}"#);
    let error = pattern(&InMemory::default(), None, &nccl).unwrap_err();
    assert_eq!(error.to_string(), "none.log: no such file");
    let counters = request(r#"{"source": {"counters": {"noise": 60}}}"#);
    let error = pattern(&InMemory::default(), None, &counters).unwrap_err();
    assert!(error.to_string().starts_with("expected one reading"));
    let text = "[pattern]\n";
    let files = InMemory::default().with("job.toml", text);
    let file = request(r#"{"source": {"pattern": {"pattern": "job.toml"}}}"#);
    let error = pattern(&files, None, &file).unwrap_err();
    assert!(error.to_string().starts_with("job.toml: "), "{error}");
}

#[test]
fn measurements_become_rows_and_shares_without_a_disk() {
    let copies = "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 786.23  17.00\n     1  17.00 785.11\n";
    let files = InMemory::default().with("copies.txt", copies);
    let mut request: MeasuredRequest = serde_json::from_str(
        r#"{"machine": {"machine": ["dgx-a100"]}, "outputs": ["copies.txt"], "into": "rows.tsv", "fit": true}"#,
    )
    .unwrap();
    let loaded = request.machine.load(&files, &mut |_| {}).unwrap();
    let outcome = request.outcome(&files, &loaded).unwrap();
    assert!(outcome.rows.iter().all(|row| row.fitted_gbps.is_some()));
    let (table, shares) = (outcome.table.unwrap(), outcome.shares.unwrap());
    assert!(shares.contains("2 measurements of dgx-a100"), "{shares}");
    // The table as a file: the same output adds no row twice.
    let files = files.with("rows.tsv", table.clone());
    let again = request.outcome(&files, &loaded).unwrap();
    assert_eq!(again.table.as_deref(), Some(table.as_str()));
    let known = "not added to rows.tsv again: dgx-a100#0, dgx-a100#1";
    assert!(again.notes.contains(&known.to_owned()), "{:?}", again.notes);
    request.fit = false;
    let answer = measured(&files, &loaded, &request).unwrap();
    assert_eq!((answer.rows.len(), answer.into), (2, None));
    request.machine.machine.clear();
    let error = request.outcome(&files, &loaded).err().unwrap();
    assert!(error.to_string().starts_with("--into: rows name"));
}

/// A sweep of four cells.
fn small_sweep() -> SweepRequest {
    SweepRequest::from_toml(
        "machines = \"dgx-1v\"\npolicies = [\"greedy\", \"lowest-id\"]\ngenerate = \"mapa,jobs=8\"\nseeds = \"1..2\"\n",
    )
    .unwrap()
}

/// The results as text.
fn csv(tables: &SweepTables) -> [String; 2] {
    let jobs = tables.jobs.as_ref().map(|jobs| jobs.to_csv().unwrap());
    [tables.cells.to_csv().unwrap(), jobs.unwrap_or_default()]
}

#[test]
fn a_sweep_goes_on_from_known_cells_to_the_same_results() {
    let (names, files, request) = (Names::built_in(), InMemory::default(), small_sweep());
    let mut kept = Vec::new();
    let whole = sweep(&names, &files, &request, true, [], &mut |point, cell| {
        assert_eq!(
            (point.index, point.key().as_str()),
            (kept.len(), cell.key())
        );
        kept.push(serde_json::to_string(cell).unwrap());
        Ok(())
    })
    .unwrap();
    assert_eq!((kept.len(), whole.cells.rows()), (4, 4));
    // Interrupted after a cell, and resumed from what was kept of it.
    let read = |text: &String| serde_json::from_str::<FinishedCell>(text).unwrap();
    let mut ran = 0;
    let known = kept[..3].iter().map(read);
    let resumed = sweep(&names, &files, &request, true, known, &mut |_, _| {
        ran += 1;
        Ok(())
    });
    assert_eq!((csv(&resumed.unwrap()), ran), (csv(&whole), 1));
    let stopped = sweep(&names, &files, &request, true, [], &mut |_, _| {
        Err(Error::malformed("stopped"))
    });
    assert_eq!(stopped.err().unwrap().to_string(), "stopped");
}

#[test]
fn rows_of_jobs_are_the_same_cell_by_cell() {
    // The first cell fails, and so has no columns: over the slowest links its job would end beyond the last moment there
    // is.
    let names = Names::built_in();
    let files = InMemory::default()
        .with("long.csv", "2,ring,0,18400000000,1,VGG-16\n")
        .with("short.csv", "2,ring,0,60,1,VGG-16\n3,ring,0,60,0,VGG-16\n");
    let request = SweepRequest::from_toml(
        "machines = \"dgx-1v\"\nexecutions = [\"effective-bandwidth\", \"fixed\"]\npolicies = \"lowest-id\"\njobs = [\"long.csv\", \"short.csv\"]",
    )
    .unwrap();
    let mut cells = Vec::new();
    let whole = sweep(&names, &files, &request, true, [], &mut |_, cell| {
        cells.push(cell.clone());
        Ok(())
    });
    let jobs = whole.unwrap().jobs.unwrap();
    let plan = SweepPlan::new(&names, &files, &request, &mut |_| {}).unwrap();
    let (mut rows, mut stacked) = (SweepRows::default(), Table::default());
    assert!(cells[0].error().is_some() && cells[1].error().is_none());
    cells.iter().for_each(|cell| rows.learn(cell));
    for (point, cell) in plan.cells().zip(cells) {
        let bare = cell.clone().without_jobs();
        assert!(cell.has_jobs() && !bare.has_jobs());
        stacked
            .append(&rows.table(&[(point, cell)]).unwrap())
            .unwrap();
    }
    assert_eq!((stacked.rows(), &stacked), (5, &jobs));
}

#[test]
fn keys_of_cells_depend_on_names_of_devices_and_on_jobs() {
    let (names, request) = (Names::built_in(), small_sweep());
    let keys = |files: &InMemory, request: &SweepRequest| -> Vec<String> {
        let plan = SweepPlan::new(&names, files, request, &mut |_| {}).unwrap();
        plan.cells().map(|cell| cell.key()).collect()
    };
    let text = mapa_topologies::named("dgx-1v").unwrap().to_toml().unwrap();
    let keys_of = |text: &str| {
        let files = InMemory::default().with("mine.toml", text);
        let machines = vec!["mine.toml".to_owned()];
        keys(
            &files,
            &SweepRequest {
                machines,
                ..request.clone()
            },
        )
    };
    let same = keys(&InMemory::default(), &request);
    assert_eq!(keys_of(&text), same);
    let renamed = keys_of(&text.replace("\"GPU0\"", "\"first\""));
    assert!(renamed.iter().all(|key| !same.contains(key)));
    let seeds = Some(vec![2, 3]);
    let other = keys(
        &InMemory::default(),
        &SweepRequest {
            seeds,
            ..request.clone()
        },
    );
    assert_eq!((&other[..2], same.contains(&other[2])), (&same[2..], false));
}

#[test]
fn a_sweep_in_toml_and_json_is_the_same() {
    let request = small_sweep();
    let json = serde_json::to_string(&request).unwrap();
    assert_eq!(
        serde_json::from_str::<SweepRequest>(&json).unwrap(),
        request
    );
    let text = toml::to_string(&request).unwrap();
    assert_eq!(SweepRequest::from_toml(&text).unwrap(), request);
    let error = |text: &str| SweepRequest::from_toml(text).unwrap_err().to_string();
    assert!(error("machines = 3").starts_with("line 1, `machines = 3`: integer: expected"));
    assert!(error("machines = []\nseeds = \"2..1\"").starts_with("line 2, "));
}
