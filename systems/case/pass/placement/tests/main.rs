//! Tests of the placement of tasks.

mod flows;
mod walks;
