//! What a program with a command line gives its user's shell and terminal: completions, manual pages, help that fits the
//! screen, and what was wrong with the words, for an answer in JSON.

mod completions;
mod help;
mod layout;
mod pages;

pub use clap_complete::Shell;
pub use completions::{OptionValues, completions, named_values};
pub use help::{CommandGroup, fault, with_help};
pub use pages::{ManualPage, pages};
