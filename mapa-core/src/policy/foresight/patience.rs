//! How much a job gains from faster links, and what it costs to wait for them.

/// How much a bandwidth-sensitive job gains from faster links, and what it costs to wait for them.
///
/// A sensitive job on a slow ring holds its devices for longer. A job that waits for a lease to end
/// leaves devices idle until then. Costs are in device-times: one device for the time that the job
/// takes at full speed. Leases end in random order. Let F be the free devices, l the number of
/// running leases, and A those that have ended. The least cost from then on is
///
/// > V(A) = min( k f(best ring of k within F ∪ A),  κ |F ∪ A| / (l − |A|) + mean over j of V(A ∪ {j}) )
///
/// Starting costs k devices for f times the run time at full speed, where f is the
/// [slowdown](Self::slowdown_at). Waiting costs the devices that idle until the next lease ends,
/// for κ / (l − |A|) of a job's time. A job waits if waiting for at least one end costs less than
/// starting on the devices chosen now
/// ([`Foresight::worth_waiting`](crate::Foresight::worth_waiting)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// κ: the mean remaining time of a running lease, divided by the mean duration of leases. 1 if
    /// durations are memoryless, 0.58 for run times uniform in 5..24. The lower κ, the more patient
    /// the job. Default: 0.35.
    pub kappa: f64,
    /// The run time of a sensitive job at `floor_gbps`, divided by its run time at full speed.
    /// Default: 2.1. At 1 or below no job waits: that is right if run times do not depend on
    /// bandwidth.
    pub slowdown: f64,
    /// The lowest bandwidth of a job, GB/s. Lower values count as this one. Default: 10.
    pub floor_gbps: f64,
    /// The bandwidth of full speed, GB/s. More makes no job faster. Default: 50.
    pub full_gbps: f64,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            kappa: 0.35,
            slowdown: 2.1,
            floor_gbps: 10.0,
            full_gbps: 50.0,
        }
    }
}

impl Patience {
    /// f: a sensitive job's run time at this bandwidth, divided by its run time at full speed.
    /// Linear in 1 / bandwidth. 1 if the floor is not below the full bandwidth.
    #[must_use]
    pub fn slowdown_at(&self, gbps: f64) -> f64 {
        let Self {
            slowdown,
            floor_gbps: floor,
            full_gbps: full,
            ..
        } = *self;
        let gains = floor > 0.0 && floor < full && slowdown > 1.0;
        if !gains {
            return 1.0;
        }
        let inverse = 1.0 / gbps.max(floor).min(full);
        1.0 + (slowdown - 1.0) * (inverse - 1.0 / full) / (1.0 / floor - 1.0 / full)
    }
}
