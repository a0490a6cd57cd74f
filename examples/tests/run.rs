//! Every example runs, and the README's picture is what its example draws.

use std::path::Path;
use std::process::Command;

fn run(example: &str) -> String {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--package", "mapa-examples", "--example", example])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("cargo runs the tests, so it is there");
    assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("examples print text")
}

#[test]
fn allocate_fills_the_machine() {
    assert_eq!(
        run("allocate"),
        "job 0 runs on 0,1,2,3\njob 1 runs on 4,5,6,7\njob 2 waits: 4 devices are wanted, 0 of the 8 allowed are free\n"
    );
}

#[test]
fn own_policies_decide() {
    assert_eq!(run("own_policy"), "coolest: 4,5,7\nfrom-the-top: 5,6,7\n");
}

#[test]
fn the_picture_of_the_readme_is_up_to_date() {
    let committed = include_str!("../../docs/img/dgx-1v.svg");
    assert_eq!(run("picture"), committed, "run the example again, and look at what it draws");
}
