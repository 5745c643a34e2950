-- What lists of orders show and are filtered by. Title and agent are those of the opening.
ALTER TABLE orders ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN agent TEXT NOT NULL DEFAULT '';
-- Title, repository and issue in small letters, to be searched.
ALTER TABLE orders ADD COLUMN words TEXT NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN needs_person BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE orders ADD COLUMN verified BOOLEAN NOT NULL DEFAULT FALSE;
-- Rounds of work. 0 where nobody counted, as in orders that ended before this was kept.
ALTER TABLE orders ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0;
-- What its agents cost, in millionths of a dollar.
ALTER TABLE orders ADD COLUMN microusd INTEGER NOT NULL DEFAULT 0;
-- When its pull request was opened.
ALTER TABLE orders ADD COLUMN pull_at INTEGER;
UPDATE orders SET
    title = COALESCE((SELECT substr(json_extract(event, '$.issue.title'), 1, 300) FROM journal
        WHERE order_id = orders.id AND seq = 1 AND json_valid(event)), ''),
    agent = COALESCE((SELECT substr(COALESCE(json_extract(event, '$.request.options.agent'), json_extract(event, '$.agent')), 1, 100)
        FROM journal WHERE order_id = orders.id AND seq = 1 AND json_valid(event)), ''),
    needs_person = state IN ('escalated', 'blocked', 'failed', 'unprepared', 'unverified', 'unproven');
UPDATE orders SET words = lower(title || ' ' || repository || ' #' || issue);
CREATE INDEX orders_at_work ON orders (id) WHERE active;
CREATE INDEX orders_needing ON orders (id) WHERE needs_person;
CREATE INDEX orders_of_state ON orders (state, id);
CREATE INDEX orders_of_repository ON orders (repository, id);
CREATE INDEX orders_of_agent ON orders (agent, id);
CREATE INDEX orders_by_words ON orders (id, words);
CREATE INDEX orders_of_time ON orders (opened_at);
