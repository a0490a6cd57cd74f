//! `contention`: who shares which hop, and how slow each job is.

use crate::common::{Folder, error, run, stderr, text};
use serde_json::{Value, json};

const SEVENTHS: &str = "--machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g";

/// Four jobs, the last of which is put where most is left.
const SHARED: &str = "job,profile,device\n\
    a,Bloom7b1,GPU0/1g.5gb@0\nb,Bloom560m,GPU0/1g.5gb@1\nc,Bloom7b1,GPU0/1g.5gb@2\nd,Bloom7b1,\ne,ResNet50,\n";

#[test]
fn contention_says_who_shares_which_hop_and_how_slow_each_is() {
    let words = format!("contention {SEVENTHS} --pcie-gbps 30.08 --jobs -");
    let answer: Value = serde_json::from_str(&text(&format!("{words} --json"), SHARED)).unwrap();
    let slow = |at: usize, model: &str| answer["jobs"][at]["slowdown"][model].as_f64().unwrap();
    let close =
        |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found}: {answer}");
    for (at, equal, fair) in [
        (0, 1.884, 2.468),
        (1, 1.0, 1.0),
        (2, 1.884, 2.468),
        (3, 1.0, 2.468),
        (4, 1.0, 1.0),
    ] {
        close(slow(at, "equal-share"), equal);
        close(slow(at, "max-min"), fair);
    }
    let device = |at: usize| answer["jobs"][at]["device"].as_str().unwrap();
    // Eq. 2 sees GPUs only, so the last goes to the neighbour behind the same switch, where max-min
    // makes it share.
    assert_eq!((device(0), device(3)), ("GPU0/1g.5gb@0", "GPU1/1g.5gb@0"));
    let hops = answer["hops"].as_array().unwrap();
    assert_eq!(
        (&hops[0]["from"], &hops[0]["jobs"]),
        (&json!("GPU0"), &json!(["a", "b", "c"]))
    );
    let hop = hops.iter().find(|hop| hop["from"] == "plx0").unwrap();
    assert_eq!(hop["jobs"], json!(["a", "b", "c", "d"]));
    close(
        hop["wanted_gbps"].as_f64().unwrap(),
        3.0 * 17.65 * 1.07 + 5.7 * 1.25,
    );
    close(hop["carried_gbps"].as_f64().unwrap(), 30.08);
    // The page shows what is printed of all but the last.
    let printed = text(&words, SHARED.trim_end_matches("e,ResNet50,\n"));
    assert!(
        include_str!("../../docs/contention.md").contains(printed.trim_end()),
        "{printed}"
    );
}

#[test]
fn jobs_of_contention_that_cannot_be_are_refused_by_line() {
    let words = format!("contention {SEVENTHS} --jobs -");
    let said = [
        "job,profile,device\na,Bloom8,GPU0\n",
        "job,speed\n",
        "job,pcie_gbps\na,-1\n",
        "job,pcie_gbps\na,1\na,1\n",
        "job,device\na,GPU0/1g.5gb@0\n",
        "job,pcie_gbps,device\na,1,GPU77\n",
        "job,pcie_gbps,slice\na,1,1g\n",
        "job,pcie_gbps,slice\na,1,7g.8m\n",
        "job,pcie_gbps,device\na,1,GPU0\n",
        "job,pcie_gbps,device\na,1,GPU1/1g.5gb@0\nb,1,GPU1/1g.5gb@0\n",
    ]
    .map(|jobs| format!("{jobs}{}", stderr(&words, run(&words, jobs))));
    insta::assert_snapshot!(said.join("\n"), @"
    job,profile,device
    a,Bloom8,GPU0
    error: -: line 2: no profile is called `Bloom8`: expected ResNet50, Bloom560m, Bloom7b1
    job,speed
    error: -: line 1: column `speed`: expected job, profile, pcie_gbps, pcie_alpha, slice, device
    job,pcie_gbps
    a,-1
    error: -: line 2: pcie_gbps `-1`: expected GB/s from 0 to 4294967.295, at most three digits after the point
    job,pcie_gbps
    a,1
    a,1
    error: -: line 3: job `a` again: expected names that differ
    job,device
    a,GPU0/1g.5gb@0
    error: -: line 2: expected a profile, or pcie_gbps
    job,pcie_gbps,device
    a,1,GPU77
    error: -: line 2: no single device is called `GPU77`: expected an id below 120, or a name, UUID or PCI address
    job,pcie_gbps,slice
    a,1,1g
    error: -: line 2: slice `1g`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    job,pcie_gbps,slice
    a,1,7g.8m
    error: -: line 2: job `a`: it cannot be placed: what is free must be repartitioned to meet the request
    job,pcie_gbps,device
    a,1,GPU0
    error: -: line 2: job `a`: GPU0 is not in the current layout: expected GPU0/1g.5gb@0, GPU0/1g.5gb@1, GPU0/1g.5gb@2, GPU0/1g.5gb@3, GPU0/1g.5gb@4, GPU0/1g.5gb@5, GPU0/1g.5gb@6
    job,pcie_gbps,device
    a,1,GPU1/1g.5gb@0
    b,1,GPU1/1g.5gb@0
    error: -: line 3: job `b`: GPU1/1g.5gb@0 is in use by `a`
    ");
}

#[test]
fn a_picture_of_no_jobs_is_refused_with_the_file() {
    let folder = Folder::new();
    let (jobs, svg) = (folder.write("none.csv", ""), folder.path("out.svg"));
    let words = format!("contention {SEVENTHS} --jobs {jobs} --svg {svg}");
    let said = error(&words);
    assert_eq!(
        said.trim_end(),
        "error: FOLDER/none.csv: no jobs, so there is nothing to draw: expected at least one for --svg"
    );
    assert!(!folder.at("out.svg").exists());
}

#[test]
fn errors_of_a_profile_name_the_file_and_the_job() {
    let folder = Folder::new();
    for (runs, expected) in [
        (
            "job,copies,runtime_s\na,1,1e-300\na,2,1e300\n",
            "infinitely many times",
        ),
        ("job,copies,runtime_s\nb,1,1\n", "its demand is missing"),
    ] {
        let file = folder.write("runs.csv", runs);
        let said = error(&format!("profile {file} --demand a=10 --max-gbps 20"));
        assert!(
            said.contains("runs.csv: job `") && said.contains(expected),
            "{said}"
        );
    }
}
