//! Any text below a known header is read or refused; each row that is read is one measurement on
//! devices that are told.

use mapa_regress::{Column, Devices, read_measurements};

use crate::input::text;

const HEADERS: [&str; 4] = [
    "devices,gbps,op,bytes,label\n",
    "OP,GPU,Bandwidth\n",
    "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n",
    "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong\n",
];

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    for header in HEADERS {
        let Ok(rows) = read_measurements(&format!("{header}{text}")) else {
            continue;
        };
        assert!(!rows.is_empty());
        for row in &rows {
            assert!(
                !matches!(row.devices, Devices::Unknown) && row.line.is_some_and(|line| line > 1)
            );
            let peak = row.peak_gbps(Column::Best).expect("every row has a figure");
            assert!(peak.is_finite() && peak >= 0.0);
        }
    }
}
