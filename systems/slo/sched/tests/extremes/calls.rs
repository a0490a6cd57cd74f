// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("ControllerPhase::kind" , false , | (mut a0 ,) : (own :: ControllerPhase ,) | { let _ = own :: ControllerPhase :: kind (& a0) ; }) ;
    calls . of ("ControllerState::dwell_is_over" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: ControllerState , u64 , own :: Settings ,) | { let _ = own :: ControllerState :: dwell_is_over (& a0 , a1 , & a2) ; }) ;
    calls . of ("ControllerState::is_ready" , false , | (mut a0 , mut a1 ,) : (own :: ControllerState , own :: Settings ,) | { let _ = own :: ControllerState :: is_ready (& a0 , & a1) ; }) ;
    calls . of ("ControllerState::new" , false , | (mut a0 , mut a1 ,) : (own :: TenantSetup , own :: Settings ,) | { let _ = own :: ControllerState :: new (a0 , & a1) ; }) ;
    calls . of ("CounterSnapshot::contention" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: CounterSnapshot , u32 , own :: Settings ,) | { let _ = own :: CounterSnapshot :: contention (& a0 , a1 , & a2) ; }) ;
    calls . of ("CounterSnapshot::is_stale" , false , | (mut a0 , mut a1 ,) : (own :: CounterSnapshot , own :: Settings ,) | { let _ = own :: CounterSnapshot :: is_stale (& a0 , & a1) ; }) ;
    calls . of ("CounterSnapshot::score" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: CounterSnapshot , u32 , u8 , u32 , own :: Settings ,) | { let _ = own :: CounterSnapshot :: score (& a0 , a1 , a2 , a3 , & a4) ; }) ;
    calls . of ("Decision::is_notable" , false , | (mut a0 ,) : (own :: Decision ,) | { let _ = own :: Decision :: is_notable (& a0) ; }) ;
    calls . of ("DecisionRecord::is_notable" , false , | (mut a0 ,) : (own :: DecisionRecord ,) | { let _ = own :: DecisionRecord :: is_notable (& a0) ; }) ;
    calls . of ("DecisionRecord::of" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 , mut a5 ,) : (String , own :: Settings , own :: ControllerState , own :: TickInput , own :: ControllerState , own :: Decision ,) | { let _ = own :: DecisionRecord :: of (& a0 [..] , & a1 , a2 , & a3 , & a4 , & a5) ; }) ;
    calls . of ("EnabledLevers::relaunches" , false , | (mut a0 ,) : (own :: EnabledLevers ,) | { let _ = own :: EnabledLevers :: relaunches (a0) ; }) ;
    calls . of ("PaperController::new" , false , | (mut a0 ,) : (own :: Settings ,) | { let _ = own :: PaperController :: new (a0) ; }) ;
    calls . of ("PlaceCounters::contention" , false , | (mut a0 , mut a1 ,) : (own :: PlaceCounters , own :: Settings ,) | { let _ = own :: PlaceCounters :: contention (& a0 , & a1) ; }) ;
    calls . of ("PlaceCounters::fits" , false , | (mut a0 , mut a1 ,) : (own :: PlaceCounters , u8 ,) | { let _ = own :: PlaceCounters :: fits (& a0 , a1) ; }) ;
    calls . of ("Settings::checked" , false , | (mut a0 ,) : (own :: Settings ,) | { let _ = own :: Settings :: checked (a0) ; }) ;
    calls . of ("Settings::new" , false , | (mut a0 , mut a1 ,) : (own :: EnabledLevers , own :: SlowdownModel ,) | { let _ = own :: Settings :: new (a0 , a1) ; }) ;
    calls . of ("Settings::of_one_profile" , false , | (mut a0 ,) : (own :: EnabledLevers ,) | { let _ = own :: Settings :: of_one_profile (a0) ; }) ;
    calls . of ("Settings::ready" , false , | (mut a0 ,) : (own :: Settings ,) | { let _ = own :: Settings :: ready (& a0) ; }) ;
    calls . of ("SloScheduler::new" , false , | (mut a0 , mut a1 ,) : (Box < dyn mapa_core :: Policy > , own :: Settings ,) | { let _ = own :: SloScheduler :: new (a0 , a1) ; }) ;
    calls . of ("SlowdownModel::checked" , false , | (mut a0 ,) : (own :: SlowdownModel ,) | { let _ = own :: SlowdownModel :: checked (a0) ; }) ;
    calls . of ("SlowdownModel::new" , false , | (mut a0 , mut a1 ,) : (Vec < u32 > , own :: ModelParameters ,) | { let _ = own :: SlowdownModel :: new (& a0 [..] , & a1) ; }) ;
    calls . of ("SlowdownModel::printed_transfer" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: SlowdownModel , u8 , u32 ,) | { let _ = own :: SlowdownModel :: printed_transfer (& a0 , a1 , a2) ; }) ;
    calls . of ("SlowdownModel::profiles" , false , | (mut a0 ,) : (own :: SlowdownModel ,) | { let _ = own :: SlowdownModel :: profiles (& a0) ; }) ;
    calls . of ("SlowdownModel::slices_of" , false , | (mut a0 , mut a1 ,) : (own :: SlowdownModel , u8 ,) | { let _ = own :: SlowdownModel :: slices_of (& a0 , a1) ; }) ;
    calls . of ("SlowdownModel::slowdown" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: SlowdownModel , u8 , u32 , bool , bool ,) | { let _ = own :: SlowdownModel :: slowdown (& a0 , a1 , a2 , a3 , a4) ; }) ;
    calls . of ("TenantSetup::at" , false , | (mut a0 ,) : (u32 ,) | { let _ = own :: TenantSetup :: at (a0) ; }) ;
    calls . of ("ThrottleState::is_on" , false , | (mut a0 ,) : (own :: ThrottleState ,) | { let _ = own :: ThrottleState :: is_on (a0) ; }) ;
    calls . of ("Window::above_ppm" , false , | (mut a0 , mut a1 ,) : (own :: Window , u64 ,) | { let _ = own :: Window :: above_ppm (& a0 , a1) ; }) ;
    calls . of ("Window::clear" , false , | (mut a0 ,) : (own :: Window ,) | { let _ = own :: Window :: clear (& mut a0) ; }) ;
    calls . of ("Window::is_empty" , false , | (mut a0 ,) : (own :: Window ,) | { let _ = own :: Window :: is_empty (& a0) ; }) ;
    calls . of ("Window::len" , false , | (mut a0 ,) : (own :: Window ,) | { let _ = own :: Window :: len (& a0) ; }) ;
    calls . of ("Window::new" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Window :: new (a0) ; }) ;
    calls . of ("Window::push" , false , | (mut a0 , mut a1 ,) : (own :: Window , u64 ,) | { let _ = own :: Window :: push (& mut a0 , a1) ; }) ;
    calls . of ("Window::quantile" , false , | (mut a0 , mut a1 ,) : (own :: Window , usize ,) | { let _ = own :: Window :: quantile (& a0 , a1) ; }) ;
    calls . of ("WindowTail::of" , false , | (mut a0 , mut a1 ,) : (own :: Window , u64 ,) | { let _ = own :: WindowTail :: of (& a0 , a1) ; }) ;
    calls . of ("duration_ns" , false , | (mut a0 ,) : (Duration ,) | { let _ = own :: duration_ns (a0) ; }) ;
    calls . of ("latency_ns" , false , | (mut a0 ,) : (f64 ,) | { let _ = own :: latency_ns (a0) ; }) ;
    calls . of ("recorded" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (String , own :: Settings , own :: ControllerState , own :: TickInput ,) | { let _ = own :: recorded (& a0 [..] , & a1 , & mut a2 , & a3) ; }) ;
    calls . of ("replay::ByReplay::input" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: replay :: ByReplay , own :: replay :: ReplayState , own :: TickInput , Vec < own :: CompletedRequest > ,) | { let _ = own :: replay :: ByReplay :: input (& a0 , & a1 , a2 , & a3 [..]) ; }) ;
    calls . of ("replay::ByReplay::new" , false , | (mut a0 , mut a1 ,) : (own :: replay :: ReplaySettings , f64 ,) | { let _ = own :: replay :: ByReplay :: new (a0 , a1) ; }) ;
    calls . of ("replay::ByReplay::replay_settings" , false , | (mut a0 ,) : (own :: replay :: ByReplay ,) | { let _ = own :: replay :: ByReplay :: replay_settings (& a0) ; }) ;
    calls . of ("replay::PastRequest::is_well" , false , | (mut a0 ,) : (own :: replay :: PastRequest ,) | { let _ = own :: replay :: PastRequest :: is_well (& a0) ; }) ;
    calls . of ("replay::ReplayRecord::is_notable" , false , | (mut a0 ,) : (own :: replay :: ReplayRecord ,) | { let _ = own :: replay :: ReplayRecord :: is_notable (& a0) ; }) ;
    calls . of ("replay::ReplaySettings::checked" , false , | (mut a0 ,) : (own :: replay :: ReplaySettings ,) | { let _ = own :: replay :: ReplaySettings :: checked (a0) ; }) ;
    calls . of ("replay::ReplaySettings::new" , false , | (mut a0 ,) : (own :: Settings ,) | { let _ = own :: replay :: ReplaySettings :: new (a0) ; }) ;
    calls . of ("replay::ReplayState::new" , false , | (mut a0 , mut a1 ,) : (own :: TenantSetup , own :: replay :: ReplaySettings ,) | { let _ = own :: replay :: ReplayState :: new (a0 , & a1) ; }) ;
    calls . of ("replay::RequestHistory::is_empty" , false , | (mut a0 ,) : (own :: replay :: RequestHistory ,) | { let _ = own :: replay :: RequestHistory :: is_empty (& a0) ; }) ;
    calls . of ("replay::RequestHistory::late_share" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: replay :: RequestHistory , own :: Slowdown , f64 ,) | { let _ = own :: replay :: RequestHistory :: late_share (& a0 , a1 , a2) ; }) ;
    calls . of ("replay::RequestHistory::len" , false , | (mut a0 ,) : (own :: replay :: RequestHistory ,) | { let _ = own :: replay :: RequestHistory :: len (& a0) ; }) ;
    calls . of ("replay::RequestHistory::new" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: replay :: RequestHistory :: new (a0) ; }) ;
    calls . of ("replay::RequestHistory::push" , false , | (mut a0 , mut a1 ,) : (own :: replay :: RequestHistory , own :: replay :: PastRequest ,) | { let _ = own :: replay :: RequestHistory :: push (& mut a0 , a1) ; }) ;
    calls . of ("replay::Sensor::judge" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: replay :: Sensor , own :: CounterSnapshot , own :: Settings , Option < u32 > ,) | { let _ = own :: replay :: Sensor :: judge (& mut a0 , & mut a1 , & a2 , a3) ; }) ;
    calls . of ("replay::Sensor::new" , false , | (mut a0 ,) : (own :: replay :: SensorSettings ,) | { let _ = own :: replay :: Sensor :: new (a0) ; }) ;
    calls . of ("replay::Sensor::normalised" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 , mut a5 ,) : (own :: replay :: Sensor , own :: replay :: MeasuredRequest , bool , bool , [f64 ; 2] , f64 ,) | { let _ = own :: replay :: Sensor :: normalised (& mut a0 , a1 , a2 , a3 , a4 , a5) ; }) ;
    calls . of ("replay::Sensor::training" , false , | (mut a0 ,) : (own :: replay :: Sensor ,) | { let _ = own :: replay :: Sensor :: training (& a0) ; }) ;
    calls . of ("replay::SloReplayScheduler::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (Box < dyn mapa_core :: Policy > , own :: replay :: ReplaySettings , f64 ,) | { let _ = own :: replay :: SloReplayScheduler :: new (a0 , a1 , a2) ; }) ;
    calls . of ("replay::recorded" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (String , own :: replay :: ReplaySettings , own :: replay :: ReplayState , own :: replay :: ReplayInput ,) | { let _ = own :: replay :: recorded (& a0 [..] , & a1 , & mut a2 , & a3) ; }) ;
    calls . of ("replay::step" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: replay :: ReplaySettings , own :: replay :: ReplayState , own :: replay :: ReplayInput ,) | { let _ = own :: replay :: step (& a0 , & mut a1 , & a2) ; }) ;
    calls . of ("step" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Settings , own :: ControllerState , own :: TickInput ,) | { let _ = own :: step (& a0 , & mut a1 , & a2) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
];
