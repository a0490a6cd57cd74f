//! Any text in Python is scanned: findings are on lines that it has, and what is proposed has as many ranks as were asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_patterns::{Algorithm, Source, read_pattern, write_pattern};

fuzz_target!(|text: &str| {
    for file in ["x.py"] {
        let source = Source::scan([(file, text)]);
        let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
        assert!(source.findings().iter().all(|found| (1..=lines).contains(&found.line)));
        let Ok(proposal) = source.propose(Some(5), Algorithm::Both) else { continue };
        assert_eq!(proposal.decisions.len(), source.findings().len());
        assert_eq!(proposal.application.pattern.len(), 5);
        let again = read_pattern(&write_pattern(&proposal.application)).expect("what is written can be read");
        assert_eq!(again.pattern, proposal.application.pattern);
    }
});
