// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("Draw::jobs" , false , | (mut a0 , mut a1 ,) : (own :: Draw , u64 ,) | { let _ = own :: Draw :: jobs (& a0 , a1) ; }) ;
    calls . of ("EnergyDay::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: EnergyDay :: from_str (& a0 [..]) ; }) ;
    calls . of ("EnergyDay::generate" , false , | (mut a0 , mut a1 ,) : (own :: EnergyDay , u64 ,) | { let _ = own :: EnergyDay :: generate (& a0 , a1) ; }) ;
    calls . of ("EnergyDay::is_named" , false , | (mut a0 ,) : (String ,) | { let _ = own :: EnergyDay :: is_named (& a0 [..]) ; }) ;
    calls . of ("PriceCandidate::score" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: PriceCandidate , Vec < own :: TuneDay > , own :: TuneObjective , own :: Yardstick , Power ,) | { let _ = own :: PriceCandidate :: score (& a0 , & a1 [..] , & a2 , & a3 , a4) ; }) ;
    calls . of ("Totals::et" , false , | (mut a0 , mut a1 ,) : (own :: Totals , f64 ,) | { let _ = own :: Totals :: et (& a0 , a1) ; }) ;
    calls . of ("Totals::late_share" , false , | (mut a0 ,) : (own :: Totals ,) | { let _ = own :: Totals :: late_share (& a0) ; }) ;
    calls . of ("Totals::mean_tardiness" , false , | (mut a0 ,) : (own :: Totals ,) | { let _ = own :: Totals :: mean_tardiness (& a0) ; }) ;
    calls . of ("TuneDay::exact" , false , | (mut a0 ,) : (Vec < SliceJob > ,) | { let _ = own :: TuneDay :: exact (a0) ; }) ;
    calls . of ("TuneObjective::checked" , false , | (mut a0 ,) : (own :: TuneObjective ,) | { let _ = own :: TuneObjective :: checked (a0) ; }) ;
    calls . of ("TuneObjective::of" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: TuneObjective , Vec < own :: Totals > , own :: Yardstick ,) | { let _ = own :: TuneObjective :: of (& a0 , & a1 [..] , & a2) ; }) ;
    calls . of ("Tuning::advance" , false , | (mut a0 , mut a1 ,) : (own :: Tuning , Vec < f64 > ,) | { let _ = own :: Tuning :: advance (& mut a0 , & a1 [..]) ; }) ;
    calls . of ("Tuning::best" , false , | (mut a0 ,) : (own :: Tuning ,) | { let _ = own :: Tuning :: best (& a0) ; }) ;
    calls . of ("Tuning::candidates" , false , | (mut a0 ,) : (own :: Tuning ,) | { let _ = own :: Tuning :: candidates (& a0) ; }) ;
    calls . of ("Tuning::doing" , false , | (mut a0 ,) : (own :: Tuning ,) | { let _ = own :: Tuning :: doing (& a0) ; }) ;
    calls . of ("Tuning::history" , false , | (mut a0 ,) : (own :: Tuning ,) | { let _ = own :: Tuning :: history (& a0) ; }) ;
    calls . of ("Tuning::is_done" , false , | (mut a0 ,) : (own :: Tuning ,) | { let _ = own :: Tuning :: is_done (& a0) ; }) ;
    calls . of ("Tuning::new" , false , | (mut a0 , mut a1 ,) : (own :: PriceCandidate , own :: TuneSettings ,) | { let _ = own :: Tuning :: new (a0 , a1) ; }) ;
    calls . of ("Tuning::read" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Tuning :: read (& a0 [..]) ; }) ;
    calls . of ("Tuning::settings" , false , | (mut a0 ,) : (own :: Tuning ,) | { let _ = own :: Tuning :: settings (& a0) ; }) ;
    calls . of ("Tuning::write" , false , | (mut a0 ,) : (own :: Tuning ,) | { let _ = own :: Tuning :: write (& a0) ; }) ;
    calls . of ("Yardstick::of" , false , | (mut a0 , mut a1 ,) : (Vec < own :: TuneDay > , SlicedGpus ,) | { let _ = own :: Yardstick :: of (& a0 [..] , & a1) ; }) ;
    calls . of ("et" , false , | (mut a0 , mut a1 ,) : (Simulated , f64 ,) | { let _ = own :: et (& a0 , a1) ; }) ;
    calls . of ("published_day" , false , | (mut a0 ,) : (u32 ,) | { let _ = own :: published_day (a0) ; }) ;
    calls . of ("published_draws" , false , | (mut a0 ,) : (u32 ,) | { let _ = own :: published_draws (a0) ; }) ;
    calls . of ("seen_on" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < own :: TuneDay > , SlicedGpus , EnergyPlan ,) | { let _ = own :: seen_on (& a0 [..] , & a1 , & a2) ; }) ;
    calls . of ("slice_jobs" , false , | (mut a0 , mut a1 ,) : (String , Vec < SliceJob > ,) | { let _ = own :: slice_jobs (a0 , & a1 [..]) ; }) ;
    calls . of ("wrong_run_times" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < SliceJob > , f64 , u64 ,) | { let _ = own :: wrong_run_times (& a0 [..] , a1 , a2) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "TuneDay::under: dynRule",
    "run: dynRule",
    "run_as: dynRule",
    "run_preemptive: dynRule",
];
