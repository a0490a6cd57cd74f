//! The paper's workloads, and which of them are sensitive.

/// The paper's nine workloads (section 4), and whether it counts them as sensitive to bandwidth
/// (Fig. 5, section 2.3).
pub(super) const MAPA: [(&str, bool); 9] = [
    ("AlexNet", true),
    ("Inception-v3", true),
    ("VGG-16", true),
    ("ResNet-50", true),
    ("CaffeNet", false),
    ("GoogleNet", false),
    ("Cusimann", false),
    ("GMM", false),
    ("Jacobi", false),
];

/// The paper's name of a task: `vgg16.sh` and `vgg16` are VGG-16. Other names stay as they are.
pub(super) fn published(name: &str) -> &str {
    let plain = letters(name.strip_suffix(".sh").unwrap_or(name));
    let plain = if plain == "inception3" {
        "inceptionv3"
    } else {
        &plain
    };
    MAPA.iter()
        .find(|(candidate, _)| letters(candidate) == plain)
        .map_or(name, |(program, _)| program)
}

/// Whether a task of this name is sensitive to bandwidth, by the paper's classes. Other networks of
/// a family in the paper have the class of that family. `None` for all other tasks.
pub(super) fn is_sensitive(name: &str) -> Option<bool> {
    let plain = letters(name);
    if let Some((_, sensitive)) = MAPA
        .iter()
        .find(|(candidate, _)| letters(candidate) == plain)
    {
        return Some(*sensitive);
    }
    let mut families = ["vgg", "resnet", "inception"].iter();
    families
        .any(|family| plain.starts_with(family))
        .then_some(true)
}

/// The letters and digits of a name, in lower case.
fn letters(name: &str) -> String {
    name.chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_scripts_and_of_traces_are_the_papers() {
        for (name, expected) in [
            ("alexnet.sh", "AlexNet"),
            ("inception-v3.sh", "Inception-v3"),
            ("resnet-50.sh", "ResNet-50"),
            ("vgg16.sh", "VGG-16"),
            ("googlenet.sh", "GoogleNet"),
            ("caffenet.sh", "CaffeNet"),
            ("cusimann.sh", "Cusimann"),
            ("gmm", "GMM"),
            ("jacobi", "Jacobi"),
            ("inception3", "Inception-v3"),
            ("resnet50", "ResNet-50"),
            ("resnet101", "resnet101"),
            ("my own.sh", "my own.sh"),
        ] {
            assert_eq!(published(name), expected);
        }
    }

    #[test]
    fn families_are_classified_as_their_member_in_the_paper() {
        assert_eq!(
            ["vgg19", "inception4", "ResNet-18"].map(is_sensitive),
            [Some(true); 3]
        );
        assert_eq!(["googlenet", "GMM"].map(is_sensitive), [Some(false); 2]);
        assert_eq!(["Transformer", ""].map(is_sensitive), [None; 2]);
    }
}
