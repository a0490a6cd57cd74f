//! What must hold of every source that was scanned.

use mapa_patterns::{Algorithm, Source, read_pattern, write_pattern};

/// Findings are on lines that it has, and what is proposed has as many ranks as were asked for and
/// survives the pattern file.
pub fn scanned(file: &str, text: &str) {
    let source = Source::scan([(file, text)]);
    let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    assert!(
        source
            .findings()
            .iter()
            .all(|found| (1..=lines).contains(&found.line))
    );
    let Ok(proposal) = source.propose(Some(5), Algorithm::Both) else {
        return;
    };
    assert_eq!(proposal.decisions.len(), source.findings().len());
    assert_eq!(proposal.application.pattern.len(), 5);
    let again =
        read_pattern(&write_pattern(&proposal.application)).expect("what is written can be read");
    assert_eq!(again.pattern, proposal.application.pattern);
}
