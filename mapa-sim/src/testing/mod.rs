//! Oracles for other people's tests: slow, obvious, and without the machinery of what they check. Feature `testing`.

mod reference;

pub use reference::{fifo, replay};
