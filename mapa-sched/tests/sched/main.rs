//! Schedulers on fleets, against slow and obvious ways of saying the same.

mod backfill;
mod counts;
mod decide;
mod driver;
mod facts;
mod fifo;
mod machines;
mod orders;
mod own;
mod turn;
