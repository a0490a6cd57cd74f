//! Benchmarks only: see the folder `benches`.
