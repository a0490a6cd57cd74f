//! `tune`: the same result on one thread and several, in one go and after an interruption.

use std::fs;

use serde_json::Value;

use crate::common::{Folder, stderr};
use crate::schema::assert_valid;

const SHORT: &str = "tune --days 2 --held-out-days 2 --rate 3 --layouts 7|4,3 --rounds 2";

fn prices(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.at(name)).unwrap()
}

#[test]
fn threads_change_nothing_and_the_result_is_never_worse_than_the_start() {
    let folder = Folder::new();
    let mut answers = Vec::new();
    for threads in 1..3 {
        let words = format!("{SHORT} --threads {threads} --into prices-{threads}.toml");
        let mut answer = folder.answer(&words);
        assert_valid("tune", &answer);
        assert!(answer["score"].as_f64() <= answer["start_score"].as_f64());
        assert_eq!(answer["history"].as_array().unwrap().len(), 2);
        assert_eq!(answer["held_out"].as_array().unwrap().len(), 4);
        assert!(!folder.at(&format!("prices-{threads}.toml.part")).exists());
        answer["file"] = Value::Null;
        answers.push(answer);
    }
    assert_eq!(answers[0], answers[1]);
    // The file is read again as a start, and nothing is better than where it stands at once.
    let again = folder.answer(&format!(
        "{} --from prices-1.toml",
        SHORT.replace("--rounds 2", "--rounds 1")
    ));
    assert!(again["score"].as_f64() <= answers[0]["score"].as_f64());
}

#[test]
fn a_search_that_was_interrupted_goes_on_where_it_was() {
    let folder = Folder::new();
    let whole = format!("{SHORT} --search-layouts --into whole.toml");
    let whole = folder.answer(&whole);
    assert!(
        whole["history"].as_array().unwrap().len() > 4,
        "two phases and layouts"
    );
    // Stopped after its first round: the state is that of a search of one round with the settings
    // of the longer one.
    let words = format!("{SHORT} --search-layouts --into rest.toml");
    let mut child = folder.command(&words).spawn().unwrap();
    let state = folder.at("rest.toml.part");
    while !state.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let _ = child.kill();
    child.wait().unwrap();
    if state.exists() {
        let error = stderr(&words, folder.run(&words));
        insta::assert_snapshot!(
            error,
            @"error: rest.toml.part: a search is under way: expected --resume, or no such file"
        );
        let other = words.replace("--days 2", "--days 3");
        let error = stderr(&other, folder.run(&format!("{other} --resume")));
        insta::assert_snapshot!(
            error,
            @"error: rest.toml.part: a search with other options or days: expected the same, or no such file"
        );
    }
    let resumed = folder.answer(&format!("{words} --resume"));
    let strip = |text: String| text.replace("rest", "whole");
    assert_eq!(
        strip(prices(&folder, "rest.toml")),
        prices(&folder, "whole.toml")
    );
    assert_eq!(resumed["history"], whole["history"]);
}

#[test]
fn job_files_of_ones_own_are_tuned_for() {
    let folder = Folder::new();
    let mut text = String::from("slice,gpus,arrival_s,duration_s,estimate_s,deadline_s\n");
    for job in 0..30 {
        let arrives = 20 * job;
        text.push_str(&format!(
            "any,1,{arrives},60,1g.1m=300 2g.2m=150 3g.4m=100 4g.4m=80 7g.8m=60,{}\n",
            arrives + 200
        ));
    }
    folder.write("monday.csv", &text);
    folder.write("friday.csv", text.replace("=300", "=310"));
    let words = "tune --jobs monday.csv --held-out friday.csv --layouts 4,2,1|3,2,2 --rounds 2";
    let answer = folder.answer(words);
    assert_valid("tune", &answer);
    assert_eq!(answer["layouts"], "4,2,1|3,2,2");
    assert!((answer["slack"][0].as_f64().unwrap() - 200.0 / 60.0).abs() < 1e-9);
    let printed = String::from_utf8(folder.run(words).stdout).unwrap();
    for word in ["score ", "layouts   4,2,1|3,2,2", "largest-first", "tuned "] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
}

#[test]
fn what_cannot_be_tuned_says_what_was_expected() {
    let folder = Folder::new();
    folder.write("fixed.csv", "gpus,duration_s,arrival_s\n2,60,0\n");
    folder.write("wrong.toml", "name = \"x\"\n");
    let said = [
        "tune --jobs fixed.csv",
        "tune --from cheap --days 1",
        "tune --from wrong.toml --days 1",
        "tune --days 0",
        "tune --days 1 --rate 0",
        "tune --days 1 --weights 0,0,0",
        "tune --days 1 --layouts 5",
        "tune --days 1 --rounds 0",
        "tune --days 1 --sigma nan",
    ]
    .map(|words| format!("{words}\n{}", stderr(words, folder.run(words))));
    insta::assert_snapshot!(said.join("\n"), @r#"
    tune --jobs fixed.csv
    error: fixed.csv: job 0: not for one slice of any size with a known run time: expected slice any, gpus 1, and estimate_s by size of slice such as 1g.1m=50 2g.2m=25
    tune --from cheap --days 1
    error: --from: no prices `cheap`: expected published-layouts, searched-layouts, exact-run-times, best-layouts, rough-run-times, tight-deadlines, repartitioned
    tune --from wrong.toml --days 1
    error: wrong.toml: prices: TOML parse error at line 1, column 1
      |
    1 | name = "x"
      | ^
    missing field `what`
    tune --days 0
    error: days to tune for: expected one or more, each with a job
    tune --days 1 --rate 0
    error: a day of 0 jobs a minute from minute 0, slack 2 to 4: expected a rate above 0, and a slack of 1 or more that does not fall
    tune --days 1 --weights 0,0,0
    error: objective: all weights are 0: expected one above 0
    tune --days 1 --layouts 5
    error: layout of GPU 0: `5`: expected sizes of 1, 2, 3, 4 or 7 with commas between them, such as 4,2,1
    tune --days 1 --rounds 0
    error: tune: 0 rounds of 30 samples with an elite of 6: expected a round or more, an elite of 2 or more, and no fewer samples
    tune --days 1 --sigma nan
    error: sigma NaN of run times: expected a number of 0 or more
    "#);
}
