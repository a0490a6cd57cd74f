//! Tests of `mapa-system-slo-lab`.

mod report;
