//! A token bucket, kept as a schedule.
//!
//! The bucket does not count tokens. It keeps the time up to which the rate is used up by admitted
//! bytes, and each request moves that time forward. So a thread that sleeps too long loses nothing:
//! the next request is counted from the time at which the last one was due, not from the time at
//! which it was served. (This is the generic cell rate algorithm of ATM, ITU-T I.371.)

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Schedules bytes so that in any time `t` at most `rate x t + burst` bytes are due. Times are
/// counted from one fixed moment.
#[derive(Debug)]
struct Bucket {
    /// Bytes/s.
    rate: f64,
    /// The time to fill the bucket: burst / rate.
    depth: Duration,
    /// The time up to which the rate is used up by the bytes requested so far.
    paid: Duration,
}

impl Bucket {
    fn new(rate: f64, burst: f64) -> Self {
        Self {
            rate,
            depth: Duration::from_secs_f64(burst / rate),
            paid: Duration::ZERO,
        }
    }

    /// Returns the time at which bytes that are requested now are due. That is never before the
    /// bytes of an earlier request are due: first come, first served.
    fn take(&mut self, now: Duration, bytes: u32) -> Duration {
        self.paid = self.paid.max(now) + Duration::from_secs_f64(f64::from(bytes) / self.rate);
        now.max(self.paid.saturating_sub(self.depth))
    }
}

/// The PCIe port of a device, shared by threads.
pub(super) struct SharedPort {
    since: Instant,
    bucket: Mutex<Bucket>,
}

impl SharedPort {
    /// A port that admits `rate` bytes/s, and up to `burst` bytes at once after a pause.
    pub(super) fn new(rate: f64, burst: f64) -> Self {
        Self {
            since: Instant::now(),
            bucket: Mutex::new(Bucket::new(rate, burst)),
        }
    }

    /// Blocks until these bytes may be copied. Requests are served in order.
    pub(super) fn wait(&self, bytes: u32) {
        let due = {
            let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
            bucket.take(self.since.elapsed(), bytes)
        };
        thread::sleep(due.saturating_sub(self.since.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 1e6;
    const BURST: f64 = 5e3;

    /// Requests of up to four kilobytes, at once or after a pause, and when each is due.
    fn history(seed: u64) -> Vec<(Duration, u32)> {
        let mut bucket = Bucket::new(RATE, BURST);
        let mut state = seed;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut now = Duration::ZERO;
        let request = |_| {
            now += Duration::from_micros([0, 0, 100, draw(20_000)][draw(4) as usize]);
            let bytes = 1 + draw(4_000) as u32;
            (bucket.take(now, bytes), bytes)
        };
        (0..200).map(request).collect()
    }

    #[test]
    fn no_more_is_due_in_any_time_than_the_rate_times_that_time_and_a_burst() {
        for seed in 0..50 {
            let due = history(seed);
            for from in 0..due.len() {
                let mut bytes = 0.0;
                for &(until, more) in &due[from..] {
                    bytes += f64::from(more);
                    let most = RATE * (until - due[from].0).as_secs_f64() + BURST;
                    assert!(
                        bytes <= most + 1e-3,
                        "seed {seed}: {bytes} of {most} bytes, {due:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_request_waits_while_tokens_are_left_and_all_are_served_in_order() {
        for seed in 0..50 {
            assert!(
                history(seed).is_sorted_by_key(|(due, _)| *due),
                "seed {seed}"
            );
        }
        let mut bucket = Bucket::new(RATE, BURST);
        let at = Duration::from_millis;
        let due: Vec<Duration> = [0, 0, 0, 100, 100, 104]
            .map(|now| bucket.take(at(now), 4_000))
            .into();
        assert_eq!(due, [at(0), at(3), at(7), at(100), at(103), at(107)]);
    }

    #[test]
    fn a_port_asked_all_the_time_gives_its_rate() {
        let mut bucket = Bucket::new(RATE, BURST);
        let last = (0..1_000)
            .map(|_| bucket.take(Duration::ZERO, 1_000))
            .last();
        assert_eq!(last, Some(Duration::from_millis(995)));
    }
}
