//! Kills Journeyman with SIGKILL and restarts it at four moments, or with `JOURNEYMAN_TEST_ALL=1` at every one its
//! journal names. There must always be one branch, one pull request and one status comment, and nothing paid twice.
//!
//! The GitHub emulator runs in the test's process. Journeyman runs in a child, this same binary with [`child`] as its
//! only test, so that it can be killed like any program. A decorator around the real store kills its own process at the
//! given moment: after an entry is durable, or when an effect is made but its observation is not yet written.

mod backup;
mod child;
mod cut_off;
mod every_moment;
mod hold;
mod lost_work;
mod moment;
mod poison;
mod power;
mod serve;
mod world;
