//! Types of cells in job files and traces. Each type has one function that reads it and one that
//! writes it.

use std::fmt;
use std::str::FromStr;

use mapa_core::Shape;

use super::{numbers, patterns};

/// Defines types of cells, each with the function that reads its text and the one that writes it.
macro_rules! cells {
    ($($(#[$meta:meta])* $name:ident($value:ty): $read:expr, $write:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) struct $name(pub(super) $value);

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $read(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let write: fn($value) -> String = $write;
                f.write_str(&write(self.0))
            }
        }
    )*};
}

cells! {
    /// Decimal seconds, as nanoseconds.
    Seconds(u64): numbers::nanoseconds, numbers::seconds;
    /// The number of devices that a job requests.
    Devices(usize): numbers::devices, |devices| devices.to_string();
    /// Decimal GB/s, as MB/s.
    Gbps(u32): numbers::pcie_mb_s, |mb_s| numbers::seconds(u64::from(mb_s) * 1_000_000);
    /// Decimal GB of memory, as bytes.
    Memory(u64): numbers::gigabytes, numbers::seconds;
    /// Yes or no.
    Flag(bool): numbers::flag, |flag| flag.to_string();
    /// The slope of Eq. 1 of Tang et al.
    Slope(f64): numbers::slope, |slope| slope.to_string();
    /// A job's run time over slow links, over that at full speed.
    Ratio(f64): numbers::ratio, |ratio| ratio.to_string();
    /// The communication pattern; `None` for ranks that do not communicate.
    Pattern(Option<Shape>): patterns::shape, patterns::word;
    /// Thousandths of a GPU.
    Milli(u32): numbers::milli, |milli| milli.to_string();
}
