//! Rooms and circles: which arrows of a crate run upwards, which files name each other in a loop.

use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::source::{Arrow, Crate, ModulePath, Sources};

/// What is wrong with the rooms of a crate, a line each: a file in no room, a `use` of what lies
/// higher, a circle of files.
pub(crate) fn faults(name: &str, rooms: &[String], sources: &Sources) -> Vec<String> {
    let parsed = Crate::parse(sources);
    let mut faults = Vec::new();
    let rooms: Vec<Vec<&str>> = rooms
        .iter()
        .map(|room| room.split("::").collect())
        .collect();
    // A file is in the innermost room that holds it; the root is above all.
    let floor = |path: &ModulePath| {
        let holds = |room: &&Vec<&str>| {
            path.len() >= room.len() && room.iter().zip(path).all(|(a, b)| a == b)
        };
        let room = rooms.iter().filter(holds).max_by_key(|room| room.len());
        let at = room.and_then(|room| rooms.iter().position(|other| other == room));
        if path.is_empty() {
            Some(rooms.len())
        } else {
            at
        }
    };
    for path in parsed.files().filter(|path| floor(path).is_none()) {
        faults.push(format!(
            "{name}: `{}` is in no room of its Cargo.toml",
            path.join("::")
        ));
    }
    for room in &rooms {
        if !parsed.files().any(|path| path.iter().eq(room)) {
            faults.push(format!(
                "{name}: the room `{}` has no file",
                room.join("::")
            ));
        }
    }
    let arrows = parsed.arrows();
    for arrow in &arrows {
        if floor(&arrow.from).is_some_and(|from| Some(from) < floor(&arrow.to)) {
            faults.push(format!(
                "{name}, `{}` line {}: `{}` is on a higher floor, in `{}`",
                arrow.from.join("::"),
                arrow.line,
                arrow.name,
                arrow.to.join("::"),
            ));
        }
    }
    faults.extend(circles(name, &arrows));
    faults
}

/// The circles of files: sets of files that all reach each other.
pub(crate) fn circles(name: &str, arrows: &[Arrow]) -> Vec<String> {
    let mut graph: DiGraphMap<_, _> = DiGraphMap::new();
    for arrow in arrows {
        graph.add_edge(&arrow.from, &arrow.to, ());
    }
    let mut faults = Vec::new();
    for circle in tarjan_scc(&graph).iter().filter(|circle| circle.len() > 1) {
        let within = arrows
            .iter()
            .filter(|arrow| circle.contains(&&arrow.from) && circle.contains(&&arrow.to));
        // One name tells why two files are tied; the others are found by looking.
        let mut ties = BTreeMap::new();
        for Arrow {
            from,
            to,
            line,
            name,
        } in within
        {
            let tie = format!(
                "\n    {} line {line}: {name} in {}",
                from.join("::"),
                to.join("::")
            );
            ties.entry((from, to)).or_insert(tie);
        }
        let ties: String = ties.into_values().collect();
        faults.push(format!(
            "{name}: a circle of {} files{}",
            circle.len(),
            ties
        ));
    }
    faults
}
