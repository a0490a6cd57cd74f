//! `mapa-case cc`: the compile line of a CUDA program with the pass, in one command. `line` takes its
//! arguments apart, `places` finds the pass and the libraries.

mod line;
mod places;

use std::env;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;

use line::{ClangArgument, ClangCommand, ClangStage, is_cudart, read};
use places::{client, cudart, pass};

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
        let ClangArgument::Source(path, language) = word else {
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

/// What compiling needs.
struct Tools {
    clang: OsString,
    pass: PathBuf,
    /// The toolkit's runtime; without a toolkit, the fake.
    cudart: PathBuf,
    client: PathBuf,
}

impl Tools {
    fn find(line: &ClangCommand) -> Result<Tools, Box<dyn Error>> {
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
        line: &ClangCommand,
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
        clang.args(line.told(&[ClangStage::Read, ClangStage::Compile, ClangStage::Any]));
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

    fn common(&self, clang: &mut Command, line: &ClangCommand) {
        let level = line
            .told(&[ClangStage::Any])
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
        line: &ClangCommand,
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
        line: &ClangCommand,
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
            ClangArgument::Told(ClangStage::Link, words) => {
                !words[0].to_string_lossy().starts_with('-')
            }
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
        clang.args(line.told(&[ClangStage::Compile, ClangStage::Any]));
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
        line: &ClangCommand,
        made: &[OsString],
        work: &Path,
    ) -> Result<Option<ExitCode>, Box<dyn Error>> {
        let mut clang = Command::new(&self.clang);
        let mut objects = made.iter();
        let whole = line.lto;
        for word in &line.words {
            match word {
                ClangArgument::Source(..) if !whole => clang.args(objects.next()),
                ClangArgument::Source(..) => clang.args(objects.by_ref()),
                ClangArgument::Told(_, words) if is_cudart(words) => &mut clang,
                ClangArgument::Told(_, words)
                    if words[0].to_string_lossy().starts_with("--cuda") =>
                {
                    &mut clang
                }
                ClangArgument::Told(ClangStage::Link | ClangStage::Any, words) => clang.args(words),
                ClangArgument::Told(ClangStage::Read | ClangStage::Compile, _) => &mut clang,
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
