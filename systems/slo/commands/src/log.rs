//! `slo`: logs of the controllers of latencies.

mod args;

use mapa_front::FileKind;
use mapa_front::text::counted;
use mapa_system_slo_log::{read_log, replay_log};

pub(crate) use args::SloArgs;
use args::SloDo;
use mapa_cli::Failure;
use mapa_cli::files;
use mapa_cli::{Output, SystemCommand};

impl SystemCommand for SloArgs {
    const NAME: &'static str = "slo";
    const ABOUT: &'static str = "Logs of the controllers of latencies: make their decisions again";

    fn run(&self, output: &mut Output) -> Result<(), Failure> {
        slo(self, output)
    }
}

fn slo(args: &SloArgs, output: &mut Output) -> Result<(), Failure> {
    let SloDo::Replay { log: file } = &args.action;
    let text = files::text(file, FileKind::Log)?;
    let log =
        read_log(&text).map_err(|error| Failure::malformed(format_args!("{file}: {error}")))?;
    let answer = replay_log(&log).map_err(|error| Failure::at(file, error))?;
    if output.json {
        output.object(&answer)?;
    } else {
        let (decisions, orders) = (
            counted(answer.decisions, "decision"),
            counted(answer.orders, "order"),
        );
        output.line(format_args!("{decisions}, {orders}"))?;
        if answer.is_cut_off {
            output.line("the last line is cut off, and left out")?;
        }
        for differs in &answer.differ {
            output.line(format_args!(
                "line {}: differs: {}",
                differs.line, differs.what
            ))?;
        }
    }
    if answer.differ.is_empty() {
        if !output.json {
            output.line("every decision is the same, bit for bit")?;
        }
        return Ok(());
    }
    let what = format!(
        "{file}: {} made otherwise: expected the same decisions",
        counted(answer.differ.len(), "decision")
    );
    // In JSON, the answer above is the one document.
    Err(if output.json {
        Failure::Answered(what)
    } else {
        Failure::malformed(what)
    })
}
