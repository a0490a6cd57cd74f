//! The names that declarations and parameters introduce.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::expr::{children, text};

/// The name that a declarator declares, within its pointers and brackets.
pub(super) fn declared(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator;
    // Real declarators have a few levels.
    for _ in 0..16 {
        match node.kind() {
            "identifier" | "field_identifier" => return Some(node),
            "init_declarator" | "pointer_declarator" | "array_declarator" => {
                node = node.child_by_field_name("declarator")?;
            }
            "reference_declarator" => node = children(node).into_iter().next()?,
            _ => return None,
        }
    }
    None
}

/// The names of a function's parameters.
pub(super) fn parameters(function: Node<'_>, source: &str) -> BTreeSet<String> {
    let list = match function.child_by_field_name("parameters") {
        Some(list) => Some(list),
        // C: within the declarator, behind pointers.
        None => std::iter::successors(function.child_by_field_name("declarator"), |node| {
            node.child_by_field_name("declarator")
        })
        .take(16)
        .find_map(|declarator| declarator.child_by_field_name("parameters")),
    };
    let name = |parameter: Node<'_>| {
        let node = match parameter.kind() {
            "parameter_declaration" | "optional_parameter_declaration" => parameter
                .child_by_field_name("declarator")
                .and_then(declared),
            "typed_parameter" => children(parameter).into_iter().next(),
            "identifier" => Some(parameter),
            _ => parameter.child_by_field_name("name"),
        };
        node.map(|node| text(node, source).to_owned())
    };
    list.map(children)
        .unwrap_or_default()
        .into_iter()
        .filter_map(name)
        .collect()
}
