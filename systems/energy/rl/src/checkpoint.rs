//! The file of a training that is not over.
//!
//! Two lines of text, `mapa energy training 1` and what is trained, then numbers, little-endian: the
//! updates, four lists of 32-bit numbers, where each day stands, the learning curve; and last the
//! FNV-1a hash of all bytes before.

use std::hash::Hasher;

use fnv::FnvHasher;

use crate::batch::Standing;
use crate::curve::Point;
use crate::error::{Error, ErrorKind};

const MAGIC: &str = "mapa energy training 1";

/// What a training needs to go on.
#[derive(Debug, PartialEq)]
pub(crate) struct Kept {
    /// The parameters of the policy's net and the value's, and the moments of Adam.
    pub(crate) numbers: [Vec<f32>; 4],
    /// The gradients so far.
    pub(crate) gradients: u64,
    /// The updates so far.
    pub(crate) updates: u64,
    pub(crate) standing: Vec<Standing>,
    pub(crate) curve: Vec<Point>,
}

fn wrong<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(ErrorKind::BadCheckpoint(what.into()).into())
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The file of a training of this key, a line.
pub(crate) fn write(key: &str, kept: &Kept) -> Vec<u8> {
    let mut file = format!("{MAGIC}\n{key}\n").into_bytes();
    let mut whole = |number: u64| file.extend(number.to_le_bytes());
    whole(kept.updates);
    whole(kept.gradients);
    for list in &kept.numbers {
        file.extend((list.len() as u64).to_le_bytes());
        file.extend(list.iter().flat_map(|value| value.to_le_bytes()));
    }
    file.extend((kept.standing.len() as u64).to_le_bytes());
    for job in &kept.standing {
        file.extend(job.days.to_le_bytes());
        file.extend((job.actions.len() as u64).to_le_bytes());
        file.extend(job.actions.iter().flat_map(|action| action.to_le_bytes()));
    }
    file.extend((kept.curve.len() as u64).to_le_bytes());
    for point in &kept.curve {
        file.extend(point.steps.to_le_bytes());
        file.extend(point.late.to_le_bytes());
    }
    let hash = hash(&file);
    file.extend(hash.to_le_bytes());
    file
}

/// Bytes that are read from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn line(&mut self) -> &'a str {
        let end = self.0.iter().position(|&candidate| candidate == b'\n');
        let Some(end) = end else {
            return "";
        };
        let (line, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        std::str::from_utf8(line).unwrap_or_default()
    }

    fn next<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let Some((own, rest)) = self.0.split_first_chunk() else {
            return wrong(format!(
                "{} bytes are left: expected {N} or more",
                self.0.len()
            ));
        };
        self.0 = rest;
        Ok(*own)
    }

    fn whole(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.next()?))
    }

    /// A list of numbers of N bytes, after its length. The length is compared with what is left
    /// before memory is taken for it.
    fn list<const N: usize, T>(&mut self, of: impl Fn([u8; N]) -> T) -> Result<Vec<T>, Error> {
        let length = self.whole()?;
        let bytes = usize::try_from(length)
            .ok()
            .and_then(|number| number.checked_mul(N));
        let Some((own, rest)) = bytes.and_then(|bytes| self.0.split_at_checked(bytes)) else {
            return wrong(format!(
                "a list of {length} numbers of {N} bytes, {} bytes are left: expected a shorter one",
                self.0.len()
            ));
        };
        self.0 = rest;
        Ok(own.as_chunks().0.iter().map(|&bytes| of(bytes)).collect())
    }
}

/// Reads the file of a training of this key.
pub(crate) fn read(key: &str, file: &[u8]) -> Result<Kept, Error> {
    let mut bytes = Bytes(file);
    if bytes.line() != MAGIC {
        return wrong(format!("the first line: expected `{MAGIC}`"));
    }
    let own = bytes.line();
    if own != key {
        return wrong(format!("of {own:?}: expected {key:?}"));
    }
    let Some((before, stated)) = file.split_last_chunk::<8>() else {
        return wrong("no hash: expected 8 bytes at the end");
    };
    if u64::from_le_bytes(*stated) != hash(before) {
        return wrong("the hash at the end is not that of the bytes: expected an unchanged file");
    }
    let updates = bytes.whole()?;
    let gradients = bytes.whole()?;
    let mut list = || bytes.list(f32::from_le_bytes);
    let numbers = [list()?, list()?, list()?, list()?];
    let mut standing = Vec::new();
    for _ in 0..bytes.whole()? {
        let days = bytes.whole()?;
        let actions = bytes.list(u16::from_le_bytes)?;
        standing.push(Standing { days, actions });
    }
    let mut curve = Vec::new();
    for _ in 0..bytes.whole()? {
        let steps = bytes.whole()?;
        let late = f64::from_le_bytes(bytes.next()?);
        curve.push(Point { steps, late });
    }
    Ok(Kept {
        numbers,
        gradients,
        updates,
        standing,
        curve,
    })
}
