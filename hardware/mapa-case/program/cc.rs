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

/// Options of clang whose value is the next argument.
const WITH_VALUE: [&str; 20] = [
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-include",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-imacros",
    "-MF",
    "-MT",
    "-MQ",
    "-Xclang",
    "-Xlinker",
    "-mllvm",
    "-target",
    "-arch",
    "-framework",
    "-T",
];

/// An argument, by what it is for.
enum Word {
    /// A source, and whether it is CUDA.
    Source(PathBuf, bool),
    /// For the compiler.
    Compile(Vec<OsString>),
    /// For the linker: objects, libraries.
    Link(Vec<OsString>),
    /// For both.
    Both(OsString),
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
        let Word::Source(path, cuda) = word else {
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
        let status = tools.compile(&line, path, *cuda, &object, work.path())?;
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

fn read(arguments: &[OsString]) -> Result<Line, Box<dyn Error>> {
    let mut line = Line::default();
    let mut cuda_by_flag = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let text = argument.to_string_lossy();
        let mut value = || {
            rest.next()
                .cloned()
                .ok_or(format!("{text}: expected a value after it"))
        };
        match &*text {
            "-o" => line.output = Some(value()?.into()),
            "-c" | "-S" | "-E" => line.stop = Some(argument.clone()),
            "--lto" | "-flto" => line.lto = true,
            "--explain" => line.explain = true,
            "-x" => cuda_by_flag |= value()? == "cuda",
            "-xcuda" => cuda_by_flag = true,
            _ if text.starts_with("--cuda-path=") => {
                line.cuda_path = Some(text["--cuda-path=".len()..].to_owned().into());
            }
            _ if text.starts_with("-o") && text.len() > 2 => {
                line.output = Some(text[2..].to_owned().into())
            }
            _ if WITH_VALUE.contains(&&*text) => {
                let pair = vec![argument.clone(), value()?];
                let links = matches!(&*text, "-L" | "-l" | "-Xlinker" | "-T" | "-framework");
                line.words.push(if links {
                    Word::Link(pair)
                } else {
                    Word::Compile(pair)
                });
            }
            _ if text.starts_with("-l") || text.starts_with("-L") || text.starts_with("-Wl,") => {
                line.words.push(Word::Link(vec![argument.clone()]));
            }
            _ if text.starts_with("-I") || text.starts_with("-D") || text.starts_with("-U") => {
                line.words.push(Word::Compile(vec![argument.clone()]));
            }
            _ if text.starts_with('-') => line.words.push(Word::Both(argument.clone())),
            _ => {
                let extension = Path::new(argument)
                    .extension()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                line.words.push(match &*extension {
                    "cu" => Word::Source(argument.into(), true),
                    "c" | "cc" | "cpp" | "cxx" | "C" | "c++" => {
                        Word::Source(argument.into(), false)
                    }
                    _ if cuda_by_flag && !matches!(&*extension, "o" | "a" | "so") => {
                        Word::Source(argument.into(), true)
                    }
                    _ => Word::Link(vec![argument.clone()]),
                });
            }
        }
    }
    if cuda_by_flag {
        for word in &mut line.words {
            if let Word::Source(_, cuda) = word {
                *cuda = true;
            }
        }
    }
    Ok(line)
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
        cuda: bool,
        object: &Path,
        work: &Path,
    ) -> Result<Option<ExitCode>, Box<dyn Error>> {
        let mut clang = Command::new(&self.clang);
        if cuda {
            self.cuda_flags(&mut clang, line, work)?;
        } else if source.extension().is_some_and(|e| e == "c") {
            clang.args(["-x", "c"]);
        }
        for word in &line.words {
            match word {
                Word::Compile(words) => clang.args(words),
                Word::Both(word) => clang.arg(word),
                Word::Source(..) | Word::Link(_) => &mut clang,
            };
        }
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
        let level = line.words.iter().rev().find_map(|w| match w {
            Word::Both(word) => word.to_str().filter(|w| w.starts_with("-O")),
            _ => None,
        });
        if matches!(level, None | Some("-O0")) {
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
        clang.args(["-x", "cuda", "-Wno-unknown-cuda-version"]);
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
            Word::Link(words) => words.iter().any(|w| !w.to_string_lossy().starts_with('-')),
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
        for word in &line.words {
            if let Word::Both(word) = word {
                clang.arg(word);
            }
        }
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
                Word::Link(words) if words == &["-lcudart"] => &mut clang,
                Word::Link(words) => clang.args(words),
                Word::Both(word) if word.to_string_lossy().starts_with("--cuda") => &mut clang,
                Word::Both(word) => clang.arg(word),
                Word::Compile(_) => &mut clang,
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
