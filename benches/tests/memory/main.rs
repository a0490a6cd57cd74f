//! Every reader needs at most ten times the memory of its input, and quotes little of it in errors.
//!
//! The allocator of this binary counts. Hostile texts ([`shapes`]) are made of nothing, and of a good sample of each kind.
//! A reader with a stated limit of size, which refuses longer texts at once, may need as much as for a text of that limit.

mod shapes;

#[cfg(feature = "case")]
mod case;
#[cfg(feature = "energy")]
mod energy;
#[cfg(feature = "slo")]
mod slo;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use mapa_front::{Error, Files, MachineSpec, Names};
use mapa_topologies::{Dump, Kind};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// What any reader may need: tables of names, buffers.
const CONSTANT: usize = 2 << 20;

/// What a reader may need of memory, in times of its input.
const TIMES: usize = 10;

/// The same for a reader with a stated limit: at most 320 times as much, 640 MiB for the 2 MiB of TOML.
const TIMES_LIMITED: usize = 320;

/// The same for a reader with a stated count of rows.
const TIMES_COUNTED: usize = 100;

/// The longest time for a text.
const SLOWEST: Duration = Duration::from_secs(10);

/// The longest message of an error, bytes: what it quotes, and lists of what was expected.
const LONGEST_MESSAGE: usize = 4200;

/// An error of JSON, as the programs show it.
fn shown(error: serde_json::Error) -> String {
    mapa_core::shortened(&error.to_string()).into_owned()
}

/// What is left after a reader: what it read, and the texts it tells.
pub struct Done {
    /// What was read, which is in memory until the peak is known.
    _read: Box<dyn std::any::Any>,
    messages: Vec<String>,
}

impl Done {
    /// Of a result.
    pub fn of<T: 'static, E: std::fmt::Display>(read: Result<T, E>) -> Self {
        match read {
            Ok(read) => Self {
                _read: Box::new(read),
                messages: Vec::new(),
            },
            Err(error) => Self {
                _read: Box::new(()),
                messages: vec![error.to_string()],
            },
        }
    }
}

/// What reads bytes.
pub type Read = Box<dyn Fn(&[u8]) -> Done>;

/// A reader, and good texts of its kind.
pub struct Reader {
    pub name: String,
    /// The size that it states as its limit.
    pub limit: Option<usize>,
    /// How many times its input it may need, and how many bytes besides.
    pub times: usize,
    pub constant: usize,
    pub samples: Vec<String>,
    pub read: Read,
}

impl Reader {
    /// Of a function of text. Bytes that are no text cannot come so far.
    pub fn of_text(
        name: impl Into<String>,
        samples: &[&str],
        read: impl Fn(&str) -> Done + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            limit: None,
            times: TIMES,
            constant: CONSTANT,
            samples: samples.iter().map(|&sample| sample.to_owned()).collect(),
            read: Box::new(move |bytes| read(std::str::from_utf8(bytes).expect("texts are made"))),
        }
    }
}

impl Reader {
    /// The reader refuses texts of more bytes before it parses them. Up to there it may need as much as `TIMES_LIMITED` says.
    pub fn limited(mut self, bytes: usize) -> Self {
        self.limit = Some(bytes);
        self.times = TIMES_LIMITED;
        self
    }

    /// The reader states how many jobs, metrics or numbers it reads at most, each of which needs more than its row has, and
    /// how many edges the patterns of jobs may have: four million, 128 MiB.
    pub fn counted(mut self) -> Self {
        self.times = TIMES_COUNTED;
        self.constant = 128 << 20;
        self
    }
}

struct Nothing;

impl Files for Nothing {
    fn bytes(&self, file: &str, _: mapa_front::FileKind) -> Result<Vec<u8>, Error> {
        Err(Error::at(file, "no files here"))
    }

    fn exists(&self, _: &str) -> bool {
        false
    }

    fn is_folder(&self, _: &str) -> bool {
        false
    }

    fn machine(&self, folder: &str) -> Result<Dump, Error> {
        Err(Error::at(folder, "no files here"))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
}

pub fn file(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Good texts of a folder of the corpus: the longest.
fn corpus(folder: &str, most: usize) -> Vec<String> {
    let folder = root().join("topologies/tests/corpus").join(folder);
    let files = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let mut texts: Vec<String> = files
        .filter(|path| {
            path.extension()
                .is_none_or(|extension| extension != "expected")
        })
        .filter(|path| {
            !fs::read_to_string(path.with_extension("expected"))
                .unwrap_or_default()
                .starts_with("error")
        })
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    texts.truncate(most);
    texts
}

fn machines() -> Vec<Reader> {
    let mut readers: Vec<Reader> = Kind::all()
        .map(|kind| {
            let folder = format!("{kind:?}")
                .chars()
                .fold(String::new(), |mut folder, char| {
                    if char.is_ascii_uppercase() && !folder.is_empty() {
                        folder.push('_');
                    }
                    folder.push(char.to_ascii_lowercase());
                    folder
                });
            let mut reader =
                Reader::of_text(kind.name(), &[], move |text| Done::of(kind.read(text)));
            reader.samples = corpus(&folder, 2);
            match kind {
                Kind::MachineFile => reader.limited(mapa_core::MAX_TOML_BYTES),
                Kind::AmdSmiTopology
                | Kind::AmdSmiXgmi
                | Kind::NvidiaSmiP2p
                | Kind::NvidiaSmiTopo
                | Kind::RocmSmi
                | Kind::SlurmGres => reader.limited(mapa_topologies::MAX_TABLE_BYTES),
                // At most 100,000 elements and 500,000 attributes, for which the parser reserves room.
                Kind::Hwloc | Kind::NcclGraph | Kind::NcclTopology => Reader {
                    constant: 32 << 20,
                    ..reader
                },
                _ => reader,
            }
        })
        .collect();
    // Two kinds, one in a text with others: each kind by itself is above.
    let all = [corpus("recognise", 1), corpus("merge", 1)].concat();
    let mut any = Reader::of_text("any machine", &[], |text| {
        Done::of(mapa_topologies::read(text.as_bytes()))
    });
    // The limit is that of each kind.
    (any.samples, any.times, any.constant) = (all, TIMES_LIMITED, 32 << 20);
    let mut graph = Reader::of_text("graph", &[], |text| {
        Done::of(mapa_topologies::read_graph(text.as_bytes()))
    });
    graph.samples = corpus("graph_file", 3);
    graph.samples.push("4\n2 1 2\n1 0\n1 0\n0\n".to_owned());
    readers.extend([any, graph]);
    readers
}

fn tables() -> Vec<Reader> {
    use mapa_table::{Comments, Sheet};
    let rows = "a,b,c\n1,2,3\n4,5,6\n";
    vec![
        Reader::of_text("commas", &[rows], |text| {
            Done::of(
                Sheet::read(text, Comments::Anywhere, "a table")
                    .and_then(|sheet| sheet.check(&[], &["a", "b", "c"])),
            )
        }),
        Reader::of_text("tabs", &[&rows.replace(',', "\t")], |text| {
            Done::of(
                Sheet::read_tabs(text, Comments::Anywhere, "a table")
                    .and_then(|sheet| sheet.check(&[], &["a", "b", "c"])),
            )
        }),
        Reader::of_text("bars", &[&rows.replace(',', "|")], |text| {
            Done::of(Sheet::read_bars(text, "a table").and_then(|sheet| sheet.check(&[], &[])))
        }),
    ]
}

const NCCL_LOG: &str = "\
node1:100:110 [0] NCCL INFO ncclCommInitRank comm 0xa0 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x5 - Init START
node1:100:110 [0] NCCL INFO Channel 00/02 :    0   1   2   3
node1:100:110 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1
node1:100:110 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
node1:100:110 [0] NCCL INFO ncclCommInitRank comm 0xa0 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x5 - Init COMPLETE
node1:100:100 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 256 datatype 7 op 0 root 0 comm 0xa0 [nranks=4] stream 0x2
";

fn patterns() -> Vec<Reader> {
    use mapa_patterns::{PcieSamples, Reading, read_nccl, read_pattern, write_pattern};
    let log = file("mapa-patterns/tests/logs/tp2-dp2.log");
    let log: String = log.split_inclusive('\n').take(200).collect();
    let job = read_nccl(&[("a", &log)]).expect("a log");
    let pattern = write_pattern(
        &job.application(mapa_patterns::Algorithm::Both)
            .expect("a pattern"),
    );
    let fields = "# gpu   rxpci   txpci\n# Idx    MB/s    MB/s\n    0      12      30\n    1      12      30\n";
    vec![
        Reader::of_text("pattern file", &[&pattern], |text| {
            Done::of(read_pattern(text))
        })
        .limited(mapa_core::MAX_TOML_BYTES),
        Reader::of_text("NCCL log of a job", &[&log, NCCL_LOG], |text| {
            Done::of(read_nccl(&[("a", text)]))
        }),
        Reader::of_text(
            "NVLink counters",
            &[&file("mapa-patterns/tests/readings/fig-9b.txt")],
            |text| Done::of(Reading::read(text)),
        ),
        Reader::of_text("PCIe counters", &[fields], |text| {
            Done::of(PcieSamples::read(text, 1.0))
        }),
    ]
}

const NCCL_TESTS: &str = "\
# Using devices
#  Rank  0 Group  0 Pid   4711 on      node1 device  0 [0000:07:00] NVIDIA H100
#  Rank  1 Group  0 Pid   4711 on      node1 device  3 [0000:8b:00] NVIDIA H100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        1024           256     float     sum      -1    10.00    0.10    0.10      0    10.00    0.10    0.10      0
";

fn measurements() -> Vec<Reader> {
    use mapa_regress::{
        read_copies, read_efficiency, read_measured, read_measurements, read_model, read_runs,
    };
    let model = mapa_regress::write_model(&mapa_core::LinkModel::paper());
    let measured = file("mapa-regress/data/measured.tsv");
    let measured: String = measured.split_inclusive('\n').take(12).collect();
    vec![
        Reader::of_text("model", &[&model], |text| Done::of(read_model(text)))
            .limited(mapa_core::MAX_TOML_BYTES),
        Reader::of_text(
            "efficiency",
            &[&file("mapa-regress/data/efficiency.toml")],
            |text| Done::of(read_efficiency(text)),
        )
        .limited(mapa_core::MAX_TOML_BYTES),
        Reader::of_text("measured rows", &[&measured], |text| {
            Done::of(read_measured(text))
        }),
        Reader::of_text(
            "measurements",
            &[
                "devices,gbps,op,bytes,label\n0 1,12.5,all_reduce,1024,a\n",
                NCCL_TESTS,
                "[{\"name\":\"AllReduce\",\"size\":\"1024\",\"algBw\":\"1\"}]\n",
            ],
            |text| Done::of(read_measurements(text)),
        ),
        Reader::of_text(
            "copies",
            &[
                "P2P Connectivity Matrix\n     D\\D     0     1\n     0       1     1\nBidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 700.00  50.00 \n     1  50.00 700.00 \n",
            ],
            |text| Done::of(read_copies(text)),
        ),
        Reader::of_text("runs", &["job,tasks,duration_s\n0,1,2\n"], |text| {
            Done::of(read_runs(text))
        }),
    ]
}

fn workloads() -> Vec<Reader> {
    use mapa_sim::{
        Generator, Selection, TraceKind, read_jobs, read_profiles, read_run_times, read_trace,
        write_jobs, write_profiles,
    };
    let generator: Generator = "mapa".parse().expect("a generator");
    let jobs = write_jobs(&generator.generate(1).expect("jobs")).expect("a file");
    let jobs: String = jobs.split_inclusive('\n').take(12).collect();
    let profiles = write_profiles(&mapa_sim::Profile::tang()).expect("a file");
    let mut readers = vec![
        Reader::of_text(
            "jobs",
            &[&jobs, "gpus,duration_s,tasks\n1,,2x3/4\n"],
            |text| Done::of(read_jobs(text)),
        )
        .counted(),
        Reader::of_text("profiles", &[&profiles], |text| {
            Done::of(read_profiles(text))
        })
        .limited(mapa_core::MAX_TOML_BYTES),
        Reader::of_text("run times", &["runtime_s\n1\n2\n"], |text| {
            Done::of(read_run_times(text))
        })
        .counted(),
        Reader::of_text("generator", &["mapa,jobs=10"], |text| {
            Done::of(text.parse::<Generator>())
        }),
        Reader::of_text("selection", &["jobs=10"], |text| {
            Done::of(text.parse::<Selection>())
        }),
        Reader::of_text("parallelism", &["tp=2,pp=2,dp=2"], |text| {
            Done::of(text.parse::<mapa_core::Parallelism>())
        }),
    ];
    for kind in TraceKind::ALL {
        let row = kind
            .header()
            .chars()
            .filter(|char| ",|".contains(*char))
            .fold("1".to_owned(), |row, bar| format!("{row}{bar}1"));
        readers.push(
            Reader::of_text(
                kind.to_string(),
                &[&format!("{}\n{row}\n{row}\n", kind.header())],
                move |text| Done::of(read_trace(kind, text)),
            )
            .counted(),
        );
    }
    readers
}

fn fronts() -> Vec<Reader> {
    use mapa_front::answer::node::NodeQuery;
    use mapa_front::commands::{Batch, PartedRequest, parted};
    let config = file("packaging/mapa-node.toml");
    let parted_file = "version: v1\nmig-configs:\n  all:\n    - devices: all\n      mig-enabled: true\n      mig-devices:\n        1g.5gb: 7\n";
    vec![
        Reader::of_text("node configuration", &[&config], |text| {
            Done::of(mapa_node::check_node_config(text))
        })
        .limited(mapa_core::MAX_TOML_BYTES),
        Reader::of_text("query", &["{\"query\":\"free\"}"], |text| {
            Done::of(serde_json::from_str::<NodeQuery>(text).map_err(shown))
        }),
        Reader::of_text("mig-parted", &[parted_file], |text| {
            let request = PartedRequest {
                gpu: Some("a100-40gb".to_owned()),
                ..PartedRequest::default()
            };
            Done::of(parted(text, None, &request))
        })
        .limited(1 << 20),
        Reader::of_text(
            "drive record",
            &["{\"head\":{\"machine\":\"dgx-1v\",\"scheduler\":\"fifo\"}}\n"],
            |text| {
                Done::of(mapa_front::drive_log::replay(
                    text.as_bytes(),
                    &Names::built_in(),
                    &Nothing,
                ))
            },
        ),
        Reader::of_text(
            "batch",
            &["{\"op\":\"allocate\",\"id\":1,\"gpus\":2,\"pattern\":\"ring\"}"],
            |text| {
                let loaded = MachineSpec::named("dgx-1v")
                    .load(&Nothing, &mut |_| {})
                    .expect("in the catalogue");
                let names = Names::built_in();
                let mut batch = Batch::new(&names, &Nothing, loaded);
                let answer = batch.answer(1, text.as_bytes());
                Done::of(Ok::<_, Error>(
                    serde_json::to_string(&answer).expect("an answer").len(),
                ))
            },
        ),
        Reader::of_text("task records", &["MAPA"], |text| {
            Done::of(mapa_node::read_task_records(text.as_bytes(), "boot"))
        }),
    ]
}

fn hardware() -> Vec<Reader> {
    use mapa_live::telemetry::{read_latencies, read_metrics};
    vec![
        Reader::of_text("fake state", &["{}"], |text| {
            Done::of(fake_nvml::State::read(text.as_bytes()))
        }),
        Reader::of_text(
            "metrics",
            &["# TYPE a gauge\na{gpu=\"0\",x=\"y\"} 1\n"],
            |text| Done::of(read_metrics(text)),
        )
        .counted(),
        Reader::of_text("latencies", &["tenant 12.5\n"], |text| {
            Done::of(Ok::<_, Error>(read_latencies(text.as_bytes())))
        }),
        Reader::of_text(
            "interrupts",
            &[
                "           CPU0       CPU1\n  0:         44          0   IO-APIC   2-edge      timer\n",
            ],
            |text| Done::of(mapa_live::Interrupts::read(text)),
        ),
        Reader::of_text("journal", &["{\"id\":1}"], |text| {
            Done::of(serde_json::from_str::<mapa_live::levers::JournalEntry>(text).map_err(shown))
        }),
    ]
}

fn snapshots() -> Vec<Reader> {
    vec![
        Reader::of_text("snapshot", &["{\"machine\":1,\"leases\":[]}"], |text| {
            Done::of(serde_json::from_str::<mapa_core::Snapshot>(text).map_err(shown))
        }),
        Reader::of_text("fleet", &["{\"machines\":[]}"], |text| {
            Done::of(serde_json::from_str::<mapa_sched::FleetSnapshot>(text).map_err(shown))
        }),
    ]
}

fn readers() -> Vec<Reader> {
    let mut all = [
        machines(),
        tables(),
        patterns(),
        measurements(),
        workloads(),
        fronts(),
        hardware(),
        snapshots(),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>();
    #[cfg(feature = "case")]
    all.extend(case::readers());
    #[cfg(feature = "energy")]
    all.extend(energy::readers());
    #[cfg(feature = "slo")]
    all.extend(slo::readers());
    all
}

/// Reads a text. Returns the bytes that were needed at most, and the messages.
fn measured(reader: &Reader, text: &str) -> (usize, Vec<String>) {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let done = (reader.read)(text.as_bytes());
    (HEAP.peak_usage().saturating_sub(before), done.messages)
}

/// Whether a terminal would do something else than show the character.
fn is_hidden(char: char) -> bool {
    let is_space = matches!(char, '\n' | '\t');
    char.is_control() && !is_space
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The beginning and the middle of a text, for a message.
fn sketch(text: &str) -> String {
    let middle: String = text
        .chars()
        .skip(text.chars().count() / 2)
        .take(40)
        .collect();
    let start: String = text.chars().take(40).collect();
    format!("{start:?} .. {middle:?}")
}

/// What is wrong with a reader's answer to a text.
fn wrong_with(reader: &Reader, text: &str) -> Option<String> {
    let begun = Instant::now();
    let (peak, messages) = measured(reader, text);
    let took = begun.elapsed();
    let most = reader.times * text.len() + reader.constant;
    if peak > most {
        return Some(format!(
            "{peak} bytes: expected at most {most}, {} times {} and {}",
            reader.times,
            text.len(),
            reader.constant
        ));
    }
    if took > SLOWEST {
        return Some(format!("{took:?}: expected at most {SLOWEST:?}"));
    }
    let told = messages
        .iter()
        .find(|message| message.len() > LONGEST_MESSAGE || message.contains(is_hidden));
    told.map(|message| format!("a message of {} bytes: {}", message.len(), sketch(message)))
}

/// Whether a reader that states a limit refuses a longer text before it parses it.
fn refuses(reader: &Reader, limit: usize) -> bool {
    let (peak, messages) = measured(reader, &"\n".repeat(limit + 1));
    let expected = format!("expected at most {limit}");
    peak <= 2 * limit && messages.iter().any(|message| message.contains(&expected))
}

#[test]
fn every_reader_needs_at_most_ten_times_its_input_and_quotes_little_of_it() {
    let mut wrong = Vec::new();
    for reader in readers() {
        if std::env::var("MAPA_READER").is_ok_and(|only| !reader.name.contains(&only)) {
            continue;
        }
        for sample in &reader.samples {
            // What is made once, such as the catalogue, is made here.
            measured(&reader, sample);
        }
        if reader.limit.is_some_and(|limit| !refuses(&reader, limit)) {
            wrong.push(format!(
                "{}: a text beyond its limit is not refused",
                reader.name
            ));
        }
        let own = reader
            .samples
            .iter()
            .flat_map(|sample| shapes::of_sample(sample));
        let found = shapes::plain().chain(own).find_map(|text| {
            wrong_with(&reader, &text)
                .map(|what| format!("{}: {}: {what}", reader.name, sketch(&text)))
        });
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
