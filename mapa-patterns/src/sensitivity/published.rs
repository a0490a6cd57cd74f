//! The paper's nine workloads: the published figures, and the classes that the paper gives them.
//!
//! Two further numbers of each network come from Caffe: its layers and its parameters. In each
//! iteration, Caffe's `NCCL::run` (`src/caffe/parallel.cpp` of version 1.0, from which the paper's
//! Fig. 9a is taken) makes one all-reduce for each layer with parameters. `NCCL::Broadcast` makes
//! one broadcast before the first iteration.

use std::fmt;

use super::evidence::{Evidence, INSENSITIVE_BELOW, Times};
use super::messages::{LARGE_MESSAGE_BYTES, Messages};
use crate::verdict::{Sensitivity, Verdict};

/// The number of iterations of the runs in Fig. 5b. It follows from the number of calls there: a
/// network of n layers makes n x 10,000 + 1.
const ITERATIONS: f64 = 1e4;

/// A workload of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Workload {
    /// The name in the paper.
    pub name: &'static str,
    /// The class that the paper gives it (Fig. 5b, section 4).
    pub class: Sensitivity,
    /// The published evidence, the strongest first, each with its place in the paper.
    pub evidence: &'static [(Published, &'static str)],
    /// The network in Caffe; none if the workload is not a neural network.
    pub model: Option<CaffeModel>,
}

/// A statement of the paper about a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Published {
    /// Execution times on better links and on worse links, seconds.
    Times {
        /// The time on better links, seconds.
        fast: f64,
        /// The time on worse links, seconds.
        slow: f64,
    },
    /// Better links shorten the execution time by less than this share.
    ImprovementBelow(f64),
    /// Whether the execution time changes with the links. The paper measured it and shows it in a
    /// figure, but states it in words without numbers.
    TimesChange(bool),
    /// The workload sends nothing, or next to nothing.
    NothingSent,
    /// The mean size of messages is at least this many bytes.
    MeanAtLeast(f64),
    /// The mean size of messages is below this many bytes.
    MeanBelow(f64),
    /// The number of calls on each GPU, which the paper calls "per iteration".
    Calls(u64),
}

/// A neural network as defined in Caffe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaffeModel {
    /// The number of layers with parameters. In an iteration, one call all-reduces each of them.
    pub layers: u32,
    /// The number of parameters of all layers, of 4 bytes each. The running statistics of batch
    /// normalisation count as parameters.
    pub parameters: u64,
}

impl CaffeModel {
    /// The messages of an iteration: one all-reduce for each layer. All layers are assumed to be
    /// equally large.
    #[must_use]
    pub fn messages(self) -> Messages {
        let (calls, bytes) = (f64::from(self.layers), 4.0 * self.parameters as f64);
        let mut messages = Messages::new();
        // Both numbers are in range. Tests check all nine workloads.
        messages.add(bytes / calls, calls).unwrap_or_default();
        messages
    }
}

const fn model(layers: u32, parameters: u64) -> Option<CaffeModel> {
    Some(CaffeModel { layers, parameters })
}

const FIG_5B: &str = "Fig. 5b";
const SIZES: &str = "section 2.3 on Fig. 5a";
const QUARTILES: &str = "section 4.1, 75th percentiles of Fig. 13a, lowest-id and topo-aware";
const LIKE_VGG: &str = "section 2.3: follows the trend of VGG-16, Fig. 6b";
const LIKE_GOOGLENET: &str =
    "section 2.3: follows the trend of GoogleNet, Fig. 6a; section 5.2 on Fig. 16";
const NEGLIGIBLE: &str = "section 4: negligible communication between GPUs";

/// The nine workloads of the paper's evaluation.
pub const PUBLISHED: [Workload; 9] = [
    Workload {
        name: "AlexNet",
        class: Sensitivity::Sensitive,
        evidence: &[
            (
                Published::Times {
                    fast: 374.0,
                    slow: 511.0,
                },
                QUARTILES,
            ),
            (Published::MeanAtLeast(1e5), SIZES),
            (Published::Calls(80_001), FIG_5B),
        ],
        model: model(8, 60_965_224),
    },
    Workload {
        name: "Inception-v3",
        class: Sensitivity::Sensitive,
        evidence: &[
            (Published::TimesChange(true), LIKE_VGG),
            (Published::MeanAtLeast(1e5), SIZES),
            (Published::Calls(2_830_001), FIG_5B),
        ],
        model: model(283, 23_869_094),
    },
    Workload {
        name: "VGG-16",
        class: Sensitivity::Sensitive,
        evidence: &[
            (
                Published::Times {
                    fast: 378.0,
                    slow: 785.0,
                },
                QUARTILES,
            ),
            (Published::MeanAtLeast(1e5), SIZES),
            (Published::Calls(160_001), FIG_5B),
        ],
        model: model(16, 138_357_544),
    },
    Workload {
        name: "ResNet-50",
        class: Sensitivity::Sensitive,
        evidence: &[
            (Published::TimesChange(true), LIKE_VGG),
            (Published::Calls(1_600_001), FIG_5B),
        ],
        model: model(160, 25_610_205),
    },
    Workload {
        name: "CaffeNet",
        class: Sensitivity::Insensitive,
        evidence: &[
            (Published::TimesChange(false), LIKE_GOOGLENET),
            (Published::MeanAtLeast(1e5), SIZES),
            (Published::Calls(84_936), FIG_5B),
        ],
        model: model(8, 60_965_224),
    },
    Workload {
        name: "GoogleNet",
        class: Sensitivity::Insensitive,
        evidence: &[
            (
                Published::TimesChange(false),
                "section 2.3 on Fig. 6a; section 5.2 on Fig. 16",
            ),
            (Published::MeanBelow(1e5), SIZES),
            (Published::Calls(640_001), FIG_5B),
        ],
        model: model(64, 13_378_280),
    },
    Workload {
        name: "Cusimann",
        class: Sensitivity::Insensitive,
        evidence: &[(Published::NothingSent, NEGLIGIBLE)],
        model: None,
    },
    Workload {
        name: "GMM",
        class: Sensitivity::Insensitive,
        evidence: &[(Published::NothingSent, NEGLIGIBLE)],
        model: None,
    },
    Workload {
        name: "Jacobi",
        class: Sensitivity::Insensitive,
        evidence: &[(Published::ImprovementBelow(0.03), "section 4")],
        model: None,
    },
];

impl Published {
    /// The verdict that follows from the statement alone; none if it decides nothing.
    fn verdict(self) -> Option<Verdict> {
        let said = |sensitivity, why: &str| {
            Some(Verdict {
                sensitivity,
                why: why.to_owned(),
            })
        };
        match self {
            Self::Times { fast, slow } => {
                Times::new([fast], [slow]).ok().map(|times| times.verdict())
            }
            Self::ImprovementBelow(share) if share <= INSENSITIVE_BELOW => said(
                Sensitivity::Insensitive,
                "by times, below 3 % less time on better links",
            ),
            Self::ImprovementBelow(_) => None,
            Self::TimesChange(true) => said(
                Sensitivity::Sensitive,
                "by times described in words: they fall on better links",
            ),
            Self::TimesChange(false) => said(
                Sensitivity::Insensitive,
                "by times described in words: links do not change them",
            ),
            Self::NothingSent => Some(Messages::new().verdict()),
            Self::MeanBelow(bytes) if bytes <= LARGE_MESSAGE_BYTES => said(
                Sensitivity::Insensitive,
                "by messages alone, less than 1e5 bytes on average: below that links do not differ",
            ),
            Self::MeanBelow(_) | Self::MeanAtLeast(_) | Self::Calls(_) => None,
        }
    }

    /// Whether the statement concerns messages, not times.
    fn is_of_messages(self) -> bool {
        matches!(
            self,
            Self::NothingSent | Self::MeanAtLeast(_) | Self::MeanBelow(_) | Self::Calls(_)
        )
    }
}

/// `374 s with better links, 511 s with worse`, and so on.
impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times { fast, slow } => {
                write!(f, "{fast} s with better links, {slow} s with worse")
            }
            Self::ImprovementBelow(share) => write!(
                f,
                "less than {} % less time with better links",
                100.0 * share
            ),
            Self::TimesChange(true) => f.write_str("times fall with better links"),
            Self::TimesChange(false) => f.write_str("times do not change with links"),
            Self::NothingSent => f.write_str("negligible communication"),
            Self::MeanAtLeast(bytes) => write!(f, "messages of at least {bytes} bytes on average"),
            Self::MeanBelow(bytes) => write!(f, "messages of less than {bytes} bytes on average"),
            Self::Calls(calls) => write!(f, "{calls} calls"),
        }
    }
}

impl Workload {
    /// The verdict from all published evidence. The reason ends with a place in the paper.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.decided(|_| true)
    }

    /// The verdict from the published messages alone, without execution times.
    #[must_use]
    pub fn by_messages(&self) -> Verdict {
        self.decided(Published::is_of_messages)
    }

    /// The verdict predicted from the network in Caffe and the published time of a run of 10,000
    /// iterations on the better links of [`LinkRates::PUBLISHED`](super::LinkRates::PUBLISHED).
    /// None without a network or a published time.
    #[must_use]
    pub fn predicted(&self) -> Option<Verdict> {
        let seconds = self.evidence.iter().find_map(|(what, _)| match what {
            Published::Times { fast, .. } => Some(fast / ITERATIONS),
            _ => None,
        });
        let evidence = Evidence {
            messages: Some(self.model?.messages()),
            iteration_seconds: Some(seconds?),
            ..Evidence::default()
        };
        evidence.verdict().ok()
    }

    /// The number of calls in Fig. 5b.
    #[must_use]
    pub fn calls(&self) -> Option<u64> {
        self.evidence.iter().find_map(|(what, _)| {
            if let Published::Calls(calls) = what {
                Some(*calls)
            } else {
                None
            }
        })
    }

    /// The verdict of the strongest evidence that decides, among that for which `counts` holds.
    fn decided(&self, counts: impl Fn(Published) -> bool) -> Verdict {
        let considered = self.evidence.iter().filter(|(what, _)| counts(*what));
        let decided = considered
            .filter_map(|(what, place)| what.verdict().map(|verdict| (verdict, place)))
            .next();
        match decided {
            Some((Verdict { sensitivity, why }, place)) => Verdict {
                sensitivity,
                why: format!("{why} ({place})"),
            },
            None => Verdict {
                sensitivity: Sensitivity::Unknown,
                why: "by messages alone, nothing that is published decides".to_owned(),
            },
        }
    }
}
