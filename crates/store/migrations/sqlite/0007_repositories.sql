-- What people did on GitHub until then was looked at, whether a delivery told of it or not.
ALTER TABLE server ADD COLUMN looked_until INTEGER;
-- Where repositories are now: they are renamed and transferred, and Apps are installed again.
CREATE TABLE repositories (
    id           INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL,
    installation INTEGER NOT NULL
);
