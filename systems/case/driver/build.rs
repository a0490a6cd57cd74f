//! Makes the library depend on NVIDIA's, by a path beside its own.
//!
//! The linker copies the soname of what it links into the list of needed libraries. So an empty
//! library whose soname is that path stands in for NVIDIA's, which is not on the machine that builds.

use std::env;
use std::path::Path;
use std::process::Command;

/// `$ORIGIN` is the folder in which the loader has found this library.
const DRIVER: &str = "$ORIGIN/driver/libcuda.so.1";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os != "linux") {
        return;
    }
    let folder = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let stand_in = Path::new(&folder).join("driver.so");
    // What links the library itself, if it is not the default.
    let linker = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&linker)
        .args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"])
        .arg(&stand_in)
        .arg(format!("-Wl,-soname,{DRIVER}"))
        .status();
    assert!(
        status.is_ok_and(|exit_status| exit_status.success()),
        "expected {linker} to make an empty library"
    );
    let arguments = [
        // A loader that has it gives it to everyone who asks for the driver.
        "-Wl,-soname,libcuda.so.1",
        // A program that closes it and opens it again finds its session, and the binding, as they were.
        "-Wl,-z,nodelete",
        // Functions of the runtime are for this library alone: a program may have its own.
        "-Wl,--exclude-libs,ALL",
        // Nothing of it is used at build time.
        "-Wl,--push-state,--no-as-needed",
        &stand_in.to_string_lossy(),
        "-Wl,--pop-state",
    ];
    for argument in arguments {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
