//! Schedulers by name.

use mapa_core::Policy;

use crate::error::{Error, ErrorKind};
use crate::fifo::Fifo;
use crate::scheduler::Scheduler;

/// A built-in scheduler that takes any policy: its name and what it does in one line; [`BuiltIn::named`] makes it.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// The name.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    make: fn(Box<dyn Policy>) -> Box<dyn Scheduler + Send>,
}

impl BuiltIn {
    /// Every built-in scheduler.
    pub const ALL: [Self; 1] = [Self {
        name: "fifo",
        summary: "first in, first out; a head that cannot start blocks all others, as in the paper's evaluation",
        make: |policy| Box::new(Fifo::new(policy)),
    }];

    /// The built-in scheduler of this name, every job placed by this policy.
    ///
    /// # Errors
    /// No such scheduler; the message lists those there are.
    pub fn named(name: &str, policy: Box<dyn Policy>) -> Result<Box<dyn Scheduler + Send>, Error> {
        let known = || Self::ALL.map(|own| own.name).join(", ");
        let found = Self::ALL.iter().find(|own| own.name == name);
        found
            .map(|own| (own.make)(policy))
            .ok_or_else(|| ErrorKind::UnknownScheduler { name: name.to_owned(), known: known() }.into())
    }
}
