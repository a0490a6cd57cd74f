//! Any text is a record of a daemon, a configuration or a question, or it is refused; what is read is
//! told to a fresh scheduler without a panic.

use mapa_front::answer::node::NodeQuery;
use mapa_front::drive_log::replay;
use mapa_front::{InMemory, Names};
use mapa_live::levers::JournalEntry;
use mapa_node::check_node_config;

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    if let Err(what) = check_node_config(text) {
        assert!(!what.is_empty());
    }
    let _ = serde_json::from_str::<NodeQuery>(text);
    let _ = serde_json::from_str::<JournalEntry>(text);
    let _ = replay(text.as_bytes(), &Names::built_in(), &InMemory::default());
}
