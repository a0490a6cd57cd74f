//! Counting the links of a placement by tier.

use crate::error::{Error, ErrorKind};
use crate::pattern::Pattern;
use crate::topology::{DeviceId, HardwareGraph, LinkClass};

/// The most tiers of a census.
pub(crate) const MAX_TIERS: usize = 8;

/// The few tiers of link classes that a score counts, best first. Each tier takes the classes that
/// are at least its own and belong to no tier before it; the last takes the rest. An edge whose two
/// ranks share a device counts in the first tier.
///
/// A tier is named by its least (worst) class; the last is named `rest`.
///
/// # Examples
///
/// ```
/// use mapa_core::{LinkClass, Tiers};
///
/// let tiers = Tiers::new(&[LinkClass::Direct(4), LinkClass::Direct(1), LinkClass::Phb])?;
/// assert_eq!(tiers.of(LinkClass::Direct(2)), 1);
/// assert_eq!(tiers.of(LinkClass::Sys), 3);
/// assert_eq!(tiers.names(), ["direct-4", "direct-1", "phb", "rest"]);
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiers {
    /// The least class of each tier but the last; unused places are `None`, which is least of all.
    least: [LinkClass; MAX_TIERS - 1],
    len: usize,
}

impl Tiers {
    /// The paper's three tiers (section 3.4.3): x double NVLinks, y single NVLinks, z PCIe. More
    /// than two bonded links count as double; every host path, and a network, counts as PCIe.
    pub const PAPER: Self = {
        let mut least = [LinkClass::None; MAX_TIERS - 1];
        least[0] = LinkClass::Direct(2);
        least[1] = LinkClass::Direct(1);
        Self { least, len: 3 }
    };

    /// Tiers by the least class of each, best first; one further tier takes the rest.
    ///
    /// # Errors
    /// If there are more than seven, if they are not ordered from better to worse, or if one is no
    /// class of links (`none`, `same-device`, `direct-0`).
    pub fn new(least: &[LinkClass]) -> Result<Self, Error> {
        if least.len() >= MAX_TIERS {
            return Err(ErrorKind::TooManyTiers {
                given: least.len() + 1,
                most: MAX_TIERS,
            }
            .into());
        }
        if let Some(&class) = least.iter().find(|class| {
            matches!(
                class,
                LinkClass::None | LinkClass::SameDevice | LinkClass::Direct(0)
            )
        }) {
            return Err(ErrorKind::BadTier(class).into());
        }
        if let Some(pair) = least.windows(2).find(|pair| pair[0] <= pair[1]) {
            return Err(ErrorKind::TiersNotDescending {
                first: pair[0],
                second: pair[1],
            }
            .into());
        }
        let mut places = [LinkClass::None; MAX_TIERS - 1];
        places[..least.len()].copy_from_slice(least);
        Ok(Self {
            least: places,
            len: least.len() + 1,
        })
    }

    /// The number of tiers: at least one, at most eight.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "there is always the tier of the rest"
    )]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The least class of each tier but the last.
    #[must_use]
    pub fn least(&self) -> &[LinkClass] {
        &self.least[..self.len - 1]
    }

    /// The names of the tiers: the least class of each, and `rest` for the last.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.least()
            .iter()
            .map(ToString::to_string)
            .chain(["rest".to_owned()])
            .collect()
    }

    /// The tier in which a class is counted.
    #[must_use]
    pub fn of(&self, class: LinkClass) -> usize {
        if class == LinkClass::SameDevice {
            return 0;
        }
        self.least()
            .iter()
            .position(|least| class >= *least)
            .unwrap_or(self.len - 1)
    }
}

/// The number of a pattern's edges on links of each tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Census([u32; MAX_TIERS]);

impl Census {
    /// Counts the edges of `pattern` by the tier of the link on which `placement` puts them. O(e)
    /// for e edges.
    ///
    /// # Panics
    /// If the placement is shorter than the pattern, or names a device that the graph does not
    /// have.
    #[must_use]
    pub fn of(
        pattern: &Pattern,
        placement: &[DeviceId],
        graph: &HardwareGraph,
        tiers: &Tiers,
    ) -> Self {
        let mut census = Self::default();
        for edge in pattern.edges() {
            let link = graph.link_of_ranks(
                placement[usize::from(edge.a)],
                placement[usize::from(edge.b)],
            );
            census.0[tiers.of(link.class)] += 1;
        }
        census
    }

    /// A census by (x, y, z) of [`Tiers::PAPER`].
    #[must_use]
    pub fn from_xyz(x: u32, y: u32, z: u32) -> Self {
        let mut census = Self::default();
        census.0[..3].copy_from_slice(&[x, y, z]);
        census
    }

    /// A census by the count of each tier, best first.
    ///
    /// # Errors
    /// If there are more than eight.
    pub fn from_counts(counts: &[u32]) -> Result<Self, Error> {
        let mut census = Self::default();
        let places = census.0.get_mut(..counts.len());
        places
            .ok_or(ErrorKind::TooManyTiers {
                given: counts.len(),
                most: MAX_TIERS,
            })?
            .copy_from_slice(counts);
        Ok(census)
    }

    pub(crate) fn with(mut self, tier: usize, count: u32) -> Self {
        self.0[tier] = count;
        self
    }

    pub(crate) fn plus(mut self, tier: usize, count: u32) -> Self {
        self.0[tier] += count;
        self
    }

    /// The number of edges in a tier, counted from 0; 0 for a tier past the last.
    #[must_use]
    pub fn count(&self, tier: usize) -> u32 {
        self.0.get(tier).copied().unwrap_or(0)
    }

    /// The counts of all eight possible tiers; 0 for tiers that the score does not have.
    #[must_use]
    pub fn counts(&self) -> &[u32; MAX_TIERS] {
        &self.0
    }

    /// The number of edges in all tiers.
    #[must_use]
    pub fn edges(&self) -> u64 {
        self.0.iter().map(|&count| u64::from(count)).sum()
    }

    /// The first three counts: (double, single, PCIe) under [`Tiers::PAPER`].
    #[must_use]
    pub fn xyz(&self) -> (u32, u32, u32) {
        (self.0[0], self.0[1], self.0[2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LinkClass::{Board, Direct, Network, Node, None, Phb, Pix, Pxb, SameDevice, Sys};

    const CLASSES: [LinkClass; 13] = [
        None,
        Network,
        Sys,
        Node,
        Phb,
        Pxb,
        Pix,
        Board,
        SameDevice,
        Direct(1),
        Direct(2),
        Direct(3),
        Direct(255),
    ];

    #[test]
    fn the_papers_tiers_are_double_single_and_the_rest() {
        let tiers = CLASSES.map(|class| Tiers::PAPER.of(class));
        assert_eq!(tiers, [2, 2, 2, 2, 2, 2, 2, 2, 0, 1, 0, 0, 0]);
        assert_eq!(Tiers::new(&[Direct(2), Direct(1)]).unwrap(), Tiers::PAPER);
        assert_eq!(Tiers::PAPER.names(), ["direct-2", "direct-1", "rest"]);
    }

    #[test]
    fn better_links_are_never_of_a_worse_tier() {
        let tiers = Tiers::new(&[Direct(12), Direct(2), Board, Pxb, Phb, Sys, Network]).unwrap();
        let mut classes = CLASSES.to_vec();
        classes.retain(|class| *class != SameDevice);
        assert!(
            classes
                .windows(2)
                .all(|pair| tiers.of(pair[0]) >= tiers.of(pair[1]))
        );
        assert_eq!(
            (tiers.len(), tiers.of(None), tiers.of(SameDevice)),
            (8, 7, 0)
        );
    }

    #[test]
    fn one_tier_takes_everything() {
        let tiers = Tiers::new(&[]).unwrap();
        assert!(CLASSES.iter().all(|class| tiers.of(*class) == 0));
    }

    #[test]
    fn tiers_that_are_none_are_refused_by_name() {
        let message = |least: &[LinkClass]| Tiers::new(least).unwrap_err().to_string();
        assert!(
            message(&[Direct(1), Direct(2)])
                .contains("from direct-1 is followed by that from direct-2")
        );
        assert!(message(&[Phb, Phb]).contains("from better to worse"));
        assert!(message(&[None]).contains("`none` cannot be"));
        assert!(message(&[SameDevice]).contains("`same-device` cannot be"));
        let eight: Vec<LinkClass> = (1..=8).rev().map(Direct).collect();
        assert!(message(&eight).contains("9 tiers of links: expected at most 8"));
        assert!(Census::from_counts(&[1; 9]).is_err());
    }

    #[test]
    fn classes_are_read_as_they_are_printed() {
        for class in CLASSES {
            assert_eq!(class.to_string().parse::<LinkClass>().unwrap(), class);
        }
        for wrong in [
            "",
            "direct",
            "direct-",
            "direct-0",
            "direct-256",
            "direct-+1",
            "direct-01",
            "NV2",
            "Sys",
        ] {
            assert!(
                wrong
                    .parse::<LinkClass>()
                    .unwrap_err()
                    .to_string()
                    .contains("expected none, network")
            );
        }
    }
}
