// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("Algorithm::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Algorithm :: from_str (& a0 [..]) ; }) ;
    calls . of ("Application::label" , false , | (mut a0 , mut a1 ,) : (own :: Application , usize ,) | { let _ = own :: Application :: label (& a0 , a1) ; }) ;
    calls . of ("Application::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , String , Pattern ,) | { let _ = own :: Application :: new (a0 , a1 , a2) ; }) ;
    calls . of ("Application::over_steps" , false , | (mut a0 , mut a1 ,) : (own :: Application , f64 ,) | { let _ = own :: Application :: over_steps (a0 , a1) ; }) ;
    calls . of ("Application::step_bytes" , false , | (mut a0 ,) : (own :: Application ,) | { let _ = own :: Application :: step_bytes (& a0) ; }) ;
    calls . of ("Application::to_dot" , false , | (mut a0 ,) : (own :: Application ,) | { let _ = own :: Application :: to_dot (& a0) ; }) ;
    calls . of ("Application::without_noise" , false , | (mut a0 , mut a1 ,) : (own :: Application , f64 ,) | { let _ = own :: Application :: without_noise (a0 , a1) ; }) ;
    calls . of ("CaffeModel::messages" , false , | (mut a0 ,) : (own :: CaffeModel ,) | { let _ = own :: CaffeModel :: messages (a0) ; }) ;
    calls . of ("Counters::application" , false , | (mut a0 ,) : (own :: Counters ,) | { let _ = own :: Counters :: application (& a0) ; }) ;
    calls . of ("Counters::new" , false , | (mut a0 ,) : (own :: Reading ,) | { let _ = own :: Counters :: new (& a0) ; }) ;
    calls . of ("Error::file" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: file (& a0) ; }) ;
    calls . of ("Error::line" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: line (& a0) ; }) ;
    calls . of ("Evidence::verdict" , false , | (mut a0 ,) : (own :: Evidence ,) | { let _ = own :: Evidence :: verdict (& a0) ; }) ;
    calls . of ("Finding::place" , false , | (mut a0 ,) : (own :: Finding ,) | { let _ = own :: Finding :: place (& a0) ; }) ;
    calls . of ("LinkRates::new" , false , | (mut a0 , mut a1 ,) : (f64 , f64 ,) | { let _ = own :: LinkRates :: new (a0 , a1) ; }) ;
    calls . of ("Messages::add" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Messages , f64 , f64 ,) | { let _ = own :: Messages :: add (& mut a0 , a1 , a2) ; }) ;
    calls . of ("Messages::bytes" , false , | (mut a0 ,) : (own :: Messages ,) | { let _ = own :: Messages :: bytes (& a0) ; }) ;
    calls . of ("Messages::calls" , false , | (mut a0 ,) : (own :: Messages ,) | { let _ = own :: Messages :: calls (& a0) ; }) ;
    calls . of ("Messages::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Messages :: from_str (& a0 [..]) ; }) ;
    calls . of ("Messages::large_bytes" , false , | (mut a0 ,) : (own :: Messages ,) | { let _ = own :: Messages :: large_bytes (& a0) ; }) ;
    calls . of ("Messages::mean_bytes" , false , | (mut a0 ,) : (own :: Messages ,) | { let _ = own :: Messages :: mean_bytes (& a0) ; }) ;
    calls . of ("Messages::verdict" , false , | (mut a0 ,) : (own :: Messages ,) | { let _ = own :: Messages :: verdict (& a0) ; }) ;
    calls . of ("NcclJob::application" , false , | (mut a0 , mut a1 ,) : (own :: NcclJob , own :: Algorithm ,) | { let _ = own :: NcclJob :: application (& a0 , a1) ; }) ;
    calls . of ("Note::assumed" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Note :: assumed (a0) ; }) ;
    calls . of ("Note::at" , false , | (mut a0 , mut a1 ,) : (own :: Note , String ,) | { let _ = own :: Note :: at (a0 , a1) ; }) ;
    calls . of ("Note::left_out" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Note :: left_out (a0) ; }) ;
    calls . of ("Note::undecided" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Note :: undecided (a0) ; }) ;
    calls . of ("NoteKind::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: NoteKind :: from_str (& a0 [..]) ; }) ;
    calls . of ("PcieSamples::read" , false , | (mut a0 , mut a1 ,) : (String , f64 ,) | { let _ = own :: PcieSamples :: read (& a0 [..] , a1) ; }) ;
    calls . of ("Reading::of_dump" , false , | (mut a0 ,) : (Dump ,) | { let _ = own :: Reading :: of_dump (& a0) ; }) ;
    calls . of ("Reading::read" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Reading :: read (& a0 [..]) ; }) ;
    calls . of ("Ring::order" , false , | (mut a0 ,) : (own :: Ring ,) | { let _ = own :: Ring :: order (& a0) ; }) ;
    calls . of ("Source::findings" , false , | (mut a0 ,) : (own :: Source ,) | { let _ = own :: Source :: findings (& a0) ; }) ;
    calls . of ("Source::notes" , false , | (mut a0 ,) : (own :: Source ,) | { let _ = own :: Source :: notes (& a0) ; }) ;
    calls . of ("Source::propose" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Source , Option < usize > , own :: Algorithm ,) | { let _ = own :: Source :: propose (& a0 , a1 , a2) ; }) ;
    calls . of ("Source::runs" , false , | (mut a0 , mut a1 ,) : (String , String ,) | { let _ = own :: Source :: runs (& a0 [..] , & a1 [..]) ; }) ;
    calls . of ("Source::scan" , false , | (mut a0 ,) : (Vec < (String , String) > ,) | { let _ = own :: Source :: scan (a0 . iter () . map (| part | (& part . 0 [..] , & part . 1 [..]))) ; }) ;
    calls . of ("Source::understands" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Source :: understands (& a0 [..]) ; }) ;
    calls . of ("Times::improvement" , false , | (mut a0 ,) : (own :: Times ,) | { let _ = own :: Times :: improvement (& a0) ; }) ;
    calls . of ("Times::improvements" , false , | (mut a0 ,) : (own :: Times ,) | { let _ = own :: Times :: improvements (& a0) ; }) ;
    calls . of ("Times::verdict" , false , | (mut a0 ,) : (own :: Times ,) | { let _ = own :: Times :: verdict (& a0) ; }) ;
    calls . of ("TrafficMatrix::add" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: TrafficMatrix , usize , usize , f64 ,) | { let _ = own :: TrafficMatrix :: add (& mut a0 , a1 , a2 , a3) ; }) ;
    calls . of ("TrafficMatrix::busiest" , false , | (mut a0 ,) : (own :: TrafficMatrix ,) | { let _ = own :: TrafficMatrix :: busiest (& a0) ; }) ;
    calls . of ("TrafficMatrix::is_empty" , false , | (mut a0 ,) : (own :: TrafficMatrix ,) | { let _ = own :: TrafficMatrix :: is_empty (& a0) ; }) ;
    calls . of ("TrafficMatrix::len" , false , | (mut a0 ,) : (own :: TrafficMatrix ,) | { let _ = own :: TrafficMatrix :: len (& a0) ; }) ;
    calls . of ("TrafficMatrix::new" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: TrafficMatrix :: new (a0) ; }) ;
    calls . of ("TrafficMatrix::pattern" , false , | (mut a0 ,) : (own :: TrafficMatrix ,) | { let _ = own :: TrafficMatrix :: pattern (& a0) ; }) ;
    calls . of ("TrafficMatrix::sent" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: TrafficMatrix , usize , usize ,) | { let _ = own :: TrafficMatrix :: sent (& a0 , a1 , a2) ; }) ;
    calls . of ("Unit::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Unit :: from_str (& a0 [..]) ; }) ;
    calls . of ("Unit::is_bytes" , false , | (mut a0 ,) : (own :: Unit ,) | { let _ = own :: Unit :: is_bytes (a0) ; }) ;
    calls . of ("Unit::print" , false , | (mut a0 , mut a1 ,) : (own :: Unit , f64 ,) | { let _ = own :: Unit :: print (a0 , a1) ; }) ;
    calls . of ("Workload::by_messages" , false , | (mut a0 ,) : (own :: Workload ,) | { let _ = own :: Workload :: by_messages (& a0) ; }) ;
    calls . of ("Workload::calls" , false , | (mut a0 ,) : (own :: Workload ,) | { let _ = own :: Workload :: calls (& a0) ; }) ;
    calls . of ("Workload::predicted" , false , | (mut a0 ,) : (own :: Workload ,) | { let _ = own :: Workload :: predicted (& a0) ; }) ;
    calls . of ("Workload::verdict" , false , | (mut a0 ,) : (own :: Workload ,) | { let _ = own :: Workload :: verdict (& a0) ; }) ;
    calls . of ("likeness" , false , | (mut a0 ,) : (Pattern ,) | { let _ = own :: likeness (& a0) ; }) ;
    calls . of ("read_nccl" , false , | (mut a0 ,) : (Vec < (String , String) > ,) | { let _ = own :: read_nccl (& a0 . iter () . map (| part | (& part . 0 [..] , & part . 1 [..])) . collect :: < Vec < _ >> () [..]) ; }) ;
    calls . of ("read_pattern" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_pattern (& a0 [..]) ; }) ;
    calls . of ("write_pattern" , false , | (mut a0 ,) : (own :: Application ,) | { let _ = own :: write_pattern (& a0) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "Times::new: implInto<Vec<f64>>",
];
