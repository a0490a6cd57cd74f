//! Tests of `mapa-system-case-lab`.

mod report;
