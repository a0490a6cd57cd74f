//! What benchmarks print, in every form: read as it says, or refused with the line.

use mapa_regress::{
    AlphaConfig, AtSize, Column, Devices, Measurement, PciPlace, fit_alpha, read_measurements,
    read_runs,
};

/// One run as nccl-tests 2.18 print it.
const NEW: &str = "\
# nccl-tests version 2.18.0 nccl-headers=22907 nccl-library=22907
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 3 minBytes 33554432 maxBytes 67108864 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on      node1 device  0 [0000:07:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   4711 on      node1 device  3 [0000:8b:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid   4711 on      node1 device  4 [0009:01:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
    33554432       8388608     float     sum      -1   1000.0   33.55   44.74       0    990.0   33.89   45.19       0
    67108864      16777216     float     sum      -1     2000   33.55   46.50       0   2010.0   33.39   44.52     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 45.2375
#
# Collective test concluded: all_reduce_perf
#
";

fn one(text: &str) -> Measurement {
    let mut runs = read_measurements(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"));
    assert_eq!(runs.len(), 1, "{text}");
    runs.remove(0)
}

fn refused(text: &str) -> String {
    read_measurements(text).expect_err(text).to_string()
}

fn figures(run: &Measurement) -> Vec<(Option<u64>, Option<f64>, Option<f64>)> {
    run.sizes
        .iter()
        .map(
            |AtSize {
                 bytes,
                 out_of_place,
                 in_place,
             }| (*bytes, *out_of_place, *in_place),
        )
        .collect()
}

#[test]
fn a_run_of_today_is_read_whole() {
    let run = one(NEW);
    assert_eq!(
        (run.op.as_deref(), run.line, run.label.as_str()),
        (Some("all_reduce"), Some(6), "line 6")
    );
    let sizes = [
        (Some(33_554_432), Some(44.74), Some(45.19)),
        (Some(67_108_864), Some(46.5), Some(44.52)),
    ];
    assert_eq!(figures(&run), sizes);
    let peaks =
        [Column::OutOfPlace, Column::InPlace, Column::Best].map(|column| run.peak_gbps(column));
    assert_eq!(peaks, [Some(46.5), Some(45.19), Some(46.5)]);
    let Devices::Ranks {
        ranks,
        visible: None,
    } = &run.devices
    else {
        panic!("{:?}", run.devices)
    };
    let places: Vec<_> = ranks
        .iter()
        .map(|rank| (rank.number, rank.pci.unwrap()))
        .collect();
    let place = |domain, bus| PciPlace {
        domain: Some(domain),
        bus,
        device: Some(0),
    };
    assert_eq!(
        places,
        [(0, place(0, 7)), (3, place(0, 0x8b)), (4, place(9, 1))]
    );
    assert_eq!(ranks[0].host.as_deref(), Some("node1"));
}

#[test]
fn headers_of_every_version_and_collective_are_read() {
    let devices = "# Using devices\n#   Rank  0 Pid  12978 on    node1 device  0 [0x45] Tesla\n#   Rank  1 Pid  12978 on    node1 device  1 [0xc4] Tesla\n#\n";
    let end = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.4 \n#\n";
    let shapes = [
        // All-reduce, reduce-scatter of 2.0 to 2.10.
        (
            "size count type redop time algbw busbw error time algbw busbw error",
            "1024 256 float sum 25.34 9.3 12.5 2e-07 25.23 9.2 12.25 0e+00",
        ),
        // Reduce of that time, and everything since.
        (
            "size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
            "1024 256 half sum 0 25.34 9.3 12.5 0 25.23 9.2 12.25 N/A",
        ),
        // Broadcast.
        (
            "size count type root time algbw busbw error time algbw busbw error",
            "1024 256 int8 0 25.34 9.3 12.5 N/A 25.23 9.2 12.25 N/A",
        ),
        // All-gather, all-to-all, send and receive.
        (
            "size count type time algbw busbw error time algbw busbw error",
            "1024 256 bfloat16 25.34 9.3 12.5 0e+00 25.23 9.2 12.25 0e+00",
        ),
        // Before 2.0.
        (
            "bytes N type op time algbw busbw res time algbw busbw res",
            "1024 1024 char sum 1.628 9.3 12.5 0e+00 1.932 9.2 12.25 0e+00",
        ),
        (
            "bytes N type op root time algbw busbw res time algbw busbw res",
            "1024 1024 char sum 1 1.628 9.3 12.5 0e+00 1.932 9.2 12.25 0e+00",
        ),
        // Time of the CPU; the algorithm behind (rccl-tests -M 1); the time of day (nccl-tests -S 1);
        // single iterations.
        (
            "size count type redop root cputime algbw busbw #wrong cputime algbw busbw #wrong algo proto nchannels",
            "1024 256 float sum -1 25.34 9.3 12.5 0 25.23 9.2 12.25 0 Ring Simple 24",
        ),
        (
            "size count type redop root time algbw busbw #wrong time algbw busbw #wrong timestamp",
            "1024 256 f8e4m3 none -1 25.34 9.3 12.5 0 25.23 9.2 12.25 0 2026-01-02 03:04:05",
        ),
        (
            "size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv%",
            "1024 256 uint64 prod -1 25 9.3 12.5 0 1 2 3 4 25 9.2 12.25 0 1 2 3 4",
        ),
    ];
    for (header, row) in shapes {
        let run = one(&format!(
            "{devices}#  out-of-place  in-place\n#  {header}\n#  (B)  (us)  (GB/s)\n   {row}\n{end}"
        ));
        assert_eq!(
            figures(&run),
            [(Some(1024), Some(12.5), Some(12.25))],
            "{header}"
        );
    }
}

#[test]
fn one_way_alone_is_read_as_that_way() {
    let text = |way| {
        let header = "# size count type redop root time algbw busbw #wrong\n#  (B) (elements) (us) (GB/s) (GB/s)";
        format!(
            "#   {way}\n{header}\n 1024 256 float sum -1 25.34 9.3 12.5 0\n# Avg bus bandwidth : 12.5\n"
        )
    };
    assert_eq!(
        figures(&one(&text("in-place"))),
        [(Some(1024), None, Some(12.5))]
    );
    assert_eq!(
        figures(&one(&text("out-of-place"))),
        [(Some(1024), Some(12.5), None)]
    );
    assert_eq!(figures(&one(&text(""))), [(Some(1024), Some(12.5), None)]);
}

#[test]
fn devices_are_named_in_every_form() {
    let table = "# size count type time algbw busbw error\n 1024 256 float 25.34 9.3 12.5 0\n# Avg bus bandwidth : 12.5\n";
    let forms = [
        "#   Rank  0 Pid  21284 on node1 device  5 [0000:2f:00.0] AMD Instinct MI100",
        "#   Rank  0 on       node1 device  5 [0x2f] GeForce RTX 2080 Ti",
        "Rank  0 uses device  5 [0x2f] NVIDIA GeForce RTX 5060 Ti",
        "#   Device  0 ->  5 [0x2f] GeForce GTX TITAN X",
        "[1,0]<stdout>:#  Rank  0 Group  0 Pid     21 on worker-0 device  5 [0x2f] Tesla V100",
    ];
    for form in forms {
        let run = one(&format!("# Using devices\n{form}\n#\n{table}"));
        let Devices::Ranks { ranks, .. } = &run.devices else {
            panic!("{form}: {:?}", run.devices)
        };
        assert_eq!(
            (ranks.len(), ranks[0].number, ranks[0].pci.unwrap().bus),
            (1, 5, 0x2f),
            "{form}"
        );
    }
    assert_eq!(one(table).devices, Devices::Unknown);
}

#[test]
fn what_a_program_could_see_is_kept_for_its_run() {
    let run = |command: &str| {
        format!(
            "{command}\n# Using devices\n#  Rank  0 Group  0 Pid 1 on n device  0 [0x07] X\n# size count type time algbw busbw error\n 1024 256 float 25.34 9.3 12.5 0\n# Avg bus bandwidth : 12.5\n"
        )
    };
    let seen = |text: &str| {
        let runs = read_measurements(text).unwrap();
        let visible = runs.into_iter().map(|run| match run.devices {
            Devices::Ranks { visible, .. } => visible,
            other => panic!("{other:?}"),
        });
        visible
            .map(|list| list.map(|names| names.join(" ")))
            .collect::<Vec<_>>()
    };
    let for_one = "$ CUDA_VISIBLE_DEVICES=0,3 NCCL_DEBUG=INFO ./build/all_gather_perf -g 1";
    let exported = "export HIP_VISIBLE_DEVICES=\"5,6\"\n./build/all_gather_perf -g 1";
    let text = [
        run(for_one),
        run("./all_reduce_perf"),
        run(exported),
        run("./all_reduce_perf"),
    ]
    .concat();
    let some = |names: &str| Some(names.to_owned());
    assert_eq!(seen(&text), [some("0 3"), None, some("5 6"), some("5 6")]);
    assert_eq!(one(&run(for_one)).op.as_deref(), Some("all_gather"));
    // Without a list of devices it is what is known.
    let bare = "CUDA_VISIBLE_DEVICES=0,1,6,7 ./build/all_reduce_perf -b 1G -e 10G -f 2 -g 3\n# size count type time algbw busbw error\n 1024 256 float 25.34 9.3 12.5 0\n# Avg bus bandwidth : 12.5\n";
    assert_eq!(
        one(bare).devices,
        Devices::Named(["0", "1", "6"].map(str::to_owned).to_vec())
    );
}

#[test]
fn prefixes_and_log_lines_change_nothing() {
    let plain = one(NEW);
    let prefixed = |prefix: &str| {
        NEW.lines()
            .map(|line| format!("{prefix}{line}\r\n"))
            .collect::<String>()
    };
    for prefix in [
        "[1,0]<stdout>:",
        "[1,0]<stdout>: ",
        "0: ",
        "    ",
        "2026-01-02T03:04:05Z worker-0 | ",
    ] {
        let run = one(&prefixed(prefix));
        assert_eq!(run, plain, "{prefix}");
    }
    let log = "node1:528157:528269 [1] NCCL INFO 24 coll channels, 24 collnet channels, 0 nvls channels\nnode1:1:2 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 - Init COMPLETE\nNCCL version 2.20.5+cuda12.4\n\n";
    let logged: String = NEW.lines().map(|line| format!("{log}{line}\n")).collect();
    let run = one(&logged);
    assert_eq!(
        (figures(&run), run.devices),
        (figures(&plain), plain.devices)
    );
}

#[test]
fn a_log_without_the_programs_name_tells_the_collective_by_its_columns() {
    let nameless = NEW.replace("# Collective test starting: all_reduce_perf\n", "");
    let nameless = nameless.replace("# Collective test concluded: all_reduce_perf\n", "");
    assert_eq!(one(&nameless).op.as_deref(), Some("all_reduce"));
    let root = |text: &str| text.replace("      -1 ", "       0 ");
    let none = |text: &str| text.replace("  sum ", " none ");
    // The size of the whole beside the count of one of three parts.
    let parts = |text: &str| {
        text.replace(" 8388608 ", " 2796200 ")
            .replace(" 16777216 ", " 5592404 ")
    };
    let op = |text: String| one(&text).op.unwrap();
    assert_eq!(op(root(&nameless)), "reduce");
    assert_eq!(op(none(&root(&nameless))), "broadcast");
    assert_eq!(op(none(&nameless)), "sendrecv");
    assert_eq!(op(parts(&nameless)), "reduce_scatter");
    assert_eq!(op(parts(&none(&nameless))), "all_gather or alltoall");
    assert_eq!(op(parts(&none(&root(&nameless)))), "gather or scatter");
    // What is said counts for more.
    assert_eq!(op(none(NEW)), "all_reduce");
}

#[test]
fn several_runs_in_a_file_are_several_measurements() {
    let runs = read_measurements(&format!(
        "{NEW}{}",
        NEW.replace("all_reduce", "sendrecv")
            .replace("46.50", "20.50")
    ))
    .unwrap();
    let said: Vec<_> = runs
        .iter()
        .map(|run| {
            (
                run.op.as_deref().unwrap(),
                run.peak_gbps(Column::OutOfPlace).unwrap(),
            )
        })
        .collect();
    assert_eq!(said, [("all_reduce", 46.5), ("sendrecv", 44.74)]);
    assert_eq!((runs[0].line, runs[1].line), (Some(6), Some(25)));
}

#[test]
fn every_text_that_is_cut_off_is_refused() {
    let lines: Vec<&str> = NEW.lines().collect();
    // From the first line that begins a run to the last before its end.
    let said: Vec<String> = (3..14)
        .map(|upto| format!("{upto}: {}", refused(&(lines[..upto].join("\n") + "\n"))))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    3: line 3: the run that begins here has no table: expected one; is the text cut off?
    4: line 3: the run that begins here has no table: expected one; is the text cut off?
    5: line 3: the run that begins here has no table: expected one; is the text cut off?
    6: line 6: the run that begins here has no table: expected one; is the text cut off?
    7: line 6: the run that begins here has no table: expected one; is the text cut off?
    8: line 6: the run that begins here has no table: expected one; is the text cut off?
    9: line 6: the run that begins here has no table: expected one; is the text cut off?
    10: line 6: the run that begins here has no table: expected one; is the text cut off?
    11: line 11: the table that begins here has no end: expected `# Out of bounds values` or `# Avg bus bandwidth`; is the text cut off?
    12: line 11: the table that begins here has no end: expected `# Out of bounds values` or `# Avg bus bandwidth`; is the text cut off?
    13: line 11: the table that begins here has no end: expected `# Out of bounds values` or `# Avg bus bandwidth`; is the text cut off?
    ");
    for upto in 14..lines.len() {
        one(&(lines[..upto + 1].join("\n") + "\n"));
    }
    insta::assert_snapshot!(refused(&NEW.replace("   44.52     N/A\n", "\n")), @"
    line 14: a row of 11 columns: expected 13, as in the header on line 11; is the row cut \
             off?
    ");
    insta::assert_snapshot!(
        refused(&NEW.replace(
            "8388608     float     sum      -1   1000.0   33.55   44.74       0    990.0   33.89   45.19       0",
            "8388",
        )),
        @"line 13: a row of 2 columns: expected 13, as in the header on line 11; is the row cut off?"
    );
    insta::assert_snapshot!(
        refused(&NEW.replace("device  4 [0009:01:00] NVIDIA H100 80GB HBM3", "")),
        @"line 8: a rank without its device: expected `Rank N .. on HOST device N [PCI] NAME`; is the line cut off?"
    );
    insta::assert_snapshot!(
        refused(&format!("{}{NEW}", lines[..13].join("\n") + "\n")),
        @"line 11: the table that begins here has no end: expected `# Out of bounds values` or `# Avg bus bandwidth`; is the text cut off?"
    );
    insta::assert_snapshot!(
        refused(&format!("{}{NEW}", lines[..7].join("\n") + "\n")),
        @"line 6: the run that begins here has no table: expected one; is the text cut off?"
    );
    insta::assert_snapshot!(
        refused(&NEW.replace(lines[6], "#")),
        @"line 8: rank 1 is missing before rank 2"
    );
    insta::assert_snapshot!(
        refused(&NEW.replace("float", "complex")),
        @"line 11: no known rows follow the header: expected size, count, type, .."
    );
}

#[test]
fn what_is_no_bandwidth_is_refused_with_its_line() {
    let said =
        ["nan", "-nan", "inf", "-1.00", "12,5", "x"].map(|bad| refused(&NEW.replace("46.50", bad)));
    insta::assert_snapshot!(said.join("\n"), @"
    line 14: bus bandwidth `nan`: expected a number of GB/s, not negative
    line 14: bus bandwidth `-nan`: expected a number of GB/s, not negative
    line 14: bus bandwidth `inf`: expected a number of GB/s, not negative
    line 14: bus bandwidth `-1.00`: expected a number of GB/s, not negative
    line 14: bus bandwidth `12,5`: expected a number of GB/s, not negative
    line 14: bus bandwidth `x`: expected a number of GB/s, not negative
    ");
    assert_eq!(figures(&one(&NEW.replace("46.50", "N/A")))[1].1, None);
    insta::assert_snapshot!(
        refused(&NEW.replace("values : 0 OK", "values : 3 FAILED")),
        @"line 15: 3 values were out of bounds: expected 0, as the collective had wrong results"
    );
    insta::assert_snapshot!(
        refused(&NEW.replace("(GB/s)", "(GiB/s)")),
        @"line 12: bandwidths in (GiB/s): expected (GB/s) or (MB/s)"
    );
    assert_eq!(
        figures(&one(&NEW.replace("(GB/s)", "(MB/s)")))[1].1,
        Some(0.0465)
    );
}

#[test]
fn runs_of_several_programs_or_groups_are_refused() {
    insta::assert_snapshot!(
        refused(&NEW.replace("Rank  1 ", "Rank  0 ")),
        @"line 7: rank 0 is named twice: expected the output of one program; was a build without MPI run under mpirun?"
    );
    insta::assert_snapshot!(
        refused(&NEW.replace("Rank  1 Group  0", "Rank  1 Group  1")),
        @"line 7: ranks in several groups, which ran side by side: expected one group (no NCCL_TESTS_SPLIT)"
    );
    insta::assert_snapshot!(
        refused(&NEW.replace("[0000:07:00]", "[seven]")),
        @"line 6: `[seven]`: expected a place on PCI such as [0000:07:00] or [0x07]"
    );
    insta::assert_snapshot!(
        refused(""),
        @"no measurements: expected the output of nccl-tests or rccl-tests, their JSON or CSV, or a CSV with the columns devices and gbps"
    );
    insta::assert_snapshot!(
        refused("hello\nworld\n"),
        @"no measurements: expected the output of nccl-tests or rccl-tests, their JSON or CSV, or a CSV with the columns devices and gbps"
    );
}

const JSON: &str = r#"{"version":2,"start_time":"2026-01-02 03:04:05","args":["./build/all_reduce_perf","-g","2","-J","out.json"],
"env":["HOME=/root","CUDA_VISIBLE_DEVICES=0,3"],"nccl_version":22907,
"config":{"nthreads":1,"ngpus":2,"minimum_bytes":1024,"maximum_bytes":2048,"devices":[
{"rank":0,"group":0,"pid":4711,"hostname":"node1","device":0,"device_hex":"0000:07:00","device_info":"NVIDIA H100"}]},
"results":[{"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",
"out_of_place":{"time":25.0,"alg_bw":9.3,"bus_bw":12.5,"nwrong":0.0},"in_place":{"time":25.0,"alg_bw":9.3,"bus_bw":12.25,"nwrong":null}}],
"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":12.4,"okay":"unchecked"},"end_time":"2026-01-02 03:04:06"}"#;

#[test]
fn the_json_of_nccl_tests_is_read() {
    let run = one(JSON);
    assert_eq!(
        (run.op.as_deref(), figures(&run)),
        (
            Some("all_reduce"),
            vec![(Some(1024), Some(12.5), Some(12.25))]
        )
    );
    let Devices::Ranks { ranks, visible } = &run.devices else {
        panic!("{:?}", run.devices)
    };
    let numbers: Vec<_> = ranks
        .iter()
        .map(|rank| (rank.number, rank.pci.is_some()))
        .collect();
    assert_eq!(
        numbers,
        [(0, true), (1, false)],
        "only the first device of a process is written"
    );
    assert_eq!(
        visible.as_deref(),
        Some(&["0".to_owned(), "3".to_owned()][..])
    );
    insta::assert_snapshot!(
        refused(&JSON[..JSON.len() - 200]),
        @"line 6: EOF while parsing a string at line 6 column 76: cut off?"
    );
    insta::assert_snapshot!(
        refused(&JSON.replace("average_bus_bandwidth", "x")),
        @"average_bus_bandwidth: missing: expected it at the end of the run; did the run end?"
    );
    insta::assert_snapshot!(
        refused(&JSON.replace("12.5", "\"nan\"")),
        @r#"results[0].out_of_place.bus_bw: "nan": expected a number of GB/s, not negative"#
    );
    insta::assert_snapshot!(
        refused(&JSON.replace("12.5", "-3")),
        @"results[0].out_of_place.bus_bw: -3: expected a number of GB/s, not negative"
    );
    insta::assert_snapshot!(
        refused(&JSON.replace("\"count\":0,", "\"count\":7,")),
        @"out_of_bounds: 7 values were out of bounds: expected 0, as the collective had wrong results"
    );
    insta::assert_snapshot!(
        refused("{}"),
        @"results: expected a list of results: what nccl-tests write with -J"
    );
}

#[test]
fn the_files_of_rccl_tests_are_read() {
    let plain = "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n\
        0,AllReduce,4,1024,float,sum,0,25.3,9.3,12.5,0\n0,AllReduce,4,1024,float,sum,1,25.3,9.3,12.25,N/A\n";
    // Built with MPI, the header lacks the number of nodes.
    let mpi = "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong\n\
        0,AllReduce,1,4,4,1,1024,float,sum,0,25.3,9.3,12.5,0\n0,AllReduce,1,4,4,1,1024,float,sum,1,25.3,9.3,12.25,0\n";
    let json = r#"[
{"numCycle":0, "name":"AllReduce", "gpus":4, "size":1024, "type":"float", "redop":"sum", "inPlace":0, "time":25.3, "algBw":9.3, "busBw":12.5, "wrong":0},
{"numCycle":0, "name":"AllReduce", "gpus":4, "size":1024, "type":"float", "redop":"sum", "inPlace":1, "time":25.3, "algBw":9.3, "busBw":12.25, "wrong":0}
]"#;
    for text in [plain, mpi, json] {
        let run = one(text);
        assert_eq!(
            (run.op.as_deref(), &run.devices),
            (Some("all_reduce"), &Devices::First(4)),
            "{text}"
        );
        assert_eq!(
            figures(&run),
            [
                (Some(1024), Some(12.5), None),
                (Some(1024), None, Some(12.25))
            ]
        );
    }
    insta::assert_snapshot!(
        refused(&mpi.replace("AllReduce,1,4", "AllReduce,2,4")),
        @"line 2: ranks on 2 nodes: expected one machine"
    );
    insta::assert_snapshot!(
        refused(&plain.replace(",9.3,12.25,N/A", "")),
        @"line 3: 8 fields: expected 11, as many as the header has; is the row cut off?"
    );
    insta::assert_snapshot!(
        refused(&json.replace("12.25", "-1")),
        @"[1].busBw: -1: expected a number of GB/s, not negative"
    );
}

#[test]
fn tables_are_read_by_the_names_of_their_columns() {
    let text = "label,gbps,devices,op,bytes\n# a comment\nbest pair, 46.5 ,0;3,AllReduce,1024\n,5.57,first 5,,\n,7,GPU-abc 0000:07:00.0,,\n";
    let runs = read_measurements(text).unwrap();
    let said: Vec<_> = runs
        .iter()
        .map(|run| {
            (
                run.label.as_str(),
                run.devices.clone(),
                run.op.as_deref(),
                run.sizes[0],
            )
        })
        .collect();
    let named =
        |names: &[&str]| Devices::Named(names.iter().map(|name| (*name).to_owned()).collect());
    let at = |bytes, gbps| AtSize {
        bytes,
        out_of_place: Some(gbps),
        in_place: None,
    };
    assert_eq!(
        said[0],
        (
            "best pair",
            named(&["0", "3"]),
            Some("all_reduce"),
            at(Some(1024), 46.5)
        )
    );
    assert_eq!(said[1], ("line 4", Devices::First(5), None, at(None, 5.57)));
    assert_eq!(said[2].1, named(&["GPU-abc", "0000:07:00.0"]));
    let commas = read_measurements("devices,gbps\n\"0,3\",46\n\"0, 3,4\",47\n").unwrap();
    assert_eq!(
        (&commas[0].devices, &commas[1].devices),
        (&named(&["0", "3"]), &named(&["0", "3", "4"]))
    );
    let tartan =
        read_measurements("OP,GPU,Bandwidth\nall_reduce_perf,1,0.00\nall_reduce_perf,2,17.28\n")
            .unwrap();
    assert_eq!(
        (&tartan[1].devices, tartan[1].op.as_deref()),
        (&Devices::First(2), Some("all_reduce"))
    );
}

#[test]
fn tables_that_are_malformed_are_refused_with_their_line() {
    insta::assert_snapshot!(
        refused("devices,gbps\n0 3,46.5\n0 4\n"),
        @"line 3: 1 fields: expected 2, as many as the header has; is the row cut off?"
    );
    insta::assert_snapshot!(
        refused("devices,gbps\n0 3,nan\n"),
        @"line 2: gbps `nan`: expected a number of GB/s, not negative"
    );
    insta::assert_snapshot!(
        refused("devices,gbps\n0 3,-4\n"),
        @"line 2: gbps `-4`: expected a number of GB/s, not negative"
    );
    insta::assert_snapshot!(
        refused("devices,gbps\n0 3,\n"),
        @"line 2: gbps is empty: expected a value"
    );
    insta::assert_snapshot!(
        refused("devices,gbps\n0 3,N/A\n"),
        @"line 2: gbps `N/A`: expected a bandwidth, a number of GB/s"
    );
    insta::assert_snapshot!(
        refused("devices,gbps\n,4\n"),
        @"line 2: no devices: expected such as `0 3 4`, or `first 3`"
    );
    insta::assert_snapshot!(
        refused("devices,gbps\nfirst few,4\n"),
        @"line 2: devices `first few`: expected such as `first 3`"
    );
    insta::assert_snapshot!(
        refused("devices,gbps,bytes\n0 3,4,1K\n"),
        @"line 2: bytes `1K`: expected a whole number from 0 to 18446744073709551615"
    );
    insta::assert_snapshot!(
        refused("devices,bandwidth\n0 3,4\n"),
        @"line 1: no column `gbps`, but a column `bandwidth`: expected devices, gbps, op, bytes, label"
    );
    insta::assert_snapshot!(
        refused("devices,gbps,size\n0 3,4,1\n"),
        @"line 1: column `size`: expected devices, gbps, op, bytes, label"
    );
    insta::assert_snapshot!(
        refused("devices,gbps,gbps\n0 3,4,1\n"),
        @"line 1: two columns `gbps`: expected one"
    );
    insta::assert_snapshot!(
        refused("devices,gbps\n"),
        @"no rows: expected measurements below the header"
    );
    insta::assert_snapshot!(
        refused("OP,GPU,Bandwidth\nall_reduce_perf,two,17.28\n"),
        @"line 2: gpu `two`: expected a whole number from 0 to 18446744073709551615"
    );
}

#[test]
fn the_tables_of_tartan_are_read() {
    let Some(data) = crate::real_data::real_data() else {
        return;
    };
    let file = data.join("bandwidth/tartan/scale_up_cl__nccl-v2__bandwidth.txt");
    let runs = read_measurements(&std::fs::read_to_string(file).unwrap()).unwrap();
    let all_reduce = runs
        .iter()
        .filter(|run| run.op.as_deref() == Some("all_reduce"));
    let gbps: Vec<f64> = all_reduce
        .map(|run| run.peak_gbps(Column::OutOfPlace).unwrap())
        .collect();
    assert_eq!(
        (runs.len(), gbps),
        (
            40,
            vec![0.0, 17.28, 34.56, 52.09, 5.57, 34.70, 34.72, 62.24]
        )
    );
}

#[test]
fn wrong_results_are_refused_wherever_they_are_counted() {
    insta::assert_snapshot!(
        refused(&NEW.replace("46.50       0 ", "46.50       7 ")),
        @"line 14: 7 wrong results: expected 0"
    );
    insta::assert_snapshot!(
        refused(&NEW.replace("values : 0 OK", "values :")),
        @"line 15: no count of values out of bounds: expected a number; is the text cut off?"
    );
    let rccl = "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n1,AllReduce,2,1024,float,sum,0,10.0,20.0,20.0,0\n";
    one(rccl);
    insta::assert_snapshot!(
        refused(&rccl.replace("20.0,0\n", "20.0,912\n")),
        @"line 2: 912 wrong results: expected 0"
    );
}

#[test]
fn a_table_of_ones_own_ends_with_a_line() {
    insta::assert_snapshot!(
        refused("devices,gbps\n0 3,46.4\n0 1,2"),
        @"line 3: the last row has no line end: expected one; is the file cut off?"
    );
    insta::assert_snapshot!(
        refused("OP,GPU,Bandwidth\nall_reduce_perf,2,17.2"),
        @"line 2: the last row has no line end: expected one; is the file cut off?"
    );
}

#[test]
fn lines_are_counted_over_comments_and_blank_ones() {
    insta::assert_snapshot!(
        refused("# a\n\ndevices,gbps\n# b\n\n0 3,bad\n"),
        @"line 6: gbps `bad`: expected a number of GB/s, not negative"
    );
    insta::assert_snapshot!(
        refused("# a\ndevices,speed\n0 3,1\n"),
        @"line 2: no column `gbps`, but a column `speed`: expected devices, gbps, op, bytes, label"
    );
    assert_eq!(one("devices,gbps\n\n# c\n0 3,1.0\n").line, Some(4));
}

/// What Eq. 2 makes of n copies of a job, s.
fn eq_2(demand: f64, alpha: f64, copies: u32) -> f64 {
    50.0 * (alpha * demand * f64::from(copies) / 30.08).max(1.0)
}

/// The jobs of Tang et al., Table 2.
const TABLE_2: [(f64, f64); 2] = [(5.7, 1.25), (17.65, 1.07)];

#[test]
fn the_published_slopes_come_back_from_runs_that_eq_2_makes() {
    for (demand, alpha) in TABLE_2 {
        let runs: Vec<(u32, f64)> = (1..=7)
            .map(|copies| (copies, eq_2(demand, alpha, copies)))
            .collect();
        let fit = fit_alpha(&runs, &AlphaConfig::new(demand, 30.08)).unwrap();
        assert!(
            (fit.alpha - alpha).abs() < 1e-12 && (fit.high - fit.low).abs() < 1e-9,
            "{fit:?}"
        );
        assert!(
            (fit.knee - 30.08 / (alpha * demand)).abs() < 1e-9 && (fit.base_s - 50.0).abs() < 1e-12
        );
        for point in &fit.points {
            assert_eq!(point.on_line, f64::from(point.copies) > fit.knee);
            assert!((point.slowdown - point.predicted).abs() < 1e-9);
        }
    }
    // With those below the knee the line bends.
    let runs: Vec<(u32, f64)> = (1..=7)
        .map(|copies| (copies, eq_2(5.7, 1.25, copies)))
        .collect();
    let bent = fit_alpha(
        &runs,
        &AlphaConfig {
            from_copies: Some(1),
            ..AlphaConfig::new(5.7, 30.08)
        },
    )
    .unwrap();
    assert!(bent.alpha > 1.3, "{bent:?}");
}

#[test]
fn the_interval_of_a_slope_covers_it_as_often_as_it_says() {
    // Normal errors of one size along the line, three runs of each number of copies; a fixed stream
    // (Box and Muller over SplitMix64).
    let mut state = 7u64;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal =
        || (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    for (demand, alpha) in TABLE_2 {
        let seeds = 4000;
        let mut covered = 0;
        for _ in 0..seeds {
            let runs = (1..=7).flat_map(|copies| [copies; 3]);
            let runs: Vec<(u32, f64)> = runs
                .map(|copies| (copies, eq_2(demand, alpha, copies) + 0.4 * normal()))
                .collect();
            let fit = fit_alpha(&runs, &AlphaConfig::new(demand, 30.08)).unwrap();
            covered += u32::from(fit.low <= alpha && alpha <= fit.high);
        }
        let share = f64::from(covered) / f64::from(seeds);
        assert!(
            (0.94..0.97).contains(&share),
            "{share} of the intervals cover {alpha}"
        );
    }
}

#[test]
fn runs_of_which_no_slope_follows_are_refused() {
    let config = AlphaConfig::new(5.7, 30.08);
    let refused = |runs: &[(u32, f64)], config| fit_alpha(runs, &config).unwrap_err().to_string();
    insta::assert_snapshot!(
        refused(&[(2, 5.0)], config),
        @"no run of one copy: expected at least one, as the times of the others are divided by its time"
    );
    insta::assert_snapshot!(
        refused(&[(1, 5.0), (4, 5.0)], config),
        @"the link slowed no job down with up to 4 copies: expected runs of more copies"
    );
    insta::assert_snapshot!(
        refused(&[(1, 5.0), (0, 5.0)], config),
        @"0 copies in 5 s: expected at least one, and a positive number"
    );
    insta::assert_snapshot!(
        refused(&[(1, f64::NAN)], config),
        @"1 copies in NaN s: expected at least one, and a positive number"
    );
    insta::assert_snapshot!(
        refused(&[(1, 5.0)], AlphaConfig::new(-1.0, 30.08)),
        @"a demand of -1 GB/s: expected a positive number"
    );
    insta::assert_snapshot!(
        refused(&[(1, 5.0)], AlphaConfig::new(1.0, 0.0)),
        @"a capacity of 0 GB/s: expected a positive number"
    );
    // One run beyond the knee has a slope, and no interval.
    let one = fit_alpha(&[(1, 50.0), (7, 83.0)], &config).unwrap();
    assert!(one.alpha > 1.2 && one.low.is_nan() && one.high.is_nan());
    let said = [
        ("", None),
        ("job,copies,runtime_s\n", None),
        ("job,copies,copies,runtime_s\n", Some(1)),
        ("job,copies,runtime_s,gpu\n", Some(1)),
        ("# x\njob,copies,runtime_s\na,1\n", Some(3)),
        ("job,copies,runtime_s\n,1,5\n", Some(2)),
        ("job,copies,runtime_s\na,0,5\n", Some(2)),
        ("job,copies,runtime_s\na,1,5\na,2,-5\n", Some(3)),
        ("job,copies,runtime_s,slice\na,1,5,1g\n", Some(2)),
        (
            "job,copies,runtime_s,slice,tokens\na,1,5,1g.1m,0\n",
            Some(2),
        ),
        ("job,copies,runtime_s,tokens\na,1,5,9\n", Some(2)),
        (
            "job,copies,runtime_s,slice\na,2,5,1g.1m\na,2,5,2g.2m\n",
            None,
        ),
    ]
    .map(|(text, line)| {
        let error = read_runs(text).expect_err(text);
        assert_eq!(error.line(), line, "{text}: {error}");
        format!("{text:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r##"
    "" -> empty: expected a header and runs
    "job,copies,runtime_s\n" -> no rows: expected runs below the header
    "job,copies,copies,runtime_s\n" -> line 1: two columns `copies`: expected one
    "job,copies,runtime_s,gpu\n" -> line 1: column `gpu`: expected job, copies, runtime_s, slice, tokens
    "# x\njob,copies,runtime_s\na,1\n" -> line 3: 2 fields: expected 3, as many as the header has; is the row cut off?
    "job,copies,runtime_s\n,1,5\n" -> line 2: job is empty: expected a value
    "job,copies,runtime_s\na,0,5\n" -> line 2: copies `0`: expected a whole number from 1 to 1000000
    "job,copies,runtime_s\na,1,5\na,2,-5\n" -> line 3: runtime_s `-5`: expected a positive number
    "job,copies,runtime_s,slice\na,1,5,1g\n" -> line 2: slice `1g`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    "job,copies,runtime_s,slice,tokens\na,1,5,1g.1m,0\n" -> line 2: tokens `0`: expected a positive number
    "job,copies,runtime_s,tokens\na,1,5,9\n" -> line 2: tokens without a slice: expected its size
    "job,copies,runtime_s,slice\na,2,5,1g.1m\na,2,5,2g.2m\n" -> job `a`: copies side by side on 1g.1m, 2g.2m: expected one size
    "##);
}

#[test]
fn throughput_is_of_copies_alone_and_slopes_are_of_the_size_on_which_copies_ran_side_by_side() {
    let text = "slice,job,tokens,copies,runtime_s\n\
                1g.1m,a,1000,1,50\n1g.1m,a,1200,1,50\n1g.1m,a,1000,2,80\n2g.2m,a,1000,1,20\n2g.2m,b,,1,7\n";
    let jobs = read_runs(text).unwrap();
    assert_eq!(jobs["a"].runs, [(1, 50.0), (1, 50.0), (2, 80.0)]);
    let rates: Vec<(String, f64)> = jobs["a"]
        .throughput
        .iter()
        .map(|(size, rate)| (size.to_string(), *rate))
        .collect();
    assert_eq!(
        rates,
        [("1g.1m".to_owned(), 22.0), ("2g.2m".to_owned(), 50.0)]
    );
    assert_eq!(
        (&jobs["b"].runs[..], jobs["b"].throughput.len()),
        (&[(1, 7.0)][..], 0)
    );
}
