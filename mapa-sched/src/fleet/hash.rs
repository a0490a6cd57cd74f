//! Hashes of requests and of tenants.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use mapa_core::Request;

use crate::job::Tenant;

/// A hash of a tenant. The XOR of several is a hash of their set, to which one is added and from
/// which it is removed at no cost.
pub(crate) fn hash_of_tenant(tenant: Tenant) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(tenant)
}

/// A hash of the parts that usually differ between requests. Equal requests have equal hashes;
/// others rarely do.
pub(crate) fn hash_of(request: &Request) -> u64 {
    let mut hash = 0u64;
    // Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4): the factor is 2^64 over the golden ratio. A
    // poor hash would cost answers that are computed again, never a wrong one.
    let mut add =
        |number: u64| hash = (hash.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let Request {
        pattern,
        sensitivity,
        must_include,
        avoid,
        only,
        ..
    } = request;
    add((pattern.len() as u64) << 2 | *sensitivity as u64);
    pattern
        .edges()
        .iter()
        .for_each(|edge| add(edge.traffic.to_bits() ^ u64::from(edge.a) << 16 ^ u64::from(edge.b)));
    for set in [Some(must_include), Some(avoid), only.as_ref()]
        .into_iter()
        .flatten()
    {
        set.iter().for_each(|device| add(device.0.into()));
    }
    hash
}
