//! The tests of the runtime: messages, sessions, and the C interface, compiled by `cc`.

mod c;
mod header;
mod manager;
mod message;
mod ring;
mod session;
