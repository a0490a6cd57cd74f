//! Facts about the machine from the system's files: its name, ids and drivers, and what this
//! process may see.

use std::fs;
use std::io::Read;
use std::path::Path;

use mapa_topologies::is_virtual_machine;

use crate::roots::Roots;

/// The most bytes that are read of a file.
const MOST_BYTES: u64 = 64 << 10;

/// The system's files, below their roots.
pub(crate) struct HostFiles<'r> {
    roots: &'r Roots,
}

impl<'r> HostFiles<'r> {
    pub(crate) fn new(roots: &'r Roots) -> Self {
        Self { roots }
    }

    /// The machine's name in its network.
    pub(crate) fn name(&self) -> Option<String> {
        self.kernel("hostname")
    }

    /// An identifier of this machine.
    pub(crate) fn machine(&self) -> Option<String> {
        // Only root may read the second file.
        first_line(&self.roots.etc.join("machine-id"))
            .or_else(|| first_line(&self.roots.sys.join("class/dmi/id/product_uuid")))
    }

    /// The boot id: each boot of the machine has another.
    pub(crate) fn boot(&self) -> Option<String> {
        self.kernel("random/boot_id")
    }

    /// Whether this is a virtual machine: by its firmware, or by the processor's flag that only hypervisors set.
    pub(crate) fn is_virtual(&self) -> bool {
        let dmi = |file: &str| first_line(&self.roots.sys.join("class/dmi/id").join(file));
        let [vendor, product] =
            ["sys_vendor", "product_name"].map(|file| dmi(file).unwrap_or_default());
        is_virtual_machine(&vendor, &product) || self.has_hypervisor_flag()
    }

    fn has_hypervisor_flag(&self) -> bool {
        let flags = |text: &str| {
            let mut lines = text.lines();
            let flags = lines.find_map(|line| line.strip_prefix("flags"))?;
            Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
        };
        // The first processor's flags are within the bytes that are read.
        text(&self.roots.proc.join("cpuinfo")).is_some_and(|text| flags(&text) == Some(true))
    }

    /// The versions of the loaded drivers and of the kernel.
    pub(crate) fn drivers(&self) -> Vec<String> {
        [
            ("nvidia", self.nvidia_driver()),
            ("amdgpu", self.amdgpu()),
            ("kernel", self.kernel("osrelease")),
        ]
        .into_iter()
        .filter_map(|(name, version)| Some(format!("{name} {}", version?)))
        .collect()
    }

    /// The version in the first line of `/proc/driver/nvidia/version`: its first word of numbers
    /// with dots between them, else the whole line.
    pub(crate) fn nvidia_driver(&self) -> Option<String> {
        let line = first_line(&self.roots.proc.join("driver/nvidia/version"))?;
        let version = line.split_whitespace().find(|word| is_version(word));
        Some(version.unwrap_or(&line).to_owned())
    }

    /// The version of amdgpu, or of the kernel that it is part of.
    pub(crate) fn amd_driver(&self) -> Option<String> {
        self.amdgpu().or_else(|| self.kernel("osrelease"))
    }

    fn amdgpu(&self) -> Option<String> {
        first_line(&self.roots.sys.join("module/amdgpu/version"))
    }

    fn kernel(&self, file: &str) -> Option<String> {
        first_line(&self.roots.proc.join("sys/kernel").join(file))
    }

    /// The facts that decide which devices this process sees. Containers have device nodes of their
    /// own. Batch systems put each job into a cgroup that may open only some devices.
    pub(crate) fn view(&self) -> String {
        let folders = [self.roots.dev.clone(), self.roots.dev.join("dri")];
        let mut nodes: Vec<String> = folders
            .iter()
            .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| is_node(name))
            .collect();
        // A folder lists its files in no fixed order, and the text is compared.
        nodes.sort_unstable();
        // A user's sessions are groups of their own too, but all of them may open the same devices.
        let group = self
            .group()
            .filter(|group| group != "/" && !group.starts_with("/user.slice"));
        format!("{} {}", nodes.join(","), group.unwrap_or_default())
            .trim()
            .to_owned()
    }

    /// The cgroup of this process that decides about devices: that of the controller `devices`
    /// (version 1), else the unified one (version 2), whose list of controllers is empty.
    fn group(&self) -> Option<String> {
        let text = text(&self.roots.proc.join("self/cgroup"))?;
        group_of(&text, "devices").or_else(|| group_of(&text, ""))
    }

    /// The class of a PCI device: 0x030200 is a 3D controller.
    #[cfg(all(feature = "nvml", target_os = "linux"))]
    pub(crate) fn pci_class(&self, address: &str) -> Option<u32> {
        let text = first_line(&self.pci(address).join("class"))?;
        u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
    }

    /// The NUMA node of a PCI device. The kernel's -1 means none.
    #[cfg(all(feature = "nvml", target_os = "linux"))]
    pub(crate) fn pci_numa(&self, address: &str) -> Option<u32> {
        first_line(&self.pci(address).join("numa_node"))?
            .parse()
            .ok()
    }

    #[cfg(all(feature = "nvml", target_os = "linux"))]
    fn pci(&self, address: &str) -> std::path::PathBuf {
        self.roots.sys.join("bus/pci/devices").join(address)
    }
}

/// The first line of a file, if it is not blank.
fn first_line(path: &Path) -> Option<String> {
    let text = text(path)?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)
        .ok()?
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path of the group with this controller in `/proc/self/cgroup`, whose lines read
/// `number:controllers:path`.
fn group_of(text: &str, controller: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let has = controllers.split(',').any(|name| name == controller);
        has.then(|| path.to_owned())
    })
}

/// Two numbers or more, with dots between them.
fn is_version(word: &str) -> bool {
    word.contains('.') && word.split('.').all(is_digits)
}

/// A device node of an accelerator: `nvidia0`, `kfd`, `renderD128`.
fn is_node(name: &str) -> bool {
    let number = name
        .strip_prefix("nvidia")
        .or_else(|| name.strip_prefix("renderD"));
    name == "kfd" || number.is_some_and(is_digits)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
