//! The pattern file: what is written is read again, and what is wrong is refused with its line.

use std::collections::BTreeSet;
use std::fmt::Write;

use mapa_core::{Parallelism, Pattern, Shape};
use mapa_patterns::{
    Application, Note, NoteKind, Sensitivity, Unit, Verdict, read_pattern, write_pattern,
};
use proptest::prelude::*;

const HEAD: &str = "format = \"mapa-pattern\"\nversion = 1\nname = \"job\"\n";

fn refused(rest: &str) -> (Option<usize>, String) {
    let error = read_pattern(&format!("{HEAD}{rest}")).expect_err(rest);
    (error.line(), error.to_string())
}

#[test]
fn every_error_names_its_line_and_what_was_expected() {
    let said = [
        ("ranks = 2\nedges = [[0, 1], [0, 2]]", 5),
        ("ranks = 2\nedges = [\n  [0, 1],\n  [1, 1, 2.0],\n]", 7),
        ("ranks = 2\nedges = [\n  [0, 1],\n  [0, 1, 0.0],\n]", 7),
        ("ranks = 2\nedges = [\n  [0, 1],\n  [0, 1, nan],\n]", 7),
        ("ranks = 2\nedges = [\n  [0, 1],\n  [0, 1, inf],\n]", 7),
        ("ranks = 2\nedges = [\n  [0, 1],\n  [0, 1, -2],\n]", 7),
        ("ranks = 2\nedges = [\n  [0, 1, \"many\"],\n]", 6),
        ("ranks = 2\nedges = [\n  [0]]", 6),
        ("ranks = 2\nedges = [\n  [0, 1, 2, 3]]", 6),
        ("ranks = 2\nedges = [\n  [0, 70000]]", 6),
        ("ranks = 2\nedges = [\n  [0, 1],\n  7]", 7),
        ("ranks = -1", 4),
        ("ranks = 1025", 4),
        ("ranks = 2\n\nlabels = [\"a\"]", 6),
        ("ranks = 2\nunit = \"furlongs\"", 5),
        ("ranks = 2\nsensitivity = \"very\"", 5),
        ("ranks = 2\ncolour = \"red\"", 5),
        ("ranks = 2\n[[notes]]\nkind = \"rumour\"\nwhat = \"\"", 6),
        (
            "ranks = 2\n[[notes]]\nkind = \"assumed\"\nwho = \"me\"\nwhat = \"\"",
            7,
        ),
        ("", 3),
        ("bytes = \"tp=1\"\nranks = 2", 4),
        ("parallelism = \"tp=two\"", 4),
        ("parallelism = \"tp=2\"\nbytes = \"pp\"", 5),
        ("parallelism = \"tp=2\"\nranks = 3", 5),
        ("parallelism = \"tp=1024,dp=2\"", 4),
        ("unit = \"channels\"\nparallelism = \"tp=2\"", 4),
        ("parallelism = \"tp=2\"\nedges = [[0, 1]]", 5),
        ("ranks = 2\nranks = 3", 5),
        ("ranks = 2\nedges = [[0, 1]", 5),
    ]
    .map(|(rest, line)| {
        let (at, error) = refused(rest);
        assert_eq!(at, Some(line), "{rest}: {error}");
        assert!(error.starts_with(&format!("line {line}: ")), "{error}");
        format!("{rest:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "ranks = 2\nedges = [[0, 1], [0, 2]]" -> line 5: edge 1 (0-2) leaves the pattern: expected vertices below 2
    "ranks = 2\nedges = [\n  [0, 1],\n  [1, 1, 2.0],\n]" -> line 7: edge 1 joins vertex 1 to itself: no device talks to itself
    "ranks = 2\nedges = [\n  [0, 1],\n  [0, 1, 0.0],\n]" -> line 7: edge 1 has traffic 0: expected a positive number
    "ranks = 2\nedges = [\n  [0, 1],\n  [0, 1, nan],\n]" -> line 7: edge 1 has traffic NaN: expected a positive number
    "ranks = 2\nedges = [\n  [0, 1],\n  [0, 1, inf],\n]" -> line 7: edge 1 has traffic inf: expected a positive number
    "ranks = 2\nedges = [\n  [0, 1],\n  [0, 1, -2],\n]" -> line 7: edge 1 has traffic -2: expected a positive number
    "ranks = 2\nedges = [\n  [0, 1, \"many\"],\n]" -> line 6: invalid type: string "many", expected f64
    "ranks = 2\nedges = [\n  [0]]" -> line 6: invalid length 1, expected [A, B] or [A, B, TRAFFIC]
    "ranks = 2\nedges = [\n  [0, 1, 2, 3]]" -> line 6: invalid length 4, expected [A, B] or [A, B, TRAFFIC]
    "ranks = 2\nedges = [\n  [0, 70000]]" -> line 6: invalid value: integer `70000`, expected u16
    "ranks = 2\nedges = [\n  [0, 1],\n  7]" -> line 7: invalid type: integer `7`, expected [A, B] or [A, B, TRAFFIC]
    "ranks = -1" -> line 4: invalid value: integer `-1`, expected usize
    "ranks = 1025" -> line 4: a pattern of 1025 vertices: expected at most 1024
    "ranks = 2\n\nlabels = [\"a\"]" -> line 6: 1 labels for 2 ranks: expected one for each
    "ranks = 2\nunit = \"furlongs\"" -> line 5: unit `furlongs`: expected one of unknown, bytes, bytes-per-step, channels
    "ranks = 2\nsensitivity = \"very\"" -> line 5: sensitivity `very`: expected one of sensitive, insensitive, unknown
    "ranks = 2\ncolour = \"red\"" -> line 5: unknown field `colour`, expected one of `format`, `version`, `name`, `source`, `ranks`, `unit`, `edges`, `labels`, `sensitivity`, `why`, `parallelism`, `bytes`, `notes`
    "ranks = 2\n[[notes]]\nkind = \"rumour\"\nwhat = \"\"" -> line 6: note of the kind `rumour`: expected one of assumed, undecided, left-out
    "ranks = 2\n[[notes]]\nkind = \"assumed\"\nwho = \"me\"\nwhat = \"\"" -> line 7: unknown field `who`, expected one of `kind`, `place`, `what`
    "" -> line 3: expected `ranks = N`, or `parallelism = "tp=.."`, beside the name
    "bytes = \"tp=1\"\nranks = 2" -> line 4: bytes: expected `parallelism = "tp=.."` beside them
    "parallelism = \"tp=two\"" -> line 4: parallel job: `tp=two`: expected tp=T,pp=P,dp=D, sp=S or ulysses=S, ep=E and etp=1, order=tp-cp-ep-dp-pp, each once and degrees whole numbers of at least 1, such as tp=4,pp=2,dp=1
    "parallelism = \"tp=2\"\nbytes = \"pp\"" -> line 5: parallel job: `pp`: expected tp=T,pp=P,dp=D, sp=S, ep=E, edp=F, each once and a number of bytes from 0 to 1e18, such as tp=2e9,pp=1e8
    "parallelism = \"tp=2\"\nranks = 3" -> line 5: ranks: expected 2, as tp=2,pp=1,dp=1 has
    "parallelism = \"tp=1024,dp=2\"" -> line 4: parallelism: tp=1024,pp=1,dp=2 has 2048 ranks: expected at most 1024
    "unit = \"channels\"\nparallelism = \"tp=2\"" -> line 4: unit `channels`: expected bytes-per-step, beside `parallelism`
    "parallelism = \"tp=2\"\nedges = [[0, 1]]" -> line 5: edges: they follow from `parallelism`; expected one of them
    "ranks = 2\nranks = 3" -> line 5: duplicate key
    "ranks = 2\nedges = [[0, 1]" -> line 5: unclosed array, expected `]`
    "#);
}

#[test]
fn files_of_another_kind_or_version_are_refused_by_name() {
    let said = [
        (
            "format = \"mapa-coefficients\"\nversion = 1\nname = \"a\"\nranks = 2",
            1,
        ),
        (
            "format = \"mapa-pattern\"\nversion = 2\nname = \"a\"\nranks = 2",
            2,
        ),
        (
            "format = \"mapa-pattern\"\nversion = 1\nname = \"\"\nranks = 2",
            3,
        ),
        (
            "format = \"mapa-pattern\"\nversion = 1\nname = \"a\\nb\"\nranks = 2",
            3,
        ),
        (
            "format = \"mapa-pattern\"\nversion = 1\nname = \"a\\u001b[0m\"\nranks = 2",
            3,
        ),
        (
            "format = \"mapa-pattern\"\nversion = 1\nname = 5\nranks = 2",
            3,
        ),
    ]
    .map(|(text, line)| {
        let error = read_pattern(text).expect_err(text);
        assert!(error.line() == Some(line));
        format!("{text:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "format = \"mapa-coefficients\"\nversion = 1\nname = \"a\"\nranks = 2" -> line 1: format = "mapa-coefficients": expected "mapa-pattern"
    "format = \"mapa-pattern\"\nversion = 2\nname = \"a\"\nranks = 2" -> line 2: version = 2: expected 1
    "format = \"mapa-pattern\"\nversion = 1\nname = \"\"\nranks = 2" -> line 3: name: expected a name on one line
    "format = \"mapa-pattern\"\nversion = 1\nname = \"a\\nb\"\nranks = 2" -> line 3: name: expected a name on one line
    "format = \"mapa-pattern\"\nversion = 1\nname = \"a\\u001b[0m\"\nranks = 2" -> line 3: name: expected a name on one line
    "format = \"mapa-pattern\"\nversion = 1\nname = 5\nranks = 2" -> line 3: invalid type: integer `5`, expected a string
    "#);
    let missing = read_pattern("version = 1").unwrap_err().to_string();
    insta::assert_snapshot!(missing, @"line 1: missing field `format`");
}

#[test]
fn an_edge_given_twice_counts_twice() {
    let read = read_pattern(&format!(
        "{HEAD}ranks = 2\nedges = [[0, 1, 2.0], [1, 0, 3.0], [0, 1, 2.0]]"
    ))
    .unwrap();
    assert_eq!(
        read.pattern,
        Pattern::from_edges(2, [(0, 1, 2.0), (1, 0, 3.0), (0, 1, 2.0)]).unwrap()
    );
    assert_eq!(read.pattern.edges().len(), 3);
}

#[test]
fn what_is_not_told_has_its_default() {
    let read = read_pattern(&format!("{HEAD}ranks = 3\nedges = [[2, 0], [0, 1, 4]]")).unwrap();
    let application = Application::new(
        "job",
        "",
        Pattern::from_edges(3, [(0, 2, 1.0), (0, 1, 4.0)]).unwrap(),
    );
    assert_eq!(read, application);
    let read = read_pattern(&format!(
        "{HEAD}parallelism = \"tp=2,dp=2\"\nbytes = \"tp=3\""
    ))
    .unwrap();
    let job = "tp=2,dp=2"
        .parse::<Parallelism>()
        .unwrap()
        .with_bytes_of("tp=3")
        .unwrap();
    assert_eq!(
        (read.pattern, read.unit, read.parallelism),
        (job.pattern(), Unit::BytesPerStep, Some(job))
    );
    let quiet = read_pattern(&format!("{HEAD}ranks = 3")).unwrap();
    assert!(quiet.pattern.edges().is_empty());
}

/// Whatever is set in an application, its file can be read.
#[test]
fn what_a_file_cannot_say_is_left_out_of_it() {
    let again = |application: &Application| read_pattern(&write_pattern(application)).unwrap();
    let mut application = Application::new("two\nlines\u{7f}", "a\nb", Pattern::ring(3));
    application.labels = vec!["one".to_owned()];
    application.parallelism = Some("tp=2".parse().unwrap());
    let read = again(&application);
    assert_eq!(
        (read.name.as_str(), read.source.as_str()),
        ("two lines ", "a\nb")
    );
    assert!(read.labels.is_empty() && read.parallelism.is_none());
    assert_eq!(read.pattern, application.pattern);
    application.name.clear();
    assert_eq!(again(&application).name, "pattern");
}

#[test]
fn hundreds_of_ranks_that_all_talk_are_read_at_once() {
    let ranks = mapa_core::testing::scaled(1024).max(400) as usize;
    let application = Application::new("large", "", Shape::AllToAll.pattern(ranks));
    let text = write_pattern(&application);
    assert_eq!(read_pattern(&text).unwrap(), application);
    // An edge that cost as much as all before it would take minutes here.
    // The last line at fault is found as fast.
    let last = |bytes: &str| format!("[{}, {}, {bytes}]", ranks - 2, ranks - 1);
    let wrong = text.replacen(&last("1.0"), &last("-1.0"), 1);
    let error = read_pattern(&wrong).unwrap_err();
    let line = wrong
        .lines()
        .position(|line| line.contains("-1.0"))
        .unwrap()
        + 1;
    assert_eq!(error.line(), Some(line), "{error}");
}

/// Texts with what files and terminals trip over.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[\"'\\\\\n\r\t=#\\[\\]]{0,12}",
        Just("'''\"\"\"\\".to_owned()),
        Just("\u{feff}\u{2028}ü漢\u{1f600}".to_owned()),
    ]
}

fn name() -> impl Strategy<Value = String> {
    text()
        .prop_map(|text| text.replace(char::is_control, "_"))
        .prop_filter("not empty", |name| !name.is_empty())
}

fn note() -> impl Strategy<Value = Note> {
    let kinds = prop::sample::select(NoteKind::ALL.to_vec());
    (kinds, text(), text()).prop_map(|(kind, place, what)| Note { kind, place, what })
}

fn pattern() -> impl Strategy<Value = (Pattern, Option<Parallelism>)> {
    let traffic = prop_oneof![
        Just(1.0),
        1e-300..1e300f64,
        Just(f64::MIN_POSITIVE),
        Just(f64::MAX),
        Just(0.1 + 0.2)
    ];
    let own = (2..40u16).prop_flat_map(move |ranks| {
        let edge = (0..ranks, 1..ranks, traffic.clone())
            .prop_map(move |(a, step, t)| (a, (a + step) % ranks, t));
        let edges = prop::collection::vec(edge, 0..30);
        edges.prop_map(move |edges| {
            (
                Pattern::from_edges(usize::from(ranks), edges).unwrap(),
                None,
            )
        })
    });
    let job = (1..5usize, 1..4usize, 1..4usize, 0.0..1e18f64, 0.0..1e12f64).prop_map(
        |(tp, pp, dp, tensor, data)| {
            let job: Parallelism = format!("tp={tp},pp={pp},dp={dp}").parse().unwrap();
            let job = job
                .with_bytes_of(&format!("tp={tensor},dp={data}"))
                .unwrap();
            (job.pattern(), Some(job))
        },
    );
    prop_oneof![own, job]
}

prop_compose! {
    fn application()(
        (pattern, parallelism) in pattern(),
        (name, source, why) in (name(), text(), text()),
        unit in prop::sample::select(Unit::ALL.to_vec()),
        sensitivity in prop::sample::select(Sensitivity::ALL.to_vec()),
        notes in prop::collection::vec(note(), 0..4),
        labelled in any::<bool>(),
        labels in prop::collection::vec(text(), 40..41),
    ) -> Application {
        let mut application = Application::new(name, source, pattern);
        application.labels = labels.into_iter().cycle().take(if labelled { application.pattern.len() } else { 0 }).collect();
        application.verdict = Verdict { sensitivity, why };
        let unit = if parallelism.is_some() { Unit::BytesPerStep } else { unit };
        (application.unit, application.parallelism, application.notes) = (unit, parallelism, notes);
        application
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(app in application()) {
        let text = write_pattern(&app);
        prop_assert_eq!(read_pattern(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?, app);
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = read_pattern(&text);
    }

    /// A file with one character changed is read or refused, and what is read can be written.
    #[test]
    fn damaged_files_are_read_or_refused(app in application(), at in any::<prop::sample::Index>(), to in any::<char>()) {
        let mut text: Vec<char> = write_pattern(&app).chars().collect();
        let at = at.index(text.len());
        text[at] = to;
        if let Ok(read) = read_pattern(&text.into_iter().collect::<String>()) {
            prop_assert_eq!(read_pattern(&write_pattern(&read)).unwrap(), read);
        }
    }

    /// Quotes, backslashes and line ends in names do not leave their quotes: outside of them the
    /// text is ours.
    #[test]
    fn drawings_keep_texts_in_their_quotes(app in application()) {
        let dot = app.to_dot();
        let (mut bare, mut inside, mut escaped) = (String::new(), false, false);
        for c in dot.chars() {
            match c {
                '\\' if inside && !escaped => escaped = true,
                '"' if !escaped => inside = !inside,
                c => {
                    escaped = false;
                    if !inside { write!(bare, "{c}").unwrap() }
                }
            }
        }
        prop_assert!(!inside, "{dot}");
        let edges = bare.matches(" -- ").count();
        let strands: BTreeSet<_> = app.pattern.edges().iter().map(|e| (e.a, e.b, e.traffic.to_bits())).collect();
        prop_assert_eq!(edges, strands.len(), "{}", dot);
        prop_assert!(bare.chars().all(|c| c.is_ascii() && (c == '\n' || !c.is_ascii_control())), "{}", bare);
        prop_assert_eq!(bare.matches('{').count(), 1);
    }
}
