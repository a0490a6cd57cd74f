//! The modules of one crate, read from their source: what each defines and what it names.
//!
//! A name is followed to the file that defines it. A `pub use` in a parent module only hands a name
//! on, so it is not an arrow itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, UseTree, Visibility};

use super::project::folders_in;

/// A path to a module from the root of its crate: `["policy", "rules"]`.
pub(crate) type ModulePath = Vec<String>;

/// The source files of a crate by their path below `src`.
pub(crate) type Sources = BTreeMap<PathBuf, String>;

/// An arrow: the file at `from` names what the file at `to` defines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub(crate) from: ModulePath,
    pub(crate) to: ModulePath,
    pub(crate) line: usize,
    pub(crate) name: String,
}

/// A name as it stands in the source, and the line on which it stands.
struct Named {
    segments: Vec<String>,
    line: usize,
}

/// A name that `use` brings into a module.
struct Import {
    path: Vec<String>,
    line: usize,
    /// Whether it only hands on what a module below this one defines.
    hands_on: bool,
}

#[derive(Default)]
struct Module {
    /// The module whose file holds this one: itself, but for `mod name { .. }`.
    file: ModulePath,
    defined: BTreeSet<String>,
    children: BTreeSet<String>,
    imports: BTreeMap<String, Import>,
    globs: Vec<Import>,
    named: Vec<Named>,
}

/// The modules of a crate.
pub(crate) struct Crate {
    modules: BTreeMap<ModulePath, Arc<Module>>,
}

/// The modules of a file by their paths: its own, and those that are written out within it.
type OfFile = Arc<BTreeMap<ModulePath, Arc<Module>>>;

/// The modules of files parsed before, by path and text: a test plants a fault in one file of a crate, and leaves the others.
static PARSED: Mutex<BTreeMap<(PathBuf, String), OfFile>> = Mutex::new(BTreeMap::new());

/// The `.rs` files of one folder, by their path below another.
pub(crate) fn files_in(folder: &Path, below: &Path) -> Sources {
    let mut found = Sources::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.insert(path.strip_prefix(below).unwrap().to_owned(), text);
        }
    }
    found
}

/// Every `.rs` file below `folder`, by its path there, but the program of a package with a library.
pub(crate) fn sources(folder: &Path) -> Sources {
    let mut found = Sources::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        found.extend(files_in(&next, folder));
        folders.extend(folders_in(&next));
    }
    // The program of a package with a library is a crate of its own, which uses only the library.
    if found.contains_key(Path::new("lib.rs")) {
        found.remove(Path::new("main.rs"));
    }
    found
}

/// The module that a file holds: `policy/mod.rs` and `policy.rs` both hold `policy`.
pub(crate) fn module_of(file: &Path) -> ModulePath {
    let mut path: ModulePath = file
        .with_extension("")
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect();
    let root = ["lib", "main"].contains(&path[0].as_str()) && path.len() == 1;
    if root || path.last().unwrap() == "mod" {
        path.pop();
    }
    path
}

/// Whether an item is compiled for this crate's own unit tests alone.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let words = attribute.meta.to_token_stream().to_string();
        let words: String = words.split_whitespace().collect();
        words.starts_with("cfg(test") || words.starts_with("cfg(all(test")
    })
}

impl Crate {
    /// Parses all files; what is compiled for unit tests alone is left out.
    pub(crate) fn parse(sources: &Sources) -> Crate {
        let mut modules = BTreeMap::new();
        for (file, text) in sources {
            let of_file = modules_in(file, text);
            modules.extend(
                of_file
                    .iter()
                    .map(|(path, module)| (path.clone(), module.clone())),
            );
        }
        Crate { modules }
    }

    /// The modules that are files of their own.
    pub(crate) fn files(&self) -> impl Iterator<Item = &ModulePath> {
        self.modules
            .iter()
            .filter(|(path, module)| **path == module.file)
            .map(|(path, _)| path)
    }

    /// The names that a module's own file defines.
    pub(crate) fn defined(&self, path: &[String]) -> Vec<String> {
        self.modules
            .get(path)
            .map(|module| module.defined.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Every arrow between two files, in order.
    pub(crate) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows = BTreeSet::new();
        for (path, module) in &self.modules {
            let mut add = |to: Option<ModulePath>, segments: &[String], line: usize| {
                if let Some(to) = to.filter(|to| *to != module.file) {
                    let (from, name) = (module.file.clone(), segments.join("::"));
                    arrows.insert(Arrow {
                        from,
                        to,
                        line,
                        name,
                    });
                }
            };
            for import in module.imports.values().filter(|import| !import.hands_on) {
                add(self.home(path, &import.path, 0), &import.path, import.line);
            }
            for name in &module.named {
                add(
                    self.home(path, &name.segments, 0),
                    &name.segments,
                    name.line,
                );
            }
            // Which names a `*` brings in is not seen: it counts as the module itself.
            for glob in module.globs.iter().filter(|glob| !glob.hands_on) {
                add(self.module(path, &glob.path), &glob.path, glob.line);
            }
        }
        arrows.into_iter().collect()
    }

    /// The file of the module that `segments` names in the module `at`.
    fn module(&self, at: &[String], segments: &[String]) -> Option<ModulePath> {
        let mut here = at.to_owned();
        for segment in segments {
            match segment.as_str() {
                "crate" => here.clear(),
                "self" => {}
                "super" => here = here.split_last()?.1.to_owned(),
                name => here.push(name.to_owned()),
            }
        }
        self.modules.get(&here).map(|module| module.file.clone())
    }

    /// The file that defines what `segments` names in the module `at`; none for what is defined
    /// outside the crate, and for a module as such: what is taken from it is named elsewhere.
    fn home(&self, at: &[String], segments: &[String], depth: usize) -> Option<ModulePath> {
        // Imports that name each other in a circle do not compile; this is for the parser's sake.
        if depth > 32 {
            return None;
        }
        let (first, rest) = segments.split_first()?;
        let module = self.modules.get(at)?;
        match first.as_str() {
            "crate" => self.home(&[], rest, depth + 1),
            "self" => self.home(at, rest, depth + 1),
            "super" => self.home(at.split_last()?.1, rest, depth + 1),
            name if module.children.contains(name) => {
                let below = [at, &[name.to_owned()]].concat();
                self.home(&below, rest, depth + 1)
            }
            name if module.defined.contains(name) => Some(module.file.clone()),
            name => {
                if let Some(import) = module.imports.get(name) {
                    // `use name::Item` in which `name` is another crate ends here.
                    let outside = import.path.len() == 1 || import.path[0] == *name;
                    let onward = [&import.path, rest].concat();
                    return (!outside).then(|| self.home(at, &onward, depth + 1))?;
                }
                // What another crate's `*` brings in ends here too.
                let is_here = |first: &String| {
                    ["crate", "self", "super"].contains(&first.as_str())
                        || module.children.contains(first)
                        || module.imports.contains_key(first)
                };
                let globs = module.globs.iter();
                let mut inside = globs.filter(|glob| glob.path.first().is_some_and(is_here));
                inside.find_map(|glob| {
                    let onward = [&glob.path, segments].concat();
                    self.home(at, &onward, depth + 1)
                })
            }
        }
    }
}

/// The modules of a file, parsed once for a text.
fn modules_in(file: &Path, text: &str) -> OfFile {
    let key = (file.to_owned(), text.to_owned());
    if let Some(known) = PARSED.lock().unwrap().get(&key) {
        return known.clone();
    }
    let parsed = syn::parse_file(text).unwrap_or_else(|error| {
        panic!("{}: {error}", file.display());
    });
    let path = module_of(file);
    let mut modules = BTreeMap::new();
    add(&mut modules, &path, &path, &parsed.items);
    let modules = Arc::new(modules);
    PARSED.lock().unwrap().insert(key, modules.clone());
    modules
}

/// Adds a module with its items, and the modules that are written out within it.
fn add(
    modules: &mut BTreeMap<ModulePath, Arc<Module>>,
    file: &ModulePath,
    path: &ModulePath,
    items: &[Item],
) {
    let mut module = Module {
        file: file.clone(),
        ..Module::default()
    };
    for item in items {
        match item {
            Item::Use(item) if !is_test(&item.attrs) => {
                let public = !matches!(item.vis, Visibility::Inherited);
                let line = item.use_token.span.start().line;
                collect(&mut module, &item.tree, &mut Vec::new(), public, line);
            }
            Item::Mod(item) if !is_test(&item.attrs) => {
                module.children.insert(item.ident.to_string());
                if let Some((_, inner)) = &item.content {
                    let below = [path.as_slice(), &[item.ident.to_string()]].concat();
                    add(modules, file, &below, inner);
                }
            }
            Item::Use(_) | Item::Mod(_) => {}
            other => define(&mut module, other),
        }
    }
    // A `pub use` hands on what a child holds, unless it names what lies elsewhere.
    let children = module.children.clone();
    for import in module.imports.values_mut().chain(&mut module.globs) {
        let first = import.path.iter().find(|segment| *segment != "self");
        import.hands_on &= first.is_some_and(|segment| children.contains(segment));
    }
    modules.insert(path.clone(), Arc::new(module));
}

/// Adds what one item defines and names.
fn define(module: &mut Module, item: &Item) {
    let (attributes, name) = match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        other => panic!(
            "an item of a kind that is not read: {}",
            other.to_token_stream()
        ),
    };
    if is_test(attributes) {
        return;
    }
    module.defined.extend(name.map(ToString::to_string));
    names(item.to_token_stream(), &mut module.named);
}

/// The names that a `use` brings in.
fn collect(
    module: &mut Module,
    tree: &UseTree,
    prefix: &mut Vec<String>,
    public: bool,
    line: usize,
) {
    match tree {
        UseTree::Path(inner) => {
            prefix.push(inner.ident.to_string());
            collect(module, &inner.tree, prefix, public, line);
            prefix.pop();
        }
        UseTree::Group(group) => {
            for inner in &group.items {
                collect(module, inner, prefix, public, line);
            }
        }
        UseTree::Glob(_) => {
            module.globs.push(Import {
                path: prefix.clone(),
                line,
                hands_on: public,
            });
        }
        UseTree::Name(_) | UseTree::Rename(_) => {
            let (ident, bound) = match tree {
                UseTree::Rename(inner) => (&inner.ident, &inner.rename),
                UseTree::Name(inner) => (&inner.ident, &inner.ident),
                _ => unreachable!("matched above"),
            };
            let mut path = prefix.clone();
            // `use a::{self}` brings in `a`.
            let bound = if ident == "self" {
                prefix.last().cloned().unwrap_or_default()
            } else {
                path.push(ident.to_string());
                bound.to_string()
            };
            module.imports.insert(
                bound,
                Import {
                    path,
                    line,
                    hands_on: public,
                },
            );
        }
    }
}

/// Every name of two segments or more, macros' arguments included.
fn names(stream: TokenStream, found: &mut Vec<Named>) {
    let mut current: Option<Named> = None;
    let mut colons = 0;
    for tree in stream {
        match tree {
            TokenTree::Ident(ident) => match &mut current {
                Some(name) if colons == 2 => name.segments.push(ident.to_string()),
                _ => {
                    found.extend(current.take().filter(|name| name.segments.len() > 1));
                    let segments = vec![ident.to_string()];
                    current = Some(Named {
                        segments,
                        line: ident.span().start().line,
                    });
                }
            },
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                continue;
            }
            other => {
                found.extend(current.take().filter(|name| name.segments.len() > 1));
                if let TokenTree::Group(group) = other {
                    names(group.stream(), found);
                }
            }
        }
        colons = 0;
    }
    found.extend(current.filter(|name| name.segments.len() > 1));
}
