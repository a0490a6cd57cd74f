//! The schema of the ledger, and how an older one becomes the present one.

use std::collections::BTreeMap;

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

/// The owner of a lease that no process holds. The columns of its process are empty and zero. And those who wait, so that
/// thousands are counted without their requests being read.
const OUTSIDE_OWNERS: &str = "
ALTER TABLE leases ADD COLUMN owner_kind TEXT;
ALTER TABLE leases ADD COLUMN owner_name TEXT CHECK ((owner_kind IS NULL) = (owner_name IS NULL));
CREATE INDEX waiting ON queue (ticket, reason) WHERE lease IS NULL AND refusal IS NULL;
";

/// The statements that make the objects of a database, as SQLite keeps them, sorted. Only an index that SQLite makes by
/// itself has none.
fn objects(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let query = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql";
    let mut query = connection.prepare(query)?;
    query.query_map([], |row| row.get(0))?.collect()
}

/// What [`objects`] finds in a ledger of this version; `None` if this program knows no such version.
///
/// SQLite would say it of an empty ledger that runs the steps, but takes some 3 ms, as long as all else that `mapa run` does.
/// So its rules for the few kinds of statements that steps have are followed here, in 30 µs.
fn own_objects(version: i64) -> Option<Vec<String>> {
    let steps = STEPS.get(..usize::try_from(version).ok()?)?;
    // By name.
    let mut own: BTreeMap<String, String> = BTreeMap::new();
    for statement in steps.iter().copied().flat_map(statements) {
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words[..] {
            ["CREATE", _, name, ..] => {
                own.insert(name.to_owned(), statement.clone());
            }
            ["DROP", _, name] => {
                own.remove(name);
            }
            ["ALTER", "TABLE", table, "ADD", "COLUMN", ref column @ ..] => {
                let sql = own.get_mut(table)?;
                let end = sql.rfind(')')?;
                sql.insert_str(end, &format!(", {}", column.join(" ")));
            }
            ["ALTER", "TABLE", table, "RENAME", "TO", name] => {
                let sql = own.remove(table)?;
                let begin = |name: &str| format!("CREATE TABLE {name}");
                let renamed = sql.replacen(&begin(table), &begin(&format!("\"{name}\"")), 1);
                own.insert(name.to_owned(), renamed);
            }
            [
                "ALTER",
                "TABLE",
                table,
                "RENAME",
                "COLUMN",
                column,
                "TO",
                name,
            ] => {
                let sql = own.get_mut(table)?;
                let line = |name: &str| format!("\n    {name} ");
                *sql = sql.replacen(&line(column), &line(name), 1);
            }
            _ => {}
        }
    }
    let mut own: Vec<String> = own.into_values().collect();
    if version > 0 {
        // SQLite keeps the last number of each table with AUTOINCREMENT there.
        own.push("CREATE TABLE sqlite_sequence(name,seq)".to_owned());
    }
    own.sort_unstable();
    Some(own)
}

/// The statements of a step, without the comments between them. The last line of each is not indented.
fn statements(step: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in step.lines() {
        let Some(open) = found.last_mut() else { break };
        if open.is_empty() && (line.is_empty() || line.starts_with("--")) {
            continue;
        }
        match line.strip_suffix(';').filter(|_| !line.starts_with(' ')) {
            Some(end) => {
                *open += end;
                found.push(String::new());
            }
            None => *open += &format!("{line}\n"),
        }
    }
    found
}

/// Whether a database is a ledger, or empty: nothing is written to another one.
///
/// Its objects are exactly those of its version. A trigger, a view, a generated column, an index on an expression or a
/// CHECK of another program would run within our transactions, and may never end.
///
/// # Errors
/// It cannot be read.
pub(super) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    // Another program may just be making the tables: number, version and tables are of one moment.
    let connection = &connection.unchecked_transaction()?;
    let number: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = version(connection)?;
    let is_named = match number {
        APPLICATION => version > 0,
        0 => (0..=UNNAMED).contains(&version),
        _ => false,
    };
    if !is_named {
        return Ok(false);
    }
    // Nothing is known of the tables of a later version, and none is read: its version alone refuses it.
    let Some(own) = own_objects(version) else {
        return Ok(true);
    };
    Ok(objects(connection)? == own)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_of_each_earlier_version_is_known_and_converted() {
        for version in 0..VERSION {
            let mut ledger = Connection::open_in_memory().unwrap();
            for step in &STEPS[..version as usize] {
                ledger.execute_batch(step).unwrap();
            }
            ledger.pragma_update(None, "user_version", version).unwrap();
            if version > UNNAMED {
                ledger
                    .pragma_update(None, "application_id", APPLICATION)
                    .unwrap();
            }
            // SQLite itself is the oracle of what a ledger of that version has.
            let own = own_objects(version).unwrap();
            assert_eq!(objects(&ledger).unwrap(), own, "version {version}");
            assert!(is_ours(&ledger).unwrap(), "version {version}");
            migrate(&mut ledger).unwrap();
            assert!(is_ours(&ledger).unwrap(), "from version {version}");
            // Whether the leader and its heartbeat have their present names.
            ledger
                .query_row("SELECT count(heartbeat) FROM leader", [], |row| {
                    row.get::<_, i64>(0)
                })
                .unwrap();
        }
    }
}
