//! The C interface: NVML's calls. This is the one room with `unsafe` code.
//!
//! `border` turns C's pointers into values with safe methods, keeps panics on this side and names each
//! call; the other files hold no `unsafe` of their own. Handles are numbers that are looked up, never
//! followed, so a wrong handle is an error and nothing worse.

#![allow(
    unsafe_code,
    reason = "C calls these functions and hands them pointers; see ARCHITECTURE.md"
)]

#[macro_use]
mod border;
mod counters;
mod devices;
mod events;
mod handle;
mod instances;
mod library;
mod links;
mod processes;
mod seat;
mod system;

#[cfg(test)]
mod tests {
    use super::{counters, devices, events, instances, links, processes, system};
    use crate::calls::CALLS;

    #[test]
    fn the_list_has_every_call() {
        let all = [
            counters::NAMES,
            devices::NAMES,
            events::NAMES,
            instances::NAMES,
            links::NAMES,
            processes::NAMES,
            system::NAMES,
            // Its answer is a text, so it is written out.
            &["nvmlErrorString"],
        ];
        let mut all = all.concat();
        all.sort_unstable();
        assert_eq!(all, CALLS);
    }
}
