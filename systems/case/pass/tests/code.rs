//! The code that the pass makes, checked by LLVM's FileCheck against comments `// CHECK` in the programs.

use crate::program::{LEVELS, cc, folder};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Debian's package llvm-16-tools.
const FILE_CHECK: &str = "FileCheck-16";

#[test]
fn begins_and_ends_stand_where_the_comments_say() {
    let mut checked = 0;
    for entry in fs::read_dir(folder().join("programs")).unwrap() {
        let program = entry.unwrap().path();
        let told = program.is_file() && fs::read_to_string(&program).unwrap().contains("// CHECK");
        if told {
            checked += 1;
            for level in LEVELS {
                check(&program, level);
            }
        }
    }
    assert!(checked >= 6, "{checked} programs with comments `// CHECK`");
}

fn check(program: &Path, level: &str) {
    let work = tempfile::tempdir().unwrap();
    let code = work.path().join("code.ll");
    let arguments = [
        "-S",
        "-emit-llvm",
        level,
        program.to_str().unwrap(),
        "-o",
        code.to_str().unwrap(),
    ];
    let (done, errors) = cc(&arguments);
    assert!(done, "{errors}");
    let output = Command::new(FILE_CHECK)
        .arg(program)
        .arg("--input-file")
        .arg(&code)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} {level}: {errors}",
        program.display()
    );
}
