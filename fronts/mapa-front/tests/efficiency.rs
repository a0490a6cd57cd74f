//! The shares that are shipped are those that the shipped rows give.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use mapa_core::{Class, Efficiency};
use mapa_front::measured::{observation, question};
use mapa_regress::{
    MEASURED, Observation, fit_efficiency, leave_one_server_out, measured_topology,
    read_efficiency, read_measured, write_efficiency,
};

/// The rows that are fitted: sound ones of long messages whose machine is known.
fn observations() -> Vec<Observation> {
    let mut earlier = BTreeMap::new();
    let file = |name: &str| measured_topology(name).map(|text| text.as_bytes().to_vec());
    let rows = read_measured(MEASURED).unwrap();
    let asked = rows.iter().filter_map(|row| {
        let asked = question(row, &file, &mut earlier).ok()?;
        let is_fitted = row.is_sound() && !row.is_of_small_messages();
        let own = observation(row, &asked, Efficiency::shipped());
        own.filter(|_| is_fitted)
    });
    asked.collect()
}

#[test]
fn the_shipped_shares_are_those_of_the_shipped_rows() {
    let observations = observations();
    assert_eq!(observations.len(), 189);
    let mut fitted = fit_efficiency(&observations, &Efficiency::shipped());
    fitted.efficiency.source =
        "fitted to mapa-regress/data/measured.tsv, whose rows name their sources".to_owned();
    let (_, spreads) = leave_one_server_out(&observations, &Efficiency::shipped());
    fitted.efficiency.spreads = spreads;
    let text = write_efficiency(&fitted);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("mapa-regress/data/efficiency.toml");
    if std::env::var_os("MAPA_WRITE_EFFICIENCY").is_some() {
        std::fs::write(&file, &text).unwrap();
        let shipped = root.join("mapa-core/src/score/expected/shipped.rs");
        std::fs::write(shipped, rust(&fitted.efficiency)).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept == text, "{}: not what the rows give", file.display());
    assert_eq!(read_efficiency(&kept).unwrap(), fitted.efficiency);
    // After the files were written anew, the core must be compiled anew.
    assert_eq!(*Efficiency::shipped(), fitted.efficiency);
}

#[test]
fn the_errors_on_machines_left_out_are_what_was_aimed_at() {
    let observations = observations();
    let (left, _) = leave_one_server_out(&observations, &Efficiency::shipped());
    let errors = |class: Option<Class>| {
        let reason = left
            .iter()
            .filter(|reason| class.is_none_or(|class| reason.class == class));
        let mut errors: Vec<f64> = reason.map(|reason| reason.residual.abs()).collect();
        errors.sort_by(f64::total_cmp);
        let within = errors.iter().filter(|error| **error <= 0.25).count() as f64;
        (errors[errors.len() / 2], within / errors.len() as f64)
    };
    let (median, within) = errors(None);
    assert!(median < 0.08 && within >= 0.85, "{median} {within}");
    for (class, most) in [
        (Class::OneSocket, 0.05),
        (Class::DirectCollective, 0.05),
        (Class::HostExchange, 0.10),
        (Class::HostRing, 0.15),
        (Class::Staged, 0.15),
        (Class::AcrossSockets, 0.25),
    ] {
        let (median, _) = errors(Some(class));
        assert!(median < most, "{class}: {median}");
    }
    let held = left.iter().filter(|reason| reason.is_held()).count() as f64 / left.len() as f64;
    assert!((0.85..=0.95).contains(&held), "{held}");
    let fitted = fit_efficiency(&observations, &Efficiency::shipped());
    let mut errors: Vec<f64> = fitted.residuals.iter().map(|(_, log)| log.abs()).collect();
    errors.sort_by(f64::total_cmp);
    let within = errors.iter().filter(|error| **error <= 0.25).count() as f64;
    assert!(errors[errors.len() / 2] < 0.03 && within / errors.len() as f64 >= 0.94);
}

/// The shares as the table of the core.
fn rust(efficiency: &Efficiency) -> String {
    let mut text = String::from(
        "//! The shares that are shipped: a copy of `mapa-regress/data/efficiency.toml`. The test that compares\n\
         //! the two writes both: `MAPA_WRITE_EFFICIENCY=1 cargo test -p mapa-front --test all efficiency`.\n\n\
         use std::sync::{Arc, LazyLock};\n\n\
         use super::efficiency::{Class, Efficiency, Factor, Part, Spread, Use};\n\n",
    );
    let _ = write!(
        text,
        "/// Where the shares come from.\nconst SOURCE: &str =\n    {:?};\n\n\
         /// Part, traffic, generation of direct links, share, machines on which it was measured.\n\
         const FACTORS: &[(Part, Use, Option<&str>, f64, u32)] = &[\n",
        efficiency.source
    );
    for factor in &efficiency.factors {
        let _ = writeln!(
            text,
            "    (Part::{:?}, Use::{:?}, {:?}, {:?}, {}),",
            factor.part, factor.using, factor.generation, factor.value, factor.machines
        );
    }
    text += "];\n\n/// Class, spread, machines on which it is known.\nconst SPREADS: &[(Class, f64, u32)] = &[\n";
    for spread in &efficiency.spreads {
        let _ = writeln!(
            text,
            "    (Class::{:?}, {:?}, {}),",
            spread.class, spread.log, spread.machines
        );
    }
    let _ = write!(
        text,
        "];\n\n/// Set by hand, from one machine: four RTX 4090 on two roots, two on roots of their own.\n\
         const SHARED_ROOT: f64 = {:?};\n\n\
         /// Set by hand, from one machine whose rows are not fitted: eight A100 over PCIe, in one socket and\n\
         /// across. They say 0.89 one way and 0.67 both ways; this much orders sets and leaves sizes as they are.\n\
         const SHARED_MEMORY: f64 = {:?};\n\n\
         /// Set by hand, from one machine: copies over 1, 2 and 4 links of an MI250.\n\
         const EXPONENTS: &[(&str, f64)] = &{:?};\n\n",
        efficiency.shared_root, efficiency.shared_memory, efficiency.exponents
    );
    text += TABLE;
    text
}

const TABLE: &str = "impl Efficiency {
    /// The shares that MAPA ships, fitted to public measurements.
    #[must_use]
    pub fn shipped() -> Arc<Self> {
        static SHIPPED: LazyLock<Arc<Efficiency>> = LazyLock::new(|| Arc::new(table()));
        Arc::clone(&SHIPPED)
    }
}

fn table() -> Efficiency {
    Efficiency {
        source: SOURCE.to_owned(),
        factors: FACTORS
            .iter()
            .map(|&(part, using, generation, value, machines)| Factor {
                part,
                using,
                generation: generation.map(str::to_owned),
                value,
                machines,
            })
            .collect(),
        spreads: SPREADS
            .iter()
            .map(|&(class, log, machines)| Spread {
                class,
                log,
                machines,
            })
            .collect(),
        shared_root: SHARED_ROOT,
        shared_memory: SHARED_MEMORY,
        exponents: EXPONENTS
            .iter()
            .map(|&(name, exponent)| (name.to_owned(), exponent))
            .collect(),
    }
}
";
