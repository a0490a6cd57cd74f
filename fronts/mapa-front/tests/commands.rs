//! What commands compute: each request of `commands/*.jsonl` has the answer that stands beside it, byte for byte. The
//! program `mapa-bench` is held to the same files, by the `words` of each line.

use mapa_front::answer::Versioned;
use mapa_front::commands::{
    AllocateRequest, Batch, CompareRequest, DefragRequest, MatchRequest, ScoreRequest,
    SimulateRequest, allocate, compare, defrag, find_matches, mig, score, simulate, topo,
};
use mapa_front::{Error, InMemory, Loaded, MachineSpec, Names};
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
        |_, files, loaded, request| find_matches(files, loaded, request),
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
    assert!(
        wrong
            .to_string()
            .contains("unknown field `jobs`, expected one of")
    );
}
