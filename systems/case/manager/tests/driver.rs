//! Programs that were never changed, under a manager, over a CUDA driver that the tests make.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use super::world::{Node, UNIT};

/// Compiles a file of the tests of `mapa-system-case-driver`.
fn cc(words: &[&str], to: &Path) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../driver/tests");
    let built = Command::new("cc")
        .current_dir(sources)
        .args(words)
        .arg("-o")
        .arg(to)
        .args(["-pthread", "-ldl"])
        .status();
    assert!(built.unwrap().success(), "{words:?}");
}

/// The folder in which a program finds MAPA's library first.
fn front(folder: &Path, driver: &Path) -> PathBuf {
    let front = folder.join("front");
    std::fs::create_dir_all(front.join("driver")).unwrap();
    let own = std::env::current_exe().unwrap();
    let own = own.with_file_name("libcase_driver.so");
    std::os::unix::fs::symlink(own, front.join("libcuda.so.1")).unwrap();
    std::os::unix::fs::symlink(driver, front.join("driver/libcuda.so.1")).unwrap();
    front
}

#[test]
fn programs_that_were_never_changed_take_turns_on_one_instance() {
    // Each takes six of ten units, thirty times. Together they would exceed the device, and the driver
    // would refuse one.
    let node = Node::new(&[10], &["--context-bytes", "0"]);
    let at = |name: &str| node.path().join(name);
    let soname = "-Wl,-soname,libcuda.so.1";
    let driver = at("libcuda-of-nvidia.so");
    cc(&["-shared", "-fPIC", soname, "fake_driver.c"], &driver);
    cc(&["-DPROC", "program.c"], &at("program"));
    std::fs::write(at("held"), [0; 8]).unwrap();
    let front = front(node.path(), &driver);
    let start = || -> Child {
        Command::new(env!("CARGO_BIN_EXE_mapa-case"))
            .args(["run", "--interpose", "none", "--socket"])
            .arg(node.socket())
            .arg("--")
            .arg(at("program"))
            .arg("share")
            .env("LD_LIBRARY_PATH", &front)
            .env("FAKE_DRIVER_HELD", at("held"))
            .env("FAKE_DRIVER_LIMIT", (10 * UNIT).to_string())
            .env_remove("CUDA_VISIBLE_DEVICES")
            .spawn()
            .unwrap()
    };
    let children = [start(), start(), start()];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(std::fs::read(at("held")).unwrap(), [0; 8]);
    let entries = node.entries();
    assert!(entries.iter().all(|entry| entry.is_session), "{entries:?}");
}
