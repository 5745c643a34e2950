-- The last entry of the journal that a collector of traces was sent.
ALTER TABLE orders ADD COLUMN traced_seq INTEGER NOT NULL DEFAULT 0;
CREATE INDEX orders_untraced ON orders (updated_at) WHERE last_seq > traced_seq;
