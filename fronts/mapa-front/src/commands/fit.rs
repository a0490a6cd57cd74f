//! `fit`: a model of bandwidth from measurements, with its errors and validations.

use std::collections::BTreeSet;

use mapa_core::{DeviceId, LinkClass, Term, Tiers};
use mapa_regress::{
    Column, Error as FitError, Fit, FitConfig, Measurement, Method, RankOrder, SampleConfig,
    Samples, fit as fitted, k_fold, leave_one_size_out, read_measurements, samples,
};
use mapa_topologies::Labels;
use serde::{Deserialize, Serialize};

use crate::answer::fit::{self as answer, Validated};
use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::machine::{Loaded, MachineSpec};

/// A request for a model of bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FitRequest {
    /// The machine. Whoever computes the answer has loaded it by this.
    pub machine: MachineSpec,
    /// Files of measurements.
    pub measurements: Vec<String>,
    /// The method of regression.
    pub method: FitMethod,
    /// The weight of the ridge penalty, for the method `ridge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// The worst link of each tier by which links are counted, best tier first. All worse links form one more tier.
    pub tiers: Vec<String>,
    /// The terms of a prediction.
    pub terms: FitTerms,
    /// In how many parts samples are held out; five, or fewer if they have fewer distinct link counts, and each size of
    /// job too, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// Which bus bandwidth of a run counts.
    pub column: FitColumn,
    /// The collective whose runs count, besides runs that name none; `all` for every run.
    pub op: String,
    /// The ring whose links are counted for a run.
    pub ring: FitRing,
    /// Whether coefficients of least norm are taken where the samples do not determine them.
    pub allow_rank_deficient: bool,
    /// The name of the model.
    pub name: String,
}

impl Default for FitRequest {
    fn default() -> Self {
        Self {
            machine: MachineSpec::default(),
            measurements: Vec::new(),
            method: FitMethod::default(),
            lambda: None,
            // The three tiers of Eq. 2: double links, single links, and the rest.
            tiers: vec!["nv2".to_owned(), "nv1".to_owned()],
            terms: FitTerms::default(),
            folds: None,
            column: FitColumn::default(),
            // The bus bandwidths of two collectives differ on the same links, so a fit of both would describe
            // neither.
            op: "all_reduce".to_owned(),
            ring: FitRing::default(),
            allow_rank_deficient: false,
            name: "fitted_gbps".to_owned(),
        }
    }
}

/// A method of regression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FitMethod {
    /// Least squares.
    LeastSquares,
    /// Least squares with a penalty on large coefficients.
    Ridge,
    /// Least squares without negative coefficients.
    Nnls,
    /// Least squares under the constraint that a better link never lowers a prediction.
    #[default]
    Monotone,
}

/// The terms of a prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FitTerms {
    /// Those of Eq. 2.
    #[default]
    #[serde(rename = "eq-2")]
    Eq2,
    /// The link counts alone.
    Linear,
}

/// The bus bandwidth of a run that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FitColumn {
    /// That of the run out of place.
    #[default]
    OutOfPlace,
    /// That of the run in place.
    InPlace,
    /// The better of both.
    Best,
}

/// The ring on which links are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FitRing {
    /// The ring of highest aggregated bandwidth: libraries choose rings by their links.
    #[default]
    Best,
    /// The ring in rank order.
    Ranks,
}

/// A fitted model, and how far to trust it.
pub struct FitOutcome {
    /// The name of the machine.
    pub machine: String,
    /// The samples, and what was left out.
    pub found: Samples,
    /// The fitted model, with the residual of each row.
    pub fit: Fit,
    /// The ring of each row of the fit.
    pub rings: Vec<Vec<DeviceId>>,
    /// The fit without parts of the samples, and how it predicts these.
    pub validations: Vec<Validated>,
    /// Reasons to doubt the model.
    pub notes: Vec<String>,
}

/// A model of bandwidth from measurements, as `mapa-bench fit --json` answers.
///
/// # Errors
/// If the request contradicts itself, a file cannot be read, or the samples determine no model.
pub fn fit(files: &dyn Files, loaded: &Loaded, request: &FitRequest) -> Result<answer::Fit, Error> {
    Ok(request.outcome(files, loaded, &mut |_, _| {})?.answer(&[]))
}

impl FitRequest {
    /// Checks what can be checked without the machine.
    ///
    /// # Errors
    /// If a penalty is given for a method that has none.
    pub fn check(&self) -> Result<(), Error> {
        if self.lambda.is_some() && self.method != FitMethod::Ridge {
            return Err(Error::malformed(
                "--lambda is for --method ridge: expected that method, or no --lambda",
            ));
        }
        Ok(())
    }

    /// What the answer is made of. `told` hears what is done next, and how many of the steps are over: one for each file,
    /// then the samples, the fit and the validation.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn outcome(
        &self,
        files: &dyn Files,
        loaded: &Loaded,
        told: &mut dyn FnMut(&str, usize),
    ) -> Result<FitOutcome, Error> {
        // A front may have checked earlier, to fail before it loads the machine. Other callers have not.
        self.check()?;
        let (machine, graph) = (&loaded.machine.name, loaded.graph());
        let measurements = self.read_all(files, told)?;
        let read = self.measurements.len();
        told("samples", read);
        let config = SampleConfig {
            tiers: tiers(&self.tiers)?,
            column: match self.column {
                FitColumn::OutOfPlace => Column::OutOfPlace,
                FitColumn::InPlace => Column::InPlace,
                FitColumn::Best => Column::Best,
            },
            op: (self.op != "all").then(|| self.op.clone()),
            order: match self.ring {
                FitRing::Best => RankOrder::Best,
                FitRing::Ranks => RankOrder::AsGiven,
            },
        };
        let found = samples(&measurements, graph, &config).map_err(|error| self.in_file(&error))?;
        check(&found, &measurements)?;
        told("fit", read + 1);
        let config = self.config(machine, config.tiers, &found);
        let fit = fitted(&found.samples, &config).map_err(|error| self.hinted(&error))?;
        told("validation", read + 2);
        let validations = self.validations(&found, &config)?;
        told("validation", read + 3);
        Ok(FitOutcome {
            // Rings and notes borrow `found` and `fit`, so they come before the fields that take these.
            machine: machine.clone(),
            rings: answer::rings(&fit, &found),
            notes: answer::doubts(&measurements, &found, &fit, self.op != "all"),
            found,
            fit,
            validations,
        })
    }

    /// An error about a measurement, with its file in front. With several files, the measurement's
    /// label starts with the file already.
    fn in_file(&self, error: &FitError) -> Error {
        match &self.measurements[..] {
            [file] if error.sample().is_some() => Error::at(file, error),
            _ => Error::malformed(error),
        }
    }

    /// The measurements of all files. With several files, labels start with the file.
    fn read_all(
        &self,
        files: &dyn Files,
        told: &mut dyn FnMut(&str, usize),
    ) -> Result<Vec<Measurement>, Error> {
        let mut all = Vec::new();
        for (at, file) in self.measurements.iter().enumerate() {
            told(file, at);
            let text = files.text(file, FileKind::Table)?;
            let mut runs = read_measurements(&text).map_err(|error| Error::at(file, error))?;
            if self.measurements.len() > 1 {
                for run in &mut runs {
                    run.label = format!("{file}, {}", run.label);
                }
            }
            all.append(&mut runs);
        }
        Ok(all)
    }

    fn config(&self, machine: &str, tiers: Tiers, found: &Samples) -> FitConfig {
        FitConfig {
            method: match self.method {
                FitMethod::LeastSquares => Method::LeastSquares,
                // Without a weight this is a ridge of 0, which the fit refuses: no weight suits all samples.
                FitMethod::Ridge => Method::Ridge(self.lambda.unwrap_or_default()),
                FitMethod::Nnls => Method::NonNegative,
                FitMethod::Monotone => Method::Monotone,
            },
            terms: match self.terms {
                FitTerms::Eq2 => Term::eq_2(tiers.len()),
                FitTerms::Linear => Term::linear(tiers.len()),
            },
            source: format!("{} samples measured on {machine}", found.samples.len()),
            classes: found.classes.clone(),
            allow_rank_deficient: self.allow_rank_deficient,
            ..FitConfig::new(self.name.clone(), tiers)
        }
    }

    /// An error of the fit, with the options that help against it.
    fn hinted(&self, error: &FitError) -> Error {
        if !error.is_rank_deficient() {
            return self.in_file(error);
        }
        // Linear terms need fewer samples, so they are worth a try where they are not taken yet.
        let linear = match self.terms {
            FitTerms::Eq2 => "--terms linear, ",
            FitTerms::Linear => "",
        };
        Error::malformed(format_args!(
            "{error} (options: {linear}--method ridge --lambda L, --allow-rank-deficient)"
        ))
    }

    /// Validates the fit by holding out parts of the samples, at most as many parts as there are
    /// distinct link counts. If the request says how many, a failed validation is an error; else it is told.
    fn validations(&self, found: &Samples, config: &FitConfig) -> Result<Vec<Validated>, Error> {
        let distinct = found
            .samples
            .iter()
            .map(|sample| sample.links)
            .collect::<BTreeSet<_>>()
            .len();
        // A part must hold a link count that the others lack, and fewer than two parts hold out nothing.
        let folds = self.folds.unwrap_or(5).min(distinct.max(2));
        if self.folds.is_some() {
            let validation = k_fold(&found.samples, config, folds).map_err(Error::malformed)?;
            return Ok(vec![(format!("{folds} parts"), Ok(validation))]);
        }
        let parts = k_fold(&found.samples, config, folds);
        let sizes = leave_one_size_out(&found.samples, config);
        Ok(vec![
            (
                format!("{folds} parts"),
                parts.map_err(|error| error.to_string()),
            ),
            (
                "each size".to_owned(),
                sizes.map_err(|error| error.to_string()),
            ),
        ])
    }
}

impl FitOutcome {
    /// The answer, with the names of the files that were written.
    #[must_use]
    pub fn answer(&self, written: &[String]) -> answer::Fit {
        answer::Fit {
            notes: self.notes.clone(),
            written: written.to_vec(),
            ..answer::Fit::new(
                &self.machine,
                &self.fit,
                &self.found,
                &self.rings,
                &self.validations,
            )
        }
    }
}

/// Checks that there is something to fit.
fn check(found: &Samples, measurements: &[Measurement]) -> Result<(), Error> {
    if found.samples.is_empty() {
        // Mostly all runs are of another collective than `--op`.
        let ops: BTreeSet<&str> = measurements
            .iter()
            .filter_map(|run| run.op.as_deref())
            .collect();
        let ops = Vec::from_iter(ops).join(", ");
        let hint = if ops.is_empty() {
            ops
        } else {
            format!(" (collectives measured: {ops}; see --op)")
        };
        return Err(Error::malformed(format_args!(
            "no samples: {}{hint}",
            answer::left_out(found).join("; ")
        )));
    }
    if found.samples.iter().all(|sample| sample.gbps == 0.0) {
        let of = found.samples.len();
        return Err(Error::malformed(format_args!(
            "all {of} samples are 0 GB/s: expected measured bandwidths"
        )));
    }
    Ok(())
}

fn tiers(words: &[String]) -> Result<Tiers, Error> {
    let mut worst: Vec<LinkClass> = Vec::new();
    for word in words.iter().map(|word| word.trim()) {
        // Without words there is one tier, of all links.
        if !word.is_empty() {
            worst.push(Labels::default().parse(word).map_err(Error::malformed)?);
        }
    }
    Ok(Tiers::new(&worst)?)
}
