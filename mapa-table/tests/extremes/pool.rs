//! Extreme values of tables.

use mapa_table::*;

use crate::shared::{Extreme, values};

values!(Comments: [Comments::AboveHeader, Comments::Anywhere]);
values!(Sheet<'static>: TEXTS.into_iter().filter_map(|text| Sheet::read(text, Comments::Anywhere, "a table").ok()));
values!(Row<'static>: Sheet::values().into_iter().flat_map(|sheet| Box::leak(Box::new(sheet)).rows().collect::<Vec<_>>()));
values!(Error: ["", "a,a\n1,2\n", "a\n\"1\n"].into_iter().filter_map(|text| Sheet::read(text, Comments::Anywhere, "a table").err()));

const TEXTS: [&str; 4] = [
    "a,b\n",
    "a,b\n1,2\n,\n",
    "# \u{202e}\n0\n\u{0}\n",
    "x,GPU0\n\"1\n2\",3\n",
];
