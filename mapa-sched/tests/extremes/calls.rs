// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("Assignment::devices" , false , | (mut a0 ,) : (own :: Assignment ,) | { let _ = own :: Assignment :: devices (& a0) ; }) ;
    calls . of ("Assignment::machines" , false , | (mut a0 ,) : (own :: Assignment ,) | { let _ = own :: Assignment :: machines (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Assignment::parts" , false , | (mut a0 ,) : (own :: Assignment ,) | { let _ = own :: Assignment :: parts (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Conservative::depth" , false , | (mut a0 , mut a1 ,) : (own :: Conservative , usize ,) | { let _ = own :: Conservative :: depth (a0 , a1) ; }) ;
    calls . of ("Conservative::new" , false , | (mut a0 ,) : (Box < dyn mapa_core :: Policy > ,) | { let _ = own :: Conservative :: new (a0) ; }) ;
    calls . of ("Conservative::reservations" , false , | (mut a0 ,) : (own :: Conservative ,) | { let _ = own :: Conservative :: reservations (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Conservative::waiting" , false , | (mut a0 ,) : (own :: Conservative ,) | { let _ = own :: Conservative :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Defrag::limits" , false , | (mut a0 , mut a1 ,) : (own :: Defrag , Limits ,) | { let _ = own :: Defrag :: limits (a0 , a1) ; }) ;
    calls . of ("Defrag::may_lose" , false , | (mut a0 , mut a1 ,) : (own :: Defrag , f64 ,) | { let _ = own :: Defrag :: may_lose (a0 , a1) ; }) ;
    calls . of ("Defrag::new" , false , | (mut a0 ,) : (Objective ,) | { let _ = own :: Defrag :: new (a0) ; }) ;
    calls . of ("Defrag::pin" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Defrag , MachineId , LeaseId ,) | { let _ = own :: Defrag :: pin (a0 , a1 , a2) ; }) ;
    calls . of ("Defrag::plan" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Defrag , Vec < Allocator > , Pattern , f64 ,) | { let _ = own :: Defrag :: plan (& a0 , & a1 [..] , & a2 , a3) ; }) ;
    calls . of ("Defrag::reach" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Defrag , Vec < Allocator > , Pattern ,) | { let _ = own :: Defrag :: reach (& a0 , & a1 [..] , & a2) ; }) ;
    calls . of ("Easy::new" , false , | (mut a0 ,) : (Box < dyn mapa_core :: Policy > ,) | { let _ = own :: Easy :: new (a0) ; }) ;
    calls . of ("Easy::order" , false , | (mut a0 , mut a1 ,) : (own :: Easy , own :: Order ,) | { let _ = own :: Easy :: order (a0 , a1) ; }) ;
    calls . of ("Easy::reservation" , false , | (mut a0 ,) : (own :: Easy ,) | { let _ = own :: Easy :: reservation (& a0) ; }) ;
    calls . of ("Easy::waiting" , false , | (mut a0 ,) : (own :: Easy ,) | { let _ = own :: Easy :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Error::bound" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Error :: bound (a0) ; }) ;
    calls . of ("Error::is_too_large" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: is_too_large (& a0) ; }) ;
    calls . of ("Error::is_unknown_machine" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: is_unknown_machine (& a0) ; }) ;
    calls . of ("Error::is_unknown_tenant" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: is_unknown_tenant (& a0) ; }) ;
    calls . of ("Event::leaves" , false , | (mut a0 ,) : (own :: Event ,) | { let _ = own :: Event :: leaves (& a0) ; }) ;
    calls . of ("Fifo::new" , false , | (mut a0 ,) : (Box < dyn mapa_core :: Policy > ,) | { let _ = own :: Fifo :: new (a0) ; }) ;
    calls . of ("Fifo::waiting" , false , | (mut a0 ,) : (own :: Fifo ,) | { let _ = own :: Fifo :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("FirstFit::ageing" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: FirstFit , Duration , Duration ,) | { let _ = own :: FirstFit :: ageing (a0 , a1 , a2) ; }) ;
    calls . of ("FirstFit::clear" , false , | (mut a0 ,) : (own :: FirstFit ,) | { let _ = own :: FirstFit :: clear (& mut a0) ; }) ;
    calls . of ("FirstFit::is_waiting" , false , | (mut a0 , mut a1 ,) : (own :: FirstFit , own :: JobId ,) | { let _ = own :: FirstFit :: is_waiting (& a0 , a1) ; }) ;
    calls . of ("FirstFit::max_slowdown" , false , | (mut a0 , mut a1 ,) : (own :: FirstFit , f64 ,) | { let _ = own :: FirstFit :: max_slowdown (a0 , a1) ; }) ;
    calls . of ("FirstFit::model" , false , | (mut a0 , mut a1 ,) : (own :: FirstFit , own :: LinkModel ,) | { let _ = own :: FirstFit :: model (a0 , a1) ; }) ;
    calls . of ("FirstFit::new" , false , | (mut a0 ,) : (own :: ListOrder ,) | { let _ = own :: FirstFit :: new (a0) ; }) ;
    calls . of ("FirstFit::overtaking" , false , | (mut a0 , mut a1 ,) : (own :: FirstFit , Duration ,) | { let _ = own :: FirstFit :: overtaking (a0 , a1) ; }) ;
    calls . of ("FirstFit::placed_by" , false , | (mut a0 , mut a1 ,) : (own :: FirstFit , Box < dyn mapa_core :: Policy > ,) | { let _ = own :: FirstFit :: placed_by (a0 , a1) ; }) ;
    calls . of ("FirstFit::waiting" , false , | (mut a0 ,) : (own :: FirstFit ,) | { let _ = own :: FirstFit :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fleet::book" , false , | (mut a0 , mut a1 ,) : (own :: Fleet , own :: Event ,) | { let _ = own :: Fleet :: book (& mut a0 , & a1) ; }) ;
    calls . of ("Fleet::changed_since" , false , | (mut a0 , mut a1 ,) : (own :: Fleet , own :: FleetState ,) | { let _ = own :: Fleet :: changed_since (& a0 , a1) ; }) ;
    calls . of ("Fleet::decide" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fleet , Box < dyn mapa_core :: Policy > , Request ,) | { let _ = own :: Fleet :: decide (& a0 , a1 , & a2) ; }) ;
    calls . of ("Fleet::index_bytes" , false , | (mut a0 ,) : (own :: Fleet ,) | { let _ = own :: Fleet :: index_bytes (& a0) ; }) ;
    calls . of ("Fleet::layout_is" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Fleet , MachineId , DeviceId , Layout ,) | { let _ = own :: Fleet :: layout_is (& mut a0 , a1 , a2 , & a3) ; }) ;
    calls . of ("Fleet::lease_of" , false , | (mut a0 , mut a1 ,) : (own :: Fleet , own :: Tenant ,) | { let _ = own :: Fleet :: lease_of (& a0 , a1) ; }) ;
    calls . of ("Fleet::leases_of" , false , | (mut a0 , mut a1 ,) : (own :: Fleet , own :: Tenant ,) | { let _ = own :: Fleet :: leases_of (& a0 , a1) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fleet::machine" , false , | (mut a0 , mut a1 ,) : (own :: Fleet , MachineId ,) | { let _ = own :: Fleet :: machine (& a0 , a1) ; }) ;
    calls . of ("Fleet::machines" , false , | (mut a0 ,) : (own :: Fleet ,) | { let _ = own :: Fleet :: machines (& a0) ; }) ;
    calls . of ("Fleet::network_gbps" , false , | (mut a0 ,) : (own :: Fleet ,) | { let _ = own :: Fleet :: network_gbps (& a0) ; }) ;
    calls . of ("Fleet::new" , false , | (mut a0 ,) : (Vec < std :: sync :: Arc < HardwareGraph > > ,) | { let _ = own :: Fleet :: new (a0) ; }) ;
    calls . of ("Fleet::restore" , false , | (mut a0 , mut a1 ,) : (Vec < std :: sync :: Arc < HardwareGraph > > , own :: FleetSnapshot ,) | { let _ = own :: Fleet :: restore (a0 , a1) ; }) ;
    calls . of ("Fleet::snapshot" , false , | (mut a0 ,) : (own :: Fleet ,) | { let _ = own :: Fleet :: snapshot (& a0) ; }) ;
    calls . of ("Fleet::spread" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fleet , Box < dyn mapa_core :: Policy > , Request ,) | { let _ = own :: Fleet :: spread (& a0 , a1 , & a2) ; }) ;
    calls . of ("Fleet::spread_when_busy" , false , | (mut a0 ,) : (own :: Fleet ,) | { let _ = own :: Fleet :: spread_when_busy (a0) ; }) ;
    calls . of ("Fleet::state" , false , | (mut a0 ,) : (own :: Fleet ,) | { let _ = own :: Fleet :: state (& a0) ; }) ;
    calls . of ("Fleet::tenant_of" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fleet , MachineId , LeaseId ,) | { let _ = own :: Fleet :: tenant_of (& a0 , a1 , a2) ; }) ;
    calls . of ("Fleet::tenants" , false , | (mut a0 ,) : (own :: Fleet ,) | { let _ = own :: Fleet :: tenants (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fleet::views" , false , | (mut a0 ,) : (own :: Fleet ,) | { let _ = own :: Fleet :: views (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fleet::with_network" , false , | (mut a0 , mut a1 ,) : (own :: Fleet , f64 ,) | { let _ = own :: Fleet :: with_network (a0 , a1) ; }) ;
    calls . of ("Fleet::without" , false , | (mut a0 , mut a1 ,) : (own :: Fleet , own :: Tenant ,) | { let _ = own :: Fleet :: without (& a0 , a1) ; }) ;
    calls . of ("Job::link_ratio" , false , | (mut a0 ,) : (own :: Job ,) | { let _ = own :: Job :: link_ratio (& a0) ; }) ;
    calls . of ("Job::new" , false , | (mut a0 , mut a1 ,) : (own :: JobId , Request ,) | { let _ = own :: Job :: new (a0 , a1) ; }) ;
    calls . of ("Job::slowdown_at" , false , | (mut a0 , mut a1 ,) : (own :: Job , f64 ,) | { let _ = own :: Job :: slowdown_at (& a0 , a1) ; }) ;
    calls . of ("JobLimitTable::is_empty" , false , | (mut a0 ,) : (own :: JobLimitTable ,) | { let _ = own :: JobLimitTable :: is_empty (& a0) ; }) ;
    calls . of ("JobLimitTable::lift" , false , | (mut a0 , mut a1 ,) : (own :: JobLimitTable , own :: JobId ,) | { let _ = own :: JobLimitTable :: lift (& mut a0 , a1) ; }) ;
    calls . of ("JobLimitTable::on" , false , | (mut a0 , mut a1 ,) : (own :: JobLimitTable , own :: JobId ,) | { let _ = own :: JobLimitTable :: on (& a0 , a1) ; }) ;
    calls . of ("JobLimitTable::set" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: JobLimitTable , own :: JobId , own :: JobLimit ,) | { let _ = own :: JobLimitTable :: set (& mut a0 , a1 , a2) ; }) ;
    calls . of ("ListOrder::find" , false , | (mut a0 ,) : (String ,) | { let _ = own :: ListOrder :: find (& a0 [..]) ; }) ;
    calls . of ("ListOrder::name" , false , | (mut a0 ,) : (own :: ListOrder ,) | { let _ = own :: ListOrder :: name (a0) ; }) ;
    calls . of ("NamedScheduler::among" , false , | (mut a0 , mut a1 , mut a2 ,) : (Vec < own :: NamedScheduler > , String , Box < dyn mapa_core :: Policy > ,) | { let _ = own :: NamedScheduler :: among (& a0 [..] , & a1 [..] , a2) ; }) ;
    calls . of ("NamedScheduler::find" , false , | (mut a0 , mut a1 ,) : (Vec < own :: NamedScheduler > , String ,) | { let _ = own :: NamedScheduler :: find (& a0 [..] , & a1 [..]) ; }) ;
    calls . of ("NamedScheduler::for_latencies" , false , | (mut a0 ,) : (own :: NamedScheduler ,) | { let _ = own :: NamedScheduler :: for_latencies (a0) ; }) ;
    calls . of ("NamedScheduler::for_shared_pcie" , false , | (mut a0 ,) : (own :: NamedScheduler ,) | { let _ = own :: NamedScheduler :: for_shared_pcie (a0) ; }) ;
    calls . of ("NamedScheduler::for_slices" , false , | (mut a0 ,) : (own :: NamedScheduler ,) | { let _ = own :: NamedScheduler :: for_slices (a0) ; }) ;
    calls . of ("NamedScheduler::places_tasks" , false , | (mut a0 ,) : (own :: NamedScheduler ,) | { let _ = own :: NamedScheduler :: places_tasks (a0) ; }) ;
    calls . of ("NamedScheduler::placing_by" , false , | (mut a0 , mut a1 ,) : (own :: NamedScheduler , String ,) | { let _ = own :: NamedScheduler :: placing_by (a0 , a1 . leak ()) ; }) ;
    calls . of ("NamedScheduler::scheduler" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: NamedScheduler , String , Box < dyn mapa_core :: Policy > , own :: LinkModel ,) | { let _ = own :: NamedScheduler :: scheduler (& a0 , & a1 [..] , a2 , a3) ; }) ;
    calls . of ("NamedScheduler::waits_for_links" , false , | (mut a0 ,) : (own :: NamedScheduler ,) | { let _ = own :: NamedScheduler :: waits_for_links (a0) ; }) ;
    calls . of ("Order::compare" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Order , own :: Job , own :: Job ,) | { let _ = own :: Order :: compare (& a0 , & a1 , & a2) ; }) ;
    calls . of ("Order::name" , false , | (mut a0 ,) : (own :: Order ,) | { let _ = own :: Order :: name (& a0) ; }) ;
    calls . of ("Queue::first_fit" , false , | (mut a0 ,) : (own :: Queue ,) | { let _ = own :: Queue :: first_fit (a0) ; }) ;
    calls . of ("Queue::new" , false , | (mut a0 , mut a1 ,) : (Box < dyn mapa_core :: Policy > , own :: Order ,) | { let _ = own :: Queue :: new (a0 , a1) ; }) ;
    calls . of ("Queue::waiting" , false , | (mut a0 ,) : (own :: Queue ,) | { let _ = own :: Queue :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Record::events" , false , | (mut a0 ,) : (own :: Record ,) | { let _ = own :: Record :: events (& a0) ; }) ;
    calls . of ("Record::failed_orders" , false , | (mut a0 ,) : (own :: Record ,) | { let _ = own :: Record :: failed_orders (& a0) ; }) ;
    calls . of ("Record::forget_ended_tasks" , false , | (mut a0 ,) : (own :: Record ,) | { let _ = own :: Record :: forget_ended_tasks (& mut a0) ; }) ;
    calls . of ("Record::guards" , false , | (mut a0 ,) : (own :: Record ,) | { let _ = own :: Record :: guards (& a0) ; }) ;
    calls . of ("Record::instants" , false , | (mut a0 ,) : (own :: Record ,) | { let _ = own :: Record :: instants (& a0) ; }) ;
    calls . of ("Record::left" , false , | (mut a0 ,) : (own :: Record ,) | { let _ = own :: Record :: left (& a0) ; }) ;
    calls . of ("Record::life" , false , | (mut a0 , mut a1 ,) : (own :: Record , own :: JobId ,) | { let _ = own :: Record :: life (& a0 , a1) ; }) ;
    calls . of ("Record::present" , false , | (mut a0 ,) : (own :: Record ,) | { let _ = own :: Record :: present (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Record::stay" , false , | (mut a0 , mut a1 ,) : (own :: Record , own :: Tenant ,) | { let _ = own :: Record :: stay (& a0 , a1) ; }) ;
    calls . of ("Record::take_failed_orders" , false , | (mut a0 ,) : (own :: Record ,) | { let _ = own :: Record :: take_failed_orders (& mut a0) ; }) ;
    calls . of ("Record::take_left" , false , | (mut a0 ,) : (own :: Record ,) | { let _ = own :: Record :: take_left (& mut a0) ; }) ;
    calls . of ("RunTime::about" , false , | (mut a0 , mut a1 ,) : (own :: RunTime , Size ,) | { let _ = own :: RunTime :: about (& a0 , a1) ; }) ;
    calls . of ("RunTime::on" , false , | (mut a0 , mut a1 ,) : (own :: RunTime , Option < Size > ,) | { let _ = own :: RunTime :: on (& a0 , a1) ; }) ;
    calls . of ("SchedulerRun::into_parts" , false , | (mut a0 ,) : (own :: SchedulerRun ,) | { let _ = own :: SchedulerRun :: into_parts (a0) ; }) ;
    calls . of ("SchedulerRun::new" , false , | (mut a0 ,) : (own :: Fleet ,) | { let _ = own :: SchedulerRun :: new (a0) ; }) ;
    calls . of ("SchedulerRun::record" , false , | (mut a0 ,) : (own :: SchedulerRun ,) | { let _ = own :: SchedulerRun :: record (& a0) ; }) ;
    calls . of ("SchedulerRun::record_mut" , false , | (mut a0 ,) : (own :: SchedulerRun ,) | { let _ = own :: SchedulerRun :: record_mut (& mut a0) ; }) ;
    calls . of ("SchedulerRun::seen" , false , | (mut a0 ,) : (own :: SchedulerRun ,) | { let _ = own :: SchedulerRun :: seen (& a0) ; }) ;
    calls . of ("Stays::into_list" , false , | (mut a0 ,) : (own :: Stays ,) | { let _ = own :: Stays :: into_list (a0) ; }) ;
    calls . of ("Stays::list" , false , | (mut a0 ,) : (own :: Stays ,) | { let _ = own :: Stays :: list (& a0) ; }) ;
    calls . of ("Stays::open" , false , | (mut a0 ,) : (own :: Stays ,) | { let _ = own :: Stays :: open (& a0) ; }) ;
    calls . of ("Tenant::job" , false , | (mut a0 ,) : (own :: Tenant ,) | { let _ = own :: Tenant :: job (a0) ; }) ;
    calls . of ("Time::from_secs" , false , | (mut a0 ,) : (u64 ,) | { let _ = own :: Time :: from_secs (a0) ; }) ;
    calls . of ("Time::since" , false , | (mut a0 , mut a1 ,) : (own :: Time , own :: Time ,) | { let _ = own :: Time :: since (a0 , a1) ; }) ;
    calls . of ("Timeline::cancel" , false , | (mut a0 , mut a1 ,) : (own :: Timeline , own :: EventKey ,) | { let _ = own :: Timeline :: cancel (& mut a0 , a1) ; }) ;
    calls . of ("Timeline::is_before_arrival" , false , | (mut a0 , mut a1 ,) : (own :: Timeline , own :: Time ,) | { let _ = own :: Timeline :: is_before_arrival (& a0 , a1) ; }) ;
    calls . of ("Timeline::next" , false , | (mut a0 ,) : (own :: Timeline ,) | { let _ = own :: Timeline :: next (& a0) ; }) ;
    calls . of ("Timeline::put" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Timeline , own :: Time , own :: Event ,) | { let _ = own :: Timeline :: put (& mut a0 , a1 , a2) ; }) ;
    calls . of ("Timeline::take" , false , | (mut a0 , mut a1 ,) : (own :: Timeline , own :: Time ,) | { let _ = own :: Timeline :: take (& mut a0 , a1) ; }) ;
    calls . of ("bound::Class::covers" , false , | (mut a0 , mut a1 ,) : (own :: bound :: Class , own :: bound :: Class ,) | { let _ = own :: bound :: Class :: covers (a0 , a1) ; }) ;
    calls . of ("bound::Program::column" , false , | (mut a0 , mut a1 ,) : (own :: bound :: Program , f64 ,) | { let _ = own :: bound :: Program :: column (& mut a0 , a1) ; }) ;
    calls . of ("bound::Program::costs" , false , | (mut a0 ,) : (own :: bound :: Program ,) | { let _ = own :: bound :: Program :: costs (& a0) ; }) ;
    calls . of ("bound::Program::row" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: bound :: Program , Vec < (usize , f64) > , own :: bound :: Sense , f64 ,) | { let _ = own :: bound :: Program :: row (& mut a0 , a1 , a2 , a3) ; }) ;
    calls . of ("bound::Program::rows" , false , | (mut a0 ,) : (own :: bound :: Program ,) | { let _ = own :: bound :: Program :: rows (& a0) ; }) ;
    calls . of ("bound::Solver::solve" , false , | (mut a0 , mut a1 ,) : (own :: bound :: Solver , own :: bound :: Program ,) | { let _ = own :: bound :: Solver :: solve (& a0 , & a1) ; }) ;
    calls . of ("duration" , false , | (mut a0 ,) : (f64 ,) | { let _ = own :: duration (a0) ; }) ;
    calls . of ("length" , false , | (mut a0 ,) : (own :: Job ,) | { let _ = own :: length (& a0) ; }) ;
    calls . of ("plan::Ageing::weight" , false , | (mut a0 , mut a1 ,) : (own :: plan :: Ageing , f64 ,) | { let _ = own :: plan :: Ageing :: weight (& a0 , a1) ; }) ;
    calls . of ("plan::Draws::below" , false , | (mut a0 , mut a1 ,) : (own :: plan :: Draws , usize ,) | { let _ = own :: plan :: Draws :: below (& mut a0 , a1) ; }) ;
    calls . of ("plan::Draws::new" , false , | (mut a0 ,) : (u64 ,) | { let _ = own :: plan :: Draws :: new (a0) ; }) ;
    calls . of ("plan::Draws::one_in" , false , | (mut a0 , mut a1 ,) : (own :: plan :: Draws , usize ,) | { let _ = own :: plan :: Draws :: one_in (& mut a0 , a1) ; }) ;
    calls . of ("seconds" , false , | (mut a0 ,) : (own :: Time ,) | { let _ = own :: seconds (a0) ; }) ;
    calls . of ("slices::Power::added" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: slices :: Power , u8 , u8 ,) | { let _ = own :: slices :: Power :: added (& a0 , a1 , a2) ; }) ;
    calls . of ("slices::Power::is_above_chord" , false , | (mut a0 ,) : (own :: slices :: Power ,) | { let _ = own :: slices :: Power :: is_above_chord (& a0) ; }) ;
    calls . of ("slices::Power::new" , false , | (mut a0 ,) : ([f64 ; 8] ,) | { let _ = own :: slices :: Power :: new (a0) ; }) ;
    calls . of ("slices::Power::watts" , false , | (mut a0 , mut a1 ,) : (own :: slices :: Power , u8 ,) | { let _ = own :: slices :: Power :: watts (& a0 , a1) ; }) ;
    calls . of ("slices::PowerTable::of" , false , | (mut a0 ,) : (String ,) | { let _ = own :: slices :: PowerTable :: of (& a0 [..]) ; }) ;
    calls . of ("slices::PowerTable::of_device" , false , | (mut a0 , mut a1 ,) : (HardwareGraph , DeviceId ,) | { let _ = own :: slices :: PowerTable :: of_device (& a0 , a1) ; }) ;
    calls . of ("slices::SliceJob::arrives" , false , | (mut a0 ,) : (own :: slices :: SliceJob ,) | { let _ = own :: slices :: SliceJob :: arrives (& a0) ; }) ;
    calls . of ("slices::SliceJob::deadline" , false , | (mut a0 ,) : (own :: slices :: SliceJob ,) | { let _ = own :: slices :: SliceJob :: deadline (& a0) ; }) ;
    calls . of ("slices::SliceJob::fastest" , false , | (mut a0 ,) : (own :: slices :: SliceJob ,) | { let _ = own :: slices :: SliceJob :: fastest (& a0) ; }) ;
    calls . of ("slices::SliceJob::linear" , false , | (mut a0 ,) : (own :: slices :: SliceJob ,) | { let _ = own :: slices :: SliceJob :: linear (& a0) ; }) ;
    calls . of ("slices::SliceJob::minutes" , false , | (mut a0 ,) : (own :: slices :: SliceJob ,) | { let _ = own :: slices :: SliceJob :: minutes (& a0) ; }) ;
    calls . of ("slices::SliceJob::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (f64 , f64 , [f64 ; 5] ,) | { let _ = own :: slices :: SliceJob :: new (a0 , a1 , a2) ; }) ;
    calls . of ("slices::SliceJob::of" , false , | (mut a0 ,) : (own :: Job ,) | { let _ = own :: slices :: SliceJob :: of (& a0) ; }) ;
    calls . of ("slices::SliceJob::with_left" , false , | (mut a0 , mut a1 ,) : (own :: slices :: SliceJob , f64 ,) | { let _ = own :: slices :: SliceJob :: with_left (a0 , a1) ; }) ;
    calls . of ("slices::SliceJob::work" , false , | (mut a0 ,) : (own :: slices :: SliceJob ,) | { let _ = own :: slices :: SliceJob :: work (& a0) ; }) ;
    calls . of ("slices::class_of" , false , | (mut a0 ,) : (u8 ,) | { let _ = own :: slices :: class_of (a0) ; }) ;
    calls . of ("slices::minutes_at" , false , | (mut a0 ,) : (own :: Time ,) | { let _ = own :: slices :: minutes_at (a0) ; }) ;
    calls . of ("waiting::ClassWalk::go_on" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: waiting :: ClassWalk , u64 , Option < own :: waiting :: Position > ,) | { let _ = own :: waiting :: ClassWalk :: go_on (& mut a0 , a1 , a2) ; }) ;
    calls . of ("waiting::WaitingJobs::after" , false , | (mut a0 , mut a1 ,) : (own :: waiting :: WaitingJobs , own :: waiting :: Position ,) | { let _ = own :: waiting :: WaitingJobs :: after (& a0 , a1) ; }) ;
    calls . of ("waiting::WaitingJobs::find_mut" , false , | (mut a0 , mut a1 ,) : (own :: waiting :: WaitingJobs , own :: JobId ,) | { let _ = own :: waiting :: WaitingJobs :: find_mut (& mut a0 , a1) ; }) ;
    calls . of ("waiting::WaitingJobs::first" , false , | (mut a0 ,) : (own :: waiting :: WaitingJobs ,) | { let _ = own :: waiting :: WaitingJobs :: first (& a0) ; }) ;
    calls . of ("waiting::WaitingJobs::forget" , false , | (mut a0 , mut a1 ,) : (own :: waiting :: WaitingJobs , own :: JobId ,) | { let _ = own :: waiting :: WaitingJobs :: forget (& mut a0 , a1) ; }) ;
    calls . of ("waiting::WaitingJobs::get" , false , | (mut a0 , mut a1 ,) : (own :: waiting :: WaitingJobs , own :: waiting :: Position ,) | { let _ = own :: waiting :: WaitingJobs :: get (& a0 , a1) ; }) ;
    calls . of ("waiting::WaitingJobs::get_mut" , false , | (mut a0 , mut a1 ,) : (own :: waiting :: WaitingJobs , own :: waiting :: Position ,) | { let _ = own :: waiting :: WaitingJobs :: get_mut (& mut a0 , a1) ; }) ;
    calls . of ("waiting::WaitingJobs::is_empty" , false , | (mut a0 ,) : (own :: waiting :: WaitingJobs ,) | { let _ = own :: waiting :: WaitingJobs :: is_empty (& a0) ; }) ;
    calls . of ("waiting::WaitingJobs::iter" , false , | (mut a0 ,) : (own :: waiting :: WaitingJobs ,) | { let _ = own :: waiting :: WaitingJobs :: iter (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("waiting::WaitingJobs::iter_mut" , false , | (mut a0 ,) : (own :: waiting :: WaitingJobs ,) | { let _ = own :: waiting :: WaitingJobs :: iter_mut (& mut a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("waiting::WaitingJobs::jobs" , false , | (mut a0 ,) : (own :: waiting :: WaitingJobs ,) | { let _ = own :: waiting :: WaitingJobs :: jobs (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("waiting::WaitingJobs::len" , false , | (mut a0 ,) : (own :: waiting :: WaitingJobs ,) | { let _ = own :: waiting :: WaitingJobs :: len (& a0) ; }) ;
    calls . of ("waiting::WaitingJobs::next_of" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: waiting :: WaitingJobs , u64 , own :: waiting :: Position ,) | { let _ = own :: waiting :: WaitingJobs :: next_of (& a0 , a1 , a2) ; }) ;
    calls . of ("waiting::WaitingJobs::next_short_of" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: waiting :: WaitingJobs , u64 , own :: waiting :: Position , Duration ,) | { let _ = own :: waiting :: WaitingJobs :: next_short_of (& a0 , a1 , a2 , a3) ; }) ;
    calls . of ("waiting::WaitingJobs::order" , false , | (mut a0 ,) : (own :: waiting :: WaitingJobs ,) | { let _ = own :: waiting :: WaitingJobs :: order (& a0) ; }) ;
    calls . of ("waiting::WaitingJobs::position" , false , | (mut a0 , mut a1 ,) : (own :: waiting :: WaitingJobs , own :: JobId ,) | { let _ = own :: waiting :: WaitingJobs :: position (& a0 , a1) ; }) ;
    calls . of ("waiting::WaitingJobs::push" , false , | (mut a0 , mut a1 ,) : (own :: waiting :: WaitingJobs , own :: Job ,) | { let _ = own :: waiting :: WaitingJobs :: push (& mut a0 , a1) ; }) ;
    calls . of ("waiting::WaitingJobs::remove" , false , | (mut a0 , mut a1 ,) : (own :: waiting :: WaitingJobs , own :: waiting :: Position ,) | { let _ = own :: waiting :: WaitingJobs :: remove (& mut a0 , a1) ; }) ;
    calls . of ("waiting::WaitingJobs::walk" , false , | (mut a0 ,) : (own :: waiting :: WaitingJobs ,) | { let _ = own :: waiting :: WaitingJobs :: walk (& a0) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "Conservative::choosing: implFnMut(&Job)->Box<dynPolicy>+Send+'static",
    "Easy::choosing: implFnMut(&Job)->Box<dynPolicy>+Send+'static",
    "Fifo::choosing: implFnMut(&Job,&Turn<'_>)->Result<Decision,Refusal>+Send+'static",
    "NamedScheduler::new: MakeScheduler",
    "NamedScheduler::settings: &'static[&'staticstr]",
    "Order::by: implFn(&Job,&Job)->Ordering+Send+Sync+'static",
    "Queue::choosing: implFnMut(&Job,&Turn<'_>)->Result<Decision,Refusal>+Send+'static",
    "SchedulerRun::instant: D",
    "SchedulerRun::run: D",
    "Turn::decide: Turn",
    "Turn::fleet: Turn",
    "Turn::launch: Turn",
    "Turn::place: Turn",
    "Turn::place_parts: Turn",
    "Turn::reject: Turn",
    "Turn::relocate: Turn",
    "Turn::repartition: Turn",
    "Turn::spread: Turn",
    "Turn::start: Turn",
    "Turn::suspend: Turn",
    "Turn::throttle: Turn",
    "Turn::view: Turn",
    "Turn::views: Turn",
    "Turn::wake: Turn",
    "Turn::without: Turn",
    "link_model: SettingValues<'_>",
    "memo::Memo::clear: Memo",
    "memo::Memo::get: Memo",
    "memo::Memo::get_mut: Memo",
    "memo::Memo::insert: Memo",
    "memo::Memo::new: T",
    "memo::Memo::refresh: Memo",
    "memo::Memo::values_mut: Memo",
    "plan::Planner::add_lane: Planner",
    "plan::Planner::arrange: Planner",
    "plan::Planner::at_once: Planner",
    "plan::Planner::clear: Planner",
    "plan::Planner::draws: Planner",
    "plan::Planner::expected: Planner",
    "plan::Planner::fix: Planner",
    "plan::Planner::fixed: Planner",
    "plan::Planner::insert: Planner",
    "plan::Planner::is_empty: Planner",
    "plan::Planner::is_fixed: Planner",
    "plan::Planner::lane_of: Planner",
    "plan::Planner::len: Planner",
    "plan::Planner::list: Planner",
    "plan::Planner::new: P",
    "plan::Planner::physics: Planner",
    "plan::Planner::physics_mut: Planner",
    "plan::Planner::price: Planner",
    "plan::Planner::put: Planner",
    "plan::Planner::regenes: Planner",
    "plan::Planner::remove: Planner",
    "plan::Planner::search: Planner",
    "plan::Planner::set: Planner",
    "plan::Planner::set_goal: Planner",
    "plan::Planner::state: Planner",
    "plan::Planner::take_changed: Planner",
    "plan::Planner::touch: Planner",
    "plan::Planner::weigh: Planner",
    "seconds_or_none: Setting<'_>",
    "step: Action",
    "waiting::WaitingJobs::new: T",
];
