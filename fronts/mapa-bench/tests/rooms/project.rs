//! The crates of the project, those outside the workspace too, with what each states of itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// What a crate states of itself in `[package.metadata.mapa]`. CONTRIBUTING.md says what to write.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Facts {
    /// One of [`LAYERS`](super::crates::LAYERS).
    pub(crate) layer: String,
    /// The crates of the project that this one may depend on. Systems that a general crate registers are not among
    /// them, so that a system can be taken away.
    pub(crate) uses: Vec<String>,
    /// The modules from the ground up: one may use modules before it, never one behind it. A module holds all modules
    /// in it, unless one of them is named too (`slo::replay`).
    #[serde(default)]
    pub(crate) rooms: Vec<String>,
    /// The folders in which `unsafe` is allowed.
    #[serde(default, rename = "unsafe")]
    pub(crate) unsafe_folders: Vec<UnsafeFolder>,
    /// The files that name systems: one row for each, behind the feature of that name.
    #[serde(default)]
    pub(crate) registry: Vec<PathBuf>,
    /// By system, the files and folders that go with it when it is taken away.
    #[serde(default)]
    pub(crate) parts: BTreeMap<String, Vec<PathBuf>>,
    /// Systems of which a general crate still holds more than rows, so that they cannot be taken away yet. The list may
    /// only get shorter.
    #[serde(default)]
    pub(crate) unfinished: Vec<String>,
}

/// A folder in which `unsafe` is allowed, and why.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnsafeFolder {
    pub(crate) folder: PathBuf,
    pub(crate) why: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    mapa: Option<Facts>,
}

/// A dependency as the manifest states it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev`, `build`, or none for what the crate itself needs.
    pub(crate) kind: Option<String>,
    pub(crate) optional: bool,
    pub(crate) rename: Option<String>,
}

/// A library, program, test or example of a crate.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
    pub(crate) name: String,
    pub(crate) src_path: PathBuf,
}

/// A crate as `cargo metadata` tells it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) targets: Vec<Target>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Answer {
    packages: Vec<Package>,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::canonicalize(root).unwrap()
}

/// Every crate below the root, by its folder.
pub(crate) fn packages() -> Vec<Package> {
    let root = root();
    let mut found = BTreeMap::new();
    for manifest in manifests(&root) {
        // The first is the workspace's, which answers for all its members.
        if !found.contains_key(&manifest) {
            let packages = metadata(&manifest);
            let by_manifest = |package: Package| (package.manifest_path.clone(), package);
            found.extend(packages.into_iter().map(by_manifest));
        }
    }
    found.into_values().collect()
}

/// Every manifest, a folder's before those of folders in it.
fn manifests(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let manifest = folder.join("Cargo.toml");
        if manifest.is_file() {
            found.push(manifest);
        }
        folders.extend(folders_in(&folder));
    }
    found
}

/// The folders in a folder, without those of version control and of builds.
pub(crate) fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_source = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        path.is_dir() && !path.is_symlink() && !name.starts_with('.') && name != "target"
    };
    paths.filter(is_source).collect()
}

fn metadata(manifest: &Path) -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .args(["--offline", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let answer: Answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "a crate of {} states what is not understood: {error}; CONTRIBUTING.md says what is expected",
            manifest.display()
        )
    });
    answer.packages
}

impl Package {
    /// What the crate states of itself.
    pub(crate) fn facts(&self) -> &Facts {
        let facts = self
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.mapa.as_ref());
        facts.unwrap_or_else(|| {
            panic!(
                "{}: expected [package.metadata.mapa] with layer, uses and rooms; CONTRIBUTING.md says how",
                self.manifest_path.display()
            )
        })
    }

    /// The same, to be changed by a test.
    pub(crate) fn facts_mut(&mut self) -> &mut Facts {
        let facts = self
            .metadata
            .as_mut()
            .and_then(|metadata| metadata.mapa.as_mut());
        facts.expect("what a crate of the project states")
    }

    /// Where the crate lies.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap()
    }

    /// Where the crate lies in the repository, as it is written there.
    pub(crate) fn place(&self) -> String {
        let place = self.folder().strip_prefix(root()).unwrap();
        place.to_str().unwrap().to_owned()
    }

    /// The system whose folder holds the crate.
    pub(crate) fn system(&self) -> Option<String> {
        let place = self.place();
        let inside = place.strip_prefix("systems/")?;
        inside.split('/').next().map(str::to_owned)
    }

    /// The names by which source may call the crate: its own, and its library's if that is another.
    pub(crate) fn identifiers(&self) -> Vec<String> {
        let libraries = (self.targets.iter())
            .filter(|target| target.kind.iter().any(|kind| kind.ends_with("lib")))
            .map(|target| target.name.as_str());
        let mut names: Vec<String> = [self.name.as_str()]
            .into_iter()
            .chain(libraries)
            .map(|name| name.replace('-', "_"))
            .collect();
        names.dedup();
        names
    }
}
