//! NCCL's graphs: channels as they are written, by old versions and new ones.

use mapa_topologies::{Dump, Error, ErrorKind, Kind, read};
use proptest::prelude::*;

/// A ring and a tree over four GPUs, in the form of NCCL 2.17.
const PLAIN: &str = r#"<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="20" speedinter="12" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="1">
    <channel>
      <net dev="0"/>
      <gpu dev="0"/>
      <gpu dev="1"/>
      <gpu dev="3"/>
      <gpu dev="2"/>
      <net dev="1"/>
    </channel>
    <channel>
      <net dev="1"/>
      <gpu dev="2"/>
      <gpu dev="3"/>
      <gpu dev="1"/>
      <gpu dev="0"/>
      <net dev="0"/>
    </channel>
  </graph>
  <graph id="3" pattern="5" crossnic="0" nchannels="1" speedintra="0.5" speedinter="0" typeintra="NVL" typeinter="PIX" samechannels="0">
    <channel>
      <gpu dev="0"/>
    </channel>
  </graph>
</graphs>"#;

fn plain(text: &str) -> Dump {
    let dump = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(
        (dump.kind, &dump.machine.warnings[..]),
        (Kind::NcclGraph, &[][..])
    );
    dump
}

fn refused(text: &str) -> Error {
    Kind::NcclGraph.read(text).expect_err(text)
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

#[test]
fn channels_keep_their_order_and_numbers() {
    let dump = plain(PLAIN);
    assert_eq!(dump.channels.len(), 3);
    let [ring, back, heads] = &dump.channels[..] else {
        panic!()
    };
    assert_eq!(
        (ring.graph, ring.pattern, ring.intra_gbps, ring.inter_gbps),
        (0, 4, 20.0, 12.0)
    );
    assert_eq!(
        (&ring.devices[..], &ring.cards[..]),
        (&[0, 1, 3, 2][..], &[0, 1][..])
    );
    assert_eq!(
        (&back.devices[..], &back.cards[..]),
        (&[2, 3, 1, 0][..], &[1, 0][..])
    );
    assert_eq!(
        (
            heads.graph,
            heads.intra_gbps,
            &heads.devices[..],
            heads.cards.len()
        ),
        (3, 0.5, &[0][..], 0)
    );
    assert_eq!(dump.machine.fabric.device_count(), 4);
    assert_eq!(dump.machine.fabric.wires().count(), 0);
    assert!(!dump.says.every_device && !dump.says.direct);
}

#[test]
fn devices_are_those_that_any_channel_names_by_number() {
    let dump = plain(
        "<graphs><graph id=\"0\" pattern=\"4\"><channel><gpu dev=\"7\"/><gpu dev=\"0\"/></channel></graph></graphs>",
    );
    assert_eq!(
        indices(&dump),
        [("GPU0".to_owned(), None), ("GPU7".to_owned(), Some(7))]
    );
    assert_eq!(
        dump.into_machine().unwrap_err().kind(),
        ErrorKind::Incomplete
    );
    assert_eq!(
        plain("<graphs version=\"1\"/>")
            .machine
            .fabric
            .device_count(),
        0
    );
}

#[test]
fn recent_versions_write_hexadecimal_numbers_with_the_host() {
    let hexadecimal = PLAIN
        .replace("gpu dev=\"3\"", "gpu dev=\"0x3\" rank=\"3\"")
        .replace("net dev=\"1\"", "net dev=\"0x100000000000001\"");
    assert_eq!(plain(&hexadecimal).channels, plain(PLAIN).channels);
    let none = PLAIN.replace("net dev=\"1\"", "net dev=\"0xffffffffffffffff\"");
    assert_eq!(plain(&none).channels[0].cards, [0]);
    assert_eq!(
        plain(&PLAIN.replace("net dev=\"1\"", "net dev=\"-1\"")).channels,
        plain(&none).channels
    );
    let error = refused(&PLAIN.replace("gpu dev=\"3\"", "gpu dev=\"0x100000000000003\""));
    assert_eq!(
        (error.kind(), error.line()),
        (ErrorKind::Unsupported, Some(7))
    );
}

#[test]
fn a_count_of_channels_that_does_not_fit_is_a_warning() {
    let dump = read(
        PLAIN
            .replace("nchannels=\"2\"", "nchannels=\"3\"")
            .as_bytes(),
    )
    .unwrap();
    let said: Vec<String> = dump
        .machine
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        said,
        ["line 2: <graph id=\"0\">: nchannels=\"3\", but the graph has 2 channels"]
    );
}

#[test]
fn what_is_wrong_is_refused_with_its_line() {
    for (from, to, line, what) in [
        ("gpu dev=\"3\"", "gpu", 7, "no attribute `dev`"),
        ("gpu dev=\"3\"", "gpu dev=\"three\"", 7, "expected a number"),
        (
            "gpu dev=\"3\"",
            "gpu dev=\"-3\"",
            7,
            "expected the number of a device",
        ),
        (
            "net dev=\"0\"",
            "net dev=\"-3\"",
            4,
            "expected the number of a network card",
        ),
        (
            "net dev=\"0\"",
            "net dev=\"0xfffffffff\"",
            4,
            "expected the number of a network card",
        ),
        ("id=\"0\"", "", 2, "no attribute `id`"),
        ("pattern=\"4\"", "pattern=\"ring\"", 2, "expected a number"),
        (
            "speedintra=\"20\"",
            "speedintra=\"inf\"",
            2,
            "expected GB/s",
        ),
        ("</graphs>", "", 24, "the text ends"),
    ] {
        let error = refused(&PLAIN.replacen(from, to, 1));
        assert_eq!(error.line(), Some(line), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    assert_eq!(
        refused("<graph/>").to_string(),
        "line 1: <graph>: expected <graphs>"
    );
    let many: String = (0..1025).map(|i| format!("<gpu dev=\"{i}\"/>")).collect();
    refused(&format!(
        "<graphs><graph id=\"0\" pattern=\"4\"><channel>{many}</channel></graph></graphs>"
    ));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Kind::NcclGraph.read(&String::from_utf8_lossy(&bytes));
    }

    /// Cut anywhere, or with any byte changed, a file is read or refused.
    #[test]
    fn damaged_files_are_read_or_refused(cut in any::<prop::sample::Index>(), byte in any::<u8>(), at in any::<prop::sample::Index>()) {
        prop_assert!(Kind::NcclGraph.read(&PLAIN[..cut.index(PLAIN.len())]).is_err());
        let mut bytes = PLAIN.as_bytes().to_vec();
        bytes[at.index(PLAIN.len())] = byte;
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
