//! To come.

use crate::dump::Dump;
use crate::error::Error;

pub(super) fn is(_text: &str) -> bool {
    false
}

pub(super) fn read(_text: &str) -> Result<Dump, Error> {
    Err(Error::new("to come"))
}
