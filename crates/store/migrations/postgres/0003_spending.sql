-- What agents' runs cost: the estimate before a run begins, what it came to when it has ended. Dollars are millionths.
CREATE TABLE spending (
    order_id           TEXT COLLATE "C" NOT NULL REFERENCES orders (id),
    key                TEXT COLLATE "C" NOT NULL,
    attempt            BIGINT NOT NULL,
    repository_id      BIGINT NOT NULL,
    -- None where the work was asked for through the API.
    sender_id          BIGINT,
    agent              TEXT    NOT NULL,
    stage              TEXT    NOT NULL,
    role               TEXT    NOT NULL,
    begun_at           BIGINT NOT NULL,
    -- open, done, or kept_off: it never came to its work.
    state              TEXT    NOT NULL,
    estimated_microusd BIGINT NOT NULL,
    estimated_ms       BIGINT NOT NULL,
    actual_microusd    BIGINT,
    actual_ms          BIGINT,
    PRIMARY KEY (order_id, key, attempt)
);
CREATE INDEX spending_of_day ON spending (begun_at);
CREATE INDEX spending_of_agent ON spending (agent, begun_at);
