//! Writes the XML elements of the file.

use std::fmt::Write;

use mapa_core::Link;

use super::plan::{CpuPlan, NcclPlan, SwitchPlan, Top, UnusedAddresses, count};
use crate::links;
use crate::products;
use crate::vendor::Vendor;

const SWITCH: &str = "0x060400";
const CARD: &str = "0x020000";
const NV_SWITCH: &str = "0x068000";

/// Writes a plan as XML. Comments in front list what the file cannot express.
pub(super) fn write(plan: &NcclPlan) -> String {
    let mut free = plan.free.clone();
    let switch = plan.switched.then(|| free.next());
    let mut writer = Writer {
        plan,
        body: String::new(),
        free,
        switch,
        rates_lost: false,
        hops_lost: false,
        cards: 0,
    };
    for cpu in &plan.cpus {
        writer.cpu(cpu);
    }
    let mut text = String::new();
    for what in plan.lost.iter().copied().chain(writer.lost()) {
        text += &format!("<!-- {what} -->\n");
    }
    let version = if plan.amd { 2 } else { 1 };
    text + &format!("<system version=\"{version}\">\n{}</system>\n", writer.body)
}

struct Writer<'p> {
    plan: &'p NcclPlan,
    body: String,
    free: UnusedAddresses,
    /// The address of the switch of direct links.
    switch: Option<String>,
    rates_lost: bool,
    hops_lost: bool,
    /// How many cards were written so far.
    cards: u32,
}

impl Writer<'_> {
    fn lost(&self) -> Vec<&'static str> {
        let rates =
            "Some direct links fit no known generation: this file does not give their bandwidth.";
        let hops = "Some hops fit no PCIe link: this file does not give their bandwidth.";
        [(self.rates_lost, rates), (self.hops_lost, hops)]
            .iter()
            .filter(|(lost, _)| *lost)
            .map(|(_, what)| *what)
            .collect()
    }

    fn line(&mut self, depth: usize, text: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.body, "{:width$}{text}", "", width = 2 * depth);
    }

    fn cpu(&mut self, cpu: &CpuPlan) {
        self.line(1, &format!("<cpu numaid=\"{}\">", cpu.numa));
        for top in &cpu.switches {
            self.top(top);
        }
        for &card in &cpu.cards {
            self.card(2, card);
        }
        self.line(1, "</cpu>");
    }

    fn top(&mut self, top: &Top) {
        match &top.leaves[..] {
            [leaf] if top.cards.is_empty() => {
                self.leaf(2, leaf, leaf.devices.len() + leaf.cards.len() > 1)
            }
            leaves => {
                let members: Vec<usize> = leaves
                    .iter()
                    .flat_map(SwitchPlan::members)
                    .chain(top.cards.iter().copied())
                    .collect();
                self.open_switch(2, &members);
                for leaf in leaves {
                    self.leaf(3, leaf, true);
                }
                for &card in &top.cards {
                    self.open_switch(3, &[card]);
                    self.card(4, card);
                    self.line(3, "</pci>");
                }
                self.line(2, "</pci>");
            }
        }
    }

    fn leaf(&mut self, mut depth: usize, leaf: &SwitchPlan, switch: bool) {
        if switch {
            self.open_switch(depth, &leaf.members().collect::<Vec<_>>());
            depth += 1;
        }
        for &id in &leaf.devices {
            self.device(depth, id);
        }
        for &card in &leaf.cards {
            self.card(depth, card);
        }
        if switch {
            self.line(depth - 1, "</pci>");
        }
    }

    /// Opens a switch above these vertices. Its bandwidth is that of the best path from them to
    /// another vertex.
    fn open_switch(&mut self, depth: usize, members: &[usize]) {
        let plan = self.plan;
        let mut inside = vec![false; plan.graph.len()];
        members.iter().for_each(|&member| inside[member] = true);
        let outside: Vec<usize> = (0..inside.len()).filter(|&other| !inside[other]).collect();
        let paths = members
            .iter()
            .flat_map(|&a| outside.iter().map(move |&b| plan.pair(a, b).1));
        let away = paths
            .filter(|path| path.exists())
            .map(|path| path.gbps)
            .reduce(f64::max);
        let widest = || members.iter().map(|&a| plan.hops[a]).reduce(f64::max);
        let hop = self.hop(away.or_else(widest).unwrap_or_default());
        let address = self.free.next();
        self.line(
            depth,
            &format!("<pci busid=\"{address}\" class=\"{SWITCH}\" {hop}>"),
        );
    }

    fn device(&mut self, depth: usize, id: usize) {
        let plan = self.plan;
        let (address, number) = (&plan.addresses[id], plan.numbers[id]);
        let hop = self.hop(plan.hops[id]);
        let (class, vendor) = if plan.amd {
            ("0x038000", Vendor::Amd)
        } else {
            ("0x030200", Vendor::Nvidia)
        };
        let vendor = vendor.pci_id();
        self.line(
            depth,
            &format!("<pci busid=\"{address}\" class=\"{class}\" vendor=\"{vendor:#06x}\" {hop}>"),
        );
        let links = self.links(id, class);
        let generation = self.generation(id);
        let end = if links.is_empty() { "/>" } else { ">" };
        self.line(
            depth + 1,
            &format!("<gpu dev=\"{number}\"{generation} rank=\"{id}\" gdr=\"1\"{end}"),
        );
        for link in &links {
            self.line(depth + 2, link);
        }
        if !links.is_empty() {
            self.line(depth + 1, "</gpu>");
        }
        self.line(depth, "</pci>");
    }

    /// The direct links of a device: to other devices (`Some`) and to the link switch (`None`).
    fn bonds(&self, id: usize) -> impl Iterator<Item = (Option<usize>, Link)> {
        let plan = self.plan;
        let key = move |other: usize| (id.min(other), id.max(other));
        let others = (0..plan.devices)
            .filter_map(move |other| Some((Some(other), *plan.bonds.get(&key(other))?)));
        let port = plan.graph.devices()[id]
            .switch_port
            .filter(|_| plan.switched);
        others.chain(port.map(|port| (None, port)))
    }

    fn links(&self, id: usize, class: &str) -> Vec<String> {
        let tag = if self.plan.amd { "xgmi" } else { "nvlink" };
        let link = |(other, bond): (Option<usize>, Link)| {
            let (target, class) = match other {
                Some(other) => (self.plan.addresses[other].as_str(), class),
                None => (self.switch.as_deref().unwrap_or_default(), NV_SWITCH),
            };
            format!(
                "<{tag} target=\"{target}\" count=\"{}\" tclass=\"{class}\"/>",
                count(bond.class)
            )
        };
        self.bonds(id).map(link).collect()
    }

    /// The attribute from which readers derive the bandwidth of a link: ` sm="70"`.
    fn generation(&mut self, id: usize) -> String {
        let rates: Vec<f64> = self
            .bonds(id)
            .map(|(_, bond)| bond.gbps / f64::from(count(bond.class)))
            .collect();
        let Some(&first) = rates.first() else {
            return String::new();
        };
        let alike = rates.iter().all(|rate| (rate - first).abs() < 0.01);
        let product = self.plan.graph.devices()[id].product.as_deref();
        let generation = product
            .and_then(products::links)
            .map(|links| links.generation);
        let attribute = if self.plan.amd {
            links::gfx_of_xgmi(first).map(|gfx| format!(" gcn=\"{gfx}\""))
        } else {
            links::sm_of_nvlink(first, generation).map(|sm| format!(" sm=\"{sm}\""))
        };
        let attribute = attribute.filter(|_| alike);
        self.rates_lost |= attribute.is_none();
        attribute.unwrap_or_default()
    }

    fn card(&mut self, depth: usize, card: usize) {
        let plan = self.plan;
        let (name, address) = (&plan.graph.devices()[card].name, &plan.addresses[card]);
        let hop = self.hop(plan.hops[card]);
        let open = format!("<pci busid=\"{address}\" class=\"{CARD}\" {hop}");
        if name == address {
            self.line(depth, &(open + "/>"));
            return;
        }
        self.line(depth, &(open + ">"));
        self.line(depth + 1, "<nic>");
        self.line(
            depth + 2,
            &format!("<net name=\"{}\" dev=\"{}\"/>", escaped(name), self.cards),
        );
        self.line(depth + 1, "</nic>");
        self.line(depth, "</pci>");
        self.cards += 1;
    }

    /// The speed and width attributes of the PCIe link with this bandwidth. If there is no such
    /// link, the speed is empty and the width 0, which is how NCCL writes an unknown link.
    fn hop(&mut self, gbps: f64) -> String {
        let link = links::pcie_of(gbps);
        self.hops_lost |= link.is_none();
        let (speed, lanes) = link.map_or((String::new(), 0), |(rate, lanes)| {
            (format!("{rate:.1} GT/s PCIe"), lanes)
        });
        format!("link_speed=\"{speed}\" link_width=\"{lanes}\"")
    }
}

impl SwitchPlan {
    fn members(&self) -> impl Iterator<Item = usize> {
        self.devices.iter().chain(&self.cards).copied()
    }
}

/// A name as the value of an attribute. Most control characters become `_`: XML cannot express
/// them.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '&' => text += "&amp;",
            '<' => text += "&lt;",
            '>' => text += "&gt;",
            '"' => text += "&quot;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => text.push('_'),
            c => text.push(c),
        }
    }
    text
}
