//! From text to a [`SourceProgram`]. The syntax tree is walked once, with an explicit stack, so deep
//! nesting cannot overflow the call stack.

use tree_sitter::{Node, TreeCursor};

use super::declare::parameters;
use super::expr::{Expr, Language, children};
use super::program::{CallSite, CodePlace, FrameKind, Jump, SourceProgram};
use super::tree::tree;
use super::walk::{SyntaxWalk, WalkStep};
use super::{bind, loops};

/// The most lines of code with syntax errors that are kept.
const BROKEN: usize = 1000;

/// The language of a file, by the extension of its name.
pub(super) fn language(file: &str) -> Option<Language> {
    let (_, extension) = file.rsplit_once('.')?;
    Some(match extension {
        "c" => Language::C,
        "cpp" | "cc" | "cxx" | "cu" | "cuh" | "h" | "hpp" => Language::Cuda,
        "py" => Language::Python,
        "sh" | "bash" | "sbatch" | "slurm" => Language::Shell,
        _ => return None,
    })
}

/// Reads a file; none if the parser exceeds its limit of steps.
pub(super) fn parse(name: &str, source: &str, language: Language) -> Option<SourceProgram> {
    let tree = tree(source, language)?;
    let mut program = SourceProgram::new(name, language);
    SyntaxWalk {
        source,
        program: &mut program,
        stack: Vec::new(),
    }
    .run(tree.walk());
    loops::settle(&mut program);
    expand_macros(&mut program);
    Some(program)
}

fn is_comprehension(kind: &str) -> bool {
    matches!(
        kind,
        "list_comprehension"
            | "set_comprehension"
            | "dictionary_comprehension"
            | "generator_expression"
    )
}

impl<'tree> SyntaxWalk<'_, 'tree> {
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

    /// Reads a node. Returns whether its children are to be read.
    fn enter(&mut self, node: Node<'tree>, field: Option<&str>) -> bool {
        let (scope, frame) = self.context(field);
        let above = self.stack.last();
        // The update of a `for` loop runs after the body, so it counts as standing at the end.
        let end = above
            .filter(|above| above.node.kind() == "for_statement" && field == Some("update"))
            .map(|above| above.node.end_byte());
        let at = end.or(above.and_then(|above| above.at));
        let step = WalkStep {
            node,
            scope,
            frame,
            otherwise: None,
            repeated: None,
            at,
        };
        self.stack.push(step);
        if node.is_error() || node.is_missing() {
            self.broken(node);
        }
        if self.is_dead(node, field) {
            return false;
        }
        let place = CodePlace {
            scope,
            frame,
            at: at.unwrap_or(node.start_byte()),
        };
        match node.kind() {
            "function_definition" => self.function(node),
            "if_statement" | "elif_clause" => self.condition(node),
            "call_expression" | "call" => self.call(node, place),
            kind @ ("break_statement" | "continue_statement" | "return_statement") => {
                if kind != "break_statement" || !self.is_of_switch() {
                    self.program.jumps.push(Jump {
                        place,
                        is_continue: kind == "continue_statement",
                    });
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

    fn broken(&mut self, node: Node<'_>) {
        let line = node.start_position().row + 1;
        if self.program.broken.len() < BROKEN && self.program.broken.last() != Some(&line) {
            self.program.broken.push(line);
        }
    }

    /// The scope and frame of a node, from its parent and its field there.
    fn context(&mut self, field: Option<&str>) -> (usize, Option<usize>) {
        let Some(parent) = self.stack.last() else {
            return (0, None);
        };
        let (above, scope, frame, otherwise) =
            (parent.node, parent.scope, parent.frame, parent.otherwise);
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
            ("boolean_operator", Some("right"))
            | ("for_statement" | "while_statement", Some("alternative")) => {
                self.unknown(above, frame)
            }
            ("conditional_expression", _) if self.program.language == Language::Python => {
                self.unknown(above, frame)
            }
            (
                "case_statement"
                | "switch_statement"
                | "case_clause"
                | "except_clause"
                | "except_group_clause",
                _,
            )
            | ("catch_clause", _) => self.unknown(above, frame),
            _ => frame,
        };
        (scope, frame)
    }

    /// A new frame for code under an unknown condition.
    fn unknown(&mut self, node: Node<'_>, frame: Option<usize>) -> Option<usize> {
        self.program.frame(
            frame,
            FrameKind::Guard {
                condition: Expr::Unknown,
                holds: true,
                at: node.start_byte(),
            },
        )
    }

    /// The frame of the right side of `a && b`, which runs only if the left side holds, or of
    /// `a || b`, which runs only if it does not.
    fn after(&mut self, node: Node<'_>, frame: Option<usize>) -> Option<usize> {
        let holds = match node
            .child_by_field_name("operator")
            .map(|operator| self.text(operator))
        {
            Some("&&" | "and") => true,
            Some("||" | "or") => false,
            _ => return frame,
        };
        let condition = node
            .child_by_field_name("left")
            .map_or(Expr::Unknown, |left| self.lower(left));
        self.program.frame(
            frame,
            FrameKind::Guard {
                condition,
                holds,
                at: node.start_byte(),
            },
        )
    }

    /// The frame of the code that a loop repeats: its body, its condition and its update.
    fn repeated(&mut self, node: Node<'tree>) -> Option<usize> {
        let step = self.stack.last()?;
        if step.repeated.is_some() {
            return step.repeated;
        }
        let frame = step.frame;
        let repeated = match node.kind() {
            "for_statement" => {
                let what = loops::loop_of(self, node);
                self.program.frame(frame, what)
            }
            "while_statement" => {
                let going = node
                    .child_by_field_name("condition")
                    .map_or(Expr::Unknown, |node| self.lower(node));
                self.program.frame(
                    frame,
                    FrameKind::While {
                        going,
                        at: node.start_byte(),
                    },
                )
            }
            kind if is_comprehension(kind) => self.comprehension(node, frame),
            _ => {
                let names = loops::names_of(self, node);
                self.program.frame(frame, FrameKind::Repeat(names))
            }
        };
        if let Some(step) = self.stack.last_mut() {
            step.repeated = repeated;
        }
        repeated
    }

    /// The innermost frame of a comprehension `[.. for a in .. for b in .. if ..]`. Its clauses are
    /// nested in their order.
    fn comprehension(&mut self, node: Node<'tree>, mut frame: Option<usize>) -> Option<usize> {
        for clause in children(node) {
            match clause.kind() {
                "for_in_clause" => {
                    let what = loops::over_range(self, clause);
                    frame = self.program.frame(frame, what);
                }
                "if_clause" => {
                    let condition = children(clause)
                        .first()
                        .map_or(Expr::Unknown, |child| self.lower(*child));
                    let guard = FrameKind::Guard {
                        condition,
                        holds: true,
                        at: clause.start_byte(),
                    };
                    frame = self.program.frame(frame, guard);
                }
                _ => {}
            }
        }
        frame
    }

    /// Whether a `break` here leaves a `switch`, not a loop.
    fn is_of_switch(&self) -> bool {
        let kinds = self.stack.iter().rev().map(|above| above.node.kind());
        let mut kinds = kinds.filter(|kind| {
            matches!(
                *kind,
                "switch_statement"
                    | "for_statement"
                    | "while_statement"
                    | "do_statement"
                    | "for_range_loop"
            )
        });
        kinds.next() == Some("switch_statement")
    }

    /// A new frame for code that runs if the condition of a statement holds, or does not.
    fn guard(&mut self, node: Node<'_>, frame: Option<usize>, holds: bool) -> Option<usize> {
        let condition = node.child_by_field_name("condition");
        let value = condition.map_or(Expr::Unknown, |condition| self.lower(condition));
        let at = condition.map_or(node.start_byte(), |condition| condition.start_byte());
        self.program.frame(
            frame,
            FrameKind::Guard {
                condition: value,
                holds,
                at,
            },
        )
    }

    /// Sets the frame of the branches after an `if` or `elif`: its condition, and those of the
    /// branches before it, do not hold.
    fn condition(&mut self, node: Node<'tree>) {
        let frame = self.stack.last().and_then(|step| step.frame);
        let otherwise = self.guard(node, frame, false);
        let mut steps = self.stack.iter_mut().rev();
        match (node.kind(), steps.next(), steps.next()) {
            ("elif_clause", _, Some(parent)) => parent.otherwise = otherwise,
            (_, Some(step), _) => step.otherwise = otherwise,
            _ => {}
        }
    }

    /// Enters the scope of a function.
    fn function(&mut self, node: Node<'tree>) {
        let Some(step) = self.stack.last_mut() else {
            return;
        };
        let outer = step.scope;
        let scope = self.program.scope(outer);
        (step.scope, step.frame) = (scope, None);
        let parameters = parameters(node, self.source);
        if let Some(scope) = self.program.scopes.get_mut(scope) {
            scope.parameters = parameters;
        }
    }

    fn call(&mut self, node: Node<'_>, place: CodePlace) {
        let Expr::Call(call, arguments) = self.lower(node) else {
            return;
        };
        if call.is_empty() {
            return;
        }
        if self.program.language != Language::Python {
            bind::outputs(self, node, &call, &arguments, place);
        }
        self.program.called.insert(call.clone());
        let line = node.start_position().row + 1;
        self.program.sites.push(CallSite {
            place,
            line,
            call,
            arguments,
        });
    }

    /// Whether the preprocessor drops a node: within `#if 0`, or in the `#else` of `#if 1`.
    fn is_dead(&self, node: Node<'_>, field: Option<&str>) -> bool {
        let Some(above) = self
            .stack
            .iter()
            .rev()
            .nth(1)
            .filter(|above| above.node.kind() == "preproc_if")
        else {
            return false;
        };
        let condition = above.node.child_by_field_name("condition");
        let condition = condition
            .filter(|condition| condition.kind() == "number_literal" && *condition != node);
        match condition.map(|condition| self.text(condition)) {
            Some("0") => field != Some("alternative"),
            Some("1") => field == Some("alternative"),
            _ => false,
        }
    }
}

/// Adds the calls in the bodies of macros that the program uses, each at the line of its macro. The
/// arguments of the macro are unknown.
fn expand_macros(program: &mut SourceProgram) {
    let used: Vec<_> = program
        .macros
        .iter()
        .filter(|(name, _)| program.called.contains(*name))
        .collect();
    let mut sites = Vec::new();
    for (_, (body, line)) in used {
        let source = format!("void f() {{ {body} ; }}");
        let Some(tree) = tree(&source, program.language) else {
            continue;
        };
        let mut own = SourceProgram::new(&program.name, program.language);
        SyntaxWalk {
            source: &source,
            program: &mut own,
            stack: Vec::new(),
        }
        .run(tree.walk());
        for site in own.sites {
            sites.push(CallSite {
                place: CodePlace {
                    scope: 0,
                    frame: None,
                    at: 0,
                },
                line: *line,
                ..site
            });
        }
    }
    program.sites.extend(sites);
    program.sites.sort_by_key(|site| site.line);
}
