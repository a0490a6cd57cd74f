//! How much longer the paper's networks run over slow links.

/// The run time of the paper's sensitive networks over PCIe, over that on a double link. VGG-16
/// has the "up to 3x" of Fig. 2b; the others are assumed.
pub(crate) const RATIOS: [(&str, f64); 4] = [
    ("AlexNet", 2.2),
    ("Inception-v3", 1.6),
    ("ResNet-50", 1.6),
    ("VGG-16", 3.0),
];

/// The ratio of a task, if it is one of [`RATIOS`].
pub(crate) fn ratio_of(task: &str) -> Option<f64> {
    let mut all = RATIOS.iter();
    all.find(|(name, _)| *name == task).map(|(_, ratio)| *ratio)
}
