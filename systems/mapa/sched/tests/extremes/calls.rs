// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("Foresight::known_ends" , false , | (mut a0 ,) : (own :: Foresight ,) | { let _ = own :: Foresight :: known_ends (a0) ; }) ;
    calls . of ("Foresight::new" , false , | (mut a0 ,) : (Box < dyn mapa_core :: Policy > ,) | { let _ = own :: Foresight :: new (a0) ; }) ;
    calls . of ("Foresight::patience" , false , | (mut a0 , mut a1 ,) : (own :: Foresight , Option < Patience > ,) | { let _ = own :: Foresight :: patience (a0 , a1) ; }) ;
    calls . of ("Foresight::queue" , false , | (mut a0 , mut a1 ,) : (own :: Foresight , usize ,) | { let _ = own :: Foresight :: queue (a0 , a1) ; }) ;
    calls . of ("Foresight::waiting" , false , | (mut a0 ,) : (own :: Foresight ,) | { let _ = own :: Foresight :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("PlanGoal::find" , false , | (mut a0 ,) : (String ,) | { let _ = own :: PlanGoal :: find (& a0 [..]) ; }) ;
    calls . of ("PlanGoal::name" , false , | (mut a0 ,) : (own :: PlanGoal ,) | { let _ = own :: PlanGoal :: name (a0) ; }) ;
    calls . of ("TopologyPlan::ageing" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , bool ,) | { let _ = own :: TopologyPlan :: ageing (a0 , a1) ; }) ;
    calls . of ("TopologyPlan::blend" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , f64 ,) | { let _ = own :: TopologyPlan :: blend (a0 , a1) ; }) ;
    calls . of ("TopologyPlan::explain" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , JobId ,) | { let _ = own :: TopologyPlan :: explain (& a0 , a1) ; }) ;
    calls . of ("TopologyPlan::goal" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , own :: PlanGoal ,) | { let _ = own :: TopologyPlan :: goal (a0 , a1) ; }) ;
    calls . of ("TopologyPlan::model" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , LinkModel ,) | { let _ = own :: TopologyPlan :: model (a0 , a1) ; }) ;
    calls . of ("TopologyPlan::overtaking" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , f64 ,) | { let _ = own :: TopologyPlan :: overtaking (a0 , a1) ; }) ;
    calls . of ("TopologyPlan::placed_by" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , Box < dyn mapa_core :: Policy > ,) | { let _ = own :: TopologyPlan :: placed_by (a0 , a1) ; }) ;
    calls . of ("TopologyPlan::search" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , usize ,) | { let _ = own :: TopologyPlan :: search (a0 , a1) ; }) ;
    calls . of ("TopologyPlan::seed" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , u64 ,) | { let _ = own :: TopologyPlan :: seed (a0 , a1) ; }) ;
    calls . of ("TopologyPlan::trust" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , own :: Trust ,) | { let _ = own :: TopologyPlan :: trust (a0 , a1) ; }) ;
    calls . of ("TopologyPlan::waiting" , false , | (mut a0 ,) : (own :: TopologyPlan ,) | { let _ = own :: TopologyPlan :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("TopologyPlan::without" , false , | (mut a0 , mut a1 ,) : (own :: TopologyPlan , own :: PlanPart ,) | { let _ = own :: TopologyPlan :: without (a0 , a1) ; }) ;
    calls . of ("Trust::find" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Trust :: find (& a0 [..]) ; }) ;
    calls . of ("Trust::name" , false , | (mut a0 ,) : (own :: Trust ,) | { let _ = own :: Trust :: name (a0) ; }) ;
    calls . of ("topology::RingBounds::all" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: topology :: RingBounds , Solver , own :: topology :: Ascent ,) | { let _ = own :: topology :: RingBounds :: all (& a0 , & a1 , & a2) ; }) ;
    calls . of ("topology::RingBounds::area" , false , | (mut a0 ,) : (own :: topology :: RingBounds ,) | { let _ = own :: topology :: RingBounds :: area (& a0) ; }) ;
    calls . of ("topology::RingBounds::configurations" , false , | (mut a0 , mut a1 ,) : (own :: topology :: RingBounds , Solver ,) | { let _ = own :: topology :: RingBounds :: configurations (& a0 , & a1) ; }) ;
    calls . of ("topology::RingBounds::critical_path" , false , | (mut a0 ,) : (own :: topology :: RingBounds ,) | { let _ = own :: topology :: RingBounds :: critical_path (& a0) ; }) ;
    calls . of ("topology::RingBounds::ideal_seconds" , false , | (mut a0 ,) : (own :: topology :: RingBounds ,) | { let _ = own :: topology :: RingBounds :: ideal_seconds (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("topology::RingBounds::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (HardwareGraph , Objective , Vec < own :: topology :: RingWork > ,) | { let _ = own :: topology :: RingBounds :: new (& a0 , & a1 , & a2 [..]) ; }) ;
    calls . of ("topology::RingBounds::quick" , false , | (mut a0 ,) : (own :: topology :: RingBounds ,) | { let _ = own :: topology :: RingBounds :: quick (& a0) ; }) ;
    calls . of ("topology::RingBounds::rates" , false , | (mut a0 , mut a1 ,) : (own :: topology :: RingBounds , own :: topology :: Ascent ,) | { let _ = own :: topology :: RingBounds :: rates (& a0 , & a1) ; }) ;
    calls . of ("topology::RingBounds::slots" , false , | (mut a0 , mut a1 ,) : (own :: topology :: RingBounds , own :: topology :: Ascent ,) | { let _ = own :: topology :: RingBounds :: slots (& a0 , & a1) ; }) ;
    calls . of ("topology::RingBounds::squashed_area" , false , | (mut a0 ,) : (own :: topology :: RingBounds ,) | { let _ = own :: topology :: RingBounds :: squashed_area (& a0) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "Foresight::by: mapa_core::Foresight",
];
