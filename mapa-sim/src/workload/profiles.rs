//! Profiles of kinds of jobs: their PCIe traffic, how contention slows them down, and their speed
//! on each size of slice.
//!
//! A profile is measured once and serves all jobs of its kind (Tang et al., section 3.2).
//! `systems/pcie/docs/contention.md` describes the file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, MAX_TOML_BYTES, Pattern, Request, check_size};
use mapa_sched::{Job, JobId, RunTime, Time};
use serde::Deserialize;
use toml::Spanned;

use super::file_errors::{bad_line, bad_workload};
use super::numbers;
use super::submission::Submission;
use crate::error::Error;

const FORMAT: &str = "mapa-profiles";
const VERSION: i64 = 1;

/// A kind of job.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name. Names of profiles differ.
    pub name: String,
    /// What a job copies over PCIe without contention, decimal GB/s to a thousandth; 0 for a job
    /// that is not PCIe-bound.
    pub pcie_gbps: f64,
    /// The slope of Eq. 1 of Tang et al.: a job's slowdown is this slope times its demand over its
    /// share of PCIe, at least 1. Default: 1.
    pub pcie_alpha: f64,
    /// Throughput at full speed, by size of slice: tokens a second, or another unit of work in
    /// which [`submission`](Self::submission) counts. Empty if it was not measured.
    pub throughput: BTreeMap<Size, f64>,
    /// Where the figures come from.
    pub source: String,
    /// Remarks on the figures.
    pub notes: Vec<String>,
}

impl Profile {
    /// A profile with default figures: a job that is not PCIe-bound.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let (source, throughput, notes) = (String::new(), BTreeMap::new(), Vec::new());
        Self {
            name: name.into(),
            pcie_gbps: 0.0,
            pcie_alpha: 1.0,
            throughput,
            source,
            notes,
        }
    }

    /// The three jobs of Tang et al., Table 2. Their throughputs are not published. Here one token
    /// stands for one second of work on 1g.
    #[must_use]
    pub fn tang() -> [Self; 3] {
        [
            ("ResNet50", 0.0, 1.0),
            ("Bloom560m", 5.7, 1.25),
            ("Bloom7b1", 17.65, 1.07),
        ]
        .map(|(name, gbps, alpha)| Self {
            pcie_gbps: gbps,
            pcie_alpha: alpha,
            throughput: [(Size::new(1, 1), 1.0)].into(),
            source: "Tang et al., Table 2".to_owned(),
            notes: vec![
                "Throughput is not published: one token is one second of work at full speed."
                    .to_owned(),
            ],
            ..Self::new(name)
        })
    }

    /// A job of this kind on one slice of this size, with this many tokens to process. Its work is
    /// the number of tokens over the throughput on that size (Eq. 3 of Tang et al. at full speed).
    /// Its estimate has the run time on each size that was measured.
    ///
    /// # Examples
    /// ```
    /// use mapa_core::mig::Size;
    /// use mapa_sched::{JobId, Time};
    /// use mapa_sim::Profile;
    ///
    /// let [_, light, _] = Profile::tang();
    /// let job = light.submission(JobId(0), Time::ZERO, Size::new(1, 1), 50.0)?;
    /// assert_eq!((job.work.as_secs(), job.job.request.pattern.demands()[0].pcie_mb_s), (50, 5700));
    /// # Ok::<(), mapa_sim::Error>(())
    /// ```
    ///
    /// # Errors
    /// The size was not measured; `tokens` is negative or no number, or would take more than 584
    /// years; or a figure is outside the ranges of [files](read_profiles).
    pub fn submission(
        &self,
        id: JobId,
        arrived: Time,
        size: Size,
        tokens: f64,
    ) -> Result<Submission, Error> {
        let wrong = |what: String| bad_workload(format_args!("profile `{}`: {what}", self.name));
        self.check().map_err(wrong)?;
        let mut times: BTreeMap<Size, Duration> = BTreeMap::new();
        for (&size, &rate) in &self.throughput {
            match Duration::try_from_secs_f64(tokens / rate) {
                Ok(time) if u64::try_from(time.as_nanos()).is_ok() => times.insert(size, time),
                _ => {
                    return Err(wrong(format!(
                        "{tokens} tokens: expected a number that is not negative, for at most 584 years"
                    )));
                }
            };
        }
        let Some(&work) = times.get(&size) else {
            let known: Vec<String> = times.keys().map(Size::to_string).collect();
            return Err(wrong(format!(
                "no throughput on {size}: expected one of {}",
                known.join(", ")
            )));
        };
        let demand = Demand::slice(size).pcie_gbps(self.pcie_gbps);
        let mut job = Job::new(id, Request::new(Pattern::independent(1).each(demand)));
        (job.arrived, job.pcie_alpha) = (arrived, self.pcie_alpha);
        let mut submission = Submission::new(job, work).task(self.name.as_str());
        if times.len() > 1 {
            submission.job.run_time = RunTime::BySize(times);
        }
        Ok(submission)
    }

    /// Checks that a file can hold the profile.
    fn check(&self) -> Result<(), String> {
        let Self {
            name,
            pcie_gbps,
            pcie_alpha,
            throughput,
            ..
        } = self;
        if name.trim().is_empty() || name.trim() != name || name.contains(char::is_control) {
            return Err(format!(
                "name `{name}`: expected some text in one line, without blanks at its ends"
            ));
        }
        if !numbers::is_pcie_gbps(*pcie_gbps) {
            return Err(format!(
                "pcie_gbps = {pcie_gbps}: expected 0, or GB/s from 0.001 to 4294967.295"
            ));
        }
        if !numbers::is_slope(*pcie_alpha) {
            return Err(format!(
                "pcie_alpha = {pcie_alpha}: expected a finite number, not below 0"
            ));
        }
        for (size, rate) in throughput {
            if !(numbers::is_size(*size) && rate.is_finite() && *rate > 0.0) {
                return Err(format!(
                    "throughput of {size} = {rate}: expected slices and a positive number"
                ));
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<String>,
    version: Spanned<i64>,
    #[serde(default)]
    profiles: Vec<Spanned<ProfileOfFile>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileOfFile {
    name: String,
    #[serde(default)]
    pcie_gbps: f64,
    pcie_alpha: Option<f64>,
    #[serde(default)]
    throughput: BTreeMap<Spanned<String>, f64>,
    #[serde(default)]
    source: String,
    #[serde(default)]
    notes: Vec<String>,
}

/// Reads a file of profiles. O(n log n) for n characters.
///
/// # Examples
/// ```
/// let text = r#"
/// format = "mapa-profiles"
/// version = 1
///
/// [[profiles]]
/// name = "Bloom560m"
/// pcie_gbps = 5.7
/// pcie_alpha = 1.25
/// throughput = { "1g.1m" = 1.0 }
/// source = "Tang et al., Table 2"
/// notes = ["Throughput is not published: one token is one second of work at full speed."]
/// "#;
/// assert_eq!(mapa_sim::read_profiles(text)?, [mapa_sim::Profile::tang()[1].clone()]);
/// # Ok::<(), mapa_sim::Error>(())
/// ```
///
/// # Errors
/// The text has more than [`MAX_TOML_BYTES`], or is not as `systems/pcie/docs/contention.md` describes it. The message has the line, the profile and what
/// was expected.
pub fn read_profiles(text: &str) -> Result<Vec<Profile>, Error> {
    let at = |span: std::ops::Range<usize>, what: String| {
        let before = &text.as_bytes()[..span.start.min(text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        bad_line(line, what)
    };
    check_size(text.len(), MAX_TOML_BYTES).map_err(bad_workload)?;
    let file: File = toml::from_str(text).map_err(|error| match error.span() {
        Some(span) => at(span, error.message().trim().to_owned()),
        None => bad_workload(error.message().trim()),
    })?;
    if file.format.get_ref() != FORMAT {
        return Err(at(
            file.format.span(),
            format!(
                "format = \"{}\": expected \"{FORMAT}\"",
                file.format.get_ref()
            ),
        ));
    }
    if *file.version.get_ref() != VERSION {
        return Err(at(
            file.version.span(),
            format!("version = {}: expected {VERSION}", file.version.get_ref()),
        ));
    }
    let mut profiles: Vec<Profile> = Vec::new();
    for entry in file.profiles {
        let (span, profile) = (entry.span(), entry.into_inner());
        let wrong = |what: String| at(span.clone(), format!("profile `{}`: {what}", profile.name));
        let mut throughput = BTreeMap::new();
        for (size, rate) in &profile.throughput {
            let size: Size = size.get_ref().parse().map_err(|error: mapa_core::Error| {
                at(
                    size.span(),
                    format!("profile `{}`: throughput of {error}", profile.name),
                )
            })?;
            throughput.insert(size, *rate);
        }
        let profile = Profile {
            name: profile.name.clone(),
            pcie_gbps: profile.pcie_gbps,
            pcie_alpha: profile.pcie_alpha.unwrap_or(1.0),
            throughput,
            source: profile.source.clone(),
            notes: profile.notes.clone(),
        };
        profile.check().map_err(wrong)?;
        if profiles.iter().any(|other| other.name == profile.name) {
            return Err(wrong(
                "another profile above has this name: expected names that differ".to_owned(),
            ));
        }
        profiles.push(profile);
    }
    Ok(profiles)
}

/// Writes a file of profiles: reading it gives equal ones, to the last bit of each figure.
///
/// # Errors
/// Two profiles have the same name; a name is empty, has several lines or blanks at its ends; or a
/// figure is no number, or outside the range in `systems/pcie/docs/contention.md`.
pub fn write_profiles(profiles: &[Profile]) -> Result<String, Error> {
    let mut text = format!("format = \"{FORMAT}\"\nversion = {VERSION}\n");
    // A `String` takes all that is written to it.
    let mut line = |line: String| writeln!(text, "{line}").unwrap_or_default();
    for (i, profile) in profiles.iter().enumerate() {
        profile
            .check()
            .map_err(|what| bad_workload(format_args!("profile `{}`: {what}", profile.name)))?;
        if profiles[..i].iter().any(|other| other.name == profile.name) {
            return Err(bad_workload(format_args!(
                "profile `{}` twice: expected names that differ",
                profile.name
            )));
        }
        line(format!(
            "\n[[profiles]]\nname = {}\npcie_gbps = {:?}",
            quoted(&profile.name),
            profile.pcie_gbps
        ));
        line(format!("pcie_alpha = {:?}", profile.pcie_alpha));
        if !profile.throughput.is_empty() {
            let rates = profile
                .throughput
                .iter()
                .map(|(size, rate)| format!("\"{size}\" = {rate:?}"));
            line(format!(
                "throughput = {{ {} }}",
                rates.collect::<Vec<_>>().join(", ")
            ));
        }
        if !profile.source.is_empty() {
            line(format!("source = {}", quoted(&profile.source)));
        }
        if !profile.notes.is_empty() {
            let notes = profile
                .notes
                .iter()
                .map(|note| quoted(note))
                .collect::<Vec<_>>();
            line(format!("notes = [{}]", notes.join(", ")));
        }
    }
    Ok(text)
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
