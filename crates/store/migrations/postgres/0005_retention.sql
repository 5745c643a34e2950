-- Whether an artifact's bytes are in a file in the data folder and not in this row.
ALTER TABLE artifacts ADD COLUMN in_file BOOLEAN NOT NULL DEFAULT FALSE;
-- What is old is looked for from the beginning.
CREATE INDEX deliveries_with_body ON deliveries (received_at) WHERE conclusion IS NOT NULL AND length(body) > 0;
CREATE INDEX artifacts_in_files ON artifacts (sha256) WHERE in_file;
