// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("Case::blocked" , false , | (mut a0 ,) : (own :: Case ,) | { let _ = own :: Case :: blocked (& a0) ; }) ;
    calls . of ("Case::bound" , false , | (mut a0 , mut a1 ,) : (own :: Case , JobId ,) | { let _ = own :: Case :: bound (& a0 , a1) ; }) ;
    calls . of ("Case::context_bytes" , false , | (mut a0 ,) : (own :: Case ,) | { let _ = own :: Case :: context_bytes (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Case::join" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Case , Fleet , Job ,) | { let _ = own :: Case :: join (& mut a0 , & a1 , & a2) ; }) ;
    calls . of ("Case::new" , false , | (mut a0 , mut a1 ,) : (own :: CaseSettings , Box < dyn mapa_core :: Policy > ,) | { let _ = own :: Case :: new (a0 , a1) ; }) ;
    calls . of ("Case::places" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: Case , Fleet , JobId , TaskId , Request ,) | { let _ = own :: Case :: places (& a0 , & a1 , a2 , a3 , & a4) ; }) ;
    calls . of ("Case::refuses" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: Case , Fleet , JobId , TaskId , Request ,) | { let _ = own :: Case :: refuses (& a0 , & a1 , a2 , a3 , & a4) ; }) ;
    calls . of ("Case::settings" , false , | (mut a0 ,) : (own :: Case ,) | { let _ = own :: Case :: settings (& a0) ; }) ;
    calls . of ("Case::waiting" , false , | (mut a0 ,) : (own :: Case ,) | { let _ = own :: Case :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Case::workers" , false , | (mut a0 ,) : (own :: Case ,) | { let _ = own :: Case :: workers (& a0) ; }) ;
    calls . of ("Case::workers_left" , false , | (mut a0 ,) : (own :: Case ,) | { let _ = own :: Case :: workers_left (& a0) ; }) ;
    calls . of ("CaseBatch::makespan_bound" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: CaseBatch , Vec < u64 > , own :: MemoryFit ,) | { let _ = own :: CaseBatch :: makespan_bound (& a0 , & a1 [..] , a2) ; }) ;
    calls . of ("ContextMemory::fixed" , false , | (mut a0 ,) : (u64 ,) | { let _ = own :: ContextMemory :: fixed (a0) ; }) ;
    calls . of ("ContextMemory::on" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: ContextMemory , u32 , u32 ,) | { let _ = own :: ContextMemory :: on (a0 , a1 , a2) ; }) ;
    calls . of ("MemoryFit::fits" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: MemoryFit , u64 , Option < u64 > ,) | { let _ = own :: MemoryFit :: fits (a0 , a1 , a2) ; }) ;
    calls . of ("PrintedAlgorithm::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: PrintedFaults , Vec < u64 > , usize ,) | { let _ = own :: PrintedAlgorithm :: new (a0 , a1 , a2) ; }) ;
    calls . of ("PrintedAlgorithm::run" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: PrintedAlgorithm , Vec < own :: PrintedJob > , Vec < own :: PrintedJob > ,) | { let _ = own :: PrintedAlgorithm :: run (& a0 , & a1 [..] , & a2 [..]) ; }) ;
    calls . of ("PrintedRun::jobs" , false , | (mut a0 ,) : (own :: PrintedRun ,) | { let _ = own :: PrintedRun :: jobs (& a0) ; }) ;
    calls . of ("SlurmMig::blocking" , false , | (mut a0 , mut a1 ,) : (own :: SlurmMig , bool ,) | { let _ = own :: SlurmMig :: blocking (a0 , a1) ; }) ;
    calls . of ("SlurmMig::fit" , false , | (mut a0 , mut a1 ,) : (own :: SlurmMig , own :: MemoryFit ,) | { let _ = own :: SlurmMig :: fit (a0 , a1) ; }) ;
    calls . of ("SlurmMig::new" , false , | (mut a0 ,) : (Box < dyn mapa_core :: Policy > ,) | { let _ = own :: SlurmMig :: new (a0) ; }) ;
    calls . of ("SlurmMig::waiting" , false , | (mut a0 ,) : (own :: SlurmMig ,) | { let _ = own :: SlurmMig :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "CaseBatch::makespan_bound_of_any_layout: &Model",
];
