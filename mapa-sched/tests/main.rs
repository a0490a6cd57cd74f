//! The integration tests of this crate in one binary, which links once instead of once a file.
//! Schedulers on fleets are compared with slow and obvious implementations.

mod backfill;
mod cordons;
mod counts;
mod decide;
mod defrag;
mod drive;
mod events;
mod fifo;
mod first_fit;
mod index;
mod orders;
mod own;
mod slow_easy;
mod slow_list;
mod snapshot;
mod spread;
mod turn;
mod withheld;
