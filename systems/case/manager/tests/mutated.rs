//! Mutated inputs of the manager: its files of instances and of tasks (40 if `MAPA_INPUTS` is not set).

use std::fs;
use std::path::Path;

use mapa_case::Declared;

use super::mutation::{Kind, try_mutated};
use super::world::{Node, UNIT};

fn kinds() -> Vec<Kind> {
    let mut node = Node::new(&[60, 40], &[]);
    let session = node.session(Declared::default());
    session.begin(1, 20 * UNIT, 1, 0).unwrap();
    node.kill();
    let of = |words: &str, file: &str| Kind {
        words: format!("timeout 0.3 \"$MAPA\" manager --socket case.sock {words}"),
        inputs: vec![fs::read(node.path().join(file)).unwrap()],
    };
    vec![
        of("--ledger l$$ --instances FILE", "instances.toml"),
        of(
            "--ledger l$$ --instances instances.toml --task-file FILE",
            "case.sock.tasks",
        ),
    ]
}

#[test]
fn no_mutated_input_ends_the_manager_other_than_by_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_mapa-case"));
    let kinds = kinds();
    fs::write(folder.path().join("instances.toml"), &kinds[0].inputs[0]).unwrap();
    try_mutated(program, folder.path(), &kinds, 40, |ended| {
        match ended.status {
            // It serves until it is ended.
            Some(0 | 124) => ended.said.contains("instances on"),
            Some(2 | 125) => !ended.said.is_empty(),
            _ => false,
        }
    });
}
