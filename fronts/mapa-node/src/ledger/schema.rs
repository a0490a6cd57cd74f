//! The schema of the ledger, and how an older one becomes the present one.

use rusqlite::Connection;

use crate::error::Error;

/// What each version adds. A ledger of version `n` has run the first `n`; one that is shipped never
/// changes, a change is a further step.
const STEPS: [&str; 7] = [
    FIRST,
    HEALTH_AND_GROUPS,
    LEADER_AND_CHANGES,
    NO_CHANGES,
    LEADER_BY_NAME,
    CHAINED_AUDIT,
    OUTSIDE_OWNERS,
];

/// `MAPA`: the number in the file's header by which SQLite leaves programs to tell their files from others'.
pub(super) const APPLICATION: i64 = 0x4d41_5041;

/// The last version of a ledger without that number.
const UNNAMED: i64 = 5;

/// The version that this program writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// A device is known by the name of the whole one (its UUID, else its PCI address, else its name)
/// and by the part of it: empty for the whole device, else profile and start of the instance.
const FIRST: &str = "
CREATE TABLE ledger (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL,
    machine TEXT,
    devices TEXT
) STRICT;

CREATE TABLE tenants (
    name TEXT PRIMARY KEY,
    uid INTEGER NOT NULL,
    since INTEGER NOT NULL
) STRICT;

-- The audit. Every change of the tables below adds a row here, in the same transaction.
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    lease INTEGER,
    ticket INTEGER,
    devices TEXT NOT NULL,
    reason TEXT NOT NULL,
    expires INTEGER
) STRICT;
CREATE INDEX decisions_of_lease ON decisions (lease);

CREATE TABLE leases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL REFERENCES tenants (name),
    uid INTEGER NOT NULL,
    boot TEXT NOT NULL,
    namespace INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    start INTEGER NOT NULL,
    child INTEGER,
    child_start INTEGER,
    adopted INTEGER NOT NULL DEFAULT 0,
    command TEXT NOT NULL,
    policy TEXT NOT NULL,
    spec TEXT NOT NULL,
    ticket INTEGER,
    granted INTEGER NOT NULL,
    expires INTEGER,
    decision INTEGER NOT NULL REFERENCES decisions (id)
) STRICT;

CREATE TABLE held (
    whole TEXT NOT NULL,
    part TEXT NOT NULL,
    lease INTEGER NOT NULL REFERENCES leases (id) ON DELETE CASCADE,
    rank INTEGER NOT NULL,
    PRIMARY KEY (whole, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX held_of_lease ON held (lease);

-- Whatever the programs above get wrong, no device is held twice: not as a whole and in parts either.
CREATE TRIGGER one_holder BEFORE INSERT ON held
WHEN EXISTS (
    SELECT 1 FROM held
    WHERE whole = NEW.whole AND (part = '' OR NEW.part = '' OR part = NEW.part)
)
BEGIN
    SELECT RAISE(ABORT, 'the device is held already');
END;

-- An empty `whole` stands for the machine.
CREATE TABLE cordons (
    whole TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    owner TEXT NOT NULL,
    reason TEXT NOT NULL,
    expires INTEGER,
    decision INTEGER NOT NULL REFERENCES decisions (id)
) STRICT;

CREATE TABLE layouts (
    whole TEXT PRIMARY KEY,
    layout TEXT NOT NULL,
    at INTEGER NOT NULL,
    decision INTEGER NOT NULL REFERENCES decisions (id)
) STRICT;

CREATE TABLE queue (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL REFERENCES tenants (name),
    uid INTEGER NOT NULL,
    boot TEXT NOT NULL,
    namespace INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    start INTEGER NOT NULL,
    scheduler TEXT NOT NULL,
    policy TEXT NOT NULL,
    spec TEXT NOT NULL,
    command TEXT NOT NULL,
    seconds INTEGER,
    since INTEGER NOT NULL,
    reason TEXT NOT NULL,
    lease INTEGER,
    refusal TEXT
) STRICT;
";

/// What is wrong with devices, in this boot; and the control group of a lease's processes.
const HEALTH_AND_GROUPS: &str = "
CREATE TABLE health (
    whole TEXT NOT NULL,
    kind TEXT NOT NULL,
    what TEXT NOT NULL,
    boot TEXT NOT NULL,
    at INTEGER NOT NULL,
    decision INTEGER NOT NULL REFERENCES decisions (id),
    PRIMARY KEY (whole, kind)
) STRICT;

ALTER TABLE leases ADD COLUMN cgroup TEXT;
";

/// The daemon that schedules the queue, and the changes made by its levers that must be reverted if it dies.
const LEADER_AND_CHANGES: &str = "
CREATE TABLE steward (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    boot TEXT NOT NULL,
    namespace INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    start INTEGER NOT NULL,
    scheduler TEXT NOT NULL,
    since INTEGER NOT NULL,
    beat INTEGER NOT NULL
) STRICT;

CREATE TABLE pulls (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    entry TEXT NOT NULL
) STRICT;
";

/// The journal of changes is in a folder that only the daemon's user can write: a user who may write the ledger
/// could have root revert changes that were never made. And the control group of version 2 in which a daemon limits
/// a lease.
const NO_CHANGES: &str = "
DROP TABLE pulls;

ALTER TABLE leases ADD COLUMN limited TEXT;
";

/// The queue leader and its heartbeat under the names that the code has for them.
const LEADER_BY_NAME: &str = "
ALTER TABLE steward RENAME TO leader;

ALTER TABLE leader RENAME COLUMN beat TO heartbeat;
";

/// In the audit the user as the kernel knows it, the command, its exit status, and a hash that covers the row before. The
/// deadline of a lease in nanoseconds since the boot, a clock that no program can set.
const CHAINED_AUDIT: &str = "
ALTER TABLE decisions ADD COLUMN uid INTEGER;
ALTER TABLE decisions ADD COLUMN command TEXT;
ALTER TABLE decisions ADD COLUMN status INTEGER;
ALTER TABLE decisions ADD COLUMN hash TEXT;

ALTER TABLE leases ADD COLUMN deadline INTEGER;
";

/// The owner of a lease that no process holds. The columns of its process are empty and zero.
const OUTSIDE_OWNERS: &str = "
ALTER TABLE leases ADD COLUMN owner_kind TEXT;
ALTER TABLE leases ADD COLUMN owner_name TEXT CHECK ((owner_kind IS NULL) = (owner_name IS NULL));
";

/// The text of the only trigger of a ledger, as SQLite keeps it.
fn trigger() -> Option<&'static str> {
    const BEGIN: &str = "CREATE TRIGGER";
    let start = FIRST.find(BEGIN)?;
    let length = FIRST.get(start..)?.find("END;")? + "END".len();
    FIRST.get(start..start + length)
}

/// Whether a database is a ledger, or empty: nothing is written to another one.
///
/// # Errors
/// It cannot be read.
pub(super) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    // Another program may just be making the tables: number, version and tables are of one moment.
    let connection = &connection.unchecked_transaction()?;
    let number: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let count = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0));
    // A trigger or view of another program would run within our transactions, and may never end.
    let mut programs =
        connection.prepare("SELECT sql FROM sqlite_schema WHERE type IN ('trigger', 'view')")?;
    let mut programs = programs.query([])?;
    while let Some(row) = programs.next()? {
        if row.get_ref(0)?.as_str().ok() != trigger() {
            return Ok(false);
        }
    }
    Ok(match (number, version(connection)?) {
        (APPLICATION, _) => true,
        (0, 0) => count("SELECT count(*) FROM sqlite_schema")? == 0,
        (0, 1..=UNNAMED) => {
            let tables =
                "SELECT count(*) FROM sqlite_schema WHERE name IN ('ledger', 'leases', 'held')";
            count(tables)? == 3
        }
        _ => false,
    })
}

/// Brings a ledger to the present version. Does nothing if it has it.
///
/// # Errors
/// The ledger is of a later version, is no ledger, or cannot be written.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    let found = version(connection)?;
    if found == VERSION {
        return Ok(());
    }
    // Several programs may find an old ledger at once: the one that gets the lock migrates.
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    let Some(missing) = usize::try_from(found)
        .ok()
        .and_then(|done| STEPS.get(done..))
    else {
        return Err(Error::malformed(format_args!(
            "the ledger has version {found} of its tables: expected {VERSION} or less; a later release of mapa wrote it"
        )));
    };
    // In SQLite changes of tables are part of a transaction too: a step that fails leaves the ledger as it was.
    for step in missing {
        transaction.execute_batch(step)?;
    }
    // `user_version` is a number in the file's header that SQLite leaves to applications.
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    Ok(transaction.commit()?)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
