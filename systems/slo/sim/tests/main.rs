//! The integration tests of this crate in one binary, which links once instead of once a file.

mod tenants;
