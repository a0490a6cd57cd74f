//! The products of a fleet's devices: a job over several machines gets devices of one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use mapa_core::{Decision, DeviceSet, MachineId, Policy, Reason, Refusal, Request};

use super::Fleet;
use super::answer::{better, no_machine};

/// The devices of one product, by machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AlikeDevices(BTreeMap<MachineId, DeviceSet>);

impl Fleet {
    /// The devices of each product, in the order of the first machine that has them; none if all are of one product, or
    /// the product of some device is not known. Like [`HardwareGraph::products`](mapa_core::HardwareGraph::products), of
    /// all machines together.
    fn products(&self) -> Vec<AlikeDevices> {
        let mut order: Vec<&str> = Vec::new();
        let mut products: BTreeMap<&str, AlikeDevices> = BTreeMap::new();
        for (id, machine) in (0u32..).map(MachineId).zip(&self.machines) {
            let graph = machine.graph();
            for device in graph.wholes().iter() {
                let Some(product) = graph.device(device).product.as_deref() else {
                    return Vec::new();
                };
                let alike = products.entry(product).or_insert_with(|| {
                    order.push(product);
                    AlikeDevices::default()
                });
                alike.0.entry(id).or_default().insert(device);
            }
        }
        if order.len() < 2 {
            return Vec::new();
        }
        order
            .iter()
            .filter_map(|product| products.remove(product))
            .collect()
    }

    /// Makes parts of a job with devices of one product, for the product whose parts are fewest; of equal ones, for the
    /// first. `make` makes them from the devices that it is given, or from all if the job may have unlike devices or the
    /// fleet has no others.
    ///
    /// # Errors
    /// If no product has the devices: the refusal with the most hope.
    pub(super) fn parts_alike(
        &self,
        request: &Request,
        make: impl Fn(Option<&AlikeDevices>) -> Result<Vec<Decision>, Refusal>,
    ) -> Result<Vec<Decision>, Refusal> {
        let products = if request.unlike || request.pattern.len() < 2 {
            Vec::new()
        } else {
            self.products()
        };
        if products.is_empty() {
            return make(None);
        }
        let answers: Vec<_> = products.iter().map(|alike| make(Some(alike))).collect();
        let (found, refusals): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        let fewest = found.into_iter().flatten().min_by_key(Vec::len);
        let likeliest = || {
            let refusals = refusals.into_iter().filter_map(Result::err);
            match refusals.min_by_key(|refusal| Reverse(refusal.hope())) {
                Some(Refusal::Infeasible(_)) | None => Refusal::Infeasible(Reason::Rule(
                    format!(
                        "{} devices of one product on the machines together; a request for unlike devices may mix them",
                        request.pattern.len()
                    )
                    .into(),
                )),
                Some(other) => other,
            }
        };
        fewest.ok_or_else(likeliest)
    }

    /// Whether a job has more ranks than any machine has devices of one product, on a fleet with a machine that has those
    /// of several.
    pub(super) fn exceeds_products(&self, request: &Request) -> bool {
        let most = |machine: &mapa_core::Allocator| {
            let graph = machine.graph();
            let sets = graph.products().iter().map(DeviceSet::len);
            sets.max().unwrap_or_else(|| graph.wholes().len())
        };
        let has_several = |machine: &mapa_core::Allocator| !machine.graph().products().is_empty();
        !request.unlike
            && self.machines.iter().any(has_several)
            && self.machines.iter().map(most).max() < Some(request.pattern.len())
    }

    /// The best decision with these devices, over the machines that are not `taken`, as [`Fleet::decide`]. Each machine has
    /// a request of its own, so the index has no answers for them.
    pub(super) fn decide_alike(
        &self,
        policy: &impl Policy,
        request: &Request,
        taken: &[MachineId],
        alike: &AlikeDevices,
    ) -> Result<Decision, Refusal> {
        let answers = alike.0.iter().filter(|(id, _)| !taken.contains(id));
        let answers = answers.filter_map(|(&id, devices)| {
            let machine = self.machine(id).ok()?;
            let others = &machine.graph().wholes() - devices;
            let inside = Request {
                avoid: &request.avoid | &others,
                ..request.clone()
            };
            Some((id, policy.decide(&inside, &machine.view())))
        });
        answers
            .min_by(better)
            .map_or_else(|| Err(no_machine(request)), |(_, answer)| answer)
    }
}
