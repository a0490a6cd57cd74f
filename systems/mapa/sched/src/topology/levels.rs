//! The bandwidths of a machine's rings, as slowdowns.

use mapa_core::{HardwareGraph, Objective, Pattern, Request, SetScores};

use mapa_sched::Error;
use mapa_sched::{Job, JobId};

/// The most levels of one size. More are joined.
const MOST: usize = 64;

/// How much each set of devices slows a ring down: `g`, 0 at 50 GB/s or more, 1 at 10 or less.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Levels {
    /// The number of devices.
    pub(super) devices: usize,
    /// By size: the different values of `g` of its sets, ascending. Without a ring, none. No sets
    /// were looked at for sizes that no job has. Of more than 64 values, neighbours are joined,
    /// each group with the least: then no set is slower than in truth.
    pub(super) of_size: Vec<Vec<f64>>,
    /// By set, as a mask: its place among the levels of its size. `None` where no ring fits, and
    /// for sizes that no job has.
    pub(super) of_set: Vec<Option<u16>>,
}

impl Levels {
    /// The levels of the sizes that are `used`, by a model of bandwidth.
    ///
    /// # Complexity
    /// O(2ᵐ) for m devices; in addition, once per machine, the tables of [`SetScores`].
    pub(super) fn new(
        graph: &HardwareGraph,
        model: &Objective<'static>,
        used: impl Fn(usize) -> bool,
    ) -> Result<Self, Error> {
        let (devices, most) = (graph.wholes().len(), SetScores::MOST_DEVICES);
        if devices > most || graph.len() != devices {
            let what = format!(
                "a machine of {devices} devices, {} with their instances: expected at most {most} devices that \
                 cannot be partitioned",
                graph.len()
            );
            return Err(Error::bound(what));
        }
        let mut own = Self {
            devices,
            of_size: vec![Vec::new(); devices + 1],
            of_set: vec![None; 1 << devices],
        };
        for size in (1..=devices).filter(|&size| used(size)) {
            own.add(graph, model, size)?;
        }
        Ok(own)
    }

    fn add(
        &mut self,
        graph: &HardwareGraph,
        model: &Objective<'static>,
        size: usize,
    ) -> Result<(), Error> {
        if size == 1 {
            // A single device exchanges nothing.
            self.of_size[1].push(0.0);
            for device in 0..self.devices {
                self.of_set[1 << device] = Some(0);
            }
            return Ok(());
        }
        let pattern = Pattern::ring(size);
        let Some(scores) = SetScores::of(graph, model, &pattern) else {
            let what = format!(
                "rings of {size} of {} devices: expected a table",
                self.devices
            );
            return Err(Error::bound(what));
        };
        // The formula of run times stands in one place: a job of ratio 2 is slowed down by 1 + g.
        let mut unit = Job::new(JobId(0), Request::new(pattern));
        unit.link_ratio = Some(2.0);
        let known: Vec<(u32, f64)> = scores
            .iter()
            .filter_map(|(set, gbps)| Some((set, unit.slowdown_at(gbps?) - 1.0)))
            .collect();
        let levels = &mut self.of_size[size];
        levels.extend(known.iter().map(|&(_, level)| level));
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let group = levels.len().div_ceil(MOST).max(1);
        *levels = levels.iter().copied().step_by(group).collect();
        for (set, level) in known {
            // The last one that is not above it. The first is the least of all.
            let above = levels.partition_point(|&value| value <= level);
            self.of_set[set as usize] = u16::try_from(above.saturating_sub(1)).ok();
        }
        Ok(())
    }

    /// By size, from 0 on: the least `g`, if the machine has such a ring.
    pub(super) fn least(&self) -> Vec<Option<f64>> {
        let of = |levels: &Vec<f64>| levels.first().copied();
        self.of_size.iter().map(of).collect()
    }
}
