// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("Arithmetic::round" , false , | (mut a0 , mut a1 ,) : (own :: Arithmetic , f64 ,) | { let _ = own :: Arithmetic :: round (a0 , a1) ; }) ;
    calls . of ("EnergyPlan::booking" , false , | (mut a0 , mut a1 ,) : (own :: EnergyPlan , own :: Booking ,) | { let _ = own :: EnergyPlan :: booking (a0 , a1) ; }) ;
    calls . of ("EnergyPlan::new" , false , | (mut a0 ,) : (own :: Prices ,) | { let _ = own :: EnergyPlan :: new (a0) ; }) ;
    calls . of ("EnergyPlan::notes" , false , | (mut a0 ,) : (own :: EnergyPlan ,) | { let _ = own :: EnergyPlan :: notes (& a0) ; }) ;
    calls . of ("EnergyPlan::tuned_for" , false , | (mut a0 , mut a1 ,) : (own :: EnergyPlan , own :: TunedFor ,) | { let _ = own :: EnergyPlan :: tuned_for (a0 , a1) ; }) ;
    calls . of ("Error::is_too_large" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: is_too_large (& a0) ; }) ;
    calls . of ("LeastCost::new" , false , | (mut a0 ,) : (f64 ,) | { let _ = own :: LeastCost :: new (a0) ; }) ;
    calls . of ("PriceFile::named" , false , | (mut a0 ,) : (String ,) | { let _ = own :: PriceFile :: named (& a0 [..]) ; }) ;
    calls . of ("PriceFile::plan" , false , | (mut a0 ,) : (own :: PriceFile ,) | { let _ = own :: PriceFile :: plan (& a0) ; }) ;
    calls . of ("PriceFile::read" , false , | (mut a0 ,) : (String ,) | { let _ = own :: PriceFile :: read (& a0 [..]) ; }) ;
    calls . of ("PriceFile::write" , false , | (mut a0 ,) : (own :: PriceFile ,) | { let _ = own :: PriceFile :: write (& a0) ; }) ;
    calls . of ("Prices::checked" , false , | (mut a0 ,) : (own :: Prices ,) | { let _ = own :: Prices :: checked (a0) ; }) ;
    calls . of ("RuleName::find" , false , | (mut a0 ,) : (String ,) | { let _ = own :: RuleName :: find (& a0 [..]) ; }) ;
    calls . of ("RuleName::rule" , false , | (mut a0 , mut a1 ,) : (own :: RuleName , u64 ,) | { let _ = own :: RuleName :: rule (& a0 , a1) ; }) ;
    calls . of ("RuleScheduler::state" , false , | (mut a0 ,) : (own :: RuleScheduler ,) | { let _ = own :: RuleScheduler :: state (& a0) ; }) ;
    calls . of ("RuleScheduler::waiting" , false , | (mut a0 ,) : (own :: RuleScheduler ,) | { let _ = own :: RuleScheduler :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Schedule::costs" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Schedule , Vec < SliceJob > , Power ,) | { let _ = own :: Schedule :: costs (& a0 , & a1 [..] , & a2) ; }) ;
    calls . of ("Schedule::verify" , false , | (mut a0 , mut a1 ,) : (own :: Schedule , Vec < SliceJob > ,) | { let _ = own :: Schedule :: verify (& a0 , & a1 [..]) ; }) ;
    calls . of ("SlicedGpus::creation_minutes" , false , | (mut a0 ,) : (own :: SlicedGpus ,) | { let _ = own :: SlicedGpus :: creation_minutes (& a0) ; }) ;
    calls . of ("SlicedGpus::flexible" , false , | (mut a0 , mut a1 , mut a2 ,) : (usize , Power , f64 ,) | { let _ = own :: SlicedGpus :: flexible (a0 , a1 , a2) ; }) ;
    calls . of ("SlicedGpus::gpu_count" , false , | (mut a0 ,) : (own :: SlicedGpus ,) | { let _ = own :: SlicedGpus :: gpu_count (& a0) ; }) ;
    calls . of ("SlicedGpus::gpus" , false , | (mut a0 ,) : (own :: SlicedGpus ,) | { let _ = own :: SlicedGpus :: gpus (& a0) ; }) ;
    calls . of ("SlicedGpus::layouts" , false , | (mut a0 ,) : (own :: SlicedGpus ,) | { let _ = own :: SlicedGpus :: layouts (& a0) ; }) ;
    calls . of ("SlicedGpus::new" , false , | (mut a0 , mut a1 ,) : (String , Power ,) | { let _ = own :: SlicedGpus :: new (& a0 [..] , a1) ; }) ;
    calls . of ("SlicedGpus::of_layouts" , false , | (mut a0 , mut a1 ,) : (String , Power ,) | { let _ = own :: SlicedGpus :: of_layouts (& a0 [..] , a1) ; }) ;
    calls . of ("SlicedGpus::power" , false , | (mut a0 ,) : (own :: SlicedGpus ,) | { let _ = own :: SlicedGpus :: power (& a0) ; }) ;
    calls . of ("SlicedGpus::sizes" , false , | (mut a0 ,) : (own :: SlicedGpus ,) | { let _ = own :: SlicedGpus :: sizes (& a0) ; }) ;
    calls . of ("SlotPlacement::overlaps" , false , | (mut a0 , mut a1 ,) : (own :: SlotPlacement , own :: SlotPlacement ,) | { let _ = own :: SlotPlacement :: overlaps (a0 , a1) ; }) ;
    calls . of ("SlotPlacement::slots" , false , | (mut a0 ,) : (own :: SlotPlacement ,) | { let _ = own :: SlotPlacement :: slots (a0) ; }) ;
    calls . of ("Slots::count" , false , | (mut a0 ,) : (own :: Slots ,) | { let _ = own :: Slots :: count (& a0) ; }) ;
    calls . of ("Slots::even" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < SliceJob > , own :: SlicedGpus , usize ,) | { let _ = own :: Slots :: even (& a0 [..] , & a1 , a2) ; }) ;
    calls . of ("Slots::new" , false , | (mut a0 ,) : (Vec < f64 > ,) | { let _ = own :: Slots :: new (a0) ; }) ;
    calls . of ("State::advance" , false , | (mut a0 , mut a1 ,) : (own :: State , f64 ,) | { let _ = own :: State :: advance (& mut a0 , a1) ; }) ;
    calls . of ("State::arithmetic" , false , | (mut a0 , mut a1 ,) : (own :: State , own :: Arithmetic ,) | { let _ = own :: State :: arithmetic (a0 , a1) ; }) ;
    calls . of ("State::arrive" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: State , u32 , SliceJob ,) | { let _ = own :: State :: arrive (& mut a0 , a1 , a2) ; }) ;
    calls . of ("State::arrived" , false , | (mut a0 ,) : (own :: State ,) | { let _ = own :: State :: arrived (& a0) ; }) ;
    calls . of ("State::block" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: State , usize , bool ,) | { let _ = own :: State :: block (& mut a0 , a1 , a2) ; }) ;
    calls . of ("State::creations" , false , | (mut a0 ,) : (own :: State ,) | { let _ = own :: State :: creations (& a0) ; }) ;
    calls . of ("State::end" , false , | (mut a0 , mut a1 ,) : (own :: State , usize ,) | { let _ = own :: State :: end (& mut a0 , a1) ; }) ;
    calls . of ("State::end_from" , true , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: State , SliceJob , usize , f64 ,) | { let _ = own :: State :: end_from (& a0 , & a1 , a2 , a3) ; }) ;
    calls . of ("State::exists" , true , | (mut a0 , mut a1 ,) : (own :: State , usize ,) | { let _ = own :: State :: exists (& a0 , a1) ; }) ;
    calls . of ("State::finish_of" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: State , SliceJob , usize ,) | { let _ = own :: State :: finish_of (& a0 , & a1 , a2) ; }) ;
    calls . of ("State::finish_on" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: State , SliceJob , usize ,) | { let _ = own :: State :: finish_on (& a0 , & a1 , a2) ; }) ;
    calls . of ("State::free_count" , false , | (mut a0 ,) : (own :: State ,) | { let _ = own :: State :: free_count (& a0) ; }) ;
    calls . of ("State::hold" , false , | (mut a0 , mut a1 ,) : (own :: State , own :: Running ,) | { let _ = own :: State :: hold (& mut a0 , a1) ; }) ;
    calls . of ("State::is_blocked" , false , | (mut a0 , mut a1 ,) : (own :: State , usize ,) | { let _ = own :: State :: is_blocked (& a0 , a1) ; }) ;
    calls . of ("State::is_free" , false , | (mut a0 , mut a1 ,) : (own :: State , usize ,) | { let _ = own :: State :: is_free (& a0 , a1) ; }) ;
    calls . of ("State::leave" , false , | (mut a0 , mut a1 ,) : (own :: State , u32 ,) | { let _ = own :: State :: leave (& mut a0 , a1) ; }) ;
    calls . of ("State::machine" , false , | (mut a0 ,) : (own :: State ,) | { let _ = own :: State :: machine (& a0) ; }) ;
    calls . of ("State::new" , false , | (mut a0 ,) : (own :: SlicedGpus ,) | { let _ = own :: State :: new (a0) ; }) ;
    calls . of ("State::now" , false , | (mut a0 ,) : (own :: State ,) | { let _ = own :: State :: now (& a0) ; }) ;
    calls . of ("State::queue" , false , | (mut a0 ,) : (own :: State ,) | { let _ = own :: State :: queue (& a0) ; }) ;
    calls . of ("State::running" , false , | (mut a0 ,) : (own :: State ,) | { let _ = own :: State :: running (& a0) ; }) ;
    calls . of ("State::start" , false , | (mut a0 , mut a1 ,) : (own :: State , own :: Start ,) | { let _ = own :: State :: start (& mut a0 , a1) ; }) ;
    calls . of ("State::used" , false , | (mut a0 ,) : (own :: State ,) | { let _ = own :: State :: used (& a0) ; }) ;
    calls . of ("State::wait" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: State , u32 , SliceJob ,) | { let _ = own :: State :: wait (& mut a0 , a1 , a2) ; }) ;
    calls . of ("State::watts" , false , | (mut a0 ,) : (own :: State ,) | { let _ = own :: State :: watts (& a0) ; }) ;
    calls . of ("Tuned::range" , false , | (mut a0 ,) : (own :: Tuned ,) | { let _ = own :: Tuned :: range (& a0) ; }) ;
    calls . of ("TunedFor::checked" , false , | (mut a0 ,) : (own :: TunedFor ,) | { let _ = own :: TunedFor :: checked (a0) ; }) ;
    calls . of ("TunedMachine::machine" , false , | (mut a0 , mut a1 ,) : (own :: TunedMachine , Power ,) | { let _ = own :: TunedMachine :: machine (& a0 , a1) ; }) ;
    calls . of ("bare_energy_bound" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < SliceJob > , usize , Power ,) | { let _ = own :: bare_energy_bound (& a0 [..] , a1 , & a2) ; }) ;
    calls . of ("bounds" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (Vec < SliceJob > , own :: SlicedGpus , own :: Slots , Solver ,) | { let _ = own :: bounds (& a0 [..] , & a1 , & a2 , & a3) ; }) ;
    calls . of ("chu_bound" , false , | (mut a0 , mut a1 ,) : (Vec < SliceJob > , usize ,) | { let _ = own :: chu_bound (& a0 [..] , a1) ; }) ;
    calls . of ("energy_bound" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < SliceJob > , usize , Power ,) | { let _ = own :: energy_bound (& a0 [..] , a1 , & a2) ; }) ;
    calls . of ("learned::Formulation::name" , false , | (mut a0 ,) : (own :: learned :: Formulation ,) | { let _ = own :: learned :: Formulation :: name (a0) ; }) ;
    calls . of ("learned::Formulation::named" , false , | (mut a0 ,) : (String ,) | { let _ = own :: learned :: Formulation :: named (& a0 [..]) ; }) ;
    calls . of ("learned::Learned::new" , false , | (mut a0 , mut a1 ,) : (own :: learned :: Weights , own :: SlicedGpus ,) | { let _ = own :: learned :: Learned :: new (a0 , & a1) ; }) ;
    calls . of ("learned::Learned::of" , false , | (mut a0 , mut a1 ,) : (own :: learned :: Weights , Power ,) | { let _ = own :: learned :: Learned :: of (a0 , a1) ; }) ;
    calls . of ("learned::Learned::weights" , false , | (mut a0 ,) : (own :: learned :: Learned ,) | { let _ = own :: learned :: Learned :: weights (& a0) ; }) ;
    calls . of ("learned::Net::new" , false , | (mut a0 , mut a1 ,) : (Vec < usize > , Vec < f32 > ,) | { let _ = own :: learned :: Net :: new (a0 , a1) ; }) ;
    calls . of ("learned::Net::outputs" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: learned :: Net , Vec < f32 > , own :: learned :: Scratch ,) | { let _ = own :: learned :: Net :: outputs (& a0 , & a1 [..] , & mut a2) ; }) ;
    calls . of ("learned::Net::parameter_count" , false , | (mut a0 ,) : (Vec < usize > ,) | { let _ = own :: learned :: Net :: parameter_count (& a0 [..]) ; }) ;
    calls . of ("learned::Net::parameters" , false , | (mut a0 ,) : (own :: learned :: Net ,) | { let _ = own :: learned :: Net :: parameters (& a0) ; }) ;
    calls . of ("learned::Net::sizes" , false , | (mut a0 ,) : (own :: learned :: Net ,) | { let _ = own :: learned :: Net :: sizes (& a0) ; }) ;
    calls . of ("learned::Observation::append" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: learned :: Observation , own :: State , Vec < f32 > ,) | { let _ = own :: learned :: Observation :: append (& a0 , & a1 , & mut a2) ; }) ;
    calls . of ("learned::Observation::formulation" , false , | (mut a0 ,) : (own :: learned :: Observation ,) | { let _ = own :: learned :: Observation :: formulation (& a0) ; }) ;
    calls . of ("learned::Observation::new" , false , | (mut a0 , mut a1 ,) : (own :: learned :: Formulation , own :: SlicedGpus ,) | { let _ = own :: learned :: Observation :: new (a0 , & a1) ; }) ;
    calls . of ("learned::Observation::numbers" , false , | (mut a0 ,) : (own :: learned :: Observation ,) | { let _ = own :: learned :: Observation :: numbers (& a0) ; }) ;
    calls . of ("learned::Observation::original" , false , | (mut a0 ,) : (own :: learned :: Observation ,) | { let _ = own :: learned :: Observation :: original (& a0) ; }) ;
    calls . of ("learned::Observation::slices" , false , | (mut a0 ,) : (own :: learned :: Observation ,) | { let _ = own :: learned :: Observation :: slices (& a0) ; }) ;
    calls . of ("learned::Weights::formulation" , false , | (mut a0 ,) : (own :: learned :: Weights ,) | { let _ = own :: learned :: Weights :: formulation (& a0) ; }) ;
    calls . of ("learned::Weights::from_bytes" , false , | (mut a0 ,) : (String ,) | { let _ = own :: learned :: Weights :: from_bytes (a0 . as_bytes ()) ; }) ;
    calls . of ("learned::Weights::layouts" , false , | (mut a0 ,) : (own :: learned :: Weights ,) | { let _ = own :: learned :: Weights :: layouts (& a0) ; }) ;
    calls . of ("learned::Weights::net" , false , | (mut a0 ,) : (own :: learned :: Weights ,) | { let _ = own :: learned :: Weights :: net (& a0) ; }) ;
    calls . of ("learned::Weights::new" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: learned :: Formulation , String , u64 , String , own :: learned :: Net ,) | { let _ = own :: learned :: Weights :: new (a0 , & a1 [..] , a2 , & a3 [..] , a4) ; }) ;
    calls . of ("learned::Weights::note" , false , | (mut a0 ,) : (own :: learned :: Weights ,) | { let _ = own :: learned :: Weights :: note (& a0) ; }) ;
    calls . of ("learned::Weights::seed" , false , | (mut a0 ,) : (own :: learned :: Weights ,) | { let _ = own :: learned :: Weights :: seed (& a0) ; }) ;
    calls . of ("learned::Weights::to_bytes" , false , | (mut a0 ,) : (own :: learned :: Weights ,) | { let _ = own :: learned :: Weights :: to_bytes (& a0) ; }) ;
    calls . of ("learned::exp" , false , | (mut a0 ,) : (f32 ,) | { let _ = own :: learned :: exp (a0) ; }) ;
    calls . of ("learned::tanh" , false , | (mut a0 ,) : (f32 ,) | { let _ = own :: learned :: tanh (a0) ; }) ;
    calls . of ("linear_bound" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (Vec < SliceJob > , usize , own :: Slots , Solver ,) | { let _ = own :: linear_bound (& a0 [..] , a1 , & a2 , & a3) ; }) ;
    calls . of ("printed_energy_bound" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < SliceJob > , usize , Power ,) | { let _ = own :: printed_energy_bound (& a0 [..] , a1 , & a2) ; }) ;
    calls . of ("progress_bound" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (Vec < SliceJob > , usize , own :: Slots , Solver ,) | { let _ = own :: progress_bound (& a0 [..] , a1 , & a2 , & a3) ; }) ;
    calls . of ("reduced" , false , | (mut a0 , mut a1 ,) : (own :: Schedule , Vec < SliceJob > ,) | { let _ = own :: reduced (& a0 , & a1 [..]) ; }) ;
    calls . of ("static_progress_bound" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (Vec < SliceJob > , own :: SlicedGpus , own :: Slots , Solver ,) | { let _ = own :: static_progress_bound (& a0 [..] , & a1 , & a2 , & a3) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "RandomSlice::new: D",
    "Recorder::new: R",
    "Recorder::schedule: Recorder",
    "RuleScheduler::new: implRule+Send+'static",
    "SlicedGpus::of: implIntoIterator<Item=implIntoIterator<Item=u8>>",
];
