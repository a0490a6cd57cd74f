//! The published table on the published days, and where the document contradicts itself.

use mapa_front::Error;
use mapa_lab::claim::{Claim, EXACT, Verdict};
use mapa_lab::report::Section;
use mapa_system_energy::{
    Arithmetic, EarliestFinish, Fit, LargestFirst, MeanFinish, Power, RandomSlice, Rule,
    SlicedGpus, SmallestFirst, State,
};
use mapa_system_energy_sim::{
    PUBLISHED_SEEDS, Totals, published_day, published_draws, run as run_day,
};
use serde::Serialize;

/// What three numbers of a rule come to over days.
#[derive(Clone, Copy, Serialize)]
pub(super) struct RuleNumbers {
    pub(super) late_percent: f64,
    pub(super) tardiness_minutes: f64,
    pub(super) energy_watt_minutes: f64,
}

/// A rule on the ten published days, in one arithmetic.
struct RuleLine {
    name: &'static str,
    arithmetic: Arithmetic,
    days: Vec<Totals>,
}

pub(super) struct PublishedDays(Vec<RuleLine>);

/// The printed rows: late jobs in percent, tardiness, energy, each with its standard deviation.
const PRINTED: [(&str, &str); 4] = [
    (LARGEST, "42.7 ± 5.7, 1.02 ± 0.73, 2.51 ± 0.05"),
    ("eft-published", "43.1 ± 5.6, 1.04 ± 0.63, 2.48 ± 0.05"),
    ("smallest-first", "54.3 ± 4.7, 1.21 ± 0.58, 2.42 ± 0.05"),
    ("random", "50.1 ± 4.7, 1.13 ± 0.57, 2.49 ± 0.04"),
];
const LARGEST: &str = "largest-first";
const NAMES: [&str; 7] = [
    LARGEST,
    "eft-published",
    "smallest-first",
    "random",
    "eft",
    "fit",
    "fit-fullest",
];

fn rule(name: &str, seed: u32) -> Result<Box<dyn Rule>, Error> {
    Ok(match name {
        LARGEST => Box::new(LargestFirst),
        "eft-published" => Box::new(MeanFinish),
        "smallest-first" => Box::new(SmallestFirst),
        "random" => Box::new(RandomSlice::new(
            published_draws(seed).map_err(Error::malformed)?,
        )),
        "eft" => Box::new(EarliestFinish),
        "fit" => Box::new(Fit::default()),
        _ => Box::new(Fit::fullest()),
    })
}

pub(super) fn run() -> Result<PublishedDays, Error> {
    let mut lines = Vec::new();
    for arithmetic in [Arithmetic::Single, Arithmetic::Double] {
        for name in NAMES {
            let days = PUBLISHED_SEEDS.into_iter().map(|seed| {
                let jobs = published_day(seed).map_err(Error::malformed)?;
                let machine = SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100)
                    .map_err(Error::malformed)?;
                let state = State::new(machine).arithmetic(arithmetic);
                run_day(&jobs, state, &mut *rule(name, seed)?).map_err(Error::malformed)
            });
            lines.push(RuleLine {
                name,
                arithmetic,
                days: days.collect::<Result<_, Error>>()?,
            });
        }
    }
    Ok(PublishedDays(lines))
}

impl RuleLine {
    /// The mean over the days, and the standard deviation as the document has it: of the ten days
    /// themselves.
    fn spread(&self, of: impl Fn(&Totals) -> f64) -> [f64; 2] {
        let n = self.days.len() as f64;
        let mean = self.days.iter().map(&of).sum::<f64>() / n;
        let squares = self.days.iter().map(|day| (of(day) - mean).powi(2));
        [mean, (squares.sum::<f64>() / n).sqrt()]
    }

    fn numbers(&self) -> RuleNumbers {
        RuleNumbers {
            late_percent: self.spread(|totals| 100.0 * totals.late_share())[0],
            tardiness_minutes: self.spread(Totals::mean_tardiness)[0],
            energy_watt_minutes: self.spread(|totals| totals.published_watt_minutes)[0],
        }
    }

    /// The three cells of the table, to the printed digits.
    fn cells(&self) -> [String; 3] {
        let [late, tardy, energy] = [
            self.spread(|totals| 100.0 * totals.late_share()),
            self.spread(Totals::mean_tardiness),
            self.spread(|totals| totals.published_watt_minutes / 1e6),
        ];
        [
            format!("{:.1} ± {:.1}", late[0], late[1]),
            format!("{:.2} ± {:.2}", tardy[0], tardy[1]),
            format!("{:.2} ± {:.2}", energy[0], energy[1]),
        ]
    }
}

impl PublishedDays {
    fn of(&self, name: &str, arithmetic: Arithmetic) -> Option<&RuleLine> {
        let mut lines = self.0.iter();
        lines.find(|line| line.name == name && line.arithmetic == arithmetic)
    }

    fn single(&self, name: &str) -> Option<&RuleLine> {
        self.of(name, Arithmetic::Single)
    }
}

pub(super) fn section(all: &PublishedDays) -> Section {
    let mut section = Section::new("table", "The published table on the ten published days");
    let mut claims = Vec::new();
    for (name, printed) in PRINTED {
        if let Some(line) = all.single(name) {
            let ours = line.cells().join(", ");
            let same = Verdict::of(ours == printed);
            let what = format!(
                "{name}: late jobs in percent, tardiness in minutes, energy in 10^6 watt-minutes"
            );
            claims.push(Claim::new(what, printed, &[1, 2, 3, 4]).found(
                ours,
                None,
                "every digit",
                same,
            ));
        }
    }
    if let (Some(fit), Some(double)) = (
        all.single("fit-fullest"),
        all.of("fit-fullest", Arithmetic::Double),
    ) {
        let of = |line: &RuleLine| {
            let own = line.numbers();
            (
                own.late_percent,
                own.tardiness_minutes,
                own.energy_watt_minutes / 1e6,
            )
        };
        let (single, double) = (of(fit), of(double));
        for (what, limit, (single, double)) in [
            ("late jobs, percent", 37.7, (single.0, double.0)),
            ("tardiness, minutes", 0.91, (single.1, double.1)),
            ("energy, 10^6 watt-minutes", 2.50, (single.2, double.2)),
        ] {
            claims.push(
                Claim::new(
                    format!("fit-fullest has less than the trained net printed: {what}"),
                    format!("{limit} (the net)"),
                    &[1, 2, 3, 4],
                )
                .found(
                    format!("{single:.3}; {double:.3} with 64 bits"),
                    None,
                    EXACT,
                    Verdict::of(single < limit),
                ),
            );
        }
    }
    let mut rows = Vec::new();
    for line in &all.0 {
        let bits = match line.arithmetic {
            Arithmetic::Single => "32",
            Arithmetic::Double => "64",
        };
        if line.arithmetic == Arithmetic::Single {
            section.insert(line.name, line.numbers());
        }
        let exact = line.spread(|totals| totals.watt_minutes / 1e6)[0];
        let mut row = vec![line.name.to_owned(), bits.to_owned()];
        row.extend(line.cells());
        row.push(format!("{exact:.3}"));
        rows.push(row);
    }
    section.claims(claims).table(
        [
            "rule",
            "bits",
            "late, %",
            "tardiness, min",
            "energy as published",
            "energy, exact",
        ],
        rows,
    ).text(
        "Means ± standard deviations over the days, energy in 10^6 watt-minutes. One bit more or less leads to another day where jobs pile up, so \
         arithmetics are not mixed. The random rule draws on from the stream of its day. The trained net of the document cannot be run on these \
         days: its weights are not published.",
    )
}

pub(super) fn contradictions(all: &PublishedDays) -> Section {
    let section = Section::new("contradictions", "Where the document contradicts itself");
    let mut claims = Vec::new();
    if let (Some(eft), Some(largest)) = (all.single("eft"), all.single(LARGEST)) {
        let equal = eft.days == largest.days
            || (eft.days.iter().zip(&largest.days)).all(|(a, b)| {
                (a.late, a.tardiness, a.watt_minutes) == (b.late, b.tardiness, b.watt_minutes)
            });
        claims.push(
            Claim::new(
                "\"Earliest finish time\" is another rule than largest-first",
                "43.1 against 42.7 %",
                &[1, 2, 3, 4],
            )
            .found(
                "the earliest finish on a free slice is the largest slice on every day; the code compares means of groups",
                None,
                EXACT,
                Verdict::of(!equal),
            ),
        );
        let power = largest.spread(|totals| totals.watt_minutes / totals.end)[0];
        claims.push(Claim::new("A day takes 2.5 MJ", "2.51 MJ", &[1, 4]).found(
            format!("{power:.0} W on average for eight GPUs: a day of that is 150 MJ"),
            None,
            EXACT,
            Verdict::of(power * 24.4 * 3600.0 < 3e6),
        ));
        let jobs = largest.spread(|totals| totals.jobs as f64)[0];
        claims.push(
            Claim::new("A day has hundreds of jobs", "hundreds", &[2]).found(
                format!("{jobs:.0} on average"),
                None,
                EXACT,
                Verdict::of(jobs < 1000.0),
            ),
        );
    }
    claims.push(
        Claim::new(
            "Power is concave in busy slices",
            "concave",
            &[1],
        )
        .found(
            "the manuscript's own numbers rise by 41 and then by 45.3 W; the bound on energy needs only that they lie above their chord, and they do",
            None,
            EXACT,
            Verdict::of(is_concave(&Power::A100_MANUSCRIPT)),
        ),
    );
    section.claims(claims)
}

fn is_concave(power: &Power) -> bool {
    (0..6u8).all(|busy| power.added(busy, 1) >= power.added(busy + 1, 1))
}
