//! Values that other modules compute from a pattern, kept with it for later use.

use std::any::Any;
use std::sync::OnceLock;

/// A cache with one value for each type. The types belong to modules that use patterns, so this
/// module cannot name them.
///
/// A linked list with one node for each type that was ever used; this crate has two such types.
/// Nodes are only added, so reading takes no lock.
#[derive(Default)]
pub(super) struct Derived {
    value: OnceLock<Box<dyn Any + Send + Sync>>,
    next: OnceLock<Box<Derived>>,
}

impl Derived {
    /// The value of type `T`, which starts as the default.
    pub(super) fn get<T: Any + Default + Send + Sync>(&self) -> &T {
        let mut node = self;
        loop {
            // Whichever type comes to an empty node first has it for good.
            let value = node.value.get_or_init(|| Box::<T>::default());
            match value.downcast_ref() {
                Some(value) => return value,
                None => node = node.next.get_or_init(Box::default),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_one_value_that_stays() {
        let derived = Derived::default();
        derived.get::<OnceLock<u8>>().set(1).unwrap();
        derived.get::<OnceLock<u16>>().set(2).unwrap();
        assert_eq!(derived.get::<OnceLock<u8>>().get(), Some(&1));
        assert_eq!(derived.get::<OnceLock<u16>>().get(), Some(&2));
    }
}
