-- The head of the merge group that an order verifies; empty for work on an issue, and for a pull request's own commit.
ALTER TABLE orders ADD COLUMN merge_group TEXT NOT NULL DEFAULT '';
-- At most one active order for each issue, each pull request and each of its merge groups.
DROP INDEX orders_one_active;
CREATE UNIQUE INDEX orders_one_active ON orders (repository_id, issue, merge_group) WHERE active;
