//! Lines of help: prose that may be filled anew, and lines that have to stay as they are.

/// The width for which examples are folded, columns.
const WIDTH: usize = 80;

/// First words of lines that are commands for a shell.
const PROGRAMS: [&str; 6] = [
    "kill",
    "mapa",
    "mapa-bench",
    "mapa-node",
    "nvidia-smi",
    "printf",
];

/// A part of a help text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// A paragraph on one line.
    Prose(String),
    /// Lines that are kept: examples, tables. Long ones are folded for a narrow screen.
    Kept(Vec<String>),
}

/// The blocks of a text; a blank line before a block is an empty paragraph.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // The length of the line before.
    let mut before = 0;
    for line in text.lines() {
        let kept = line.starts_with(' ') || line.contains("  ");
        match blocks.last_mut() {
            Some(Block::Kept(lines)) if kept => lines.extend(folded(line)),
            _ if kept => blocks.push(Block::Kept(folded(line))),
            // Only a long line was broken for its length; a short one ends its paragraph.
            Some(Block::Prose(prose)) if before > WIDTH - 10 && !line.is_empty() => {
                prose.push(' ');
                prose.push_str(line);
            }
            _ => blocks.push(Block::Prose(line.to_owned())),
        }
        before = line.len();
    }
    blocks
}

/// The text with each paragraph on one line.
pub(super) fn reflowed(text: &str) -> String {
    let lines = blocks(text).into_iter().map(|block| match block {
        Block::Prose(line) => line,
        Block::Kept(lines) => lines.join("\n"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line of an example; a long command as lines that a shell reads as one.
fn folded(line: &str) -> Vec<String> {
    let command = line.trim_start();
    if line.chars().count() <= WIDTH {
        return vec![line.to_owned()];
    }
    // Two spaces are those of a table, or before a comment, which would take the backslash.
    if !is_command(command) || command.contains("  ") {
        return hung(line);
    }
    let indent = line.len() - command.len();
    let mut lines = Vec::new();
    let mut folded = " ".repeat(indent);
    let mut is_first = true;
    for word in words(command) {
        // A backslash follows.
        if !is_first && folded.len() + 1 + word.len() + 2 > WIDTH {
            folded.push_str(" \\");
            lines.push(folded);
            folded = " ".repeat(indent + 2);
            is_first = true;
        }
        if !is_first {
            folded.push(' ');
        }
        folded.push_str(word);
        is_first = false;
    }
    lines.push(folded);
    lines
}

fn is_command(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    PROGRAMS.contains(&first) || first.starts_with("CUDA_VISIBLE_DEVICES=")
}

/// A row of a table, whose last column is filled below itself.
fn hung(line: &str) -> Vec<String> {
    let indent = line.len() - line.trim_start().len();
    let gap = line[indent..].find("  ").map(|at| indent + at);
    let column = gap.map(|gap| gap + line[gap..].len() - line[gap..].trim_start().len());
    // A column that leaves no room is no column.
    let column = column.filter(|column| *column < WIDTH - 20);
    let start = column.unwrap_or(indent);
    // A comment goes on as one.
    let mark = if line[start..].starts_with("# ") {
        "# "
    } else {
        ""
    };
    let mut lines = Vec::new();
    let mut row = line[..start].to_owned();
    let mut is_first = true;
    for word in line[start..].split(' ') {
        if !is_first && row.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(row);
            row = " ".repeat(line[..start].chars().count()) + mark;
            is_first = true;
        }
        if !is_first {
            row.push(' ');
        }
        row.push_str(word);
        is_first = false;
    }
    lines.push(row);
    lines
}

/// The words of a command: what stands between quotes is not cut, nor is an option from its value.
fn words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, sign) in command.char_indices() {
        match (quote, sign) {
            (None, '\'' | '"') => quote = Some(sign),
            (Some(open), _) if open == sign => quote = None,
            (None, ' ') if !is_option_before_value(&command[start..at], &command[at + 1..]) => {
                words.push(&command[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&command[start..]);
    words
}

fn is_option_before_value(word: &str, rest: &str) -> bool {
    word.starts_with("--") && !word.contains(' ') && !rest.starts_with(['-', '\\', '>', '|'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_of_prose_are_one_paragraph_and_commands_are_folded() {
        let long = "One two three four five six seven eight nine ten eleven twelve thirteen";
        let command = "  mapa-bench tune --layouts '7 | 4,2,1 | 3,2,2' --jobs monday.csv --jobs tuesday.csv --into mine.toml";
        let row =
            "  machines = [1]  # names and files as they are given to the commands of this program";
        let text = format!("{long}\nfourteen.\n\nExamples:\n{command}\n{row}");
        assert_eq!(
            blocks(&text),
            [
                Block::Prose(format!("{long} fourteen.")),
                Block::Prose(String::new()),
                Block::Prose("Examples:".to_owned()),
                Block::Kept(vec![
                    "  mapa-bench tune --layouts '7 | 4,2,1 | 3,2,2' --jobs monday.csv \\"
                        .to_owned(),
                    "    --jobs tuesday.csv --into mine.toml".to_owned(),
                    "  machines = [1]  # names and files as they are given to the commands of this"
                        .to_owned(),
                    "                  # program".to_owned(),
                ]),
            ]
        );
    }
}
