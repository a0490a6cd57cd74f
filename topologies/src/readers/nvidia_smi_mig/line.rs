//! Parses one line of `nvidia-smi mig`.

use crate::error::Error;
use crate::readers::text;

/// A line, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MigLine {
    /// The title of a table, its column names, or its double line. `of_instances` states whether it
    /// is the title of a table of GPU instances or of their profiles.
    Top {
        of_instances: bool,
    },
    /// A border of dashes.
    Border,
    /// The first of two lines of a profile in `-lgip`.
    Profile(MigProfileLine),
    /// The second line of a profile: copy engines, JPEG decoders, optical flow accelerators.
    ProfileEnd,
    /// A line of `-lgi`.
    Instance(MigInstanceLine),
    /// A line of `-lgipp`.
    Placements(Placements),
    /// A row of a table of compute instances, which are parts of GPU instances.
    Compute,
    /// Any other row.
    Row,
    Blank,
    Other,
}

/// A profile that a GPU offers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MigProfileLine {
    pub(super) gpu: u32,
    pub(super) name: String,
    pub(super) id: u32,
    pub(super) free_of_total: (u32, u32),
    pub(super) memory_gib: f64,
    pub(super) sms: u32,
}

/// A GPU instance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MigInstanceLine {
    pub(super) gpu: u32,
    pub(super) profile: String,
    pub(super) profile_id: u32,
    pub(super) id: u32,
    pub(super) placement: (u8, u8),
}

/// The memory slices at which instances of a profile can start, and the number of slices they take.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placements {
    pub(super) gpu: u32,
    pub(super) id: u32,
    pub(super) starts: Vec<u8>,
    pub(super) size: u8,
}

/// Parses a line.
///
/// # Errors
/// A line that begins like a known one, but is cut or broken. The message names the expected form.
pub(super) fn parse(text: &str, line: usize) -> Result<MigLine, Error> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(MigLine::Blank);
    }
    if let Some((gpu, profile)) = own(text, "GPU ").and_then(gpu_of_placements) {
        let expected = "expected `GPU  0 Profile ID 19 Placements: {0,1,2}:1`";
        return placements(gpu, profile)
            .map(MigLine::Placements)
            .ok_or_else(|| Error::at(line, expected));
    }
    if own(text, "---").is_some_and(|rest| is_rule(rest, '-')) {
        return Ok(MigLine::Border);
    }
    let Some(row) = own(text, "|") else {
        return Ok(MigLine::Other);
    };
    if is_rule(row, '=') && row.contains("===") {
        return Ok(MigLine::Top {
            of_instances: false,
        });
    }
    // Some pages repeat the bar on the left side.
    let (row, end) = row
        .trim_start_matches('|')
        .split_once('|')
        .map_or((row, false), |(row, _)| (row, true));
    let words: Vec<&str> = row.split_whitespace().collect();
    match words[..] {
        [] => Ok(MigLine::Other),
        [gpu, "MIG", ..] if number(gpu).is_some() => mig_row(&words).filter(|_| end).ok_or_else(|| {
            let expected = "`| 0 MIG 1g.5gb 19 7/7 4.75 No 14 0 0 |` or an instance, `| 0 MIG 1g.5gb 19 7 0:1 |`";
            Error::at(line, format!("expected a profile, {expected}"))
        }),
        [first, ..] if number(first).is_some() => Ok(other_row(&words, end)),
        _ => Ok(MigLine::Top { of_instances: row.contains("GPU instance") }),
    }
}

/// The text after the first `mark`, if only a margin is before it.
fn own<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (before, rest) = text.split_once(mark)?;
    text::is_margin(before).then_some(rest)
}

/// Whether a line consists of `stroke` and corners.
fn is_rule(text: &str, stroke: char) -> bool {
    text.chars()
        .all(|c| c == stroke || matches!(c, '+' | '|' | ' '))
}

/// Parses a row of `-lgip` or `-lgi`. The number of words distinguishes the two.
fn mig_row(words: &[&str]) -> Option<MigLine> {
    match *words {
        [
            gpu,
            _,
            name,
            id,
            free_of_total,
            memory,
            _,
            sms,
            decoders,
            encoders,
        ] => {
            let (free, total) = free_of_total.split_once('/')?;
            let memory_gib = memory
                .parse()
                .ok()
                .filter(|gib: &f64| (0.0..1e6).contains(gib))?;
            let free_of_total = (number(free)?, number(total)?);
            let (gpu, id, sms) = (number(gpu)?, number(id)?, number(sms)?);
            let _engines = (number(decoders)?, number(encoders)?);
            let name = profile_name(name)?;
            Some(MigLine::Profile(MigProfileLine {
                gpu,
                name,
                id,
                free_of_total,
                memory_gib,
                sms,
            }))
        }
        [gpu, _, name, profile_id, id, placement] => {
            let (start, size) = placement.split_once(':')?;
            let placement = (
                number(start)?.try_into().ok()?,
                number(size)?.try_into().ok()?,
            );
            let (gpu, profile_id, id) = (number(gpu)?, number(profile_id)?, number(id)?);
            Some(MigLine::Instance(MigInstanceLine {
                gpu,
                profile: profile_name(name)?,
                profile_id,
                id,
                placement,
            }))
        }
        _ => None,
    }
}

/// Parses a row that begins with a number, but is not a row of a profile or GPU instance.
fn other_row(words: &[&str], end: bool) -> MigLine {
    match *words {
        [_, _, "MIG", ..] => MigLine::Compute,
        [_, jpeg, ofa] if end && number(jpeg).is_some() && number(ofa).is_some() => {
            MigLine::ProfileEnd
        }
        _ => MigLine::Row,
    }
}

/// The name of a profile, such as `1g.5gb`, `1g.24gb+me.all` or `1g.24gb-me`.
fn profile_name(word: &str) -> Option<String> {
    let (slices, memory) = word.split_once("g.")?;
    number(slices)?;
    let (memory, _) = memory.split_once("gb")?;
    number(memory)?;
    Some(word.to_owned())
}

/// Splits a line of `-lgipp`, without its leading `GPU`, into the GPU's number and the text after
/// `Profile ID`. Returns `None` for other lines.
fn gpu_of_placements(text: &str) -> Option<(u32, &str)> {
    let (gpu, rest) = text.split_once("Profile ID")?;
    Some((number(gpu.trim())?, rest))
}

/// Parses the rest of a line of `-lgipp`. Returns `None` if it is cut or broken.
fn placements(gpu: u32, rest: &str) -> Option<Placements> {
    let (id, rest) = rest.split_once("Placement")?;
    let rest = rest
        .strip_prefix('s')
        .unwrap_or(rest)
        .trim_start()
        .strip_prefix(':')?;
    let (starts, size) = rest.trim_start().strip_prefix('{')?.split_once("}:")?;
    // Some pages add the name of the profile after the size.
    let size = size.split_whitespace().next()?;
    let slice = |text: &str| number(text.trim())?.try_into().ok();
    let starts = starts.split(',').map(slice).collect::<Option<Vec<u8>>>()?;
    Some(Placements {
        gpu,
        id: number(id.trim())?,
        starts,
        size: slice(size)?,
    })
}

fn number(text: &str) -> Option<u32> {
    ((1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_in_any_width() {
        let profile = MigProfileLine {
            gpu: 6,
            name: "1g.18gb+me".to_owned(),
            id: 20,
            free_of_total: (0, 1),
            memory_gib: 16.0,
            sms: 16,
        };
        for text in [
            "|   6  MIG 1g.18gb+me    20     0/1        16.00      No     16     1     0   |",
            "| 6 MIG 1g.18gb+me 20 0/1 16.00 No 16 1 0 |",
            "    ||   6  MIG 1g.18gb+me      20     0/1        16.00      Yes    16     1     0   |  ",
            "# |   6  MIG 1g.18gb+me    20     0/1        16.00      No     16     1     0   |",
        ] {
            assert_eq!(
                parse(text, 1).unwrap(),
                MigLine::Profile(profile.clone()),
                "{text}"
            );
        }
        let instance = MigInstanceLine {
            gpu: 0,
            profile: "3g.20gb".to_owned(),
            profile_id: 9,
            id: 1,
            placement: (4, 4),
        };
        assert_eq!(
            parse("|   0  MIG 3g.20gb       9        1          4:4     |", 1).unwrap(),
            MigLine::Instance(instance)
        );
    }

    #[test]
    fn placements_read_in_both_spellings() {
        let said = |text| match parse(text, 1).unwrap() {
            MigLine::Placements(Placements {
                gpu,
                id,
                starts,
                size,
            }) => (gpu, id, starts, size),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            said("GPU  0 Profile ID 19 Placements: {0,1,2}:1"),
            (0, 19, vec![0, 1, 2], 1)
        );
        assert_eq!(
            said("GPU 12 Profile ID  5 Placement : {0}:4  "),
            (12, 5, vec![0], 4)
        );
        assert_eq!(
            said("# GPU  0 Profile ID  9 Placements: {0, 4}:4    MIG 3g.20gb"),
            (0, 9, vec![0, 4], 4)
        );
    }

    #[test]
    fn cut_and_broken_lines_are_errors() {
        for text in [
            "|   0  MIG 1g.5gb     19     7/7        4.75       No     14     0     0",
            "|   0  MIG 1g.5gb     19     7/7        4.75       No     14     0     |",
            "|   0  MIG 1g.5gb     19     7/        4.75       No     14     0     0   |",
            "|   0  MIG 1g.5gb     19     7/7        nan       No     14     0     0   |",
            "|   0  MIG 5gb     19     7/7        4.75       No     14     0     0   |",
            "|   0  MIG 1g.5gb       19        7          0:     |",
            "|   0  MIG 1g.5gb       19        7          0:256     |",
            "|   0  MIG |",
            "GPU  0 Profile ID 19 Placements: {0,1,2",
            "GPU  0 Profile ID 19 Placements: {0,1,2}:",
            "GPU  0 Profile ID 19 Placements: {0,,2}:1",
            "GPU  0 Profile ID 19",
            "GPU  0 Profile ID 19 Placements: {300}:1",
        ] {
            assert_eq!(
                parse(text, 3).map_err(|error| error.line()),
                Err(Some(3)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_around_the_rows_is_known() {
        for (text, line) in [
            ("", MigLine::Blank),
            ("+------------------+", MigLine::Border),
            ("# +-----------------+", MigLine::Border),
            (
                "|==================|",
                MigLine::Top {
                    of_instances: false,
                },
            ),
            (
                "| GPU instance profiles:   |",
                MigLine::Top { of_instances: true },
            ),
            (
                "|             Free/Total   GiB              CE    JPEG  OFA  |",
                MigLine::Top {
                    of_instances: false,
                },
            ),
            ("|                 2     0     0", MigLine::Row),
            ("|                 2     x     0   |", MigLine::Row),
            (
                "|   0  NVIDIA H100 80GB HBM3          Off |   00000000:18:00.0 Off |        0 |",
                MigLine::Row,
            ),
            (
                "node1: |                 1     1     0   |",
                MigLine::ProfileEnd,
            ),
            ("|                 1     1     0   |", MigLine::ProfileEnd),
            (
                "|   0      1       MIG 1c.3g.20gb       0      0/3           14        2     0     0   |",
                MigLine::Compute,
            ),
            (
                "| GPU  Name   Profile ID  Instances |",
                MigLine::Top {
                    of_instances: false,
                },
            ),
            ("GPU  x Profile ID 19 Placements: {0}:1", MigLine::Other),
            ("$ nvidia-smi mig -lgip", MigLine::Other),
        ] {
            assert_eq!(parse(text, 1).unwrap(), line, "{text}");
        }
    }
}
