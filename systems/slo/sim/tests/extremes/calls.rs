// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("Acted::of" , false , | (mut a0 , mut a1 , mut a2 ,) : (TenantSetup , TenantSetup , RelaunchReason ,) | { let _ = own :: Acted :: of (a0 , a1 , a2) ; }) ;
    calls . of ("DrawnRun::draw" , false , | (mut a0 , mut a1 ,) : (own :: Scenario , u64 ,) | { let _ = own :: DrawnRun :: draw (& a0 , a1) ; }) ;
    calls . of ("FileTenants::trace" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: FileTenants , own :: ServingTenant , u64 ,) | { let _ = own :: FileTenants :: trace (& a0 , & a1 , a2) ; }) ;
    calls . of ("LiveControl::new" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (ReplaySettings , TenantSetup , own :: Noise , u64 ,) | { let _ = own :: LiveControl :: new (a0 , a1 , a2 , a3) ; }) ;
    calls . of ("LiveControl::training" , false , | (mut a0 ,) : (own :: LiveControl ,) | { let _ = own :: LiveControl :: training (& a0) ; }) ;
    calls . of ("Noise::times" , false , | (mut a0 , mut a1 ,) : (own :: Noise , f64 ,) | { let _ = own :: Noise :: times (a0 , a1) ; }) ;
    calls . of ("NoisyReadings::measured" , false , | (mut a0 , mut a1 ,) : (own :: NoisyReadings , f64 ,) | { let _ = own :: NoisyReadings :: measured (& mut a0 , a1) ; }) ;
    calls . of ("NoisyReadings::new" , false , | (mut a0 , mut a1 ,) : (own :: Noise , u64 ,) | { let _ = own :: NoisyReadings :: new (a0 , a1) ; }) ;
    calls . of ("NoisyReadings::read" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: NoisyReadings , own :: World , Option < u32 > , u32 ,) | { let _ = own :: NoisyReadings :: read (& mut a0 , & a1 , a2 , a3) ; }) ;
    calls . of ("PaperControl::new" , false , | (mut a0 , mut a1 ,) : (Settings , TenantSetup ,) | { let _ = own :: PaperControl :: new (a0 , a1) ; }) ;
    calls . of ("ReplayControl::new" , false , | (mut a0 , mut a1 ,) : (ReplaySettings , TenantSetup ,) | { let _ = own :: ReplayControl :: new (a0 , a1) ; }) ;
    calls . of ("RunTotals::answered_count" , false , | (mut a0 ,) : (own :: RunTotals ,) | { let _ = own :: RunTotals :: answered_count (& a0) ; }) ;
    calls . of ("RunTotals::fail_percent" , false , | (mut a0 ,) : (own :: RunTotals ,) | { let _ = own :: RunTotals :: fail_percent (& a0) ; }) ;
    calls . of ("RunTotals::mean" , false , | (mut a0 ,) : (own :: RunTotals ,) | { let _ = own :: RunTotals :: mean (& a0) ; }) ;
    calls . of ("RunTotals::miss_percent" , false , | (mut a0 ,) : (own :: RunTotals ,) | { let _ = own :: RunTotals :: miss_percent (& a0) ; }) ;
    calls . of ("RunTotals::percentile" , false , | (mut a0 , mut a1 ,) : (own :: RunTotals , f64 ,) | { let _ = own :: RunTotals :: percentile (& a0 , a1) ; }) ;
    calls . of ("RunTotals::relaunches_per_hour" , false , | (mut a0 ,) : (own :: RunTotals ,) | { let _ = own :: RunTotals :: relaunches_per_hour (& a0) ; }) ;
    calls . of ("RunTotals::slices" , false , | (mut a0 ,) : (own :: RunTotals ,) | { let _ = own :: RunTotals :: slices (& a0) ; }) ;
    calls . of ("Scenario::checked" , false , | (mut a0 ,) : (own :: Scenario ,) | { let _ = own :: Scenario :: checked (a0) ; }) ;
    calls . of ("Scenario::first_token" , false , | (mut a0 , mut a1 ,) : (f64 , f64 ,) | { let _ = own :: Scenario :: first_token (a0 , a1) ; }) ;
    calls . of ("Scenario::model" , false , | (mut a0 ,) : (own :: Scenario ,) | { let _ = own :: Scenario :: model (& a0) ; }) ;
    calls . of ("Scenario::seconds" , false , | (mut a0 ,) : (own :: Scenario ,) | { let _ = own :: Scenario :: seconds (& a0) ; }) ;
    calls . of ("Scenario::settings" , false , | (mut a0 , mut a1 ,) : (own :: Scenario , EnabledLevers ,) | { let _ = own :: Scenario :: settings (& a0 , a1) ; }) ;
    calls . of ("TenantServers::is_empty" , false , | (mut a0 ,) : (own :: TenantServers ,) | { let _ = own :: TenantServers :: is_empty (& a0) ; }) ;
    calls . of ("TenantServers::len" , false , | (mut a0 ,) : (own :: TenantServers ,) | { let _ = own :: TenantServers :: len (& a0) ; }) ;
    calls . of ("TenantServers::push" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: TenantServers , u32 , f64 , f64 , f64 ,) | { let _ = own :: TenantServers :: push (& mut a0 , a1 , a2 , a3 , a4) ; }) ;
    calls . of ("is_tenants" , false , | (mut a0 ,) : (String ,) | { let _ = own :: is_tenants (& a0 [..]) ; }) ;
    calls . of ("read_tenants" , false , | (mut a0 ,) : (String ,) | { let _ = own :: read_tenants (& a0 [..]) ; }) ;
    calls . of ("snapshot" , false , | (mut a0 ,) : (own :: World ,) | { let _ = own :: snapshot (& a0) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "LoggedController::into_log: LoggedController",
    "LoggedController::logging: LoggedController",
    "TenantServers::advance: implFnMut(u32,f64)",
    "run: dynControl",
];
