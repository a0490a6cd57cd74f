//! The published fit, put to the test.

mod common;

use common::dgx1v;
use mapa_core::{Coefficients, LinkModel};
use mapa_regress::published::{Printed, examine, sample_sets, share_of_choices};

#[test]
fn x() {
    for set in sample_sets(&dgx1v()) {
        let f = examine(&set, &Coefficients::FULL, &Printed::PAPER).unwrap();
        println!("{} {f:?} {} {}", set.name, f.agrees(), f.excess());
    }
    let all = sample_sets(&dgx1v()).swap_remove(0).links;
    println!(
        "{:e} {}",
        share_of_choices(&all, 31, &LinkModel::paper(), &Printed::PAPER),
        Printed::PAPER.fewest_samples()
    );
}
