//! Requests say the same in words, in TOML and in JSON.

use std::fmt::Debug;
use std::str::FromStr;

use mapa_front::names::Preserved;
use mapa_front::{DeviceName, JobSpec, MachineSpec, Named, Names, PolicySpec, WorkloadSpec};
use mapa_topologies::named;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::common::InMemory;

/// A request keeps its meaning through TOML and JSON.
fn keeps<T: Serialize + DeserializeOwned + PartialEq + Debug>(spec: &T) {
    let json = serde_json::to_string(spec).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), spec, "{json}");
    let text = toml::to_string(spec).unwrap();
    assert_eq!(&toml::from_str::<T>(&text).unwrap(), spec, "{text}");
}

/// The same request in words, TOML and JSON.
fn same<T>(words: &str, toml: &str, json: &str) -> T
where
    T: FromStr<Err = mapa_front::Error> + Serialize + DeserializeOwned + PartialEq + Debug,
{
    let spec: T = words.parse().unwrap();
    assert_eq!(toml::from_str::<T>(toml).unwrap(), spec);
    assert_eq!(serde_json::from_str::<T>(json).unwrap(), spec);
    keeps(&spec);
    spec
}

#[test]
fn a_machine_in_words_toml_and_json() {
    let spec: MachineSpec = same(
        "dgx-a100 pcie_gbps=20.5 mig=a100-40gb=3g,2g",
        "machine = [\"dgx-a100\"]\npcie_gbps = 20.5\nmig = \"a100-40gb=3g,2g\"\n",
        r#"{"machine": ["dgx-a100"], "pcie_gbps": 20.5, "mig": "a100-40gb=3g,2g"}"#,
    );
    let mut warnings = Vec::new();
    let loaded = spec
        .load(&InMemory::default(), &mut |warning| warnings.push(warning))
        .unwrap();
    assert_eq!((loaded.graph().wholes().len(), warnings.len()), (8, 0));
    let layout = loaded.idle.view().layout_of(mapa_core::DeviceId(0));
    assert_eq!(layout.instances().len(), 2);
    let unknown: MachineSpec = "no-such-machine".parse().unwrap();
    let error = unknown
        .load(&InMemory::default(), &mut drop)
        .map(drop)
        .unwrap_err();
    insta::assert_snapshot!(
        error.to_string().split(", or ").next().unwrap(),
        @"no machine is called `no-such-machine`: expected a name that `mapa-bench machines` lists"
    );
}

#[test]
fn a_machine_comes_from_a_file_that_the_front_lends() {
    let text = mapa_topologies::named("dgx-1v").unwrap().to_toml().unwrap();
    let files = InMemory::default().with("mine.toml", text.as_bytes());
    let loaded = MachineSpec::named("mine.toml")
        .load(&files, &mut drop)
        .unwrap();
    let graph = named("dgx-1v").unwrap().graph().unwrap();
    assert_eq!(loaded.graph().fingerprint(), graph.fingerprint());
    let error = MachineSpec::named("other.toml")
        .load(&files, &mut drop)
        .map(drop);
    assert_eq!(error.unwrap_err().to_string(), "other.toml: no such file");
}

#[test]
fn a_job_in_words_toml_and_json() {
    let spec: JobSpec = same(
        "gpus=3 pattern=chain sensitive=true avoid=GPU0,1 min_link=nv1",
        "gpus = 3\npattern = \"chain\"\nsensitive = true\navoid = [\"GPU0\", \"1\"]\nmin_link = \"nv1\"\n",
        r#"{"gpus": 3, "pattern": "chain", "sensitive": true, "avoid": ["GPU0", "1"], "min_link": "nv1"}"#,
    );
    let graph = named("dgx-1v").unwrap().graph().unwrap();
    let job = spec.job(&InMemory::default()).unwrap();
    let request = spec.request(&job, &graph).unwrap();
    assert_eq!((job.ranks, request.sensitivity.is_sensitive()), (3, true));
    assert_eq!(request.avoid, [0, 1].into());
    // A pattern that has `=` itself needs no key.
    let training: JobSpec = "tp=2,pp=2 sensitive=true".parse().unwrap();
    assert_eq!(training.job(&InMemory::default()).unwrap().ranks, 4);
    let ids: JobSpec = serde_json::from_str(r#"{"gpus": 2, "must_include": [3]}"#).unwrap();
    assert_eq!(ids.must_include, [DeviceName::Id(3)]);
}

#[test]
fn a_workload_in_words_toml_and_json() {
    let spec: WorkloadSpec = same(
        "generate=mapa,jobs=30 seed=7 at_once=true",
        "generate = \"mapa,jobs=30\"\nseed = 7\nat_once = true\n",
        r#"{"generate": "mapa,jobs=30", "seed": 7, "at_once": true}"#,
    );
    let workload = spec.load(&InMemory::default()).unwrap();
    assert_eq!(workload.jobs.len(), 30);
    assert!(workload.jobs.iter().all(|job| job.job.arrived.0 == 0));
}

#[test]
fn wrong_requests_say_what_was_expected() {
    let error = |text: &str| JobSpec::from_str(text).unwrap_err().to_string();
    assert_eq!(
        error("gpus=2 gpus=3"),
        "`gpus=2 gpus=3`: `gpus` is given twice: expected it once"
    );
    insta::assert_snapshot!(
        error("gpu=2 ring"),
        @"`gpu=2 ring`: `pattern` is given twice: expected it once"
    );
    let unknown = serde_json::from_str::<JobSpec>(r#"{"gpu": 2}"#)
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(
        unknown,
        @"unknown field `gpu`, expected one of `gpus`, `pattern`, `bytes`, `sensitive`, `slice`, `memory`, `shared`, `pcie_traffic`, `warps`, `nics`, `nic_within`, `nic_for`, `must_include`, `avoid`, `min_link`, `same_numa`, `like`, `max_nodes`, `limit` at line 1 column 6"
    );
    insta::assert_snapshot!(
        error("gpus=two"),
        @r#"`gpus=two`: invalid type: string "two", expected usize"#
    );
}

/// A word without spaces or commas that is neither a number nor a boolean.
fn name() -> impl Strategy<Value = String> {
    "[A-Z][a-z0-9-]{0,8}"
}

prop_compose! {
    fn job()(
        gpus in proptest::option::of(1_usize..64),
        pattern in prop_oneof![Just("ring".to_owned()), Just("0-1,1-2".to_owned()), Just("tp=4,pp=2".to_owned())],
        sensitive in proptest::option::of(any::<bool>()),
        memory in proptest::option::of(0.5_f64..80.0),
        shared in any::<bool>(),
        warps in proptest::option::of(any::<u32>()),
        avoid in proptest::collection::vec(name(), 0..3),
        min_link in proptest::option::of(name()),
        same_numa in any::<bool>(),
        limit in proptest::option::of(any::<u64>()),
    ) -> JobSpec {
        JobSpec {
            gpus, pattern, sensitive, memory, shared, warps, min_link, same_numa, limit,
            avoid: DeviceName::of_texts(&avoid),
            ..JobSpec::default()
        }
    }
}

/// A request in words: the keys of its JSON, in any order of lists and scalars.
fn words<T: Serialize>(spec: &T) -> String {
    let serde_json::Value::Object(table) = serde_json::to_value(spec).unwrap() else {
        panic!("a request is a table");
    };
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().unwrap())
            .collect::<Vec<_>>()
            .join(","),
        other => other.to_string(),
    };
    table
        .iter()
        .map(|(key, value)| format!("{key}={}", text(value)))
        .collect::<Vec<_>>()
        .join(" ")
}

proptest! {
    #[test]
    fn a_job_keeps_its_meaning_in_words_toml_and_json(spec in job()) {
        // TOML has no integers above 63 bits.
        let spec = JobSpec { limit: spec.limit.map(|limit| limit >> 1), ..spec };
        keeps(&spec);
        prop_assert_eq!(words(&spec).parse::<JobSpec>().unwrap(), spec);
    }

    #[test]
    fn a_machine_keeps_its_meaning_in_words_toml_and_json(
        machine in proptest::collection::vec(name(), 1..3),
        pcie_gbps in proptest::option::of(1.0_f64..100.0),
        mig in proptest::option::of(Just("a100-40gb=1g,2g".to_owned())),
    ) {
        let spec = MachineSpec { machine, pcie_gbps, mig, ..MachineSpec::default() };
        keeps(&spec);
        prop_assert_eq!(words(&spec).parse::<MachineSpec>().unwrap(), spec);
    }

    #[test]
    fn words_that_are_no_request_are_refused_and_never_panic(text in ".{0,40}") {
        let _ = text.parse::<JobSpec>();
        let _ = text.parse::<MachineSpec>();
        let _ = text.parse::<WorkloadSpec>();
    }
}

#[test]
fn a_policy_in_words_toml_and_json() {
    let spec: PolicySpec = same(
        "preserve model=ring-packing preserved=direct",
        "policy = \"preserve\"\nmodel = \"ring-packing\"\npreserved = \"direct\"\n",
        r#"{"policy": "preserve", "model": "ring-packing", "preserved": "direct"}"#,
    );
    assert_eq!(spec.preserved, Preserved::Direct);
    let names = Names::built_in();
    let model = spec.model(&names, &InMemory::default()).unwrap();
    let policy = spec.policy(&names, model.as_ref(), None).unwrap();
    assert_eq!(policy.name(), "preserve");
    // Whoever names nothing gets the default.
    assert_eq!("".parse::<PolicySpec>().unwrap(), PolicySpec::default());
    assert_eq!(
        serde_json::from_str::<PolicySpec>("{}").unwrap().policy,
        "auto"
    );
}

/// A name with settings inside a document, as words or as a table.
#[derive(Debug, PartialEq, serde::Deserialize, Serialize)]
struct Chosen {
    scheduler: Named,
}

#[test]
fn a_scheduler_in_words_or_as_a_table() {
    let read = |text: &str| toml::from_str::<Chosen>(text).unwrap().scheduler;
    let spec = read("scheduler = \"pcie-aware,delay=1.5,wait=600\"");
    assert_eq!(spec, "pcie-aware,delay=1.5,wait=600".parse().unwrap());
    assert_eq!(
        spec,
        read("scheduler = { name = \"pcie-aware\", delay = 1.5, wait = 600 }")
    );
    let json = r#"{"scheduler": {"delay": 1.5, "wait": "600", "name": "pcie-aware"}}"#;
    assert_eq!(
        serde_json::from_str::<Chosen>(json).unwrap().scheduler,
        spec
    );
    keeps(&Chosen { scheduler: spec });
    for wrong in [
        "{\"scheduler\": 3}",
        "{\"scheduler\": {\"delay\": 1}}",
        "{\"scheduler\": {\"name\": []}}",
    ] {
        assert!(serde_json::from_str::<Chosen>(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn a_name_keeps_its_settings_in_words_and_tables(
        name in "[a-z][a-z-]{0,12}",
        settings in prop::collection::btree_map("[a-z]{1,6}", 0u32..1000, 0..4),
    ) {
        prop_assume!(!settings.contains_key("name"));
        let words = settings.iter().map(|(key, value)| format!(",{key}={value}"));
        let spec: Named = format!("{name}{}", words.collect::<String>()).as_str().into();
        prop_assert_eq!(spec.name(), name.as_str());
        let mut table: serde_json::Map<String, serde_json::Value> =
            settings.iter().map(|(key, value)| (key.clone(), (*value).into())).collect();
        table.insert("name".to_owned(), name.into());
        // A table of JSON lists its keys in order, as the words do; the name may be anywhere.
        prop_assert_eq!(serde_json::from_value::<Named>(table.into()).unwrap(), spec);
    }
}
