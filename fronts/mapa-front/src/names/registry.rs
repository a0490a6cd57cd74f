//! Rows that are found by name.

use mapa_topologies::did_you_mean;

use crate::error::Error;

/// A row of a [`Registry`].
pub trait Row {
    /// What the rows of such a registry are called in messages: "policy", for example.
    const WHAT: &'static str;

    /// The name by which the row is found.
    fn name(&self) -> &str;
}

/// Things that can be named in a request, in the order in which they are listed.
#[derive(Clone, Debug)]
pub struct Registry<R> {
    rows: Vec<R>,
}

impl<R: Row> Registry<R> {
    /// A registry without rows.
    #[must_use]
    pub const fn empty() -> Self {
        Self { rows: Vec::new() }
    }

    /// Adds a row at the end.
    ///
    /// # Errors
    /// If a row has this name already.
    pub fn add(&mut self, row: R) -> Result<(), Error> {
        if self.get(row.name()).is_some() {
            return Err(Error::malformed(format_args!(
                "a {} is called `{}` already: expected another name",
                R::WHAT,
                row.name()
            )));
        }
        self.rows.push(row);
        Ok(())
    }

    /// The row of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&R> {
        // There are a few dozen rows at most, so a scan in their order is fast enough.
        self.rows.iter().find(|row| row.name() == name)
    }

    /// ` (did you mean NAME?)` if a name is similar to this unknown one; else nothing.
    #[must_use]
    pub fn hint(&self, unknown: &str) -> String {
        match self.get(unknown) {
            // The name may be known and only its settings wrong. Then there is no other name to propose.
            Some(_) => String::new(),
            None => did_you_mean(unknown, self.rows.iter().map(Row::name)),
        }
    }

    /// All rows, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, R> {
        self.rows.iter()
    }

    /// All names, in order, separated by commas.
    #[must_use]
    pub fn list(&self) -> String {
        let names: Vec<&str> = self.rows.iter().map(Row::name).collect();
        names.join(", ")
    }
}

impl<'a, R: Row> IntoIterator for &'a Registry<R> {
    type Item = &'a R;
    type IntoIter = std::slice::Iter<'a, R>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<R: Row> FromIterator<R> for Registry<R> {
    /// A registry of these rows. Of rows with one name the first is found.
    fn from_iter<T: IntoIterator<Item = R>>(rows: T) -> Self {
        Self {
            rows: rows.into_iter().collect(),
        }
    }
}
