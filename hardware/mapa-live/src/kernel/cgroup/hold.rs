//! A group that holds processes together, whatever they do to their variables.
//!
//! It is made below the group of whoever asks, where the kernel lets its user make one: root everywhere, users where a part of the tree is theirs. A process that starts is in its
//! parent's group, so whatever one that is held starts is found there. A group limits nothing.
//!
//! A process that moves makes the kernel wait for all processors, which takes up to ten milliseconds. On version 2
//! a process can be born in a group, which costs nothing (clone3(2), `CLONE_INTO_CGROUP`, Linux 5.7): see
//! [`Cgroups::make`]. On version 1 a command moves once it has run for a while, with all that it has started, and
//! short ones never do.

use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use super::{MOUNT, PROCESSES, Version, members, path_in, remove};

/// Hierarchies of version 1 that may hold groups of processes and whose groups change nothing.
const PLAIN: [&str; 2] = ["pids", "freezer"];

/// How often processes that are outside are looked for: only what starts others all the time, or a kernel
/// that moves none, needs so many.
const PASSES: usize = 20;

/// The control groups of this machine.
#[derive(Clone, Debug)]
pub struct Cgroups {
    /// Where the file systems of control groups are mounted.
    root: PathBuf,
    /// The file that says in which groups this process is.
    own: PathBuf,
}

impl Default for Cgroups {
    fn default() -> Self {
        Self::new(MOUNT, "/proc/self/cgroup")
    }
}

impl Cgroups {
    /// Control groups below this folder, for a process of which this file says its groups.
    pub fn new(root: impl Into<PathBuf>, own: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            own: own.into(),
        }
    }

    /// The folder of this process's group, in the hierarchy that is used: version 2 if it is there,
    /// also beside version 1; else one of version 1.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        self.versioned_home().map(|(_, home)| home)
    }

    fn versioned_home(&self) -> Option<(Version, PathBuf)> {
        let text = fs::read_to_string(&self.own).ok()?;
        if let Some(place) = self.second()
            && let Some(path) = path_in(&text, "")
        {
            return below(&place, path).map(|home| (Version::V2, home));
        }
        PLAIN.into_iter().find_map(|name| {
            let place = self.root.join(name);
            let path = path_in(&text, name)?;
            let home = below(&place, path).filter(|path| path.join(PROCESSES).exists())?;
            Some((Version::V1, home))
        })
    }

    /// The root of version 2, if it is mounted: alone, or beside version 1.
    fn second(&self) -> Option<PathBuf> {
        [self.root.clone(), self.root.join("unified")]
            .into_iter()
            .find(|place| place.join(PROCESSES).exists())
    }

    /// Makes an empty group of this name in which a process can be born, and opens its folder for that. `None` where
    /// the kernel has version 1 alone, or does not let this process. A group that is there already is another's.
    #[must_use]
    pub fn make(&self, name: &str) -> Option<(PathBuf, File)> {
        let (Version::V2, home) = self.versioned_home()? else {
            return None;
        };
        let group = home.join(name);
        fs::create_dir(&group).ok()?;
        let Ok(folder) = File::open(&group) else {
            remove(&group);
            return None;
        };
        Some((group, folder))
    }

    /// The group of this name, wherever it lies below the roots in which groups of processes are made.
    ///
    /// O(groups of the machine): called only for a group whose path the ledger lacks.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let first = PLAIN.into_iter().map(|plain| self.root.join(plain));
        let mut folders: Vec<PathBuf> = self.second().into_iter().chain(first).collect();
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            for entry in entries {
                // `file_type` follows no links, so the search stays below the mount.
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                if entry.file_name() == name {
                    return Some(entry.path());
                }
                folders.push(entry.path());
            }
        }
        None
    }

    /// Whether a process is in other groups than this one.
    fn has_left(&self, pid: i32) -> bool {
        let proc = self.own.ancestors().nth(2).unwrap_or(&self.own);
        let other = fs::read(proc.join(pid.to_string()).join("cgroup"));
        // One that has ended has left nothing.
        other.is_ok_and(|other| !other.is_empty() && fs::read(&self.own).ok() != Some(other))
    }

    /// Makes a group of this name, and puts these processes into it, until `all` tells of none that is not
    /// there: what a process starts is where the process is. None where this process may not.
    #[must_use]
    pub fn hold(&self, name: &str, all: impl Fn() -> Vec<i32>) -> Option<PathBuf> {
        let group = self.home()?.join(name);
        // Whoever has chosen a group of its own is left there.
        if all().into_iter().any(|pid| self.has_left(pid)) {
            return None;
        }
        // This fails if there is such a group: the program that made it may still use it.
        fs::create_dir(&group).ok()?;
        for _ in 0..PASSES {
            // The processes first, then the group. A process that one inside starts between the two is
            // not in the first list. The other way round it would be in that list alone, and look
            // like one that has chosen its group.
            let mut outside = all();
            let inside = members(&group).unwrap_or_default();
            outside.retain(|pid| !inside.contains(pid));
            if outside.is_empty() {
                return Some(group);
            }
            if outside.iter().any(|&pid| self.has_left(pid)) {
                break;
            }
            for pid in outside {
                // One that has ended needs no group, and one that cannot be moved is found once more.
                let _ = fs::write(group.join(PROCESSES), pid.to_string());
            }
        }
        remove(&group);
        None
    }
}

/// The folder of a path of the kernel below a mount. A path that leads out of what is mounted is none.
fn below(place: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path.strip_prefix('/')?);
    let inside = path
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    inside.then(|| place.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn the_second_version_is_used_where_it_is_and_else_one_of_the_first() {
        for (files, line, expected) in [
            (
                vec![("cgroup.procs", ""), ("user/a/cgroup.procs", "")],
                "0::/user/a\n",
                Some("user/a"),
            ),
            (
                vec![("unified/cgroup.procs", ""), ("pids/x/cgroup.procs", "")],
                "8:pids:/x\n0::/\n",
                Some("unified"),
            ),
            (
                vec![("pids/x/cgroup.procs", "")],
                "8:cpu,pids:/x\n",
                Some("pids/x"),
            ),
            (
                vec![("freezer/y/cgroup.procs", "")],
                "8:pids:/x\n6:freezer:/y\n",
                Some("freezer/y"),
            ),
            // What lies outside the mount of a container cannot be named.
            (vec![("cgroup.procs", "")], "0::/../other\n", None),
            (vec![("memory/cgroup.procs", "")], "4:memory:/\n", None),
        ] {
            let folder = tree(&files);
            fs::write(folder.path().join("own"), line).unwrap();
            let found = Cgroups::new(folder.path(), folder.path().join("own")).home();
            let expected = expected.map(|name| folder.path().join(name));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn a_group_is_made_on_the_second_version_alone_and_found_by_its_name() {
        let folder = tree(&[
            ("cgroup/cgroup.procs", ""),
            ("cgroup/user/a/cgroup.procs", ""),
            ("own", "0::/user/a\n"),
        ]);
        let at = |path: &str| folder.path().join(path);
        let groups = Cgroups::new(at("cgroup"), at("own"));
        assert_eq!(groups.find("mapa-a-1"), None);
        let (made, _) = groups.make("mapa-a-1").unwrap();
        assert_eq!(made, at("cgroup/user/a/mapa-a-1"));
        assert!(groups.make("mapa-a-1").is_none(), "another's");
        // The process that looks for it is in another group.
        fs::write(at("own"), "0::/\n").unwrap();
        assert_eq!(groups.find("mapa-a-1"), Some(made));
        let first = tree(&[("pids/x/cgroup.procs", ""), ("own", "8:pids:/x\n")]);
        let at = |path: &str| first.path().join(path);
        let groups = Cgroups::new(first.path(), at("own"));
        assert!(groups.make("mapa-a-1").is_none());
        assert!(!at("pids/x/mapa-a-1").exists());
        fs::create_dir(at("pids/x/mapa-a-1")).unwrap();
        assert_eq!(groups.find("mapa-a-1"), Some(at("pids/x/mapa-a-1")));
    }

    #[test]
    fn whoever_has_chosen_a_group_is_not_moved() {
        let folder = tree(&[
            ("cgroup/cgroup.procs", ""),
            ("proc/self/cgroup", "0::/\n"),
            ("proc/7/cgroup", "0::/\n"),
            ("proc/8/cgroup", "0::/other\n"),
        ]);
        let at = |path: &str| folder.path().join(path);
        let groups = Cgroups::new(at("cgroup"), at("proc/self/cgroup"));
        assert_eq!(
            [7, 8, 9].map(|pid| groups.has_left(pid)),
            [false, true, false]
        );
        assert_eq!(groups.hold("mapa-a-1", || vec![7, 8]), None);
        assert!(!at("cgroup/mapa-a-1").exists());
        assert_eq!(
            groups.hold("mapa-a-1", Vec::new),
            Some(at("cgroup/mapa-a-1"))
        );
    }

    #[test]
    fn a_process_that_is_started_inside_while_the_lists_are_read_is_held() {
        let folder = tree(&[
            ("cgroup/cgroup.procs", ""),
            ("proc/self/cgroup", "0::/\n"),
            ("proc/7/cgroup", "0::/\n"),
            ("proc/8/cgroup", "0::/mapa-a-1\n"),
        ]);
        let at = |path: &str| folder.path().join(path);
        let groups = Cgroups::new(at("cgroup"), at("proc/self/cgroup"));
        let inside = at("cgroup/mapa-a-1/cgroup.procs");
        let lists = std::cell::Cell::new(0);
        let all = || {
            lists.set(lists.get() + 1);
            match lists.get() {
                // Before there is a group.
                1 => vec![7],
                // The kernel makes this file with the group.
                2 => {
                    fs::write(&inside, "").unwrap();
                    vec![7]
                }
                // By now 7 is inside. It starts 8, which is inside from its first instruction on.
                _ => {
                    fs::write(&inside, "7\n8\n").unwrap();
                    vec![7, 8]
                }
            }
        };
        assert_eq!(groups.hold("mapa-a-1", all), Some(at("cgroup/mapa-a-1")));
    }
}
