//! How many instances isolated jobs get, by the work that waits in each class.

/// What was seen of jobs that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    pub(super) fn see(&mut self, value: f64) {
        self.sum += value;
        self.count = self.count.saturating_add(1);
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// What waits and runs in each class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassLoad {
    /// Isolated jobs that wait.
    pub(super) waiting: usize,
    /// Isolated jobs that run.
    pub(super) running: usize,
    /// Other jobs that wait or run.
    pub(super) others: usize,
    /// Seconds of isolated jobs that have ended.
    pub(super) seconds: Mean,
    /// Bytes times seconds of the tasks of other jobs that have ended.
    pub(super) byte_seconds: Mean,
    /// The mean memory of an instance, bytes.
    pub(super) capacity: f64,
}

/// The share of an instance's memory that packed tasks fill. Assumed.
const FILLED: f64 = 0.75;

/// How many of `instances` isolated jobs may have: in proportion to the instance-seconds that each
/// class still needs, rounded up; at least one if any waits. A running isolated job counts half. Until a job of each class has
/// ended, every job counts as much as any other. With no other job, all.
pub(super) fn isolated_instances(instances: usize, work: &ClassLoad) -> usize {
    if work.others == 0 {
        return instances;
    }
    let seen = (work.seconds.get(), work.byte_seconds.get());
    let (each, other) = match seen {
        (Some(seconds), Some(bytes)) if work.capacity > 0.0 => {
            (seconds, bytes / (work.capacity * FILLED))
        }
        _ => (1.0, 1.0),
    };
    let isolated = (work.waiting as f64 + work.running as f64 / 2.0) * each;
    let others = work.others as f64 * other;
    if isolated + others <= 0.0 {
        return instances;
    }
    let share = isolated / (isolated + others);
    let least = usize::from(work.waiting > 0);
    ((instances as f64 * share).ceil() as usize)
        .max(least)
        .min(instances)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(value: f64) -> Mean {
        let mut mean = Mean::default();
        mean.see(value);
        mean
    }

    #[test]
    fn instances_are_divided_by_the_work_that_is_left() {
        let work = ClassLoad {
            waiting: 3,
            running: 2,
            others: 8,
            seconds: mean(10.0),
            byte_seconds: mean(15.0),
            capacity: 4.0,
        };
        // Isolated: (3 + 1) x 10 = 40. Others: 8 x 15 / 3 = 40. Half of the instances.
        assert_eq!(isolated_instances(16, &work), 8);
        assert_eq!(isolated_instances(5, &work), 3, "rounded up");
        let unseen = ClassLoad {
            seconds: Mean::default(),
            ..work
        };
        assert_eq!(isolated_instances(12, &unseen), 4, "four of twelve jobs");
        let alone = ClassLoad { others: 0, ..work };
        assert_eq!(isolated_instances(16, &alone), 16);
        let none = ClassLoad {
            waiting: 0,
            running: 0,
            ..work
        };
        assert_eq!(isolated_instances(16, &none), 0);
    }
}
