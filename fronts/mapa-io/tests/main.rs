//! One binary, which links once.

mod reading;
mod text;
mod writing;
