//! Requests in service: two first-in-first-out servers in series, a copy engine and the
//! multiprocessors, at rates that are constant between events.

use std::collections::VecDeque;

/// A request in a server.
#[derive(Clone, Copy, Debug)]
struct WaitingRequest {
    id: u32,
    /// When it can begin, ms.
    ready: f64,
    /// What is left of its work, ms at full rate.
    left: f64,
}

/// One server.
#[derive(Clone, Debug, Default)]
struct EngineServer {
    queue: VecDeque<WaitingRequest>,
    /// Until when it has served, ms.
    free: f64,
}

impl EngineServer {
    /// Serves until a moment, with work stretched by a factor; tells what ends, in order.
    fn advance(&mut self, until: f64, factor: f64, mut ended: impl FnMut(u32, f64)) {
        while let Some(head) = self.queue.front_mut() {
            let begin = head.ready.max(self.free);
            if begin >= until {
                return;
            }
            let end = begin + head.left * factor;
            if end > until {
                head.left -= (until - begin) / factor;
                self.free = until;
                return;
            }
            let id = head.id;
            self.free = end;
            self.queue.pop_front();
            ended(id, end);
        }
    }
}

/// The copy engine and the multiprocessors of one tenant.
///
/// While the factors are constant this is the recursion `e1 = max(a, e1') + x f1`,
/// `e2 = max(e1, e2') + c f2`. Where they change, work in service goes on with what is left of it,
/// so the result does not depend on where events cut time.
#[derive(Clone, Debug, Default)]
pub struct TenantServers {
    copy: EngineServer,
    compute: EngineServer,
    computes: VecDeque<(u32, f64)>,
    waiting: usize,
}

impl TenantServers {
    /// Adds a request, which can begin at a moment: its transfer and its compute time, ms.
    /// Requests come in the order of these moments.
    pub fn push(&mut self, id: u32, ready_ms: f64, transfer_ms: f64, compute_ms: f64) {
        self.copy.queue.push_back(WaitingRequest {
            id,
            ready: ready_ms,
            left: transfer_ms,
        });
        self.computes.push_back((id, compute_ms));
        self.waiting += 1;
    }

    /// Serves until a moment under constant factors on transfers and on compute times; tells the
    /// requests that end: id, end, and how long they computed.
    pub fn advance(
        &mut self,
        until_ms: f64,
        [transfer, compute]: [f64; 2],
        mut ended: impl FnMut(u32, f64),
    ) {
        let (second, computes) = (&mut self.compute, &mut self.computes);
        self.copy.advance(until_ms, transfer, |id, at| {
            if let Some((_, left)) = computes.pop_front() {
                second.queue.push_back(WaitingRequest {
                    id,
                    ready: at,
                    left,
                });
            }
        });
        let waiting = &mut self.waiting;
        self.compute.advance(until_ms, compute, |id, at| {
            *waiting -= 1;
            ended(id, at);
        });
    }

    /// The requests that have not ended.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether none is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }
}
