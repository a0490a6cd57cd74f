//! NCCL's graphs: what no single text of the corpus shows.

use crate::corpus::text;
use mapa_topologies::{Dump, Kind, read};
use proptest::prelude::*;

fn plain(text: &str) -> Dump {
    let dump = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(
        (dump.kind, &dump.machine.warnings[..]),
        (Kind::NcclGraph, &[][..])
    );
    dump
}

fn indices(dump: &Dump) -> Vec<(String, Option<u32>)> {
    let device = |node: &mapa_core::FabricNode| match &node.kind {
        mapa_core::NodeKind::Device(info) => Some((node.name.clone(), info.index)),
        _ => None,
    };
    dump.machine
        .fabric
        .nodes()
        .filter_map(|(_, node)| device(node))
        .collect()
}

proptest! {
    /// Cut anywhere, or with any byte changed, a file is read or refused.
    #[test]
    fn damaged_files_are_read_or_refused(cut in any::<prop::sample::Index>(), byte in any::<u8>(), at in any::<prop::sample::Index>()) {
        let plain = text("nccl_graph/plain.xml");
        prop_assert!(Kind::NcclGraph.read(&plain[..cut.index(plain.len())]).is_err());
        let at = at.index(plain.len());
        let mut bytes = plain.into_bytes();
        bytes[at] = byte;
        if let Ok(dump) = Kind::NcclGraph.read(&String::from_utf8_lossy(&bytes)) {
            let named = |id: u32| indices(&dump).iter().any(|(name, _)| *name == format!("GPU{id}"));
            prop_assert!(dump.channels.iter().all(|channel| channel.devices.iter().all(|&id| named(id))));
        }
    }

    /// Any channels read back as they were written.
    #[test]
    fn written_channels_read_back(channels in proptest::collection::vec(
        (proptest::collection::vec(0u32..40, 0..9), proptest::collection::vec(0u32..9, 0..3)), 0..6)) {
        let list = |tag: &str, numbers: &[u32]| numbers.iter().map(|n| format!("<{tag} dev=\"{n}\"/>")).collect::<String>();
        let channel = |(gpus, nets): &(Vec<u32>, Vec<u32>)| format!("<channel>{}{}</channel>", list("net", nets), list("gpu", gpus));
        let body: String = channels.iter().map(channel).collect();
        let dump = plain(&format!("<graphs version=\"1\"><graph id=\"1\" pattern=\"3\">{body}</graph></graphs>"));
        let read: Vec<(Vec<u32>, Vec<u32>)> = dump.channels.iter().map(|c| (c.devices.clone(), c.cards.clone())).collect();
        prop_assert_eq!(read, channels);
    }
}

#[test]
fn more_devices_than_any_machine_has_are_refused() {
    let many: String = (0..1025).map(|i| format!("<gpu dev=\"{i}\"/>")).collect();
    let channel = format!("<channel>{many}</channel>");
    let text = format!("<graphs><graph id=\"0\" pattern=\"4\">{channel}</graph></graphs>");
    let error = Kind::NcclGraph.read(&text).unwrap_err().to_string();
    assert_eq!(
        error,
        "a machine has at most 1024 devices, this one has at least 1025"
    );
}
