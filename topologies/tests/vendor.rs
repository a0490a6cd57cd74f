//! The vendor of a machine is what its description tells, whatever its links are called.

use mapa_topologies::{Vendor, catalogue, named, read};

fn vendor(text: &str) -> Option<Vendor> {
    read(text.as_bytes()).unwrap().machine.vendor
}

#[test]
fn tools_pci_vendors_and_products_tell() {
    let matrix = "       GPU0  GPU1\nGPU0     X   NV2\nGPU1   NV2     X\n";
    let amd_without_links = "<topology version=\"2.0\"><object type=\"Machine\"><object type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" \
        bridge_pci=\"0000:[00-ff]\"><object type=\"PCIDev\" pci_busid=\"0000:03:00.0\" pci_type=\"0380 [1002:740c] [1002:0b0c] 01\" \
        pci_link_speed=\"31.5\"/></object></object></topology>";
    let slurm = "Name=gpu File=/dev/dri/renderD128\nName=gpu File=/dev/dri/renderD129\n";
    let nccl = "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:07:00.0\" class=\"0x038000\" vendor=\"0x1002\" \
        link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" gcn=\"910\" rank=\"0\"/></pci></cpu></system>";
    assert_eq!(vendor(matrix), Some(Vendor::Nvidia));
    assert_eq!(vendor(amd_without_links), Some(Vendor::Amd));
    assert_eq!(vendor(slurm), Some(Vendor::Amd));
    assert_eq!(vendor(nccl), Some(Vendor::Amd));
}

#[test]
fn amds_devices_are_written_as_amds_where_no_link_shows_it() {
    let mut machine = named("complete:2").unwrap();
    machine.vendor = Some(Vendor::Amd);
    let (gres, xml) = (
        machine.to_slurm_gres().unwrap(),
        machine.to_nccl_xml().unwrap(),
    );
    assert!(gres.contains("File=/dev/dri/renderD128"), "{gres}");
    assert!(
        xml.contains("vendor=\"0x1002\"") && !xml.contains("0x10de"),
        "{xml}"
    );
    let file = machine.to_toml().unwrap();
    assert!(file.contains("vendor = \"amd\""), "{file}");
    assert_eq!(
        read(file.as_bytes()).unwrap().machine.vendor,
        Some(Vendor::Amd)
    );
}

#[test]
fn real_machines_of_the_catalogue_have_a_vendor() {
    for entry in catalogue() {
        let machine = named(entry.name).unwrap();
        let is_shape = entry.name.starts_with("torus") || entry.name.starts_with("cube-mesh");
        assert_eq!(machine.vendor.is_none(), is_shape, "{}", entry.name);
    }
}

#[test]
fn instances_that_a_list_names_are_parts_of_their_gpu_by_its_product() {
    let list = |profiles: &[&str]| {
        let mut text =
            "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-0000-0000-0000-000000000001)\n"
                .to_owned();
        for (at, profile) in profiles.iter().enumerate() {
            text += &format!(
                "  MIG {profile}     Device  {at}: (UUID: MIG-00000000-0000-0000-0000-0000000000{at:02})\n"
            );
        }
        let mut dump = read(text.as_bytes()).unwrap();
        dump.know_profiles().unwrap();
        (dump.layouts().unwrap(), dump.unknown_layouts().unwrap())
    };
    for profiles in [
        &["1g.10gb"; 7][..],
        &["3g.40gb", "2g.20gb", "1g.10gb"],
        &["1g.10gb+me", "1g.20gb"],
    ] {
        let (layouts, unknown) = list(profiles);
        assert_eq!(
            layouts[0].1.instances().len(),
            profiles.len(),
            "{profiles:?}"
        );
        assert!(unknown.is_empty(), "{profiles:?}");
    }
    // More than fit, and shares of instances, are no layout: the whole GPU is not there all the same.
    for profiles in [&["3g.40gb"; 3][..], &["1c.3g.40gb"], &["9g.99gb"]] {
        let (layouts, unknown) = list(profiles);
        assert!(layouts.is_empty(), "{profiles:?}");
        assert_eq!(unknown, [mapa_core::DeviceId(0)], "{profiles:?}");
    }
}
