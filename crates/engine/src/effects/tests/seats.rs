//! Agents that only look work in separate places.

use super::{EffectsFixture, key};
use journeyman_order::moves::{AgentTask, AgentTaskWorkspace};
use journeyman_order::{BranchName, EffectOutcome, Move};

const WORK: &str = "
sed -i 's/a - b/a + b/' sums.py; chmod +x sums.py; echo secret > \"$HOME/session\"
git commit -qam 'Mend the sum of two' && git push -q; echo done
";

fn review(world: &EffectsFixture, commit: &journeyman_order::CommitSha, round: u32) -> AgentTask {
    AgentTask {
        stage: "review".to_owned(),
        role: "code_reviewer".to_owned(),
        round,
        place: AgentTaskWorkspace::Checkout { commit: commit.clone() },
        branch: None::<BranchName>,
        ..world.task()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reviewer_sees_the_commit_and_nothing_of_the_worker() {
    let world = EffectsFixture::new().await;
    world.agent("work/1/agent", world.task(), WORK).await;
    let (commit, patch, _) = world.import("work/1").await;
    assert!(patch.contains("-    return a - b\n+    return a + b\n"), "{patch}");
    let places = world.places();
    let script = format!(
        "grep -q 'a + b' sums.py && [ -x sums.py ] && echo sees the commit
        [ -e .git ] || echo no repository
        echo x > sums.py; mkdir new
        ls {work} {origin} {home} 2>/dev/null || echo sees nothing of the worker
        echo mine >> \"$HOME/notes\"; wc -l < \"$HOME/notes\"; pwd",
        work = places.work.display(),
        origin = places.origin.display(),
        home = places.root.display(),
    );
    let run = world.agent("review/1/verify", review(&world, &commit, 1), &script).await;
    let said = run.result.unwrap_or_default();
    let seen: Vec<&str> = said.lines().collect();
    let [commit_is_seen, no_repository, apart, notes, place] = seen[..] else {
        panic!("{said} {:?}", run.failure)
    };
    assert_eq!(
        [commit_is_seen, no_repository, apart, notes],
        ["sees the commit", "no repository", "sees nothing of the worker", "1"]
    );
    // The next round: another commit, the same place and home. What the reviewer wrote into the files is gone.
    world
        .agent(
            "work/2/agent",
            world.task(),
            "echo two > two; git add two; git commit -qm 'Add a second file'; git push -q",
        )
        .await;
    let (second, _, _) = world.import("work/2").await;
    let script = "ls; wc -l < \"$HOME/notes\"; pwd";
    let run = world.agent("review/2/verify", review(&world, &second, 2), script).await;
    assert_eq!(run.result.unwrap_or_default(), format!("README.md\nrun.sh\nsums.py\ntwo\n1\n{place}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_look_side_by_side_and_what_a_run_before_left_half_is_made_anew() {
    let world = EffectsFixture::new().await;
    let base = world.journal().await.prepared().unwrap().base.clone();
    let task = |stage: &str, role: &str| AgentTask {
        stage: stage.to_owned(),
        role: role.to_owned(),
        place: AgentTaskWorkspace::Checkout { commit: base.clone() },
        ..world.task()
    };
    // Leftovers of a review that was killed halfway.
    let review = world.parts.workspaces.review_folder(world.order, "specify", "architect");
    for tree in ["work", "work.upper"] {
        std::fs::create_dir_all(review.join(tree).join("sums.py")).unwrap();
    }
    std::fs::write(
        world.script(),
        "[ -f sums.py ] || exit 1; touch here; n=0
        while ! [ -e \"$HOME/../../met\" ] && [ $n -lt 20 ]; do sleep 0.05; n=$((n+1)); done; pwd",
    )
    .unwrap();
    let (one, two) = (task("specify", "architect"), task("test_cases", "quality_analyst"));
    let (one, two) = (Move::RunAgent(one), Move::RunAgent(two));
    world.intend("specify/1/agent", &one).await;
    world.intend("test_cases/1/agent", &two).await;
    let begun = std::time::Instant::now();
    let (one, two) =
        tokio::join!(world.attempt("specify/1/agent", one), world.attempt("test_cases/1/agent", two));
    let place = |outcome: EffectOutcome| match outcome {
        EffectOutcome::AgentRan(run) if run.failure.is_none() => run.result.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    let (one, two) = (place(one), place(two));
    // Each sees its own place at the same path.
    assert_eq!([one, two], ["/workspace/work", "/workspace/work"]);
    // Each sleeps for a second, so one after the other they would take two.
    assert!(begun.elapsed().as_secs_f64() < 1.95, "{:?}", begun.elapsed());
    assert!(!world.places().work.exists(), "nobody needed the work tree of {}", key("specify/1/agent"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_reads_what_was_fetched_and_can_change_nothing_of_it() {
    let world = EffectsFixture::new().await;
    let script = "git log --format=%s | tail -1; cd \"$(git remote get-url origin)/../packs/pack\" && for file in *; do
        chmod u+w $file && echo changed; rm -f $file && echo removed; echo x >>$file && echo written
        mv $file other && echo moved; ls $file; done 2>/dev/null; true";
    let run = world.agent("work/1/agent", world.task(), script).await;
    let said = run.result.unwrap_or_default();
    let lines: Vec<&str> = said.lines().collect();
    let (subject, files) = lines.split_first().expect("a subject");
    assert!(!subject.is_empty() && files.iter().all(|line| line.starts_with("pack-")), "{said}");
    assert!(lines.iter().any(|line| line.ends_with(".pack")), "{said}");
}
