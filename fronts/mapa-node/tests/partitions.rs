//! Machines whose Fabric Manager gives partitions: only these sets are handed out.

use std::collections::BTreeSet;
use std::path::Path;

use super::common::{Place, error};

fn place() -> Place {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hgx-a100-partitions.toml");
    Place::of(file.to_str().unwrap())
}

#[test]
fn whatever_the_policy_a_job_gets_a_partition_or_waits_for_one() {
    let place = place();
    // GPU1 is held: of the pair {0, 1} only GPU0 is left, and {0, 2} is no partition.
    let holder = [
        "run",
        "-n",
        "1",
        "--must-include",
        "GPU1",
        "--",
        "sh",
        "-c",
        "echo >>$LOCKS/there; sleep 600",
    ];
    let mut holder = place.mapa(&holder).spawn().unwrap();
    place.await_lines("there", 1);
    let pairs: BTreeSet<String> = ["[2,3]", "[4,5]", "[6,7]"].map(str::to_owned).into();
    for policy in [
        "auto",
        "preserve",
        "greedy",
        "lowest-id",
        "topo-aware",
        "max-bandwidth",
        "foresight",
    ] {
        let placed = place.json(&["run", "-n", "2", "--policy", policy, "--dry-run"]);
        let mut devices: Vec<u64> = placed["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value.as_u64().unwrap())
            .collect();
        devices.sort_unstable();
        let devices = serde_json::to_string(&devices).unwrap();
        assert!(pairs.contains(&devices), "{policy}: {placed}");
    }
    // Seven are free, but no set of three is offered, and the set of eight is not free.
    let three = place.run(&["run", "-n", "3", "--", "true"]);
    assert_eq!(three.status.code(), Some(69));
    assert!(
        error(&three).contains("offers sets of 1, 2, 4, 8"),
        "{}",
        error(&three)
    );
    assert_eq!(
        place.run(&["run", "-n", "8", "--", "true"]).status.code(),
        Some(75)
    );
    holder.kill().unwrap();
    holder.wait().unwrap();
    let lease = place.json(&["ps"])["leases"][0]["lease"].to_string();
    assert!(place.run(&["release", &lease]).status.success());
    assert_eq!(
        place.run(&["run", "-n", "8", "--", "true"]).status.code(),
        Some(0)
    );
}
