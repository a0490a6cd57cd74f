//! The tests of the runtime: messages, sessions, and the C interface, compiled by `cc`.

mod header;
