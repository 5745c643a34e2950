//! Stories: what people did on GitHub, what Journeyman did, what the world looks like after.

mod api;
mod faults;
mod hostile;
mod label_to_pull;
mod people;
mod repository;
mod restarts;
mod rounds;
