//! Tests of `mapa-system-energy-lab`.

mod report;
