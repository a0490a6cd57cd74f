//! Parsing with the grammars of tree-sitter.

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::expr::{Expr, Language, lower};

/// The limit of the parser's steps: the first number for each 100 bytes, plus the second. The
/// limit is needed because recovery from errors can take quadratic time.
const STEPS: (usize, usize) = (4, 100_000);

/// Parses a source file; none if the parser exceeds its limit of steps.
pub(super) fn tree(source: &str, language: Language) -> Option<Tree> {
    let mut parser = Parser::new();
    let grammar = match language {
        Language::C => tree_sitter_c::LANGUAGE.into(),
        Language::Cuda => tree_sitter_cuda::LANGUAGE.into(),
        Language::Python => tree_sitter_python::LANGUAGE.into(),
        Language::Shell => return None,
    };
    parser.set_language(&grammar).ok()?;
    let mut steps = STEPS.1 + STEPS.0 * source.len() / 100;
    let mut watch = |_: &ParseState| match steps.checked_sub(1) {
        Some(rest) => {
            steps = rest;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let mut read = |offset: usize, _| source.as_bytes().get(offset..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options))
}

/// Parses a text as one expression, such as the replacement text of a macro; [`Expr::Unknown`] if
/// it is none.
pub(super) fn expression(source: &str, language: Language) -> Expr {
    let program = format!("int x = {source};");
    let Some(tree) = tree(&program, language) else {
        return Expr::Unknown;
    };
    let declaration = tree
        .root_node()
        .named_child(0)
        .filter(|node| !node.has_error());
    let value = declaration
        .and_then(|node| node.child_by_field_name("declarator"))
        .and_then(|node| node.child_by_field_name("value"));
    value.map_or(Expr::Unknown, |value| lower(value, &program, language))
}
