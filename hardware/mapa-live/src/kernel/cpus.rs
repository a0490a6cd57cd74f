//! Sets of CPUs, as the kernel writes them: `0-3,8`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use mapa_topologies::number_list;
use serde::{Deserialize, Serialize};

/// The most CPUs that the kernel can be built for, so the first number that is none.
const MOST: u32 = 8192;

/// A set of CPUs, or of NUMA nodes. It is written and read as the kernel does: `0-3,8`.
///
/// # Examples
/// ```
/// use mapa_live::Cpus;
///
/// let cpus: Cpus = "0-2,5".parse()?;
/// assert_eq!(cpus.iter().collect::<Vec<_>>(), [0, 1, 2, 5]);
/// assert_eq!(cpus.to_string(), "0-2,5");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cpus(BTreeSet<u32>);

impl Cpus {
    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of CPUs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a CPU is in the set.
    #[must_use]
    pub fn has(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Whether every CPU of this set is in another.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The CPUs that are in this set and not in another.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }
}

/// CPUs with numbers past those that the kernel can have are left out.
impl FromIterator<u32> for Cpus {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().filter(|cpu| *cpu < MOST).collect())
    }
}

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The set is sorted, so only its last number needs to be compared.
        let cpus = number_list(text).filter(|cpus| cpus.last().is_none_or(|cpu| *cpu < MOST));
        cpus.map(Self).ok_or_else(|| {
            format!(
                "cpus `{}`: expected numbers below {MOST} and ranges of them, such as 0-3,8",
                text.trim()
            )
        })
    }
}

impl TryFrom<String> for Cpus {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Cpus> for String {
    fn from(cpus: Cpus) -> Self {
        cpus.to_string()
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().copied().peekable();
        let mut first = true;
        while let Some(low) = cpus.next() {
            let mut high = low;
            while let Some(next) = cpus.next_if_eq(&(high + 1)) {
                high = next;
            }
            if !first {
                f.write_str(",")?;
            }
            first = false;
            if low == high {
                write!(f, "{low}")?;
            } else {
                write!(f, "{low}-{high}")?;
            }
        }
        Ok(())
    }
}
