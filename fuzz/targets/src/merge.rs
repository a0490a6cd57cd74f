//! Any two texts that can be read merge, in either order, into a machine with a graph, or are
//! refused as not of one machine.

use mapa_topologies::{ErrorKind, merge, read};

use crate::input::parts;

/// One input.
pub fn run(data: &[u8]) {
    let [a, b] = parts(data);
    let (Ok(a), Ok(b)) = (read(a), read(b)) else {
        return;
    };
    let own = merge(vec![a.clone(), a.clone()]).expect("a dump and itself are of one machine");
    assert!(own.contradictions.is_empty(), "{:?}", own.contradictions);
    assert_eq!(
        own.dump.machine.fabric.device_count(),
        a.machine.fabric.device_count()
    );
    for dumps in [vec![a.clone(), b.clone()], vec![b, a]] {
        match merge(dumps) {
            Ok(merged) => {
                if let Ok(machine) = merged.dump.into_machine() {
                    machine.graph().expect("what is merged has a graph");
                }
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}"),
        }
    }
}
