//! What is kept of a source file: where variables get their values, under which conditions and in which loops, and the calls.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::{Argument, Expr, Language};

/// One source file. Scope 0 is the file, the others are its functions.
pub(super) struct Program {
    pub(super) name: String,
    pub(super) language: Language,
    pub(super) scopes: Vec<Scope>,
    pub(super) frames: Vec<Frame>,
    pub(super) bindings: BTreeMap<String, Vec<Binding>>,
    pub(super) sites: Vec<Site>,
    /// Python: what local names stand for, `dist` for `torch.distributed`.
    pub(super) imports: BTreeMap<String, String>,
    /// C: macros and the code that they stand for; the line of each.
    pub(super) macros: BTreeMap<String, (String, usize)>,
    /// Lines at which the parser found no sense, in order.
    pub(super) broken: Vec<usize>,
    /// Where loops and functions are left, or a round is.
    pub(super) jumps: Vec<Jump>,
    /// Functions and macros that are called.
    pub(super) called: BTreeSet<String>,
}

pub(super) struct Scope {
    /// The scope around it; the file is around itself.
    pub(super) parent: usize,
    pub(super) parameters: BTreeSet<String>,
    /// Declared (C) within it, or named `global` (Python).
    pub(super) declared: BTreeSet<String>,
}

/// A condition or loop around code, within a function.
pub(super) struct Frame {
    pub(super) parent: Option<usize>,
    pub(super) depth: usize,
    pub(super) what: FrameKind,
}

pub(super) enum FrameKind {
    /// Code that runs if this holds, or does not.
    Guard { condition: Expr, holds: bool, at: usize },
    /// Code that runs for each value of a variable: from the first, and as long as `going` holds, the next; both of the value
    /// before. From `updated_at` on its value is no longer that of the round.
    Loop { variable: String, first: Expr, going: Expr, next: Expr, at: usize, updated_at: usize },
    /// Code that runs as long as a condition holds; which variable that is about is found once all is read.
    While { going: Expr, at: usize },
    /// Code that runs any number of times, with values for these names that are not known.
    Repeat(BTreeSet<String>),
}

/// Where something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) scope: usize,
    pub(super) frame: Option<usize>,
    /// Offset in the file, bytes.
    pub(super) at: usize,
}

/// Something that a variable becomes.
pub(super) struct Binding {
    pub(super) place: Place,
    pub(super) value: Expr,
    /// The value of a declaration that is no constant, which a later assignment replaces.
    pub(super) is_initial: bool,
}

/// `break` or `return`, or `continue`.
pub(super) struct Jump {
    pub(super) place: Place,
    pub(super) is_continue: bool,
}

/// A call, or a setting that stands for calls of a library.
pub(super) struct Site {
    pub(super) place: Place,
    pub(super) line: usize,
    pub(super) call: String,
    pub(super) arguments: Vec<Argument>,
}

impl Program {
    pub(super) fn new(name: &str, language: Language) -> Self {
        let file = Scope { parent: 0, parameters: BTreeSet::new(), declared: BTreeSet::new() };
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

    pub(super) fn bind(&mut self, name: &str, place: Place, value: Expr, is_initial: bool) {
        self.bindings.entry(name.to_owned()).or_default().push(Binding { place, value, is_initial });
    }

    pub(super) fn frame(&mut self, parent: Option<usize>, what: FrameKind) -> Option<usize> {
        let depth = parent.and_then(|parent| self.frames.get(parent)).map_or(0, |parent| parent.depth + 1);
        self.frames.push(Frame { parent, depth, what });
        self.frames.len().checked_sub(1)
    }

    pub(super) fn scope(&mut self, parent: usize) -> usize {
        self.scopes.push(Scope { parent, parameters: BTreeSet::new(), declared: BTreeSet::new() });
        self.scopes.len() - 1
    }

    /// The frames around something, the innermost first; at most so many.
    pub(super) fn frames_around(&self, frame: Option<usize>) -> impl Iterator<Item = (usize, &Frame)> {
        let get = |id: usize| self.frames.get(id).map(|frame| (id, frame));
        std::iter::successors(frame.and_then(get), move |(_, frame)| frame.parent.and_then(get)).take(MOST_FRAMES)
    }

    /// Whether a frame is this one, or within it.
    pub(super) fn is_within(&self, frame: Option<usize>, outer: usize) -> bool {
        self.frames_around(frame).any(|(id, _)| id == outer)
    }

    /// Whether a scope binds a name itself.
    pub(super) fn is_local(&self, scope: usize, name: &str) -> bool {
        let Some(own) = self.scopes.get(scope) else { return false };
        if own.parameters.contains(name) {
            return true;
        }
        match self.language {
            // `global x` makes x the file's.
            Language::Python => !own.declared.contains(name) && self.bound_in(scope, name).next().is_some(),
            _ => own.declared.contains(name.split('.').next().unwrap_or(name)),
        }
    }

    pub(super) fn bound_in<'p>(&'p self, scope: usize, name: &str) -> impl Iterator<Item = &'p Binding> {
        self.bindings.get(name).into_iter().flatten().filter(move |binding| binding.place.scope == scope)
    }

    /// A dotted name of Python with its first part as imported: `dist.send` is `torch.distributed.send`.
    pub(super) fn imported(&self, path: &str) -> String {
        let (first, rest) = path.split_once('.').map_or((path, ""), |(first, rest)| (first, rest));
        let gap = if rest.is_empty() { "" } else { "." };
        self.imports.get(first).map_or_else(|| path.to_owned(), |module| format!("{module}{gap}{rest}"))
    }
}

impl FrameKind {
    pub(super) fn is_loop(&self) -> bool {
        !matches!(self, Self::Guard { .. })
    }
}

/// How many conditions and loops around one another are looked at.
pub(super) const MOST_FRAMES: usize = 64;
