//! The report of an experiment, and the forms in which it is written.

use std::collections::BTreeMap;

use mapa_front::answer::report as answer;
use mapa_sim::{Column, GENERATOR, Interval, Table};
use serde::Serialize;
use serde_json::Value;

use crate::claim::{Claim, HEADER, Verdict};
use crate::plan::Plan;
use mapa_front::Error;
use mapa_front::text::table;

/// The result of an experiment.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of the experiment.
    pub name: &'static str,
    /// The paper that it repeats.
    pub paper: &'static str,
    /// The title of the report.
    pub title: String,
    /// The command that repeats this run.
    pub command: String,
    /// The seeds of the job files.
    pub seeds: Vec<u64>,
    /// What the report opens with.
    pub opening: String,
    /// Assumptions, numbered from 1 as claims name them.
    pub assumptions: Vec<String>,
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// Numbers per job file, in the order of the seeds.
    pub per_file: Value,
}

/// A figure or a table of the paper, or a question of ours.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The name of the section, its key among the numbers.
    pub id: &'static str,
    /// The title.
    pub title: String,
    /// Whether the section measures wall-clock time, so that two runs differ.
    pub timed: bool,
    /// The claims.
    pub claims: Vec<Claim>,
    /// Paragraphs, tables and pictures, in order.
    pub blocks: Vec<Block>,
    /// The numbers, by name.
    pub numbers: BTreeMap<String, Value>,
}

/// A part of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph of Markdown.
    Text(String),
    /// A table; columns of numbers are aligned right.
    Table {
        /// The heading of each column.
        header: Vec<String>,
        /// The cells of each row.
        rows: Vec<Vec<String>>,
    },
    /// A picture, written as a file beside the report. `shows` is its alternative text.
    Picture {
        /// The name of its file.
        file: &'static str,
        /// The picture.
        svg: String,
        /// What it shows.
        shows: String,
    },
}

impl Section {
    /// A section without contents: the id by which other files name it, and its title.
    pub fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self {
            id,
            title: title.into(),
            ..Self::default()
        }
    }

    /// Adds a paragraph.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Adds a table: its header, and rows with as many cells.
    pub fn table<H: Into<String>>(
        mut self,
        header: impl IntoIterator<Item = H>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        self.blocks.push(Block::Table {
            header: header.into_iter().map(Into::into).collect(),
            rows,
        });
        self
    }

    /// Adds a picture: the name of its file, the SVG, and what it shows.
    pub fn picture(mut self, file: &'static str, svg: String, shows: impl Into<String>) -> Self {
        self.blocks.push(Block::Picture {
            file,
            svg,
            shows: shows.into(),
        });
        self
    }

    /// Adds claims, after those that are there.
    pub fn claims(mut self, claims: impl IntoIterator<Item = Claim>) -> Self {
        self.claims.extend(claims);
        self
    }

    /// Adds numbers under a name.
    pub fn numbers(mut self, name: impl Into<String>, numbers: impl Serialize) -> Self {
        self.insert(name, numbers);
        self
    }

    /// Adds numbers under a name.
    pub fn insert(&mut self, name: impl Into<String>, numbers: impl Serialize) {
        self.numbers.insert(name.into(), value(numbers));
    }
}

/// Marks before and after a [timed](Section::timed) section, for tools that compare reports.
const TIMED: [&str; 2] = ["<!-- timed -->", "<!-- /timed -->"];

impl Report {
    /// A report without sections: the experiment's name, its paper and its opening, and what it
    /// assumes.
    pub fn new(
        [name, paper, opening]: [&'static str; 3],
        assumptions: &[&str],
        plan: &Plan,
    ) -> Self {
        Self {
            name,
            paper,
            title: format!("{paper}, run again"),
            command: plan.command.clone(),
            seeds: plan.seeds().collect(),
            opening: opening.to_owned(),
            assumptions: assumptions
                .iter()
                .map(|&assumption| assumption.to_owned())
                .collect(),
            sections: Vec::new(),
            per_file: Value::Null,
        }
    }

    /// The report as an answer: every number, and the claims.
    #[must_use]
    pub fn answer(&self) -> answer::Report {
        let sections = self.sections.iter();
        answer::Report {
            experiment: self.name.to_owned(),
            paper: self.paper.to_owned(),
            command: self.command.clone(),
            generator: GENERATOR.to_owned(),
            seeds: self.seeds.clone(),
            assumptions: self.assumptions.clone(),
            per_file: self.per_file.clone(),
            sections: sections
                .map(|section| (section.id.to_owned(), section.answer()))
                .collect(),
        }
    }

    /// The claims as CSV, one in each line.
    ///
    /// # Errors
    /// If the CSV writer fails.
    pub fn csv(&self) -> Result<String, Error> {
        let claims: Vec<(&'static str, &Claim)> = self
            .sections
            .iter()
            .flat_map(|section| section.claims.iter().map(move |claim| (section.id, claim)))
            .collect();
        let cells: Vec<[String; 7]> = claims.iter().map(|(_, claim)| claim.cells()).collect();
        let section = claims.iter().map(|(id, _)| Some((*id).to_owned()));
        let table = Table::default()
            .with("section", Column::Texts(section.collect()))
            .and_then(|table| table.with("claim", texts(&cells, 0)))
            .and_then(|table| table.with("paper", texts(&cells, 1)))
            .and_then(|table| table.with("ours", texts(&cells, 2)))
            .and_then(|table| table.with("mean", numbers(&claims, |value| value.mean)))
            .and_then(|table| table.with("low", numbers(&claims, |value| value.low)))
            .and_then(|table| table.with("high", numbers(&claims, |value| value.high)))
            .and_then(|table| table.with("rule", texts(&cells, 4)))
            .and_then(|table| table.with("verdict", texts(&cells, 5)))
            .and_then(|table| table.with("assumes", texts(&cells, 6)))
            .map_err(Error::malformed)?;
        table.to_csv().map_err(Error::malformed)
    }

    /// The pictures by file name.
    pub fn pictures(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.sections
            .iter()
            .flat_map(|section| &section.blocks)
            .filter_map(|block| match block {
                Block::Picture { file, svg, .. } => Some((*file, svg.clone())),
                _ => None,
            })
    }

    /// The report for a terminal, without pictures.
    pub fn text(&self) -> String {
        self.written(false)
    }

    /// The report as Markdown. Pictures are links into the folder with the experiment's name.
    pub fn markdown(&self) -> String {
        self.written(true) + "\n"
    }

    /// The number of claims by verdict, for runs that write everything else into files.
    pub fn summary(&self) -> String {
        let [_, table] = self.in_short();
        let files = match self.seeds.len() {
            0 => String::new(),
            files => format!("; {files} job files"),
        };
        [format!("{}{files}", self.title), table].join("\n\n")
    }

    fn written(&self, pictures: bool) -> String {
        let mut parts = vec![format!("# {}", self.title), self.opening.clone()];
        let last = self.seeds.last().copied().unwrap_or_default();
        let first = self.seeds.first().copied().unwrap_or_default();
        parts.push(if self.seeds.is_empty() {
            format!("Made by `{}`.", self.command)
        } else {
            format!(
                "Made by `{}`: {} job files, seeds {first} to {last}, random numbers by {GENERATOR}.",
                self.command,
                self.seeds.len()
            )
        });
        parts.push("## What is assumed".to_owned());
        let numbered = self
            .assumptions
            .iter()
            .enumerate()
            .map(|(at, what)| format!("- **A{}.** {what}", at + 1));
        parts.push(numbered.collect::<Vec<_>>().join("\n"));
        parts.extend(self.in_short());
        parts.extend((!self.seeds.is_empty()).then(|| self.multiplicity()));
        for section in &self.sections {
            parts.extend(section.timed.then(|| TIMED[0].to_owned()));
            parts.extend(section.written(pictures.then_some(self.name)));
            parts.extend(section.timed.then(|| TIMED[1].to_owned()));
        }
        parts.join("\n\n")
    }
}

impl Report {
    /// A heading, and a table of the number of claims by section and verdict. Timed sections are
    /// left out.
    fn in_short(&self) -> [String; 2] {
        let untimed = || self.sections.iter().filter(|section| !section.timed);
        let is_given = |verdict| {
            let mut claims = untimed().flat_map(|section| &section.claims);
            claims.any(|claim| claim.verdict == verdict)
        };
        // Verdicts that only some papers need have a column where they are given.
        let rare = |verdict| {
            matches!(
                verdict,
                Verdict::Exceeds | Verdict::ByConstruction | Verdict::NotJudged
            )
        };
        let verdicts = Verdict::ALL.into_iter();
        let verdicts: Vec<Verdict> = verdicts
            .filter(|&verdict| !rare(verdict) || is_given(verdict))
            .collect();
        let header: Vec<String> = std::iter::once("claims".to_owned())
            .chain(verdicts.iter().map(Verdict::to_string))
            .collect();
        let mut rows = Vec::new();
        for section in untimed().filter(|section| !section.claims.is_empty()) {
            let mut row = vec![section.title.clone()];
            for &verdict in &verdicts {
                let claims = section.claims.iter();
                let count = claims.filter(|claim| claim.verdict == verdict).count();
                row.push(count.to_string());
            }
            rows.push(row);
        }
        ["## In short".to_owned(), grid(&header, &rows)]
    }
}

impl Report {
    /// How many verdicts rest on intervals, and what that means for all of them together.
    fn multiplicity(&self) -> String {
        let untimed = self.sections.iter().filter(|section| !section.timed);
        let judged = untimed
            .flat_map(|section| &section.claims)
            .filter(|claim| claim.value.is_some())
            .count();
        let missing = judged as f64 * 0.05;
        format!(
            "{judged} of these verdicts rest on a 95 % interval each. No interval is widened for the number of verdicts: of so many, about \
             {missing:.0} can be expected to miss the true value. Verdicts of one section share their job files, so they err together."
        )
    }
}

/// The column of the claims' cells at this place.
fn texts(cells: &[[String; 7]], at: usize) -> Column {
    Column::Texts(
        cells
            .iter()
            .map(|values| Some(values[at].clone()))
            .collect(),
    )
}

/// The column of a number of the claims' intervals.
fn numbers(claims: &[(&'static str, &Claim)], of: fn(Interval) -> f64) -> Column {
    Column::Numbers(
        claims
            .iter()
            .map(|(_, claim)| claim.value.map(of))
            .collect(),
    )
}

impl Section {
    fn answer(&self) -> answer::Section {
        answer::Section {
            title: self.title.clone(),
            timed: self.timed,
            claims: self.claims.iter().map(Claim::answer).collect(),
            numbers: self.numbers.clone(),
        }
    }

    /// The section as paragraphs of Markdown, with links to `pictures` if that folder is given.
    fn written(&self, pictures: Option<&str>) -> Vec<String> {
        let mut parts = vec![format!("## {}", self.title)];
        if !self.claims.is_empty() {
            let rows: Vec<Vec<String>> = self
                .claims
                .iter()
                .map(|claim| claim.cells().to_vec())
                .collect();
            parts.push(grid(&HEADER.map(str::to_owned), &rows));
        }
        parts.extend(self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.clone()),
            Block::Table { header, rows } => Some(grid(header, rows)),
            Block::Picture { file, shows, .. } => {
                pictures.map(|at| format!("![{shows}]({at}/{file})"))
            }
        }));
        parts
    }
}

/// Formats a table. Columns in which every cell is a number or empty are aligned right.
fn grid(header: &[String], rows: &[Vec<String>]) -> String {
    let numbers = (0..header.len()).filter(|&at| {
        rows.iter()
            .filter_map(|row| row.get(at))
            .all(|cell| cell.chars().all(|c| "0123456789.-± ".contains(c)))
    });
    let mut table = table(
        header.iter().map(String::as_str),
        numbers.collect::<Vec<_>>(),
    );
    for row in rows {
        table.add_row(row);
    }
    table.to_string()
}

/// A number as `results.json` keeps it.
pub fn three_decimals(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Numbers as `results.json` keeps them: by name, in the order of the alphabet. A number that JSON
/// cannot write is null.
pub fn value(numbers: impl Serialize) -> Value {
    // Only a map with keys that are no texts, or a program's own failure, cannot be written.
    serde_json::to_value(numbers).unwrap_or_default()
}
