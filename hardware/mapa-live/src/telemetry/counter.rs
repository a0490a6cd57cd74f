//! Counters that grow, wrap around and begin anew.

/// How many bits a counter has before it begins at zero again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits: PCIe replays, the time in which a disk was busy.
    Bits32,
    /// 64 bits: it does not wrap in practice.
    Bits64,
}

/// What a counter did between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterDelta {
    /// It grew by this much, perhaps over its end.
    Grew(u64),
    /// It began anew: a device was reset, a program restarted. How much it grew is not known.
    Restarted,
}

/// What a counter did between two readings.
///
/// A counter of 32 bits that went back by more than half of its range has wrapped; one that went back by less
/// began anew. A counter of 64 bits that went back began anew.
#[must_use]
pub fn since(before: u64, now: u64, width: Width) -> CounterDelta {
    if now >= before {
        return CounterDelta::Grew(now - before);
    }
    let range = 1u64 << 32;
    // No counter of 32 bits had a value beyond its range.
    if width == Width::Bits32 && before < range && before - now > range / 2 {
        return CounterDelta::Grew(range - before + now);
    }
    CounterDelta::Restarted
}

/// The rate a second of a counter over an interval in milliseconds; `None` if it began anew, or no time has
/// passed.
pub(crate) fn rate(before: u64, now: u64, width: Width, interval_ms: u64) -> Option<f64> {
    match since(before, now, width) {
        CounterDelta::Grew(grew) if interval_ms > 0 => {
            Some(grew as f64 * 1000.0 / interval_ms as f64)
        }
        _ => None,
    }
}
