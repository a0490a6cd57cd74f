//! `/proc/interrupts`: how often each interrupt came to each CPU.

use std::collections::BTreeMap;

use super::cpus::Cpus;

/// The counts of interrupts so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// The CPUs that are online, in the order of the columns.
    pub cpus: Vec<u32>,
    /// For each interrupt (a number, or a name such as `LOC`) its counts, one for each CPU.
    pub counts: BTreeMap<String, Vec<u64>>,
}

impl Interrupts {
    /// Reads the text of `/proc/interrupts`. Lines that are not understood are left out; an interrupt
    /// with one count for the whole machine (`ERR`, `MIS`) is left out too.
    ///
    /// # Errors
    /// The first line does not name CPUs.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let cpus: Option<Vec<u32>> = header
            .split_ascii_whitespace()
            .map(|name| name.strip_prefix("CPU")?.parse().ok())
            .collect();
        let cpus = cpus
            .filter(|cpus| !cpus.is_empty() && cpus.len() <= 8192)
            .ok_or("line 1: expected the names of CPUs, such as `CPU0 CPU1`")?;
        let mut counts = BTreeMap::new();
        for line in lines {
            let Some((name, rest)) = line.split_once(':') else {
                continue;
            };
            // The names of the controller and of the device follow the counts.
            let row: Vec<u64> = rest
                .split_ascii_whitespace()
                .take(cpus.len())
                .map_while(|count| count.parse().ok())
                .collect();
            if row.len() == cpus.len() {
                counts.insert(name.trim().to_owned(), row);
            }
        }
        Ok(Self { cpus, counts })
    }

    /// How many interrupts came to each CPU since `before`, by device interrupts alone: those with a
    /// number. Timers and calls between CPUs come to all CPUs that work, whoever works there. A count
    /// that went back began anew, so all of it is new.
    #[must_use]
    pub fn since(&self, before: &Self) -> BTreeMap<u32, u64> {
        // CPUs that took no interrupt are listed with 0: they are the ones that levers look for.
        let mut all: BTreeMap<u32, u64> = self.cpus.iter().map(|&cpu| (cpu, 0)).collect();
        for (name, row) in &self.counts {
            if !name.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let old = before.counts.get(name);
            for (at, (&cpu, &count)) in self.cpus.iter().zip(row).enumerate() {
                // A CPU that was offline has another column, so columns are compared by their CPU.
                let place = before.cpus.get(at).filter(|&&was| was == cpu).map(|_| at);
                let place = place.or_else(|| before.cpus.iter().position(|&was| was == cpu));
                let was = place.and_then(|at| old?.get(at)).copied().unwrap_or(0);
                let new = count.checked_sub(was).unwrap_or(count);
                let sum = all.entry(cpu).or_default();
                *sum = sum.saturating_add(new);
            }
        }
        all
    }
}

/// The CPUs among `allowed` that serve few interrupts: at least `keep` of them, at best all but the busy
/// ones. A CPU is busy if it took more than one and a half times the mean of all allowed CPUs, and more than `least`.
///
/// The answer is deterministic: where two CPUs are as busy, the one with the lower number is kept.
///
/// # Examples
/// ```
/// use mapa_live::{Cpus, low_interrupt_cpus};
///
/// let allowed: Cpus = "0-3".parse()?;
/// let took = [(0, 90_000), (1, 10), (2, 20), (3, 0)].into();
/// assert_eq!(low_interrupt_cpus(&allowed, &took, 1, 100).to_string(), "1-3");
/// # Ok::<(), String>(())
/// ```
#[must_use]
pub fn low_interrupt_cpus(
    allowed: &Cpus,
    took: &BTreeMap<u32, u64>,
    keep: usize,
    least: u64,
) -> Cpus {
    let of = |cpu: u32| took.get(&cpu).copied().unwrap_or(0);
    let sum: u128 = allowed.iter().map(|cpu| u128::from(of(cpu))).sum();
    let count = allowed.len().max(1) as u128;
    // count × its interrupts / sum > 3/2, without a division. 128 bits hold the products of any
    // counts.
    let busy = |cpu: u32| of(cpu) > least && 2 * u128::from(of(cpu)) * count > 3 * sum;
    let quiet: Cpus = allowed.iter().filter(|&cpu| !busy(cpu)).collect();
    if quiet.len() >= keep.min(allowed.len()) {
        return quiet;
    }
    // Too few are quiet: the least busy of the others join them.
    let mut by_load: Vec<u32> = allowed.iter().collect();
    by_load.sort_by_key(|&cpu| (of(cpu), cpu));
    by_load.into_iter().take(keep).collect()
}
