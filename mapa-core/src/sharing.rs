//! The rates of several streams over links that they share: weighted max-min fairness with caps.
//!
//! The *level* of a stream is its rate divided by its weight. An allocation is max-min fair if no
//! stream gets more than it can use, and every stream that gets less crosses a full link on which
//! no other stream has a higher level. There is exactly one such allocation (Bertsekas and
//! Gallager, *Data Networks*, section 6.5.2). *Progressive filling* finds it: all streams grow
//! together, each by its weight, until a link is full or a stream has all it can use. Streams that
//! this stops keep their rate; the others grow on.
//!
//! On one link this is water-filling, the result of arbiters that serve their queues in turn. On a
//! [host tree](crate::HostLinks) it gives the rates of copies to and from devices behind shared
//! PCIe switches and root complexes.

use smallvec::SmallVec;

use crate::error::{Error, ErrorKind};

/// A stream over some links.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The links that the stream crosses, as indices into the list of capacities. A stream that
    /// crosses a link twice takes twice its rate there.
    pub links: SmallVec<[u32; 4]>,
    /// The most that the stream can use, GB/s; [`f64::INFINITY`] for a stream that takes whatever
    /// it gets.
    pub cap: f64,
    /// The stream's share where it competes, relative to the shares of others. Default: 1.
    pub weight: f64,
}

impl Flow {
    /// A stream of weight 1 over these links that can use `cap` GB/s.
    #[must_use]
    pub fn new(links: impl IntoIterator<Item = u32>, cap: f64) -> Self {
        Self {
            links: links.into_iter().collect(),
            cap,
            weight: 1.0,
        }
    }

    /// The stream with this weight.
    #[must_use]
    pub fn weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// The level at which the stream has all it can use: GB/s divided by weight.
    fn most(&self) -> f64 {
        self.cap / self.weight
    }
}

/// The largest capacity, cap and weight; its inverse is the smallest weight. So no sum or quotient
/// overflows.
const MOST: f64 = crate::topology::MOST_GBPS;

/// The rate of each stream, GB/s: weighted max-min fair within `capacities`, GB/s by link.
///
/// Every stream gets its cap, or crosses a full link on which no stream has a higher rate divided
/// by weight (both within rounding). An additional stream can lower the rates of some streams and
/// raise those of others. If there is only one link, no rate rises. With several, what a stream
/// loses on one link, a third stream may gain on another.
///
/// # Complexity
///
/// O(r p) time for paths of p links in all and r rounds. Each round stops at least one stream, and
/// there is at most one round for each link and each distinct quotient of cap and weight. Memory
/// is O(s + l) for s streams and l links.
///
/// # Examples
///
/// ```
/// use mapa_core::sharing::{Flow, max_min};
///
/// // Six jobs that could copy 18.9 GB/s each and one that needs 7.1 share a port of 30.08 GB/s.
/// // All get equal parts, since none gets what it could use.
/// let mut flows = vec![Flow::new([0], 18.9); 6];
/// flows.push(Flow::new([0], 7.1));
/// assert!(max_min(&[30.08], &flows)?.iter().all(|gbps| (gbps - 30.08 / 7.0).abs() < 1e-9));
/// // If only two of the six run, the job that needs 7.1 gets it, and the two share the rest.
/// let rates = max_min(&[30.08], &flows[4..])?;
/// assert!(rates.iter().zip([11.49, 11.49, 7.1]).all(|(rate, gbps)| (rate - gbps).abs() < 1e-9));
/// # Ok::<(), mapa_core::Error>(())
/// ```
///
/// # Errors
/// A capacity that is negative, not a number or above 1e9; a cap that is negative, not a number, or
/// infinite for a stream that crosses no link; a weight outside 1e-9 to 1e9; a link without a
/// capacity.
pub fn max_min(capacities: &[f64], flows: &[Flow]) -> Result<Vec<f64>, Error> {
    check(capacities, flows)?;
    let mut rates = vec![0.0; flows.len()];
    let mut left = capacities.to_vec();
    let mut weights = vec![0.0; capacities.len()];
    let mut growing: Vec<usize> = (0..flows.len()).collect();
    while !growing.is_empty() {
        // By link, the weight of the streams that still grow there.
        weights.fill(0.0);
        for flow in growing.iter().map(|&i| &flows[i]) {
            flow.links
                .iter()
                .for_each(|&link| weights[link as usize] += flow.weight);
        }
        // All streams that still grow have the same level. `left` is what stopped streams leave of
        // a link, so the streams that still grow there fill it at this level.
        let full_at = |link: &u32| left[*link as usize] / weights[*link as usize];
        let stops_at = |flow: &Flow| flow.links.iter().map(full_at).fold(flow.most(), f64::min);
        let level = growing
            .iter()
            .map(|&i| stops_at(&flows[i]))
            .fold(f64::INFINITY, f64::min);
        let (stopped, on): (Vec<usize>, _) =
            growing.iter().partition(|&&i| stops_at(&flows[i]) <= level);
        // At least the stream that set the level stops, so the loop ends.
        for i in stopped {
            let flow = &flows[i];
            rates[i] = if flow.most() <= level {
                flow.cap
            } else {
                flow.weight * level
            };
            for &link in &flow.links {
                let left = &mut left[link as usize];
                *left = (*left - rates[i]).max(0.0);
            }
        }
        growing = on;
    }
    Ok(rates)
}

/// Checks capacities and streams; see [`max_min`].
fn check(capacities: &[f64], flows: &[Flow]) -> Result<(), Error> {
    if let Some((link, &gbps)) = capacities
        .iter()
        .enumerate()
        .find(|(_, gbps)| !(0.0..=MOST).contains(*gbps))
    {
        return Err(ErrorKind::BadCapacity { link, gbps }.into());
    }
    let bad = |flow, what: String| Err(ErrorKind::BadFlow { flow, what }.into());
    for (i, Flow { links, cap, weight }) in flows.iter().enumerate() {
        if !(0.0..=MOST).contains(cap) && *cap != f64::INFINITY {
            return bad(
                i,
                format!("a cap of {cap} GB/s: expected a number from 0 to 1e9, or infinity"),
            );
        }
        if !(1.0 / MOST..=MOST).contains(weight) {
            return bad(
                i,
                format!("a weight of {weight}: expected a number from 1e-9 to 1e9"),
            );
        }
        if let Some(link) = links
            .iter()
            .find(|link| **link as usize >= capacities.len())
        {
            return bad(
                i,
                format!(
                    "no link {link}: expected an index below {}",
                    capacities.len()
                ),
            );
        }
        if links.is_empty() && *cap == f64::INFINITY {
            return bad(
                i,
                "no link and no cap: expected at least one of them".to_owned(),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Water-filling on one link by the sorted formula: the stream with the least cap by weight is
    /// served first.
    fn on_one_link(capacity: f64, flows: &[Flow]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_by(|&a, &b| flows[a].most().total_cmp(&flows[b].most()));
        let (mut left, mut weight) = (capacity, flows.iter().map(|flow| flow.weight).sum::<f64>());
        let mut rates = vec![0.0; flows.len()];
        for i in order {
            rates[i] = flows[i].cap.min(flows[i].weight * left / weight);
            left -= rates[i];
            weight -= flows[i].weight;
        }
        rates
    }

    /// All streams grow in tiny steps until none can.
    fn by_steps(capacities: &[f64], flows: &[Flow], step: f64) -> Vec<f64> {
        let mut rates = vec![0.0; flows.len()];
        let mut left = capacities.to_vec();
        loop {
            let mut any = false;
            for (flow, rate) in flows.iter().zip(&mut rates) {
                let more = step * flow.weight;
                if *rate + more <= flow.cap
                    && flow.links.iter().all(|&link| left[link as usize] >= more)
                {
                    *rate += more;
                    flow.links
                        .iter()
                        .for_each(|&link| left[link as usize] -= more);
                    any = true;
                }
            }
            if !any {
                return rates;
            }
        }
    }

    /// Checks the definition of the answer: no capacity is exceeded, and a stream that has less
    /// than its cap crosses a full link on which no other has more by weight.
    fn verify(capacities: &[f64], flows: &[Flow], rates: &[f64]) -> Result<(), TestCaseError> {
        let times = |flow: &Flow, link: usize| {
            flow.links.iter().filter(|id| **id as usize == link).count() as f64
        };
        let used: Vec<f64> = (0..capacities.len())
            .map(|link| {
                flows
                    .iter()
                    .zip(rates)
                    .map(|(flow, rate)| times(flow, link) * rate)
                    .sum()
            })
            .collect();
        for (link, (used, capacity)) in used.iter().zip(capacities).enumerate() {
            prop_assert!(
                *used <= capacity + 1e-9,
                "link {link} carries {used} of {capacity}"
            );
        }
        for (i, (flow, &rate)) in flows.iter().zip(rates).enumerate() {
            prop_assert!(
                (0.0..=flow.cap).contains(&rate),
                "flow {i} has {rate} of {}",
                flow.cap
            );
            let is_limit = |&link: &u32| {
                let link = link as usize;
                let beside = flows
                    .iter()
                    .zip(rates)
                    .filter(|(other, _)| times(other, link) > 0.0);
                used[link] >= capacities[link] - 1e-9 && { beside }.all(|(other, other_rate)| {
                    other_rate / other.weight <= rate / flow.weight + 1e-9
                })
            };
            prop_assert!(
                rate == flow.cap || flow.links.iter().any(is_limit),
                "flow {i} could have more: {rates:?}"
            );
        }
        Ok(())
    }

    fn weights() -> impl Strategy<Value = f64> {
        prop_oneof![3 => Just(1.0), 1 => (1u32..8).prop_map(f64::from), 1 => 0.1..5.0]
    }

    /// Round numbers, with which several streams stop at once, and others.
    fn gbps() -> impl Strategy<Value = f64> {
        prop_oneof![(0u32..20).prop_map(f64::from), 0.0..20.0]
    }

    fn caps() -> impl Strategy<Value = f64> {
        prop_oneof![5 => gbps(), 1 => Just(f64::INFINITY)]
    }

    /// The links of a tree, each with one above it or none, and flows from some link up to the
    /// root.
    fn trees() -> impl Strategy<Value = (Vec<f64>, Vec<Flow>)> {
        let above = |n: usize| (0..n).map(|i| 0..=i).collect::<Vec<_>>();
        let links =
            (1usize..9).prop_flat_map(move |n| (prop::collection::vec(gbps(), n), above(n)));
        (
            links,
            prop::collection::vec((any::<prop::sample::Index>(), caps(), weights()), 1..10),
        )
            .prop_map(|((capacities, above), flows)| {
                let path = |from: usize| {
                    let up = |&link: &usize| Some(above[link]).filter(|&next| next != link);
                    std::iter::successors(Some(from), up).map(|link| link as u32)
                };
                let flow = |(from, cap, weight): (prop::sample::Index, f64, f64)| {
                    Flow::new(path(from.index(capacities.len())), cap).weight(weight)
                };
                let flows = flows.into_iter().map(flow).collect();
                (capacities, flows)
            })
    }

    /// Links without order, and flows over any of them.
    fn networks() -> impl Strategy<Value = (Vec<f64>, Vec<Flow>)> {
        prop::collection::vec(gbps(), 1..8).prop_flat_map(|capacities| {
            let links = prop::collection::vec(0..capacities.len() as u32, 1..5);
            let flow = (links, caps(), weights())
                .prop_map(|(links, cap, weight)| Flow::new(links, cap).weight(weight));
            (Just(capacities), prop::collection::vec(flow, 1..10))
        })
    }

    proptest! {
        #[test]
        fn one_link_is_filled_as_by_the_sorted_formula(
            capacity in gbps(), flows in prop::collection::vec((caps(), weights()), 1..12),
        ) {
            let flows: Vec<Flow> = flows.into_iter().map(|(cap, weight)| Flow::new([0], cap).weight(weight)).collect();
            let rates = max_min(&[capacity], &flows).unwrap();
            verify(&[capacity], &flows, &rates)?;
            for (rate, expected) in rates.iter().zip(on_one_link(capacity, &flows)) {
                prop_assert!((rate - expected).abs() < 1e-9, "{rates:?}");
            }
            let wanted: f64 = flows.iter().map(|flow| flow.cap.min(capacity)).sum();
            prop_assert!((rates.iter().sum::<f64>() - wanted.min(capacity)).abs() < 1e-9);
            // With one flow fewer, no other has less.
            let fewer = max_min(&[capacity], &flows[1..]).unwrap();
            prop_assert!(fewer.iter().zip(&rates[1..]).all(|(before, after)| *after <= before + 1e-9));
        }

        #[test]
        fn every_flow_has_its_cap_or_a_full_link_on_which_none_has_more(
            (capacities, flows) in prop_oneof![trees(), networks()],
        ) {
            verify(&capacities, &flows, &max_min(&capacities, &flows).unwrap())?;
        }

        #[test]
        fn neither_the_order_of_flows_nor_the_unit_matters((capacities, flows) in trees(), unit in 0.01f64..100.0) {
            let rates = max_min(&capacities, &flows).unwrap();
            let backwards: Vec<Flow> = flows.iter().rev().cloned().collect();
            let mut reversed: Vec<f64> = max_min(&capacities, &backwards).unwrap();
            reversed.reverse();
            let scaled: Vec<f64> = capacities.iter().map(|gbps| gbps * unit).collect();
            let wider: Vec<Flow> = flows.iter().map(|flow| Flow { cap: flow.cap * unit, ..flow.clone() }).collect();
            let wider: Vec<f64> = max_min(&scaled, &wider).unwrap();
            for ((&rate, reversed), wider) in rates.iter().zip(reversed).zip(wider) {
                prop_assert!((rate - reversed).abs() < 1e-9);
                prop_assert!((rate * unit - wider).abs() < 1e-7);
            }
        }

        #[test]
        fn another_flow_does_not_raise_the_least_rate((capacities, flows) in prop_oneof![trees(), networks()]) {
            let least = |flows: &[Flow]| {
                let rates = max_min(&capacities, flows).unwrap();
                flows.iter().zip(rates).map(|(flow, rate)| rate / flow.weight).fold(f64::INFINITY, f64::min)
            };
            prop_assert!(least(&flows) <= least(&flows[1..]) + 1e-9);
        }
    }

    proptest! {
        #![proptest_config(mapa_core::testing::cases(32))]

        #[test]
        fn tiny_steps_lead_there((capacities, flows) in trees()) {
            let step = 1e-3;
            let rates = max_min(&capacities, &flows).unwrap();
            let steps = by_steps(&capacities, &flows, step);
            // A flow that is stopped a step early leaves that much to others, level by level. Each
            // level stops at least one flow.
            let most = step * flows.iter().map(|flow| flow.weight).sum::<f64>() * flows.len() as f64;
            prop_assert!(rates.iter().zip(&steps).all(|(rate, steps)| (rate - steps).abs() <= most), "{rates:?}, {steps:?}");
        }
    }

    #[test]
    fn a_switch_above_two_ports_is_shared_by_what_is_left_of_them() {
        // Two ports of 16 below a switch of 20: one job on the first port, three on the second, one
        // of which needs little.
        let capacities = [16.0, 16.0, 20.0];
        let flows = [
            ([0, 2], 30.0),
            ([1, 2], 30.0),
            ([1, 2], 30.0),
            ([1, 2], 2.0),
        ];
        let rates = max_min(
            &capacities,
            &flows.map(|(links, cap)| Flow::new(links, cap)),
        )
        .unwrap();
        assert_eq!(rates, [6.0, 6.0, 6.0, 2.0]);
    }

    #[test]
    fn an_additional_flow_may_raise_the_rate_of_a_third() {
        let capacities = [10.0, 4.0];
        let [first, second, third] = [
            Flow::new([0], 20.0),
            Flow::new([0, 1], 20.0),
            Flow::new([1], 20.0),
        ];
        assert_eq!(
            max_min(&capacities, &[first.clone(), second.clone()]).unwrap(),
            [6.0, 4.0]
        );
        assert_eq!(
            max_min(&capacities, &[first, second, third]).unwrap(),
            [8.0, 2.0, 2.0]
        );
    }

    #[test]
    fn flows_and_capacities_that_are_not_valid_are_rejected_by_name() {
        let refused =
            |capacities: &[f64], flow: Flow| max_min(capacities, &[flow]).unwrap_err().to_string();
        for gbps in [-1.0, f64::NAN, f64::INFINITY, 2e9] {
            let message = refused(&[1.0, gbps], Flow::new([0], 1.0));
            assert_eq!(
                message,
                format!("link 1: a capacity of {gbps} GB/s: expected a number from 0 to 1e9")
            );
        }
        for (flow, message) in [
            (
                Flow::new([0], -1.0),
                "flow 0: a cap of -1 GB/s: expected a number from 0 to 1e9, or infinity",
            ),
            (
                Flow::new([0], f64::NAN),
                "flow 0: a cap of NaN GB/s: expected a number from 0 to 1e9, or infinity",
            ),
            (
                Flow::new([0], 1.0).weight(0.0),
                "flow 0: a weight of 0: expected a number from 1e-9 to 1e9",
            ),
            (
                Flow::new([0], 1.0).weight(f64::NAN),
                "flow 0: a weight of NaN: expected a number from 1e-9 to 1e9",
            ),
            (
                Flow::new([3], 1.0),
                "flow 0: no link 3: expected an index below 1",
            ),
            (
                Flow::new([], f64::INFINITY),
                "flow 0: no link and no cap: expected at least one of them",
            ),
        ] {
            assert_eq!(refused(&[1.0], flow), message);
        }
        assert_eq!(max_min(&[], &[Flow::new([], 3.0)]).unwrap(), [3.0]);
        assert!(max_min(&[1.0], &[]).unwrap().is_empty());
    }
}
