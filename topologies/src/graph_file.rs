//! Files of plain graphs, in the three forms that public benchmarks of subgraph matching use.
//!
//! | form | first line | then |
//! |---|---|---|
//! | edge list | `n m` | `u v`, for each edge |
//! | adjacency lists | `n` | for each vertex, how many neighbours and which: `2 0 3`; each edge from both ends |
//! | labelled | `t n m` | `v id label degree`, for each vertex; `e u v`, for each edge |
//!
//! Vertices are numbered from 0 and edges have no direction. Redundant statements must agree:
//! numbers of vertices and edges, degrees, both ends of an adjacency. An edge that is given twice
//! is an error, because one of the two would be lost. A loop counts as an edge, and in adjacency
//! lists as a neighbour, but not in the degree of a labelled vertex. Blank lines are ignored.

use std::collections::HashMap;
use std::fmt::Write;

use mapa_core::Graph;

use crate::error::{Error, utf8};

/// Reads a graph: an edge list, adjacency lists, or a labelled graph. The first line tells which.
///
/// # Examples
/// ```
/// use mapa_topologies::{read_graph, write_graph};
///
/// let triangle = read_graph(b"3 3\n0 1\n1 2\n2 0\n")?;
/// assert_eq!((triangle.len(), triangle.edge_count()), (3, 3));
/// let pair = read_graph(b"t 2 1\nv 0 7 1\nv 1 9 1\ne 0 1\n")?;
/// assert_eq!(pair.labels(), [7, 9]);
/// assert_eq!(read_graph(write_graph(&pair).as_bytes())?, pair);
/// let error = read_graph(b"2 1\n0 2\n").unwrap_err();
/// assert_eq!(error.to_string(), "line 2: vertex `2`: expected a number below 2");
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
///
/// # Errors
/// Text that is not UTF-8, or is malformed: the message names the line and what was expected there.
pub fn read_graph(bytes: &[u8]) -> Result<Graph, Error> {
    let mut lines = utf8(bytes)?
        .lines()
        .zip(1..)
        .map(GraphLine::new)
        .filter(|line| !line.words.is_empty());
    let Some(first) = lines.next() else {
        return Err(Error::new(
            "no graph: expected `n m`, `n`, or `t n m` in the first line",
        ));
    };
    match first.words[..] {
        ["t", n, m] => labelled(&GraphHeader::new(&first, n, Some(m))?, lines),
        ["t", ..] => Err(first.expected("`t n m`, the numbers of vertices and edges")),
        [n, m] => edge_list(&GraphHeader::new(&first, n, Some(m))?, lines),
        [n] => adjacency_lists(&GraphHeader::new(&first, n, None)?, lines),
        _ => Err(first.expected("`n m`, `n`, or `t n m` in the first line")),
    }
}

/// The graph as an edge list; as a labelled graph, if any label is not 0.
#[must_use]
pub fn write_graph(graph: &Graph) -> String {
    let (n, m) = (graph.len(), graph.edge_count());
    let is_labelled = graph.labels().iter().any(|&label| label != 0);
    let mut text = if is_labelled {
        format!("t {n} {m}\n")
    } else {
        format!("{n} {m}\n")
    };
    // Writing to a string does not fail.
    for (v, label) in (0..).zip(graph.labels()).filter(|_| is_labelled) {
        let _ = writeln!(text, "v {v} {label} {}", graph.degree(v));
    }
    for (a, b) in graph.edges() {
        let _ = writeln!(text, "{}{a} {b}", if is_labelled { "e " } else { "" });
    }
    text
}

struct GraphLine<'t> {
    number: usize,
    words: Vec<&'t str>,
}

impl<'t> GraphLine<'t> {
    fn new((text, number): (&'t str, usize)) -> Self {
        // Counted first: a list that doubles would have twice the room.
        let mut words = Vec::with_capacity(text.split_whitespace().count());
        words.extend(text.split_whitespace());
        Self { number, words }
    }

    fn error(&self, what: impl Into<String>) -> Error {
        Error::at(self.number, what)
    }

    fn expected(&self, what: &str) -> Error {
        self.error(format!("`{}`: expected {what}", self.words.join(" ")))
    }

    fn number<T: std::str::FromStr>(&self, word: &str, what: &str) -> Result<T, Error> {
        // "+1" would parse too.
        let digits = word.bytes().all(|b| b.is_ascii_digit());
        let number = if digits { word.parse().ok() } else { None };
        number
            .ok_or_else(|| self.error(format!("{what} `{word}`: expected a number, not too large")))
    }

    fn vertex(&self, word: &str, header: &GraphHeader) -> Result<u32, Error> {
        let vertex = self
            .number(word, "vertex")
            .ok()
            .filter(|&v: &u32| (v as usize) < header.vertices);
        vertex.ok_or_else(|| {
            self.error(format!(
                "vertex `{word}`: expected a number below {}",
                header.vertices
            ))
        })
    }
}

/// The numbers in the first line.
struct GraphHeader {
    line: usize,
    vertices: usize,
    edges: Option<usize>,
}

impl GraphHeader {
    fn new(line: &GraphLine<'_>, n: &str, m: Option<&str>) -> Result<Self, Error> {
        let vertices = line.number(n, "number of vertices")?;
        if vertices > Graph::MAX_VERTICES {
            let most = Graph::MAX_VERTICES;
            return Err(line.error(format!("{vertices} vertices: expected at most {most}")));
        }
        let edges = m.map(|m| line.number(m, "number of edges")).transpose()?;
        Ok(Self {
            line: line.number,
            vertices,
            edges,
        })
    }

    fn graph(&self, labels: Vec<u32>, edges: ListedEdges) -> Result<Graph, Error> {
        let (given, line) = (edges.list.len(), self.line);
        if let Some(edges) = self.edges.filter(|&edges| edges != given) {
            return Err(Error::at(
                line,
                format!("{edges} edges announced: expected {given}, as many as are given"),
            ));
        }
        Graph::labelled(labels, edges.list).map_err(|error| Error::core(Some(line), error))
    }
}

/// Edges in the order in which they are given, and the line of each.
#[derive(Default)]
struct ListedEdges {
    list: Vec<(u32, u32)>,
    lines: HashMap<(u32, u32), usize>,
}

impl ListedEdges {
    fn add(&mut self, line: &GraphLine<'_>, a: u32, b: u32) -> Result<(), Error> {
        if let Some(before) = self.lines.insert((a.min(b), a.max(b)), line.number) {
            return Err(line.error(format!(
                "edge {a}-{b} is in line {before} already: expected each edge once"
            )));
        }
        self.list.push((a, b));
        Ok(())
    }
}

fn edge_list<'t>(
    header: &GraphHeader,
    lines: impl Iterator<Item = GraphLine<'t>>,
) -> Result<Graph, Error> {
    let mut edges = ListedEdges::default();
    for line in lines {
        let [a, b] = line.words[..] else {
            return Err(line.expected("`u v`, the two ends of an edge"));
        };
        edges.add(&line, line.vertex(a, header)?, line.vertex(b, header)?)?;
    }
    header.graph(vec![0; header.vertices], edges)
}

fn adjacency_lists<'t>(
    header: &GraphHeader,
    lines: impl Iterator<Item = GraphLine<'t>>,
) -> Result<Graph, Error> {
    let mut edges = ListedEdges::default();
    // By edge still seen from one end only, that end and its line.
    let mut half = HashMap::<(u32, u32), (u32, usize)>::new();
    let mut vertices = 0;
    for line in lines {
        if vertices == header.vertices {
            return Err(line.expected(&format!("nothing after {vertices} lists")));
        }
        let own = vertices as u32;
        vertices += 1;
        let count: usize = line.number(line.words[0], "number of neighbours")?;
        if count != line.words.len() - 1 {
            let given = line.words.len() - 1;
            return Err(line.error(format!(
                "{count} neighbours announced: expected {given}, as many as are given"
            )));
        }
        for word in &line.words[1..] {
            let other = line.vertex(word, header)?;
            let ends = (own.min(other), own.max(other));
            match half.get(&ends) {
                Some((end, _)) if *end != own => drop(half.remove(&ends)),
                _ => {
                    edges.add(&line, own, other)?;
                    if own != other {
                        half.insert(ends, (own, line.number));
                    }
                }
            }
        }
    }
    if vertices < header.vertices {
        let most = header.vertices;
        return Err(Error::at(
            header.line,
            format!("{most} vertices announced: expected {vertices}, as many as lists"),
        ));
    }
    if let Some((&(a, b), &(end, line))) = half.iter().min_by_key(|(_, (_, line))| *line) {
        let other = if end == a { b } else { a };
        return Err(Error::at(
            line,
            format!("{end} lists {other}: expected {other} to list {end} too"),
        ));
    }
    header.graph(vec![0; vertices], edges)
}

fn labelled<'t>(
    header: &GraphHeader,
    lines: impl Iterator<Item = GraphLine<'t>>,
) -> Result<Graph, Error> {
    let mut edges = ListedEdges::default();
    // By vertex, its label, its degree and its line.
    let mut vertices: Vec<Option<(u32, usize, usize)>> = vec![None; header.vertices];
    for line in lines {
        match line.words[..] {
            ["v", id, label, degree] => {
                let id = line.vertex(id, header)?;
                let own = (
                    line.number(label, "label")?,
                    line.number(degree, "degree")?,
                    line.number,
                );
                if let Some((_, _, before)) = vertices[id as usize].replace(own) {
                    return Err(line.error(format!(
                        "vertex {id} is in line {before} already: expected each once"
                    )));
                }
            }
            ["e", a, b] => edges.add(&line, line.vertex(a, header)?, line.vertex(b, header)?)?,
            _ => return Err(line.expected("`v id label degree` or `e u v`")),
        }
    }
    if let Some(missing) = vertices.iter().position(Option::is_none) {
        let n = header.vertices;
        return Err(Error::at(
            header.line,
            format!("vertex {missing} of {n} is missing: expected a line `v` for each"),
        ));
    }
    let labels = vertices
        .iter()
        .flatten()
        .map(|(label, _, _)| *label)
        .collect();
    let graph = header.graph(labels, edges)?;
    for (v, (_, degree, line)) in (0..).zip(vertices.iter().flatten()) {
        if graph.degree(v) != *degree {
            let given = graph.degree(v);
            return Err(Error::at(
                *line,
                format!("vertex {v} has degree {degree}: expected {given}, as its edges have it"),
            ));
        }
    }
    Ok(graph)
}
