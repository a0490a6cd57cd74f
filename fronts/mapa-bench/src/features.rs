//! Parts of the program that a build can leave out: the features of Cargo.toml.

use std::sync::LazyLock;

use mapa_cli::Failure;

/// The features, and whether this build has them.
const FEATURES: [(&str, bool); 12] = [
    ("case", cfg!(feature = "case")),
    ("energy", cfg!(feature = "energy")),
    ("experiments", cfg!(feature = "experiments")),
    ("fit", cfg!(feature = "fit")),
    ("mapa", cfg!(feature = "mapa")),
    ("nvml", cfg!(feature = "nvml")),
    ("parquet", cfg!(feature = "parquet")),
    ("parted", cfg!(feature = "parted")),
    ("pcie", cfg!(feature = "pcie")),
    ("plots", cfg!(feature = "plots")),
    ("slo", cfg!(feature = "slo")),
    ("source", cfg!(feature = "source")),
];

/// The version, and the features of this build, for `--version`.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(describe);
    &VERSION
}

fn describe() -> String {
    let compiled: Vec<&str> = FEATURES
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect();
    let list = if compiled.is_empty() {
        "none".to_owned()
    } else {
        compiled.join(", ")
    };
    format!("{}\nfeatures: {list}", env!("CARGO_PKG_VERSION"))
}

/// Checks that this build has the feature that a command or option needs.
///
/// # Errors
///
/// If the build leaves it out: names the feature.
pub(crate) fn require(feature: &str, what: &str) -> Result<(), Failure> {
    mapa_cli::require(FEATURES.contains(&(feature, true)), feature, what)
}
