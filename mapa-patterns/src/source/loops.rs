//! Loops: the variable of each, its first value, its update, and the condition for another
//! iteration.
//!
//! A loop can be evaluated iteration by iteration, for each rank, if its variable has exactly one
//! update and the evaluator understands it. The variables that any other loop changes are unknown
//! within and after it.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::declare::{declared, parameters};
use super::expr::{Expr, Language, Operator, children, operator};
use super::program::{FrameKind, SourceProgram};
use super::walk::SyntaxWalk;

/// The frame of a `for` statement of C or Python.
pub(super) fn loop_of(walk: &SyntaxWalk<'_, '_>, node: Node<'_>) -> FrameKind {
    if walk.program.language == Language::Python {
        return over_range(walk, node);
    }
    counted(walk, node).unwrap_or(FrameKind::Repeat(BTreeSet::new()))
}

/// The frame of a Python loop, as a statement or in a comprehension: a [`FrameKind::Loop`] for
/// `for i in range(first, end, step)`, else a [`FrameKind::Repeat`].
pub(super) fn over_range(walk: &SyntaxWalk<'_, '_>, node: Node<'_>) -> FrameKind {
    range(walk, node).unwrap_or_else(|| {
        let mut names = BTreeSet::new();
        if let Some(left) = node.child_by_field_name("left") {
            walk.lower(left).names(&mut names);
        }
        FrameKind::Repeat(names)
    })
}

fn range(walk: &SyntaxWalk<'_, '_>, node: Node<'_>) -> Option<FrameKind> {
    let Expr::Name(variable) = walk.lower(node.child_by_field_name("left")?) else {
        return None;
    };
    let Expr::Call(call, arguments) = walk.lower(node.child_by_field_name("right")?) else {
        return None;
    };
    if call != "range" || arguments.iter().any(|(_, value)| value.mentions(&variable)) {
        return None;
    }
    let mut values = arguments.into_iter().map(|(_, value)| value);
    let (first, end, step) = match (values.next(), values.next(), values.next()) {
        (Some(end), None, None) => (Expr::Int(0), end, Expr::Int(1)),
        (Some(first), Some(end), None) => (first, end, Expr::Int(1)),
        (Some(first), Some(end), Some(step)) => (first, end, step),
        _ => return None,
    };
    let (expr, zero) = (Expr::Name(variable.clone()), Expr::Int(0));
    // The sign of the step may depend on the rank, so the condition tests it:
    // step > 0 ? i < end : (step < 0 ? i > end : unknown).
    let down = Expr::If(Box::new((
        Expr::binary(Operator::Less, step.clone(), zero.clone()),
        Expr::binary(Operator::Greater, expr.clone(), end.clone()),
        Expr::Unknown,
    )));
    let going = Expr::If(Box::new((
        Expr::binary(Operator::Greater, step.clone(), zero),
        Expr::binary(Operator::Less, expr.clone(), end),
        down,
    )));
    let next = Expr::binary(Operator::Add, expr, step);
    Some(FrameKind::Loop {
        variable,
        first,
        going,
        next,
        at: node.start_byte(),
        updated_at: usize::MAX,
    })
}

/// The frame of `for (int i = first; going; update)` in C. None if the condition mentions no
/// variable that the update changes.
fn counted(walk: &SyntaxWalk<'_, '_>, node: Node<'_>) -> Option<FrameKind> {
    let (start, going, update) = (
        node.child_by_field_name("initializer")?,
        node.child_by_field_name("condition")?,
        node.child_by_field_name("update")?,
    );
    let going = walk.lower(going);
    let mut updates = Vec::new();
    parts(update, &mut updates);
    let starts: Vec<_> = match start.kind() {
        "declaration" => children(start)
            .into_iter()
            .filter(|child| child.kind() == "init_declarator")
            .collect(),
        _ => {
            let mut starts = Vec::new();
            parts(start, &mut starts);
            starts
        }
    };
    let known: Vec<_> = updates
        .iter()
        .filter_map(|update| updated(walk, *update))
        .collect();
    let (variable, next) = known.iter().find(|(name, _)| going.mentions(name))?;
    // Other assignments to the variable in the body make it unknown. Its bindings show them, and
    // `edges.rs` looks there.
    Some(FrameKind::Loop {
        variable: variable.clone(),
        first: start_of(walk, &starts, variable)?,
        going,
        next: next.clone(),
        at: node.start_byte(),
        updated_at: node.end_byte(),
    })
}

/// The value that one of these declarations or assignments gives a variable.
fn start_of(walk: &SyntaxWalk<'_, '_>, starts: &[Node<'_>], name: &str) -> Option<Expr> {
    let found = starts.iter().find_map(|start| {
        let variable = start
            .child_by_field_name("declarator")
            .or_else(|| start.child_by_field_name("left"))?;
        let is_plain = start.kind() == "init_declarator"
            || start
                .child_by_field_name("operator")
                .is_some_and(|operator| walk.text(operator) == "=");
        (is_plain && walk.text(variable) == name).then_some(start)
    })?;
    let value = found
        .child_by_field_name("value")
        .or_else(|| found.child_by_field_name("right"))?;
    Some(walk.lower(value))
}

/// Collects the parts of a comma expression such as `i = 0, j = 1`, at most 17.
fn parts<'t>(node: Node<'t>, all: &mut Vec<Node<'t>>) {
    let mut next = Some(node);
    for _ in 0..16 {
        match next {
            Some(node) if node.kind() == "comma_expression" => {
                all.extend(node.child_by_field_name("left"));
                next = node.child_by_field_name("right");
            }
            _ => break,
        }
    }
    all.extend(next);
}

/// The variable that `i++`, `i = f(i)` or `i *= 2` changes, and its new value.
pub(super) fn updated(walk: &SyntaxWalk<'_, '_>, node: Node<'_>) -> Option<(String, Expr)> {
    let by =
        |path: &str, operator, value| Expr::binary(operator, Expr::Name(path.to_owned()), value);
    match node.kind() {
        "update_expression" => {
            let Expr::Name(path) = walk.lower(node.child_by_field_name("argument")?) else {
                return None;
            };
            let operator = if walk.text(node).contains("++") {
                Operator::Add
            } else {
                Operator::Subtract
            };
            let value = by(&path, operator, Expr::Int(1));
            Some((path, value))
        }
        "assignment_expression" | "augmented_assignment" | "assignment" => {
            let Expr::Name(path) = walk.lower(node.child_by_field_name("left")?) else {
                return None;
            };
            let value = walk.lower(node.child_by_field_name("right")?);
            let text = node
                .child_by_field_name("operator")
                .map_or("=", |operator| walk.text(operator));
            let value = match text.strip_suffix('=')? {
                "" => value,
                // The result of `/=` in Python is not an integer.
                "/" if walk.program.language == Language::Python => Expr::Unknown,
                text => operator(text).map_or(Expr::Unknown, |operator| by(&path, operator, value)),
            };
            Some((path, value))
        }
        _ => None,
    }
}

/// The names that a lambda (its parameters) or a loop over a container binds.
pub(super) fn names_of(walk: &SyntaxWalk<'_, '_>, node: Node<'_>) -> BTreeSet<String> {
    match node.kind() {
        "for_range_loop" => {
            let name = node.child_by_field_name("declarator").and_then(declared);
            name.map(|name| walk.text(name).to_owned())
                .into_iter()
                .collect()
        }
        _ => parameters(node, walk.source),
    }
}

/// Turns each `while` loop with a known variable into a [`FrameKind::Loop`]. The variable is one
/// that the condition mentions and that the body assigns exactly once, in every iteration.
pub(super) fn settle(program: &mut SourceProgram) {
    for id in 0..program.frames.len() {
        let Some((variable, next, updated_at)) = counter(program, id) else {
            continue;
        };
        let Some(frame) = program.frames.get_mut(id) else {
            continue;
        };
        let FrameKind::While { going, at } = &frame.what else {
            continue;
        };
        let (first, going, at) = (Expr::Name(variable.clone()), going.clone(), *at);
        frame.what = FrameKind::Loop {
            variable,
            first,
            going,
            next,
            at,
            updated_at,
        };
    }
}

/// The variable of a `while` loop, its value in the next iteration, and the place of its update.
fn counter(program: &SourceProgram, id: usize) -> Option<(String, Expr, usize)> {
    let FrameKind::While { going, .. } = &program.frames.get(id)?.what else {
        return None;
    };
    // A `continue` may skip the update.
    if program
        .jumps
        .iter()
        .any(|jump| jump.is_continue && program.is_within(jump.place.frame, id))
    {
        return None;
    }
    let mut names = BTreeSet::new();
    going.names(&mut names);
    names.into_iter().find_map(|name| {
        let bindings = program.bindings.get(&name)?;
        let mut binding = bindings
            .iter()
            .filter(|binding| program.is_within(binding.place.frame, id));
        match (binding.next(), binding.next()) {
            (Some(only), None) if only.place.frame == Some(id) => {
                let scope = only.place.scope;
                let is_module = scope == 0 && program.language == Language::Python;
                let is_local = is_module || program.is_local(scope, &name);
                is_local.then(|| (name, only.value.clone(), only.place.at))
            }
            _ => None,
        }
    })
}
