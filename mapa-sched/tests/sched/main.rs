//! Schedulers on fleets, against slow and obvious ways of saying the same.

mod decide;
mod driver;
mod facts;
mod fifo;
mod machines;
mod own;
mod turn;
