//! The manager of shared instances: alone, and with real processes that are killed.

mod crowd;
mod driver;
mod grow;
mod hostile;
mod live;
mod manager;
mod memory;
mod service;
mod world;

pub(crate) use service::mapa_case;
