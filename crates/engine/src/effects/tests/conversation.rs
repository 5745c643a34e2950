//! The conversation on a pull request: read and answered, never twice, whatever happens to GitHub's responses.

use journeyman_emulator::{CommentView, Fault, FaultKind, PullView, RepositoryRole, ReviewState};
use journeyman_order::conversation::{
    CommentAuthor, CommentRef, CommentTarget, Mergeability, NoticeComment, PointResolution, PullRemarkSource,
    PullSnapshot, PullSnapshotState, Reaction, ThreadReply,
};
use journeyman_order::moves::Retry;
use journeyman_order::{CommitSha, Person, PullNumber, UserId};

use super::*;

const BOT: &str = "journeyman[bot]";
const BRANCH: &str = "journeyman/issue-1-mend";

impl EffectsFixture {
    /// Opens our pull request on a branch with its own commit.
    async fn pull(&self) -> PullNumber {
        self.push("def add(a, b):\n    return a + b\n").await;
        let client = &self.parts.github;
        let at = journeyman_github::InstalledRepository {
            repository: name(),
            installation: InstallationId(self.emulator.installation_id()),
        };
        let head = BRANCH.parse().expect("a branch of ours");
        let new = journeyman_github::NewPullRequest {
            head: &head,
            base: "main",
            title: "Mend the sum",
            body: "Closes #1",
            draft: false,
        };
        client.open_pull(&at, new).await.expect("a pull request").number
    }

    /// A person pushes to its branch.
    async fn push(&self, sums: &str) -> CommitSha {
        let files = [("sums.py".to_owned(), Some(sums.as_bytes().to_vec()))];
        let sha = self.emulator.push_commit(REPOSITORY, BRANCH, "mona", "By hand", files.into()).await;
        sha.expect("a commit").parse().expect("a SHA")
    }

    fn seen(&self) -> PullView {
        self.emulator.pulls(REPOSITORY).remove(0)
    }

    fn said(&self) -> Vec<CommentView> {
        self.seen().issue.comments.into_iter().filter(|comment| comment.author == BOT).collect()
    }

    async fn read(&self, pull: PullNumber) -> PullSnapshot {
        let head = self.seen().head_sha.parse().expect("a SHA");
        match self.attempt("read", Move::ReadPull { pull, head }).await {
            EffectOutcome::PullRead(reading) => *reading,
            other => panic!("{other:?}"),
        }
    }

    fn person(&self, login: &str) -> Person {
        Person { login: login.to_owned(), id: UserId(self.emulator.add_user(login)) }
    }

    /// Performs an effect as the engine does: retries as long as the trouble passes without help.
    async fn until_done(&self, name: &str, r#move: Move) -> EffectOutcome {
        for _ in 0..5 {
            match self.attempt(name, r#move.clone()).await {
                EffectOutcome::Trouble(trouble) if trouble.retry != Retry::Never => {}
                other => return other,
            }
        }
        panic!("{name} is never done")
    }
}

fn fault(kind: FaultKind) -> Fault {
    Fault { method: Some("POST".to_owned()), path_contains: String::new(), times: 1, kind }
}

fn reply(thread: &str, answers: u64, done: PointResolution, text: &str) -> ThreadReply {
    ThreadReply { thread: thread.to_owned(), answers, done, text: text.to_owned() }
}

#[tokio::test]
async fn everything_that_people_ask_for_is_read() {
    let world = EffectsFixture::new().await;
    let pull = world.pull().await;
    let first = world.seen().head_sha;
    let mona = CommentAuthor::Person(world.person("mona"));
    let notes = [("sums.py", 2, "Why not sum()? @journeyman"), ("sums.py", 1, "Document it.")];
    let verdict = (ReviewState::ChangesRequested, "Nearly.");
    let emulator = &world.emulator;
    let review = emulator.review_lines(REPOSITORY, pull.0, "mona", verdict, &notes).await.expect("a review");
    let asked =
        emulator.comment(REPOSITORY, pull.0, "ann", "Hey @Journeyman, and the docs?").await.expect("it");
    for (by, text) in [("ann", "/retry @journeyman"), ("ann", "looks odd"), (BOT, "I am @journeyman")] {
        emulator.comment(REPOSITORY, pull.0, by, text).await.expect("a comment");
    }
    emulator.review(REPOSITORY, pull.0, "bob", ReviewState::Approved, "Great!").await.expect("a review");

    let reading = world.read(pull).await;
    assert_eq!((reading.head.as_str(), reading.state), (first.as_str(), PullSnapshotState::Open));
    assert_eq!(reading.mergeable, Mergeability::Cleanly, "asked until it was known");
    let [sum, document] = reading.threads.as_slice() else { panic!("{:#?}", reading.threads) };
    assert_eq!((sum.path.as_str(), sum.line, sum.original_line), ("sums.py", Some(2), None));
    assert!(sum.diff_hunk.ends_with("-    return a - b\n+    return a + b"), "{}", sum.diff_hunk);
    assert_eq!(
        (sum.comments[0].review, &sum.comments[0].by, sum.comments[0].names_us),
        (Some(review), &mona, true)
    );
    assert_eq!((document.comments[0].names_us, document.comments[0].body.as_str()), (false, "Document it."));
    let [whole, comment] = reading.remarks.as_slice() else { panic!("{:#?}", reading.remarks) };
    assert_eq!(whole.source, PullRemarkSource::Review { id: review, asks_for_changes: true });
    assert_eq!((whole.body.as_str(), &whole.by), ("Nearly.", &mona));
    assert_eq!((comment.source, comment.names_us), (PullRemarkSource::Comment { id: asked }, true));

    // Resolved threads and withdrawn requests are no longer open, and our own answers are recognised.
    let [first, second] = [sum.comments[0].id, document.comments[0].id];
    emulator.resolve_thread(REPOSITORY, second, "mona", true).await.expect("settled");
    emulator.reply_in_thread(REPOSITORY, pull.0, first, BOT, "Because.").await.expect("an answer");
    emulator.review(REPOSITORY, pull.0, "mona", ReviewState::Approved, "").await.expect("a review");
    world.push("import sys\ndef add(a, b):\n    return a + b\n").await;
    let reading = world.read(pull).await;
    let [sum] = reading.threads.as_slice() else { panic!("{:#?}", reading.threads) };
    assert_eq!((sum.line, sum.original_line), (Some(3), Some(2)), "the line has moved");
    assert_eq!(sum.comments[1].by, CommentAuthor::Us);
    assert_eq!(reading.remarks[0].source, PullRemarkSource::Review { id: review, asks_for_changes: false });

    world.push("def add(a, b):\n    return sum((a, b))\n").await;
    let files = [("sums.py".to_owned(), Some(b"def add(a, b):\n    return b + a\n".to_vec()))];
    emulator.push_commit(REPOSITORY, "main", "ann", "Elsewhere", files.into()).await.expect("a commit");
    let reading = world.read(pull).await;
    assert_eq!((reading.threads[0].line, reading.threads[0].original_line), (None, Some(2)), "it is gone");
    assert_eq!(reading.mergeable, Mergeability::Conflicts);
    emulator.close(REPOSITORY, pull.0, "mona").await.expect("closed");
    let reading = world.read(pull).await;
    assert_eq!((reading.state, reading.mergeable), (PullSnapshotState::Closed, Mergeability::Unknown));
}

#[tokio::test]
async fn threads_are_answered_once_and_settled_whatever_becomes_of_githubs_answer() {
    let lost = [FaultKind::AppliedThen(502), FaultKind::AppliedThenLost, FaultKind::Lost];
    // An answer consists of the reply and the resolving.
    for (kind, path) in lost.iter().flat_map(|kind| [(kind, "/replies"), (kind, "resolveReviewThread")]) {
        let world = EffectsFixture::new().await;
        let pull = world.pull().await;
        let emulator = &world.emulator;
        let notes = [("sums.py", 2, "Why?"), ("sums.py", 1, "Document it.")];
        let verdict = (ReviewState::ChangesRequested, "");
        emulator.review_lines(REPOSITORY, pull.0, "mona", verdict, &notes).await.expect("a review");
        let threads = world.read(pull).await.threads;
        let last = |at: usize| threads[at].comments.last().expect("a comment").id;
        let head: CommitSha = world.seen().head_sha.parse().expect("a SHA");
        let replies = vec![
            reply(&threads[0].id, last(0), PointResolution::In(head.clone()), "It adds, @mona. Fixes #1"),
            reply(&threads[1].id, last(1), PointResolution::Nothing, "Its name says it."),
            reply("PRRT_1", 1, PointResolution::In(head), "nobody is there"),
        ];
        let answer = Move::AnswerThreads { pull, replies };
        emulator.inject(Fault { path_contains: path.to_owned(), ..fault(kind.clone()) });
        assert_eq!(
            world.until_done("answer/1/threads", answer.clone()).await,
            EffectOutcome::Done,
            "{kind:?} {path}"
        );
        assert_eq!(world.until_done("answer/1/threads", answer).await, EffectOutcome::Done, "once more");

        let seen = world.seen().threads;
        assert_eq!(
            seen.iter().map(|one| (one.comments.len(), one.resolved)).collect::<Vec<_>>(),
            [(2, true), (2, false)]
        );
        let said = &seen[0].comments[1];
        assert_eq!(said.author, BOT);
        assert!(said.body.contains("Done in") && said.body.contains("`@mona.`"), "{}", said.body);
        assert!(
            said.body.contains("`#1`") && said.body.starts_with("<!-- journeyman:reply:"),
            "{}",
            said.body
        );
        assert!(seen[1].comments[1].body.contains("Not changed.\n\nIts name says it."));

        // A failed attempt that a later commit fixes is reported too.
        let head = world.push("def add(a, b):\n    \"Adds.\"\n    return a + b\n").await;
        let again = reply(&threads[1].id, last(1), PointResolution::In(head), "It has words now.");
        let again = Move::AnswerThreads { pull, replies: vec![again] };
        assert_eq!(world.until_done("answer/1/threads/again", again).await, EffectOutcome::Done);
        let seen = world.seen().threads.remove(1);
        assert_eq!((seen.comments.len(), seen.resolved), (3, true));
    }
}

#[tokio::test]
async fn one_thread_that_cannot_be_answered_keeps_no_other_waiting() {
    let world = EffectsFixture::new().await;
    let pull = world.pull().await;
    let emulator = &world.emulator;
    let notes = [("sums.py", 2, "Why?"), ("sums.py", 1, "Document it.")];
    let verdict = (ReviewState::ChangesRequested, "");
    emulator.review_lines(REPOSITORY, pull.0, "mona", verdict, &notes).await.expect("a review");
    let threads = world.read(pull).await.threads;
    let refused =
        FaultKind::Status { code: 422, headers: Vec::new(), body: "{\"message\": \"no\"}".to_owned() };
    emulator.inject(Fault { path_contains: "/replies".to_owned(), ..fault(refused) });
    let replies =
        threads.iter().map(|one| reply(&one.id, one.comments[0].id, PointResolution::Nothing, "So."));
    let outcome = world.attempt("answer", Move::AnswerThreads { pull, replies: replies.collect() }).await;
    let EffectOutcome::Trouble(trouble) = outcome else { panic!("{outcome:?}") };
    assert_eq!(trouble.retry, Retry::Never);
    let counts: Vec<usize> = world.seen().threads.iter().map(|one| one.comments.len()).collect();
    assert_eq!(counts, [1, 2]);
}

#[tokio::test]
async fn comments_are_reacted_to_and_those_that_are_gone_are_not() {
    let world = EffectsFixture::new().await;
    let pull = world.pull().await;
    let emulator = &world.emulator;
    let comment = emulator.comment(REPOSITORY, pull.0, "mona", "/retry").await.expect("a comment");
    let line = emulator.comment_on_line(REPOSITORY, pull.0, "mona", ("sums.py", 2, "?")).await.expect("said");
    let react = async |comment, reaction| {
        for kind in [FaultKind::AppliedThen(502), FaultKind::AppliedThenLost] {
            emulator.inject(Fault { path_contains: "/reactions".to_owned(), ..fault(kind) });
        }
        world.until_done("react", Move::React { comment, reaction }).await
    };
    assert_eq!(react(CommentRef::Issue(comment), Reaction::Eyes).await, EffectOutcome::Done);
    assert_eq!(react(CommentRef::Issue(comment), Reaction::Rocket).await, EffectOutcome::Done);
    assert_eq!(react(CommentRef::Review(line), Reaction::Confused).await, EffectOutcome::Done);
    emulator.clear_faults();
    let ours = |content: &str| (BOT.to_owned(), content.to_owned());
    assert_eq!(world.seen().issue.comments[0].reactions, [ours("eyes"), ours("rocket")]);
    assert_eq!(world.seen().threads[0].comments[0].reactions, [ours("confused")]);
    emulator.delete_comment(REPOSITORY, comment, "mona").await.expect("gone");
    let gone = Move::React { comment: CommentRef::Issue(comment), reaction: Reaction::Eyes };
    assert_eq!(world.attempt("react", gone).await, EffectOutcome::Done);
}

#[tokio::test]
async fn who_asked_for_changes_is_asked_to_look_again() {
    let world = EffectsFixture::new().await;
    let pull = world.pull().await;
    let emulator = &world.emulator;
    emulator.set_permission(REPOSITORY, "mona", RepositoryRole::Write).expect("a role");
    let people = |logins: &[&str]| logins.iter().map(|login| world.person(login)).collect();
    let ask = async |logins: &[&str]| {
        world.until_done("request", Move::RequestReview { pull, reviewers: people(logins) }).await
    };
    assert_eq!(ask(&["stranger"]).await, EffectOutcome::Done, "who cannot review is passed over");
    assert!(world.seen().requested.is_empty());
    emulator.inject(Fault { path_contains: "requested".to_owned(), ..fault(FaultKind::AppliedThenLost) });
    assert_eq!(ask(&["stranger", "mona"]).await, EffectOutcome::Done);
    assert_eq!(ask(&["stranger", "mona"]).await, EffectOutcome::Done);
    assert_eq!(world.seen().requested, ["mona"]);
    let asked =
        emulator.deliveries().into_iter().filter(|one| one.action.as_deref() == Some("review_requested"));
    assert_eq!(asked.count(), 1);
}

#[tokio::test]
async fn what_is_said_is_said_once() {
    let world = EffectsFixture::new().await;
    let pull = world.pull().await;
    let on = CommentTarget::Pull(pull);
    for (at, kind) in
        [FaultKind::AppliedThen(502), FaultKind::AppliedThenLost, FaultKind::Lost].into_iter().enumerate()
    {
        world.emulator.inject(Fault { path_contains: "/comments".to_owned(), ..fault(kind) });
        let key = format!("say/{at}");
        for _ in 0..2 {
            let say = Move::Say { on, saying: NoticeComment::Help };
            assert_eq!(world.until_done(&key, say).await, EffectOutcome::Done);
        }
        assert_eq!(world.said().len(), at + 1);
    }
    // Once per issue, even if another order says it too.
    let issue = CommentTarget::Issue(IssueNumber(1));
    for key in ["say/outsiders", "say/other-outsiders"] {
        world.until_done(key, Move::Say { on: issue, saying: NoticeComment::NoRight }).await;
    }
    let said = world.emulator.issue(REPOSITORY, 1).expect("the issue").comments;
    assert_eq!(said.len(), 1);
    assert!(said[0].body.contains("Only people with write access"), "{}", said[0].body);
}
