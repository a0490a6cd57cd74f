//! Any logs of NCCL, whole or after the beginning of one, in one file or two, are read or refused;
//! what is read has sound patterns whichever algorithm is asked for, and does not depend on the
//! order of files.

use mapa_patterns::{Algorithm, read_nccl};

use crate::input::text;

const START: &str = "\
node1:100:110 [0] NCCL INFO ncclCommInitRank comm 0xa0 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x5 - Init START
node1:100:110 [0] NCCL INFO Channel 00/02 :    0   1   2   3
node1:100:110 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1
node1:100:110 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
node1:100:110 [0] NCCL INFO ncclCommInitRank comm 0xa0 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x5 - Init COMPLETE
node1:100:100 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 256 datatype 7 op 0 root 0 comm 0xa0 [nranks=4] stream 0x2
";

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let (one, other) = text.split_once('\0').unwrap_or((text, ""));
    let begun = format!("{START}{one}");
    for files in [
        vec![("a", text)],
        vec![("a", begun.as_str())],
        vec![("a", one), ("b", other)],
    ] {
        let read = read_nccl(&files);
        let turned: Vec<_> = files.iter().copied().rev().collect();
        assert_eq!(read_nccl(&turned).ok(), read.as_ref().ok().cloned());
        let Ok(job) = read else { continue };
        // Patterns of many ranks take long to make.
        if job.devices.len() > 64 {
            continue;
        }
        for algorithm in Algorithm::ALL {
            let Ok(application) = job.application(algorithm) else {
                continue;
            };
            assert_eq!(application.pattern.len(), application.labels.len());
            assert!(
                application
                    .pattern
                    .edges()
                    .iter()
                    .all(|edge| edge.traffic > 0.0 && edge.traffic.is_finite())
            );
        }
    }
}
