//! Network cards near the devices of a job.

use serde_json::json;

use crate::common::{Folder, error, no, text};

/// Four GPUs and a card below the switch of GPU2, one step from GPU3 and on the other socket for the rest.
const MATRIX: &str = "\
\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV12\tNV12\tNV12\tSYS\t0-7\t0
GPU1\tNV12\t X \tNV12\tNV12\tSYS\t0-7\t0
GPU2\tNV12\tNV12\t X \tNV12\tPIX\t8-15\t1
GPU3\tNV12\tNV12\tNV12\t X \tPXB\t8-15\t1
NIC0\tSYS\tSYS\tPIX\tPXB\t X \t\t
";

#[test]
fn a_job_gets_devices_near_network_cards() {
    let folder = Folder::new();
    let file = folder.write("topo.txt", MATRIX);
    let chosen = |words: &str| {
        folder.answer(&format!("allocate --machine {file} --gpus {words}"))["devices"].clone()
    };
    assert_eq!(chosen("1 --nics 1"), json!([2]));
    assert_eq!(chosen("2 --nics 1 --nic-within pxb"), json!([2, 3]));
    let with_card = chosen("3 --nics 1 --nic-for job");
    assert_eq!(
        with_card[0],
        json!(2),
        "rank 0 is near the card: {with_card}"
    );
    for policy in [
        "lowest-id",
        "greedy",
        "preserve",
        "max-bandwidth",
        "topo-aware",
    ] {
        let words = format!("2 --nics 1 --nic-within pxb --policy {policy}");
        assert_eq!(chosen(&words), json!([2, 3]), "{policy}");
    }
}

#[test]
fn cards_are_keys_of_the_batch_form() {
    let folder = Folder::new();
    let file = folder.write("topo.txt", MATRIX);
    let line = r#"{"op":"allocate","id":"a","gpus":1,"nics":1,"nic_within":"pxb","nic_for":"gpu"}"#;
    let answers = text(&format!("allocate --machine {file} --batch -"), line);
    assert!(answers.contains(r#""devices":[2]"#), "{answers}");
}

#[test]
fn cards_in_use_and_cards_that_are_not_there_are_two_answers() {
    let folder = Folder::new();
    let file = folder.write("topo.txt", MATRIX);
    let refused = |words: &str| {
        let (refusal, _) = no(&format!("allocate --machine {file} --gpus {words} --json"));
        (refusal["refusal"].clone(), refusal["reason"].clone())
    };
    assert_eq!(refused("1 --nics 1 --busy 2").0, "busy");
    assert_eq!(
        refused("2 --nics 1"),
        (
            json!("infeasible"),
            json!(
                "not met: 2 devices with 1 network card at pix or closer: the request and the machine allow 1"
            )
        )
    );
    assert_eq!(
        refused("1 --nics 2"),
        (
            json!("infeasible"),
            json!(
                "not met: a device with 2 network cards at pix or closer: no device has that many"
            )
        )
    );
    insta::assert_snapshot!(error("allocate --machine dgx-1v --gpus 2 --nics 1"), @"error: --nics: the machine's description has no network cards: expected one that has, such as the whole of `nvidia-smi topo -m`, or lstopo's XML");
    insta::assert_snapshot!(error(&format!("allocate --machine {file} --gpus 2 --nics 1 --nic-within nv2")), @"error: --nic-within nv2: expected the class of a path through the host: pix, pxb, phb, node or sys");
    insta::assert_snapshot!(error(&format!("allocate --machine {file} --gpus 2 --nic-within pix")), @"error: --nic-within and --nic-for are about --nics: expected --nics 1, or none of them");
}
