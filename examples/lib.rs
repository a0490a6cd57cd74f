//! Examples only: see the files beside this one.

/// The code on the page "Write a policy", run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/write-a-policy.md")]
pub struct WriteAPolicy;

/// The code on the page "Job files, traces and generators", run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/job-files.md")]
pub struct JobFiles;

/// The code on the page "Schedulers", run as a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/schedulers.md")]
pub struct Schedulers;
