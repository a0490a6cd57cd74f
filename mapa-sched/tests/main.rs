//! The integration tests of this crate in one binary, which links once instead of once a file.
//! Schedulers on fleets are compared with slow and obvious implementations.

mod backfill;
mod bounds;
mod case;
mod cordons;
mod counts;
mod decide;
mod defrag;
mod drive;
mod driver;
mod energy;
mod energy_scheduler;
mod facts;
mod fifo;
mod first_fit;
mod foresight;
mod index;
mod learned;
mod machines;
mod orders;
mod own;
mod pcie;
mod pcie_plan;
mod ring_bounds;
mod slo;
mod snapshot;
mod spread;
mod topology_plan;
mod turn;
mod withheld;
