// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("coloured" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , String , bool ,) | { let _ = own :: coloured (& a0 [..] , & a1 [..] , a2) ; }) ;
    calls . of ("message" , false , | (mut a0 ,) : (String ,) | { let _ = own :: message (& a0 [..]) ; }) ;
    calls . of ("printable" , false , | (mut a0 ,) : (String ,) | { let _ = own :: printable (& a0 [..]) ; }) ;
    calls . of ("printable_json" , false , | (mut a0 ,) : (String ,) | { let _ = own :: printable_json (& a0 [..]) ; }) ;
    calls . of ("word" , false , | (mut a0 ,) : (String ,) | { let _ = own :: word (& a0 [..]) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "StandardError::line: StandardError",
    "WholeFile::at: Path",
    "WholeFile::draft: WholeFile",
    "WholeFile::finish: WholeFile",
    "open: implAsRef<Path>",
    "read: implAsRef<Path>",
    "shows_colours: implanstream::stream::RawStream",
    "write: Path",
];
