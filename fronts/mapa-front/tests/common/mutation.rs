//! Mutated inputs of a program, each by a process of its own: none panics, takes seconds or hundreds of megabytes, or says that
//! all is well without an answer. `MAPA_INPUTS` sets how many there are, and `PROPTEST_RNG_SEED` which. The message of a failure
//! has the command, and keeps the input.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Seconds of the processor, and virtual memory in KiB, that a run may take. Virtual memory is more than what is used:
/// threads, tables of the program, and what was freed count.
const LIMITS: (u32, u32) = (4, 700 << 10);

/// A generator of random numbers: Marsaglia's, which needs no crate.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Pieces that mutations insert: numbers at their limits, quotes, separators and opening brackets.
const PIECES: [&str; 30] = [
    "0",
    "-1",
    "1e400",
    "NaN",
    "inf",
    "-inf",
    "18446744073709551616",
    "4294967296",
    "1e-400",
    "0.1",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[2J",
    "\"",
    "'",
    ",",
    "\t",
    "\n",
    "\r\n",
    ";",
    "=",
    "[",
    "{",
    "(",
    "<a>",
    "null",
    "true",
    "../../x",
    "é",
];

/// A mutation of these bytes.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    let (at, other) = (random.below(bytes.len() + 1), random.below(bytes.len() + 1));
    let (low, high) = (at.min(other), at.max(other));
    match random.below(10) {
        0 if !bytes.is_empty() => {
            bytes[at.min(other).min(high.saturating_sub(1))] ^= 1 << random.below(8)
        }
        1 => bytes.truncate(at),
        2 => drop(bytes.drain(low..high)),
        3 => {
            let again = bytes[low..high].to_vec();
            bytes.splice(low..low, again);
        }
        4 => {
            let piece = random.of(&PIECES).as_bytes();
            bytes.splice(at..at, piece.iter().copied());
        }
        5 => {
            // A long run of one piece: deep nesting, wide rows, long fields.
            let piece = random.of(&PIECES).repeat(1 << random.below(17));
            bytes.splice(at..at, piece.bytes());
        }
        6 => {
            let mut lines: Vec<Vec<u8>> =
                bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            lines.swap(a, b);
            *bytes = lines.join(&b'\n');
        }
        7 => {
            let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
            let line = lines[random.below(lines.len())].to_vec();
            let many = [line, vec![b'\n']].concat().repeat(1 << random.below(12));
            bytes.splice(at..at, many);
        }
        8 => {
            // A number in the text becomes another.
            let digits = bytes.iter().skip(at).position(u8::is_ascii_digit);
            if let Some(start) = digits.map(|digits| at + digits) {
                let length = bytes[start..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                let piece = random.of(&PIECES[..10]).bytes();
                bytes.splice(start..start + length, piece);
            }
        }
        _ => bytes.reverse(),
    }
    bytes.truncate(2 << 20);
}

/// A command that reads `FILE`, and inputs of the kind.
pub(crate) struct Kind {
    /// As the shell reads it, with the program as `"$MAPA"`.
    pub(crate) words: String,
    pub(crate) inputs: Vec<Vec<u8>>,
}

/// How a command has ended.
pub(crate) struct Ended<'a> {
    pub(crate) words: &'a str,
    pub(crate) status: Option<i32>,
    pub(crate) has_output: bool,
    pub(crate) said: &'a str,
}

/// Runs commands on mutated inputs, in this folder: every kind in turn, so that none is left out.
pub(crate) fn try_mutated(
    program: &Path,
    folder: &Path,
    kinds: &[Kind],
    usual: usize,
    is_an_answer: impl Fn(&Ended<'_>) -> bool,
) {
    let inputs = std::env::var("MAPA_INPUTS").map_or(usual, |text| text.parse().unwrap());
    let mut random = Random(mapa_core::testing::seed(47) | 1);
    for round in 0..inputs {
        let kind = &kinds[round % kinds.len()];
        let mut bytes = random.of(&kind.inputs).clone();
        for _ in 0..1 + random.below(4) {
            mutate(&mut random, &mut bytes);
        }
        let word = kind
            .words
            .split(' ')
            .find(|word| word.starts_with("FILE"))
            .unwrap();
        let file = word.replace("FILE", "input");
        fs::write(folder.join(&file), &bytes).unwrap();
        let words = kind.words.replace("FILE", "input");
        let (seconds, memory) = LIMITS;
        let output = Command::new("sh")
            .args([
                "-c",
                &format!("ulimit -v {memory} && ulimit -t {seconds} && exec {words}"),
            ])
            .env("MAPA", program)
            // Memory is asked for in one piece, so that what was asked is what counts.
            .env("MALLOC_ARENA_MAX", "1")
            .env("RAYON_NUM_THREADS", "2")
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let ended = Ended {
            words: &words,
            status: output.status.code(),
            has_output: !output.stdout.is_empty(),
            said: &said,
        };
        if said.contains("panicked") || !is_an_answer(&ended) {
            let kept = std::env::temp_dir().join(format!("mapa-input-{round}-{file}"));
            fs::write(&kept, &bytes).unwrap();
            panic!(
                "{} {} (input {}): status {:?}, signal {:?}: {}",
                program.display(),
                words,
                kept.display(),
                output.status.code(),
                output.status.signal(),
                said.chars().take(2000).collect::<String>()
            );
        }
    }
}

/// The files below a folder that are not too long, in the order of their names.
pub(crate) fn files(folder: &Path, most: u64) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            all.extend(files(&path, most));
        } else if path.metadata().is_ok_and(|file| file.len() <= most) {
            all.push(fs::read(path).unwrap());
        }
    }
    all
}
