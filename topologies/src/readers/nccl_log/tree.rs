//! Reads one tree: what is below what by indentation, and what each row joins.

use std::collections::BTreeSet;

use mapa_core::MAX_DEVICES;

use super::printed::{PrintedTree, TreeEnd};
use super::row::{LogWords, NodeId, Row};
use crate::error::{Error, ErrorKind};
use crate::machine::Warning;

/// The most levels below a CPU. NCCL's own line has room for some seventy.
const MAX_LEVELS: usize = 128;

/// What NCCL prints for a hop without limit, such as that to a network card that is no PCI device, GB/s.
const UNLIMITED_GBPS: f64 = 2000.0;

/// A tree, row by row.
#[derive(Default)]
pub(super) struct RowTree {
    /// All elements, each behind the one above it.
    pub(super) elements: Vec<Element>,
    /// The CPUs among them.
    pub(super) cpus: Vec<usize>,
    pub(super) warnings: Vec<Warning>,
    /// Whether ids have the number of their host.
    pub(super) with_hosts: bool,
    /// Whether NCCL joined the two levels of a Broadcom switch.
    pub(super) flattened: bool,
}

/// A row for an element, with what its own rows say.
pub(super) struct Element {
    pub(super) line: usize,
    pub(super) kind: ElementKind,
    pub(super) id: NodeId,
    /// The bandwidth to the element above, GB/s; none if it is unknown or has no limit.
    pub(super) hop: Option<f64>,
    pub(super) below: Vec<usize>,
    /// Its direct links.
    pub(super) links: Vec<ElementLink>,
    /// Of a CPU: the bandwidths to others.
    pub(super) to_cpus: Vec<(usize, NodeId, Option<f64>)>,
    /// Of a network card: its ports, by host and number.
    pub(super) ports: Vec<(u64, u64)>,
    /// Of a device that is printed apart from its GPUs (partitions): these.
    pub(super) gpus: Vec<(usize, NodeId)>,
    /// The column of the rows below.
    indent: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ElementKind {
    Cpu,
    /// A PCI switch or bridge.
    Pci,
    Gpu,
    /// NCCL from 2.30 on: the PCI device of one or several GPUs.
    Dev,
    Nic,
}

/// A direct link of an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementLink {
    pub(super) line: usize,
    pub(super) xgmi: bool,
    pub(super) gbps: f64,
    pub(super) to: LinkEnd,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LinkEnd {
    Device(NodeId),
    Switch,
    /// The CPU, or the bridge that partitions of a GPU share on the way to it.
    Host,
}

impl ElementKind {
    fn of(node: &str) -> Option<Self> {
        Some(match node {
            "PCI" => Self::Pci,
            "GPU" => Self::Gpu,
            "DEV" => Self::Dev,
            "NIC" => Self::Nic,
            _ => return None,
        })
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Pci => "PCI",
            Self::Gpu => "GPU",
            Self::Dev => "DEV",
            Self::Nic => "NIC",
        }
    }
}

/// Reads the rows of a tree.
///
/// # Errors
/// A row that is cut, or at a place where it cannot be; no end. The message names the line.
pub(super) fn read(tree: &PrintedTree<'_>) -> Result<RowTree, Error> {
    let mut rows = RowWalk {
        tree: RowTree::default(),
        above: Vec::new(),
        odd: BTreeSet::new(),
        counts: [0; 5],
    };
    for line in &tree.lines {
        match &line.says {
            LogWords::Cpu(id) => rows.cpu(line.number, *id)?,
            LogWords::Row(row) => rows.row(line.number, row)?,
            LogWords::Garbled(text) => {
                let text: String = text.chars().take(60).collect();
                let what = format!(
                    "`{text}` is cut or garbled: expected a row such as `+ PCI[24.0] - GPU/6000 (0)`"
                );
                return Err(Error::at(line.number, what));
            }
            LogWords::Heading(_) | LogWords::End | LogWords::Path => {}
        }
    }
    check_end(tree, &rows.tree)?;
    check_cpus(&rows.tree)?;
    if tree.end == TreeEnd::Open {
        rows.tree.warnings.push(Warning {
            line: tree.lines.last().map(|line| line.number),
            what: "the line of `=` behind the tree is missing: the last rows may be too".to_owned(),
        });
    }
    Ok(rows.tree)
}

/// Checks that a tree without its last line is not cut: the last row is one that stands behind all others of its CPU.
fn check_end(tree: &PrintedTree<'_>, read: &RowTree) -> Result<(), Error> {
    let ends = match tree.lines.last().map(|line| &line.says) {
        Some(LogWords::Row(row)) => matches!(row.link, "SYS" | "QPI"),
        _ => false,
    };
    let whole = read
        .cpus
        .last()
        .is_some_and(|&cpu| !read.elements[cpu].below.is_empty());
    if tree.end != TreeEnd::Open || ends && whole {
        return Ok(());
    }
    let last = tree.lines.last().map_or(tree.line, |line| line.number);
    Err(Error::at(
        last,
        "the tree is cut behind this line: expected all its rows, and a line of `=` behind them",
    ))
}

/// Checks that every CPU to which another has a connection was printed.
fn check_cpus(tree: &RowTree) -> Result<(), Error> {
    let known: BTreeSet<(u64, u64)> = tree
        .cpus
        .iter()
        .map(|&cpu| tree.elements[cpu].id.key())
        .collect();
    for &cpu in &tree.cpus {
        for (line, id, _) in &tree.elements[cpu].to_cpus {
            if !known.contains(&id.key()) {
                let what = format!(
                    "a connection to CPU/{:x}, which has no rows of its own: expected all rows of the tree",
                    id.local
                );
                return Err(Error::at(*line, what));
            }
        }
    }
    Ok(())
}

struct RowWalk<'t> {
    tree: RowTree,
    /// The elements around the current row, with the columns of their `+`; the CPU has none.
    above: Vec<(usize, Option<usize>)>,
    /// The unknown words that already have a warning.
    odd: BTreeSet<&'t str>,
    /// How many elements of each kind there are.
    counts: [usize; 5],
}

impl<'t> RowWalk<'t> {
    fn cpu(&mut self, line: usize, id: NodeId) -> Result<(), Error> {
        self.above.clear();
        let cpu = self.add(line, ElementKind::Cpu, id, None, None)?;
        self.tree.cpus.push(cpu);
        Ok(())
    }

    /// Adds an element below the innermost of those above.
    fn add(
        &mut self,
        line: usize,
        kind: ElementKind,
        id: NodeId,
        hop: Option<f64>,
        column: Option<usize>,
    ) -> Result<usize, Error> {
        let count = &mut self.counts[kind as usize];
        *count += 1;
        // A machine has no more switches than devices and cards below them.
        if *count > 2 * MAX_DEVICES {
            let what = format!(
                "more than {} elements of the kind {}",
                2 * MAX_DEVICES,
                kind.word()
            );
            return Err(Error::at(line, what).with_kind(ErrorKind::TooLarge));
        }
        self.tree.with_hosts |= id.with_host;
        let element = self.tree.elements.len();
        self.tree.elements.push(Element {
            line,
            kind,
            id,
            hop,
            below: Vec::new(),
            links: Vec::new(),
            to_cpus: Vec::new(),
            ports: Vec::new(),
            gpus: Vec::new(),
            indent: None,
        });
        if let Some(&(above, _)) = self.above.last() {
            self.tree.elements[above].below.push(element);
        }
        self.above.push((element, column));
        Ok(element)
    }

    fn row(&mut self, line: usize, row: &Row<'t>) -> Result<(), Error> {
        // A row is below the nearest before it that stands further left.
        while self
            .above
            .last()
            .is_some_and(|(_, column)| column.is_some_and(|column| column >= row.column))
        {
            self.above.pop();
        }
        let Some(&(above, _)) = self.above.last() else {
            return Err(Error::at(
                line,
                "a row before the first CPU: expected `CPU/0 (1/1/2)` above it",
            ));
        };
        let element = &mut self.tree.elements[above];
        if *element.indent.get_or_insert(row.column) != row.column {
            let what = format!(
                "stands at another column than the other rows below {} of line {}: expected all rows, with their indentation",
                element.kind.word(),
                element.line
            );
            return Err(Error::at(line, what));
        }
        let hop = (row.gbps > 0.0 && row.gbps < UNLIMITED_GBPS).then_some(row.gbps);
        match row.link {
            "PCI" => self.below(line, row, above, hop),
            "NVL" | "XGMI" | "C2C" => self.link(line, row, above),
            "SYS" | "QPI" if element.kind == ElementKind::Cpu => {
                element.to_cpus.push((line, row.id, hop));
                Ok(())
            }
            "NET" if element.kind == ElementKind::Nic => {
                if row.node == "NET" {
                    element.ports.push(row.id.key());
                }
                Ok(())
            }
            "LOC" => {
                // Other local links are shortcuts between switches and between partitions.
                if element.kind == ElementKind::Dev && row.node == "GPU" {
                    element.gpus.push((line, row.id));
                }
                Ok(())
            }
            "SYS" | "QPI" | "NET" => Err(misplaced(line, row, element.kind)),
            other => {
                if self.odd.len() < 16 && self.odd.insert(other) {
                    let what = format!("unknown kind of link `{other}`: ignored");
                    self.tree.warnings.push(Warning {
                        line: Some(line),
                        what,
                    });
                }
                Ok(())
            }
        }
    }

    /// A row for an element of the PCI tree.
    fn below(
        &mut self,
        line: usize,
        row: &Row<'t>,
        above: usize,
        hop: Option<f64>,
    ) -> Result<(), Error> {
        let over = self.tree.elements[above].kind;
        if !matches!(over, ElementKind::Cpu | ElementKind::Pci) {
            return Err(misplaced(line, row, over));
        }
        if self.above.len() > MAX_LEVELS {
            let what = format!("more than {MAX_LEVELS} levels");
            return Err(Error::at(line, what).with_kind(ErrorKind::TooLarge));
        }
        let Some(kind) = ElementKind::of(row.node) else {
            let what = format!(
                "unknown element `{}`: expected PCI, GPU, DEV or NIC",
                row.node
            );
            return Err(Error::at(line, what));
        };
        // NCCL gives a switch whose levels it joined this device number.
        let joined = kind == ElementKind::Pci
            && row.remark.starts_with("(1000c0")
            && row.remark.ends_with("ffff)");
        self.tree.flattened |= joined;
        self.add(line, kind, row.id, hop, Some(row.column))
            .map(|_| ())
    }

    /// A row for a direct link.
    fn link(&mut self, line: usize, row: &Row<'t>, above: usize) -> Result<(), Error> {
        let element = &mut self.tree.elements[above];
        let to = match row.node {
            "GPU" => LinkEnd::Device(row.id),
            "DEV" => LinkEnd::Device(row.id.whole_device()),
            "NVS" => LinkEnd::Switch,
            _ => LinkEnd::Host,
        };
        match element.kind {
            ElementKind::Gpu | ElementKind::Dev => {}
            // The other end of a device's links to its CPU, which the device states too.
            ElementKind::Cpu if to != LinkEnd::Switch => {}
            kind => return Err(misplaced(line, row, kind)),
        }
        if row.gbps == 0.0 {
            let what = "a direct link without bandwidth: left out".to_owned();
            self.tree.warnings.push(Warning {
                line: Some(line),
                what,
            });
            return Ok(());
        }
        element.links.push(ElementLink {
            line,
            xgmi: row.link == "XGMI",
            gbps: row.gbps,
            to,
        });
        Ok(())
    }
}

/// A row of a kind that the element above it cannot have. Mostly the text has lost its indentation, or rows.
fn misplaced(line: usize, row: &Row<'_>, above: ElementKind) -> Error {
    let what = format!(
        "`{} - {}` below {}: expected all rows of the tree, with their indentation",
        row.link,
        row.node,
        above.word()
    );
    Error::at(line, what)
}
