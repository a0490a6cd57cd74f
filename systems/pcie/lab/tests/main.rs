//! Tests of `mapa-system-pcie-lab`.

mod report;
