//! Journeyman is killed with SIGKILL and started again: at four moments, or with `JOURNEYMAN_TEST_ALL=1` at every one
//! that its journal names. Whatever the moment: one branch, one pull request, one status comment, nothing paid twice.
//!
//! GitHub's emulator runs in the test's process. Journeyman runs in a child: this very binary again, with [`child`]
//! as its only test, so that it can be killed like any program. Its journal is watched by a decorator around the
//! real store, which kills its own process when the moment has come: after an entry is durable, or when an effect
//! is made and its observation is not written yet.

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
