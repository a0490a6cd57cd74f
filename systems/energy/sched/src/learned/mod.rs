//! Learned rules: a net that sees a [state](super::State) and picks a free slice for the head of the
//! queue, after Hisaria et al. Nets are trained elsewhere; here they are read and evaluated.
//!
//! | part | what it is |
//! |---|---|
//! | [`Observation`] | a state as numbers, in two [formulations](Formulation) |
//! | [`Net`] | a fully connected net, evaluated to the same bits everywhere |
//! | [`Weights`] | a trained net as a file, which says for what machine it is |
//! | [`Learned`] | the rule |
//!
//! # Examples
//! A net without inner layers, whose only weights prefer the last slice.
//! ```
//! use mapa_system_energy::learned::{Formulation, Learned, Net, Weights};
//! use mapa_system_energy::{SlicedGpus, Power, Rule, SliceJob, State};
//!
//! let machine = SlicedGpus::new("4,2,1", Power::A100)?;
//! let mut parameters = vec![0.0; (49 + 1) * 3];
//! *parameters.last_mut().unwrap() = 1.0; // a bias
//! let net = Net::new(vec![49, 3], parameters)?;
//! let weights = Weights::new(Formulation::Original, "4,2,1", 0, "by hand", net)?;
//! let mut rule = Learned::new(Weights::from_bytes(&weights.to_bytes())?, &machine)?;
//!
//! let mut state = State::new(machine);
//! state.arrive(0, SliceJob::new(0.0, 20.0, [40.0, 20.0, 14.0, 10.0, 6.0])?);
//! assert_eq!(rule.choose(&state).unwrap().slice, 2);
//! # Ok::<(), mapa_system_energy::Error>(())
//! ```

mod math;
mod net;
mod observation;
mod rule;
mod weights;

pub use math::{exp, tanh};
pub use net::{Net, Scratch};
pub use observation::{Formulation, Observation};
pub use rule::Learned;
pub use weights::Weights;
