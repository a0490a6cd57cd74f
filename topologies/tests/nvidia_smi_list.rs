//! `nvidia-smi -L`: what no single text of the corpus shows.

use crate::common::dumps::{devices, read_as};
use crate::corpus::text;
use mapa_topologies::{Dump, Kind};
use proptest::prelude::*;

fn dump(text: &str) -> Dump {
    read_as(Kind::NvidiaSmiList, text)
}

#[test]
fn more_gpus_than_any_machine_has_are_refused() {
    let many: String = (0..1025)
        .map(|i| format!("GPU {i}: T4 (UUID: GPU-{i:x})\n"))
        .collect();
    let error = Kind::NvidiaSmiList.read(&many).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 1025: more than 1024 GPUs: expected those of one machine"
    );
}

proptest! {
    /// Any list the tool could print reads back to itself.
    #[test]
    fn printed_lists_read_back(names in proptest::collection::vec("[A-Z][A-Za-z0-9 -]{0,20}[A-Za-z0-9]", 1..9), crlf in any::<bool>()) {
        let line = |(i, name): (usize, &String)| format!("GPU {i}: {name} (UUID: GPU-{i:08x})\n");
        let mut text: String = names.iter().enumerate().map(line).collect();
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let dump = dump(&text);
        prop_assert!(dump.says.every_device);
        let read: Vec<String> = devices(&dump).into_iter().map(|device| device.product.unwrap()).collect();
        prop_assert_eq!(read, names);
    }

    /// Of a text that ends too early only whole lines are read, but for a first line without UUID.
    #[test]
    fn cut_texts_are_refused_or_have_whole_lines(cut in any::<prop::sample::Index>()) {
        let plain = text("nvidia_smi_list/plain.txt");
        let cut = cut.index(plain.len());
        let (text, plain) = (&plain[..cut], dump(&plain));
        match Kind::NvidiaSmiList.read(text) {
            Ok(cut) if cut.mig_instances.is_empty() && devices(&cut)[0].uuid.is_none() => {
                prop_assert!(!text.contains("(UUID:"));
            }
            Ok(cut) => {
                let (devices, all) = (devices(&cut), devices(&plain));
                prop_assert_eq!(&devices[..], &all[..devices.len()]);
                prop_assert_eq!(&cut.mig_instances[..], &plain.mig_instances[..cut.mig_instances.len()]);
            }
            Err(error) => prop_assert!(error.line().is_some() || cut < 7, "{} in {}", error, text),
        }
    }
}
