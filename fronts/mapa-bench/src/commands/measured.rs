//! `measured add`: rows of the output of bandwidth tests, and a fit of the machine alone.

use mapa_front::answer::measured::Added;
use mapa_front::commands::MeasuredRequest;
use mapa_front::text::{gbps, table};

use crate::cli::{AddArgs, MeasuredAction, MeasuredArgs};
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::{LocalFiles, rewrite};
use mapa_cli::load;

pub(crate) fn measured(args: &MeasuredArgs, output: &mut Output) -> Result<(), Failure> {
    match &args.action {
        MeasuredAction::Add(args) => add(args, output),
    }
}

fn add(args: &AddArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    if let Some(path) = args.into.as_ref().filter(|_| args.into == args.fit) {
        return Err(Failure::malformed(format_args!(
            "--into and --fit are both {}: expected two files, one for rows and one for shares",
            path.display()
        )));
    }
    let [into, fit] =
        [&args.into, &args.fit].map(|path| path.as_ref().map(|path| path.display().to_string()));
    let request = MeasuredRequest {
        machine: args.machine.spec(),
        outputs: args.outputs.clone(),
        into: into.clone(),
        fit: fit.is_some(),
        server: args.server.clone(),
        operation: args.operation.map(|operation| operation.to_string()),
        message_bytes: args.message_bytes,
        library: args.library.clone(),
        source: args.source.clone(),
    };
    let outcome = request.outcome(&LocalFiles, &loaded)?;
    if let (Some(path), Some(shares)) = (&args.fit, &outcome.shares) {
        rewrite(path, shares)?;
    }
    if let (Some(path), Some(rows)) = (&args.into, &outcome.table) {
        rewrite(path, rows)?;
    }
    let answer = outcome.answer(into, fit);
    if output.json {
        return output.object(&answer);
    }
    print(&answer, output)
}

fn print(answer: &Added, output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(
        [
            "row",
            "operation",
            "devices",
            "measured",
            "expected",
            "nine in ten",
            "fitted",
        ],
        [3, 4, 6],
    );
    let number = |value: Option<f64>| value.map_or("-".to_owned(), gbps);
    for row in &answer.rows {
        let devices: Vec<String> = row.devices.iter().map(u32::to_string).collect();
        let range = row.low_gbps.zip(row.high_gbps);
        rows.add_row([
            row.id.clone(),
            row.operation.clone(),
            devices.join(","),
            gbps(row.measured_gbps),
            number(row.expected_gbps),
            range.map_or("-".to_owned(), |(low, high)| {
                format!("{} to {}", gbps(low), gbps(high))
            }),
            number(row.fitted_gbps),
        ]);
    }
    output.line(rows)?;
    for why in &answer.left_out {
        output.line(format_args!("left out  {why}"))?;
    }
    for note in &answer.notes {
        output.line(format_args!("note      {note}"))?;
    }
    for (what, file) in [("rows", &answer.into), ("shares", &answer.fit)] {
        if let Some(file) = file {
            output.line(format_args!("written   {what} to {file}"))?;
        }
    }
    if answer.into.is_none() && answer.fit.is_none() {
        output.line("note      nothing is written: name files with --into and --fit")?;
    }
    Ok(())
}
