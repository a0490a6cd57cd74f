//! Shares of links that operations reach: fitted to measurements, and written to files.

mod file;
mod fit;

pub use file::{read_efficiency, write_efficiency};
pub use fit::{
    FittedEfficiency, LeftOut, Observation, fit_efficiency, fit_machine, leave_one_server_out,
};
