//! Arrows between crates: down the layers, to what a crate says it uses, and from no system to another.

use std::path::Path;

use super::project::{Dependency, Package};
use super::source::Sources;

/// The layers from the ground up: one decision; text and data of machines and jobs; many jobs; their time; this
/// machine; what all fronts share; experiments; what people start, and nothing else builds on.
pub(crate) const LAYERS: [&str; 8] = [
    "core", "data", "sched", "sim", "live", "front", "lab", "program",
];

/// The layers whose crates may register systems.
const REGISTERS: [&str; 2] = ["front", "program"];

fn level(package: &Package) -> Option<usize> {
    let layer = &package.facts().layer;
    LAYERS.iter().position(|known| known == layer)
}

/// What is wrong with the crates and their dependencies, a line each.
pub(crate) fn faults(packages: &[Package]) -> Vec<String> {
    let mut faults = Vec::new();
    for package in packages {
        let facts = package.facts();
        let name = &package.name;
        if level(package).is_none() {
            let layer = &facts.layer;
            faults.push(format!(
                "{name}: the layer `{layer}` is not known, expected one of {LAYERS:?}"
            ));
        }
        // What users link and load by another name may keep it.
        if let Some(called) = name.strip_prefix("mapa-system-") {
            let system = package.system().unwrap_or_default();
            let rest = called.strip_prefix(&system);
            if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) {
                faults.push(format!(
                    "{name} is not in a folder of systems/ of that name"
                ));
            }
        }
        for used in &facts.uses {
            if !package
                .dependencies
                .iter()
                .any(|dependency| dependency.name == *used)
            {
                faults.push(format!("{name} says it uses {used}, and does not"));
            }
        }
        for dependency in &package.dependencies {
            // A crate may use its own test features in its tests.
            let inside = packages.iter().find(|other| other.name == dependency.name);
            if let Some(to) = inside.filter(|to| to.name != *name) {
                faults.extend(arrow(package, dependency, to));
            }
        }
    }
    faults
}

/// What is wrong with one dependency.
fn arrow(from: &Package, dependency: &Dependency, to: &Package) -> Vec<String> {
    let (name, used) = (&from.name, &to.name);
    let mut faults = Vec::new();
    // Tests of a system's scheduler may simulate it.
    let is_system_test = from.system().is_some() && dependency.kind.as_deref() == Some("dev");
    if level(from) < level(to) && !is_system_test {
        let (low, high) = (&from.facts().layer, &to.facts().layer);
        faults.push(format!(
            "{name} of the layer `{low}` must not depend on {used}, of `{high}` above it"
        ));
    }
    let of_systems = (from.system(), to.system());
    match &of_systems {
        (Some(own), Some(other)) if own != other => faults.push(format!(
            "{name} of the system `{own}` must not depend on {used}, of the system `{other}`"
        )),
        (None, Some(system)) => {
            faults.extend(registration(from, dependency, to, system));
        }
        _ if !from.facts().uses.contains(used) => faults.push(format!(
            "{name} must not depend on {used}, which is not among what it uses"
        )),
        _ => {}
    }
    if to.system().is_some() && dependency.rename.is_some() {
        faults.push(format!("{name} must call {used} by its name"));
    }
    faults
}

/// What is wrong with a dependency of a general crate on a system's crate. It is a registry's, by a feature that is
/// called as the system; or it is for benchmarks, examples or tests that go with the system.
fn registration(
    from: &Package,
    dependency: &Dependency,
    to: &Package,
    system: &str,
) -> Option<String> {
    let (name, used, facts) = (&from.name, &to.name, from.facts());
    if facts.uses.contains(used) {
        return Some(format!(
            "{name} must not have {used} in `uses`, from where the system `{system}` could not be taken away"
        ));
    }
    if facts.unfinished.iter().any(|candidate| candidate == system) {
        return None;
    }
    let parts = facts.parts.contains_key(system);
    if !REGISTERS.contains(&facts.layer.as_str()) || (facts.registry.is_empty() && !parts) {
        return Some(format!(
            "{name} must not depend on {used}, of the system `{system}`: it is no registry"
        ));
    }
    if dependency.kind.as_deref() == Some("dev") {
        return (!parts).then(|| {
            format!(
                "{name} must not depend on {used} without `parts` that go with the system `{system}`"
            )
        });
    }
    // `energy`, and `energy-lab` for more of it.
    let is_own = |feature: &str| {
        feature == system
            || feature
                .strip_prefix(system)
                .is_some_and(|rest| rest.starts_with('-'))
    };
    let turns_on = |entries: &[String]| entries.contains(&format!("dep:{used}"));
    let mut features = from.features.iter();
    if !dependency.optional
        || !features.any(|(feature, entries)| is_own(feature) && turns_on(entries))
    {
        return Some(format!(
            "{name} must not depend on {used} but as optional, by its feature `{system}`"
        ));
    }
    // `used?/schema` names a feature of a crate that the system's own feature has turned on.
    let names = |entry: &String| {
        let entry = entry.strip_prefix("dep:").unwrap_or(entry);
        entry.split('/').next() == Some(used)
    };
    let mut features = from.features.iter();
    let other = features.find(|(text, entries)| !is_own(text) && entries.iter().any(names));
    other.map(|(feature, _)| {
        format!("{name}: the feature `{feature}` must not name {used}, which `{system}` does")
    })
}

/// Where the source of one crate, with its tests, names a system that it must not: another system; or any, in a
/// general crate, but for registries and the parts that go with the system.
pub(crate) fn foreign_names(
    package: &Package,
    sources: &Sources,
    packages: &[Package],
) -> Vec<String> {
    let own = package.system();
    let facts = package.facts();
    let mut faults = Vec::new();
    for other in packages {
        let Some(system) = other.system().filter(|_| other.system() != own) else {
            continue;
        };
        let parts = facts.parts.get(&system);
        if own.is_none() && facts.unfinished.contains(&system) {
            continue;
        }
        let allowed = |path: &Path| {
            let registered = facts.registry.iter().any(|file| file == path);
            let mut parts = parts.into_iter().flatten();
            own.is_none() && (registered || parts.any(|part| path.starts_with(part)))
        };
        let identifiers = other.identifiers();
        for (path, text) in sources {
            let named = identifiers.iter().find(|name| mentions(text, name));
            if let Some(name) = named.filter(|_| !allowed(path)) {
                faults.push(format!(
                    "{}: {} names `{name}`, of the system `{system}`",
                    package.name,
                    path.display()
                ));
            }
        }
    }
    faults
}

/// Whether a text has a word outside comments.
fn mentions(text: &str, word: &str) -> bool {
    let is_part = |of_word: char| of_word.is_alphanumeric() || of_word == '_';
    text.lines().any(|line| {
        let code = line.split("//").next().unwrap_or_default();
        code.split(|character| !is_part(character))
            .any(|found| found == word)
    })
}
