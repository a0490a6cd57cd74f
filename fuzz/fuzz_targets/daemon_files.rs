//! Any text is a record of a daemon, a configuration or a question, or it is refused; what is read is
//! told to a fresh scheduler without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_front::answer::node::NodeQuery;
use mapa_front::drive_log::replay;
use mapa_front::{Error, Files, Names};
use mapa_live::levers::JournalEntry;
use mapa_node::check_node_config;
use mapa_topologies::Dump;

/// No files.
struct Nothing;

impl Files for Nothing {
    fn bytes(&self, file: &str) -> Result<Vec<u8>, Error> {
        Err(Error::at(file, "no files here"))
    }

    fn exists(&self, _: &str) -> bool {
        false
    }

    fn is_folder(&self, _: &str) -> bool {
        false
    }

    fn machine(&self, folder: &str) -> Result<Dump, Error> {
        Err(Error::at(folder, "no files here"))
    }
}

fuzz_target!(|text: &str| {
    if let Err(what) = check_node_config(text) {
        assert!(!what.is_empty());
    }
    let _ = serde_json::from_str::<NodeQuery>(text);
    let _ = serde_json::from_str::<JournalEntry>(text);
    let _ = replay(text.as_bytes(), &Names::built_in(), &Nothing);
});
