//! Mutated inputs of `mapa` and `mapa-node` (60 if `MAPA_INPUTS` is not set).

use std::fs;
use std::path::Path;

use super::common::{Place, error};
use super::daemon::Daemon;
use super::mutation::{Kind, files, try_mutated};

fn kinds(place: &Place) -> Vec<Kind> {
    let record = place.path().join("record");
    let words = ["--scheduler", "fifo", "--record", record.to_str().unwrap()];
    let daemon = Daemon::start(place, &words);
    for gpus in ["1", "8"] {
        let output = place.run(&["run", "-n", gpus, "--wait", "--", "true"]);
        assert!(output.status.success(), "{}", error(&output));
    }
    assert_eq!(daemon.end("-TERM"), Some(0));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut machines = files(&root.join("topologies/machines"), 40_000);
    machines.extend(files(&root.join("topologies/tests/corpus"), 20_000));
    let pattern = "format = \"mapa-pattern\"\nversion = 1\nname = \"x\"\nunit = \"bytes\"\nlabels = [\"a\", \"b\", \"c\"]\nranks = 3\nedges = [\n    [0, 1, 6571.0],\n    [1, 2, 1e9],\n]\n";
    let config = "[queue]\npoll_ms = 100\n[tenants.api]\nlatency_slo_ms = 15\n[tenants.etl]\npcie_mb_s = 12000\n";
    let model = "format = \"mapa-coefficients\"\nversion = 1\n";
    let of = |words: &str, inputs: Vec<Vec<u8>>| Kind {
        words: words.to_owned(),
        inputs,
    };
    let text = |text: &str| vec![text.as_bytes().to_vec()];
    vec![
        of(
            "\"$MAPA\" --ledger l$$ --machine FILE free",
            machines.clone(),
        ),
        of(
            "\"$MAPA\" --ledger l$$ --machine FILE --json run -n 2 --dry-run -- true",
            machines,
        ),
        of(
            "\"$MAPA\" --ledger l$$ --machine dgx-1v run --pattern FILE -- echo ran",
            text(pattern),
        ),
        of(
            "\"$MAPA\" --ledger l$$ --machine dgx-1v run -n 2 --policy preserve --model FILE -- echo ran",
            text(model),
        ),
        of(
            "\"$MAPA\"-node replay FILE",
            vec![fs::read(record).unwrap()],
        ),
        of(
            "timeout 0.3 \"$MAPA\"-node --ledger l$$ --machine dgx-1v --scheduler fifo --config FILE",
            text(config),
        ),
    ]
}

#[test]
fn no_mutated_input_ends_a_program_other_than_by_an_answer() {
    let place = Place::new();
    let kinds = kinds(&place);
    try_mutated(
        &crate::mapa(),
        place.path(),
        &kinds,
        60,
        |ended| match ended.status {
            // A machine without devices has none that are free.
            Some(0) => ended.has_output || ended.words.contains("--scheduler"),
            // A daemon whose settings are right goes on until it is ended.
            Some(124) => ended.words.starts_with("timeout"),
            Some(2 | 64..=78 | 125) => !ended.said.is_empty() || ended.has_output,
            _ => false,
        },
    );
}
