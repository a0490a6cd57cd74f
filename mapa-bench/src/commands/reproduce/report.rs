//! What an experiment tells, and the forms in which it is written.

use mapa_sim::{Column, GENERATOR, Interval, Table};
use serde_json::{Map, Value, json};

use super::Plan;
use super::claim::{Claim, HEADER, Verdict};
use crate::failure::Failure;
use crate::output::table;

/// All that an experiment tells.
pub(super) struct Report {
    pub(super) name: &'static str,
    pub(super) paper: &'static str,
    pub(super) title: String,
    pub(super) command: String,
    pub(super) seeds: Vec<u64>,
    pub(super) opening: String,
    /// What is assumed, numbered from 1 as claims name it.
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
    /// Whether it depends on the clock, so that no two runs agree on it.
    pub(super) timed: bool,
    pub(super) claims: Vec<Claim>,
    pub(super) blocks: Vec<Block>,
    pub(super) numbers: Map<String, Value>,
}

pub(super) enum Block {
    Text(String),
    Table { header: Vec<String>, rows: Vec<Vec<String>> },
    Picture { file: &'static str, svg: String, shows: String },
}

impl Section {
    pub(super) fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self { id, title: title.into(), ..Self::default() }
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
        self.blocks.push(Block::Table { header: header.into_iter().map(Into::into).collect(), rows });
        self
    }

    pub(super) fn picture(mut self, file: &'static str, svg: String, shows: impl Into<String>) -> Self {
        self.blocks.push(Block::Picture { file, svg, shows: shows.into() });
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

/// What begins and ends the parts that no two runs agree on.
const TIMED: [&str; 2] = ["<!-- timed -->", "<!-- /timed -->"];

impl Report {
    /// The experiment's name, its paper and what is said first; what is assumed.
    pub(super) fn new([name, paper, opening]: [&'static str; 3], assumptions: &[&str], plan: &Plan) -> Self {
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

    /// Every number, with the claims.
    pub(super) fn json(&self) -> Value {
        let section = |own: &Section| {
            let claims: Vec<Value> = own.claims.iter().map(Claim::json).collect();
            let numbers = Value::Object(own.numbers.clone());
            let body = json!({ "title": own.title, "timed": own.timed, "claims": claims, "numbers": numbers });
            (own.id.to_owned(), body)
        };
        json!({
            "experiment": self.name, "paper": self.paper, "command": self.command, "generator": GENERATOR,
            "seeds": self.seeds, "assumptions": self.assumptions, "per_file": self.per_file,
            "sections": self.sections.iter().map(section).collect::<Map<_, _>>(),
        })
    }

    /// The claims, one a line.
    pub(super) fn csv(&self) -> Result<String, Failure> {
        let all = || self.sections.iter().flat_map(|own| own.claims.iter().map(move |claim| (own.id, claim)));
        let text = |of: &dyn Fn(&'static str, [String; 7]) -> String| {
            Column::Texts(all().map(|(section, claim)| Some(of(section, claim.cells()))).collect())
        };
        let number = |of: fn(Interval) -> f64| Column::Numbers(all().map(|(_, claim)| claim.value.map(of)).collect());
        let cell = |at: usize| text(&|_, cells| cells[at].clone());
        let columns = [
            ("section", text(&|section, _| section.to_owned())),
            ("claim", cell(0)),
            ("paper", cell(1)),
            ("ours", cell(2)),
            ("mean", number(|it| it.mean)),
            ("low", number(|it| it.low)),
            ("high", number(|it| it.high)),
            ("rule", cell(4)),
            ("verdict", cell(5)),
            ("assumes", cell(6)),
        ];
        let with = |table: Table, (name, column)| table.with(name, column);
        let table = columns.into_iter().try_fold(Table::default(), with).map_err(Failure::malformed)?;
        table.to_csv().map_err(Failure::malformed)
    }

    /// By file name.
    pub(super) fn pictures(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.sections.iter().flat_map(|own| &own.blocks).filter_map(|block| match block {
            Block::Picture { file, svg, .. } => Some((*file, svg.clone())),
            _ => None,
        })
    }

    /// For people at a terminal: without pictures.
    pub(super) fn text(&self) -> String {
        self.written(false)
    }

    /// For people who read Markdown; pictures lie in the folder of the experiment's name beside it.
    pub(super) fn markdown(&self) -> String {
        self.written(true) + "\n"
    }

    /// How many claims hold, for those who have the rest in files.
    pub(super) fn summary(&self) -> String {
        let [_, table] = self.in_short();
        [format!("{}; {} job files", self.title, self.seeds.len()), table].join("\n\n")
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
        let numbered = self.assumptions.iter().enumerate().map(|(at, what)| format!("- **A{}.** {what}", at + 1));
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
    /// How many claims of each section hold; without those that no two runs agree on.
    fn in_short(&self) -> [String; 2] {
        let verdicts = [Verdict::Holds, Verdict::Fails, Verdict::Open, Verdict::NotHad];
        let row = |own: &Section| {
            let count = |verdict| own.claims.iter().filter(|claim| claim.verdict == verdict).count().to_string();
            std::iter::once(own.title.clone()).chain(verdicts.map(count)).collect()
        };
        let told = self.sections.iter().filter(|own| !own.timed && !own.claims.is_empty());
        let header: Vec<String> =
            std::iter::once("claims".to_owned()).chain(verdicts.map(|verdict| verdict.to_string())).collect();
        ["## In short".to_owned(), grid(&header, &told.map(row).collect())]
    }
}

impl Section {
    fn written(&self, pictures: Option<&str>) -> Vec<String> {
        let mut parts = vec![format!("## {}", self.title)];
        if !self.claims.is_empty() {
            let rows = self.claims.iter().map(|claim| claim.cells().to_vec()).collect();
            parts.push(grid(&HEADER.map(str::to_owned), &rows));
        }
        parts.extend(self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.clone()),
            Block::Table { header, rows } => Some(grid(header, rows)),
            Block::Picture { file, shows, .. } => pictures.map(|at| format!("![{shows}]({at}/{file})")),
        }));
        parts
    }
}

/// A table; columns in which every cell is a number, or nothing, are flush right.
fn grid(header: &[String], rows: &Vec<Vec<String>>) -> String {
    let is_number = |cell: &str| cell.chars().all(|c| "0123456789.-± ".contains(c));
    let numbers = (0..header.len()).filter(|&at| rows.iter().all(|row| row.get(at).is_none_or(|cell| is_number(cell))));
    let mut table = table(header.iter().map(String::as_str), numbers.collect::<Vec<_>>());
    for row in rows {
        table.add_row(row);
    }
    table.to_string()
}
