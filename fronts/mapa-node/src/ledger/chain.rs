//! The chain of hashes over the audit: each row has one of itself and of the row before.
//!
//! A program that changes a row must also change its hash and the hashes of all later rows. Rows from before version 6
//! have no hash.

use std::fmt::Write;

use rusqlite::{Connection, OptionalExtension, Row};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// The fields of a row that its hash covers. Its number is not among them: it is not known before the row is written,
/// and the order of the rows is in the chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainedFields<'a> {
    pub at: i64,
    pub kind: &'a str,
    pub owner: &'a str,
    pub lease: Option<i64>,
    pub ticket: Option<i64>,
    pub devices: &'a str,
    pub reason: &'a str,
    pub expires: Option<i64>,
    pub uid: Option<u32>,
    pub command: Option<&'a str>,
    pub status: Option<i32>,
}

impl ChainedFields<'_> {
    /// The hash of a row behind one with that hash, in hexadecimal.
    pub(super) fn hash(&self, before: &str) -> String {
        // A list of JSON tells where each field ends.
        let text = serde_json::json!([
            before,
            self.at,
            self.kind,
            self.owner,
            self.lease,
            self.ticket,
            self.devices,
            self.reason,
            self.expires,
            self.uid,
            self.command,
            self.status,
        ]);
        let digest = Sha256::digest(text.to_string().as_bytes());
        digest.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// The hash of the last row; empty if there is none.
pub(super) fn last(connection: &Connection) -> Result<String, Error> {
    let mut select = connection.prepare_cached(
        "SELECT hash FROM decisions WHERE hash IS NOT NULL ORDER BY id DESC LIMIT 1",
    )?;
    let hash: Option<String> = select.query_row([], |row| row.get(0)).optional()?;
    Ok(hash.unwrap_or_default())
}

/// See [`Ledger::verify_audit`](super::Ledger::verify_audit).
pub(super) fn verify(connection: &Connection) -> Result<(u64, String), Error> {
    let mut select = connection.prepare(
        "SELECT id, hash, at, kind, owner, lease, ticket, devices, reason, expires, uid, command, status
         FROM decisions ORDER BY id",
    )?;
    let mut rows = select.query([])?;
    let (mut count, mut before) = (0, String::new());
    while let Some(row) = rows.next()? {
        let (id, hash): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
        match hash {
            // Written by an earlier release, which may have gone on after the ledger was converted.
            None => continue,
            Some(hash) if hash == expected(row, &before)? => {
                before = hash;
                count += 1;
            }
            _ => {
                return Err(Error::at(
                    format_args!("row {id} of the audit"),
                    "it was changed, or a row before it was removed",
                ));
            }
        }
    }
    Ok((count, before))
}

fn expected(row: &Row<'_>, before: &str) -> rusqlite::Result<String> {
    let text = |at| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
    let command: Option<String> = row.get(11)?;
    let fields = ChainedFields {
        at: row.get(2)?,
        kind: text(3)?,
        owner: text(4)?,
        lease: row.get(5)?,
        ticket: row.get(6)?,
        devices: text(7)?,
        reason: text(8)?,
        expires: row.get(9)?,
        uid: row.get(10)?,
        command: command.as_deref(),
        status: row.get(12)?,
    };
    Ok(fields.hash(before))
}
