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
mod holdings;
pub mod message;
mod process;
pub mod segment;
mod transport;

pub use c::{SharedServer, SharedTransport, receive_files, send_files};
pub use client::{CONNECT_TIMEOUT, Declared, Instance, Session, connect_timeout_of_environment};
pub use error::Error;
pub use holdings::AllocationKey;
pub use process::{BYTES, Hooks, ProcessTasks, TaskEvent};
pub use transport::{SOCKET, Socket, TRANSPORT, Transport, socket_of_environment};
