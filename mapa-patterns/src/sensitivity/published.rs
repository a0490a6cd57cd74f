//! What the paper publishes of its nine workloads, and the classes it gives them.
//!
//! Beside the paper's figures stand two that follow from the networks as Caffe has them: in how many layers, and in how many
//! parameters. Caffe's `NCCL::run` (`src/caffe/parallel.cpp` of version 1.0, from which the paper's Fig. 9a is taken) makes one
//! all-reduce for each layer with parameters in each iteration, and `NCCL::Broadcast` one broadcast before the first.

use std::fmt;

use super::evidence::{INSENSITIVE_BELOW, Times};
use super::messages::Messages;
use super::{Evidence, Sensitivity, Verdict};

/// Iterations of the runs that Fig. 5b counts, as they follow from its counts: n layers give n x 10,000 + 1 calls.
const ITERATIONS: f64 = 1e4;

/// A workload of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Workload {
    /// As the paper calls it.
    pub name: &'static str,
    /// The class that the paper gives it (Fig. 5b, section 4).
    pub class: Sensitivity,
    /// What is published of it, the stronger first, each with its place in the paper.
    pub evidence: &'static [(Published, &'static str)],
    /// The network as Caffe has it, for those that are one.
    pub model: Option<CaffeModel>,
}

/// Something that the paper says of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Published {
    /// Execution times with better links and with worse, seconds.
    Times {
        /// With better links.
        fast: f64,
        /// With worse links.
        slow: f64,
    },
    /// Better links shorten it by less than this share.
    ImprovementBelow(f64),
    /// Whether its execution times change with its links: measured, drawn in a figure, and told in words without numbers.
    TimesChange(bool),
    /// It sends nothing, or next to nothing.
    NothingSent,
    /// Its messages have at least so many bytes on average.
    MeanAtLeast(f64),
    /// Its messages have fewer bytes than this on average.
    MeanBelow(f64),
    /// It makes so many calls on each GPU, "per iteration".
    Calls(u64),
}

/// A network as Caffe has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaffeModel {
    /// Layers that have parameters: each is all-reduced by one call in an iteration.
    pub layers: u32,
    /// Parameters of all layers, of 4 bytes, with the running statistics of batch normalisation.
    pub parameters: u64,
}

impl CaffeModel {
    /// What it hands to all-reduces in an iteration: its parameters, in as many calls as it has layers, taken as equally large.
    #[must_use]
    pub fn messages(self) -> Messages {
        let (calls, bytes) = (f64::from(self.layers), 4.0 * self.parameters as f64);
        let mut messages = Messages::new();
        // Both are sound: tests add up all nine.
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
const LIKE_GOOGLENET: &str = "section 2.3: follows the trend of GoogleNet, Fig. 6a; section 5.2 on Fig. 16";
const NEGLIGIBLE: &str = "section 4: negligible communication between GPUs";

/// The nine workloads of the paper's evaluation.
pub const PUBLISHED: [Workload; 9] = [
    Workload {
        name: "AlexNet",
        class: Sensitivity::Sensitive,
        evidence: &[
            (Published::Times { fast: 374.0, slow: 511.0 }, QUARTILES),
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
            (Published::Times { fast: 378.0, slow: 785.0 }, QUARTILES),
            (Published::MeanAtLeast(1e5), SIZES),
            (Published::Calls(160_001), FIG_5B),
        ],
        model: model(16, 138_357_544),
    },
    Workload {
        name: "ResNet-50",
        class: Sensitivity::Sensitive,
        evidence: &[(Published::TimesChange(true), LIKE_VGG), (Published::Calls(1_600_001), FIG_5B)],
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
            (Published::TimesChange(false), "section 2.3 on Fig. 6a; section 5.2 on Fig. 16"),
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
    /// What follows from it; none if it decides nothing by itself.
    fn verdict(self) -> Option<Verdict> {
        let said = |sensitivity, why: &str| Some(Verdict { sensitivity, why: why.to_owned() });
        match self {
            Self::Times { fast, slow } => Times::new([fast], [slow]).ok().map(|times| times.verdict()),
            Self::ImprovementBelow(share) if share <= INSENSITIVE_BELOW => {
                said(Sensitivity::Insensitive, "by times, below 3 % less time on better links")
            }
            Self::ImprovementBelow(_) => None,
            Self::TimesChange(true) => {
                said(Sensitivity::Sensitive, "by times that are told in words: they fall on better links")
            }
            Self::TimesChange(false) => {
                said(Sensitivity::Insensitive, "by times that are told in words: links do not change them")
            }
            Self::NothingSent => Some(Messages::new().verdict()),
            Self::MeanBelow(bytes) if bytes <= super::LARGE_MESSAGE_BYTES => said(
                Sensitivity::Insensitive,
                "by messages alone, less than 1e5 bytes on average: below that links do not differ",
            ),
            Self::MeanBelow(_) | Self::MeanAtLeast(_) | Self::Calls(_) => None,
        }
    }

    /// Whether it is a matter of messages, not of times.
    fn is_of_messages(self) -> bool {
        matches!(self, Self::NothingSent | Self::MeanAtLeast(_) | Self::MeanBelow(_) | Self::Calls(_))
    }
}

/// `374 s with better links, 511 s with worse`, and so on.
impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times { fast, slow } => write!(f, "{fast} s with better links, {slow} s with worse"),
            Self::ImprovementBelow(share) => write!(f, "less than {} % less time with better links", 100.0 * share),
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
    /// What follows from all that is published of it; the reason ends with its place in the paper.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.decided(|_| true)
    }

    /// What follows from what is published of its messages, times left aside.
    #[must_use]
    pub fn by_messages(&self) -> Verdict {
        self.decided(Published::is_of_messages)
    }

    /// What is predicted for the network as Caffe has it, if the time of a run is published: 10,000 iterations on the better
    /// links of [`LinkRates::PUBLISHED`](super::LinkRates::PUBLISHED).
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

    /// How many calls Fig. 5b counts.
    #[must_use]
    pub fn calls(&self) -> Option<u64> {
        self.evidence.iter().find_map(|(what, _)| if let Published::Calls(calls) = what { Some(*calls) } else { None })
    }

    fn decided(&self, counts: impl Fn(Published) -> bool) -> Verdict {
        let considered = self.evidence.iter().filter(|(what, _)| counts(*what));
        let decided = considered.filter_map(|(what, place)| what.verdict().map(|verdict| (verdict, place))).next();
        match decided {
            Some((Verdict { sensitivity, why }, place)) => Verdict { sensitivity, why: format!("{why} ({place})") },
            None => Verdict {
                sensitivity: Sensitivity::Unknown,
                why: "by messages alone, nothing that is published decides".to_owned(),
            },
        }
    }
}
