// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("Error::line" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: line (& a0) ; }) ;
    calls . of ("Error::what" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: what (& a0) ; }) ;
    calls . of ("Row::error" , false , | (mut a0 , mut a1 ,) : (own :: Row , String ,) | { let _ = own :: Row :: error (& a0 , a1) ; }) ;
    calls . of ("Row::get" , false , | (mut a0 , mut a1 ,) : (own :: Row , String ,) | { let _ = own :: Row :: get (& a0 , & a1 [..]) ; }) ;
    calls . of ("Row::line" , false , | (mut a0 ,) : (own :: Row ,) | { let _ = own :: Row :: line (& a0) ; }) ;
    calls . of ("Sheet::accept_unnamed" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Sheet , String , String ,) | { let _ = own :: Sheet :: accept_unnamed (& mut a0 , a1 . leak () , & a2 [..]) ; }) ;
    calls . of ("Sheet::check" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Sheet , Vec < String > , Vec < String > ,) | { let _ = own :: Sheet :: check (& a0 , & a1 . iter () . map (| part | & part [..]) . collect :: < Vec < _ >> () [..] , & a2 . iter () . map (| part | & part [..]) . collect :: < Vec < _ >> () [..]) ; }) ;
    calls . of ("Sheet::comments" , false , | (mut a0 ,) : (own :: Sheet ,) | { let _ = own :: Sheet :: comments (& a0) ; }) ;
    calls . of ("Sheet::header_error" , false , | (mut a0 , mut a1 ,) : (own :: Sheet , String ,) | { let _ = own :: Sheet :: header_error (& a0 , a1) ; }) ;
    calls . of ("Sheet::names" , false , | (mut a0 ,) : (own :: Sheet ,) | { let _ = own :: Sheet :: names (& a0) ; }) ;
    calls . of ("Sheet::read" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , own :: Comments , String ,) | { let _ = own :: Sheet :: read (& a0 [..] , a1 , & a2 [..]) ; }) ;
    calls . of ("Sheet::read_bars" , false , | (mut a0 , mut a1 ,) : (String , String ,) | { let _ = own :: Sheet :: read_bars (& a0 [..] , & a1 [..]) ; }) ;
    calls . of ("Sheet::read_tabs" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , own :: Comments , String ,) | { let _ = own :: Sheet :: read_tabs (& a0 [..] , a1 , & a2 [..]) ; }) ;
    calls . of ("Sheet::rows" , false , | (mut a0 ,) : (own :: Sheet ,) | { let _ = own :: Sheet :: rows (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("below_comments" , false , | (mut a0 ,) : (String ,) | { let _ = own :: below_comments (& a0 [..]) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "Row::read: T:Deserialize<'s>",
    "columns: T:Deserialize<'de>",
    "write: T",
    "write_tabs: T",
];
