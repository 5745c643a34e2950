-- What agents' runs cost: the estimate before a run begins, what it came to when it has ended. Dollars are millionths.
CREATE TABLE spending (
    order_id           TEXT NOT NULL REFERENCES orders (id),
    key                TEXT NOT NULL,
    attempt            INTEGER NOT NULL,
    repository_id      INTEGER NOT NULL,
    -- None where the work was asked for through the API.
    sender_id          INTEGER,
    agent              TEXT    NOT NULL,
    stage              TEXT    NOT NULL,
    role               TEXT    NOT NULL,
    begun_at           INTEGER NOT NULL,
    -- open, done, or kept_off: it never came to its work.
    state              TEXT    NOT NULL,
    estimated_microusd INTEGER NOT NULL,
    estimated_ms       INTEGER NOT NULL,
    actual_microusd    INTEGER,
    actual_ms          INTEGER,
    PRIMARY KEY (order_id, key, attempt)
) WITHOUT ROWID;
CREATE INDEX spending_of_day ON spending (begun_at);
CREATE INDEX spending_of_agent ON spending (agent, begun_at);
