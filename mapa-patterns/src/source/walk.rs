//! The state of the walk over a syntax tree: its position, and the program read so far.

use tree_sitter::Node;

use super::expr::{Expr, lower, text};
use super::program::SourceProgram;

/// A node on the path from the root to the current node.
pub(super) struct WalkStep<'tree> {
    pub(super) node: Node<'tree>,
    pub(super) scope: usize,
    /// The innermost frame of its children.
    pub(super) frame: Option<usize>,
    /// For an `if` statement, the frame of its `else` and `elif` branches: neither its condition
    /// nor that of an earlier `elif` holds.
    pub(super) otherwise: Option<usize>,
    /// For a loop, the frame of the code that it repeats.
    pub(super) repeated: Option<usize>,
    /// For the update of a `for` loop, the end of the loop: the update runs after the body.
    pub(super) at: Option<usize>,
}

pub(super) struct SyntaxWalk<'w, 'tree> {
    pub(super) source: &'w str,
    pub(super) program: &'w mut SourceProgram,
    pub(super) stack: Vec<WalkStep<'tree>>,
}

impl SyntaxWalk<'_, '_> {
    pub(super) fn text(&self, node: Node<'_>) -> &str {
        text(node, self.source)
    }

    pub(super) fn lower(&self, node: Node<'_>) -> Expr {
        lower(node, self.source, self.program.language)
    }
}
