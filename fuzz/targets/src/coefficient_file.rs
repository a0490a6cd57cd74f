//! Any text is read or refused; what is read can be written and read again, and predicts the same.

use mapa_core::{Census, Pattern, Policy, Request, Rules, criteria::max};
use mapa_regress::{read_model, write_model};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(model) = read_model(text) else { return };
    assert_eq!(
        read_model(&write_model(&model)).expect("what is written can be read"),
        model
    );
    let counts: Vec<u32> = (0..model.tiers().len() as u32).collect();
    let census = Census::from_counts(&counts).expect("as many as there are tiers");
    let explained: f64 = model
        .explain(&census)
        .map(|(_, value, coefficient)| value * coefficient)
        .sum();
    assert!(explained == model.predict(&census) || !explained.is_finite());
    let graph = mapa_topologies::named("dgx-1v")
        .expect("in the catalogue")
        .graph()
        .expect("a sound machine");
    let free = graph.all();
    let rules = Rules::new("by model").prefer(max(model.objective()));
    assert!(
        rules
            .decide(&Request::new(Pattern::ring(3)), &graph.with_free(&free))
            .is_ok()
    );
}
