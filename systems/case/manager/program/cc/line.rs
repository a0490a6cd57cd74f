//! The arguments of `mapa-case cc`, and which runs of clang each is for.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Options of clang whose value is the next argument, by what they are for.
const WITH_VALUE: [(ClangStage, &[&str]); 4] = [
    (
        ClangStage::Read,
        &[
            "-I",
            "-D",
            "-U",
            "-include",
            "-include-pch",
            "-isystem",
            "-cxx-isystem",
            "-iquote",
            "-idirafter",
            "-imacros",
            "-iprefix",
            "-iwithprefix",
            "-iwithprefixbefore",
            "-MF",
            "-MT",
            "-MQ",
            "-MJ",
            "-Xpreprocessor",
        ],
    ),
    (
        ClangStage::Compile,
        &[
            "-Xclang",
            "-mllvm",
            "-Xassembler",
            "-Xcuda-ptxas",
            "-Xcuda-fatbinary",
            "-Xarch_host",
            "-Xarch_device",
            "--param",
        ],
    ),
    (
        ClangStage::Link,
        &[
            "-L",
            "-l",
            "-Xlinker",
            "-T",
            "-z",
            "-u",
            "-e",
            "-rpath",
            "-framework",
        ],
    ),
    (
        ClangStage::Any,
        &["-target", "--sysroot", "-isysroot", "-B", "-arch"],
    ),
];

/// Which runs of clang an argument is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ClangStage {
    /// Those that read sources.
    Read,
    /// Those that make code, of sources or of the whole.
    Compile,
    /// The one that links.
    Link,
    Any,
}

/// An argument.
pub(super) enum ClangArgument {
    /// A source, and its language.
    Source(PathBuf, String),
    /// For clang, maybe with its value. Objects and libraries are for the linker.
    Told(ClangStage, Vec<OsString>),
}

/// The line, taken apart.
#[derive(Default)]
pub(super) struct ClangCommand {
    pub(super) words: Vec<ClangArgument>,
    pub(super) output: Option<PathBuf>,
    /// `-c`, `-S` or `-E`: no linking.
    pub(super) stop: Option<OsString>,
    pub(super) cuda_path: Option<PathBuf>,
    pub(super) lto: bool,
    pub(super) explain: bool,
}

impl ClangCommand {
    /// What clang is told at these stages, in order.
    pub(super) fn told(&self, stages: &[ClangStage]) -> impl Iterator<Item = &OsString> {
        self.words.iter().flat_map(|word| match word {
            ClangArgument::Told(stage, words) if stages.contains(stage) => &words[..],
            _ => &[],
        })
    }
}

/// The language of a source, by its name.
fn language_of(source: &Path) -> Option<&'static str> {
    match source.extension()?.to_str()? {
        "cu" => Some("cuda"),
        "c" => Some("c"),
        "cc" | "cpp" | "cxx" | "C" | "c++" => Some("c++"),
        _ => None,
    }
}

/// Takes the arguments apart.
///
/// # Errors
/// An option without its value.
pub(super) fn read(arguments: &[OsString]) -> Result<ClangCommand, Box<dyn Error>> {
    let mut line = ClangCommand::default();
    // That of `-x`, for what comes after it.
    let mut language: Option<String> = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let text = argument.to_string_lossy();
        let mut value = || {
            rest.next()
                .cloned()
                .ok_or(format!("{text}: expected a value after it"))
        };
        let alone = |stage| ClangArgument::Told(stage, vec![argument.clone()]);
        let with_value = WITH_VALUE.iter().find(|(_, all)| all.contains(&&*text));
        match &*text {
            "-o" => line.output = Some(value()?.into()),
            "-c" | "-S" | "-E" => line.stop = Some(argument.clone()),
            "--lto" | "-flto" => line.lto = true,
            "--explain" => line.explain = true,
            "-x" => {
                let told = value()?.to_string_lossy().into_owned();
                language = (told != "none").then_some(told);
            }
            _ if text.starts_with("--cuda-path=") => {
                line.cuda_path = Some(text["--cuda-path=".len()..].to_owned().into());
            }
            _ if with_value.is_some() || text.starts_with("-Xarch_") => {
                let stage = with_value.map_or(ClangStage::Compile, |(stage, _)| *stage);
                line.words
                    .push(ClangArgument::Told(stage, vec![argument.clone(), value()?]));
            }
            _ if text.starts_with("-x") => {
                let told = &text["-x".len()..];
                language = (told != "none").then(|| told.to_owned());
            }
            _ if text.starts_with("-o") => line.output = Some(text[2..].to_owned().into()),
            _ if ["-l", "-L", "-Wl,"].iter().any(|p| text.starts_with(p)) => {
                line.words.push(alone(ClangStage::Link));
            }
            _ if ["-I", "-D", "-U"].iter().any(|p| text.starts_with(p)) => {
                line.words.push(alone(ClangStage::Read));
            }
            _ if text.starts_with('-') => line.words.push(alone(ClangStage::Any)),
            _ => {
                let path = Path::new(argument);
                let is_object = path
                    .extension()
                    .is_some_and(|e| ["o", "a", "so"].iter().any(|o| e == *o));
                let told = language.clone().filter(|_| !is_object);
                let found = told.or_else(|| language_of(path).map(str::to_owned));
                line.words.push(match found {
                    Some(language) => ClangArgument::Source(path.to_owned(), language),
                    None => alone(ClangStage::Link),
                });
            }
        }
    }
    Ok(line)
}

/// Whether a library is the CUDA runtime, of which the right one is linked anyway.
pub(super) fn is_cudart(words: &[OsString]) -> bool {
    words == ["-lcudart"] || words == ["-l", "cudart"]
}
