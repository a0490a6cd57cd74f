//! The integration tests of `mapa`, in one binary.

mod names;
