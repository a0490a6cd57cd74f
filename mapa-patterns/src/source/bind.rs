//! Where variables get their values: declarations, assignments, loops, parameters, and functions
//! that write a result through a pointer.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::declare::declared;
use super::expr::{Argument, Expr, children};
use super::loops::updated;
use super::names::{DEVICE, is_split};
use super::program::CodePlace;
use super::settings;
use super::tree::expression;
use super::walk::SyntaxWalk;

/// The value that a call writes through one of its pointers.
enum WrittenValue {
    Rank,
    Size,
    /// The result of the call.
    Own,
    /// One element of the result of the call.
    Part(i64),
    /// A copy of the argument with this index.
    Same(usize),
}

/// Functions that write a result through a pointer: the function, the index of the pointer among
/// its arguments, and the value written.
const ANSWERS: [(&str, usize, WrittenValue); 19] = [
    ("MPI_Comm_rank", 1, WrittenValue::Rank),
    ("MPI_Comm_size", 1, WrittenValue::Size),
    ("MPI_Cart_create", 5, WrittenValue::Own),
    ("MPI_Cart_shift", 3, WrittenValue::Part(0)),
    ("MPI_Cart_shift", 4, WrittenValue::Part(1)),
    ("MPI_Dims_create", 2, WrittenValue::Own),
    ("MPI_Comm_dup", 1, WrittenValue::Same(0)),
    ("MPI_Comm_split", 3, WrittenValue::Own),
    ("MPI_Comm_split_type", 4, WrittenValue::Own),
    ("MPI_Comm_create", 2, WrittenValue::Own),
    ("MPI_Cart_sub", 2, WrittenValue::Own),
    ("ncclCommUserRank", 1, WrittenValue::Rank),
    ("ncclCommCount", 1, WrittenValue::Size),
    ("ncclCommInitAll", 0, WrittenValue::Own),
    ("ncclCommInitRank", 0, WrittenValue::Own),
    ("ncclCommInitRankConfig", 0, WrittenValue::Own),
    ("ncclCommSplit", 3, WrittenValue::Own),
    ("cudaGetDeviceCount", 0, WrittenValue::Size),
    ("hipGetDeviceCount", 0, WrittenValue::Size),
];

/// Binds the variables that a call in C writes through pointers.
pub(super) fn outputs(
    walk: &mut SyntaxWalk<'_, '_>,
    node: Node<'_>,
    call: &str,
    arguments: &[Argument],
    place: CodePlace,
) {
    let name = call.rsplit("::").next().unwrap_or(call);
    if matches!(name, "cudaSetDevice" | "hipSetDevice")
        && let Some((_, device)) = arguments.first()
    {
        walk.program.bind(DEVICE, place, device.clone(), false);
    }
    let mut known = BTreeSet::new();
    for (_, index, answer) in ANSWERS.iter().filter(|(function, ..)| *function == name) {
        let Some(path) = arguments.get(*index).and_then(|(_, value)| value.path()) else {
            continue;
        };
        let own = || Expr::Call(name.to_owned(), arguments.to_vec());
        let value = match answer {
            // The rank within a group is not the rank in the job.
            WrittenValue::Rank | WrittenValue::Size if is_group(walk, arguments) => Expr::Unknown,
            WrittenValue::Rank => Expr::Rank,
            WrittenValue::Size => Expr::Size,
            WrittenValue::Own => own(),
            WrittenValue::Part(part) => own().item(Expr::Int(*part)),
            WrittenValue::Same(other) => arguments
                .get(*other)
                .map_or(Expr::Unknown, |(_, value)| value.clone()),
        };
        known.insert(*index);
        walk.program.bind(path, place, value, false);
    }
    // The call may write through any other pointer too, except through that of a send buffer.
    let is_sent = |index: usize| {
        index == 0 && name.starts_with("MPI_") && !name.contains("ecv") && name != "MPI_Bcast"
    };
    let nodes = node
        .child_by_field_name("arguments")
        .map(children)
        .unwrap_or_default();
    for (index, (argument, (_, value))) in nodes.iter().zip(arguments).enumerate() {
        let is_pointer =
            argument.kind() == "pointer_expression" && walk.text(*argument).starts_with('&');
        if let Some(path) = value
            .path()
            .filter(|_| is_pointer && !known.contains(&index) && !is_sent(index))
        {
            walk.program.bind(path, place, Expr::Unknown, false);
        }
    }
}

/// Whether the first argument is a communicator that was made by splitting another.
fn is_group(walk: &SyntaxWalk<'_, '_>, arguments: &[Argument]) -> bool {
    arguments
        .first()
        .and_then(|(_, comm)| comm.path())
        .and_then(|path| walk.program.bindings.get(path))
        .into_iter()
        .flatten()
        .any(|binding| is_split(&binding.value))
}

/// Binds the variables that a statement of C, C++ or CUDA declares or assigns.
pub(super) fn c(walk: &mut SyntaxWalk<'_, '_>, kind: &str, node: Node<'_>, place: CodePlace) {
    match kind {
        "declaration" => declare(walk, node, place),
        "init_declarator" => {
            let is_constant = walk.stack.iter().rev().nth(1).is_some_and(|above| {
                above.node.kind() == "declaration" && {
                    let words = walk
                        .source
                        .get(above.node.start_byte()..node.start_byte())
                        .unwrap_or_default();
                    words
                        .split_whitespace()
                        .any(|word| word == "const" || word == "constexpr")
                }
            });
            let name = node.child_by_field_name("declarator").and_then(declared);
            if let (Some(name), Some(value)) = (name, node.child_by_field_name("value")) {
                let (name, value) = (walk.text(name).to_owned(), walk.lower(value));
                walk.program.bind(&name, place, value, !is_constant);
            }
        }
        "field_declaration" => {
            let name = node.child_by_field_name("declarator").and_then(declared);
            if let (Some(name), Some(value)) = (name, node.child_by_field_name("default_value")) {
                let (name, value) = (walk.text(name).to_owned(), walk.lower(value));
                walk.program
                    .bind(&name, CodePlace { scope: 0, ..place }, value, true);
            }
        }
        "enumerator" => {
            if let (Some(name), Some(value)) = (
                node.child_by_field_name("name"),
                node.child_by_field_name("value"),
            ) {
                let (name, value) = (walk.text(name).to_owned(), walk.lower(value));
                walk.program
                    .bind(&name, CodePlace { scope: 0, ..place }, value, false);
            }
        }
        "assignment_expression" => assign(walk, node, place),
        "update_expression" => {
            if let Some((path, value)) = updated(walk, node) {
                walk.program.bind(&path, place, value, false);
            }
        }
        "preproc_def" => define(walk, node, place),
        "preproc_function_def" => {
            if let (Some(name), Some(value)) = (
                node.child_by_field_name("name"),
                node.child_by_field_name("value"),
            ) {
                let line = node.start_position().row + 1;
                let (name, body) = (
                    walk.text(name).to_owned(),
                    walk.text(value).replace("\\\n", "\n"),
                );
                walk.program.macros.insert(name, (body, line));
            }
        }
        _ => {}
    }
}

fn declare(walk: &mut SyntaxWalk<'_, '_>, node: Node<'_>, place: CodePlace) {
    let names: Vec<String> = children(node)
        .into_iter()
        .filter_map(declared)
        .map(|name| walk.text(name).to_owned())
        .collect();
    if let Some(scope) = walk
        .program
        .scopes
        .get_mut(place.scope)
        .filter(|_| place.scope != 0)
    {
        scope.declared.extend(names);
    }
}

/// Binds the variables of an assignment: `a = b`, `a += b`, and in Python `a, b = c`.
fn assign(walk: &mut SyntaxWalk<'_, '_>, node: Node<'_>, place: CodePlace) {
    let (Some(left), Some(right)) = (
        node.child_by_field_name("left"),
        node.child_by_field_name("right"),
    ) else {
        return;
    };
    if let Some((path, value)) = updated(walk, node) {
        return walk.program.bind(&path, place, value, false);
    }
    let (target, value) = (walk.lower(left), walk.lower(right));
    match target {
        Expr::List(targets) => {
            for (index, target) in targets.iter().enumerate() {
                if let Some(path) = target.path() {
                    walk.program.bind(
                        path,
                        place,
                        value.clone().item(Expr::Int(index as i64)),
                        false,
                    );
                }
            }
        }
        // An assignment to one element makes the whole list unknown.
        Expr::Item(sides) => {
            if let Some(path) = sides.0.path() {
                walk.program.bind(path, place, Expr::Unknown, false);
            }
        }
        _ => {}
    }
}

/// Binds the name of a macro: `#define N 4`, `#define reduce ncclAllReduce`.
fn define(walk: &mut SyntaxWalk<'_, '_>, node: Node<'_>, place: CodePlace) {
    let (Some(name), Some(value)) = (
        node.child_by_field_name("name"),
        node.child_by_field_name("value"),
    ) else {
        return;
    };
    let (name, value) = (
        walk.text(name).to_owned(),
        walk.text(value).trim().to_owned(),
    );
    let value = expression(&value, walk.program.language);
    walk.program.bind(
        &name,
        CodePlace {
            scope: 0,
            frame: None,
            ..place
        },
        value,
        false,
    );
}

/// Binds the names that a statement of Python assigns or imports.
pub(super) fn python(walk: &mut SyntaxWalk<'_, '_>, kind: &str, node: Node<'_>, place: CodePlace) {
    match kind {
        "assignment" | "augmented_assignment" => assign(walk, node, place),
        "global_statement" | "nonlocal_statement" => {
            let names: Vec<String> = children(node)
                .into_iter()
                .map(|name| walk.text(name).to_owned())
                .collect();
            if let Some(scope) = walk.program.scopes.get_mut(place.scope) {
                scope.declared.extend(names);
            }
        }
        "import_statement" => {
            for name in children(node) {
                let (module, alias) = imported(walk, name);
                // `import a.b` binds a.
                let alias =
                    alias.unwrap_or_else(|| module.split('.').next().unwrap_or(&module).to_owned());
                let module = if name.kind() == "aliased_import" {
                    module
                } else {
                    alias.clone()
                };
                walk.program.imports.insert(alias, module);
            }
        }
        "import_from_statement" => {
            let module = node.child_by_field_name("module_name");
            let from = module
                .map(|module| walk.text(module).to_owned())
                .unwrap_or_default();
            for name in children(node)
                .into_iter()
                .filter(|name| Some(*name) != module)
            {
                if name.kind() == "wildcard_import" {
                    walk.program
                        .imports
                        .insert(format!("*{from}"), from.clone());
                    continue;
                }
                let (name, alias) = imported(walk, name);
                walk.program.imports.insert(
                    alias.unwrap_or_else(|| name.clone()),
                    format!("{from}.{name}"),
                );
            }
        }
        "named_expression" => {
            if let (Some(name), Some(value)) = (
                node.child_by_field_name("name"),
                node.child_by_field_name("value"),
            ) {
                let (name, value) = (walk.text(name).to_owned(), walk.lower(value));
                walk.program.bind(&name, place, value, false);
            }
        }
        "for_statement" => {
            // The variables of a loop are unknown after it, and within it unless it runs over a
            // range.
            let left = node
                .child_by_field_name("left")
                .map(|left| walk.lower(left));
            let names = match left {
                Some(Expr::List(names)) => names,
                Some(name) => vec![name],
                None => Vec::new(),
            };
            for name in names.iter().filter_map(Expr::path) {
                walk.program.bind(name, place, Expr::Unknown, false);
            }
        }
        _ => settings::python(walk, kind, node, place),
    }
}

fn imported(walk: &SyntaxWalk<'_, '_>, node: Node<'_>) -> (String, Option<String>) {
    let name = node.child_by_field_name("name").unwrap_or(node);
    let alias = node
        .child_by_field_name("alias")
        .map(|alias| walk.text(alias).to_owned());
    (walk.text(name).to_owned(), alias)
}
