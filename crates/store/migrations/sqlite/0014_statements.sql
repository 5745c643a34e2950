-- What became of the statements of orders' examiners when the order ended, by the agent and the model that made them.
CREATE TABLE statements (
    order_id TEXT NOT NULL REFERENCES orders (id),
    agent    TEXT NOT NULL,
    -- Empty where nobody named one.
    model    TEXT NOT NULL,
    -- holds, fails, disputed, unconfirmed or dropped.
    verdict  TEXT NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (order_id, verdict)
) WITHOUT ROWID;
