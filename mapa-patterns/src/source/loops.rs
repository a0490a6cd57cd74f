//! What loops repeat: which variable each changes, from what, how, and while what holds.
//!
//! A loop whose variable has one update that is understood can be run round by round, for each rank. Of any other loop the
//! variables that it changes are unknown within and after it.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::bind::{declared, parameters};
use super::expr::{Expr, Language, Operator, children, operator};
use super::parse::Walk;
use super::program::{FrameKind, Program};

/// What a `for` statement of C or Python repeats.
pub(super) fn loop_of(walk: &Walk<'_, '_>, node: Node<'_>) -> FrameKind {
    if walk.program.language == Language::Python {
        return over_range(walk, node);
    }
    counted(walk, node).unwrap_or(FrameKind::Repeat(BTreeSet::new()))
}

/// `for i in range(first, end, step)`, as a statement or in a comprehension; or over anything else.
pub(super) fn over_range(walk: &Walk<'_, '_>, node: Node<'_>) -> FrameKind {
    range(walk, node).unwrap_or_else(|| {
        let mut names = BTreeSet::new();
        if let Some(left) = node.child_by_field_name("left") {
            walk.lower(left).names(&mut names);
        }
        FrameKind::Repeat(names)
    })
}

fn range(walk: &Walk<'_, '_>, node: Node<'_>) -> Option<FrameKind> {
    let Expr::Name(variable) = walk.lower(node.child_by_field_name("left")?) else { return None };
    let Expr::Call(call, arguments) = walk.lower(node.child_by_field_name("right")?) else { return None };
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
    let own = || Expr::Name(variable.clone());
    let is = |operator, left, right| Expr::binary(operator, left, right);
    let zero = || Expr::Int(0);
    let down = Expr::If(Box::new((
        is(Operator::Less, step.clone(), zero()),
        is(Operator::Greater, own(), end.clone()),
        Expr::Unknown,
    )));
    let going = Expr::If(Box::new((is(Operator::Greater, step.clone(), zero()), is(Operator::Less, own(), end), down)));
    let next = is(Operator::Add, own(), step);
    Some(FrameKind::Loop { variable, first, going, next, at: node.start_byte(), updated_at: usize::MAX })
}

/// `for (int i = first; going; update)`.
fn counted(walk: &Walk<'_, '_>, node: Node<'_>) -> Option<FrameKind> {
    let (start, going, update) = (
        node.child_by_field_name("initializer")?,
        node.child_by_field_name("condition")?,
        node.child_by_field_name("update")?,
    );
    let going = walk.lower(going);
    let mut updates = Vec::new();
    parts(update, &mut updates);
    let starts: Vec<_> = match start.kind() {
        "declaration" => children(start).into_iter().filter(|own| own.kind() == "init_declarator").collect(),
        _ => {
            let mut starts = Vec::new();
            parts(start, &mut starts);
            starts
        }
    };
    let start_of = |name: &str| {
        let found = starts.iter().find_map(|own| {
            let variable = own.child_by_field_name("declarator").or_else(|| own.child_by_field_name("left"))?;
            let is_plain = own.kind() == "init_declarator"
                || own.child_by_field_name("operator").is_some_and(|operator| walk.text(operator) == "=");
            (is_plain && walk.text(variable) == name).then_some(own)
        })?;
        let value = found.child_by_field_name("value").or_else(|| found.child_by_field_name("right"))?;
        Some(walk.lower(value))
    };
    let known: Vec<_> = updates.iter().filter_map(|own| updated(walk, *own)).collect();
    let (variable, next) = known.iter().find(|(name, _)| going.mentions(name))?;
    // Changed twice, or beside others in ways that are not understood: its bindings tell (`edges.rs`).
    let (at, updated_at) = (node.start_byte(), node.end_byte());
    let first = start_of(variable)?;
    Some(FrameKind::Loop { variable: variable.clone(), first, going, next: next.clone(), at, updated_at })
}

/// The parts of `i = 0, j = 1`.
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

/// What `i++`, `i = f(i)` or `i *= 2` makes of a variable.
pub(super) fn updated(walk: &Walk<'_, '_>, node: Node<'_>) -> Option<(String, Expr)> {
    let by = |path: &str, operator, value| Expr::binary(operator, Expr::Name(path.to_owned()), value);
    match node.kind() {
        "update_expression" => {
            let Expr::Name(path) = walk.lower(node.child_by_field_name("argument")?) else { return None };
            let operator = if walk.text(node).contains("++") { Operator::Add } else { Operator::Subtract };
            let value = by(&path, operator, Expr::Int(1));
            Some((path, value))
        }
        "assignment_expression" | "augmented_assignment" | "assignment" => {
            let Expr::Name(path) = walk.lower(node.child_by_field_name("left")?) else { return None };
            let value = walk.lower(node.child_by_field_name("right")?);
            let text = node.child_by_field_name("operator").map_or("=", |operator| walk.text(operator));
            let value = match text.strip_suffix('=')? {
                "" => value,
                // Python's `/=` gives no integer.
                "/" if walk.program.language == Language::Python => Expr::Unknown,
                text => operator(text).map_or(Expr::Unknown, |operator| by(&path, operator, value)),
            };
            Some((path, value))
        }
        _ => None,
    }
}

/// The names that a lambda or a loop over a container gives values to.
pub(super) fn names_of(walk: &Walk<'_, '_>, node: Node<'_>) -> BTreeSet<String> {
    match node.kind() {
        "for_range_loop" => {
            let name = node.child_by_field_name("declarator").and_then(declared);
            name.map(|name| walk.text(name).to_owned()).into_iter().collect()
        }
        _ => parameters(node, walk.source),
    }
}

/// Finds the variable of each `while` loop: one that its condition mentions, and that its body changes once, in every round.
pub(super) fn settle(program: &mut Program) {
    for id in 0..program.frames.len() {
        let Some((variable, next, updated_at)) = counter(program, id) else { continue };
        let Some(frame) = program.frames.get_mut(id) else { continue };
        let FrameKind::While { going, at } = &frame.what else { continue };
        let (first, going, at) = (Expr::Name(variable.clone()), going.clone(), *at);
        frame.what = FrameKind::Loop { variable, first, going, next, at, updated_at };
    }
}

fn counter(program: &Program, id: usize) -> Option<(String, Expr, usize)> {
    let FrameKind::While { going, .. } = &program.frames.get(id)?.what else { return None };
    // What a `continue` may leave out is not changed in every round.
    if program.jumps.iter().any(|jump| jump.is_continue && program.is_within(jump.place.frame, id)) {
        return None;
    }
    let mut names = BTreeSet::new();
    going.names(&mut names);
    names.into_iter().find_map(|name| {
        let bindings = program.bindings.get(&name)?;
        let mut own = bindings.iter().filter(|own| program.is_within(own.place.frame, id));
        match (own.next(), own.next()) {
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
