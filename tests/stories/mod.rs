//! Stories: what people did on GitHub, what Journeyman did, what the world looks like after.

mod label_to_pull;
mod people;
mod rounds;
