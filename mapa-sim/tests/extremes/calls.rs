// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("ByBandwidth::gbps" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: ByBandwidth , own :: Submission , Assignment , Fleet ,) | { let _ = own :: ByBandwidth :: gbps (& a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("ByBandwidth::model" , false , | (mut a0 ,) : (own :: ByBandwidth ,) | { let _ = own :: ByBandwidth :: model (& a0) ; }) ;
    calls . of ("ByBandwidth::new" , false , | (mut a0 ,) : (Objective ,) | { let _ = own :: ByBandwidth :: new (a0) ; }) ;
    calls . of ("ByBandwidth::ratio_of" , false , | (mut a0 ,) : (String ,) | { let _ = own :: ByBandwidth :: ratio_of (& a0 [..]) ; }) ;
    calls . of ("Column::is_empty" , false , | (mut a0 ,) : (own :: Column ,) | { let _ = own :: Column :: is_empty (& a0) ; }) ;
    calls . of ("Column::len" , false , | (mut a0 ,) : (own :: Column ,) | { let _ = own :: Column :: len (& a0) ; }) ;
    calls . of ("Error::line" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: line (& a0) ; }) ;
    calls . of ("Error::malformed" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Error :: malformed (a0) ; }) ;
    calls . of ("ExecutionRow::by_shared_pcie" , false , | (mut a0 ,) : (own :: ExecutionRow ,) | { let _ = own :: ExecutionRow :: by_shared_pcie (a0) ; }) ;
    calls . of ("ExecutionRow::by_size" , false , | (mut a0 ,) : (own :: ExecutionRow ,) | { let _ = own :: ExecutionRow :: by_size (a0) ; }) ;
    calls . of ("ExecutionRow::execution" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: ExecutionRow , Vec < String > , own :: Workload ,) | { let _ = own :: ExecutionRow :: execution (& a0 , a1 . iter () . map (| part | & part [..]) , & a2) ; }) ;
    calls . of ("ExecutionRow::form" , false , | (mut a0 ,) : (own :: ExecutionRow ,) | { let _ = own :: ExecutionRow :: form (& a0) ; }) ;
    calls . of ("Fragmentation::new" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Fragmentation :: new (a0) ; }) ;
    calls . of ("Fragmentation::of" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fragmentation , HardwareGraph , DeviceSet ,) | { let _ = own :: Fragmentation :: of (& mut a0 , & a1 , & a2) ; }) ;
    calls . of ("Fragmentation::of_fleet" , false , | (mut a0 , mut a1 ,) : (own :: Fragmentation , Fleet ,) | { let _ = own :: Fragmentation :: of_fleet (& mut a0 , & a1) ; }) ;
    calls . of ("Generator::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Generator :: from_str (& a0 [..]) ; }) ;
    calls . of ("Generator::generate" , false , | (mut a0 , mut a1 ,) : (own :: Generator , u64 ,) | { let _ = own :: Generator :: generate (& a0 , a1) ; }) ;
    calls . of ("Group::number" , false , | (mut a0 , mut a1 ,) : (own :: Group , String ,) | { let _ = own :: Group :: number (& a0 , & a1 [..]) ; }) ;
    calls . of ("Group::numbers" , false , | (mut a0 ,) : (own :: Group ,) | { let _ = own :: Group :: numbers (& a0) ; }) ;
    calls . of ("Jobs::has" , false , | (mut a0 , mut a1 ,) : (own :: Jobs , own :: Row ,) | { let _ = own :: Jobs :: has (a0 , & a1) ; }) ;
    calls . of ("Measure::number" , false , | (mut a0 , mut a1 ,) : (own :: Measure , own :: Row ,) | { let _ = own :: Measure :: number (& a0 , & a1) ; }) ;
    calls . of ("Occupancy::changing" , false , | (mut a0 ,) : (own :: Occupancy ,) | { let _ = own :: Occupancy :: changing (& a0) ; }) ;
    calls . of ("Occupancy::end" , false , | (mut a0 , mut a1 ,) : (own :: Occupancy , Time ,) | { let _ = own :: Occupancy :: end (& mut a0 , a1) ; }) ;
    calls . of ("Occupancy::observe" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Occupancy , Time , Fleet ,) | { let _ = own :: Occupancy :: observe (& mut a0 , a1 , & a2) ; }) ;
    calls . of ("Occupancy::occupants" , false , | (mut a0 ,) : (own :: Occupancy ,) | { let _ = own :: Occupancy :: occupants (& a0) ; }) ;
    calls . of ("Occupancy::present" , false , | (mut a0 ,) : (own :: Occupancy ,) | { let _ = own :: Occupancy :: present (& a0) ; }) ;
    calls . of ("Outcome::of" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (Record , own :: Workload , Time , String , String ,) | { let _ = own :: Outcome :: of (a0 , & a1 , a2 , & a3 [..] , & a4 [..]) ; }) ;
    calls . of ("OverTime::max_fragmentation" , false , | (mut a0 ,) : (own :: OverTime ,) | { let _ = own :: OverTime :: max_fragmentation (& a0) ; }) ;
    calls . of ("OverTime::mean_fragmentation" , false , | (mut a0 ,) : (own :: OverTime ,) | { let _ = own :: OverTime :: mean_fragmentation (& a0) ; }) ;
    calls . of ("OverTime::mean_utilisation" , false , | (mut a0 ,) : (own :: OverTime ,) | { let _ = own :: OverTime :: mean_utilisation (& a0) ; }) ;
    calls . of ("OverTime::observe" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: OverTime , Time , Fleet , own :: Fragmentation ,) | { let _ = own :: OverTime :: observe (& mut a0 , a1 , & a2 , & mut a3) ; }) ;
    calls . of ("OverTime::points" , false , | (mut a0 ,) : (own :: OverTime ,) | { let _ = own :: OverTime :: points (& a0) ; }) ;
    calls . of ("OverTime::table" , false , | (mut a0 ,) : (own :: OverTime ,) | { let _ = own :: OverTime :: table (& a0) ; }) ;
    calls . of ("OverTime::tables" , false , | (mut a0 ,) : (own :: OverTime ,) | { let _ = own :: OverTime :: tables (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Profile::new" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Profile :: new (a0) ; }) ;
    calls . of ("Profile::submission" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: Profile , JobId , Time , Size , f64 ,) | { let _ = own :: Profile :: submission (& a0 , a1 , a2 , a3 , a4) ; }) ;
    calls . of ("Quartiles::of" , false , | (mut a0 ,) : (Vec < f64 > ,) | { let _ = own :: Quartiles :: of (& a0 [..]) ; }) ;
    calls . of ("Row::bounded_slowdown" , false , | (mut a0 ,) : (own :: Row ,) | { let _ = own :: Row :: bounded_slowdown (& a0) ; }) ;
    calls . of ("Row::completion" , false , | (mut a0 ,) : (own :: Row ,) | { let _ = own :: Row :: completion (& a0) ; }) ;
    calls . of ("Row::execution_slowdown" , false , | (mut a0 ,) : (own :: Row ,) | { let _ = own :: Row :: execution_slowdown (& a0) ; }) ;
    calls . of ("Row::of" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Outcome , own :: Workload , Fleet , own :: Scorer ,) | { let _ = own :: Row :: of (& a0 , & a1 , & a2 , & mut a3) ; }) ;
    calls . of ("Row::share_of_ideal" , false , | (mut a0 ,) : (own :: Row ,) | { let _ = own :: Row :: share_of_ideal (& a0) ; }) ;
    calls . of ("Row::slowdown" , false , | (mut a0 ,) : (own :: Row ,) | { let _ = own :: Row :: slowdown (& a0) ; }) ;
    calls . of ("Row::table" , false , | (mut a0 , mut a1 ,) : (Vec < own :: Row > , Fleet ,) | { let _ = own :: Row :: table (& a0 [..] , & a1) ; }) ;
    calls . of ("Row::table_by" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < own :: Measure > , Vec < own :: Row > , Fleet ,) | { let _ = own :: Row :: table_by (& a0 [..] , & a1 [..] , & a2) ; }) ;
    calls . of ("Row::tardiness" , false , | (mut a0 ,) : (own :: Row ,) | { let _ = own :: Row :: tardiness (& a0) ; }) ;
    calls . of ("Row::waited" , false , | (mut a0 ,) : (own :: Row ,) | { let _ = own :: Row :: waited (& a0) ; }) ;
    calls . of ("Run::ended" , false , | (mut a0 ,) : (own :: Run ,) | { let _ = own :: Run :: ended (& a0) ; }) ;
    calls . of ("Run::ran" , false , | (mut a0 ,) : (own :: Run ,) | { let _ = own :: Run :: ran (& a0) ; }) ;
    calls . of ("Run::started" , false , | (mut a0 ,) : (own :: Run ,) | { let _ = own :: Run :: started (& a0) ; }) ;
    calls . of ("Run::waited" , false , | (mut a0 ,) : (own :: Run ,) | { let _ = own :: Run :: waited (& a0) ; }) ;
    calls . of ("RunTimes::mean_s" , false , | (mut a0 ,) : (own :: RunTimes ,) | { let _ = own :: RunTimes :: mean_s (& a0) ; }) ;
    calls . of ("Scorer::scores" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Scorer , HardwareGraph , Pattern , Vec < DeviceId > ,) | { let _ = own :: Scorer :: scores (& mut a0 , & a1 , & a2 , & a3 [..]) ; }) ;
    calls . of ("Scorer::scores_at" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Scorer , Fleet , Pattern , Assignment ,) | { let _ = own :: Scorer :: scores_at (& mut a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("Selection::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Selection :: from_str (& a0 [..]) ; }) ;
    calls . of ("Simulated::makespan" , false , | (mut a0 ,) : (own :: Simulated ,) | { let _ = own :: Simulated :: makespan (& a0) ; }) ;
    calls . of ("Simulated::utilisation" , false , | (mut a0 ,) : (own :: Simulated ,) | { let _ = own :: Simulated :: utilisation (& a0) ; }) ;
    calls . of ("Simulated::watt_hours" , false , | (mut a0 ,) : (own :: Simulated ,) | { let _ = own :: Simulated :: watt_hours (& a0) ; }) ;
    calls . of ("Simulation::new" , false , | (mut a0 , mut a1 ,) : (own :: Workload , Fleet ,) | { let _ = own :: Simulation :: new (& a0 , a1) ; }) ;
    calls . of ("Simulation::progress" , false , | (mut a0 , mut a1 ,) : (own :: Simulation , Duration ,) | { let _ = own :: Simulation :: progress (a0 , a1) ; }) ;
    calls . of ("Simulation::repartition" , false , | (mut a0 , mut a1 ,) : (own :: Simulation , Duration ,) | { let _ = own :: Simulation :: repartition (a0 , a1) ; }) ;
    calls . of ("Simulation::until" , false , | (mut a0 , mut a1 ,) : (own :: Simulation , Time ,) | { let _ = own :: Simulation :: until (a0 , a1) ; }) ;
    calls . of ("Submission::alone" , false , | (mut a0 , mut a1 ,) : (own :: Submission , bool ,) | { let _ = own :: Submission :: alone (& a0 , a1) ; }) ;
    calls . of ("Submission::asks" , false , | (mut a0 ,) : (own :: Submission ,) | { let _ = own :: Submission :: asks (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Submission::devices" , false , | (mut a0 ,) : (own :: Submission ,) | { let _ = own :: Submission :: devices (& a0) ; }) ;
    calls . of ("Submission::new" , false , | (mut a0 , mut a1 ,) : (Job , Duration ,) | { let _ = own :: Submission :: new (a0 , a1) ; }) ;
    calls . of ("Submission::task" , false , | (mut a0 , mut a1 ,) : (own :: Submission , String ,) | { let _ = own :: Submission :: task (a0 , a1) ; }) ;
    calls . of ("Submission::tasks" , false , | (mut a0 , mut a1 ,) : (own :: Submission , Vec < own :: TaskPlan > ,) | { let _ = own :: Submission :: tasks (a0 , a1) ; }) ;
    calls . of ("Summary::by" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (Vec < own :: Measure > , own :: Outcome , Vec < own :: Row > , Fleet ,) | { let _ = own :: Summary :: by (& a0 [..] , & a1 , & a2 [..] , & a3) ; }) ;
    calls . of ("Summary::count" , false , | (mut a0 , mut a1 ,) : (own :: Summary , String ,) | { let _ = own :: Summary :: count (& a0 , & a1 [..]) ; }) ;
    calls . of ("Summary::counts" , false , | (mut a0 ,) : (own :: Summary ,) | { let _ = own :: Summary :: counts (& a0) ; }) ;
    calls . of ("Summary::group" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Summary , Option < bool > , own :: GroupSize ,) | { let _ = own :: Summary :: group (& a0 , a1 , a2) ; }) ;
    calls . of ("Summary::groups_table" , false , | (mut a0 ,) : (own :: Summary ,) | { let _ = own :: Summary :: groups_table (& a0) ; }) ;
    calls . of ("Summary::number" , false , | (mut a0 , mut a1 ,) : (own :: Summary , String ,) | { let _ = own :: Summary :: number (& a0 , & a1 [..]) ; }) ;
    calls . of ("Summary::numbers" , false , | (mut a0 ,) : (own :: Summary ,) | { let _ = own :: Summary :: numbers (& a0) ; }) ;
    calls . of ("Summary::of" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Outcome , Vec < own :: Row > , Fleet ,) | { let _ = own :: Summary :: of (& a0 , & a1 [..] , & a2) ; }) ;
    calls . of ("Summary::table" , false , | (mut a0 ,) : (own :: Summary ,) | { let _ = own :: Summary :: table (& a0) ; }) ;
    calls . of ("Table::append" , false , | (mut a0 , mut a1 ,) : (own :: Table , own :: Table ,) | { let _ = own :: Table :: append (& mut a0 , & a1) ; }) ;
    calls . of ("Table::column" , false , | (mut a0 , mut a1 ,) : (own :: Table , String ,) | { let _ = own :: Table :: column (& a0 , & a1 [..]) ; }) ;
    calls . of ("Table::columns" , false , | (mut a0 ,) : (own :: Table ,) | { let _ = own :: Table :: columns (& a0) ; }) ;
    calls . of ("Table::rows" , false , | (mut a0 ,) : (own :: Table ,) | { let _ = own :: Table :: rows (& a0) ; }) ;
    calls . of ("Table::to_csv" , false , | (mut a0 ,) : (own :: Table ,) | { let _ = own :: Table :: to_csv (& a0) ; }) ;
    calls . of ("Table::to_json" , false , | (mut a0 ,) : (own :: Table ,) | { let _ = own :: Table :: to_json (& a0) ; }) ;
    calls . of ("Table::to_parquet" , false , | (mut a0 ,) : (own :: Table ,) | { let _ = own :: Table :: to_parquet (& a0) ; }) ;
    calls . of ("Table::with" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Table , String , own :: Column ,) | { let _ = own :: Table :: with (a0 , a1 , a2) ; }) ;
    calls . of ("Task::new" , false , | (mut a0 , mut a1 ,) : (String , bool ,) | { let _ = own :: Task :: new (a0 , a1) ; }) ;
    calls . of ("TaskPlan::grow" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: TaskPlan , Duration , Request ,) | { let _ = own :: TaskPlan :: grow (a0 , a1 , a2) ; }) ;
    calls . of ("TaskPlan::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (Duration , Request , Duration ,) | { let _ = own :: TaskPlan :: new (a0 , a1 , a2) ; }) ;
    calls . of ("TraceKind::columns" , false , | (mut a0 ,) : (own :: TraceKind ,) | { let _ = own :: TraceKind :: columns (a0) ; }) ;
    calls . of ("TraceKind::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: TraceKind :: from_str (& a0 [..]) ; }) ;
    calls . of ("TraceKind::header" , false , | (mut a0 ,) : (own :: TraceKind ,) | { let _ = own :: TraceKind :: header (a0) ; }) ;
    calls . of ("TraceKind::recognise" , false , | (mut a0 ,) : (String ,) | { let _ = own :: TraceKind :: recognise (& a0 [..]) ; }) ;
    calls . of ("Workload::all_at_once" , false , | (mut a0 ,) : (own :: Workload ,) | { let _ = own :: Workload :: all_at_once (a0) ; }) ;
    calls . of ("Workload::new" , false , | (mut a0 , mut a1 ,) : (String , Vec < own :: Submission > ,) | { let _ = own :: Workload :: new (a0 , a1) ; }) ;
    calls . of ("computing" , false , | (mut a0 , mut a1 ,) : (JobLimitTable , own :: Submission ,) | { let _ = own :: computing (& a0 , & a1) ; }) ;
    calls . of ("mean_interval" , false , | (mut a0 ,) : (Vec < f64 > ,) | { let _ = own :: mean_interval (& a0 [..]) ; }) ;
    calls . of ("paired_interval" , false , | (mut a0 , mut a1 ,) : (Vec < f64 > , Vec < f64 > ,) | { let _ = own :: paired_interval (& a0 [..] , & a1 [..]) ; }) ;
    calls . of ("quantile" , false , | (mut a0 , mut a1 ,) : (Vec < f64 > , f64 ,) | { let _ = own :: quantile (& a0 [..] , a1) ; }) ;
    calls . of ("read_jobs" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_jobs (& a0 [..]) ; }) ;
    calls . of ("read_profiles" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_profiles (& a0 [..]) ; }) ;
    calls . of ("read_run_times" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_run_times (& a0 [..]) ; }) ;
    calls . of ("read_trace" , false , | (mut a0 , mut a1 ,) : (own :: TraceKind , String ,) | { let _ = own :: read_trace (a0 , & a1 [..]) ; }) ;
    calls . of ("share_interval" , false , | (mut a0 , mut a1 ,) : (usize , usize ,) | { let _ = own :: share_interval (a0 , a1) ; }) ;
    calls . of ("stream" , false , | (mut a0 , mut a1 ,) : (u64 , String ,) | { let _ = own :: stream (a0 , & a1 [..]) ; }) ;
    calls . of ("write_jobs" , false , | (mut a0 ,) : (own :: Workload ,) | { let _ = own :: write_jobs (& a0) ; }) ;
    calls . of ("write_profiles" , false , | (mut a0 ,) : (Vec < own :: Profile > ,) | { let _ = own :: write_profiles (& a0 [..]) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "ExecutionRow::by_links: fn()->LinkModel",
    "ExecutionRow::new: implFn(&Workload)->Box<dynExecution>+Send+Sync+'static",
    "ExecutionRow::with_settings: &'static[&'staticstr]",
    "GeneratorRow::find: GeneratorRow",
    "GeneratorRow::new: Generate",
    "ParquetWriter::append: ParquetWriter",
    "ParquetWriter::finish: ParquetWriter",
    "ParquetWriter::new: W",
    "Simulation::observe: implFnMut(Time,&Fleet)+'a",
    "Simulation::repartition_by: implFn(&Model,&Layout,&Layout)->Duration+'a",
    "Simulation::run: dynExecution",
    "Table::new: implIntoIterator<Item=(N,Column)>",
    "Table::write_csv: implWrite",
    "Table::write_csv_rows: implWrite",
    "read_trace_part: Selection",
];
