//! Schedulers on fleets, against slow and obvious ways of saying the same.

mod backfill;
mod counts;
mod decide;
mod defrag;
mod driver;
mod facts;
mod fifo;
mod foresight;
mod index;
mod machines;
mod orders;
mod own;
mod pcie;
mod spread;
mod turn;
