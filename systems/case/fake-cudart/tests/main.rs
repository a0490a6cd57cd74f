//! Tests of fake-cudart.

mod oracle;
