-- Until when it was looked at what people did in a repository: one that cannot be looked at keeps its own time, and no other
-- waits for it. Where there is none, that of the server counts.
ALTER TABLE repositories ADD COLUMN looked_until BIGINT;
-- Where it was never looked: until when deliveries were taken in. None before the first start.
UPDATE server SET looked_until = COALESCE(looked_until, heard_until, (SELECT MAX(received_at) FROM deliveries));
