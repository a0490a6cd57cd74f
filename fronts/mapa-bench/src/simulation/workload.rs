//! The workload that the command line names.

use std::path::Path;

use mapa_sim::{
    Generator, RunTimes, Selection, TraceKind, Workload, read_jobs, read_run_times, read_trace_part,
};

use crate::cli::WorkloadArgs;
use crate::failure::Failure;
use crate::files::text;

/// The workload of these arguments. Its source names the file, or the generator and its seed.
pub(crate) fn workload(args: &WorkloadArgs) -> Result<Workload, Failure> {
    let workload = match (&args.jobs, &args.trace) {
        (Some(file), _) => of_file(file, &read_jobs)?,
        (_, Some(words)) => trace(words, args.select.as_deref().unwrap_or_default())?,
        _ => drawn(args)?,
    };
    Ok(if args.at_once {
        workload.all_at_once()
    } else {
        workload
    })
}

/// The workload of a generator, drawn with this seed.
pub(crate) fn generated(words: &str, seed: u64) -> Result<Workload, Failure> {
    words
        .parse::<Generator>()
        .and_then(|generator| generator.generate(seed))
        .map_err(Failure::malformed)
}

/// The workload of `--generate`, with run times from a file if one is named.
fn drawn(args: &WorkloadArgs) -> Result<Workload, Failure> {
    let words = args.generate.as_deref().unwrap_or("mapa");
    let Some(file) = &args.run_times else {
        return generated(words, args.seed);
    };
    let mut generator: Generator = words.parse().map_err(Failure::malformed)?;
    let times = read_run_times(&text(file)?).map_err(|error| Failure::at(file, error))?;
    generator.run_times = RunTimes::Empirical(times.into());
    let mut workload = generator.generate(args.seed).map_err(Failure::malformed)?;
    workload.source.push_str(&format!(", run times of {file}"));
    Ok(workload)
}

/// The selected part of a trace, `[KIND=]FILE`.
fn trace(words: &str, select: &str) -> Result<Workload, Failure> {
    // The name of a file may contain `=`: an existing file wins.
    let (kind, file) = match words.split_once('=') {
        Some((kind, file)) if !Path::new(words).exists() => (Some(kind), file),
        _ => (None, words),
    };
    let selection: Selection = select
        .parse()
        .map_err(|error| Failure::at("--select", error))?;
    let kind: Option<TraceKind> = kind
        .map(str::parse)
        .transpose()
        .map_err(Failure::malformed)?;
    of_file(file, &|text| {
        let kind = kind.map_or_else(|| TraceKind::recognise(text), Ok)?;
        read_trace_part(kind, text, &selection)
    })
}

/// The workload that `read` returns for a file. The file's name is added to the workload's source.
fn of_file(
    file: &str,
    read: &dyn Fn(&str) -> Result<Workload, mapa_sim::Error>,
) -> Result<Workload, Failure> {
    let mut workload = read(&text(file)?).map_err(|error| Failure::at(file, error))?;
    let name = if file == "-" { "standard input" } else { file };
    workload.source = format!("{}, {name}", workload.source);
    Ok(workload)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        workload: WorkloadArgs,
    }

    fn meant(words: &[&str]) -> Result<Workload, String> {
        let words = std::iter::once("x").chain(words.iter().copied());
        let words = Words::try_parse_from(words).map_err(|error| error.to_string())?;
        workload(&words.workload).map_err(|failure| match failure {
            Failure::Malformed(what) => what,
            _ => "another failure".to_owned(),
        })
    }

    /// A file that is there for one test.
    struct File(PathBuf);

    impl File {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let path =
                std::env::temp_dir().join(format!("mapa-workload-{}-{name}", std::process::id()));
            fs::write(&path, bytes).unwrap();
            Self(path)
        }

        fn name(&self) -> &str {
            self.0.to_str().unwrap()
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn without_words_it_is_the_papers_mix_of_the_first_seed() {
        assert_eq!(meant(&[]).unwrap(), Generator::mapa().generate(1).unwrap());
        assert_eq!(
            meant(&["--seed", "4"]).unwrap(),
            generated("mapa", 4).ok().unwrap()
        );
        assert_eq!(meant(&["--generate", "mapa,jobs=7"]).unwrap().jobs.len(), 7);
    }

    #[test]
    fn job_files_are_named_in_the_source_and_in_errors() {
        let good = File::new("good.txt", b"3,ring,120,17,1,vgg16.sh\n");
        let jobs = meant(&["--jobs", good.name()]).unwrap();
        assert!(jobs.source.ends_with(good.name()), "{}", jobs.source);
        assert_eq!(jobs.jobs[0].job.arrived.0, 120_000_000_000);
        assert_eq!(
            meant(&["--jobs", good.name(), "--at-once"]).unwrap().jobs[0]
                .job
                .arrived
                .0,
            0
        );
        let bad = File::new(
            "bad.txt",
            b"3,ring,120,17,1,vgg16.sh\n0,ring,120,17,1,vgg16.sh\n",
        );
        let error = meant(&["--jobs", bad.name()]).unwrap_err();
        assert!(
            error.starts_with(bad.name()) && error.contains("line 2: numGpus `0`"),
            "{error}"
        );
        let bytes = File::new("bytes.txt", b"3,ring,120,17,1,x\n\xff\n");
        assert!(
            meant(&["--jobs", bytes.name()])
                .unwrap_err()
                .contains("line 2: expected text in UTF-8")
        );
        assert!(
            meant(&["--jobs", "no such file"])
                .unwrap_err()
                .starts_with("no such file: ")
        );
    }

    #[test]
    fn traces_are_known_by_name_or_header_and_selected() {
        let text =
            "submit_s,gpus,duration_s,model,iterations\n0,1,164,vgg19,606\n30,8,147,vgg11,133\n";
        let file = File::new("trace.csv", text.as_bytes());
        let of = |kind: &str| format!("{kind}{}", file.name());
        assert_eq!(
            meant(&["--trace", file.name()]).unwrap(),
            meant(&["--trace", &of("tiresias=")]).unwrap()
        );
        assert_eq!(
            meant(&["--trace", file.name(), "--select", "max-gpus=4"])
                .unwrap()
                .jobs
                .len(),
            1
        );
        assert!(
            meant(&["--trace", &of("gavel-philly=")])
                .unwrap_err()
                .contains("column `model`")
        );
        assert!(
            meant(&["--trace", &of("philly=")])
                .unwrap_err()
                .contains("no trace is called `philly`")
        );
        assert!(
            meant(&["--trace", file.name(), "--select", "first"])
                .unwrap_err()
                .starts_with("--select: `first`")
        );
        assert!(meant(&["--select", "first=1"]).is_err());
        assert!(meant(&["--trace", file.name(), "--jobs", file.name()]).is_err());
        let nothing = meant(&["--trace", file.name(), "--select", "model=none"]).unwrap();
        assert!(
            nothing.jobs.is_empty()
                && nothing
                    .notes
                    .iter()
                    .any(|note| note.starts_with("no job is left"))
        );
    }

    #[test]
    fn words_that_do_not_apply_are_refused() {
        let file = File::new(
            "applies.csv",
            b"submit_s,gpus,duration_s,model,iterations\n0,1,164,vgg19,606\n",
        );
        let (jobs, trace) = (["--jobs", file.name()], ["--trace", file.name()]);
        for (from, more) in [
            (jobs, ["--seed", "3"]),
            (jobs, ["--select", "first=1"]),
            (jobs, ["--run-times", "times.csv"]),
            (trace, ["--seed", "1"]),
            (trace, ["--run-times", "times.csv"]),
            (["--generate", "mapa"], ["--select", "first=1"]),
        ] {
            let error = meant(&[from, more].concat()).unwrap_err();
            assert!(
                error.contains("cannot be used with"),
                "{from:?} {more:?}: {error}"
            );
        }
    }

    #[test]
    fn run_times_are_drawn_from_a_file() {
        let file = File::new("times.csv", b"runtime_s\n3\n7\n");
        let drawn = meant(&["--run-times", file.name(), "--generate", "mapa,jobs=40"]).unwrap();
        let mut seconds: Vec<u64> = drawn.jobs.iter().map(|own| own.work.as_secs()).collect();
        seconds.sort_unstable();
        seconds.dedup();
        assert_eq!(seconds, [3, 7]);
        assert!(
            drawn.source.contains("times=empirical(2)") && drawn.source.ends_with(file.name()),
            "{}",
            drawn.source
        );
    }
}
