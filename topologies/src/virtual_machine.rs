//! Whether a machine is a virtual one, by what its firmware says.

/// Whether a machine whose firmware (DMI) gives this vendor and product is a virtual one: of QEMU, KVM, VMware, Xen,
/// Hyper-V, VirtualBox and others, or an instance of a cloud that is no bare metal.
///
/// Linux has the words in `/sys/class/dmi/id/sys_vendor` and `product_name`, hwloc in `DMISysVendor` and `DMIProductName`.
///
/// # Examples
/// ```
/// use mapa_topologies::is_virtual_machine;
///
/// assert!(is_virtual_machine("QEMU", "Standard PC (Q35 + ICH9, 2009)"));
/// assert!(is_virtual_machine("Amazon EC2", "g5.48xlarge"));
/// assert!(!is_virtual_machine("Amazon EC2", "g4dn.metal"));
/// assert!(!is_virtual_machine("Supermicro", "AS -4124GS-TNR"));
/// ```
#[must_use]
pub fn is_virtual_machine(vendor: &str, product: &str) -> bool {
    let (vendor, product) = (vendor.trim(), product.trim());
    match vendor {
        // Sizes of metal instances go on behind the word: `m7i.metal-24xl`.
        "Amazon EC2" => !product.contains(".metal"),
        // Microsoft sells computers too, and Google's bare metal has other products.
        "Microsoft Corporation" => product == "Virtual Machine",
        "Google" => product == "Google Compute Engine",
        _ => {
            VENDORS.iter().any(|own| vendor.starts_with(own))
                || PRODUCTS.iter().any(|own| product.starts_with(own))
        }
    }
}

/// How the vendor of virtual machines begins.
const VENDORS: [&str; 8] = [
    "QEMU",
    "VMware",
    "VMW",
    "Xen",
    "innotek GmbH",
    "Parallels",
    "BHYVE",
    "OpenStack",
];

/// How the product begins where the vendor may be any.
const PRODUCTS: [&str; 7] = [
    "KVM",
    "KubeVirt",
    "OpenStack",
    "RHEV Hypervisor",
    "Standard PC (",
    "VMware",
    "VirtualBox",
];

#[cfg(test)]
mod tests {
    use super::is_virtual_machine;

    #[test]
    fn clouds_and_hypervisors_are_virtual_and_servers_are_not() {
        for (vendor, product) in [
            ("QEMU", ""),
            ("Red Hat", "KVM"),
            ("Red Hat", "OpenStack Compute"),
            ("OpenStack Foundation", "OpenStack Nova"),
            ("VMware, Inc.", "VMware20,1"),
            ("Xen", "HVM domU"),
            ("Microsoft Corporation", "Virtual Machine"),
            ("Google", "Google Compute Engine"),
            ("Amazon EC2", "p4d.24xlarge"),
            ("innotek GmbH", "VirtualBox"),
        ] {
            assert!(is_virtual_machine(vendor, product), "{vendor} {product}");
        }
        for (vendor, product) in [
            ("", ""),
            ("NVIDIA", "NVIDIA DGX-2H"),
            ("HPE", "HPE_CRAY_EX235A"),
            ("Microsoft Corporation", "Surface Laptop"),
            ("Amazon EC2", "i7ie.metal-24xl"),
            ("Red Hat", "Some Server"),
            ("Dell Inc.", "PowerEdge XE9680"),
        ] {
            assert!(!is_virtual_machine(vendor, product), "{vendor} {product}");
        }
    }
}
