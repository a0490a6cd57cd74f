//! The products that MAPA knows, by the names that tools print: the table `products/rows.rs`, and lookups in it. There is no
//! other list of products.
//!
//! A name is looked up by its words, without regard to case, so names of drivers, of Slurm's types and of people are
//! found alike: `NVIDIA A100-SXM4-80GB`, `nvidia_a100`, `A100`. What the table does not tell is none, never a guess.
//!
//! ```
//! use mapa_topologies::products;
//!
//! let links = products::links("NVIDIA A40").unwrap();
//! assert_eq!((links.count, links.gbps_per_link, links.is_bridged), (Some(4), 14.0625, true));
//! assert_eq!(links.gbps(), Some(56.25));
//! assert_eq!(products::pcie("NVIDIA L40S").map(|pcie| (pcie.generation, pcie.lanes)), Some((4, 16)));
//! assert!(products::links("NVIDIA L40S").is_none());
//! ```

mod product;
mod rows;

use std::collections::BTreeSet;

use mapa_core::{Fabric, NodeKind};

use crate::vendor::Vendor;
use rows::ROWS;

pub use product::{DirectLinks, PcieInterface, Product, ProductLinks};

/// Every product of the table, in its order.
pub fn products() -> impl Iterator<Item = &'static Product> {
    ROWS.iter()
}

/// The product that a text names: a product's name as a tool prints it, or a line with such a name. Of several, the one
/// with most words in its name (`A100 PCIe` before `A100`); of these, the first of the table.
///
/// # Complexity
/// O(p w) for p products and w words of the text.
///
/// # Examples
/// ```
/// use mapa_topologies::products::product;
///
/// let name = |text| product(text).map(|product| product.name);
/// assert_eq!(name("NVIDIA A100-PCIE-40GB"), Some("A100 PCIe"));
/// assert_eq!(name("GeForce RTX 3090"), Some("RTX 3090"));
/// assert_eq!(name("AMD Instinct MI300X"), Some("MI300X"));
/// assert_eq!(name("an abacus"), None);
/// ```
#[must_use]
pub fn product(text: &str) -> Option<&'static Product> {
    let text = words(text);
    let mut best: Option<(usize, &Product)> = None;
    for product in ROWS {
        let found = product.match_in(&text);
        if let Some(length) = found.filter(|&length| best.is_none_or(|(most, _)| length > most)) {
            best = Some((length, product));
        }
    }
    best.map(|(_, product)| product)
}

/// The direct links of the product that a text names; none if it has none, or if nothing is known of them.
#[must_use]
pub fn links(text: &str) -> Option<ProductLinks> {
    match product(text)?.links() {
        DirectLinks::With(links) => Some(links),
        DirectLinks::Without | DirectLinks::Unknown => None,
    }
}

/// The vendor of the product that a text names: by the words with which names begin (`Tesla V100`), else by its row.
///
/// # Examples
/// ```
/// use mapa_topologies::{Vendor, products::vendor};
///
/// assert_eq!(vendor("AMD Instinct MI210"), Some(Vendor::Amd));
/// assert_eq!(vendor("A100-SXM4-40GB"), Some(Vendor::Nvidia));
/// ```
#[must_use]
pub fn vendor(text: &str) -> Option<Vendor> {
    let first = text.split_whitespace().next()?.to_ascii_lowercase();
    match first.as_str() {
        "nvidia" | "geforce" | "tesla" | "quadro" | "titan" | "grid" => Some(Vendor::Nvidia),
        "amd" | "instinct" | "radeon" | "advanced" => Some(Vendor::Amd),
        "intel" | "intel(r)" => Some(Vendor::Intel),
        _ => product(text).map(|product| product.vendor),
    }
}

/// The vendor of all products that a machine names; none if it names none, or those of two.
pub(crate) fn vendor_of_devices(fabric: &Fabric) -> Option<Vendor> {
    let names: BTreeSet<&str> = fabric
        .nodes()
        .filter_map(|(_, node)| match &node.kind {
            NodeKind::Device(info) => info.product.as_deref(),
            _ => None,
        })
        .collect();
    Vendor::one_of(names.into_iter().map(vendor))
}

/// The PCIe interface of the product that a text names.
#[must_use]
pub fn pcie(text: &str) -> Option<PcieInterface> {
    product(text)?.pcie
}

/// The memory of the product that a text names, GB as data sheets count: the size that the text tells (`A100-SXM4-40GB`),
/// else the only one with which the product came.
///
/// # Examples
/// ```
/// use mapa_topologies::products::memory;
///
/// assert_eq!(memory("NVIDIA A100-SXM4-40GB"), Some(40));
/// assert_eq!(memory("NVIDIA A40"), Some(48));
/// assert_eq!(memory("NVIDIA A100"), None, "40 or 80");
/// ```
#[must_use]
pub fn memory(text: &str) -> Option<u32> {
    let sizes = product(text)?.memory_gb;
    let words = words(text);
    let is_told = |gb: &&u32| words.contains(&format!("{gb}gb"));
    match sizes {
        [size] => Some(*size),
        _ => sizes.iter().find(is_told).copied(),
    }
}

/// The words of a name in lower case. `RTX3090Ti` has three, as `RTX 3090 Ti`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in name.split(|c: char| !c.is_ascii_alphanumeric()) {
        let word = word.to_ascii_lowercase();
        let rest = match word.strip_prefix("rtx") {
            Some(rest) => {
                words.push("rtx".to_owned());
                rest
            }
            None => &word,
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        // `3090ti`, but not `80gb`, and no number of a file or device.
        let (number, suffix) = rest.split_at(if digits == 4 { digits } else { rest.len() });
        let parts = [number, suffix].into_iter().filter(|part| !part.is_empty());
        words.extend(parts.map(str::to_owned));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::product::RowLinks;
    use super::*;
    use crate::links::direct_generations;

    #[test]
    fn rows_name_generations_that_are_there_and_names_are_their_words() {
        for row in products() {
            if let RowLinks::With { generation, .. } = row.links {
                let mut known = direct_generations();
                assert!(
                    known.any(|known| known.name == generation),
                    "{}: {generation}",
                    row.name
                );
            }
            let rate = row.pcie.map_or(Some(0.0), |pcie| pcie.gbps());
            assert!(rate.is_some(), "{}: no such PCIe link", row.name);
            for name in std::iter::once(&row.name).chain(row.also) {
                let split = name.to_ascii_lowercase().replace('-', " ");
                assert_eq!(words(name).join(" "), split);
            }
        }
    }

    #[test]
    fn names_are_split_into_the_words_that_products_are_told_by() {
        let split = |name| words(name).join(" ");
        assert_eq!(split("NVIDIA A100-SXM4-80GB"), "nvidia a100 sxm4 80gb");
        assert_eq!(split("rtx3090"), "rtx 3090");
        assert_eq!(split("RTX3090Ti"), "rtx 3090 ti");
        assert_eq!(split("RTXA6000"), "rtx a6000");
        assert_eq!(split("RTX 4090D"), "rtx 4090 d");
        assert_eq!(split("GRID P100X-16Q"), "grid p100x 16q");
        assert_eq!(split("é, ü"), "");
    }
}
