//! `lspci -vv`: what it tells beside another dump.

use crate::corpus::text;
use mapa_core::{DeviceId, HostNetwork, PeerSource};
use mapa_topologies::{Kind, merge, read};
use proptest::prelude::*;

#[test]
fn beside_another_dump_it_tells_slots_products_and_peer_access() {
    let topo = "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n";
    let dumps = [topo, &text("lspci/plain.txt")].map(|text| read(text.as_bytes()).unwrap());
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
