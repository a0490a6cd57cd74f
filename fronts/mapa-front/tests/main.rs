//! The integration tests of `mapa-front`, in one binary.

mod answer;
mod keys;
