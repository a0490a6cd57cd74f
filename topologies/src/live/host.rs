//! What the system's files say of the machine itself, beneath a root that tests can move.

use std::fs;
use std::io::Read;
use std::path::Path;

/// The most that is read of any such file.
const MOST_BYTES: u64 = 64 << 10;

/// `/proc`, `/sys`, `/etc` and `/dev`.
pub(super) struct Host<'r> {
    root: &'r Path,
}

impl<'r> Host<'r> {
    pub(super) fn new(root: &'r Path) -> Self {
        Self { root }
    }

    /// The network's name of the machine.
    pub(super) fn name(&self) -> Option<String> {
        self.line("proc/sys/kernel/hostname")
    }

    /// What tells this machine from others.
    pub(super) fn machine(&self) -> Option<String> {
        self.line("etc/machine-id").or_else(|| self.line("sys/class/dmi/id/product_uuid"))
    }

    /// What tells this run of the kernel from the one before the last start.
    pub(super) fn boot(&self) -> Option<String> {
        self.line("proc/sys/kernel/random/boot_id")
    }

    /// The versions of the drivers that are loaded, and of the kernel.
    pub(super) fn drivers(&self) -> Vec<String> {
        let named = |name: &str, version: Option<String>| version.map(|version| format!("{name} {version}"));
        let nvidia = named("nvidia", self.nvidia_driver());
        let amdgpu = named("amdgpu", self.line("sys/module/amdgpu/version"));
        let kernel = named("kernel", self.kernel());
        [nvidia, amdgpu, kernel].into_iter().flatten().collect()
    }

    /// The version in the first line of `/proc/driver/nvidia/version`: the first word of numbers with dots between.
    pub(super) fn nvidia_driver(&self) -> Option<String> {
        let line = self.line("proc/driver/nvidia/version")?;
        let is_version = |word: &&str| {
            word.split('.').count() >= 2
                && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        };
        let version = line.split_whitespace().find(is_version).map(str::to_owned);
        Some(version.unwrap_or(line))
    }

    /// The version of amdgpu, or of the kernel that it came with.
    pub(super) fn amd_driver(&self) -> Option<String> {
        self.line("sys/module/amdgpu/version").or_else(|| self.kernel())
    }

    fn kernel(&self) -> Option<String> {
        self.line("proc/sys/kernel/osrelease")
    }

    /// What decides which devices this process sees: containers have nodes of their own in `/dev`, batch systems put each
    /// job into a group of processes that may open some. A user's sessions are groups too, but all may open the same.
    pub(super) fn view(&self) -> String {
        let mut nodes: Vec<String> = ["dev", "dev/dri"]
            .into_iter()
            .flat_map(|folder| fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| is_node(name))
            .collect();
        nodes.sort_unstable();
        let group = self.group().filter(|group| group != "/" && !group.starts_with("/user.slice"));
        format!("{} {}", nodes.join(","), group.unwrap_or_default()).trim().to_owned()
    }

    /// The group of processes that decides about devices: of the controller `devices`, or the unified one.
    fn group(&self) -> Option<String> {
        let text = self.text("proc/self/cgroup")?;
        let group = |wanted: &str| {
            text.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let (controllers, path) = (parts.next()?, parts.next()?);
                controllers.split(',').any(|name| name == wanted).then(|| path.to_owned())
            })
        };
        group("devices").or_else(|| group(""))
    }

    /// The class of a PCI device, as in `0x030200`.
    #[cfg(all(feature = "nvml", target_os = "linux"))]
    pub(super) fn pci_class(&self, address: &str) -> Option<u32> {
        let text = self.line(&format!("sys/bus/pci/devices/{address}/class"))?;
        u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
    }

    /// The NUMA node of a PCI device; the kernel's -1 is none.
    #[cfg(all(feature = "nvml", target_os = "linux"))]
    pub(super) fn pci_numa(&self, address: &str) -> Option<u32> {
        self.line(&format!("sys/bus/pci/devices/{address}/numa_node"))?.parse().ok()
    }

    /// The first line, if there is anything in it.
    fn line(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        fs::File::open(self.root.join(path)).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A node of an accelerator: `nvidia0`, `kfd`, `renderD128`.
fn is_node(name: &str) -> bool {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    name == "kfd" || numbered("nvidia") || numbered("renderD")
}
