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
    for (name, why) in [
        ("dgx-7", "no machine is called `dgx-7`"),
        ("/no/such/file.toml", "/no/such/file.toml: No such file"),
        ("Cargo.toml", "Cargo.toml: "),
    ] {
        let machine = Machine::new(name);
        assert!(
            matches!(init(&machine), Err(NvmlError::DriverNotLoaded)),
            "{name}"
        );
        // In a file of settings, names of files are relative to its folder.
        let log = machine.log();
        assert!(
            log.starts_with("fake-nvml: ") && log.contains(why),
            "{name}: {log}"
        );
    }
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
    let cases = [
        (String::new(), "no state file: expected `fake-nvml state 1"),
        (
            "{}".repeat(40),
            "no state file: expected `fake-nvml state 1",
        ),
        (fresh(""), "no state of a machine: EOF"),
        (fresh("[]"), "no state of a machine: "),
        (
            fresh(r#"{"machine":"dgx-a100","devices":[]}"#),
            "the state of `dgx-a100` with 0 devices: expected `dgx-a100` with 8",
        ),
        (devices(r#"{"lot":true}"#), "unknown field `lot`, expected"),
        (
            devices(r#"{"links_down":[12]}"#),
            "device 0: link 12 is down: expected one of its 12 links",
        ),
        (
            devices(r#"{"mig":{"instances":[{"id":1,"serial":1,"profile":9,"start":0}]}}"#),
            "device 0: instances without MIG mode",
        ),
        (
            devices(&format!(
                r#"{{"mig":{{"enabled":true,"instances":[{two}]}}}}"#
            )),
            "device 0: ",
        ),
        (
            devices(&format!(
                r#"{{"mig":{{"enabled":true,"instances":[{twice}]}}}}"#
            )),
            "numbers of instances: expected small ones, and none twice",
        ),
        (
            devices(
                r#"{"mig":{"enabled":true,"instances":[{"id":1,"serial":1,"profile":3,"start":0}]}}"#,
            ),
            "profile 3: expected one of an a100-40gb",
        ),
    ];
    for (text, why) in cases {
        std::fs::write(&state, &text).unwrap();
        let error = init(&machine).err();
        assert!(
            matches!(error, Some(NvmlError::DriverNotLoaded)),
            "{text}: {error:?}"
        );
        let log = machine.log();
        let last = log.lines().last().unwrap();
        assert!(
            last.contains(why) && last.contains("state: "),
            "{text}\n{last}"
        );
        assert_eq!(std::fs::read_to_string(&state).unwrap(), text);
    }
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
