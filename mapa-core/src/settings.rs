//! Parses settings in text: `depth=10`, `tp=4,pp=2`.
//!
//! Schedulers, job generators, parts of traces and training jobs are all written as one word with
//! settings in it. They share this parser. Blanks around words, keys and values are ignored. A key
//! that is unknown or set twice is an error. Errors begin with the wrong word and end with the
//! expected form.

use std::fmt::Display;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// One setting of a text: `KEY=VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<'t> {
    word: &'t str,
    key: &'t str,
    value: &'t str,
}

impl<'t> Setting<'t> {
    /// Splits a word at its first `=`; `None` if it has none.
    fn of(word: &'t str) -> Option<Self> {
        let word = word.trim();
        let (key, value) = word.split_once('=')?;
        Some(Self {
            word,
            key: key.trim(),
            value: value.trim(),
        })
    }

    /// The setting as written, without blanks around it.
    #[must_use]
    pub fn word(&self) -> &'t str {
        self.word
    }

    /// The key as written.
    #[must_use]
    pub fn key(&self) -> &'t str {
        self.key
    }

    /// The value as written.
    #[must_use]
    pub fn value(&self) -> &'t str {
        self.value
    }

    /// The value, parsed by `read`.
    ///
    /// # Errors
    /// If `read` returns `None`. The message ends with `expected`.
    pub fn read<T>(
        &self,
        expected: &str,
        read: impl FnOnce(&'t str) -> Option<T>,
    ) -> Result<T, Error> {
        read(self.value).ok_or_else(|| bad(self.word, "", expected))
    }

    /// The value as a whole number.
    ///
    /// # Errors
    /// If it is not a whole number in the range of `T`.
    pub fn whole<T: FromStr>(&self) -> Result<T, Error> {
        self.read("a whole number", |value| value.parse().ok())
    }

    /// The value as a whole number of at most `most`: more is a mistake.
    ///
    /// # Errors
    /// If it is none, or is greater.
    pub fn whole_to<T: FromStr + PartialOrd + Display>(&self, most: T) -> Result<T, Error> {
        self.read(&format!("a whole number, at most {most}"), |value| {
            value.parse().ok().filter(|number| *number <= most)
        })
    }

    /// The value as a finite number of at least `least`, or the word `none` as infinity. `expected`
    /// states the form and unit for the message.
    ///
    /// # Errors
    /// If it is neither.
    pub fn number_or_none(&self, least: f64, expected: &str) -> Result<f64, Error> {
        self.read(expected, |value| {
            if value == "none" {
                return Some(f64::INFINITY);
            }
            let number: f64 = value.parse().ok()?;
            (number.is_finite() && number >= least).then_some(number)
        })
    }

    /// One of several values by its name.
    ///
    /// # Errors
    /// If no value has this name. The message lists the names.
    pub fn one_of<T: Copy, const N: usize>(
        &self,
        values: [(&'static str, T); N],
    ) -> Result<T, Error> {
        let names = values.map(|(name, _)| name).join(", ");
        self.read(&names, |word| {
            let found = values.iter().find(|(name, _)| *name == word);
            found.map(|(_, value)| *value)
        })
    }

    /// A switch: `on` or `off`.
    ///
    /// # Errors
    /// If it is neither. The message ends with `expected`.
    pub fn on_or_off(&self, expected: &str) -> Result<bool, Error> {
        self.read(expected, |value| match value {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        })
    }

    /// The value as a finite number above 0. `expected` states the form and unit for the message.
    ///
    /// # Errors
    /// If it is not a finite number above 0.
    pub fn positive(&self, expected: &str) -> Result<f64, Error> {
        let is_positive = |number: &f64| number.is_finite() && *number > 0.0;
        self.read(expected, |value| value.parse().ok().filter(is_positive))
    }
}

/// The settings of a text, in the order in which they are written. Each comes with the meaning `K`
/// of its key.
///
/// # Examples
/// ```
/// use mapa_core::Settings;
///
/// let words = "depth = 10,wait=600".split(',');
/// let known = |key: &str| ["depth", "wait"].into_iter().find(|candidate| *candidate == key);
/// let settings = Settings::read(words, "depth=JOBS, wait=SECONDS", known)?;
/// let depth: Option<usize> = settings.get("depth").map(|depth| depth.whole()).transpose()?;
/// assert_eq!(depth, Some(10));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings<'t, K> {
    all: Vec<(K, Setting<'t>)>,
}

impl<'t, K: PartialEq> Settings<'t, K> {
    /// Reads words of the form `KEY=VALUE`. `known` returns the meaning of a key, and `None` for an
    /// unknown key. Two spellings with the same meaning are the same key.
    ///
    /// # Errors
    /// If a word has no `=`, or a key is unknown or set twice. The message ends with `expected`,
    /// which lists the possible settings.
    ///
    /// # Complexity
    /// O(n²) for n settings: each is compared with those before it.
    pub fn read(
        words: impl IntoIterator<Item = &'t str>,
        expected: &str,
        mut known: impl FnMut(&'t str) -> Option<K>,
    ) -> Result<Self, Error> {
        let mut all: Vec<(K, Setting<'t>)> = Vec::new();
        for word in words {
            let Some(setting) = Setting::of(word) else {
                return Err(bad(word.trim(), "", expected));
            };
            let Some(meaning) = known(setting.key) else {
                let wrong = format!("no setting is called `{}`: ", setting.key);
                return Err(bad(setting.word, &wrong, expected));
            };
            if let Some((_, first)) = all.iter().find(|(other, _)| *other == meaning) {
                let wrong = format!("already set by `{}`: ", first.word);
                return Err(bad(setting.word, &wrong, "each setting once"));
            }
            all.push((meaning, setting));
        }
        Ok(Self { all })
    }

    /// The setting with this key, if there is one.
    #[must_use]
    pub fn get(&self, key: K) -> Option<Setting<'t>> {
        let found = self.all.iter().find(|(candidate, _)| *candidate == key);
        found.map(|(_, setting)| *setting)
    }

    /// All settings, in the order in which they are written.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&K, Setting<'t>)> {
        self.all.iter().map(|(key, setting)| (key, *setting))
    }
}

fn bad(word: &str, wrong: &str, expected: &str) -> Error {
    ErrorKind::BadSetting {
        word: word.to_owned(),
        wrong: wrong.to_owned(),
        expected: expected.to_owned(),
    }
    .into()
}
