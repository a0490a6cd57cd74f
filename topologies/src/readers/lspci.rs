//! Reader for the output of `lspci -vv`: the speed and width of each device's PCIe slot, its product
//! and its NUMA node.
//!
//! A link idles at the speed of PCIe 1, so its current speed (`LnkSta`) tells nothing. What counts is
//! the lower of the speeds that the device and the port above it are capable of (`LnkCap`), and the
//! number of lanes that they agreed on (`LnkSta`), which does not change when a link idles. A port
//! is above a device if its secondary bus is that of the device.

use std::collections::BTreeMap;

use mapa_core::{DeviceInfo, Fabric, FabricNode, MAX_DEVICES, NodeKind};

use super::text;
use crate::dump::{Dump, HostDetail, Says};
use crate::error::{Error, ErrorKind};
use crate::kind::Kind;
use crate::machine::{Labels, Machine, Warning};
use crate::vendor::Vendor;
use crate::{links, pci, products};

/// Whether a text has a PCI function that is a GPU, and capabilities of links.
pub(super) fn is(text: &str) -> bool {
    let has_links = text.contains("LnkCap:");
    has_links && text::lines(text).any(|(line, clean)| PciFunction::parse(&clean, line).is_some())
}

pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let mut functions: Vec<PciFunction> = Vec::new();
    for (line, clean) in text::lines(text) {
        match (PciFunction::parse(&clean, line), functions.last_mut()) {
            (Some(function), _) => functions.push(function),
            (None, Some(own)) => own.fact(clean.trim()),
            (None, None) => {}
        }
    }
    let ports: BTreeMap<(String, u32), (f64, u32)> = (functions.iter())
        .filter_map(|function| Some(((function.domain(), function.secondary?), function.capable?)))
        .collect();
    let mut gpus: Vec<&PciFunction> = functions
        .iter()
        .filter(|function| function.is_gpu())
        .collect();
    gpus.sort_by(|a, b| a.address.cmp(&b.address));
    if gpus.is_empty() {
        return Err(Error::new(
            "no GPUs found: expected the functions of NVIDIA or AMD GPUs, as `lspci -vv` prints them",
        ));
    }
    if gpus.len() > MAX_DEVICES {
        let what = format!("more than {MAX_DEVICES} devices");
        return Err(Error::new(what).with_kind(ErrorKind::TooLarge));
    }
    for pair in gpus.windows(2) {
        if let [a, b] = pair
            && a.address == b.address
        {
            let what = format!("a second function at {}: expected each once", b.address);
            return Err(Error::at(b.line, what));
        }
    }
    let mut fabric = Fabric::new();
    let mut warnings = Vec::new();
    for (id, gpu) in gpus.iter().enumerate() {
        let info = DeviceInfo {
            product: gpu.product.clone(),
            pci: Some(gpu.address.clone()),
            numa: gpu.numa,
            ..DeviceInfo::default()
        };
        let (name, kind) = (format!("GPU{id}"), NodeKind::Device(info));
        let core = |error| Error::core(Some(gpu.line), error);
        let node = fabric.add(FabricNode { name, kind }).map_err(core)?;
        match gpu.slot(&ports) {
            Ok(gbps) => fabric.set_slot_gbps(node, gbps).map_err(core)?,
            Err(what) => warnings.push(Warning {
                line: Some(gpu.line),
                what,
            }),
        }
    }
    let all_numa = gpus.iter().all(|gpu| gpu.numa.is_some());
    let vendor = Vendor::one_of(gpus.iter().map(|gpu| gpu.vendor));
    let machine = Machine {
        name: "lspci".to_owned(),
        title: format!("{} devices, read from lspci -vv", gpus.len()),
        source: "lspci -vv".to_owned(),
        notes: Vec::new(),
        vendor,
        labels: Labels::of(vendor),
        fabric,
        warnings,
    };
    let host = if all_numa {
        HostDetail::Numa
    } else {
        HostDetail::Nothing
    };
    let says = Says {
        host,
        ..Says::default()
    };
    Ok(Dump::new(Kind::Lspci, machine, says))
}

/// A PCI function.
struct PciFunction {
    line: usize,
    address: String,
    class: String,
    vendor: Option<Vendor>,
    product: Option<String>,
    numa: Option<u32>,
    /// Of a port, the bus below it.
    secondary: Option<u32>,
    /// The rate (GT/s) and the lanes that it is capable of.
    capable: Option<(f64, u32)>,
    /// The lanes in use; 0 and other numbers that no link has, too.
    lanes: Option<u32>,
}

impl PciFunction {
    /// Parses `01:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100] [10de:20b0] (rev a1)`.
    fn parse(text: &str, line: usize) -> Option<Self> {
        let (address, rest) = text.split_once(' ')?;
        // An address of Linux has a function; other words with a colon have none.
        let address = pci::normal(address).filter(|_| address.contains('.'))?;
        let (class, name) = rest.split_once(": ")?;
        let class = class.split(" [").next().unwrap_or(class);
        // Of Intel's devices most are no accelerators.
        let vendor = products::vendor(name).filter(|&vendor| vendor != Vendor::Intel);
        Some(Self {
            line,
            address,
            class: class.to_owned(),
            vendor,
            product: product(name, vendor),
            numa: None,
            secondary: None,
            capable: None,
            lanes: None,
        })
    }

    /// Adds what a line below the first one says.
    fn fact(&mut self, text: &str) {
        let Some((key, rest)) = text.split_once(':') else {
            return;
        };
        match key {
            "NUMA node" => self.numa = rest.trim().parse().ok(),
            "Bus" => {
                let secondary = rest.split("secondary=").nth(1);
                let digits = secondary.and_then(|rest| rest.split(',').next());
                self.secondary =
                    digits.and_then(|digit| u32::from_str_radix(digit.trim(), 16).ok());
            }
            "LnkCap" => self.capable = speed(rest).zip(width(rest)),
            "LnkSta" => self.lanes = width(rest),
            _ => {}
        }
    }

    fn is_gpu(&self) -> bool {
        let classes = [
            "VGA compatible controller",
            "3D controller",
            "Display controller",
            "Processing accelerators",
        ];
        self.vendor.is_some() && classes.contains(&self.class.as_str())
    }

    /// The domain of the address.
    fn domain(&self) -> String {
        let domain = self.address.split(':').next();
        domain.unwrap_or_default().to_owned()
    }

    fn bus(&self) -> Option<u32> {
        let bus = self.address.split(':').nth(1)?;
        u32::from_str_radix(bus, 16).ok()
    }

    /// The bandwidth of the slot, GB/s per direction; or in words, why it is not known.
    fn slot(&self, ports: &BTreeMap<(String, u32), (f64, u32)>) -> Result<f64, String> {
        let address = &self.address;
        let Some((own, most)) = self.capable else {
            return Err(format!(
                "{address} has no line `LnkCap: .. Speed 16GT/s, Width x16`: the speed of its slot is not known; expected the output of \
                 `sudo lspci -vv`"
            ));
        };
        let port = self.bus().and_then(|bus| ports.get(&(self.domain(), bus)));
        let rate = port.map_or(own, |(rate, _)| own.min(*rate));
        let lanes = self
            .lanes
            .unwrap_or_else(|| port.map_or(most, |(_, lanes)| most.min(*lanes)));
        links::pcie_gbps(rate, lanes).ok_or_else(|| {
            format!(
                "{address}: {lanes} lanes at {rate} GT/s: expected 1 to 64 lanes at a speed of PCIe 1 to 6; the speed of its slot counts as \
                 not known"
            )
        })
    }
}

/// The product in brackets: `GeForce RTX 3090`, with the vendor's name in front.
fn product(name: &str, vendor: Option<Vendor>) -> Option<String> {
    let before = vendor?.to_string();
    let bracketed = name.split('[').skip(1);
    let bracketed = bracketed.filter_map(|part| part.split(']').next());
    // The vendor's short name, and the numbers of vendor and device, are in brackets too.
    let is_number = |text: &str| {
        let digits: String = text.split(':').collect();
        text.contains(':') && digits.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let mut found = bracketed.filter(|bracketed| *bracketed != "AMD/ATI" && !is_number(bracketed));
    found.next().map(|after| format!("{before} {after}"))
}

/// The rate in `Port #0, Speed 16GT/s, Width x16`, GT/s.
fn speed(text: &str) -> Option<f64> {
    let rest = text.split("Speed ").nth(1)?;
    rest.split("GT/s").next()?.trim().parse().ok()
}

/// The lanes in `Port #0, Speed 16GT/s, Width x16`.
fn width(text: &str) -> Option<u32> {
    let rest = text.split("Width x").nth(1)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}
