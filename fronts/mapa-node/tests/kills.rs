//! kill -9 at random: of programs, of their commands, and of what those have started. `MAPA_ROUNDS`
//! sets how many rounds there are, 50 if it is not set.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mapa_core::testing::seed;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::common::{LOCK, Place};
use super::crowd::judge;

/// The processes of this test that bear the mark of a lease of this ledger: process and lease.
pub(crate) fn marked(place: &Place) -> BTreeSet<(u32, i64)> {
    let mut found = BTreeSet::new();
    let folder = format!("LOCKS={}", place.path().display());
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A zombie holds nothing, and its variables read as none.
        let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
        let mut variables = variables
            .split(|byte| *byte == 0)
            .map(String::from_utf8_lossy);
        if variables.clone().any(|variable| variable == folder)
            && let Some(mark) = variables
                .find_map(|variable| variable.strip_prefix("MAPA_LEASE=").map(str::to_owned))
            // Several reads make the text: if the process executes another program between two, its mark may be cut.
            && let Some(Ok(lease)) = mark.rsplit(':').next().map(str::parse)
        {
            found.insert((pid, lease));
        }
    }
    found
}

#[test]
fn after_kills_no_device_is_held_twice_no_lease_is_dead_and_none_is_lost() {
    let rounds: u64 = std::env::var("MAPA_ROUNDS").map_or(50, |text| text.parse().unwrap());
    let place = Place::new();
    let mut random = Pcg64::seed_from_u64(seed(29));
    let mut adopted = 0;
    for round in 0..rounds {
        let mut runs: Vec<Child> = (0..random.random_range(3..7))
            .map(|_| start(&place, &mut random))
            .collect();
        for _ in 0..random.random_range(1..4) {
            thread::sleep(Duration::from_millis(random.random_range(0..60)));
            // The program itself, or anything that a lease's command has started.
            let marked: Vec<u32> = marked(&place).into_iter().map(|(pid, _)| pid).collect();
            let own = &mut runs[random.random_range(0..3)];
            if marked.is_empty() || random.random_bool(0.5) {
                own.kill().unwrap();
            } else {
                kill(marked[random.random_range(0..marked.len())]);
            }
            // Not lost: a process that lives before and after the read has its lease in it.
            let before = self::marked(&place);
            let answer = place.json(&["ps"]);
            let after = self::marked(&place);
            let leases: BTreeSet<i64> = answer["leases"]
                .as_array()
                .unwrap()
                .iter()
                .map(|value| value["lease"].as_i64().unwrap())
                .collect();
            for (pid, lease) in before.intersection(&after) {
                assert!(
                    leases.contains(lease),
                    "round {round}: process {pid} runs without its lease {lease}: {answer}"
                );
            }
            adopted += answer["leases"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|value| value["adopted"] == true)
                .count();
        }
        for run in &mut runs {
            run.wait().unwrap();
        }
        // Whatever outlived its program ends by itself soon; until then its lease holds.
        let begun = Instant::now();
        // A process that is just being replaced by another program shows no variables for a moment.
        let mut quiet = 0;
        while quiet < 5 {
            assert!(begun.elapsed() < Duration::from_secs(30), "round {round}");
            thread::sleep(Duration::from_millis(4));
            quiet = if marked(&place).is_empty() {
                quiet + 1
            } else {
                0
            };
        }
        let answer = place.json(&["recover"]);
        assert_eq!(
            answer["leases"].as_array().unwrap().len(),
            0,
            "round {round}: {answer}"
        );
        assert_eq!(place.json(&["free"])["free"], 8, "round {round}");
        let faults = place.text("faults");
        if !faults.is_empty() {
            let log = place.log();
            let last = log.len().saturating_sub(40);
            let lines: Vec<String> = log[last..].iter().map(ToString::to_string).collect();
            panic!("round {round}: {faults}{}", lines.join("\n"));
        }
    }
    let log = place.log();
    judge(&log);
    // The rounds were worth it: programs died and their commands went on.
    assert!(
        adopted > 0 && log.iter().any(|value| value["kind"] == "adopt"),
        "nothing was adopted"
    );
}

fn start(place: &Place, random: &mut Pcg64) -> Child {
    let gpus = ["1", "2", "3", "5"][random.random_range(0..4)];
    let [a, b] = [0, 0].map(|_: i32| random.random_range(0..250));
    // A child that outlives its parent, or the other way round.
    let script = format!("{LOCK} sleep 0.{a:03} & sleep 0.{b:03}");
    let mut words = vec!["run", "-n", gpus];
    if random.random_bool(0.8) {
        words.push("--wait");
    }
    words.extend(["--", "sh", "-c", &script]);
    place
        .mapa(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(crate) fn kill(pid: u32) {
    // It may have ended meanwhile.
    drop(
        Command::new("kill")
            .args(["-9", &pid.to_string()])
            .stderr(Stdio::null())
            .status(),
    );
}
