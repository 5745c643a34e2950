-- What people did on GitHub until then was looked at, whether a delivery told of it or not.
ALTER TABLE server ADD COLUMN looked_until BIGINT;
-- Where repositories are now: they are renamed and transferred, and Apps are installed again.
CREATE TABLE repositories (
    id           BIGINT PRIMARY KEY,
    name         TEXT    NOT NULL,
    installation BIGINT NOT NULL
);
