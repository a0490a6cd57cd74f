//! A shell script as statements: what stands between line ends, `;`, `&`, `|` and the brackets of
//! subshells.

/// A statement as it is written, or a comment of Slurm (`#SBATCH ..`).
#[derive(Debug, PartialEq)]
pub(super) struct Statement<'t> {
    /// Its first line, counted from 1.
    pub(super) line: usize,
    pub(super) text: &'t str,
}

/// The statements, and the line of a quote that is not closed. O(length).
///
/// The text of a here-document is left out, unless a shell or `sbatch` reads it.
pub(super) fn statements(text: &str) -> (Vec<Statement<'_>>, Option<usize>) {
    let mut lexer = Lexer {
        text,
        at: 0,
        line: 1,
        begin: None,
        depth: 0,
        left_out: Vec::new(),
        statements: Vec::new(),
    };
    let open = lexer.run();
    (lexer.statements, open)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    /// The offset and the line at which the statement began.
    begin: Option<(usize, usize)>,
    /// The brackets of `$(..)`, `$((..))` and `NAME=(..)` that are open.
    depth: usize,
    /// The last lines of the here-documents that follow this line.
    left_out: Vec<&'t str>,
    statements: Vec<Statement<'t>>,
}

impl<'t> Lexer<'t> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn run(&mut self) -> Option<usize> {
        let mut quote: Option<(u8, usize)> = None;
        while let Some(byte) = self.byte(self.at) {
            let is_word_start = self.at.checked_sub(1).is_none_or(|before| {
                self.byte(before)
                    .is_some_and(|byte| b" \t\n;&|(".contains(&byte))
            });
            match (quote, byte) {
                (None | Some((b'"', _)), b'\\') => {
                    self.begin();
                    self.line += usize::from(self.byte(self.at + 1) == Some(b'\n'));
                    self.at += 1;
                }
                (Some((own, _)), byte) => {
                    self.line += usize::from(byte == b'\n');
                    if own == byte {
                        quote = None;
                    }
                }
                (None, b'\'' | b'"') => {
                    self.begin();
                    quote = Some((byte, self.line));
                }
                (None, b'#') if is_word_start => {
                    self.comment();
                    continue;
                }
                (None, b'(') if self.depth > 0 || self.opens() => {
                    self.begin();
                    self.depth += 1;
                }
                (None, b')') if self.depth > 0 => self.depth -= 1,
                (None, b'\n') if self.depth > 0 => self.line += 1,
                (None, b'\n') => {
                    self.end();
                    self.line += 1;
                    self.at += 1;
                    self.leave_out();
                    continue;
                }
                (None, b';' | b'&' | b'|' | b'(' | b')') if self.depth == 0 => self.end(),
                (None, b'<') if self.depth == 0 && self.rest().starts_with("<<<") => self.at += 2,
                (None, b'<') if self.depth == 0 && self.rest().starts_with("<<") => {
                    self.here_document();
                }
                (None, b' ' | b'\t' | b'\r') => {}
                (None, _) => self.begin(),
            }
            self.at += 1;
        }
        if quote.is_none() {
            self.end();
        }
        quote.map(|(_, line)| line)
    }

    fn begin(&mut self) {
        self.begin.get_or_insert((self.at, self.line));
    }

    fn end(&mut self) {
        if let Some((from, line)) = self.begin.take() {
            // A backslash at the end of the text passes over nothing.
            let to = self.at.min(self.text.len());
            let text = self.text.get(from..to).unwrap_or_default();
            self.statements.push(Statement { line, text });
        }
    }

    /// Whether the bracket here belongs to a word, unlike that of a subshell.
    fn opens(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.byte(at));
        before.is_some_and(|byte| b"$=<>".contains(&byte))
    }

    fn comment(&mut self) {
        let rest = self.rest();
        let comment = rest.split('\n').next().unwrap_or_default();
        if self.depth == 0 {
            self.end();
            if comment.starts_with(SLURM) {
                let (line, text) = (self.line, comment.trim_end());
                self.statements.push(Statement { line, text });
            }
        }
        self.at += comment.len();
    }

    /// Takes note of a here-document whose text is not to be read: `<<EOF`, `<<-'EOF'`.
    fn here_document(&mut self) {
        let rest = self.rest();
        let word = rest.trim_start_matches('<').trim_start_matches(['-', ' ']);
        let quotes = ['\'', '"', '\\'];
        let ends = |c: char| c.is_whitespace() || ";&|<>()".contains(c);
        let word = word.split(ends).next().unwrap_or_default();
        let statement = self
            .begin
            .and_then(|(from, _)| self.text.get(from..self.at));
        let command = statement.and_then(|text| text.split_whitespace().next());
        if !matches!(command, Some("sbatch" | "bash" | "sh")) && !word.is_empty() {
            self.left_out.push(word.trim_matches(quotes));
        }
        self.at += 1;
    }

    /// Passes over the here-documents that were begun on the line before.
    fn leave_out(&mut self) {
        for last in std::mem::take(&mut self.left_out) {
            while !self.rest().is_empty() {
                let line = self.rest().split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                self.line += 1;
                if line.trim() == last {
                    break;
                }
            }
        }
    }
}

/// What a comment for Slurm begins with.
pub(super) const SLURM: &str = "#SBATCH";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(usize, &str)> {
        let (statements, open) = statements(text);
        assert_eq!(open, None, "{text}");
        statements
            .iter()
            .map(|statement| (statement.line, statement.text))
            .collect()
    }

    #[test]
    fn statements_end_where_the_shell_ends_them() {
        for (text, expected) in [
            (
                "a b; c && d | e &",
                vec![(1, "a b"), (1, "c "), (1, "d "), (1, "e ")],
            ),
            ("a \\\n  b # x; y\nc", vec![(1, "a \\\n  b "), (3, "c")]),
            (
                "A=( 1 # x)\n 2 )\nb",
                vec![(1, "A=( 1 # x)\n 2 )"), (3, "b")],
            ),
            (
                "a 'b;\nc' \"d;\\\" $(e \"f\")\"",
                vec![(1, "a 'b;\nc' \"d;\\\" $(e \"f\")\"")],
            ),
            (
                "A=$((2 * (3 + 1)));b",
                vec![(1, "A=$((2 * (3 + 1)))"), (1, "b")],
            ),
            (
                "f() {\n(cd x; y)\n}",
                vec![(1, "f"), (1, "{"), (2, "cd x"), (2, "y"), (3, "}")],
            ),
            (
                "#!/bin/sh\n#SBATCH -N 2 \na",
                vec![(2, "#SBATCH -N 2"), (3, "a")],
            ),
            (
                "cat <<-'EOF' > x\nnot; this\n\tEOF\nb",
                vec![(1, "cat <<-'EOF' > x"), (4, "b")],
            ),
            (
                "sbatch <<E\n#SBATCH -N 2\nE",
                vec![(1, "sbatch <<E"), (2, "#SBATCH -N 2"), (3, "E")],
            ),
            ("cat <<E\nx", vec![(1, "cat <<E")]),
            ("a <<< 'x'\nb", vec![(1, "a <<< 'x'"), (2, "b")]),
            ("a\\", vec![(1, "a\\")]),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        assert_eq!(statements("a\n'b\nc").1, Some(2));
    }
}
