//! Whether the speed of a job depends on its links.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// Whether the speed of a job depends on the links between its devices (the paper, section 2.3).
///
/// # Examples
/// ```
/// use mapa_core::{Pattern, Request, Sensitivity};
///
/// let job = Request::new(Pattern::ring(4));
/// assert_eq!(job.sensitivity, Sensitivity::Unknown);
/// assert_eq!(job.sensitive(false).sensitivity, Sensitivity::Insensitive);
/// assert_eq!("sensitive".parse::<Sensitivity>()?, Sensitivity::Sensitive);
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Sensitivity {
    /// It depends on them.
    Sensitive,
    /// It does not depend on them, or hardly.
    Insensitive,
    /// The job does not say, or the evidence does not decide. Such a job counts as sensitive: bad devices cost a sensitive
    /// job more than good ones cost the jobs after an insensitive one.
    #[default]
    Unknown,
}

impl Sensitivity {
    /// All three values.
    pub const ALL: [Self; 3] = [Self::Sensitive, Self::Insensitive, Self::Unknown];

    /// Whether the job counts as sensitive: unless it is known not to be.
    #[must_use]
    pub fn is_sensitive(self) -> bool {
        self != Self::Insensitive
    }

    /// What is known; `None` if nothing is.
    #[must_use]
    pub fn known(self) -> Option<bool> {
        match self {
            Self::Sensitive => Some(true),
            Self::Insensitive => Some(false),
            Self::Unknown => None,
        }
    }
}

impl From<bool> for Sensitivity {
    fn from(is_sensitive: bool) -> Self {
        if is_sensitive {
            Self::Sensitive
        } else {
            Self::Insensitive
        }
    }
}

impl From<Option<bool>> for Sensitivity {
    fn from(known: Option<bool>) -> Self {
        known.map_or(Self::Unknown, Self::from)
    }
}

/// `sensitive`, `insensitive`, `unknown`.
impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sensitive => "sensitive",
            Self::Insensitive => "insensitive",
            Self::Unknown => "unknown",
        })
    }
}

impl FromStr for Sensitivity {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let known = Self::ALL
            .into_iter()
            .find(|sensitivity| sensitivity.to_string() == word);
        known.ok_or_else(|| ErrorKind::BadSensitivity(word.to_owned()).into())
    }
}
