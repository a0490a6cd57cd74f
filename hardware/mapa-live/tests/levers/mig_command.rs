//! MIG by a command that prints what `nvidia-smi mig` prints. The command is a script of this test, which keeps its
//! instances in a file; it is no program of NVIDIA's.

use std::fs;
use std::process::Command;

use mapa_live::Live;
use mapa_live::levers::{
    Bounds, LeverChange, LeverSet, MigCommand, MigControl, MigInstanceSpec, MigLayout, MigPlace,
    SimulatedMachine,
};

const SCRIPT: &str = r##"#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/asked"
[ -f "$here/fail" ] && case "$*" in *$(cat "$here/fail")*) rm "$here/fail"; cat "$here/says"; exit 19;; esac
title() { printf '+----+\n| %s |\n|====|\n' "$1"; }
case "$*" in
    *--query-gpu=index,uuid*) printf '0, GPU-a, 0x20B010DE, %s\n1, GPU-v, 0x1DB110DE, [N/A]\n' "$(cat "$here/mode")";;
    *--query-gpu=mig.mode*) [ -f "$here/mode" ] && printf '%s, %s\n' "$(cat "$here/mode")" "$(cat "$here/mode")";;
    *"-mig 1"*) echo Enabled > "$here/mode";;
    *"-mig 0"*) echo Disabled > "$here/mode";;
    *-lgipp*) printf 'GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1\nGPU  0 Profile ID  9 Placements: {0,4}:4\nGPU  0 Profile ID  0 Placement : {0}:8\n';;
    *-lgip*) title 'GPU instance profiles:'
        printf '|   0  MIG 1g.5gb       19     7/7        4.75       No     14     0     0   |\n'
        printf '|                                                             1     0     0   |\n'
        printf '|   0  MIG 3g.20gb       9     2/2        19.62      No     42     2     0   |\n'
        printf '|   0  MIG 7g.40gb       0     1/1        39.50      No     98     5     0   |\n';;
    *-lgi*) [ -s "$here/gi" ] || { echo 'No GPU instances found: Not Found'; exit 6; }
        title 'GPU instances:'
        while read -r id name profile place; do printf '|   0  MIG %s    %s    %s    %s |\n' $name $profile $id $place; done < "$here/gi";;
    *-lcip*) title 'Compute instance profiles:'
        printf '|   0    1  MIG 1c.3g.20gb   0   3/3   14 |\n|   0    1  MIG 2c.3g.20gb   1   1/1   28 |\n'
        printf '|   0    1  MIG 3g.20gb   2*   1/1   42 |\n|   0    1  MIG 1g.5gb   0*   1/1   14 |\n';;
    *-lci*) [ -s "$here/ci" ] || { echo 'No compute instances found: Not Found'; exit 6; }
        title 'Compute instances:'
        while read -r gi id name profile place; do printf '|   0   %s   MIG %s   %s   %s   %s |\n' $gi $name $profile $id $place; done < "$here/ci";;
    *-cgi*) profile=${3%:*}; start=${3#*:}; id=$(( $(wc -l < "$here/gi") + 11 ))
        case $profile in 19) echo "$id 1g.5gb 19 $start:1";; 9) echo "$id 3g.20gb 9 $start:4";; esac >> "$here/gi";;
    *-cci*) gi=$5; name=$(grep "^$gi " "$here/gi" | cut -d' ' -f2); size=${name%%g*}
        [ "$3" = 2 ] && slices=3 || slices=$(( $3 + 1 ))
        [ "$slices" = "$size" ] && kind=$name || kind=${slices}c.$name
        echo "$gi $(wc -l < "$here/ci") $kind $3 0:$slices" >> "$here/ci";;
    *-dci*) grep -v "^$6 $4 " "$here/ci" > "$here/new"; mv "$here/new" "$here/ci";;
    *-dgi*) grep -v "^$4 " "$here/gi" > "$here/new"; mv "$here/new" "$here/gi";;
    *) echo "unknown: $*"; exit 2;;
esac
exit 0
"##;

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.write("script.txt", SCRIPT);
        let says = "Unable to do so: In use by another client\n";
        for (file, text) in [
            ("mode", "Disabled\n"),
            ("gi", ""),
            ("ci", ""),
            ("says", says),
        ] {
            machine.write(file, text);
        }
        let mut copy = Command::new("install");
        copy.args(["-m", "755"])
            .arg(machine.0.path().join("script.txt"))
            .arg(machine.0.path().join("nvidia-smi"));
        assert!(copy.status().unwrap().success());
        machine
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.0.path().join(file), text).unwrap();
    }

    fn mig(&self) -> MigCommand {
        let mut live = Live::default();
        live.nvidia_smi = self.0.path().join("nvidia-smi");
        MigCommand::new(&live)
    }

    fn levers(&self) -> LeverSet {
        let mut levers = SimulatedMachine::new().levers();
        levers.mig = Box::new(self.mig());
        levers
    }
}

fn layout(instances: Vec<MigInstanceSpec>) -> LeverChange {
    LeverChange::Layout {
        device: "GPU-a".to_owned(),
        layout: MigLayout {
            enabled: true,
            instances,
        },
    }
}

/// A build with NVML on a machine without the library.
#[test]
fn without_nvml_layouts_are_made_by_the_command() {
    let machine = Machine::new();
    let mut live = Live::default();
    live.nvidia_smi = machine.0.path().join("nvidia-smi");
    live.nvml = machine.0.path().join("none.so");
    let mut levers = LeverSet::of(&live, Bounds::default());
    let on = levers.plan(&layout(vec![])).unwrap();
    assert!(on.to_string().ends_with("-i GPU-a -mig 1\n"), "{on}");
    levers.apply(&on).unwrap();
    let plan = levers
        .plan(&layout(vec![MigInstanceSpec::of("3g.20gb")]))
        .unwrap();
    levers.apply(&plan).unwrap();
    let has = levers.mig.state("GPU-a").unwrap();
    assert_eq!((has.enabled, has.instances.len()), (true, 1));
    levers.revert(&plan).unwrap();
    levers.revert(&on).unwrap();
    assert!(!levers.mig.state("GPU-a").unwrap().enabled);
}

#[test]
fn a_layout_is_made_and_reverted_by_exact_commands() {
    let machine = Machine::new();
    let mig = machine.mig();
    let devices = mig.devices().unwrap();
    assert_eq!(devices.len(), 1, "one without MIG is left out");
    assert_eq!(devices[0].pci_id, Some(0x20B0_10DE));
    let before = mig.state("GPU-a").unwrap();
    assert!(!before.enabled);
    let mut levers = machine.levers();
    let on = levers.plan(&layout(vec![])).unwrap();
    assert!(on.to_string().ends_with("-i GPU-a -mig 1\n"), "{on}");
    levers.apply(&on).unwrap();
    let change = layout(vec![
        MigInstanceSpec {
            compute: vec![2, 1],
            ..MigInstanceSpec::of("3g.20gb")
        },
        MigInstanceSpec::of("1g.5gb"),
    ]);
    let plan = levers.plan(&change).unwrap();
    let program = machine.0.path().join("nvidia-smi").display().to_string();
    let shown = plan.to_string().replace(&program, "nvidia-smi");
    assert_eq!(
        shown,
        "nvidia-smi mig -cgi 9:0 -i GPU-a\n\
         nvidia-smi mig -cci <2 slices> -gi <at 0> -i GPU-a\n\
         nvidia-smi mig -cci <1 slices> -gi <at 0> -i GPU-a\n\
         nvidia-smi mig -cgi 19:6 -i GPU-a\n\
         nvidia-smi mig -cci <1 slices> -gi <at 6> -i GPU-a\n"
    );
    levers.apply(&plan).unwrap();
    let state = mig.state("GPU-a").unwrap();
    assert_eq!(
        state.instances,
        [
            MigPlace {
                start: 0,
                size: 4,
                profile: "3g.20gb".to_owned(),
                compute: vec![2, 1]
            },
            MigPlace {
                start: 6,
                size: 1,
                profile: "1g.5gb".to_owned(),
                compute: vec![1]
            },
        ]
    );
    assert!(levers.plan(&change).unwrap().is_empty());
    let asked = fs::read_to_string(machine.0.path().join("asked")).unwrap();
    assert!(asked.contains("mig -cgi 9:0 -i GPU-a\n"), "{asked}");
    assert!(asked.contains("mig -cci 1 -gi 11 -i GPU-a\n"), "{asked}");
    levers.revert(&plan).unwrap();
    levers.revert(&on).unwrap();
    assert_eq!(mig.state("GPU-a").unwrap(), before);
}

#[test]
fn a_command_that_fails_leaves_the_partition_as_it_was() {
    let machine = Machine::new();
    let mut levers = machine.levers();
    machine.write("mode", "Enabled\n");
    let plan = levers
        .plan(&layout(vec![MigInstanceSpec::of("3g.20gb")]))
        .unwrap();
    levers.apply(&plan).unwrap();
    let before = machine.mig().state("GPU-a").unwrap();
    let plan = levers
        .plan(&layout(vec![MigInstanceSpec::of("1g.5gb")]))
        .unwrap();
    for fails in ["-dgi", "-dci", "-cgi", "-cci"] {
        // The command fails once: what reverts finds it working.
        machine.write("fail", fails);
        let failure = levers.apply(&plan).unwrap_err();
        assert_eq!(failure.why.reason(), "busy", "{fails}: {failure}");
        assert!(failure.left.is_empty(), "{failure}");
        let after = machine.mig().state("GPU-a").unwrap();
        assert_eq!(after, before, "{fails}");
    }
}

#[test]
fn what_may_not_be_asked_is_not_what_does_not_fit_and_no_device_is_no_empty_list() {
    let machine = Machine::new();
    let mut levers = machine.levers();
    machine.write("mode", "Enabled\n");
    let plan = levers
        .plan(&layout(vec![MigInstanceSpec::of("1g.5gb")]))
        .unwrap();
    for (says, reason) in [
        (
            "Unable to create a GPU instance on GPU 0 using profile 19: Insufficient Resources\n",
            "infeasible",
        ),
        (
            "Unable to create a GPU instance on GPU 0 using profile 19: Insufficient Permissions\n",
            "failed",
        ),
    ] {
        machine.write("says", says);
        machine.write("fail", "-cgi");
        let failure = levers.apply(&plan).unwrap_err();
        assert_eq!(failure.why.reason(), reason, "{failure}");
    }
    machine.write("says", "No devices were found\n");
    machine.write("fail", "-lgi");
    let error = machine.mig().state("GPU-a").unwrap_err();
    insta::assert_snapshot!(
        error.to_string().replace(machine.0.path().to_str().unwrap(), "FOLDER"),
        @"FOLDER/nvidia-smi mig -lgi -i GPU-a: exit status: 19: No devices were found"
    );
    assert_eq!(machine.mig().state("GPU-a").unwrap().instances, []);
}

#[test]
fn what_the_command_lacks_is_reported() {
    let machine = Machine::new();
    fs::remove_file(machine.0.path().join("mode")).unwrap();
    let error = machine.mig().state("GPU-v").unwrap_err();
    assert_eq!(error.reason(), "missing", "{error}");
    let mut live = Live::default();
    live.nvidia_smi = machine.0.path().join("none");
    let error = MigCommand::new(&live).devices().unwrap_err();
    assert_eq!(error.reason(), "missing", "{error}");
}
