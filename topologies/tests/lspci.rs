//! `lspci -vv`: speeds of slots, products, NUMA nodes.

use mapa_core::{DeviceId, HostNetwork, PeerSource};
use mapa_topologies::{Kind, merge, read, recognise};
use proptest::prelude::*;

/// Two GPUs below ports: one whose link idles, in a slot of PCIe 4, and one in eight lanes.
const TWO: &str = "\
00:01.0 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <64us
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)
01:00.0 VGA compatible controller: NVIDIA Corporation GB202 [GeForce RTX 5090] (rev a1) (prog-if 00 [VGA controller])
\tSubsystem: Gigabyte Technology Co., Ltd Device 416f
\tNUMA node: 0
\tCapabilities: [60] Express (v2) Legacy Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <4us
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)
\t\tLnkCap2: Supported Link Speeds: 2.5-32GT/s, Crosslink- Retimer+ 2Retimers+ DRS-
01:00.1 Audio device: NVIDIA Corporation Device 22e8 (rev a1)
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1
03:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family (rev 41)
0000:c1:00.0 3D controller [0302]: NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)
\tNUMA node: 1
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L0s L1
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x8 (downgraded)
";

#[test]
fn a_slot_has_the_lower_speed_of_both_ends_and_the_lanes_in_use() {
    assert_eq!(recognise(TWO).unwrap(), Kind::Lspci);
    let dump = read(TWO.as_bytes()).unwrap();
    assert!(dump.machine.warnings.is_empty());
    let slots: Vec<_> = (dump.machine.fabric.nodes())
        .map(|(id, _)| dump.machine.fabric.slot_gbps(id).unwrap().round())
        .collect();
    assert_eq!(slots, [32.0, 16.0], "PCIe 4, sixteen lanes and eight");
    let error = dump.into_machine().unwrap_err().to_string();
    assert!(error.contains("not what joins them"), "{error}");
}

#[test]
fn beside_another_dump_it_tells_slots_products_and_peer_access() {
    let topo = "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n";
    let dumps = [topo, TWO].map(|text| read(text.as_bytes()).unwrap());
    for order in [dumps.clone(), [dumps[1].clone(), dumps[0].clone()]] {
        let machine = merge(order.to_vec()).unwrap().dump.into_machine().unwrap();
        let graph = machine.graph().unwrap();
        let host = HostNetwork::of(&graph);
        let [a, b] = [0, 1].map(DeviceId);
        assert!(host.is_known(a) && host.is_known(b));
        assert_eq!((host.slot_gbps(a) / host.slot_gbps(b)).round(), 2.0);
        assert_eq!(
            graph.device(a).product.as_deref(),
            Some("NVIDIA GeForce RTX 5090")
        );
        let access = graph.peer_access(a, b);
        assert_eq!((access.on, access.source), (false, PeerSource::Guessed));
    }
}

#[test]
fn what_is_missing_or_odd_is_said() {
    let refused = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    let plain = refused("01:00.0 3D controller: NVIDIA Corporation GV100GL (rev a1)");
    assert!(plain.contains("lspci -vv"), "{plain}");
    let warned = |text: &str| {
        let dump = read(text.as_bytes()).unwrap();
        let [warning] = &dump.machine.warnings[..] else {
            panic!("{:?}", dump.machine.warnings);
        };
        warning.to_string()
    };
    let zero = TWO.replace("Width x8 (downgraded)", "Width x0 (downgraded)");
    assert!(
        warned(&zero).starts_with("line 15: 0000:c1:00.0: 0 lanes at 16 GT/s: expected 1 to 64"),
        "{}",
        warned(&zero)
    );
    let hidden: String = TWO
        .split_inclusive('\n')
        .enumerate()
        .filter(|(at, _)| !(15..19).contains(at))
        .map(|(_, line)| line)
        .collect();
    assert!(
        warned(&hidden).contains("sudo lspci -vv"),
        "{}",
        warned(&hidden)
    );
    let twice = format!("{TWO}{TWO}");
    assert!(refused(&twice).contains("a second function at 0000:01:00.0"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        lines in prop::collection::vec("(01:00.[0-3] 3D controller: NVIDIA X \\[Y\\]|\tLnkCap: Speed [0-9]{1,2}GT/s, Width x[0-9]{1,9}|\tLnkSta: Width x[0-9]{1,3}|\tBus: secondary=[0-9a-f]{1,9}|\tNUMA node: [0-9]{1,11}|\\PC{0,20})", 0..12),
    ) {
        if let Ok(dump) = Kind::Lspci.read(&lines.join("\n")) {
            prop_assert!(dump.machine.fabric.device_count() > 0);
            prop_assert!(dump.machine.graph().is_ok());
        }
    }
}
