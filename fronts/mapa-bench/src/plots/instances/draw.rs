//! Draws the picture.

use std::collections::{BTreeMap, BTreeSet};

use mapa_sched::{JobId, Tenant, Time};
use mapa_sim::Submission;

use super::colours::colours;
use super::stack::{DrawnPiece, Stacked, stacked};
use super::svg::{Attributes, Svg, number};
use super::{Band, DrawnLane, MOST, ShownOccupancy, bands};
use mapa_cli::Failure;

const WIDTH: f64 = 1100.0;
/// Where time begins and ends.
const LEFT: f64 = 150.0;
const RIGHT: f64 = WIDTH - 26.0;
/// Where the first band begins.
const TOP: f64 = 92.0;
/// Between two bands.
const GAP: f64 = 14.0;
/// Height of the curve of memory in use.
const CURVE: f64 = 72.0;

const INK: &str = "#1f2933";
const SOFT: &str = "#52606d";
const EDGE: &str = "#7b8794";
const FREE: &str = "#f4f6f8";
/// Exclusive tenants, and the lines of their hatching.
const ALONE: [&str; 2] = ["#c9d3dd", "#8a99a8"];
/// Tenants that share, after Okabe and Ito, lighter so that numbers can be read on them.
const SHARED: [&str; 7] = [
    "#f2c166", "#8ecdf0", "#6cc6a6", "#f3e78b", "#74aedb", "#eda074", "#dfadc9",
];

/// The measures of the picture, and what holds everywhere in it.
struct PictureFrame {
    end: Time,
    /// Pixels of a memory slice.
    slice: f64,
    colours: BTreeMap<JobId, usize>,
    /// The tasks that are requests of a task which holds memory already.
    grown: BTreeSet<Tenant>,
}

impl PictureFrame {
    fn x(&self, at: Time) -> f64 {
        // Nothing may have happened, and the end be 0.
        let share = at.0 as f64 / self.end.0.max(1) as f64;
        LEFT + (RIGHT - LEFT) * share
    }

    fn height(&self, slices: u8) -> f64 {
        self.slice * f64::from(slices)
    }
}

/// The picture as SVG text.
///
/// # Errors
/// More than 64 devices.
pub(crate) fn draw(shown: &ShownOccupancy<'_>) -> Result<String, Failure> {
    let bands = bands(shown);
    if bands.len() > MOST {
        return Err(Failure::malformed(format_args!(
            "a picture of the instances of {} devices: expected at most {MOST}",
            bands.len()
        )));
    }
    let slices: u32 = bands.iter().map(|band| u32::from(band.slices)).sum();
    let frame = PictureFrame {
        end: shown.end,
        // The more slices there are, the lower each is, so that a picture fits on a screen.
        slice: match slices {
            0..=8 => 46.0,
            9..=16 => 34.0,
            17..=40 => 24.0,
            _ => 15.0,
        },
        colours: colours(&bands, SHARED.len()),
        grown: grown(shown),
    };
    let heights = bands.iter().map(|band| frame.height(band.slices) + GAP);
    let bottom = TOP + heights.sum::<f64>();
    // Jobs that demand no memory say nothing of what they use.
    let is_known = demands_memory(&bands) && bands.iter().all(|band| band.memory_bytes.is_some());
    let foot = bottom + if is_known { CURVE + 24.0 } else { 0.0 };
    let mut svg = Svg::new(WIDTH, foot + 44.0);
    // From back to front.
    head(&mut svg, shown, &bands, &frame);
    axis(&mut svg, &frame, foot);
    let mut top = TOP;
    for band in &bands {
        draw_band(&mut svg, &frame, band, top);
        top += frame.height(band.slices) + GAP;
    }
    if is_known {
        curve(&mut svg, &frame, &bands, bottom + 8.0);
    }
    Ok(svg.finish())
}

/// Background, patterns, title and legend.
fn head(svg: &mut Svg, shown: &ShownOccupancy<'_>, bands: &[Band<'_>], frame: &PictureFrame) {
    let [fill, line] = ALONE;
    svg.raw(&format!(
        "<defs><pattern id=\"alone\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"{fill}\"/><rect width=\"2\" height=\"7\" \
         fill=\"{line}\"/></pattern><pattern id=\"change\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
         <rect width=\"6\" height=\"6\" fill=\"#ffffff\"/><circle cx=\"3\" cy=\"3\" r=\"1.2\" fill=\"#a3aeb9\"/>\
         </pattern></defs>"
    ));
    svg.raw("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    let title = clipped(&shown.title, 100);
    let bold = [("font-size", "17"), ("font-weight", "bold"), ("fill", INK)];
    svg.text((20.0, 30.0), &title, &bold);
    let heights = if demands_memory(bands) {
        "; heights are memory"
    } else {
        ""
    };
    let told = format!(
        "{}. Numbers are jobs{heights}.",
        clipped(&shown.subtitle, 110)
    );
    let small = [("font-size", "12.5"), ("fill", SOFT)];
    svg.text((20.0, 50.0), &told, &small);
    let is_shared =
        |lane: &DrawnLane<'_>| lane.occupants.iter().any(|occupant| !occupant.exclusive);
    let lanes = || bands.iter().flat_map(|band| &band.lanes);
    let has_gap = |band: &Band<'_>| {
        let first = band.lanes.iter().filter(|lane| lane.from == Time::ZERO);
        let slices: u32 = first.map(|lane| u32::from(lane.slices)).sum();
        slices < u32::from(band.slices)
    };
    // Whether the picture has it, its words, its fill, and whether its edge is dashed.
    let entries = [
        (lanes().any(is_shared), "task that shares", SHARED[1], false),
        (
            !frame.grown.is_empty(),
            "what it asked for later",
            SHARED[1],
            true,
        ),
        (
            lanes().any(|lane| lane.occupants.iter().any(|occupant| occupant.exclusive)),
            "job that does not share",
            "url(#alone)",
            false,
        ),
        (
            bands.iter().any(|band| !band.changing.is_empty()),
            "repartition under way",
            "url(#change)",
            false,
        ),
        (true, "free", FREE, false),
        (bands.iter().any(has_gap), "no instance", "#ffffff", true),
    ];
    let mut x = 20.0;
    for (_, what, fill, is_growth) in entries.into_iter().filter(|entry| entry.0) {
        let mut look = vec![("fill", fill), ("stroke", EDGE), ("stroke-width", "0.8")];
        if is_growth {
            look.push(("stroke-dasharray", "3 2"));
        }
        svg.rect((x, 64.0), (22.0, 13.0), &look);
        let words = [("font-size", "12"), ("fill", INK)];
        svg.text((x + 28.0, 75.0), what, &words);
        // No text is measured here: 6.3 pixels are about a character's width at this size.
        x += 28.0 + 6.3 * what.len() as f64 + 20.0;
    }
}

fn demands_memory(bands: &[Band<'_>]) -> bool {
    let lanes = bands.iter().flat_map(|band| &band.lanes);
    let mut occupants = lanes.flat_map(|lane| &lane.occupants);
    occupants.any(|occupant| occupant.bytes > 0)
}

/// The first characters of a text that is too long for its line.
fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let first: String = text.chars().take(most - 2).collect();
    format!("{first} ..")
}

/// Vertical lines at round moments, and what they are.
fn axis(svg: &mut Svg, frame: &PictureFrame, foot: f64) {
    let end = (frame.end - Time::ZERO).as_secs_f64();
    let (unit, seconds) = match end {
        _ if end > 2.0 * 86_400.0 => ("days", 86_400.0),
        _ if end > 3.0 * 3600.0 => ("h", 3600.0),
        _ if end > 10.0 * 60.0 => ("min", 60.0),
        _ => ("s", 1.0),
    };
    // About nine marks have room.
    let step = step(end / seconds / 9.0);
    let mut mark = 0_u32;
    loop {
        // A multiple of the step, since the errors of a sum would add up.
        let at = f64::from(mark) * step;
        let share = if end > 0.0 { at * seconds / end } else { 0.0 };
        if share > 1.0 {
            break;
        }
        let x = LEFT + (RIGHT - LEFT) * share;
        let line = [("stroke", "#e4e9ee"), ("stroke-width", "1")];
        svg.line((x, TOP - 6.0), (x, foot), &line);
        let words = [
            ("font-size", "12"),
            ("fill", SOFT),
            ("text-anchor", "middle"),
        ];
        svg.text((x, foot + 16.0), &plain(at), &words);
        mark += 1;
        if end <= 0.0 {
            break;
        }
    }
    let words = [
        ("font-size", "12"),
        ("fill", SOFT),
        ("text-anchor", "middle"),
    ];
    let middle = (LEFT + RIGHT) / 2.0;
    svg.text((middle, foot + 34.0), &format!("time, {unit}"), &words);
}

/// A step of 1, 2 or 5 times a power of ten that is not below this.
fn step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(1e-9).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].into_iter();
    // Without the tolerance, rounding would pass over a step that fits.
    let mut enough = steps.filter(|step| step * power >= least * 0.999);
    enough.next().unwrap_or(10.0) * power
}

fn plain(value: f64) -> String {
    let text = format!("{value:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn draw_band(svg: &mut Svg, frame: &PictureFrame, band: &Band<'_>, top: f64) {
    let height = frame.height(band.slices);
    let name = [("font-size", "13"), ("font-weight", "bold"), ("fill", INK)];
    svg.text(
        (20.0, top + height / 2.0 + 4.0),
        &clipped(&band.name, 9),
        &name,
    );
    let look = [
        ("fill", "#ffffff"),
        ("stroke", EDGE),
        ("stroke-width", "0.8"),
        ("stroke-dasharray", "3 2"),
        ("class", "device"),
    ];
    svg.rect((LEFT, top), (RIGHT - LEFT, height), &look);
    for &(from, until) in &band.changing {
        let x = frame.x(from);
        let look = [("fill", "url(#change)"), ("class", "change")];
        svg.rect((x, top), (frame.x(until) - x, height), &look);
    }
    for lane in &band.lanes {
        draw_lane(svg, frame, lane, top);
    }
}

fn draw_lane(svg: &mut Svg, frame: &PictureFrame, lane: &DrawnLane<'_>, top: f64) {
    let y = top + frame.height(lane.start);
    let height = frame.height(lane.slices);
    let (x, right) = (frame.x(lane.from), frame.x(lane.until));
    svg.rect((x, y), (right - x, height), &[("fill", FREE)]);
    let stacks = stacked(lane);
    for own in &stacks {
        draw_tenant(svg, frame, own, (y, height));
    }
    // The frame is drawn after the tenants, which would cover it.
    let look = [
        ("fill", "none"),
        ("stroke", EDGE),
        ("stroke-width", "1.2"),
        ("class", "instance"),
        ("data-profile", &*lane.profile),
    ];
    svg.rect((x, y), (right - x, height), &look);
    let profile = if lane.profile.is_empty() {
        "whole"
    } else {
        &lane.profile
    };
    let words = [("font-size", "12"), ("fill", SOFT), ("text-anchor", "end")];
    // The first layout is named beside the axis. A later one is named where it begins, on a plate that keeps
    // the name legible.
    if lane.from == Time::ZERO {
        svg.text((LEFT - 8.0, y + height / 2.0 + 4.0), profile, &words);
    } else {
        let size = (7.0 * profile.len() as f64 + 4.0, 15.0);
        svg.rect((x + 3.0, y + 3.0), size, PLATE);
        svg.text((x + 5.0, y + 14.5), profile, &words[..2]);
    }
}

/// The tasks that are requests of a task which holds memory already.
fn grown(shown: &ShownOccupancy<'_>) -> BTreeSet<Tenant> {
    let of = |submission: &Submission| -> Vec<Tenant> {
        let asks = submission.asks().filter(|ask| ask.grows.is_some());
        asks.map(|ask| Tenant::Task(submission.job.id, ask.task))
            .collect()
    };
    shown.workload.jobs.iter().flat_map(of).collect()
}

fn draw_tenant(svg: &mut Svg, frame: &PictureFrame, own: &Stacked<'_>, (top, height): (f64, f64)) {
    let tenant = own.occupant.tenant;
    let job = tenant.job().0;
    let fill = if own.occupant.exclusive {
        "url(#alone)"
    } else {
        let colour = frame.colours.get(&tenant.job());
        SHARED[colour.map_or(0, |colour| colour % SHARED.len())]
    };
    let y = |share: f64| top + height * (1.0 - share);
    let is_growth = frame.grown.contains(&tenant);
    let job_text = job.to_string();
    let class = if own.occupant.exclusive {
        "tenant alone"
    } else if is_growth {
        "tenant growth"
    } else {
        "tenant"
    };
    let mut look: Vec<(&str, &str)> = vec![
        ("fill", fill),
        ("stroke", "#4a5663"),
        ("stroke-width", "0.8"),
        ("class", class),
        ("data-job", &job_text),
    ];
    if is_growth {
        look.push(("stroke-dasharray", "3 2"));
    }
    let [from, until] = [own.occupant.from, own.occupant.until];
    let title = format!(
        "{tenant}: {} GB, {} s to {} s",
        plain(own.occupant.bytes as f64 / 1e9),
        plain((from - Time::ZERO).as_secs_f64()),
        plain((until - Time::ZERO).as_secs_f64()),
    );
    svg.path(&outline(frame, &own.pieces, y), &look, Some(&title));
    // A later request lies on its task in the same colour, and needs no number.
    if !is_growth {
        label(svg, frame, own, y, &job_text);
    }
}

/// What lies below words on a tenant.
const PLATE: Attributes<'_> = &[("fill", "#ffffff"), ("fill-opacity", "0.85"), ("rx", "3")];

/// The upper edge from left to right, and the lower edge back.
fn outline(frame: &PictureFrame, pieces: &[DrawnPiece], y: impl Fn(f64) -> f64) -> String {
    let mut d = String::new();
    let point = |d: &mut String, x: f64, y: f64| {
        d.push(if d.is_empty() { 'M' } else { 'L' });
        d.push_str(&format!("{} {}", number(x), number(y)));
    };
    for own in pieces {
        point(&mut d, frame.x(own.from), y(own.high));
        point(&mut d, frame.x(own.until), y(own.high));
    }
    for own in pieces.iter().rev() {
        point(&mut d, frame.x(own.until), y(own.low));
        point(&mut d, frame.x(own.from), y(own.low));
    }
    d.push('Z');
    d
}

/// The number of the job where its largest piece has room for it.
fn label(
    svg: &mut Svg,
    frame: &PictureFrame,
    own: &Stacked<'_>,
    y: impl Fn(f64) -> f64,
    job: &str,
) {
    let width = |piece: &DrawnPiece| frame.x(piece.until) - frame.x(piece.from);
    let widest = own
        .pieces
        .iter()
        .max_by(|a, b| width(a).total_cmp(&width(b)));
    let Some(piece) = widest else {
        return;
    };
    let height = y(piece.low) - y(piece.high);
    let size = (height - 1.0).min(12.0);
    // A digit is about 0.62 of its size wide.
    if size < 6.0 || width(piece) < 0.62 * size * job.len() as f64 + 3.0 {
        return;
    }
    let middle = (frame.x(piece.from) + frame.x(piece.until)) / 2.0;
    // The middle of digits is about 0.36 of their size above the line on which they stand.
    let base = (y(piece.low) + y(piece.high)) / 2.0 + 0.36 * size;
    let size = number(size);
    let look = [
        ("font-size", &*size),
        ("fill", INK),
        ("text-anchor", "middle"),
        ("pointer-events", "none"),
    ];
    // A number on hatching is not legible without a plate.
    if own.occupant.exclusive {
        let width = 7.5 * job.len() as f64 + 6.0;
        let corner = (middle - width / 2.0, base - 11.5);
        svg.rect(corner, (width, 15.0), PLATE);
    }
    svg.text((middle, base), job, &look);
}

/// The memory that tenants have asked for, as a share of that of all devices.
fn curve(svg: &mut Svg, frame: &PictureFrame, bands: &[Band<'_>], top: f64) {
    let all: f64 = bands
        .iter()
        .filter_map(|band| band.memory_bytes)
        .map(|bytes| bytes as f64)
        .sum();
    let lanes = || bands.iter().flat_map(|band| &band.lanes);
    let mut times: Vec<Time> = lanes()
        .flat_map(|lane| &lane.occupants)
        .flat_map(|occupant| [occupant.from, occupant.until])
        .chain([Time::ZERO, frame.end])
        .collect();
    times.sort_unstable();
    times.dedup();
    let bottom = top + CURVE;
    let small: Attributes<'_> = &[("font-size", "11"), ("fill", SOFT), ("text-anchor", "end")];
    for percent in [0.0, 50.0, 100.0] {
        let y = bottom - CURVE * percent / 100.0;
        let line = [("stroke", "#e4e9ee"), ("stroke-width", "1")];
        svg.line((LEFT, y), (RIGHT, y), &line);
        svg.text((LEFT - 8.0, y + 4.0), &format!("{percent} %"), small);
    }
    let name = [("font-size", "13"), ("font-weight", "bold"), ("fill", INK)];
    svg.text((20.0, top + CURVE / 2.0 - 3.0), "memory", &name);
    svg.text((20.0, top + CURVE / 2.0 + 13.0), "in use", &name);
    // Below, that of exclusive tenants; above, that of those who share.
    for (is_alone, fill) in [(false, "#8ecdf0"), (true, "url(#alone)")] {
        let share = |at: Time| {
            let there = lanes().flat_map(|lane| &lane.occupants);
            let there = there.filter(|occupant| occupant.from <= at && at < occupant.until);
            // The first area is of all tenants. That of the exclusive ones is drawn over its lower part.
            let drawn = there.filter(|occupant| occupant.exclusive || !is_alone);
            drawn.map(|occupant| occupant.bytes as f64).sum::<f64>() / all
        };
        let mut d = format!("M{} {}", number(LEFT), number(bottom));
        for span in times.windows(2) {
            let y = number(bottom - CURVE * share(span[0]).min(1.0));
            d.push_str(&format!("L{} {y}", number(frame.x(span[0]))));
            d.push_str(&format!("L{} {y}", number(frame.x(span[1]))));
        }
        d.push_str(&format!("L{} {}Z", number(RIGHT), number(bottom)));
        let look = [
            ("fill", fill),
            ("stroke", "#4a5663"),
            ("stroke-width", "0.8"),
            ("class", "memory"),
        ];
        svg.path(&d, &look, None);
    }
}
