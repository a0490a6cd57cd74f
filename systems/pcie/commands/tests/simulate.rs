//! `simulate` by the scheduler of this system.

use crate::common::{Folder, answer, error, text};
use serde_json::Value;

/// Four A100 in sevenths, and nine jobs of 50 s that copy as Bloom7b1 does: alone at full speed,
/// two on a GPU 1.256 times as long, three 1.884 times.
#[test]
fn schedulers_of_instances_run_by_their_own_policy_and_by_what_is_set() {
    let folder = Folder::new();
    let jobs = format!(
        "gpus,duration_s,slice,pcie_gbps,pcie_alpha\n{}",
        "1,50,1g.1m,17.65,1.07\n".repeat(9)
    );
    folder.write("jobs.csv", jobs);
    let words = format!(
        "simulate --machine a100-pcie-4-bridged --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --jobs {} --execution pcie-equal-share",
        folder.path("jobs.csv")
    );
    let makespan = |scheduler: &str| {
        let answer = answer(&format!("{words} --scheduler {scheduler}"));
        let [policy] = &answer["policies"].as_array().unwrap()[..] else {
            panic!("{answer}")
        };
        assert_eq!(
            (&answer["scheduler"], &policy["finished"]),
            (&Value::from(scheduler), &Value::from(9))
        );
        assert!((0.0..=1.0).contains(&policy["utilisation"].as_f64().unwrap()));
        (
            policy["policy"].as_str().unwrap().to_owned(),
            policy["makespan_s"].as_f64().unwrap(),
        )
    };
    let two = 50.0 * 1.07 * 17.65 * 2.0 / 30.08;
    for (scheduler, policy, expected) in [
        // Two on each GPU, and one that waits for the first of them.
        ("pcie-aware", "pcie-aware", two + 50.0),
        // One on each.
        ("pcie-aware,delay=1", "pcie-aware", 150.0),
        // All at once, and one GPU has three of them.
        ("pcie-aware,delay=none", "pcie-aware", two * 1.5),
        // So once they have waited too long, at once.
        ("pcie-aware,wait=0", "pcie-aware", two * 1.5),
        // The port is so wide that the scheduler predicts no slowdown; there is one.
        ("pcie-aware,gbps=1000", "pcie-aware", two * 3.5),
        ("first-gpu", "lowest-id", two * 3.5),
    ] {
        let (own, seconds) = makespan(scheduler);
        assert_eq!(own, policy);
        assert!(
            (seconds - expected).abs() < 1e-6,
            "{scheduler}: {seconds}, not {expected}"
        );
    }
    let wide = answer(&format!("{words},gbps=1000 --scheduler first-gpu"));
    assert_eq!(wide["policies"][0]["makespan_s"], 50.0);
    let told = text(&format!("{words} --scheduler pcie-aware"), "");
    assert!(
        told.contains("| pcie-aware |        9 |") && !told.contains("effective bandwidth, GB/s"),
        "{told}"
    );
    folder.write("jobs.csv", "gpus,duration_s,pcie_gbps\n1,50,17.65\n");
    let told = text(&format!("{words} --scheduler pcie-aware"), "");
    let note = "note       pcie-aware: 1 of the waiting jobs wants whole devices, and some devices are partitioned: a column `slice` requests instances";
    assert!(
        told.contains("waiting    pcie-aware: 1 job never") && told.contains(note),
        "{told}"
    );
    let none = words.replace("pcie-equal-share", "fixed");
    let note = "the scheduler delays jobs to avoid PCIe contention, which fixed ignores: expected --execution pcie-equal-share or pcie-max-min";
    assert!(text(&format!("{none} --scheduler pcie-aware"), "").contains(note));
    assert!(
        !text(&format!("{none} --scheduler first-gpu"), "").contains(note) && !told.contains(note)
    );
    insta::assert_snapshot!(
        error(&format!("{words} --scheduler pcie-aware --policy greedy")),
        @"error: the scheduler pcie-aware places jobs by pcie-aware, not by greedy: expected --policy pcie-aware, or none"
    );
    let said = [
        "delay=-1",
        "delay=0.9",
        "wait=x",
        "gbps=0",
        "speed=1",
        "delay",
        "wait=1,wait=2",
    ]
    .map(|setting| error(&format!("{words} --scheduler pcie-aware,{setting}")));
    insta::assert_snapshot!(said.join("\n"), @"
    error: scheduler `pcie-aware,delay=-1`: `delay=-1`: expected a factor of at least 1, or none
    error: scheduler `pcie-aware,delay=0.9`: `delay=0.9`: expected a factor of at least 1, or none
    error: scheduler `pcie-aware,wait=x`: `wait=x`: expected seconds from 0 on, or none
    error: scheduler `pcie-aware,gbps=0`: `gbps=0`: expected GB/s above 0
    error: scheduler `pcie-aware,speed=1`: `speed=1`: no setting is called `speed`: expected delay=FACTOR|none, wait=SECONDS|none, gbps=GB/s
    error: scheduler `pcie-aware,delay`: `delay`: expected delay=FACTOR|none, wait=SECONDS|none, gbps=GB/s
    error: scheduler `pcie-aware,wait=1,wait=2`: `wait=2`: already set by `wait=1`: expected each setting once
    ");
}
