//! Any text is a file of mig-parted or rejected, and its configurations are told against a table of MIG, or refused.

use mapa_front::commands::{PartedRequest, parted};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let request = PartedRequest {
        gpu: Some("a100-40gb".to_owned()),
        pci_id: Some("0x20B010DE".to_owned()),
        ..PartedRequest::default()
    };
    if let Ok(answer) = parted(text, None, &request) {
        for configuration in answer.configurations {
            assert_eq!(configuration.reason.is_none(), configuration.fits);
        }
    }
}
