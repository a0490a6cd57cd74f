//! Every example runs, and the README's picture is what its example draws.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The executable of an example. `cargo test` builds the examples of a package before it runs the
/// tests, and puts them beside the tests' folder: `target/PROFILE/{deps/run-HASH,examples/NAME}`.
fn executable(example: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let profile = test.ancestors().nth(2).expect("a folder above `deps`");
    let file = format!("{example}{}", std::env::consts::EXE_SUFFIX);
    let path = profile.join("examples").join(file);
    assert!(
        path.is_file(),
        "{}: no such file. `cargo test -p mapa-examples` builds it, and so does \
         `cargo build -p mapa-examples --examples`; `--test run` alone does not",
        path.display()
    );
    path
}

/// What an example prints.
fn run(example: &str) -> String {
    run_with(example, &[])
}

/// What an example prints with these arguments.
fn run_with(example: &str, arguments: &[&str]) -> String {
    let output = Command::new(executable(example))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("the executable starts");
    assert!(
        output.status.success(),
        "{example}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("examples print text")
}

#[test]
fn allocate_fills_the_machine() {
    assert_eq!(
        run("allocate"),
        "job 0 runs on 0,1,2,3\njob 1 runs on 4,5,6,7\njob 2 waits: 4 devices are wanted, 0 of the 8 allowed are free\n"
    );
}

#[test]
fn an_application_graph_gets_links_by_what_its_edges_carry() {
    let expected = [
        "exchange: a ring of 4 ranks",
        "left-out: 1 edge below 0.1 % of the busiest, 4.1 kB a step at most",
        "sensitive: by prediction, up to 56 % less time on better links: 8.0 GB an iteration in messages of at least 1e5 \
         bytes take 0.667 s at 12 GB/s and 0.16 s at 50, an iteration 0.4 s",
        "lowest-id      ranks on 1,2,3,4: 0.67 s a step",
        "greedy         ranks on 1,2,6,5: 0.32 s a step",
        "min-step-time  ranks on 1,2,3,5: 0.16 s a step",
    ];
    assert_eq!(
        run("application_graph").lines().collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn a_workload_is_replayed_with_run_times_of_one_s_own() {
    let expected = [
        "generator mapa, seed 1, PCG-XSL-RR 128/64 (rand_pcg 0.10), seeded by FNV-1a of stream and seed",
        "lowest-id    113 of 300 jobs use the host, the last ends after 2332.0 s",
        "topo-aware    71 of 300 jobs use the host, the last ends after 2231.4 s",
        "greedy        81 of 300 jobs use the host, the last ends after 2261.6 s",
        "preserve      80 of 300 jobs use the host, the last ends after 2265.1 s",
    ];
    assert_eq!(run("replay").lines().collect::<Vec<_>>(), expected);
}

#[test]
fn an_own_policy_is_simulated_beside_preserve() {
    let expected = [
        "off-the-host: 494 jobs an hour, 1.06 times as long as at full speed",
        "preserve: 468 jobs an hour, 1.07 times as long as at full speed",
    ];
    assert_eq!(run("simulate").lines().collect::<Vec<_>>(), expected);
}

#[test]
fn policies_are_compared_on_a_pasted_dump() {
    let table = run("compare");
    let of = |policy: &str| {
        table
            .lines()
            .find(|line| line.starts_with(&format!("{policy} ")))
            .unwrap_or_default()
    };
    let words = |policy: &str| {
        of(policy)
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(words("lowest-id"), "0,1 24 GB/s 12 GB/s 72 GB/s");
    assert_eq!(words("topo-aware"), "4,5 24 GB/s 12 GB/s 148 GB/s");
    assert_eq!(words("preserve"), "0,2 100 GB/s 50 GB/s 110 GB/s");
}

#[test]
fn a_fleet_places_and_spreads() {
    let expected = [
        "job 0: GPUs 4 on server 20",
        "job 1: GPUs 12 on server 20",
        "job 2: GPUs 16 on server 21, 8 on server 0, 8 on server 1, 8 on server 2",
        "job 3: 500 devices are wanted, the request and the machine allow 192",
    ];
    assert_eq!(run("fleet").lines().collect::<Vec<_>>(), expected);
    assert!(run_with("fleet", &["80", "200"]).starts_with("10 servers: 200 jobs ended by "));
}

#[test]
fn own_policies_decide() {
    let expected = [
        "healthy: 4,7 at 100 GB/s",
        "from-the-top: 6,7 at 100 GB/s",
        "healthy: 0,4,7 at 112 GB/s",
        "from-the-top: 5,6,7 at 125 GB/s",
        "healthy: busy: not met: not in use by others of the policy healthy",
    ];
    assert_eq!(run("own_policy").lines().collect::<Vec<_>>(), expected);
}

#[test]
fn an_own_scheduler_fills_the_gaps_and_delays_nobody() {
    let expected = [
        "job G is rejected: 9 devices are wanted, the request and the machine allow 8",
        "            0         10        20        30        40        50",
        "dgx-1v GPU0 AAAAAAAAAAAACCCCCCCCCC",
        "dgx-1v GPU1 AAAAAAAAAAAACCCCCCCCCC",
        "dgx-1v GPU2 AAAAAAAAAAAACCCCCCCCCC",
        "dgx-1v GPU3 AAAAAAAAAAAACCCCCCCCCC",
        "dgx-1v GPU4 AAAAAAAAAAAACCCCCCCCCC",
        "dgx-1v GPU5 ......HHHHHHCCCCCCCCCC",
        "dgx-1v GPU6 AAAAAAAAAAAACCCCCCCCCC",
        "dgx-1v GPU7 ............CCCCCCCCCC",
        "summit GPU0 BBBBBBBBBBBBBBBBBBBBIIIIIIIIII",
        "summit GPU1 BBBBBBBBBBBBBBBBBBBBIIIIIIIIII",
        "summit GPU2 BBBBBBBBBBBBBBBBBBBBIIIIIIIIII",
        "summit GPU3 BBBBBBBBBBBBBBBBBBBBFFFFFFFFFFFFFFFF",
        "summit GPU4 ..DDDDDDDDDDEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE",
        "summit GPU5 ..DDDDDDDDDDEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE",
    ];
    assert_eq!(run("own_scheduler").lines().collect::<Vec<_>>(), expected);
}

#[test]
fn instances_are_cut_anew_around_their_tenants() {
    let expected = [
        "bloom-a on GPU0/1g.5gb@0",
        "bloom-b on GPU1/1g.5gb@0",
        "bloom-c on GPU0/1g.5gb@1",
        "resnet on GPU0/1g.5gb@2",
        "large waits: what is free must be repartitioned to meet the request",
        "medium waits: what is free must be repartitioned to meet the request",
        "GPU1: 1g.5gb@0 1g.5gb@1 2g.10gb@2 3g.20gb@4",
        "late on GPU1/1g.5gb@1",
        "large on GPU1/3g.20gb@4",
        "medium on GPU1/2g.10gb@2",
    ];
    assert_eq!(run("mig_slices").lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_training_job_keeps_off_the_host_paths() {
    let expected = [
        "lowest-id      ranks on 1,2,4,3: 175.0 ms a step",
        "greedy         ranks on 1,2,5,6: 44.0 ms a step",
        "min-step-time  ranks on 4,7,5,6: 44.0 ms a step",
    ];
    assert_eq!(run("training_job").lines().collect::<Vec<_>>(), expected);
}

/// The lines of code between `// -- at most N lines` and `// -- end`, and N; blank lines and
/// comments aside.
fn promises(source: &str) -> Vec<(usize, usize)> {
    let mut promises = Vec::new();
    for part in source.split("// -- at most ").skip(1) {
        let (most, rest) = part.split_once(" lines\n").expect("so many lines");
        let code = rest
            .split("// -- end")
            .next()
            .expect("an end")
            .lines()
            .map(str::trim);
        let lines = code
            .filter(|line| !line.is_empty() && !line.starts_with("//"))
            .count();
        promises.push((lines, most.parse().expect("a number")));
    }
    promises
}

#[test]
fn examples_are_as_short_as_they_say() {
    let policies = promises(include_str!("../own_policy.rs"));
    let scheduler = promises(include_str!("../own_scheduler.rs"));
    let simulation = promises(include_str!("../simulate.rs"));
    assert_eq!(
        policies.iter().map(|(_, most)| *most).collect::<Vec<_>>(),
        [12, 12]
    );
    assert_eq!(
        scheduler.iter().map(|(_, most)| *most).collect::<Vec<_>>(),
        [40]
    );
    assert_eq!(
        simulation.iter().map(|(_, most)| *most).collect::<Vec<_>>(),
        [25]
    );
    for (lines, most) in [policies, scheduler, simulation].concat() {
        assert!(
            (1..=most).contains(&lines),
            "{lines} lines, {most} are promised"
        );
    }
}

#[test]
fn excerpts_on_the_page_are_the_code() {
    let page = include_str!("../../docs/write-a-policy.md");
    let mut excerpts = 0;
    for part in page.split("<!-- ").skip(1) {
        let (file, rest) = part
            .split_once(" -->\n```rust\n")
            .expect("a file, then its code");
        let source =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file));
        let source = source.expect("the file is there");
        let code = rest
            .split("```")
            .next()
            .expect("an end")
            .split("\n\n")
            .map(str::trim_end);
        for piece in code.filter(|piece| !piece.starts_with("use ")) {
            assert!(source.contains(piece), "{file} does not have\n{piece}");
            excerpts += 1;
        }
    }
    assert_eq!(excerpts, 3);
}

#[test]
fn the_picture_of_the_readme_is_up_to_date() {
    let committed = include_str!("../../docs/img/dgx-1v.svg");
    assert_eq!(
        run("picture"),
        committed,
        "run the example again, and look at what it draws"
    );
}

#[test]
fn the_page_on_choosing_by_models_has_what_its_example_prints() {
    let page = include_str!("../../docs/bandwidth-models.md");
    for (words, rows) in [(&[][..], 5 * 4), (&["measured"][..], 7)] {
        let printed = run_with("bandwidth_models", words);
        assert_eq!(
            printed.lines().count(),
            rows + 2,
            "a head, a rule and so many rows"
        );
        assert!(
            page.contains(&printed),
            "the page does not have this table:\n{printed}"
        );
    }
    let committed = include_str!("../../docs/img/choosing-by-model.svg");
    assert_eq!(
        run_with("bandwidth_models", &["plot"]),
        committed,
        "run the example again, and look at what it draws"
    );
}

/// What the page says of them.
#[test]
fn eq_2_rates_rings_over_the_host_above_rings_of_direct_links() {
    use mapa_core::{Census, Coefficients};
    let rated = |x, y, z| Coefficients::FULL.predict(&Census::from_xyz(x, y, z));
    assert!(rated(0, 3, 2) > rated(4, 0, 1) && rated(4, 0, 1) > rated(3, 2, 0));
    let of_eight = (0..=8).flat_map(|x| (0..=8 - x).map(move |y| rated(x, y, 8 - x - y)));
    let best = of_eight.clone().fold(0.0, f64::max);
    assert_eq!(
        (best, of_eight.filter(|gbps| *gbps > rated(8, 0, 0)).count()),
        (rated(0, 4, 4), 3)
    );
    assert_eq!(
        format!("{:.1} {:.1}", rated(0, 4, 4), rated(8, 0, 0)),
        "182.8 161.9"
    );
}
