//! Machines that come with the library.

use mapa_core::{Fabric, FabricNode, NodeKind};

use crate::error::Error;
use crate::machine::{Labels, Machine};

/// A machine of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name by which [`named`] finds it.
    pub name: &'static str,
    text: &'static str,
}

impl Entry {
    /// The machine.
    ///
    /// # Errors
    /// None, for the entries of this crate: a test reads them all.
    pub fn machine(&self) -> Result<Machine, Error> {
        Machine::from_toml(self.text)
    }

    /// Its machine file.
    #[must_use]
    pub fn toml(&self) -> &'static str {
        self.text
    }
}

macro_rules! entries {
    ($($name:literal),+ $(,)?) => {
        [$(Entry { name: $name, text: include_str!(concat!("../machines/", $name, ".toml")) }),+]
    };
}

/// Every machine of the catalogue.
#[must_use]
pub fn catalogue() -> &'static [Entry] {
    const ENTRIES: [Entry; 10] = entries![
        "dgx-1p",
        "dgx-1v",
        "dgx-2",
        "dgx-a100",
        "hgx-h100",
        "summit",
        "torus-2d",
        "torus-2d-released",
        "cube-mesh-16",
        "cube-mesh-16-released",
    ];
    &ENTRIES
}

/// The machine of this name: one of the [`catalogue`], or by formula `complete:N` (N devices below one host bridge).
///
/// # Errors
/// No such machine; the message lists the names.
pub fn named(name: &str) -> Result<Machine, Error> {
    if let Some(entry) = catalogue().iter().find(|entry| entry.name.eq_ignore_ascii_case(name)) {
        return entry.machine();
    }
    if let Some(n) = name.strip_prefix("complete:") {
        let n = n.parse::<usize>().ok().filter(|n| (1..=mapa_core::MAX_DEVICES).contains(n));
        let expected = || Error::new(format!("`{name}`: expected complete:N, N from 1 to {}", mapa_core::MAX_DEVICES));
        return complete(n.ok_or_else(expected)?);
    }
    let names: Vec<&str> = catalogue().iter().map(|entry| entry.name).collect();
    Err(Error::new(format!("no machine is called `{name}`: expected {} or complete:N", names.join(", "))))
}

fn complete(n: usize) -> Result<Machine, Error> {
    let mut fabric = Fabric::new();
    let bridge = fabric.add(FabricNode { name: "bridge0".to_owned(), kind: NodeKind::HostBridge })?;
    for i in 0..n {
        let device = fabric.add_device(format!("GPU{i}"))?;
        fabric.attach(device, bridge, 12.0)?;
    }
    Ok(Machine {
        name: format!("complete:{n}"),
        title: format!("{n} devices below one PCIe host bridge"),
        source: "by formula".to_owned(),
        notes: Vec::new(),
        labels: Labels::default(),
        fabric,
        warnings: Vec::new(),
    })
}
