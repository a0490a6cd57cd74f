//! Files that are wrong give errors that say so, and a state survives whoever made it.

use fake_nvml::{CALLS, Config, Fake, Process, State};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use crate::common::Machine;

fn init(machine: &Machine) -> Result<Nvml, NvmlError> {
    Nvml::builder()
        .lib_path(machine.library().as_os_str())
        .init()
}

#[test]
fn a_machine_that_cannot_be_opened_is_no_driver_and_the_log_says_why() {
    let said = ["dgx-7", "/no/such/file.toml", "Cargo.toml"].map(|name| {
        let machine = Machine::new(name);
        assert!(
            matches!(init(&machine), Err(NvmlError::DriverNotLoaded)),
            "{name}"
        );
        // In a file of settings, names of files are relative to its folder.
        let log = machine.log();
        let log = log.replace(machine.path().to_str().unwrap(), "FOLDER");
        // Names by formula follow.
        log.split(" lists, or ").next().unwrap().to_owned()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    fake-nvml: machine `dgx-7`: no machine is called `dgx-7` (did you mean dgx-2, dgx-1p or dgx-1v?): expected a name that `mapa-bench machines`
    fake-nvml: /no/such/file.toml: No such file or directory (os error 2)

    fake-nvml: FOLDER/Cargo.toml: No such file or directory (os error 2)
    ");
    let machine = Machine::with("dgx-1v", |config| config.mig = Some("h50".to_owned()));
    assert!(init(&machine).is_err());
    let log = machine.log();
    assert!(
        log.contains("no GPU with MIG is called `h50`: expected a30"),
        "{log}"
    );
    let error = Fake::open(&Config::default()).err().unwrap().to_string();
    assert!(
        error.starts_with("no machine: expected FAKE_NVML_MACHINE"),
        "{error}"
    );
}

#[test]
fn a_state_file_that_is_wrong_is_told_at_once_and_never_overwritten() {
    let machine = Machine::new("dgx-a100");
    let state = machine.path().join("state");
    let fresh = |json: &str| format!("fake-nvml state 1 generation {:020}\n{json}", 1);
    let devices = |of_first: &str| {
        let rest = ",{}".repeat(7);
        fresh(&format!(
            r#"{{"machine":"dgx-a100","devices":[{of_first}{rest}]}}"#
        ))
    };
    let two =
        r#"{"id":1,"serial":1,"profile":9,"start":0},{"id":2,"serial":2,"profile":5,"start":0}"#;
    let twice =
        r#"{"id":1,"serial":1,"profile":19,"start":0},{"id":1,"serial":2,"profile":19,"start":1}"#;
    let said = [
        String::new(),
        "{}".repeat(40),
        fresh(""),
        fresh("[]"),
        fresh(r#"{"machine":"dgx-a100","devices":[]}"#),
        devices(r#"{"lot":true}"#),
        devices(r#"{"links_down":[12]}"#),
        devices(r#"{"mig":{"instances":[{"id":1,"serial":1,"profile":9,"start":0}]}}"#),
        devices(&format!(
            r#"{{"mig":{{"enabled":true,"instances":[{two}]}}}}"#
        )),
        devices(&format!(
            r#"{{"mig":{{"enabled":true,"instances":[{twice}]}}}}"#
        )),
        devices(
            r#"{"mig":{"enabled":true,"instances":[{"id":1,"serial":1,"profile":3,"start":0}]}}"#,
        ),
    ]
    .map(|text| {
        std::fs::write(&state, &text).unwrap();
        let error = init(&machine).err();
        assert!(
            matches!(error, Some(NvmlError::DriverNotLoaded)),
            "{text}: {error:?}"
        );
        let log = machine.log();
        let last = log
            .lines()
            .last()
            .unwrap()
            .replace(machine.path().to_str().unwrap(), "FOLDER");
        assert_eq!(std::fs::read_to_string(&state).unwrap(), text);
        format!("{text:?} -> {last}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "" -> fake-nvml: FOLDER/state: no state file: expected `fake-nvml state 1 generation ` and twenty digits in its first line
    "{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}" -> fake-nvml: FOLDER/state: no state file: expected `fake-nvml state 1 generation ` and twenty digits in its first line
    "fake-nvml state 1 generation 00000000000000000001\n" -> fake-nvml: FOLDER/state: no state of a machine: EOF while parsing a value at line 1 column 0
    "fake-nvml state 1 generation 00000000000000000001\n[]" -> fake-nvml: FOLDER/state: no state of a machine: invalid length 0, expected struct State with 5 elements at line 1 column 2
    "fake-nvml state 1 generation 00000000000000000001\n{\"machine\":\"dgx-a100\",\"devices\":[]}" -> fake-nvml: FOLDER/state: the state of `dgx-a100` with 0 devices: expected `dgx-a100` with 8
    "fake-nvml state 1 generation 00000000000000000001\n{\"machine\":\"dgx-a100\",\"devices\":[{\"lot\":true},{},{},{},{},{},{},{}]}" -> fake-nvml: FOLDER/state: no state of a machine: unknown field `lot`, expected one of `lost`, `processes`, `counters`, `links_down`, `mig` at line 1 column 39
    "fake-nvml state 1 generation 00000000000000000001\n{\"machine\":\"dgx-a100\",\"devices\":[{\"links_down\":[12]},{},{},{},{},{},{},{}]}" -> fake-nvml: FOLDER/state: device 0: link 12 is down: expected one of its 12 links
    "fake-nvml state 1 generation 00000000000000000001\n{\"machine\":\"dgx-a100\",\"devices\":[{\"mig\":{\"instances\":[{\"id\":1,\"serial\":1,\"profile\":9,\"start\":0}]}},{},{},{},{},{},{},{}]}" -> fake-nvml: FOLDER/state: device 0: instances without MIG mode: expected `enabled`
    "fake-nvml state 1 generation 00000000000000000001\n{\"machine\":\"dgx-a100\",\"devices\":[{\"mig\":{\"enabled\":true,\"instances\":[{\"id\":1,\"serial\":1,\"profile\":9,\"start\":0},{\"id\":2,\"serial\":2,\"profile\":5,\"start\":0}]}},{},{},{},{},{},{},{}]}" -> fake-nvml: FOLDER/state: device 0: 3g.20gb@0 and 4g.20gb@0 overlap
    "fake-nvml state 1 generation 00000000000000000001\n{\"machine\":\"dgx-a100\",\"devices\":[{\"mig\":{\"enabled\":true,\"instances\":[{\"id\":1,\"serial\":1,\"profile\":19,\"start\":0},{\"id\":1,\"serial\":2,\"profile\":19,\"start\":1}]}},{},{},{},{},{},{},{}]}" -> fake-nvml: FOLDER/state: device 0: numbers of instances: expected small ones, and none twice
    "fake-nvml state 1 generation 00000000000000000001\n{\"machine\":\"dgx-a100\",\"devices\":[{\"mig\":{\"enabled\":true,\"instances\":[{\"id\":1,\"serial\":1,\"profile\":3,\"start\":0}]}},{},{},{},{},{},{},{}]}" -> fake-nvml: FOLDER/state: device 0: profile 3: expected one of an a100-40gb
    "#);
}

#[test]
fn a_state_file_that_breaks_while_it_is_in_use_is_an_error_and_a_mended_one_is_read() {
    let machine = Machine::new("dgx-1v");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    let device = nvml.device_by_index(0).unwrap();
    fake.lose(1).unwrap();
    let state = machine.path().join("state");
    let good = std::fs::read(&state).unwrap();
    std::fs::write(&state, b"broken").unwrap();
    assert!(matches!(device.name(), Err(NvmlError::Unknown)));
    assert!(fake.lose(2).is_err());
    assert!(machine.log().contains("no state file"));
    std::fs::write(&state, good).unwrap();
    assert!(device.name().is_ok());
    assert!(matches!(nvml.device_by_index(1), Err(NvmlError::GpuLost)));
    // Without the file, the machine has just started.
    std::fs::remove_file(&state).unwrap();
    assert!(nvml.device_by_index(1).is_ok());
}

#[test]
fn a_state_outlives_those_who_made_it() {
    let machine = Machine::new("dgx-a100");
    {
        let (nvml, fake) = (machine.nvml(), machine.fake());
        fake.start_process(1, Process::new(7)).unwrap();
        fake.set_mig(0, true).unwrap();
        fake.create_instance(0, "2g.10gb", Some(2)).unwrap();
        drop(nvml);
    }
    let nvml = machine.nvml();
    let device = nvml.device_by_index(1).unwrap();
    assert_eq!(device.running_compute_processes().unwrap()[0].pid, 7);
    let mig = nvml
        .device_by_index(0)
        .unwrap()
        .mig_device_by_index(0)
        .unwrap();
    assert_eq!(mig.name().unwrap(), "NVIDIA A100-SXM4-40GB MIG 2g.10gb");
    let text = machine.fake().state().unwrap().write().unwrap();
    assert_eq!(
        State::read(text.as_bytes()).unwrap(),
        *machine.fake().state().unwrap()
    );
}

#[test]
fn without_a_state_file_each_process_has_its_own() {
    let machine = Machine::with("dgx-1v", |config| config.state = None);
    let nvml = machine.nvml();
    machine.fake().lose(0).unwrap();
    assert!(nvml.device_by_index(0).is_ok());
}

#[test]
fn the_readme_lists_every_call_and_setting() {
    let readme = include_str!("../README.md");
    for call in CALLS {
        assert!(readme.contains(&format!("`{call}`")), "{call}");
    }
    let listed = readme.matches("`nvml").count();
    assert!(listed >= CALLS.len());
    for name in [
        "MACHINE",
        "STATE",
        "PRODUCT",
        "MIG",
        "DRIVER",
        "PRIVILEGED",
        "LOG",
    ] {
        assert!(readme.contains(&format!("`FAKE_NVML_{name}`")), "{name}");
    }
}
