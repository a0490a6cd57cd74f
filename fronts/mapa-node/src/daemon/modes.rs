//! Which devices are in MIG mode: somebody may switch it by hand.

use std::collections::BTreeMap;

use mapa_live::DriverSnapshot;

/// Which devices are in MIG mode, as the drivers said last: the number, the UUID, and whether it is.
#[derive(Debug, Default)]
pub(crate) struct MigModes(Option<BTreeMap<u32, (Option<String>, bool)>>);

impl MigModes {
    /// Takes the modes of a snapshot. True if a device is in another mode than before; a lost device keeps its last mode.
    pub(super) fn update(&mut self, snapshot: &DriverSnapshot) -> bool {
        let Some(seen) = &snapshot.devices else {
            return false;
        };
        let mut now: BTreeMap<u32, (Option<String>, bool)> = seen
            .iter()
            .filter(|reading| !reading.lost)
            .map(|reading| (reading.index, (reading.uuid.clone(), reading.partitioned)))
            .collect();
        let Some(before) = &self.0 else {
            self.0 = Some(now);
            return false;
        };
        for reading in seen.iter().filter(|reading| reading.lost) {
            if let Some(known) = before.get(&reading.index) {
                now.insert(reading.index, known.clone());
            }
        }
        let differs = now != *before;
        self.0 = Some(now);
        differs
    }
}
