//! Drivers of machines that do not exist: a command that is a script, a folder of KFD's files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mapa_live::{Discovered, Live, Roots, discover};

/// What `nvidia-smi topo -m` prints of four GPUs.
pub(crate) const TOPO: &str = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV2\tSYS\tSYS\t0-15\t0
GPU1\tNV2\t X \tSYS\tSYS\t0-15\t0
GPU2\tSYS\tSYS\t X \tNV2\t16-31\t1
GPU3\tSYS\tSYS\tNV2\t X \t16-31\t1
";

/// The files of a machine without drivers, in a folder that is removed with the test.
pub(crate) struct Machine(PathBuf);

impl Machine {
    pub(crate) fn new() -> Self {
        static MACHINES: AtomicU32 = AtomicU32::new(0);
        let number = MACHINES.fetch_add(1, Ordering::Relaxed);
        let name = format!("live-{}-{number}", std::process::id());
        let machine = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        machine.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        machine.write(
            "proc/sys/kernel/random/boot_id",
            "11111111-2222-3333-4444-555555555555\n",
        );
        machine.write("proc/sys/kernel/hostname", "node7\n");
        machine.write(
            "proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\nGCC\n",
        );
        machine.write(
            "proc/self/cgroup",
            "0::/user.slice/user-1000.slice/session-3.scope\n",
        );
        machine
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    /// Makes `nvidia-smi` a script in which `$here` is this folder. Another process writes the
    /// file: a file that this process has open while a second test starts a command cannot be run.
    pub(crate) fn script(&self, text: &str) {
        self.write(
            "script.txt",
            &format!("#!/bin/sh\nhere='{}'\n{text}\n", self.0.display()),
        );
        let mut copy = Command::new("install");
        copy.args(["-m", "755"])
            .arg(self.path("script.txt"))
            .arg(self.path("nvidia-smi"));
        assert!(copy.status().unwrap().success());
    }

    /// A command that prints the matrix, counts how often it is asked for it, and has nothing else
    /// to say.
    pub(crate) fn with_command(self) -> Self {
        self.write("topo.txt", TOPO);
        self.script(
            r#"[ "$1" = topo ] && { echo asked >> "$here/asked"; cat "$here/topo.txt"; }; exit 0"#,
        );
        self
    }

    pub(crate) fn asked(&self) -> usize {
        fs::read_to_string(self.path("asked")).map_or(0, |text| text.lines().count())
    }

    /// Without a cache.
    pub(crate) fn live(&self) -> Live {
        let mut live = Live::default();
        live.nvml = self.path("libnvidia-ml.so.1");
        live.nvidia_smi = self.path("nvidia-smi");
        live.roots = Roots::below(&self.0);
        live.cache = None;
        live.time_limit = Duration::from_secs(30);
        live
    }

    pub(crate) fn cached(&self) -> Live {
        let mut live = self.live();
        live.cache = Some(self.path("cache"));
        live
    }

    pub(crate) fn discover(&self) -> Discovered {
        discover(&self.live()).unwrap()
    }

    /// Why there is no machine.
    pub(crate) fn refusal(&self, live: &Live) -> String {
        let error = discover(live).unwrap_err();
        assert!(error.is_unavailable(), "{error}");
        error.to_string()
    }

    /// The one file of the cache.
    pub(crate) fn kept(&self) -> PathBuf {
        let files: Vec<PathBuf> = fs::read_dir(self.path("cache"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Files of KFD: a processor and two GPUs with one link of Infinity Fabric between them.
pub(crate) fn write_kfd(machine: &Machine) {
    let write = |path: &str, text: &str| {
        machine.write(&format!("sys/class/kfd/kfd/topology/nodes/{path}"), text)
    };
    let link = |path: &str, wire: u32, from: u32, to: u32, mbps: u32| {
        let text = format!(
            "type {wire}\nnode_from {from}\nnode_to {to}\nweight 15\nmin_bandwidth {mbps}\nmax_bandwidth {mbps}\n"
        );
        write(&format!("{from}/io_links/{path}/properties"), &text);
    };
    write("0/gpu_id", "0\n");
    write(
        "0/properties",
        "cpu_cores_count 64\nsimd_count 0\nio_links_count 2\n",
    );
    (1..=2).for_each(|gpu| link(&(gpu - 1).to_string(), 2, 0, gpu, 32_000));
    for gpu in 1..=2u32 {
        write(&format!("{gpu}/gpu_id"), &format!("{}\n", 1000 + gpu));
        let location = gpu << 8;
        let properties = format!(
            "cpu_cores_count 0\nsimd_count 416\nio_links_count 2\ngfx_target_version 90010\nlocation_id {location}\ndomain 0\nunique_id {gpu}\n"
        );
        write(&format!("{gpu}/properties"), &properties);
        link("0", 2, gpu, 0, 32_000);
        link("1", 11, gpu, 3 - gpu, 50_000);
    }
}

/// Why an answer was not kept; the next call asks.
pub(crate) fn unkept(live: &Live) -> String {
    let found = discover(live).unwrap();
    assert!(!found.cached && found.file.is_none(), "{:?}", found.file);
    let why = found
        .machine
        .warnings
        .last()
        .unwrap()
        .what
        .strip_prefix("not kept for the next call: ");
    why.unwrap().to_owned()
}
