// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("PcieEqualShare::new" , false , | (mut a0 ,) : (f64 ,) | { let _ = own :: PcieEqualShare :: new (a0) ; }) ;
    calls . of ("PcieMaxMin::new" , false , | (mut a0 ,) : (Workload ,) | { let _ = own :: PcieMaxMin :: new (& a0) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
];
