// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("PcieAware::delay_threshold" , false , | (mut a0 , mut a1 ,) : (own :: PcieAware , f64 ,) | { let _ = own :: PcieAware :: delay_threshold (a0 , a1) ; }) ;
    calls . of ("PcieAware::expected" , false , | (mut a0 , mut a1 ,) : (own :: PcieAware , JobId ,) | { let _ = own :: PcieAware :: expected (& a0 , a1) ; }) ;
    calls . of ("PcieAware::marked" , false , | (mut a0 ,) : (own :: PcieAware ,) | { let _ = own :: PcieAware :: marked (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("PcieAware::max_gbps" , false , | (mut a0 , mut a1 ,) : (own :: PcieAware , f64 ,) | { let _ = own :: PcieAware :: max_gbps (a0 , a1) ; }) ;
    calls . of ("PcieAware::shortest_first" , false , | (mut a0 ,) : (own :: PcieAware ,) | { let _ = own :: PcieAware :: shortest_first (a0) ; }) ;
    calls . of ("PcieAware::wait_threshold" , false , | (mut a0 , mut a1 ,) : (own :: PcieAware , Duration ,) | { let _ = own :: PcieAware :: wait_threshold (a0 , a1) ; }) ;
    calls . of ("PcieAware::waiting" , false , | (mut a0 ,) : (own :: PcieAware ,) | { let _ = own :: PcieAware :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("PciePlan::ageing" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: PciePlan , Duration , Duration ,) | { let _ = own :: PciePlan :: ageing (a0 , a1 , a2) ; }) ;
    calls . of ("PciePlan::explain" , false , | (mut a0 , mut a1 ,) : (own :: PciePlan , JobId ,) | { let _ = own :: PciePlan :: explain (& a0 , a1) ; }) ;
    calls . of ("PciePlan::max_gbps" , false , | (mut a0 , mut a1 ,) : (own :: PciePlan , f64 ,) | { let _ = own :: PciePlan :: max_gbps (a0 , a1) ; }) ;
    calls . of ("PciePlan::model" , false , | (mut a0 , mut a1 ,) : (own :: PciePlan , own :: PortModel ,) | { let _ = own :: PciePlan :: model (a0 , a1) ; }) ;
    calls . of ("PciePlan::moves" , false , | (mut a0 , mut a1 ,) : (own :: PciePlan , usize ,) | { let _ = own :: PciePlan :: moves (a0 , a1) ; }) ;
    calls . of ("PciePlan::repartition" , false , | (mut a0 , mut a1 ,) : (own :: PciePlan , Option < Duration > ,) | { let _ = own :: PciePlan :: repartition (a0 , a1) ; }) ;
    calls . of ("PciePlan::seed" , false , | (mut a0 , mut a1 ,) : (own :: PciePlan , u64 ,) | { let _ = own :: PciePlan :: seed (a0 , a1) ; }) ;
    calls . of ("PciePlan::wait_threshold" , false , | (mut a0 , mut a1 ,) : (own :: PciePlan , Duration ,) | { let _ = own :: PciePlan :: wait_threshold (a0 , a1) ; }) ;
    calls . of ("PciePlan::waiting" , false , | (mut a0 ,) : (own :: PciePlan ,) | { let _ = own :: PciePlan :: waiting (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("pcie_aware" , false , | (mut a0 , mut a1 ,) : (f64 , f64 ,) | { let _ = own :: pcie_aware (a0 , a1) ; }) ;
    calls . of ("pcie_bound" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (Vec < own :: PcieWork > , own :: PciePorts , f64 , own :: PcieBound ,) | { let _ = own :: pcie_bound (& a0 [..] , & a1 , a2 , a3) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
];
