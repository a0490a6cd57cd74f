//! Extreme values of application graphs and what they are made from.

use std::sync::LazyLock;

use mapa_core::{Pattern, Shape};
use mapa_patterns::*;
use mapa_topologies::{Dump, read};

use crate::shared::{Extreme, values};

values!(Algorithm: Algorithm::ALL);
values!(Application: Pattern::values().into_iter().map(|pattern| Application::new("\u{202e}", "", pattern)).chain([labelled()]));
values!(CaffeModel: [(0, 0), (1, 1), (u32::MAX, u64::MAX)].map(|(layers, parameters)| CaffeModel { layers, parameters }));
values!(Counters<'static>: READINGS.iter().map(Counters::new));
values!(Reading: READINGS.clone());
values!(Dump: ["GPU0 GPU1\nGPU0 X NV2\nGPU1 NV2 X\n", "GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-0)\n", include_str!("../readings/fig-9b.txt")].into_iter().filter_map(|text| read(text.as_bytes()).ok()));
values!(Error: ["", "x", "[[", "ranks = 0"].into_iter().filter_map(|text| read_pattern(text).err()));
values!(Evidence: evidence());
values!(LinkRates: [(1.0, 1.0), (f64::MIN_POSITIVE, f64::MAX)].into_iter().filter_map(|(slow, fast)| LinkRates::new(slow, fast).ok()));
values!(Finding: Source::values().into_iter().flat_map(|source| source.findings().to_vec()));
values!(Messages: [(0.0, 0.0), (1e9, 1.0), (f64::MAX, f64::MAX)].into_iter().map(|(bytes, calls)| { let mut messages = Messages::new(); let _ = messages.add(bytes, calls); messages }));
values!(NcclJob: LOGS.iter().filter_map(|text| read_nccl(&[("log", text)]).ok()).chain([NcclJob::default()]));
values!(Note: [Note::assumed(""), Note::undecided("\0").at("\u{202e}"), Note::left_out("x".repeat(10_000))]);
values!(Ring: NcclJob::values().into_iter().flat_map(|job| job.communicators).flat_map(|one| one.rings));
values!(Source: [Source::scan([]), Source::scan(PROGRAMS), Source::scan([("a.c", "ncclAllReduce(")])]);
values!(Times: [(1.0, 1.0), (f64::MIN_POSITIVE, 1.0), (1.0, f64::MIN_POSITIVE), (f64::MAX, f64::MAX)].into_iter().filter_map(|(fast, slow)| Times::new([fast; 3], [slow; 3]).ok()));
values!(TrafficMatrix: [0, 1, 3].into_iter().filter_map(|ranks| { let mut matrix = TrafficMatrix::new(ranks).ok()?; if ranks > 1 { matrix.add(0, 1, f64::MAX); } Some(matrix) }));
values!(Unit: Unit::ALL);
values!(Workload: PUBLISHED.iter().copied().take(4));

const LOGS: [&str; 2] = [
    include_str!("../logs/rank0-of-16.log"),
    include_str!("../logs/tp2-dp2.log"),
];

const PROGRAMS: [(&str, &str); 3] = [
    ("ddp.py", include_str!("../programs/ddp.py")),
    ("jacobi.c", include_str!("../programs/jacobi.c")),
    ("shift.cu", include_str!("../programs/shift.cu")),
];

static READINGS: LazyLock<Vec<Reading>> = LazyLock::new(|| {
    Reading::read(include_str!("../readings/fig-9b.txt"))
        .into_iter()
        .collect()
});

fn labelled() -> Application {
    let mut application = Application::new("", "x".repeat(10_000), Shape::ALL[0].pattern(3));
    application.labels = vec!["\0".to_owned()];
    application.unit = Unit::BytesPerStep;
    application
}

fn evidence() -> Vec<Evidence> {
    let of = |seconds| Evidence {
        times: Times::values().pop(),
        messages: Messages::values().pop(),
        iteration_seconds: seconds,
        links: LinkRates::values().remove(0),
    };
    vec![
        of(None),
        of(Some(0.0)),
        of(Some(f64::NAN)),
        of(Some(f64::MIN_POSITIVE)),
    ]
}
