//! Nothing: texts have their values in `mapa-core/tests/extremes/shared.rs`, and files are tried by the other tests.
