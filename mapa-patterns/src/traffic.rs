//! The traffic matrix of a job.

use mapa_core::Pattern;

use crate::error::Error;

/// The amount that each rank of a job sent to each other rank.
///
/// A pattern has one undirected edge for each pair of ranks. Links are full duplex, so the traffic
/// of an edge is that of its busier direction.
///
/// # Examples
/// ```
/// use mapa_patterns::TrafficMatrix;
///
/// let mut traffic = TrafficMatrix::new(3)?;
/// traffic.add(0, 1, 6e9);
/// traffic.add(1, 0, 5e9);
/// let pattern = traffic.pattern()?;
/// assert_eq!(pattern.edges().iter().map(|edge| (edge.a, edge.b, edge.traffic)).collect::<Vec<_>>(), [(0, 1, 6e9)]);
/// # Ok::<(), mapa_patterns::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficMatrix {
    ranks: usize,
    /// By sender, then receiver.
    sent: Vec<f64>,
}

impl TrafficMatrix {
    /// A matrix of `ranks` ranks without traffic.
    ///
    /// # Errors
    /// More than [`MAX_DEVICES`](mapa_core::MAX_DEVICES) ranks.
    pub fn new(ranks: usize) -> Result<Self, Error> {
        Pattern::from_edges(ranks, [])?;
        Ok(Self {
            ranks,
            sent: vec![0.0; ranks * ranks],
        })
    }

    /// The number of ranks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranks
    }

    /// Whether there are no ranks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranks == 0
    }

    /// Adds an amount that `from` sent to `to`. An amount that is not positive, a rank that does
    /// not exist, and traffic of a rank with itself are ignored.
    pub fn add(&mut self, from: usize, to: usize, amount: f64) {
        let is_sound = from != to && amount.is_finite() && amount > 0.0;
        let place = self.place(from, to).filter(|_| is_sound);
        if let Some(sent) = place.and_then(|place| self.sent.get_mut(place)) {
            *sent += amount;
        }
    }

    /// The amount that `from` sent to `to`.
    #[must_use]
    pub fn sent(&self, from: usize, to: usize) -> f64 {
        self.place(from, to)
            .and_then(|place| self.sent.get(place))
            .copied()
            .unwrap_or(0.0)
    }

    /// The index of a pair, if both ranks exist.
    fn place(&self, from: usize, to: usize) -> Option<usize> {
        (from < self.ranks && to < self.ranks).then(|| from * self.ranks + to)
    }

    /// The largest amount that one rank sent to another.
    #[must_use]
    pub fn busiest(&self) -> f64 {
        self.sent.iter().copied().fold(0.0, f64::max)
    }

    /// The pattern with an edge for each pair of ranks with traffic.
    /// [`Application::without_noise`](crate::Application::without_noise) removes edges that carry
    /// little.
    ///
    /// # Errors
    /// Amounts whose sum is not finite.
    pub fn pattern(&self) -> Result<Pattern, Error> {
        let pairs = (0..self.ranks).flat_map(|a| (a + 1..self.ranks).map(move |b| (a, b)));
        let edges = pairs.filter_map(|(a, b)| {
            let most = self.sent(a, b).max(self.sent(b, a));
            (most > 0.0).then_some((a as u16, b as u16, most))
        });
        Ok(Pattern::from_edges(self.ranks, edges)?)
    }
}
