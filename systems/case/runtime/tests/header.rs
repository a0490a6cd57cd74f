//! The C header.

use std::fs;
use std::path::Path;

/// Set `MAPA_WRITE_HEADER=1` to write the header.
#[test]
fn the_header_is_that_of_the_functions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in ["abi.rs", "runtime.rs", "lazy_abi.rs"] {
        builder = builder.with_src(folder.join("src/c").join(file));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let file = folder.join("include/mapa_case.h");
    if std::env::var_os("MAPA_WRITE_HEADER").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        found, made,
        "expected the header that MAPA_WRITE_HEADER=1 writes"
    );
}
