//! What follows from a GPU's name: its architecture, its brand.
//!
//! Machine files name products or, in some cases, only the machine's title does. What neither names
//! is a GPU of unknown architecture, which cannot be partitioned.

use mapa_topologies::mig::of_product;
use nvml_wrapper_sys::bindings as sys;

/// One kind of GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductKind {
    /// The word in the product's name.
    word: &'static str,
    /// The product's name, if the machine file has none: the part before the memory.
    product: &'static str,
    /// NVML's number of the architecture.
    pub(crate) architecture: u32,
    /// The compute capability: major and minor.
    pub(crate) capability: (i32, i32),
    /// NVML's number of the brand.
    pub(crate) brand: u32,
}

const fn kind(
    word: &'static str,
    product: &'static str,
    architecture: u32,
    capability: (i32, i32),
    brand: u32,
) -> ProductKind {
    ProductKind {
        word,
        product,
        architecture,
        capability,
        brand,
    }
}

const PASCAL: u32 = sys::NVML_DEVICE_ARCH_PASCAL;
const VOLTA: u32 = sys::NVML_DEVICE_ARCH_VOLTA;
const TURING: u32 = sys::NVML_DEVICE_ARCH_TURING;
const AMPERE: u32 = sys::NVML_DEVICE_ARCH_AMPERE;
const ADA: u32 = sys::NVML_DEVICE_ARCH_ADA;
const HOPPER: u32 = sys::NVML_DEVICE_ARCH_HOPPER;
const BLACKWELL: u32 = sys::NVML_DEVICE_ARCH_BLACKWELL;
const TESLA: u32 = sys::nvmlBrandType_enum_NVML_BRAND_TESLA;
const NVIDIA: u32 = sys::nvmlBrandType_enum_NVML_BRAND_NVIDIA;
const RTX: u32 = sys::nvmlBrandType_enum_NVML_BRAND_NVIDIA_RTX;
const GEFORCE: u32 = sys::nvmlBrandType_enum_NVML_BRAND_GEFORCE;

/// Longer names come before those that are a part of them.
const KINDS: [ProductKind; 32] = [
    kind(
        "RTX PRO 6000",
        "NVIDIA RTX PRO 6000 Blackwell",
        BLACKWELL,
        (12, 0),
        RTX,
    ),
    kind(
        "RTX 6000 Ada",
        "NVIDIA RTX 6000 Ada Generation",
        ADA,
        (8, 9),
        RTX,
    ),
    kind("RTX A6000", "NVIDIA RTX A6000", AMPERE, (8, 6), RTX),
    kind(
        "RTX 5090",
        "NVIDIA GeForce RTX 5090",
        BLACKWELL,
        (12, 0),
        GEFORCE,
    ),
    kind("RTX 4090", "NVIDIA GeForce RTX 4090", ADA, (8, 9), GEFORCE),
    kind(
        "RTX 3090",
        "NVIDIA GeForce RTX 3090",
        AMPERE,
        (8, 6),
        GEFORCE,
    ),
    kind(
        "RTX 2080",
        "NVIDIA GeForce RTX 2080 Ti",
        TURING,
        (7, 5),
        GEFORCE,
    ),
    kind("GB300", "NVIDIA GB300", BLACKWELL, (10, 3), NVIDIA),
    kind("GB200", "NVIDIA GB200", BLACKWELL, (10, 0), NVIDIA),
    kind("B300", "NVIDIA B300 SXM6", BLACKWELL, (10, 3), NVIDIA),
    kind("B200", "NVIDIA B200", BLACKWELL, (10, 0), NVIDIA),
    kind("GH200", "NVIDIA GH200", HOPPER, (9, 0), NVIDIA),
    kind("H200", "NVIDIA H200", HOPPER, (9, 0), NVIDIA),
    kind("H800", "NVIDIA H800", HOPPER, (9, 0), NVIDIA),
    kind("H20", "NVIDIA H20", HOPPER, (9, 0), NVIDIA),
    kind("H100", "NVIDIA H100 HBM3", HOPPER, (9, 0), NVIDIA),
    kind("L40S", "NVIDIA L40S", ADA, (8, 9), NVIDIA),
    kind("L40", "NVIDIA L40", ADA, (8, 9), NVIDIA),
    kind("L20", "NVIDIA L20", ADA, (8, 9), NVIDIA),
    kind("L4", "NVIDIA L4", ADA, (8, 9), NVIDIA),
    kind("A100", "NVIDIA A100-SXM4", AMPERE, (8, 0), NVIDIA),
    kind("A800", "NVIDIA A800-SXM4", AMPERE, (8, 0), NVIDIA),
    kind("A30", "NVIDIA A30", AMPERE, (8, 0), NVIDIA),
    kind("A40", "NVIDIA A40", AMPERE, (8, 6), NVIDIA),
    kind("A10G", "NVIDIA A10G", AMPERE, (8, 6), NVIDIA),
    kind("A10", "NVIDIA A10", AMPERE, (8, 6), NVIDIA),
    kind("A16", "NVIDIA A16", AMPERE, (8, 6), NVIDIA),
    kind("T4", "Tesla T4", TURING, (7, 5), TESLA),
    kind("V100", "Tesla V100-SXM2", VOLTA, (7, 0), TESLA),
    kind("P100", "Tesla P100-SXM2", PASCAL, (6, 0), TESLA),
    kind("P40", "Tesla P40", PASCAL, (6, 1), TESLA),
    kind("P4", "Tesla P4", PASCAL, (6, 1), TESLA),
];

/// A GPU that no table knows.
const OTHER: ProductKind = kind(
    "",
    "Fake GPU",
    sys::NVML_DEVICE_ARCH_UNKNOWN,
    (0, 0),
    sys::nvmlBrandType_enum_NVML_BRAND_UNKNOWN,
);

impl ProductKind {
    /// The kind of a device: that of its product, or else that of the machine's title.
    pub(crate) fn of(product: Option<&str>, title: &str) -> Self {
        let text = words(product.unwrap_or(title));
        let found = KINDS.iter().find(|kind| text.contains(&words(kind.word)));
        *found.unwrap_or(&OTHER)
    }

    /// The name of a product of this kind.
    pub(crate) fn product(&self, memory_bytes: u64) -> String {
        let gib = memory_bytes.div_ceil(1 << 30);
        // These came with several sizes of memory, and their names say which.
        match self.word {
            "A100" | "A800" | "V100" | "P100" => format!("{}-{gib}GB", self.product),
            "H100" => format!("NVIDIA H100 {gib}GB HBM3"),
            _ => self.product.to_owned(),
        }
    }

    /// The name of its table of MIG profiles, if it can be partitioned.
    pub(crate) fn mig(&self, memory_bytes: u64) -> Option<&'static str> {
        of_product(self.word, memory_bytes).map(|entry| entry.name)
    }
}

/// The words of a name in lower case, each between two spaces.
fn words(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .fold(" ".to_owned(), |words, word| {
            words + &word.to_ascii_lowercase() + " "
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_titles_name_their_kind() {
        let kind = ProductKind::of(Some("NVIDIA A100-SXM4-40GB"), "eight H100");
        assert_eq!((kind.word, kind.mig(40 << 30)), ("A100", Some("a100-40gb")));
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
