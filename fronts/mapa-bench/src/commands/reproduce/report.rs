//! The report of an experiment, and the forms in which it is written.

use mapa_sim::{Column, GENERATOR, Interval, Table};
use serde_json::{Map, Value, json};

use super::claim::{Claim, HEADER, Verdict};
use super::plan::Plan;
use crate::failure::Failure;
use mapa_front::text::table;

/// The result of an experiment.
pub(super) struct Report {
    pub(super) name: &'static str,
    pub(super) paper: &'static str,
    pub(super) title: String,
    pub(super) command: String,
    pub(super) seeds: Vec<u64>,
    pub(super) opening: String,
    /// Assumptions, numbered from 1 as claims name them.
    pub(super) assumptions: Vec<String>,
    pub(super) sections: Vec<Section>,
    /// Numbers per job file, in the order of the seeds.
    pub(super) per_file: Value,
}

/// A figure or a table of the paper, or a question of ours.
#[derive(Default)]
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: String,
    /// Whether the section measures wall-clock time, so that two runs differ.
    pub(super) timed: bool,
    pub(super) claims: Vec<Claim>,
    pub(super) blocks: Vec<Block>,
    pub(super) numbers: Map<String, Value>,
}

/// A part of a section.
pub(super) enum Block {
    /// A paragraph of Markdown.
    Text(String),
    /// A table; columns of numbers are aligned right.
    Table {
        header: Vec<String>,
        rows: Vec<Vec<String>>,
    },
    /// A picture, written as a file beside the report. `shows` is its alternative text.
    Picture {
        file: &'static str,
        svg: String,
        shows: String,
    },
}

impl Section {
    pub(super) fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self {
            id,
            title: title.into(),
            ..Self::default()
        }
    }

    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    pub(super) fn table<H: Into<String>>(
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

    pub(super) fn picture(
        mut self,
        file: &'static str,
        svg: String,
        shows: impl Into<String>,
    ) -> Self {
        self.blocks.push(Block::Picture {
            file,
            svg,
            shows: shows.into(),
        });
        self
    }

    pub(super) fn claims(mut self, claims: impl IntoIterator<Item = Claim>) -> Self {
        self.claims.extend(claims);
        self
    }

    pub(super) fn numbers(mut self, name: impl Into<String>, value: Value) -> Self {
        self.numbers.insert(name.into(), value);
        self
    }
}

/// Marks before and after a [timed](Section::timed) section, for tools that compare reports.
const TIMED: [&str; 2] = ["<!-- timed -->", "<!-- /timed -->"];

impl Report {
    /// A report without sections: the experiment's name, its paper and its opening, and what it
    /// assumes.
    pub(super) fn new(
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
            assumptions: assumptions.iter().map(|&own| own.to_owned()).collect(),
            sections: Vec::new(),
            per_file: Value::Null,
        }
    }

    /// The JSON object of the report: every number, and the claims.
    pub(super) fn json(&self) -> Value {
        let sections: Map<String, Value> = self
            .sections
            .iter()
            .map(|own| (own.id.to_owned(), own.json()))
            .collect();
        json!({
            "experiment": self.name,
            "paper": self.paper,
            "command": self.command,
            "generator": GENERATOR,
            "seeds": self.seeds,
            "assumptions": self.assumptions,
            "per_file": self.per_file,
            "sections": sections,
        })
    }

    /// The claims as CSV, one in each line.
    ///
    /// # Errors
    /// If the CSV writer fails.
    pub(super) fn csv(&self) -> Result<String, Failure> {
        let claims: Vec<(&'static str, &Claim)> = self
            .sections
            .iter()
            .flat_map(|own| own.claims.iter().map(move |claim| (own.id, claim)))
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
            .map_err(Failure::malformed)?;
        table.to_csv().map_err(Failure::malformed)
    }

    /// The pictures by file name.
    pub(super) fn pictures(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.sections
            .iter()
            .flat_map(|own| &own.blocks)
            .filter_map(|block| match block {
                Block::Picture { file, svg, .. } => Some((*file, svg.clone())),
                _ => None,
            })
    }

    /// The report for a terminal, without pictures.
    pub(super) fn text(&self) -> String {
        self.written(false)
    }

    /// The report as Markdown. Pictures are links into the folder with the experiment's name.
    pub(super) fn markdown(&self) -> String {
        self.written(true) + "\n"
    }

    /// The number of claims by verdict, for runs that write everything else into files.
    pub(super) fn summary(&self) -> String {
        let [_, table] = self.in_short();
        [
            format!("{}; {} job files", self.title, self.seeds.len()),
            table,
        ]
        .join("\n\n")
    }

    fn written(&self, pictures: bool) -> String {
        let mut parts = vec![format!("# {}", self.title), self.opening.clone()];
        let last = self.seeds.last().copied().unwrap_or_default();
        let first = self.seeds.first().copied().unwrap_or_default();
        parts.push(format!(
            "Made by `{}`: {} job files, seeds {first} to {last}, random numbers by {GENERATOR}.",
            self.command,
            self.seeds.len()
        ));
        parts.push("## What is assumed".to_owned());
        let numbered = self
            .assumptions
            .iter()
            .enumerate()
            .map(|(at, what)| format!("- **A{}.** {what}", at + 1));
        parts.push(numbered.collect::<Vec<_>>().join("\n"));
        parts.extend(self.in_short());
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
        let verdicts = [
            Verdict::Holds,
            Verdict::Fails,
            Verdict::Open,
            Verdict::NotHad,
        ];
        let header: Vec<String> = std::iter::once("claims".to_owned())
            .chain(verdicts.map(|verdict| verdict.to_string()))
            .collect();
        let mut rows = Vec::new();
        for section in &self.sections {
            if section.timed || section.claims.is_empty() {
                continue;
            }
            let mut row = vec![section.title.clone()];
            for verdict in verdicts {
                let claims = section.claims.iter();
                let count = claims.filter(|claim| claim.verdict == verdict).count();
                row.push(count.to_string());
            }
            rows.push(row);
        }
        ["## In short".to_owned(), grid(&header, &rows)]
    }
}

/// The column of the claims' cells at this place.
fn texts(cells: &[[String; 7]], at: usize) -> Column {
    Column::Texts(cells.iter().map(|own| Some(own[at].clone())).collect())
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
    fn json(&self) -> Value {
        json!({
            "title": self.title,
            "timed": self.timed,
            "claims": self.claims.iter().map(Claim::json).collect::<Vec<_>>(),
            "numbers": self.numbers,
        })
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
pub(super) fn three_decimals(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
