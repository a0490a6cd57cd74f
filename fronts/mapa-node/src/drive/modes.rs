//! Which devices are in MIG mode: somebody may switch it by hand.

use std::collections::BTreeMap;

use mapa_live::Look;

/// Which devices are in MIG mode, as the drivers said last: the number, the UUID, and whether it is.
#[derive(Debug, Default)]
pub(crate) struct MigModes(Option<BTreeMap<u32, (Option<String>, bool)>>);

impl MigModes {
    /// Whether the drivers say otherwise than before. Of a device that is lost, nothing is known.
    pub(super) fn look(&mut self, look: &Look) -> bool {
        let Some(seen) = &look.devices else {
            return false;
        };
        let mut now: BTreeMap<u32, (Option<String>, bool)> = seen
            .iter()
            .filter(|own| !own.lost)
            .map(|own| (own.index, (own.uuid.clone(), own.partitioned)))
            .collect();
        let Some(before) = &self.0 else {
            self.0 = Some(now);
            return false;
        };
        for own in seen.iter().filter(|own| own.lost) {
            if let Some(known) = before.get(&own.index) {
                now.insert(own.index, known.clone());
            }
        }
        let differs = now != *before;
        self.0 = Some(now);
        differs
    }
}
