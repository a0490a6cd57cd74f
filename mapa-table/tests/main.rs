//! Every test of this crate, as one binary.

mod table;
