//! From counters: bytes that went over links, matched to the peers at their other ends.
