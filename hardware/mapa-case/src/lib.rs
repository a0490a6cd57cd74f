#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and the process is somebody else's"
)]

pub mod c;
mod client;
mod error;
pub mod message;
mod process;
mod transport;

pub use client::{Declared, Instance, PATIENCE, Session};
pub use error::Error;
pub use process::{Hooks, Process, What};
pub use transport::{SOCKET, Socket, Transport, socket_of_environment};
