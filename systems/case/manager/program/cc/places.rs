//! Where the pass, the CUDA runtime and the client library are.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};

use super::line::ClangCommand;

/// The command that builds the pass.
const BUILD: &str = "cargo build --release --manifest-path systems/case/pass/Cargo.toml";
/// The file that it makes.
const PASS: &str = "libmapa_case_pass.so";

/// The pass: named by `MAPA_CASE_PASS`, or where its command builds it, or installed with this program.
pub(super) fn pass() -> Result<PathBuf, Box<dyn Error>> {
    if let Some(told) = env::var_os("MAPA_CASE_PASS") {
        let path = PathBuf::from(told);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!(
                "MAPA_CASE_PASS: no file {}; expected the pass, built by `{BUILD}`",
                path.display()
            )
            .into())
        };
    }
    let own = env::current_exe().unwrap_or_default();
    let here = env::current_dir().unwrap_or_default();
    let built = Path::new("systems/case/pass/target/release").join(PASS);
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(folder) = own.parent() {
        places.extend([
            folder.join(PASS),
            folder.join("../lib/mapa-case").join(PASS),
        ]);
    }
    if let Some(target) = env::var_os("CARGO_TARGET_DIR") {
        places.push(Path::new(&target).join("release").join(PASS));
    }
    places.extend(
        own.ancestors()
            .chain(here.ancestors())
            .map(|a| a.join(&built)),
    );
    places.into_iter().find(|p| p.is_file()).ok_or_else(|| {
        format!("the compiler pass is not built: run `{BUILD}`, or name it by MAPA_CASE_PASS")
            .into()
    })
}

/// The CUDA runtime to link with: the toolkit's, or the fake.
pub(super) fn cudart(line: &ClangCommand) -> Result<PathBuf, Box<dyn Error>> {
    let Some(root) = &line.cuda_path else {
        return Ok(fake_cudart::built_library()?);
    };
    for folder in ["lib64", "lib", "targets/x86_64-linux/lib"] {
        for name in [
            "libcudart.so",
            "libcudart.so.12",
            "libcudart.so.11.0",
            "libcudart.so.13",
        ] {
            let library = root.join(folder).join(name);
            if library.is_file() {
                return Ok(library);
            }
        }
    }
    Err(format!(
        "{}: no libcudart.so; expected a CUDA toolkit",
        root.display()
    )
    .into())
}

/// CASE's client library, beside this program or where cargo builds it.
pub(super) fn client() -> Result<PathBuf, Box<dyn Error>> {
    let own = env::current_exe().unwrap_or_default();
    let folder = own.parent().unwrap_or(Path::new(""));
    let above = folder.parent().unwrap_or(folder);
    let names = ["libmapa_case.a", "libmapa_case.so"];
    [
        folder,
        &folder.join("deps"),
        above,
        &folder.join("../lib/mapa-case"),
    ]
    .iter()
    .flat_map(|place| names.map(|n| place.join(n)))
    .find(|p| p.is_file())
    .ok_or_else(|| {
        format!(
            "no libmapa_case.a near {}: expected `cargo build -p mapa-system-case-runtime` before",
            own.display()
        )
        .into()
    })
}
