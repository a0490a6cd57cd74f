//! From text to a [`Program`]: the syntax tree is walked once, with a cursor and a stack of its own, so that no nesting is too
//! deep.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree, TreeCursor};

use super::expr::{Expr, Language, children, lower, text};
use super::program::{FrameKind, Jump, Place, Program, Site};
use super::{bind, loops};

/// Lines of broken code that are kept.
const BROKEN: usize = 1000;
/// What the parser may do for each byte, in its own steps, and at least: recovery from nonsense can take quadratic time.
const STEPS: (usize, usize) = (4, 100_000);

/// The language of a file by the end of its name.
pub(super) fn language(file: &str) -> Option<Language> {
    let (_, extension) = file.rsplit_once('.')?;
    Some(match extension {
        "c" => Language::C,
        "cpp" | "cc" | "cxx" | "cu" | "cuh" | "h" | "hpp" => Language::Cuda,
        "py" => Language::Python,
        _ => return None,
    })
}

/// The syntax tree; none if the parser gives up.
fn tree(source: &str, language: Language) -> Option<Tree> {
    let mut parser = Parser::new();
    let grammar = match language {
        Language::C => tree_sitter_c::LANGUAGE.into(),
        Language::Cuda => tree_sitter_cuda::LANGUAGE.into(),
        Language::Python => tree_sitter_python::LANGUAGE.into(),
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

/// Reads a file; none if the parser gives up.
pub(super) fn parse(name: &str, source: &str, language: Language) -> Option<Program> {
    let tree = tree(source, language)?;
    let mut program = Program::new(name, language);
    Walk { source, program: &mut program, stack: Vec::new() }.run(tree.walk());
    loops::settle(&mut program);
    expand_macros(&mut program);
    Some(program)
}

fn is_comprehension(kind: &str) -> bool {
    matches!(kind, "list_comprehension" | "set_comprehension" | "dictionary_comprehension" | "generator_expression")
}

/// A node on the way to where the walk is.
pub(super) struct Step<'tree> {
    pub(super) node: Node<'tree>,
    pub(super) scope: usize,
    /// What is around its children.
    pub(super) frame: Option<usize>,
    /// What is around the alternatives of a condition: it, and those before, do not hold.
    otherwise: Option<usize>,
    /// What is around what a loop repeats.
    repeated: Option<usize>,
    /// Of what a `for` does after each round: its end.
    at: Option<usize>,
}

pub(super) struct Walk<'w, 'tree> {
    pub(super) source: &'w str,
    pub(super) program: &'w mut Program,
    pub(super) stack: Vec<Step<'tree>>,
}

impl<'tree> Walk<'_, 'tree> {
    fn run(mut self, mut cursor: TreeCursor<'tree>) {
        loop {
            if self.enter(cursor.node(), cursor.field_name()) && cursor.goto_first_child() {
                continue;
            }
            self.stack.pop();
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                self.stack.pop();
            }
        }
    }

    /// Looks at a node, and says whether to look within it.
    fn enter(&mut self, node: Node<'tree>, field: Option<&str>) -> bool {
        let (scope, frame) = self.context(field);
        let is_update = |above: &&Step<'_>| above.node.kind() == "for_statement" && field == Some("update");
        let above = self.stack.last();
        let end = above.filter(is_update).map(|above| above.node.end_byte());
        let at = end.or(above.and_then(|above| above.at));
        let step = Step { node, scope, frame, otherwise: None, repeated: None, at };
        self.stack.push(step);
        if node.is_error() || node.is_missing() {
            self.broken(node);
        }
        if self.is_dead(node, field) {
            return false;
        }
        let place = Place { scope, frame, at: at.unwrap_or(node.start_byte()) };
        match node.kind() {
            "function_definition" => self.function(node),
            "if_statement" | "elif_clause" => self.condition(node),
            "call_expression" | "call" => self.call(node, place),
            kind @ ("break_statement" | "continue_statement" | "return_statement") => {
                if kind != "break_statement" || !self.is_of_switch() {
                    self.program.jumps.push(Jump { place, is_continue: kind == "continue_statement" });
                }
            }
            kind => {
                if self.program.language == Language::Python {
                    bind::python(self, kind, node, place);
                } else {
                    bind::c(self, kind, node, place);
                }
            }
        }
        true
    }

    pub(super) fn text(&self, node: Node<'_>) -> &str {
        text(node, self.source)
    }

    pub(super) fn lower(&self, node: Node<'_>) -> Expr {
        lower(node, self.source, self.program.language)
    }

    fn broken(&mut self, node: Node<'_>) {
        let line = node.start_position().row + 1;
        if self.program.broken.len() < BROKEN && self.program.broken.last() != Some(&line) {
            self.program.broken.push(line);
        }
    }

    /// The scope and frame of a node, by what is above it.
    fn context(&mut self, field: Option<&str>) -> (usize, Option<usize>) {
        let Some(parent) = self.stack.last() else { return (0, None) };
        let (above, scope, frame, otherwise) = (parent.node, parent.scope, parent.frame, parent.otherwise);
        let frame = match (above.kind(), field) {
            ("if_statement" | "elif_clause", Some("consequence")) => self.guard(above, frame, true),
            ("if_statement", Some("alternative")) => otherwise.or(frame),
            ("while_statement" | "do_statement", Some("condition" | "body"))
            | ("for_range_loop" | "lambda" | "lambda_expression", Some("body"))
            | ("for_statement", Some("condition" | "update" | "body")) => self.repeated(above),
            (kind, Some("body")) if is_comprehension(kind) => self.repeated(above),
            ("binary_expression", Some("right")) => self.after(above, frame),
            ("conditional_expression", Some(branch @ ("consequence" | "alternative"))) => {
                self.guard(above, frame, branch == "consequence")
            }
            ("boolean_operator", Some("right")) | ("for_statement" | "while_statement", Some("alternative")) => {
                self.unknown(above, frame)
            }
            ("conditional_expression", _) if self.program.language == Language::Python => self.unknown(above, frame),
            ("case_statement" | "switch_statement" | "case_clause" | "except_clause" | "except_group_clause", _)
            | ("catch_clause", _) => self.unknown(above, frame),
            _ => frame,
        };
        (scope, frame)
    }

    fn unknown(&mut self, node: Node<'_>, frame: Option<usize>) -> Option<usize> {
        self.program.frame(frame, FrameKind::Guard { condition: Expr::Unknown, holds: true, at: node.start_byte() })
    }

    /// What is around the right side of `a && b`, which runs if the left one holds; or of `||`.
    fn after(&mut self, node: Node<'_>, frame: Option<usize>) -> Option<usize> {
        let holds = match node.child_by_field_name("operator").map(|operator| self.text(operator)) {
            Some("&&" | "and") => true,
            Some("||" | "or") => false,
            _ => return frame,
        };
        let condition = node.child_by_field_name("left").map_or(Expr::Unknown, |left| self.lower(left));
        self.program.frame(frame, FrameKind::Guard { condition, holds, at: node.start_byte() })
    }

    /// What is around all that a loop repeats: its body, its condition, what it does after each round.
    fn repeated(&mut self, node: Node<'tree>) -> Option<usize> {
        let own = self.stack.last()?;
        if own.repeated.is_some() {
            return own.repeated;
        }
        let frame = own.frame;
        let repeated = match node.kind() {
            "for_statement" => {
                let what = loops::loop_of(self, node);
                self.program.frame(frame, what)
            }
            "while_statement" => {
                let going = node.child_by_field_name("condition").map_or(Expr::Unknown, |own| self.lower(own));
                self.program.frame(frame, FrameKind::While { going, at: node.start_byte() })
            }
            kind if is_comprehension(kind) => self.comprehension(node, frame),
            _ => {
                let names = loops::names_of(self, node);
                self.program.frame(frame, FrameKind::Repeat(names))
            }
        };
        if let Some(own) = self.stack.last_mut() {
            own.repeated = repeated;
        }
        repeated
    }

    /// `[.. for a in .. for b in .. if ..]`: one within the other.
    fn comprehension(&mut self, node: Node<'tree>, mut frame: Option<usize>) -> Option<usize> {
        for clause in children(node) {
            match clause.kind() {
                "for_in_clause" => {
                    let what = loops::over_range(self, clause);
                    frame = self.program.frame(frame, what);
                }
                "if_clause" => {
                    let condition = children(clause).first().map_or(Expr::Unknown, |own| self.lower(*own));
                    let guard = FrameKind::Guard { condition, holds: true, at: clause.start_byte() };
                    frame = self.program.frame(frame, guard);
                }
                _ => {}
            }
        }
        frame
    }

    /// Whether what breaks off here is a `switch`, not a loop.
    fn is_of_switch(&self) -> bool {
        let kinds = self.stack.iter().rev().map(|above| above.node.kind());
        let mut kinds = kinds.filter(|kind| {
            matches!(
                *kind,
                "switch_statement" | "for_statement" | "while_statement" | "do_statement" | "for_range_loop"
            )
        });
        kinds.next() == Some("switch_statement")
    }

    fn guard(&mut self, node: Node<'_>, frame: Option<usize>, holds: bool) -> Option<usize> {
        let condition = node.child_by_field_name("condition");
        let value = condition.map_or(Expr::Unknown, |condition| self.lower(condition));
        let at = condition.map_or(node.start_byte(), |condition| condition.start_byte());
        self.program.frame(frame, FrameKind::Guard { condition: value, holds, at })
    }

    /// The alternatives of an `if` are around by its not holding, and that of each `elif` before.
    fn condition(&mut self, node: Node<'tree>) {
        let frame = self.stack.last().and_then(|own| own.frame);
        let otherwise = self.guard(node, frame, false);
        let mut steps = self.stack.iter_mut().rev();
        match (node.kind(), steps.next(), steps.next()) {
            ("elif_clause", _, Some(parent)) => parent.otherwise = otherwise,
            (_, Some(own), _) => own.otherwise = otherwise,
            _ => {}
        }
    }

    /// Enters a function: its parameters are its own.
    fn function(&mut self, node: Node<'tree>) {
        let Some(own) = self.stack.last_mut() else { return };
        let outer = own.scope;
        let scope = self.program.scope(outer);
        (own.scope, own.frame) = (scope, None);
        let parameters = bind::parameters(node, self.source);
        if let Some(scope) = self.program.scopes.get_mut(scope) {
            scope.parameters = parameters;
        }
    }

    fn call(&mut self, node: Node<'_>, place: Place) {
        let Expr::Call(call, arguments) = self.lower(node) else { return };
        if call.is_empty() {
            return;
        }
        if self.program.language != Language::Python {
            bind::outputs(self, node, &call, &arguments, place);
        }
        self.program.called.insert(call.clone());
        let line = node.start_position().row + 1;
        self.program.sites.push(Site { place, line, call, arguments });
    }

    /// Whether code is left out by `#if 0`, or by the `#else` of `#if 1`.
    fn is_dead(&self, node: Node<'_>, field: Option<&str>) -> bool {
        let Some(above) = self.stack.iter().rev().nth(1).filter(|above| above.node.kind() == "preproc_if") else {
            return false;
        };
        let condition = above.node.child_by_field_name("condition");
        let condition = condition.filter(|condition| condition.kind() == "number_literal" && *condition != node);
        match condition.map(|condition| self.text(condition)) {
            Some("0") => field != Some("alternative"),
            Some("1") => field == Some("alternative"),
            _ => false,
        }
    }
}

/// Macros that stand for code and are called: what they call is called at their line. What they are given is not known there.
fn expand_macros(program: &mut Program) {
    let used: Vec<_> = program.macros.iter().filter(|(name, _)| program.called.contains(*name)).collect();
    let mut sites = Vec::new();
    for (_, (body, line)) in used {
        let source = format!("void f() {{ {body} ; }}");
        let Some(tree) = tree(&source, program.language) else { continue };
        let mut own = Program::new(&program.name, program.language);
        Walk { source: &source, program: &mut own, stack: Vec::new() }.run(tree.walk());
        for site in own.sites {
            sites.push(Site { place: Place { scope: 0, frame: None, at: 0 }, line: *line, ..site });
        }
    }
    program.sites.extend(sites);
    program.sites.sort_by_key(|site| site.line);
}

/// The expression that a text is, such as what a macro stands for.
pub(super) fn expression(source: &str, language: Language) -> Expr {
    let program = format!("int x = {source};");
    let Some(tree) = tree(&program, language) else { return Expr::Unknown };
    let declaration = tree.root_node().named_child(0).filter(|node| !node.has_error());
    let value = declaration
        .and_then(|node| node.child_by_field_name("declarator"))
        .and_then(|node| node.child_by_field_name("value"));
    value.map_or(Expr::Unknown, |value| lower(value, &program, language))
}
