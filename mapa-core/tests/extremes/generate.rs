//! Writes a call of each public function of a crate, from its sources.
//!
//! Types are found by their names: the pool has values for the types that it implements `Extreme` for. Functions with other types
//! are listed with the type that lacks values.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{FnArg, GenericArgument, ImplItem, Item, PathArguments, ReturnType, Type, Visibility};

/// What is generated.
pub(crate) struct Generated {
    /// The source text of the calls.
    pub(crate) text: String,
    /// The functions that are not called, each with the type that lacks values.
    pub(crate) left_out: Vec<String>,
}

/// The names that a crate exports, with their paths: `Layout` as `mig::Layout`. Two modules may export one name.
fn exported(source: &Path) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |name: String, prefix: &str| {
        let path = format!("{prefix}{name}");
        names.entry(name).or_default().push(path);
    };
    let mut folders = vec![(source.join("lib.rs"), source.to_path_buf(), String::new())];
    while let Some((file, folder, prefix)) = folders.pop() {
        for item in parse(&file) {
            match item {
                // Types of another crate have their values there.
                Item::Use(item) if is_public(&item.vis) && !is_foreign(&item.tree) => {
                    leaves(&item.tree, &mut |name| {
                        add(name, &prefix);
                    })
                }
                Item::Mod(item)
                    if is_public(&item.vis)
                        && item.content.is_none()
                        && item.ident != "testing" =>
                {
                    let name = item.ident.to_string();
                    let (flat, nested) = (folder.join(format!("{name}.rs")), folder.join(&name));
                    let file = if flat.exists() {
                        flat
                    } else {
                        nested.join("mod.rs")
                    };
                    folders.push((file, nested, format!("{prefix}{name}::")));
                }
                Item::Fn(item) if is_public(&item.vis) => {
                    add(item.sig.ident.to_string(), &prefix);
                }
                Item::Struct(item) if is_public(&item.vis) => {
                    add(item.ident.to_string(), &prefix);
                }
                Item::Enum(item) if is_public(&item.vis) => {
                    add(item.ident.to_string(), &prefix);
                }
                _ => {}
            }
        }
    }
    names
}

fn is_foreign(tree: &syn::UseTree) -> bool {
    matches!(tree, syn::UseTree::Path(path) if is_crate(&path.ident))
}

/// The types that a file imports from other crates of the project, with their paths.
fn imports(items: &[Item]) -> BTreeMap<String, String> {
    fn add(tree: &syn::UseTree, prefix: &str, found: &mut BTreeMap<String, String>) {
        match tree {
            syn::UseTree::Path(path) => {
                add(&path.tree, &format!("{prefix}{}::", path.ident), found)
            }
            syn::UseTree::Name(name) => {
                found.insert(name.ident.to_string(), format!("{prefix}{}", name.ident));
            }
            syn::UseTree::Rename(name) => {
                found.insert(name.rename.to_string(), format!("{prefix}{}", name.ident));
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    add(tree, prefix, found);
                }
            }
            syn::UseTree::Glob(_) => {}
        }
    }
    let mut found = BTreeMap::new();
    for item in items {
        if let Item::Use(item) = item
            && is_foreign(&item.tree)
            && !is_public(&item.vis)
        {
            add(&item.tree, "", &mut found);
        }
    }
    found
}

fn is_of_another_crate(path: &syn::Path) -> bool {
    path.segments.len() > 1 && is_crate(&path.segments[0].ident)
}

fn is_crate(name: &syn::Ident) -> bool {
    name == "clap" || name.to_string().starts_with("mapa_")
}

fn leaves(tree: &syn::UseTree, found: &mut impl FnMut(String)) {
    match tree {
        syn::UseTree::Path(path) => leaves(&path.tree, found),
        syn::UseTree::Name(name) => found(name.ident.to_string()),
        syn::UseTree::Rename(name) => found(name.rename.to_string()),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, found)),
        syn::UseTree::Glob(_) => {}
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn parse(file: &Path) -> Vec<Item> {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    syn::parse_file(&text)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        .items
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("testing") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("testing.rs")
        {
            found.push(path);
        }
    }
}

/// The types that the pool has values for.
fn pool(text: &str) -> BTreeSet<String> {
    let named = text
        .lines()
        .filter_map(|line| line.strip_prefix("values!(")?.split([':', '<']).next());
    named.map(str::to_owned).collect()
}

fn is_iterator(own: &Type) -> bool {
    matches!(own, Type::ImplTrait(traits) if traits.to_token_stream().to_string().contains("Iterator"))
}

fn is_str(own: &Type) -> bool {
    matches!(own, Type::Path(path) if path.path.is_ident("str"))
}

fn is_policy(own: &Type) -> bool {
    matches!(own, Type::TraitObject(traits) if traits.to_token_stream().to_string() == "dyn Policy")
}

/// For a `dyn FnMut(A, B)`: a closure that takes what it is given, and goes on.
fn listener(own: &Type) -> Option<TokenStream> {
    let Type::TraitObject(traits) = own else {
        return None;
    };
    let syn::TypeParamBound::Trait(bound) = traits.bounds.first()? else {
        return None;
    };
    let last = bound.path.segments.last()?;
    match &last.arguments {
        PathArguments::Parenthesized(list) if last.ident == "FnMut" => {
            let each = list.inputs.iter().map(|_| quote!(_));
            let output = list.output.to_token_stream().to_string();
            match output.replace(' ', "").as_str() {
                "" => Some(quote!(&mut |#(#each),*| {})),
                "->Result<(),Error>" => Some(quote!(&mut |#(#each),*| Ok(()))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `T` of `Option<&T>`.
fn lent_option(own: &Type) -> Option<&Type> {
    let Type::Path(path) = own else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(list) if last.ident == "Option" => match list.args.first()? {
            GenericArgument::Type(Type::Reference(own)) if own.mutability.is_none() => {
                Some(&own.elem)
            }
            _ => None,
        },
        _ => None,
    }
}

/// `T` of `impl IntoIterator<Item = T>`.
fn items(traits: &syn::TypeImplTrait) -> Option<&Type> {
    let syn::TypeParamBound::Trait(bound) = traits.bounds.first()? else {
        return None;
    };
    let last = bound.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(list) if last.ident == "IntoIterator" => {
            list.args.iter().find_map(|argument| match argument {
                GenericArgument::AssocType(item) => Some(&item.ty),
                _ => None,
            })
        }
        _ => None,
    }
}

fn docs(attributes: &[syn::Attribute]) -> String {
    let doc = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"));
    doc.map(|attribute| attribute.meta.to_token_stream().to_string() + "\n")
        .collect()
}

/// Functions of a type's own, and how it is read from text.
fn is_called(block: &syn::ItemImpl) -> bool {
    let of_type = block.trait_.as_ref().is_none_or(|(_, path, _)| {
        path.segments
            .last()
            .is_some_and(|last| last.ident == "FromStr")
    });
    of_type && !is_conditional(&block.attrs)
}

fn is_conditional(attributes: &[syn::Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("cfg"))
}

/// An argument: the type that it is drawn as, and how it is passed on.
struct Argument {
    drawn: TokenStream,
    passed: TokenStream,
}

/// What the elements of an argument are drawn as, and how one is lent; none if it is drawn as what it is.
struct Part {
    drawn: TokenStream,
    lent: Option<TokenStream>,
}

/// Makes calls.
struct Calls {
    /// Types that the crate's own pool has values for, and those that the shared pools have values for.
    pool: BTreeSet<String>,
    shared: BTreeSet<String>,
    exported: BTreeMap<String, Vec<String>>,
    /// The module that is read, `mig::layout`, and the types of other crates that it imports, with their paths.
    module: String,
    imported: BTreeMap<String, String>,
    /// Other names of types.
    aliases: BTreeMap<String, String>,
    calls: BTreeMap<String, TokenStream>,
    left_out: BTreeSet<String>,
}

impl Calls {
    /// The path of what is exported: of several, that of the module that is read.
    fn path(&self, name: &str) -> Option<&String> {
        let paths = self.exported.get(name)?;
        let within = |path: &&String| {
            let module = path.strip_suffix(name).unwrap_or_default();
            format!("{}::", self.module)
                .starts_with(module)
                .then_some(module.len())
        };
        paths.iter().max_by_key(within)
    }

    /// The whole path of a type of another crate, which the file names or imports.
    fn foreign(&self, path: &syn::Path) -> Option<String> {
        if is_of_another_crate(path) {
            let names: Vec<String> = (path.segments.iter())
                .map(|part| part.ident.to_string())
                .collect();
            return Some(names.join("::"));
        }
        self.imported.get(&path.get_ident()?.to_string()).cloned()
    }

    fn draws(&self, name: &str) -> bool {
        self.pool.contains(name) || self.shared.contains(name)
    }

    /// A type of the pool, as it is drawn; the type that lacks values otherwise.
    fn drawn(&self, own: &Type, this: Option<&str>) -> Result<TokenStream, String> {
        let lacking = || {
            let name = own.to_token_stream().to_string().replace(' ', "");
            Err(this.filter(|_| name == "Self").map_or(name, str::to_owned))
        };
        match own {
            Type::Path(path) => {
                let Some(last) = path.path.segments.last() else {
                    return lacking();
                };
                let name = match (last.ident.to_string(), this) {
                    (name, Some(this)) if name == "Self" => this.to_owned(),
                    (name, _) => name,
                };
                let name = match self.aliases.get(&name) {
                    Some(own) if !self.draws(&name) => own.clone(),
                    _ => name,
                };
                let inner: Vec<&Type> = match &last.arguments {
                    PathArguments::AngleBracketed(list) => list
                        .args
                        .iter()
                        .filter_map(|argument| match argument {
                            GenericArgument::Type(own) => Some(own),
                            _ => None,
                        })
                        .collect(),
                    _ => Vec::new(),
                };
                match (name.as_str(), &inner[..]) {
                    ("Option", [own]) => self.drawn(own, this).map(|own| quote!(Option<#own>)),
                    ("Vec", [own]) => self.drawn(own, this).map(|own| quote!(Vec<#own>)),
                    ("Arc", [own]) => self
                        .drawn(own, this)
                        .map(|own| quote!(std::sync::Arc<#own>)),
                    ("Box", [own]) if is_policy(own) => Ok(quote!(Box<dyn mapa_core::Policy>)),
                    ("BTreeMap", [key, value]) => {
                        let (key, value) = (self.drawn(key, this)?, self.drawn(value, this)?);
                        Ok(quote!(std::collections::BTreeMap<#key, #value>))
                    }
                    // A crate's own type may have the name of another's.
                    (name, [])
                        if self.path(name).is_some() && self.foreign(&path.path).is_some() =>
                    {
                        let foreign = self.foreign(&path.path);
                        match foreign.filter(|_| self.shared.contains(name)) {
                            Some(path) => {
                                let path: syn::Path = syn::parse_str(&path).expect("a path");
                                Ok(path.to_token_stream())
                            }
                            None => lacking(),
                        }
                    }
                    (name, []) => match self.path(name) {
                        Some(path) if self.pool.contains(name) => {
                            let path: syn::Path =
                                syn::parse_str(&format!("own::{path}")).expect("a path");
                            Ok(path.to_token_stream())
                        }
                        None if self.draws(name) => Ok(format_ident!("{name}").to_token_stream()),
                        _ => lacking(),
                    },
                    _ => lacking(),
                }
            }
            Type::Tuple(tuple) => {
                let parts: Vec<TokenStream> = tuple
                    .elems
                    .iter()
                    .map(|part| self.drawn(part, this))
                    .collect::<Result<_, _>>()?;
                Ok(quote!((#(#parts),*)))
            }
            Type::Array(array) => {
                let (part, length) = (self.drawn(&array.elem, this)?, &array.len);
                Ok(quote!([#part; #length]))
            }
            _ => lacking(),
        }
    }

    /// An element of a slice or an iterator.
    fn part(&self, own: &Type, this: Option<&str>, name: &TokenStream) -> Result<Part, String> {
        match own {
            Type::Reference(reference) if is_str(&reference.elem) => Ok(Part {
                drawn: quote!(String),
                lent: Some(quote!(&#name[..])),
            }),
            Type::Tuple(tuple) => {
                let parts = tuple.elems.iter().enumerate().map(|(at, part)| {
                    let at = syn::Index::from(at);
                    self.part(part, this, &quote!(#name.#at))
                });
                let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
                let drawn = parts.iter().map(|part| &part.drawn);
                let drawn = quote!((#(#drawn),*));
                let lent: Option<Vec<_>> = parts.iter().map(|part| part.lent.clone()).collect();
                Ok(Part {
                    drawn,
                    lent: lent.map(|lent| quote!((#(#lent),*))),
                })
            }
            other => Ok(Part {
                drawn: self.drawn(other, this)?,
                lent: None,
            }),
        }
    }

    fn argument(&self, at: usize, own: &Type, this: Option<&str>) -> Result<Argument, String> {
        let name = format_ident!("a{at}");
        // A view borrows the machine and the set of free devices that it is of.
        let (plain, is_reference) = match own {
            Type::Reference(reference) if reference.mutability.is_none() => {
                (&*reference.elem, true)
            }
            other => (other, false),
        };
        if let Type::Path(path) = plain
            && let Some(last) = path.path.segments.last()
            && (last.ident == "View" || last.ident == "Self" && this == Some("View"))
        {
            let reference = is_reference.then(|| quote!(&));
            return Ok(Argument {
                drawn: quote!(ViewParts),
                passed: quote!(#reference #name.view()),
            });
        }
        if let Some(own) = lent_option(own) {
            let (drawn, passed) = match own {
                own if is_str(own) => (quote!(String), quote!(#name.as_deref())),
                Type::Slice(slice) => {
                    let part = self.drawn(&slice.elem, this)?;
                    (quote!(Vec<#part>), quote!(#name.as_deref()))
                }
                own => (self.drawn(own, this)?, quote!(#name.as_ref())),
            };
            let drawn = quote!(Option<#drawn>);
            return Ok(Argument { drawn, passed });
        }
        match own {
            Type::Reference(reference) => {
                if let Some(passed) = listener(&reference.elem) {
                    let drawn = quote!(());
                    return Ok(Argument { drawn, passed });
                }
                let traits = reference.elem.to_token_stream().to_string();
                let is_scheduler = traits == "dyn Scheduler";
                let (drawn, shared) = match &*reference.elem {
                    // Bytes are drawn as text, of which there are more kinds.
                    Type::Slice(slice) if matches!(&*slice.elem, Type::Path(path) if path.path.is_ident("u8")) => {
                        (quote!(String), quote!(#name.as_bytes()))
                    }
                    Type::Slice(slice) => {
                        let Part { drawn, lent } = self.part(&slice.elem, this, &quote!(part))?;
                        let is_static =
                            (reference.lifetime.as_ref()).is_some_and(|it| it.ident == "static");
                        if is_static && lent.is_some() {
                            return Err(own.to_token_stream().to_string().replace(' ', ""));
                        }
                        let shared = match lent {
                            None => quote!(&#name[..]),
                            Some(lent) => {
                                quote!(&#name.iter().map(|part| #lent).collect::<Vec<_>>()[..])
                            }
                        };
                        (quote!(Vec<#drawn>), shared)
                    }
                    Type::TraitObject(_) if is_scheduler && self.draws("BoxedScheduler") => {
                        (quote!(mapa_sched::BoxedScheduler), quote!(&mut *#name))
                    }
                    Type::TraitObject(_) if traits == "dyn Files" && self.draws("InMemory") => {
                        (quote!(own::InMemory), quote!(&#name))
                    }
                    own if is_str(own) => {
                        let is_static = reference
                            .lifetime
                            .as_ref()
                            .is_some_and(|lifetime| lifetime.ident == "static");
                        (
                            quote!(String),
                            if is_static {
                                quote!(#name.leak())
                            } else {
                                quote!(&#name[..])
                            },
                        )
                    }
                    other => (self.drawn(other, this)?, quote!(&#name)),
                };
                let passed = if reference.mutability.is_some() && !is_scheduler {
                    quote!(&mut #name)
                } else {
                    shared
                };
                Ok(Argument { drawn, passed })
            }
            Type::ImplTrait(traits) => {
                let text = traits.to_token_stream().to_string().replace(' ', "");
                let (drawn, passed) = match text.as_str() {
                    "implInto<String>"
                    | "implInto<Cow<'static,str>>"
                    | "implInto<Arc<str>>"
                    | "implInto<PathBuf>"
                    | "implInto<Vec<u8>>"
                    | "implDisplay"
                    | "implfmt::Display"
                    | "implstd::fmt::Display"
                    | "implAsRef<str>" => (quote!(String), quote!(#name)),
                    "implBufRead" => (quote!(String), quote!(#name.as_bytes())),
                    "implPolicy" | "implPolicy+'static" => {
                        (quote!(Box<dyn mapa_core::Policy>), quote!(#name))
                    }
                    _ => match items(traits) {
                        None => return Err(text),
                        Some(own) => {
                            let part = self.part(own, this, &quote!(part));
                            let Part { drawn, lent } = part.map_err(|_| text)?;
                            let passed = match lent {
                                None => quote!(#name),
                                Some(lent) => quote!(#name.iter().map(|part| #lent)),
                            };
                            (quote!(Vec<#drawn>), passed)
                        }
                    },
                };
                Ok(Argument { drawn, passed })
            }
            other => Ok(Argument {
                drawn: self.drawn(other, this)?,
                passed: quote!(#name),
            }),
        }
    }

    fn leave_out(&mut self, this: &str, signature: &syn::Signature, open: &syn::TypeParam) {
        if let Some(path) = self.path(this) {
            let name = format!("{path}::{}: {}", signature.ident, open.ident);
            self.left_out.insert(name);
        }
    }

    /// A call of a function, or why there is none.
    fn add(
        &mut self,
        signature: &syn::Signature,
        attributes: &[syn::Attribute],
        this: Option<&str>,
    ) {
        let path = match this {
            Some(this) => self
                .path(this)
                .map(|path| format!("{path}::{}", signature.ident)),
            None => self.path(&signature.ident.to_string()).cloned(),
        };
        // What is not exported cannot be called from outside.
        let Some(path) = path else { return };
        if is_conditional(attributes) {
            return;
        }
        let arguments: Result<Vec<Argument>, String> = signature
            .inputs
            .iter()
            .enumerate()
            .map(|(at, input)| match input {
                FnArg::Typed(typed) => self.argument(at, &typed.ty, this),
                FnArg::Receiver(receiver) => self.argument(at, &receiver.ty, this),
            })
            .collect();
        let generic = signature
            .generics
            .params
            .iter()
            .find(|parameter| !matches!(parameter, syn::GenericParam::Lifetime(_)));
        let arguments = match (arguments, generic) {
            (Ok(_), Some(generic)) => Err(generic.to_token_stream().to_string().replace(' ', "")),
            (arguments, _) => arguments,
        };
        match arguments {
            Err(lacking) => {
                self.left_out.insert(format!("{path}: {lacking}"));
            }
            Ok(arguments) if arguments.is_empty() => {}
            Ok(arguments) => {
                let function: syn::ExprPath =
                    syn::parse_str(&format!("own::{path}")).expect("a path");
                let may_panic = docs(attributes).contains("# Panics");
                let (drawn, passed): (Vec<_>, Vec<_>) = arguments
                    .into_iter()
                    .map(|argument| (argument.drawn, argument.passed))
                    .unzip();
                let names: Vec<_> = (0..drawn.len()).map(|at| format_ident!("a{at}")).collect();
                let is_lazy =
                    matches!(&signature.output, ReturnType::Type(_, own) if is_iterator(own));
                let end = if is_lazy {
                    quote!(.take(1000).for_each(drop))
                } else {
                    quote!()
                };
                let call = quote! {
                    calls.of(#path, #may_panic, |(#(mut #names,)*): (#(#drawn,)*)| { let _ = #function(#(#passed),*)#end; });
                };
                self.calls.insert(path, call);
            }
        }
    }
}

/// The calls of all public functions of the crate whose sources are in a folder, with values of its own pool and of shared ones.
pub(crate) fn generate(source: &Path, own: &str, shared: &[&str]) -> Generated {
    let mut calls = Calls {
        pool: pool(own),
        shared: shared.iter().flat_map(|text| pool(text)).collect(),
        exported: exported(source),
        module: String::new(),
        imported: BTreeMap::new(),
        aliases: BTreeMap::new(),
        calls: BTreeMap::new(),
        left_out: BTreeSet::new(),
    };
    let mut files = Vec::new();
    sources(source, &mut files);
    files.sort();
    for item in files.iter().flat_map(|file| parse(file)) {
        if let Item::Type(item) = item
            && is_public(&item.vis)
            && let Type::Path(path) = &*item.ty
            && let Some(own) = path.path.get_ident()
        {
            let (name, own) = (item.ident.to_string(), own.to_string());
            calls.aliases.insert(name, own);
        }
    }
    let items = files.iter().flat_map(|file| {
        let within = file.strip_prefix(source).unwrap_or(file).with_extension("");
        let module = within.to_string_lossy().replace('/', "::");
        let items = parse(file);
        let imported = imports(&items);
        items
            .into_iter()
            .map(move |item| (module.clone(), imported.clone(), item))
    });
    for (module, imported, item) in items {
        (calls.module, calls.imported) = (module, imported);
        match item {
            Item::Fn(item) if is_public(&item.vis) => calls.add(&item.sig, &item.attrs, None),
            Item::Impl(block) if is_called(&block) => {
                let Type::Path(path) = &*block.self_ty else {
                    continue;
                };
                let Some(last) = path.path.segments.last() else {
                    continue;
                };
                let this = last.ident.to_string();
                let open = block.generics.type_params().next();
                for item in &block.items {
                    if let ImplItem::Fn(item) = item
                        && (is_public(&item.vis) || item.sig.ident == "from_str")
                    {
                        // Without a value of the type, nothing says which of its types is meant.
                        match (open, item.sig.receiver()) {
                            (Some(open), None) => calls.leave_out(&this, &item.sig, open),
                            _ => calls.add(&item.sig, &item.attrs, Some(&this)),
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let lines: Vec<String> = calls
        .calls
        .values()
        .map(|call| format!("    {call}\n"))
        .collect();
    let left_out: Vec<String> = calls.left_out.into_iter().collect();
    let names: String = left_out
        .iter()
        .map(|name| format!("    {name:?},\n"))
        .collect();
    let text = format!(
        "// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.\n\nuse std::str::FromStr;\nuse std::time::Duration;\n\nuse crate::shared::Calls;\n\nuse super::*;\n\n\
         pub(super) fn all(calls: &mut Calls) {{\n{}}}\n\n/// Functions that are not called, with the type that the pool has no values of.\n\
         const _LEFT_OUT: &[&str] = &[\n{names}];\n",
        lines.concat()
    );
    Generated { text, left_out }
}
