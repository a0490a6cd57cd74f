//! The lines of the tree: what stands before them, and what each says.

use super::super::text;

/// A line of a log that belongs to a tree.
#[derive(Debug)]
pub(super) struct LogLine<'t> {
    pub(super) number: usize,
    /// The process and thread that printed it, as far as the line tells.
    pub(super) process: String,
    pub(super) says: LogWords<'t>,
}

/// What a line says.
#[derive(Debug)]
pub(super) enum LogWords<'t> {
    /// `=== System : maxBw 24.0 totalBw 48.0 ===`
    Heading(Heading),
    /// `CPU/0 (1/1/2)`
    Cpu(NodeId),
    /// `+ PCI[24.0] - GPU/6000 (0)`
    Row(Row<'t>),
    /// The line below a tree.
    End,
    /// A line of the paths that are printed behind a tree: `GPU/6000 :GPU/6000 (0/5000.0/LOC) ..`
    Path,
    /// A row that cannot be read: cut, or with something else in it.
    Garbled(&'t str),
}

/// The line above a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Heading {
    /// Whether bandwidths are called widths: NCCL up to 2.13.
    pub(super) widths: bool,
    /// What the direct links of one device add up to, GB/s; none before NCCL 2.8.
    pub(super) total: Option<f64>,
}

/// A row below a CPU.
#[derive(Debug, PartialEq)]
pub(super) struct Row<'t> {
    /// The column of its `+`, which shows what it is below.
    pub(super) column: usize,
    /// The kind of link: `PCI`, `NVL`.
    pub(super) link: &'t str,
    pub(super) gbps: f64,
    /// The kind of element at the other end: `GPU`, `NVS`.
    pub(super) node: &'t str,
    pub(super) id: NodeId,
    /// What stands in brackets behind the id: of a GPU its rank, of a switch its vendor and device.
    pub(super) remark: &'t str,
}

/// The id of an element: `6000`, or with the number of its host `0-6000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId {
    pub(super) host: u64,
    pub(super) local: u64,
    /// Whether the host was printed: NCCL from 2.21 on.
    pub(super) with_host: bool,
}

/// The bits of an id below the number of the host.
const LOCAL: u64 = (1 << 56) - 1;

impl NodeId {
    /// Reads hexadecimal digits, with the host's in front if they are told. Links to other elements had the
    /// whole id as one number in some versions that printed hosts.
    fn parse(text: &str) -> Option<Self> {
        let hex = |digits: &str| {
            let is_hex = (1..=16).contains(&digits.len())
                && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hex.then(|| u64::from_str_radix(digits, 16).ok())?
        };
        let mut parts = text.split('-').map(hex);
        let first = parts.next()??;
        let (host, whole, with_host) = match parts.next_back() {
            Some(last) => (first, last?, true),
            // -1 as a whole: a CPU whose NUMA node is unknown.
            None if first == u64::MAX => (first, first, false),
            None => (first >> 56, first, false),
        };
        parts.all(|part| part.is_some()).then_some(Self {
            host,
            local: whole & LOCAL,
            with_host,
        })
    }

    /// Whether this is -1: the NUMA node of the CPU is unknown.
    pub(super) fn is_unknown(self) -> bool {
        self.local == LOCAL
    }

    /// The host and the number in it: what identifies an element, however its id is printed.
    pub(super) fn key(self) -> (u64, u64) {
        (self.host, self.local)
    }

    /// The PCI address that the number packs.
    pub(super) fn address(self) -> String {
        address(self.local)
    }

    /// The PCI device of a partition: the lowest two bits tell partitions of one GPU apart.
    pub(super) fn whole_device(self) -> Self {
        Self {
            local: self.local & !0b11,
            ..self
        }
    }
}

/// The PCI address that a number packs: `6000` is 0000:06:00.0.
pub(super) fn address(local: u64) -> String {
    let (bus, device, function) = (local >> 12 & 0xff, local >> 4 & 0xff, local & 0xf);
    format!("{:04x}:{bus:02x}:{device:02x}.{function:x}", local >> 20)
}

impl<'t> LogLine<'t> {
    /// Reads a line; none if it is none of a tree.
    pub(super) fn parse(line: &'t str, number: usize) -> Option<Self> {
        let (before, column, content, marked) = split(line)?;
        let says = if let Some(heading) = heading(content) {
            LogWords::Heading(heading)
        } else if content.len() >= 20 && content.trim_end().bytes().all(|byte| byte == b'=') {
            LogWords::End
        } else if content.starts_with('+') {
            // Two processes may write into one line.
            match Row::parse(content, column).filter(|_| !content.contains(MARK)) {
                Some(row) => LogWords::Row(row),
                // Tables and differences have lines with `+` too.
                None if marked || looks_like_row(content) => LogWords::Garbled(content),
                None => return None,
            }
        } else if is_path(content) {
            LogWords::Path
        } else {
            let id = content.strip_prefix("CPU/")?;
            let (id, remark) = id.split_once(char::is_whitespace).unwrap_or((id, ""));
            match NodeId::parse(id) {
                Some(id) if is_whole(remark) && !content.contains(MARK) => LogWords::Cpu(id),
                _ => LogWords::Garbled(content),
            }
        };
        Some(Self {
            number,
            process: process(before),
            says,
        })
    }
}

/// The mark of NCCL's lines, without the letter in which RCCL may differ.
const MARK: &str = "CCL INFO";

/// What precedes a line's contents, the column of the contents, these, and whether NCCL's mark stands between.
fn split(line: &str) -> Option<(&str, usize, &str, bool)> {
    if let Some(at) = line.find(MARK) {
        let rest = &line[at + MARK.len()..];
        let content = rest.trim_start();
        let column = rest.len() - content.len();
        let before = line[..at].trim_end_matches(|c: char| c.is_ascii_alphabetic());
        return Some((before, column, content, true));
    }
    // Pasted without the mark, with time stamps or nothing in front.
    let starts = ["=== ", "=====", "+ ", "CPU/", "GPU/", "NET/"];
    let at = starts.iter().filter_map(|start| line.find(start)).min()?;
    let before = &line[..at];
    text::is_margin(before).then_some((before, at, &line[at..], false))
}

/// Who printed a line, from what precedes it: `host:pid:thread` if it has that, else all but time stamps.
fn process(before: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_thread = |word: &&str| {
        let mut parts = word.rsplitn(3, ':');
        let numbers = parts
            .by_ref()
            .take(2)
            .filter(|part| is_number(part))
            .count()
            == 2;
        // `12:34:56` is a time.
        numbers
            && parts
                .next()
                .is_some_and(|host| host.bytes().any(|byte| byte.is_ascii_alphabetic()))
    };
    let is_stamp = |word: &&str| {
        word.bytes().any(|byte| byte.is_ascii_digit())
            && word
                .bytes()
                .any(|byte| matches!(byte, b':' | b'-' | b'.' | b'/'))
            && word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b":-./,TZ+[]".contains(&byte))
    };
    if let Some(thread) = before.split_whitespace().rev().find(is_thread) {
        return thread.to_owned();
    }
    let words = before.split_whitespace().filter(|word| !is_stamp(word));
    words.collect::<Vec<_>>().join(" ")
}

/// The line above a tree: `=== System : maxWidth 21 maxSpeed 21 ===`, `=== System : maxBw 24.0 totalBw 48.0 ===`.
pub(super) fn heading(content: &str) -> Option<Heading> {
    let figures = content
        .trim()
        .strip_prefix("=== System : max")?
        .strip_suffix("===")?;
    let mut words = figures.split_whitespace();
    let widths = words.next()? == "Width";
    let named = words.skip_while(|word| !word.starts_with("total")).nth(1);
    Some(Heading {
        widths,
        total: named.and_then(gbps),
    })
}

/// A bandwidth. An upper limit keeps sums finite.
fn gbps(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_figure = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let gbps: f64 = text.parse().ok()?;
    (is_figure && gbps <= 1e6).then_some(gbps)
}

/// Whether what stands behind an id is whole: nothing, or begun and ended by brackets.
fn is_whole(remark: &str) -> bool {
    let remark = remark.trim();
    remark.is_empty() || remark.starts_with(['(', '[']) && remark.ends_with([')', ']'])
}

fn looks_like_row(content: &str) -> bool {
    let links = ["PCI", "NVL", "XGMI", "C2C", "SYS", "QPI", "NET", "LOC"];
    let rest = content[1..].trim_start();
    links.iter().any(|link| rest.starts_with(link))
}

/// Whether a line has the paths of an element to all others.
fn is_path(content: &str) -> bool {
    let id = content
        .strip_prefix("GPU/")
        .or_else(|| content.strip_prefix("NET/"));
    let behind = id.and_then(|id| id.split_once(" :"));
    behind.is_some_and(|(id, paths)| NodeId::parse(id).is_some() && paths.contains('/'))
}

impl<'t> Row<'t> {
    fn parse(content: &'t str, column: usize) -> Option<Self> {
        let (link, rest) = content.strip_prefix('+')?.split_once('[')?;
        let (figure, rest) = rest.split_once(']')?;
        let (node, rest) = rest.trim_start().strip_prefix("- ")?.split_once('/')?;
        let (id, remark) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is_word =
            |word: &str| word.len() <= 8 && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let (link, node) = (link.trim(), node.trim());
        (is_word(link) && is_word(node) && is_whole(remark)).then_some(())?;
        Some(Self {
            column,
            link,
            gbps: gbps(figure)?,
            node,
            id: NodeId::parse(id)?,
            remark: remark.trim(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: &str) -> Row<'_> {
        match LogLine::parse(line, 1).unwrap().says {
            LogWords::Row(row) => row,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn rows_are_read_as_versions_print_them() {
        for (line, column, link, gbps, node, host, address) in [
            (
                "h:1:2 [0] NCCL INFO + PCI[12] - GPU/1B000 (0)",
                1,
                "PCI",
                12.0,
                "GPU",
                0,
                "0000:1b:00.0",
            ),
            (
                "NCCL INFO               + NVL[42.0] - GPU/6010",
                15,
                "NVL",
                42.0,
                "GPU",
                0,
                "0000:06:01.0",
            ),
            (
                "   + PCI[24.0] - GPU/1-10000001000 (3) [MLOPart 0]",
                3,
                "PCI",
                24.0,
                "GPU",
                1,
                "100000:01:00.0",
            ),
            (
                "NCCL INFO + NVL[370.8] - GPU/100000000006001",
                1,
                "NVL",
                370.8,
                "GPU",
                1,
                "0000:06:00.1",
            ),
            (
                "NCCL INFO + C2C[394.6] - XC2C/0-281000",
                1,
                "C2C",
                394.6,
                "XC2C",
                0,
                "0002:81:00.0",
            ),
        ] {
            let row = row(line);
            assert_eq!(
                (
                    row.column,
                    row.link,
                    row.gbps,
                    row.node,
                    row.id.host,
                    row.id.address().as_str()
                ),
                (column, link, gbps, node, host, address),
                "{line}"
            );
        }
        assert_eq!(
            row("+ PCI[24.0] - PCI/1000 (1000c0101000ffff)").remark,
            "(1000c0101000ffff)"
        );
    }

    #[test]
    fn an_unknown_numa_node_is_minus_one_in_any_form() {
        for id in [
            "FFFFFFFFFFFFFFFF",
            "ffffffffffffffff-ffffffffffffff",
            "0-ffffffffffffff",
        ] {
            assert!(NodeId::parse(id).unwrap().is_unknown(), "{id}");
        }
        let whole = NodeId::parse("FFFFFFFFFFFFFFFF").unwrap();
        assert_eq!(
            whole.key(),
            NodeId::parse("ffffffffffffffff-ffffffffffffff")
                .unwrap()
                .key()
        );
        for id in ["", "-", "0-", "0-x", "11111111111111111", "0-1-x-2"] {
            assert_eq!(NodeId::parse(id), None, "{id}");
        }
    }

    #[test]
    fn cut_rows_are_garbled_and_other_lines_are_none() {
        for line in [
            "+ PCI[24.",
            "+ NVL",
            "NCCL INFO + ",
            "+ PCI[24.0] - GPU/6000 (0",
            "NCCL INFO CPU/x",
            "CPU/0 (1/1",
        ] {
            let says = LogLine::parse(line, 1).unwrap().says;
            assert!(matches!(says, LogWords::Garbled(_)), "{line}");
        }
        for line in [
            "",
            "+ added",
            "+----+",
            "NCCL INFO Channel 00/02 : 0 1",
            "step 3: loss 2.1",
            "see CPU/0",
        ] {
            assert!(LogLine::parse(line, 1).is_none(), "{line}");
        }
        let end = LogLine::parse("==========================================", 1).unwrap();
        assert!(matches!(end.says, LogWords::End));
    }

    #[test]
    fn processes_are_told_apart_by_host_process_and_thread() {
        for (before, told) in [
            ("node1:12:34 [0] ", "node1:12:34"),
            ("[2025-06-01 10:00:00] node1:12:34 [0] ", "node1:12:34"),
            (
                "[1,0]<stdout>:node1:12:34 [0] ",
                "[1,0]<stdout>:node1:12:34",
            ),
            ("2025-06-01 10:00:00.123 ", ""),
            ("12:34:56 [rank0]: ", "[rank0]:"),
            ("", ""),
        ] {
            assert_eq!(process(before), told, "{before}");
        }
    }

    #[test]
    fn headings_tell_the_version_and_the_sum_of_links() {
        for (line, widths, total) in [
            ("=== System : maxWidth 21 maxSpeed 21 ===", true, None),
            (
                "=== System : maxWidth 42.0 totalWidth 252.0 ===",
                true,
                Some(252.0),
            ),
            (
                "=== System : maxBw 24.0 totalBw 48.0 ===",
                false,
                Some(48.0),
            ),
        ] {
            assert_eq!(heading(line), Some(Heading { widths, total }), "{line}");
        }
        assert_eq!(heading("=== System : maxBw 24.0"), None);
    }
}
