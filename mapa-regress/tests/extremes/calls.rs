// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("AlphaConfig::new" , false , | (mut a0 , mut a1 ,) : (f64 , f64 ,) | { let _ = own :: AlphaConfig :: new (a0 , a1) ; }) ;
    calls . of ("Design::columns" , false , | (mut a0 ,) : (own :: Design ,) | { let _ = own :: Design :: columns (& a0) ; }) ;
    calls . of ("Design::condition" , false , | (mut a0 ,) : (own :: Design ,) | { let _ = own :: Design :: condition (& a0) ; }) ;
    calls . of ("Design::leverage" , false , | (mut a0 , mut a1 ,) : (own :: Design , f64 ,) | { let _ = own :: Design :: leverage (& a0 , a1) ; }) ;
    calls . of ("Design::new" , false , | (mut a0 , mut a1 ,) : (Vec < Census > , Vec < Term > ,) | { let _ = own :: Design :: new (& a0 [..] , & a1 [..]) ; }) ;
    calls . of ("Design::rank" , false , | (mut a0 ,) : (own :: Design ,) | { let _ = own :: Design :: rank (& a0) ; }) ;
    calls . of ("Design::rows" , false , | (mut a0 ,) : (own :: Design ,) | { let _ = own :: Design :: rows (& a0) ; }) ;
    calls . of ("Design::singular_values" , false , | (mut a0 ,) : (own :: Design ,) | { let _ = own :: Design :: singular_values (& a0) ; }) ;
    calls . of ("Design::unseen" , false , | (mut a0 , mut a1 ,) : (own :: Design , Vec < f64 > ,) | { let _ = own :: Design :: unseen (& a0 , & a1 [..]) ; }) ;
    calls . of ("Design::value" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Design , usize , usize ,) | { let _ = own :: Design :: value (& a0 , a1 , a2) ; }) ;
    calls . of ("Error::is_rank_deficient" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: is_rank_deficient (& a0) ; }) ;
    calls . of ("Error::line" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: line (& a0) ; }) ;
    calls . of ("Error::sample" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: sample (& a0) ; }) ;
    calls . of ("Errors::of" , false , | (mut a0 ,) : (Vec < (f64 , f64) > ,) | { let _ = own :: Errors :: of (& a0 [..]) ; }) ;
    calls . of ("Fit::design" , false , | (mut a0 ,) : (own :: Fit ,) | { let _ = own :: Fit :: design (& a0) ; }) ;
    calls . of ("Fit::errors" , false , | (mut a0 ,) : (own :: Fit ,) | { let _ = own :: Fit :: errors (& a0) ; }) ;
    calls . of ("Fit::model" , false , | (mut a0 ,) : (own :: Fit ,) | { let _ = own :: Fit :: model (& a0) ; }) ;
    calls . of ("Fit::order" , false , | (mut a0 ,) : (own :: Fit ,) | { let _ = own :: Fit :: order (& a0) ; }) ;
    calls . of ("Fit::rows" , false , | (mut a0 ,) : (own :: Fit ,) | { let _ = own :: Fit :: rows (& a0) ; }) ;
    calls . of ("FitConfig::eq_2" , false , | (mut a0 ,) : (String ,) | { let _ = own :: FitConfig :: eq_2 (a0) ; }) ;
    calls . of ("FitConfig::new" , false , | (mut a0 , mut a1 ,) : (String , Tiers ,) | { let _ = own :: FitConfig :: new (a0 , a1) ; }) ;
    calls . of ("LeftOut::is_held" , false , | (mut a0 ,) : (own :: LeftOut ,) | { let _ = own :: LeftOut :: is_held (& a0) ; }) ;
    calls . of ("MeasuredRow::is_of_small_messages" , false , | (mut a0 ,) : (own :: MeasuredRow ,) | { let _ = own :: MeasuredRow :: is_of_small_messages (& a0) ; }) ;
    calls . of ("MeasuredRow::is_sound" , false , | (mut a0 ,) : (own :: MeasuredRow ,) | { let _ = own :: MeasuredRow :: is_sound (& a0) ; }) ;
    calls . of ("Measurement::largest_bytes" , false , | (mut a0 ,) : (own :: Measurement ,) | { let _ = own :: Measurement :: largest_bytes (& a0) ; }) ;
    calls . of ("Measurement::peak_gbps" , false , | (mut a0 , mut a1 ,) : (own :: Measurement , own :: Column ,) | { let _ = own :: Measurement :: peak_gbps (& a0 , a1) ; }) ;
    calls . of ("Observation::expected" , false , | (mut a0 , mut a1 ,) : (own :: Observation , Efficiency ,) | { let _ = own :: Observation :: expected (& a0 , & a1) ; }) ;
    calls . of ("Observation::residual" , false , | (mut a0 , mut a1 ,) : (own :: Observation , Efficiency ,) | { let _ = own :: Observation :: residual (& a0 , & a1) ; }) ;
    calls . of ("fit" , false , | (mut a0 , mut a1 ,) : (Vec < own :: Sample > , own :: FitConfig ,) | { let _ = own :: fit (& a0 [..] , & a1) ; }) ;
    calls . of ("fit_alpha" , false , | (mut a0 , mut a1 ,) : (Vec < (u32 , f64) > , own :: AlphaConfig ,) | { let _ = own :: fit_alpha (& a0 [..] , & a1) ; }) ;
    calls . of ("fit_efficiency" , false , | (mut a0 , mut a1 ,) : (Vec < own :: Observation > , Efficiency ,) | { let _ = own :: fit_efficiency (& a0 [..] , & a1) ; }) ;
    calls . of ("fit_machine" , false , | (mut a0 , mut a1 ,) : (Vec < own :: Observation > , Efficiency ,) | { let _ = own :: fit_machine (& a0 [..] , & a1) ; }) ;
    calls . of ("k_fold" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < own :: Sample > , own :: FitConfig , usize ,) | { let _ = own :: k_fold (& a0 [..] , & a1 , a2) ; }) ;
    calls . of ("leave_one_server_out" , false , | (mut a0 , mut a1 ,) : (Vec < own :: Observation > , Efficiency ,) | { let _ = own :: leave_one_server_out (& a0 [..] , & a1) ; }) ;
    calls . of ("leave_one_size_out" , false , | (mut a0 , mut a1 ,) : (Vec < own :: Sample > , own :: FitConfig ,) | { let _ = own :: leave_one_size_out (& a0 [..] , & a1) ; }) ;
    calls . of ("measured_topology" , false , | (mut a0 ,) : (String ,) | { let _ = own :: measured_topology (& a0 [..]) ; }) ;
    calls . of ("published::Finding::agrees" , false , | (mut a0 ,) : (own :: published :: Finding ,) | { let _ = own :: published :: Finding :: agrees (& a0) ; }) ;
    calls . of ("published::Finding::excess" , false , | (mut a0 ,) : (own :: published :: Finding ,) | { let _ = own :: published :: Finding :: excess (& a0) ; }) ;
    calls . of ("published::Printed::explained" , false , | (mut a0 , mut a1 ,) : (own :: published :: Printed , usize ,) | { let _ = own :: published :: Printed :: explained (& a0 , a1) ; }) ;
    calls . of ("published::Printed::fewest_samples" , false , | (mut a0 ,) : (own :: published :: Printed ,) | { let _ = own :: published :: Printed :: fewest_samples (& a0) ; }) ;
    calls . of ("published::allocations" , false , | (mut a0 , mut a1 ,) : (HardwareGraph , RingPacking ,) | { let _ = own :: published :: allocations (& a0 , & a1) ; }) ;
    calls . of ("published::correlation" , false , | (mut a0 ,) : (Vec < (f64 , f64) > ,) | { let _ = own :: published :: correlation (& a0 [..]) ; }) ;
    calls . of ("published::examine" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: published :: SampleSet , Coefficients , own :: published :: Printed ,) | { let _ = own :: published :: examine (& a0 , & a1 , & a2) ; }) ;
    calls . of ("published::sample_sets" , false , | (mut a0 ,) : (HardwareGraph ,) | { let _ = own :: published :: sample_sets (& a0) ; }) ;
    calls . of ("published::share_of_choices" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (Vec < Census > , usize , LinkModel , own :: published :: Printed ,) | { let _ = own :: published :: share_of_choices (& a0 [..] , a1 , & a2 , & a3) ; }) ;
    calls . of ("published::stand_ins" , false , | (mut a0 , mut a1 , mut a2 ,) : (HardwareGraph , Vec < Census > , RingPacking ,) | { let _ = own :: published :: stand_ins (& a0 , & a1 [..] , & a2) ; }) ;
    calls . of ("read_copies" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_copies (& a0 [..]) ; }) ;
    calls . of ("read_efficiency" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_efficiency (& a0 [..]) ; }) ;
    calls . of ("read_measured" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_measured (& a0 [..]) ; }) ;
    calls . of ("read_measurements" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_measurements (& a0 [..]) ; }) ;
    calls . of ("read_model" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_model (& a0 [..]) ; }) ;
    calls . of ("read_runs" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_runs (& a0 [..]) ; }) ;
    calls . of ("samples" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < own :: Measurement > , HardwareGraph , own :: SampleConfig ,) | { let _ = own :: samples (& a0 [..] , & a1 , & a2) ; }) ;
    calls . of ("write_efficiency" , false , | (mut a0 ,) : (own :: FittedEfficiency ,) | { let _ = own :: write_efficiency (& a0) ; }) ;
    calls . of ("write_measured" , false , | (mut a0 ,) : (Vec < own :: MeasuredRow > ,) | { let _ = own :: write_measured (& a0 [..]) ; }) ;
    calls . of ("write_model" , false , | (mut a0 ,) : (LinkModel ,) | { let _ = own :: write_model (& a0) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
];
