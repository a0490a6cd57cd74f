//! The last requests, and what a candidate would have made of them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::model::Slowdown;

/// A request as it would be without neighbours on the smallest profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PastRequest {
    /// When it arrived, ms.
    pub arrived_ms: f64,
    /// The time of its transfer on a free link, ms.
    pub transfer_ms: f64,
    /// The time of its computation on the smallest profile without neighbours, ms.
    pub compute_ms: f64,
}

impl PastRequest {
    /// Whether all times are finite, and none is negative.
    #[must_use]
    pub fn is_well(&self) -> bool {
        [self.arrived_ms, self.transfer_ms, self.compute_ms]
            .iter()
            .all(|value| value.is_finite() && *value >= 0.0)
    }
}

/// The last so many requests, in order of arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestHistory {
    size: usize,
    requests: VecDeque<PastRequest>,
}

impl RequestHistory {
    /// An empty history of at most so many requests, at least 1.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self {
            size: size.max(1),
            requests: VecDeque::new(),
        }
    }

    /// Adds a request; the oldest leaves a full history. A request with a time that is negative or
    /// not finite is left out.
    pub fn push(&mut self, request: PastRequest) {
        if !request.is_well() {
            return;
        }
        // A history that was read may say that its size is 0.
        while self.requests.len() >= self.size.max(1) {
            self.requests.pop_front();
        }
        self.requests.push_back(request);
    }

    /// The number of requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The share of these requests that would take longer than promised under a slowdown: each
    /// waits for the copy engine, is copied, waits for the multiprocessors, and is computed.
    ///
    /// # Complexity
    /// O(n) for n requests.
    #[must_use]
    pub fn late_share(&self, slowdown: Slowdown, promise_ms: f64) -> f64 {
        let (mut copied, mut computed) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut late = 0_u32;
        for request in &self.requests {
            copied = request.arrived_ms.max(copied) + request.transfer_ms * slowdown.transfer;
            computed = copied.max(computed) + request.compute_ms * slowdown.compute;
            late += u32::from(computed - request.arrived_ms > promise_ms);
        }
        if self.requests.is_empty() {
            return 0.0;
        }
        f64::from(late) / self.requests.len() as f64
    }
}
