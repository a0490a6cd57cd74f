//! Schedulers by name.

use std::time::Duration;

use mapa_core::Policy;

use crate::backfill::{Conservative, Easy};
use crate::error::{Error, ErrorKind};
use crate::fifo::Fifo;
use crate::foresight::Foresight;
use crate::order::Order;
use crate::pcie::PcieAware;
use crate::queue::Queue;
use crate::scheduler::Scheduler;

type Boxed = Box<dyn Scheduler + Send>;

/// A built-in scheduler: its name and what it does in one line; [`BuiltIn::named`] makes it.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// The name.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// The policy by which it places jobs, if it takes no other.
    pub policy: Option<&'static str>,
    /// What can be set behind its name, and to what: `depth=JOBS`, say.
    pub settings: &'static [&'static str],
    make: fn(Box<dyn Policy>, &Said<'_>) -> Result<Boxed, String>,
}

impl BuiltIn {
    /// Every built-in scheduler.
    pub const ALL: [Self; 9] = [
        Self {
            name: "fifo",
            summary: "first in, first out; a head that cannot start blocks all others, as in the paper's evaluation",
            policy: None,
            settings: &[],
            make: |policy, _| Ok(Box::new(Fifo::new(policy))),
        },
        Self {
            name: "easy-backfill",
            summary: "by arrival; later jobs may start first if they do not delay the head",
            policy: None,
            settings: &[],
            make: |policy, _| Ok(Box::new(Easy::new(policy))),
        },
        Self {
            name: "conservative-backfill",
            summary: "by arrival; later jobs may start first if they delay nobody",
            policy: None,
            settings: &["depth=JOBS"],
            make: |policy, said| {
                let own = Conservative::new(policy);
                Ok(match said.get("depth", "a whole number", |value| value.parse().ok())? {
                    Some(depth) => Box::new(own.depth(depth)),
                    None => Box::new(own),
                })
            },
        },
        Self {
            name: "shortest-first",
            summary: "the shortest by its expected run time; a head that cannot start blocks all others",
            policy: None,
            settings: &[],
            make: |policy, _| Ok(Box::new(Queue::new(policy, Order::ShortestFirst))),
        },
        Self {
            name: "smallest-first",
            summary: "the job that asks for fewest devices; a head that cannot start blocks all others",
            policy: None,
            settings: &[],
            make: |policy, _| Ok(Box::new(Queue::new(policy, Order::SmallestFirst))),
        },
        Self {
            name: "priority",
            summary: "the highest priority, then by arrival; a head that cannot start blocks all others",
            policy: None,
            settings: &[],
            make: |policy, _| Ok(Box::new(Queue::new(policy, Order::Priority))),
        },
        Self {
            name: "foresight",
            summary: "first in, first out; on one machine a sensitive head waits for better links where that costs less",
            policy: None,
            settings: &[],
            make: |policy, _| Ok(Box::new(Foresight::new(policy))),
        },
        Self {
            name: "pcie-aware",
            summary: "one MIG instance a job, where PCIe slows it down least; skips jobs, cuts idle GPUs up anew",
            policy: Some("pcie-aware"),
            settings: &["delay=FACTOR|none", "wait=SECONDS|none", "gbps=GB/s"],
            make: |_, said| pcie(PcieAware::new(), said),
        },
        Self {
            name: "first-gpu",
            summary: "the baseline of pcie-aware: the first GPU with a free instance, and GPUs cut up anew likewise",
            policy: Some("lowest-id"),
            settings: &["gbps=GB/s"],
            make: |_, said| pcie(PcieAware::first_gpu(), said),
        },
    ];

    /// The one of this name, or of the name with which these words begin.
    #[must_use]
    pub fn find(words: &str) -> Option<&'static Self> {
        let name = words.split(',').next().unwrap_or_default();
        Self::ALL.iter().find(|own| own.name == name)
    }

    /// The built-in scheduler of this name, every job placed by this policy, unless it has a [`policy`](Self::policy) of its own.
    /// Behind the name may be [settings](Self::settings): `pcie-aware,delay=1.5,wait=600`.
    ///
    /// ```
    /// use mapa_core::preserve;
    /// use mapa_sched::BuiltIn;
    ///
    /// let scheduler = BuiltIn::named("conservative-backfill,depth=10", Box::new(preserve()))?;
    /// assert_eq!(scheduler.name(), "conservative-backfill, preserve");
    /// let error = BuiltIn::named("fifo,depth=10", Box::new(preserve())).err().map(|error| error.to_string());
    /// assert_eq!(error.as_deref(), Some("scheduler `fifo,depth=10`: it has no setting `depth`"));
    /// # Ok::<(), mapa_sched::Error>(())
    /// ```
    ///
    /// # Errors
    /// No such scheduler, or no such setting or value; the message lists those there are.
    pub fn named(words: &str, policy: Box<dyn Policy>) -> Result<Box<dyn Scheduler + Send>, Error> {
        let known = || Self::ALL.map(|own| own.name).join(", ");
        let Some(own) = Self::find(words) else {
            let name = words.split(',').next().unwrap_or_default().to_owned();
            return Err(ErrorKind::UnknownScheduler { name, known: known() }.into());
        };
        let made = Said::read(words, own.settings).and_then(|said| (own.make)(policy, &said));
        made.map_err(|what| ErrorKind::BadSetting { scheduler: words.to_owned(), what }.into())
    }
}

/// What is said behind a scheduler's name: the form of a setting, and its value.
struct Said<'a>(Vec<(&'static str, &'a str)>);

fn key(form: &str) -> &str {
    form.split('=').next().unwrap_or_default()
}

impl<'a> Said<'a> {
    fn read(words: &'a str, known: &'static [&'static str]) -> Result<Self, String> {
        let mut said: Vec<(&str, &str)> = Vec::new();
        for part in words.split(',').skip(1).map(str::trim) {
            let (own, value) = part.split_once('=').ok_or_else(|| format!("`{part}`: expected KEY=VALUE"))?;
            let Some(&form) = known.iter().find(|form| key(form) == own) else {
                let expected =
                    if known.is_empty() { String::new() } else { format!(": expected {}", known.join(", ")) };
                return Err(format!("it has no setting `{own}`{expected}"));
            };
            if said.iter().any(|(other, _)| *other == form) {
                return Err(format!("{own} is said twice: expected once"));
            }
            said.push((form, value.trim()));
        }
        Ok(Self(said))
    }

    /// What a key is set to, if it is.
    fn get<T>(&self, own: &str, expected: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, String> {
        let Some((_, value)) = self.0.iter().find(|(form, _)| key(form) == own) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| format!("{own}={value}: expected {expected}"))
    }
}

/// A number from 0, or none.
fn number(value: &str) -> Option<f64> {
    let number =
        if value == "none" { f64::INFINITY } else { value.parse().ok().filter(|own: &f64| own.is_finite())? };
    (number >= 0.0).then_some(number)
}

fn pcie(mut own: PcieAware, said: &Said<'_>) -> Result<Boxed, String> {
    let factor = |value: &str| number(value).filter(|own| *own >= 1.0);
    if let Some(factor) = said.get("delay", "a factor of at least 1, or none", factor)? {
        own = own.delay_threshold(factor);
    }
    let seconds = |value: &str| number(value).map(|own| Duration::try_from_secs_f64(own).unwrap_or(Duration::MAX));
    if let Some(wait) = said.get("wait", "seconds from 0 on, or none", seconds)? {
        own = own.wait_threshold(wait);
    }
    let positive = |value: &str| number(value).filter(|own| own.is_finite() && *own > 0.0);
    if let Some(gbps) = said.get("gbps", "GB/s above 0", positive)? {
        own = own.max_gbps(gbps);
    }
    Ok(Box::new(own))
}
