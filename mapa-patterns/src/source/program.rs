//! The parts of a source file that matter here: its calls, its assignments to variables, and the
//! conditions and loops around both.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::{Argument, Expr, Language};

/// One source file. Scope 0 is the file, the others are its functions.
pub(super) struct SourceProgram {
    pub(super) name: String,
    pub(super) language: Language,
    pub(super) scopes: Vec<Scope>,
    pub(super) frames: Vec<CodeFrame>,
    pub(super) bindings: BTreeMap<String, Vec<Binding>>,
    pub(super) sites: Vec<CallSite>,
    /// In Python, by local name: the imported module or function, such as `torch.distributed` for
    /// `dist`.
    pub(super) imports: BTreeMap<String, String>,
    /// In C, by the name of a macro with arguments: its code and its line.
    pub(super) macros: BTreeMap<String, (String, usize)>,
    /// The lines that the parser did not understand, in order.
    pub(super) broken: Vec<usize>,
    /// All `break`, `return` and `continue` statements.
    pub(super) jumps: Vec<Jump>,
    /// Functions and macros that are called.
    pub(super) called: BTreeSet<String>,
}

/// A function, or the file.
pub(super) struct Scope {
    /// The enclosing scope. The parent of the file is the file itself.
    pub(super) parent: usize,
    pub(super) parameters: BTreeSet<String>,
    /// In C, the variables that the scope declares; in Python, its `global` and `nonlocal` names.
    pub(super) declared: BTreeSet<String>,
}

/// A condition or loop around code, within a function.
pub(super) struct CodeFrame {
    pub(super) parent: Option<usize>,
    pub(super) depth: usize,
    pub(super) what: FrameKind,
}

pub(super) enum FrameKind {
    /// Code that runs if the condition is true (`holds`) or false (not `holds`).
    Guard {
        condition: Expr,
        holds: bool,
        at: usize,
    },
    /// Code that runs for each value of a variable. The first value is `first`. As long as `going`
    /// holds, `next` computes the next value from the current one. After the offset
    /// `updated_at` the variable no longer has the value of the iteration, and counts as unknown.
    Loop {
        variable: String,
        first: Expr,
        going: Expr,
        next: Expr,
        at: usize,
        updated_at: usize,
    },
    /// Code that runs as long as a condition holds. `loops::settle` looks for the loop's variable
    /// after the whole file is read.
    While { going: Expr, at: usize },
    /// Code that runs any number of times, with unknown values of these names.
    Repeat(BTreeSet<String>),
}

/// A place in the source: its scope, its innermost frame, and its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodePlace {
    pub(super) scope: usize,
    pub(super) frame: Option<usize>,
    /// The offset in the file, bytes.
    pub(super) at: usize,
}

/// An assignment of a value to a variable.
pub(super) struct Binding {
    pub(super) place: CodePlace,
    pub(super) value: Expr,
    /// Whether this is the initial value of a variable that is not constant. A later assignment
    /// replaces it.
    pub(super) is_initial: bool,
}

/// A `break`, `return` or `continue` statement.
pub(super) struct Jump {
    pub(super) place: CodePlace,
    pub(super) is_continue: bool,
}

/// A call, or a setting that stands for calls of a library.
pub(super) struct CallSite {
    pub(super) place: CodePlace,
    pub(super) line: usize,
    pub(super) call: String,
    pub(super) arguments: Vec<Argument>,
}

impl SourceProgram {
    pub(super) fn new(name: &str, language: Language) -> Self {
        let file = Scope {
            parent: 0,
            parameters: BTreeSet::new(),
            declared: BTreeSet::new(),
        };
        Self {
            name: name.to_owned(),
            language,
            scopes: vec![file],
            frames: Vec::new(),
            bindings: BTreeMap::new(),
            sites: Vec::new(),
            imports: BTreeMap::new(),
            macros: BTreeMap::new(),
            broken: Vec::new(),
            jumps: Vec::new(),
            called: BTreeSet::new(),
        }
    }

    pub(super) fn bind(&mut self, name: &str, place: CodePlace, value: Expr, is_initial: bool) {
        self.bindings
            .entry(name.to_owned())
            .or_default()
            .push(Binding {
                place,
                value,
                is_initial,
            });
    }

    pub(super) fn frame(&mut self, parent: Option<usize>, what: FrameKind) -> Option<usize> {
        let depth = parent
            .and_then(|parent| self.frames.get(parent))
            .map_or(0, |parent| parent.depth + 1);
        self.frames.push(CodeFrame {
            parent,
            depth,
            what,
        });
        self.frames.len().checked_sub(1)
    }

    pub(super) fn scope(&mut self, parent: usize) -> usize {
        self.scopes.push(Scope {
            parent,
            parameters: BTreeSet::new(),
            declared: BTreeSet::new(),
        });
        self.scopes.len() - 1
    }

    /// A frame and the frames around it, the innermost first; at most [`MOST_FRAMES`].
    pub(super) fn frames_around(
        &self,
        frame: Option<usize>,
    ) -> impl Iterator<Item = (usize, &CodeFrame)> {
        let get = |id: usize| self.frames.get(id).map(|frame| (id, frame));
        std::iter::successors(frame.and_then(get), move |(_, frame)| {
            frame.parent.and_then(get)
        })
        .take(MOST_FRAMES)
    }

    /// Whether a frame is `outer`, or within it.
    pub(super) fn is_within(&self, frame: Option<usize>, outer: usize) -> bool {
        self.frames_around(frame).any(|(id, _)| id == outer)
    }

    /// Whether a name is a parameter or a local variable of a scope.
    pub(super) fn is_local(&self, scope: usize, name: &str) -> bool {
        let Some(own) = self.scopes.get(scope) else {
            return false;
        };
        if own.parameters.contains(name) {
            return true;
        }
        match self.language {
            // After `global x`, x is the variable of the file.
            Language::Python => {
                !own.declared.contains(name) && self.bound_in(scope, name).next().is_some()
            }
            _ => own
                .declared
                .contains(name.split('.').next().unwrap_or(name)),
        }
    }

    /// The assignments to a name in a scope.
    pub(super) fn bound_in<'p>(
        &'p self,
        scope: usize,
        name: &str,
    ) -> impl Iterator<Item = &'p Binding> {
        self.bindings
            .get(name)
            .into_iter()
            .flatten()
            .filter(move |binding| binding.place.scope == scope)
    }

    /// A dotted name of Python with its first part replaced by the imported module: `dist.send`
    /// becomes `torch.distributed.send`.
    pub(super) fn imported(&self, path: &str) -> String {
        let (first, rest) = path
            .split_once('.')
            .map_or((path, ""), |(first, rest)| (first, rest));
        let gap = if rest.is_empty() { "" } else { "." };
        self.imports
            .get(first)
            .map_or_else(|| path.to_owned(), |module| format!("{module}{gap}{rest}"))
    }
}

impl FrameKind {
    pub(super) fn is_loop(&self) -> bool {
        !matches!(self, Self::Guard { .. })
    }
}

/// The most nested conditions and loops that are considered.
pub(super) const MOST_FRAMES: usize = 64;
