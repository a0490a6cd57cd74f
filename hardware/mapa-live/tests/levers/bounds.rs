//! Each lever refuses what is out of bounds, and names the bound.

use mapa_live::levers::{
    BlockIoLimits, Bounds, CgroupPath, LeverChange, LeverEvent, LeverManager, Lifetime,
    MemoryJournal, MigInstanceSpec, MigLayout, MpsServer, ProgramSpec, ReadinessProbe,
};
use mapa_live::{Cpus, ProcessId};

use super::{bound, group, machine};

fn refused(change: &LeverChange) -> String {
    let twin = machine();
    let before = twin.state();
    let error = twin.levers().plan(change).unwrap_err();
    assert_eq!(twin.state(), before);
    assert_eq!(error.reason(), "out-of-bounds", "{error}");
    let name = bound(&error).to_owned();
    assert!(error.to_string().contains(&name), "{error}");
    name
}

#[test]
fn block_io() {
    let of = |limits| LeverChange::BlockIo {
        group: group("mapa/etl"),
        device: "254:0".parse().unwrap(),
        limits,
    };
    for mb_s in [0, 99, 501] {
        assert_eq!(refused(&of(BlockIoLimits::mb_s(mb_s))), "io_mb_s");
    }
    for bytes in [99_999_999, 500_000_001] {
        let limits = BlockIoLimits {
            write_bps: Some(bytes),
            ..BlockIoLimits::NONE
        };
        assert_eq!(refused(&of(limits)), "io_mb_s");
    }
    let limits = BlockIoLimits {
        read_iops: Some(1),
        ..BlockIoLimits::NONE
    };
    assert_eq!(refused(&of(limits)), "io_ops");
    for mb_s in [100, 500] {
        machine()
            .levers()
            .plan(&of(BlockIoLimits::mb_s(mb_s)))
            .unwrap();
    }
}

#[test]
fn mps() {
    let server = MpsServer("/mps".into());
    for percent in [0, 49, 101] {
        let change = LeverChange::MpsPercent {
            server: server.clone(),
            percent,
        };
        assert_eq!(refused(&change), "mps_percent");
    }
    let change = LeverChange::MpsPinned {
        server,
        device: 0,
        mib: Some(255),
    };
    assert_eq!(refused(&change), "mps_pinned_mib");
}

#[test]
fn cpus_and_nodes() {
    for cpus in ["", "8", "0-8"] {
        let cpus: Cpus = cpus.parse().unwrap();
        let change = LeverChange::Cpuset {
            group: group("mapa/etl"),
            cpus: cpus.clone(),
            mems: None,
        };
        assert_eq!(refused(&change), "cpus");
        let process = ProcessId { pid: 7, start: 7 };
        assert_eq!(refused(&LeverChange::Affinity { process, cpus }), "cpus");
    }
    let change = LeverChange::Cpuset {
        group: group("mapa/etl"),
        cpus: "0".parse().unwrap(),
        mems: Some("2".parse().unwrap()),
    };
    assert_eq!(refused(&change), "mems");
}

#[test]
fn programs_and_times() {
    let mut program = ProgramSpec::new("a", ["serve"]);
    program.ready_s = 601;
    assert_eq!(
        refused(&LeverChange::Run {
            program: program.clone()
        }),
        "ready_s"
    );
    program.ready_s = 1;
    program.stop_s = 301;
    assert_eq!(refused(&LeverChange::Run { program }), "stop_s");
    let (mut manager, _) =
        LeverManager::open(machine().levers(), MemoryJournal::default(), 0).unwrap();
    let change = LeverChange::MpsPercent {
        server: MpsServer("/mps".into()),
        percent: 60,
    };
    for ms in [0, 495_001] {
        let event = manager.apply(&change, Lifetime::Until { ms }, 0);
        let LeverEvent::Refused { why, .. } = event else {
            panic!("{event:?}")
        };
        assert_eq!(bound(&why), "max_duration_s");
    }
}

#[test]
fn what_can_never_be_is_infeasible_and_says_what_was_expected() {
    let twin = machine();
    let levers = twin.levers();
    let layout = |instances| LeverChange::Layout {
        device: "GPU-a".to_owned(),
        layout: MigLayout {
            enabled: true,
            instances,
        },
    };
    let eight = vec![MigInstanceSpec::of("1g.5gb"); 8];
    let at = |start| {
        vec![MigInstanceSpec {
            start: Some(start),
            ..MigInstanceSpec::of("3g.20gb")
        }]
    };
    let parts = vec![MigInstanceSpec {
        compute: vec![2, 2],
        ..MigInstanceSpec::of("3g.20gb")
    }];
    let https = {
        let mut program = ProgramSpec::new("a", ["serve"]);
        program.ready = ReadinessProbe::Http {
            url: "https://127.0.0.1/".to_owned(),
        };
        LeverChange::Run { program }
    };
    let said = [
        layout(vec![MigInstanceSpec::of("9g.1gb")]),
        layout(eight),
        layout(at(2)),
        layout(parts),
        layout(vec![
            MigInstanceSpec::of("3g.20gb"),
            MigInstanceSpec::of("3g.20gb"),
            MigInstanceSpec::of("1g.5gb"),
        ]),
        https,
        LeverChange::Run {
            program: ProgramSpec::new("a b", ["x"]),
        },
        LeverChange::Run {
            program: ProgramSpec::new("a", [""; 0]),
        },
        LeverChange::BlockIo {
            group: CgroupPath::default(),
            device: "254:0".parse().unwrap(),
            limits: BlockIoLimits::mb_s(100),
        },
    ]
    .map(|change| {
        let error = levers.plan(&change).unwrap_err();
        assert_eq!(error.reason(), "infeasible", "{error}");
        error.to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    profile 9g.1gb: expected one of 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb
    8 instances of 1g.5gb: expected at most 7
    3g.20gb at 2: expected a start of [0, 4]
    compute instances [2, 2] of 3g.20gb: expected 1 to 3 slices in all
    the layout [3g.20gb, 3g.20gb, 1g.5gb]: its instances do not fit together
    program a: https://127.0.0.1/: expected a URL that begins with http://
    program `a b`: expected an id of 1 to 128 letters, digits, `-`, `_` and `.`
    program a: expected a command: a program and its arguments
    group /: expected a group below the root, which cannot be limited
    ");
    for path in ["a/../b", "a//b", "..", "a\nb"] {
        assert!(CgroupPath::new(path).is_err(), "{path}");
    }
    assert!("254".parse::<mapa_live::levers::BlockDevice>().is_err());
}

#[test]
fn bounds_are_a_setting() {
    let bounds: Bounds = serde_json::from_str(r#"{"io_mb_s": {"min": 1, "max": 2}}"#).unwrap();
    assert_eq!((bounds.io_mb_s.min, bounds.io_mb_s.max), (1, 2));
    assert_eq!(bounds.mps_percent, Bounds::default().mps_percent);
    let mut levers = machine().levers();
    levers.bounds = bounds;
    let change = LeverChange::BlockIo {
        group: group("mapa/etl"),
        device: "254:0".parse().unwrap(),
        limits: BlockIoLimits::mb_s(2),
    };
    levers.plan(&change).unwrap();
}
