//! Owners of leases that no process holds.

use mapa_front::answer::mapa::LeaseOwner;

use crate::error::Error;
use crate::memory::user_of;

/// The reason in the audit when an owner ends its lease.
pub(crate) const ENDED_BY_OWNER: &str = "its owner says that it has ended";

/// The most characters of a kind.
const KIND: usize = 32;

/// The most characters of a name.
const NAME: usize = 256;

/// The owner of a lease that no process of MAPA holds, and that only this owner ends: a pod of Kubernetes, a job of Slurm.
///
/// Kind and name are printed, in tables and in the audit. So they have lower-case letters, digits, and `.` `-` `_` `/` `:`
/// only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideOwner {
    kind: String,
    name: String,
    uid: u32,
}

impl OutsideOwner {
    /// The owner of this kind (such as `kubernetes`) and name (such as the UID of a pod), registered by the user of this
    /// process.
    ///
    /// # Errors
    /// The kind does not have 1 to 32 of the characters that are allowed, or the name not 1 to 256.
    pub fn new(kind: &str, name: &str) -> Result<Self, Error> {
        check("kind", kind, KIND)?;
        check("name", name, NAME)?;
        let uid = rustix::process::geteuid().as_raw();
        Ok(Self::of_row(kind.to_owned(), name.to_owned(), uid))
    }

    /// The same owner, registered by another user: the one for whom this program asks.
    #[must_use]
    pub fn registered_by(self, uid: u32) -> Self {
        Self { uid, ..self }
    }

    /// As the ledger has it. Others may have written that.
    pub(super) fn of_row(kind: String, name: String, uid: u32) -> Self {
        Self { kind, name, uid }
    }

    /// The kind of owner.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name among owners of its kind.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user who registered it.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Whether this owner may end the lease of another: it has the same kind and name, and is of the same user, or of
    /// root.
    #[must_use]
    pub fn may_end(&self, other: &Self) -> bool {
        let is_same = (&self.kind, &self.name) == (&other.kind, &other.name);
        is_same && (self.uid == 0 || self.uid == other.uid)
    }

    /// The owner as commands answer it.
    pub(crate) fn answer(&self) -> LeaseOwner {
        LeaseOwner {
            kind: self.kind.clone(),
            name: self.name.clone(),
        }
    }

    /// The owner in the audit, with the user who registered it.
    pub(crate) fn audited(&self) -> String {
        format!("{} for {self}", user_of(self.uid))
    }
}

impl std::fmt::Display for OutsideOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// Checks a kind or a name.
///
/// # Errors
/// What was expected.
fn check(what: &str, text: &str, most: usize) -> Result<(), Error> {
    let is_allowed = |letter: u8| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || b".-_/:".contains(&letter)
    };
    if (1..=most).contains(&text.len()) && text.bytes().all(is_allowed) {
        return Ok(());
    }
    // Of a long text the beginning tells which it is.
    let mut shown: String = text.chars().take(most).collect();
    if shown.len() < text.len() {
        shown += "..";
    }
    Err(Error::malformed(format_args!(
        "the {what} {shown:?} of an owner: expected 1 to {most} lower-case letters, digits, and . - _ / :"
    )))
}
