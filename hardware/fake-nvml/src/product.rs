//! What NVML tells of a GPU by its name: its architecture, its brand.
//!
//! Machine files name products or, in some cases, only the machine's title does. What neither names
//! is a GPU of unknown architecture, which cannot be partitioned.

use mapa_topologies::products::{self, Product};
use nvml_wrapper_sys::bindings as sys;

/// One kind of GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductKind {
    /// None if no table knows it.
    product: Option<&'static Product>,
    /// NVML's number of the architecture.
    pub(crate) architecture: u32,
    /// The compute capability: major and minor.
    pub(crate) capability: (i32, i32),
    /// NVML's number of the brand.
    pub(crate) brand: u32,
}

impl ProductKind {
    /// The kind of a device: that of its product, or else that of the machine's title.
    pub(crate) fn of(product: Option<&str>, title: &str) -> Self {
        let product = products::product(product.unwrap_or(title));
        let capability = product.and_then(|product| product.capability);
        let capability = capability.and_then(|(major, minor)| {
            Some((i32::try_from(major).ok()?, i32::try_from(minor).ok()?))
        });
        Self {
            product,
            architecture: architecture(product.map(|product| product.architecture)),
            capability: capability.unwrap_or_default(),
            brand: brand(product.and_then(|product| product.printed.first().copied())),
        }
    }

    /// The name of a product of this kind: that with this memory in it, if there is one.
    pub(crate) fn product(&self, memory_bytes: u64) -> String {
        let memory = format!("{}GB", memory_bytes.div_ceil(1 << 30));
        let mut names = self.product.iter().flat_map(|product| product.printed);
        let usual = names.clone().next();
        let name = names.find(|name| name.contains(&memory)).or(usual);
        name.map_or("Fake GPU", |name| name).to_owned()
    }

    /// The name of its table of MIG profiles, if it can be partitioned.
    pub(crate) fn mig(&self, memory_bytes: u64) -> Option<&'static str> {
        self.product?.mig(memory_bytes)
    }
}

/// NVML's number of an architecture.
fn architecture(name: Option<&str>) -> u32 {
    match name {
        Some("Kepler") => sys::NVML_DEVICE_ARCH_KEPLER,
        Some("Maxwell") => sys::NVML_DEVICE_ARCH_MAXWELL,
        Some("Pascal") => sys::NVML_DEVICE_ARCH_PASCAL,
        Some("Volta") => sys::NVML_DEVICE_ARCH_VOLTA,
        Some("Turing") => sys::NVML_DEVICE_ARCH_TURING,
        Some("Ampere") => sys::NVML_DEVICE_ARCH_AMPERE,
        Some("Ada") => sys::NVML_DEVICE_ARCH_ADA,
        Some("Hopper") => sys::NVML_DEVICE_ARCH_HOPPER,
        Some("Blackwell") => sys::NVML_DEVICE_ARCH_BLACKWELL,
        _ => sys::NVML_DEVICE_ARCH_UNKNOWN,
    }
}

/// NVML's number of the brand with which a product's name begins.
fn brand(name: Option<&str>) -> u32 {
    let Some(name) = name else {
        return sys::nvmlBrandType_enum_NVML_BRAND_UNKNOWN;
    };
    match name.trim_start_matches("NVIDIA ").split(' ').next() {
        Some("Tesla") => sys::nvmlBrandType_enum_NVML_BRAND_TESLA,
        Some("Quadro") => sys::nvmlBrandType_enum_NVML_BRAND_QUADRO,
        Some("GeForce") => sys::nvmlBrandType_enum_NVML_BRAND_GEFORCE,
        Some("TITAN") => sys::nvmlBrandType_enum_NVML_BRAND_TITAN,
        Some("RTX") => sys::nvmlBrandType_enum_NVML_BRAND_NVIDIA_RTX,
        _ if name.starts_with("NVIDIA ") => sys::nvmlBrandType_enum_NVML_BRAND_NVIDIA,
        _ => sys::nvmlBrandType_enum_NVML_BRAND_UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_titles_name_their_kind() {
        let kind = ProductKind::of(Some("NVIDIA A100-SXM4-40GB"), "eight H100");
        assert_eq!(kind.mig(40 << 30), Some("a100-40gb"));
        assert_eq!(kind.architecture, sys::NVML_DEVICE_ARCH_AMPERE);
        assert_eq!(kind.brand, sys::nvmlBrandType_enum_NVML_BRAND_NVIDIA);
        let kind = ProductKind::of(None, "NVIDIA DGX-1 with eight Tesla V100");
        assert_eq!(kind.product(16 << 30), "Tesla V100-SXM2-16GB");
        assert_eq!(
            ProductKind::of(Some("NVIDIA H100 NVL"), "").mig(94 << 30),
            Some("h100-94gb")
        );
        assert_eq!(ProductKind::of(Some("NVIDIA L40S"), "").mig(48 << 30), None);
        assert_eq!(
            ProductKind::of(None, "a torus").product(1 << 30),
            "Fake GPU"
        );
    }
}
