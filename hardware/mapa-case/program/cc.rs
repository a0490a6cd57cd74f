//! `mapa-case cc`: the compile line of a CUDA program with the pass, in one command.

use std::env;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;

/// The command that builds the pass.
const BUILD: &str = "cargo build --release --manifest-path hardware/case-pass/Cargo.toml";
/// The file that it makes.
const PASS: &str = "libmapa_case_pass.so";

/// How to compile.
#[derive(Args)]
pub(crate) struct Cc {
    /// See all files as one: tasks that span files are static, not lazy.
    #[arg(long)]
    lto: bool,
    /// Tell which tasks are static, which are lazy, and why.
    #[arg(long)]
    explain: bool,
    /// Sources and objects, and what clang is to be told besides. With --cuda-path=DIR a CUDA toolkit is
    /// used; without, the host side alone is compiled, by a header of MAPA's own.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "ARGS"
    )]
    arguments: Vec<OsString>,
}

/// Options of clang whose value is the next argument, by what they are for.
const WITH_VALUE: [(Stage, &[&str]); 4] = [
    (
        Stage::Read,
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
        Stage::Compile,
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
        Stage::Link,
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
        Stage::Any,
        &["-target", "--sysroot", "-isysroot", "-B", "-arch"],
    ),
];

/// Which runs of clang an argument is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Those that read sources.
    Read,
    /// Those that make code, of sources or of the whole.
    Compile,
    /// The one that links.
    Link,
    Any,
}

/// An argument.
enum Word {
    /// A source, and its language.
    Source(PathBuf, String),
    /// For clang, maybe with its value. Objects and libraries are for the linker.
    Told(Stage, Vec<OsString>),
}

/// The line, taken apart.
#[derive(Default)]
struct Line {
    words: Vec<Word>,
    output: Option<PathBuf>,
    /// `-c`, `-S` or `-E`: no linking.
    stop: Option<OsString>,
    cuda_path: Option<PathBuf>,
    lto: bool,
    explain: bool,
}

impl Line {
    /// What clang is told at these stages, in order.
    fn told(&self, stages: &[Stage]) -> impl Iterator<Item = &OsString> {
        self.words.iter().flat_map(|word| match word {
            Word::Told(stage, words) if stages.contains(stage) => &words[..],
            _ => &[],
        })
    }
}

/// Compiles and links.
pub(crate) fn cc(args: &Cc) -> Result<ExitCode, Box<dyn Error>> {
    let mut line = read(&args.arguments)?;
    line.lto |= args.lto;
    line.explain |= args.explain;
    let tools = Tools::find(&line)?;
    let work = tempfile::tempdir()?;
    let mut sources = 0;
    let mut made: Vec<OsString> = Vec::new();
    for word in &line.words {
        let Word::Source(path, language) = word else {
            continue;
        };
        let object = match (&line.stop, &line.output, line.lto) {
            (Some(_), Some(output), _) => output.clone(),
            (Some(stop), None, _) => beside(path, stop),
            (None, _, lto) => work
                .path()
                .join(format!("{sources}.{}", if lto { "bc" } else { "o" })),
        };
        sources += 1;
        if sources > 1 && line.stop.is_some() && line.output.is_some() {
            return Err("-o with several sources: expected one, or no -c".into());
        }
        let status = tools.compile(&line, path, language, &object, work.path())?;
        if let Some(code) = status {
            return Ok(code);
        }
        made.push(object.into());
    }
    if line.stop.is_some() {
        if sources == 0 {
            return Err("nothing to compile: expected a source, PROGRAM.cu".into());
        }
        return Ok(ExitCode::SUCCESS);
    }
    if line.lto && !made.is_empty() {
        match tools.whole(&line, &made, work.path())? {
            Ok(object) => made = vec![object.into()],
            Err(code) => return Ok(code),
        }
    }
    Ok(tools
        .link(&line, &made, work.path())?
        .unwrap_or(ExitCode::SUCCESS))
}

/// The output that clang makes where none is named.
fn beside(source: &Path, stop: &OsStr) -> PathBuf {
    let extension = match stop.to_str() {
        Some("-S") => "s",
        Some("-E") => "ii",
        _ => "o",
    };
    PathBuf::from(source.file_name().unwrap_or_default()).with_extension(extension)
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

fn read(arguments: &[OsString]) -> Result<Line, Box<dyn Error>> {
    let mut line = Line::default();
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
        let alone = |stage| Word::Told(stage, vec![argument.clone()]);
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
                let stage = with_value.map_or(Stage::Compile, |(stage, _)| *stage);
                line.words
                    .push(Word::Told(stage, vec![argument.clone(), value()?]));
            }
            _ if text.starts_with("-x") => {
                let told = &text["-x".len()..];
                language = (told != "none").then(|| told.to_owned());
            }
            _ if text.starts_with("-o") => line.output = Some(text[2..].to_owned().into()),
            _ if ["-l", "-L", "-Wl,"].iter().any(|p| text.starts_with(p)) => {
                line.words.push(alone(Stage::Link));
            }
            _ if ["-I", "-D", "-U"].iter().any(|p| text.starts_with(p)) => {
                line.words.push(alone(Stage::Read));
            }
            _ if text.starts_with('-') => line.words.push(alone(Stage::Any)),
            _ => {
                let path = Path::new(argument);
                let is_object = path
                    .extension()
                    .is_some_and(|e| ["o", "a", "so"].iter().any(|o| e == *o));
                let told = language.clone().filter(|_| !is_object);
                let found = told.or_else(|| language_of(path).map(str::to_owned));
                line.words.push(match found {
                    Some(language) => Word::Source(path.to_owned(), language),
                    None => alone(Stage::Link),
                });
            }
        }
    }
    Ok(line)
}

/// Whether a library is the CUDA runtime, of which the right one is linked anyway.
fn is_cudart(words: &[OsString]) -> bool {
    words == ["-lcudart"] || words == ["-l", "cudart"]
}

/// What compiling needs.
struct Tools {
    clang: OsString,
    pass: PathBuf,
    /// The toolkit's runtime; without a toolkit, the fake.
    cudart: PathBuf,
    client: PathBuf,
}

impl Tools {
    fn find(line: &Line) -> Result<Tools, Box<dyn Error>> {
        let clang = env::var_os("MAPA_CASE_CLANG").unwrap_or_else(|| "clang++-16".into());
        Ok(Tools {
            clang,
            pass: pass()?,
            cudart: cudart(line)?,
            client: client()?,
        })
    }

    /// Compiles one source. Answers with clang's status if it fails.
    fn compile(
        &self,
        line: &Line,
        source: &Path,
        language: &str,
        object: &Path,
        work: &Path,
    ) -> Result<Option<ExitCode>, Box<dyn Error>> {
        let mut clang = Command::new(&self.clang);
        clang.args(["-x", language]);
        if language == "cuda" {
            self.cuda_flags(&mut clang, line, work)?;
        }
        clang.args(line.told(&[Stage::Read, Stage::Compile, Stage::Any]));
        self.common(&mut clang, line);
        if line.lto && line.stop.is_none() {
            // The pass sees the program when it is whole.
            clang.args(["-emit-llvm", "-Xclang", "-disable-llvm-passes"]);
        } else {
            clang.arg(format!("-fpass-plugin={}", self.pass.display()));
        }
        clang.arg(line.stop.as_deref().unwrap_or(OsStr::new("-c")));
        clang.arg("-o").arg(object).arg(source);
        run(clang)
    }

    fn common(&self, clang: &mut Command, line: &Line) {
        let level = line
            .told(&[Stage::Any])
            .filter(|w| w.to_string_lossy().starts_with("-O"))
            .last();
        if level.is_none_or(|l| l == "-O0") {
            // Else clang marks every function as not to be touched, and all would be lazy.
            clang.args(["-Xclang", "-disable-O0-optnone"]);
        }
        if line.explain {
            clang.env("MAPA_CASE_REMARKS", "1");
        }
    }

    fn cuda_flags(
        &self,
        clang: &mut Command,
        line: &Line,
        work: &Path,
    ) -> Result<(), Box<dyn Error>> {
        clang.arg("-Wno-unknown-cuda-version");
        let headers = work.join("include");
        fs::create_dir_all(&headers)?;
        if let Some(path) = &line.cuda_path {
            clang.arg(format!("--cuda-path={}", path.display()));
            // The compiler's own header asks for this one, which comes with another package.
            if !path.join("include/curand_mtgp32_kernel.h").exists() {
                fs::write(headers.join("curand_mtgp32_kernel.h"), "")?;
                clang.arg("-isystem").arg(&headers);
            }
            if !path.join("bin/fatbinary").exists() || !path.join("bin/ptxas").exists() {
                clang.arg("--cuda-host-only");
            }
            return Ok(());
        }
        for (name, text) in fake_cudart::HEADERS {
            fs::write(headers.join(name), text)?;
        }
        // A version that clang 16 knows; its way to launch has been the same since CUDA 9.2.
        clang.args([
            "--cuda-host-only",
            "-nocudainc",
            "-nocudalib",
            "-Xclang",
            "-target-sdk-version=11.8",
        ]);
        clang
            .arg("-I")
            .arg(&headers)
            .args(["-include", "cuda_runtime.h"]);
        Ok(())
    }

    /// Joins all files and compiles them as one.
    fn whole(
        &self,
        line: &Line,
        files: &[OsString],
        work: &Path,
    ) -> Result<Result<PathBuf, ExitCode>, Box<dyn Error>> {
        let linked = work.join("linked.bc");
        let mut link = Command::new("llvm-link-16");
        link.args(files).arg("-o").arg(&linked);
        if let Some(code) = run(link)? {
            return Ok(Err(code));
        }
        let input = work.join("whole.bc");
        let native = line.words.iter().any(|w| match w {
            Word::Told(Stage::Link, words) => !words[0].to_string_lossy().starts_with('-'),
            _ => false,
        });
        if native {
            // Objects may call any function.
            fs::rename(&linked, &input)?;
        } else {
            let mut opt = Command::new("opt-16");
            opt.args(["-passes=internalize", "-internalize-public-api-list=main"]);
            opt.arg(&linked).arg("-o").arg(&input);
            if let Some(code) = run(opt)? {
                return Ok(Err(code));
            }
        }
        let object = work.join("whole.o");
        let mut clang = Command::new(&self.clang);
        clang.args(["-x", "ir"]);
        clang.args(line.told(&[Stage::Compile, Stage::Any]));
        if line.explain {
            clang.env("MAPA_CASE_REMARKS", "1");
        }
        clang.arg(format!("-fpass-plugin={}", self.pass.display()));
        clang
            .args(["-Wno-unused-command-line-argument", "-c", "-o"])
            .arg(&object)
            .arg(&input);
        Ok(match run(clang)? {
            Some(code) => Err(code),
            None => Ok(object),
        })
    }

    fn link(
        &self,
        line: &Line,
        made: &[OsString],
        work: &Path,
    ) -> Result<Option<ExitCode>, Box<dyn Error>> {
        let mut clang = Command::new(&self.clang);
        let mut objects = made.iter();
        let whole = line.lto;
        for word in &line.words {
            match word {
                Word::Source(..) if !whole => clang.args(objects.next()),
                Word::Source(..) => clang.args(objects.by_ref()),
                Word::Told(_, words) if is_cudart(words) => &mut clang,
                Word::Told(_, words) if words[0].to_string_lossy().starts_with("--cuda") => {
                    &mut clang
                }
                Word::Told(Stage::Link | Stage::Any, words) => clang.args(words),
                Word::Told(Stage::Read | Stage::Compile, _) => &mut clang,
            };
        }
        clang.arg(&self.client);
        if line.cuda_path.is_some() {
            clang.arg(&self.cudart);
        } else {
            // The program asks for the runtime by this name, whoever gives it.
            let folder = work.join("lib");
            fs::create_dir_all(&folder)?;
            std::os::unix::fs::symlink(
                self.cudart.canonicalize()?,
                folder.join(fake_cudart::LIBRARY),
            )?;
            clang
                .arg("-L")
                .arg(&folder)
                .arg(format!("-l:{}", fake_cudart::LIBRARY));
        }
        clang.args(["-lpthread", "-ldl", "-lm"]);
        if let Some(output) = &line.output {
            clang.arg("-o").arg(output);
        }
        run(clang)
    }
}

/// Runs a tool. Answers with its status if it fails.
fn run(mut command: Command) -> Result<Option<ExitCode>, Box<dyn Error>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|e| {
        format!("{name}: {e}; expected Debian's clang-16 and llvm-16 (or MAPA_CASE_CLANG)")
    })?;
    Ok((!status.success()).then(|| {
        ExitCode::from(
            status
                .code()
                .and_then(|c| u8::try_from(c).ok())
                .unwrap_or(1),
        )
    }))
}

/// The pass: named by `MAPA_CASE_PASS`, or where its command builds it, or installed with this program.
fn pass() -> Result<PathBuf, Box<dyn Error>> {
    if let Some(told) = env::var_os("MAPA_CASE_PASS") {
        let path = PathBuf::from(told);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!(
                "MAPA_CASE_PASS: no file {}; expected the pass, built by `{BUILD}`",
                path.display()
            )
            .into())
        };
    }
    let own = env::current_exe().unwrap_or_default();
    let here = env::current_dir().unwrap_or_default();
    let built = Path::new("hardware/case-pass/target/release").join(PASS);
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(folder) = own.parent() {
        places.extend([
            folder.join(PASS),
            folder.join("../lib/mapa-case").join(PASS),
        ]);
    }
    if let Some(target) = env::var_os("CARGO_TARGET_DIR") {
        places.push(Path::new(&target).join("release").join(PASS));
    }
    places.extend(
        own.ancestors()
            .chain(here.ancestors())
            .map(|a| a.join(&built)),
    );
    places.into_iter().find(|p| p.is_file()).ok_or_else(|| {
        format!("the compiler pass is not built: run `{BUILD}`, or name it by MAPA_CASE_PASS")
            .into()
    })
}

/// The CUDA runtime to link with: the toolkit's, or the fake.
fn cudart(line: &Line) -> Result<PathBuf, Box<dyn Error>> {
    let Some(root) = &line.cuda_path else {
        return Ok(fake_cudart::built_library()?);
    };
    for folder in ["lib64", "lib", "targets/x86_64-linux/lib"] {
        for name in [
            "libcudart.so",
            "libcudart.so.12",
            "libcudart.so.11.0",
            "libcudart.so.13",
        ] {
            let library = root.join(folder).join(name);
            if library.is_file() {
                return Ok(library);
            }
        }
    }
    Err(format!(
        "{}: no libcudart.so; expected a CUDA toolkit",
        root.display()
    )
    .into())
}

/// CASE's client library, beside this program or where cargo builds it.
fn client() -> Result<PathBuf, Box<dyn Error>> {
    let own = env::current_exe().unwrap_or_default();
    let folder = own.parent().unwrap_or(Path::new(""));
    let above = folder.parent().unwrap_or(folder);
    let names = ["libmapa_case.a", "libmapa_case.so"];
    [
        folder,
        &folder.join("deps"),
        above,
        &folder.join("../lib/mapa-case"),
    ]
    .iter()
    .flat_map(|place| names.map(|n| place.join(n)))
    .find(|p| p.is_file())
    .ok_or_else(|| {
        format!(
            "no libmapa_case.a near {}: expected `cargo build -p mapa-case` before",
            own.display()
        )
        .into()
    })
}
