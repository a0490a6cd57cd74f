//! Degrees of parallelism in Python programs: keyword arguments of calls, defaults of options,
//! command lines of launchers, dictionaries for DeepSpeed.

use tree_sitter::Node;

use super::axis::Axis;
use super::expr::{Expr, children, lower};
use super::kinds::{Communication, Library, Role, SourceCall};
use super::names::last;
use super::program::{CallSite, CodePlace, SourceProgram};
use super::walk::SyntaxWalk;

/// The prefix of settings: `--name value` in a command line, or `"name": value` in a dictionary, is
/// recorded as a call of `--name` with one argument.
const FLAG: &str = "--";

/// Collects settings from lists of words, from strings and from dictionaries.
pub(super) fn python(walk: &mut SyntaxWalk<'_, '_>, kind: &str, node: Node<'_>, place: CodePlace) {
    match kind {
        "list" | "tuple" => words(walk, node, place),
        "string" => sentence(walk, node, place),
        "pair" => pair(walk, node, place),
        _ => {}
    }
}

fn push(
    walk: &mut SyntaxWalk<'_, '_>,
    node: Node<'_>,
    place: CodePlace,
    call: String,
    value: Expr,
) {
    let line = node.start_position().row + 1;
    walk.program.sites.push(CallSite {
        place,
        line,
        call,
        arguments: vec![(None, value)],
    });
}

/// Collects settings from a list such as `["--tensor-model-parallel-size", "2", ...]`.
fn words(walk: &mut SyntaxWalk<'_, '_>, node: Node<'_>, place: CodePlace) {
    let elements = children(node);
    for pair in elements.windows(2) {
        let [name, value] = pair else { continue };
        let Expr::Text(name_text) = walk.lower(*name) else {
            continue;
        };
        if !name_text.starts_with(FLAG) || Axis::of(&name_text).is_none() {
            continue;
        }
        let value = match walk.lower(*value) {
            Expr::Text(text) => text.trim().parse().map_or(Expr::Unknown, Expr::Int),
            Expr::Call(call, arguments) if call == "str" => arguments
                .into_iter()
                .next()
                .map_or(Expr::Unknown, |(_, value)| value),
            value => value,
        };
        push(walk, *name, place, name_text, value);
    }
}

/// Collects settings from a command line such as
/// `"torchrun --nproc_per_node=8 train.py --tensor-model-parallel-size 4"`.
fn sentence(walk: &mut SyntaxWalk<'_, '_>, node: Node<'_>, place: CodePlace) {
    let text = walk
        .text(node)
        .trim_matches(['"', '\'', 'f', 'r', 'b'])
        .to_owned();
    if !text.contains(FLAG) || is_for_people(walk) {
        return;
    }
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, words.peek().copied()),
        };
        let (Some(value), true) = (value, name.starts_with(FLAG) && Axis::of(name).is_some())
        else {
            continue;
        };
        let number = value.trim_matches(['"', '\'', '\\']).parse::<i64>();
        match number {
            Ok(number) => push(walk, node, place, name.to_owned(), Expr::Int(number)),
            Err(_) if value.starts_with('{') || value.starts_with('$') => {
                let hole = value.trim_matches(['{', '}']);
                let is_name = hole
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '_' || c == '.');
                let value = if is_name {
                    Expr::Name(hole.to_owned())
                } else {
                    Expr::Unknown
                };
                push(walk, node, place, name.to_owned(), value);
            }
            Err(_) => {}
        }
    }
}

/// Whether a string is text for people: documentation, help, a message.
fn is_for_people(walk: &SyntaxWalk<'_, '_>) -> bool {
    let mut above = walk
        .stack
        .iter()
        .rev()
        .skip(1)
        .take(6)
        .map(|step| step.node);
    let kind = above.next();
    if kind.is_some_and(|node| node.kind() == "expression_statement") {
        return true;
    }
    kind.into_iter().chain(above).any(|node| match node.kind() {
        "raise_statement" | "assert_statement" => true,
        "keyword_argument" => {
            let name = node.child_by_field_name("name").map(|name| walk.text(name));
            matches!(
                name,
                Some("help" | "description" | "epilog" | "usage" | "msg" | "message")
            )
        }
        "call" => {
            let function = node
                .child_by_field_name("function")
                .map(|function| walk.text(function));
            let name = function.map(last).unwrap_or_default();
            matches!(
                name,
                "print" | "info" | "warning" | "warn" | "debug" | "error" | "log"
            ) || name.ends_with("Error")
        }
        _ => false,
    })
}

/// Collects settings from a dictionary entry: `"zero_optimization": {"stage": 3}`,
/// `tensor_parallel={"tp_size": 4}`.
fn pair(walk: &mut SyntaxWalk<'_, '_>, node: Node<'_>, place: CodePlace) {
    let key = |walk: &SyntaxWalk<'_, '_>, node: Node<'_>| match node
        .child_by_field_name("key")
        .map(|key| walk.lower(key))
    {
        Some(Expr::Text(key)) => key,
        _ => String::new(),
    };
    let own = key(walk, node);
    let Some(value) = node
        .child_by_field_name("value")
        .map(|value| lower(value, walk.source, walk.program.language))
    else {
        return;
    };
    let is_zero = own == "stage"
        && walk.stack.iter().rev().skip(1).take(4).any(|above| {
            above.node.kind() == "pair" && key(walk, above.node) == "zero_optimization"
        });
    if is_zero {
        push(walk, node, place, ZERO.to_owned(), value);
    } else if matches!(own.as_str(), "tp_size" | "autotp_size") {
        push(walk, node, place, format!("{FLAG}{own}"), value);
    }
}

/// The name under which the stage of DeepSpeed's ZeRO is recorded.
const ZERO: &str = "zero_optimization.stage";

/// The degrees of parallelism that a call sets; none if it sets none.
pub(super) fn degrees(program: &SourceProgram, site: &CallSite) -> Option<SourceCall> {
    let name = last(&site.call);
    let value = || {
        site.arguments
            .first()
            .map_or(Expr::Unknown, |(_, value)| value.clone())
    };
    if site.call == ZERO {
        let (library, kind) = (Library::DeepSpeed, Communication::DataParallel);
        return (value() != Expr::Int(0)).then_some(SourceCall {
            library,
            kind,
            role: Role::DataParallel,
        });
    }
    if site.call.starts_with(FLAG) {
        return Some(call(
            library(program, name, &site.call),
            vec![(Axis::of(&site.call)?, value())],
            false,
        ));
    }
    if name == "add_argument" {
        let mut flags =
            site.arguments
                .iter()
                .filter_map(|(keyword, value)| match (keyword, value) {
                    (None, Expr::Text(flag)) if flag.starts_with(FLAG) => Axis::of(flag),
                    _ => None,
                });
        let default = site
            .arguments
            .iter()
            .find(|(keyword, _)| keyword.as_deref() == Some("default"))?;
        let flag = flags.next()?;
        let is_ranks = flag == Axis::Ranks;
        let library = if is_ranks {
            Library::Launcher
        } else {
            library(program, name, "")
        };
        return Some(call(library, vec![(flag, default.1.clone())], true));
    }
    let positional: &[Axis] = if name == "initialize_model_parallel" {
        &[Axis::Tensor, Axis::Pipeline]
    } else {
        &[]
    };
    let by_place = site
        .arguments
        .iter()
        .zip(positional)
        .filter(|((keyword, _), _)| keyword.is_none());
    let by_place = by_place.map(|((_, value), axis)| (*axis, value.clone()));
    let is_stages = name == "PipelineModule";
    let is_inference = name == "init_inference";
    let by_name = site.arguments.iter().filter_map(|(keyword, value)| {
        let own = keyword.as_deref()?;
        let counts = match own {
            "num_stages" => is_stages,
            "mp_size" => is_inference,
            "tp_size" | "pp_size" | "dp_size" | "cp_size" | "ep_size" | "num_gpus"
            | "num_processes" => false,
            _ => true,
        };
        Axis::of(own)
            .filter(|_| counts)
            .map(|axis| (axis, value.clone()))
    });
    let all: Vec<_> = by_place.chain(by_name).collect();
    (!all.is_empty()).then(|| call(library(program, name, &site.call), all, false))
}

fn call(library: Library, degrees: Vec<(Axis, Expr)>, is_default: bool) -> SourceCall {
    let is_ranks = degrees.iter().all(|(axis, _)| *axis == Axis::Ranks);
    let kind = if is_ranks {
        Communication::Ranks
    } else {
        Communication::Degrees
    };
    SourceCall {
        library,
        kind,
        role: Role::Degrees(degrees, is_default),
    }
}

fn library(program: &SourceProgram, name: &str, call: &str) -> Library {
    let path = program.imported(call);
    match name {
        _ if Axis::of(call) == Some(Axis::Ranks) => Library::Launcher,
        _ if path.starts_with("vllm")
            || matches!(name, "LLM" | "EngineArgs" | "AsyncEngineArgs") =>
        {
            Library::Vllm
        }
        _ if path.starts_with("deepspeed")
            || matches!(name, "PipelineModule" | "init_inference") =>
        {
            Library::DeepSpeed
        }
        "--tensor-parallel-size" | "--pipeline-parallel-size" => Library::Vllm,
        "--tp_size" | "--autotp_size" => Library::DeepSpeed,
        "initialize_model_parallel" => Library::Megatron,
        name if name.contains("model-parallel") => Library::Megatron,
        _ if program
            .imports
            .values()
            .any(|module| module.starts_with("megatron")) =>
        {
            Library::Megatron
        }
        _ => Library::Settings,
    }
}
