#![doc = include_str!("../README.md")]

mod array;
pub mod c;
mod physical;
