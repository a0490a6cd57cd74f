//! From NCCL's and RCCL's logs and graphs: rings, trees and channels of every communicator.
//!
//! `NCCL_DEBUG=INFO` with the subsystems INIT and GRAPH prints how the ranks of each communicator
//! are joined; with COLL it prints the calls. Each rank prints its own part. So lines are first
//! [gathered](gather) into members (one rank of one communicator). Members are then [united](unite)
//! into communicators. Communicators share devices; [weights] adds them up to one pattern.

mod calls;
mod communicator;
mod gather;
mod graph;
mod line;
mod paths;
mod unite;
mod weights;

pub use calls::{Call, Collective};
pub use communicator::{Communicator, Connection, JobDevice, NcclJob, Ring, Tree, TreeHalf};

use crate::error::Error;
use gather::Gathered;

/// Reads the logs of a job, each with its name, or NCCL's graph in XML. A log may hold one rank or
/// several, in any order, with lines of other programs between. `docs/patterns-from-nccl.md` lists the lines
/// that are read, by version, and the rules that unite them.
///
/// # Errors
/// No line of NCCL or RCCL; ranks that do not exist, appear twice or contradict each other; numbers
/// that are too large; a log beside a graph. The message names file and line.
///
/// # Complexity
/// O((n + r) log (n + r)) for n characters and r ranks in all communicators, if communicators have
/// a `commId` (NCCL 2.18 and later).
///
/// # Examples
/// ```
/// use mapa_patterns::{Algorithm, read_nccl};
///
/// let log = "\
/// node1:100:110 [0] NCCL INFO Channel 00/02 :    0   1   2
/// node1:100:110 [0] NCCL INFO Channel 01/02 :    0   2   1
/// node1:100:110 [0] NCCL INFO comm 0xa0 rank 0 nranks 3 cudaDev 0 busId 1b000 - Init COMPLETE
/// ";
/// let job = read_nccl(&[("rank0.log", log)])?;
/// let application = job.application(Algorithm::Both)?;
/// assert_eq!(application.pattern.edges().iter().map(|edge| edge.traffic).collect::<Vec<_>>(), [1.0; 3]);
/// # Ok::<(), mapa_patterns::Error>(())
/// ```
pub fn read_nccl(files: &[(&str, &str)]) -> Result<NcclJob, Error> {
    // Files are sorted, so that the result does not depend on their order; equal ones count once.
    let plain: Vec<(&str, std::borrow::Cow<'_, str>)> = files
        .iter()
        .map(|(name, text)| (*name, line::plain(text)))
        .collect();
    let mut files: Vec<(&str, &str)> = plain
        .iter()
        .map(|(name, text)| (*name, text.as_ref()))
        .collect();
    files.sort_unstable_by_key(|&(name, text)| (text, name));
    files.dedup_by_key(|(_, text)| *text);
    files.sort_unstable();
    if files.iter().any(|(_, text)| graph::is(text)) {
        return graph::read(&files);
    }
    let mut gathered = Gathered::default();
    for (name, text) in &files {
        gathered.read(name, text)?;
    }
    if gathered.lines == 0 {
        return Err(Error::new(
            "no line of NCCL: expected `host:pid:tid [device] NCCL INFO ...` (NCCL_DEBUG=INFO)",
        ));
    }
    unite::unite(gathered)
}
