//! The tests of the node: the ledger, and the program `mapa` with real processes.

mod case;
mod common;
mod crash_points;
mod crowd;
mod daemon;
mod daemon_kills;
mod docs;
mod kills;
mod ledger;
mod live;
mod partitions;
mod run;
