-- Whether a delivery's body is packed: LZ4, behind its length.
ALTER TABLE deliveries ADD COLUMN packed BOOLEAN NOT NULL DEFAULT FALSE;
