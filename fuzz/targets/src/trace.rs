//! Any text is read as a trace, as run times, as a selection and as a generator, or refused; what
//! words mean can be said in words.

use mapa_sim::{Generator, Selection, TraceKind, read_run_times, read_trace, read_trace_part};

use crate::input::{parts, text};

/// One input.
pub fn run(data: &[u8]) {
    let [words, text] = parts(data).map(text);
    let selection = words.parse::<Selection>().unwrap_or_default();
    if let Ok(kind) = TraceKind::recognise(text) {
        let whole = read_trace(kind, text);
        let part = read_trace_part(kind, text, &selection);
        if let (Ok(whole), Ok(part)) = (whole, part) {
            assert!(part.jobs.len() <= whole.jobs.len());
        }
    }
    for kind in TraceKind::ALL {
        let _ = read_trace(kind, &format!("{}\n{text}", kind.header()));
    }
    let _ = read_run_times(text);
    if let Ok(mut generator) = words.parse::<Generator>() {
        // Small ones only: time is for the words here.
        generator.jobs = generator.jobs.min(100);
        let drawn = generator.generate(1);
        let again = generator.to_string().parse::<Generator>();
        assert!(drawn.is_err() || again.is_ok_and(|again| again.generate(1).is_ok()));
    }
}
