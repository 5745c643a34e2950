//! What a killed process leaves lying about: git's lock files, which nobody holds any more.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use futures_util::StreamExt as _;

use super::every_moment::undisturbed;
use super::hold::{self, Death, paid_once, result};
use super::moment::{Moment, Point};
use super::samples::Sample;
use super::world::{Agent, Ended, PERSON, REPOSITORY, World};
use crate::all_or_first;

fn around(point: Point, effect: &str) -> Moment {
    Moment::Around { point, effect: effect.to_owned(), nth: 1 }
}

/// Locks everything that git locks in a repository, as if each of its writers had been killed.
fn lock(repository: &Path) -> usize {
    let mut locked = 0;
    for name in ["HEAD", "config", "index", "packed-refs"] {
        fs::write(repository.join(format!("{name}.lock")), "").expect("a lock");
        locked += 1;
    }
    let mut folders = vec![repository.join("refs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of references").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|ending| ending != "lock") {
                fs::write(format!("{}.lock", path.display()), "").expect("a lock");
                locked += 1;
            }
        }
    }
    locked
}

/// Our repositories and the agent's, as far as they are there.
fn repositories(world: &World) -> Vec<PathBuf> {
    let data = world.path("data");
    let orders = fs::read_dir(data.join("orders")).into_iter().flatten().flatten();
    let of_agents = orders.flat_map(|order| [order.path().join("origin"), order.path().join("work/.git")]);
    let ours = ["mirrors", "commits"].map(|kind| data.join(kind).join(format!("{REPOSITORY}.git")));
    ours.into_iter().chain(of_agents).filter(|repository| repository.join("HEAD").exists()).collect()
}

/// Dies at a moment, finds everything locked, and has to come to the usual end. How many locks there were.
async fn survive(moment: Moment, expected: &hold::Result) -> Result<usize, String> {
    let world = World::new(Agent::Quick).await;
    let told = |what: String| format!("{moment:?}: {what}\n{}\n", world.said());
    let mut running = world.start(Some(moment.clone())).await;
    world.label().await;
    let died = running.ended().await;
    if died != Ended::Killed {
        return Err(told(format!("{died:?}")));
    }
    let death = Death::of(&world);
    let locked = repositories(&world).iter().map(|repository| lock(repository)).sum::<usize>();
    // The mirror has something to fetch, so that its locks matter.
    let news = BTreeMap::from([("NEWS.md".to_owned(), Some(b"Hello\n".to_vec()))]);
    let pushed = world.emulator.push_commit(REPOSITORY, "main", PERSON, "Say hello", news).await;
    pushed.map_err(|error| told(error.to_string()))?;

    let mut again = world.start(None).await;

    let ended = again.ended().await;
    if ended != Ended::Code(0) {
        return Err(told(format!("started again: {ended:?}")));
    }
    let result = result(&world).await.map_err(told)?;
    if result != *expected {
        return Err(told(format!("it came to {result:#?} and not to {expected:#?}")));
    }
    paid_once(&[death], &Death::of(&world)).map_err(told)?;
    Ok(locked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_git_holds_its_locks_it_goes_on_as_if_they_were_not_there() {
    let (_, expected) = undisturbed(Sample::Median).await;
    let moments = [
        around(Point::Unobserved, "implement/1/commit"),
        around(Point::Intended, "publish/COMMIT/push-1"),
        around(Point::Unobserved, "prepare"),
        around(Point::Intended, "implement/1/agent"),
        around(Point::Intended, "implement/2/agent"),
    ];
    let survived: Vec<Result<usize, String>> = futures_util::stream::iter(all_or_first(&moments, 2))
        .map(|moment| survive(moment.clone(), &expected))
        .buffer_unordered(2)
        .collect()
        .await;
    let locked: usize = survived.iter().flatten().sum();
    let wrong: Vec<String> = survived.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", hold::report(&wrong));
    println!("{locked} locks that nobody held");
}
