-- The commits that orders' merged pull requests are known by on GitHub: what each became on its base, and its own last one.
CREATE TABLE merged_commits (
    repository_id BIGINT NOT NULL,
    sha           TEXT COLLATE "C" NOT NULL,
    order_id      TEXT COLLATE "C" NOT NULL REFERENCES orders (id),
    -- Whether it is what the pull request became on its base.
    is_merge      BOOLEAN NOT NULL,
    PRIMARY KEY (repository_id, sha, order_id)
);
CREATE INDEX merged_commits_of_order ON merged_commits (order_id);
-- What became of them after that, as GitHub told it; of each kind the first.
CREATE TABLE after_merge (
    order_id TEXT COLLATE "C" NOT NULL REFERENCES orders (id),
    -- commit_reverted, pull_reverted or check_failed.
    kind     TEXT NOT NULL,
    -- The commit or the pull request that says so, or the check.
    said_by  TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (order_id, kind)
);
