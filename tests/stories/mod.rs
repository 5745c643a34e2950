//! Stories: what people did on GitHub, what Journeyman did, what the world looks like after.

mod agents;
mod api;
mod approve;
mod budget;
mod checks;
mod conversation;
mod deliveries;
mod escalation;
mod faults;
mod harness;
mod hostile;
mod label_to_pull;
mod limits;
mod listening;
mod model_api;
mod people;
mod pipelines;
mod receipts;
mod repository;
mod restarts;
mod review;
mod rounds;
mod side_by_side;
mod team;
mod team_api;
mod together;
