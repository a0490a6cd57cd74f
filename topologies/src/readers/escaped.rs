//! Texts whose line ends and tabs are written as `\n` and `\t`: logs of containers as JSON, and strings of programs.

use serde_json::Value;

/// The names under which logs keep a line of output.
const MESSAGES: [&str; 5] = ["log", "message", "msg", "line", "output"];

/// The text with line ends and tabs, if it has any that are escaped.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    if !text.contains("\\t") && !text.contains("\\n") {
        return None;
    }
    let plain = text
        .lines()
        .map(|line| message(line).unwrap_or_else(|| unquoted(line)));
    Some(plain.collect::<Vec<_>>().join("\n"))
}

/// The output in a line that is a JSON object.
fn message(line: &str) -> Option<String> {
    let object = line.trim_start().starts_with('{').then_some(line)?;
    let object: Value = serde_json::from_str(object).ok()?;
    let output = MESSAGES
        .iter()
        .find_map(|name| object.get(name)?.as_str())?;
    Some(output.trim_end_matches('\n').to_owned())
}

/// A line of a program without the escapes of its strings.
fn unquoted(line: &str) -> String {
    let line = line.replace("\\t", "\t").replace("\\r", "");
    // A string that ends with the line of the program is one line, not two.
    let string = line.trim_end_matches(['"', '\'', ',', ';', ')', '+', ' ']);
    let string = string.strip_suffix("\\n").unwrap_or(&line);
    string.replace("\\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_logs_and_of_programs_become_lines_of_the_output() {
        let log = r#"{"log":"\tGPU0\tGPU1\n","stream":"stdout"}"#;
        assert_eq!(unescaped(log).as_deref(), Some("\tGPU0\tGPU1"));
        let one = r#"{"level":"info","msg":"a\n\tb\n"}"#;
        assert_eq!(unescaped(one).as_deref(), Some("a\n\tb"));
        let program = "    \"\\tGPU0\\n\"\n    + \"GPU0\\tX\\n\";";
        let lines = unescaped(program);
        assert_eq!(lines.as_deref(), Some("    \"\tGPU0\n    + \"GPU0\tX"));
        assert_eq!(unescaped("no escapes"), None);
    }
}
