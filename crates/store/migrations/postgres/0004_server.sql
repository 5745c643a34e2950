-- The one row of the server that has this database.
CREATE TABLE server (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    -- Grows with every server that takes the database: what an earlier one still writes is refused.
    fence   BIGINT  NOT NULL,
    -- Who it is, for people.
    holder  TEXT    NOT NULL,
    -- When somebody last asked whether writes work: each answer is a write of this.
    seen_at BIGINT  NOT NULL,
    -- What GitHub delivered until then was taken in. Its clock; none before it was first asked.
    heard_until BIGINT
);
INSERT INTO server (one, fence, holder, seen_at) VALUES (1, 0, '', 0);
