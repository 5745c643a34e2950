-- What lists of orders show and are filtered by. Title and agent are those of the opening.
ALTER TABLE orders ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN agent TEXT NOT NULL DEFAULT '';
-- Title, repository and issue in small letters, to be searched.
ALTER TABLE orders ADD COLUMN words TEXT NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN needs_person BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE orders ADD COLUMN verified BOOLEAN NOT NULL DEFAULT FALSE;
-- Rounds of work. 0 where nobody counted, as in orders that ended before this was kept.
ALTER TABLE orders ADD COLUMN rounds BIGINT NOT NULL DEFAULT 0;
-- What its agents cost, in millionths of a dollar.
ALTER TABLE orders ADD COLUMN microusd BIGINT NOT NULL DEFAULT 0;
-- When its pull request was opened.
ALTER TABLE orders ADD COLUMN pull_at BIGINT;
-- An entry that is no JSON costs its own order the title, and not all of them the migration.
DO $$
DECLARE first RECORD;
BEGIN
    FOR first IN SELECT order_id, event FROM journal WHERE seq = 1 LOOP
        BEGIN
            UPDATE orders SET
                title = COALESCE(left(first.event::json #>> '{issue,title}', 300), ''),
                agent = COALESCE(left(COALESCE(first.event::json #>> '{request,options,agent}', first.event::json ->> 'agent'), 100), '')
            WHERE id = first.order_id;
        EXCEPTION WHEN data_exception THEN NULL;
        END;
    END LOOP;
END $$;
UPDATE orders SET
    words = lower(title || ' ' || repository || ' #' || issue),
    needs_person = state IN ('escalated', 'blocked', 'failed', 'unprepared', 'unverified', 'unproven');
CREATE INDEX orders_at_work ON orders (id) WHERE active;
CREATE INDEX orders_needing ON orders (id) WHERE needs_person;
CREATE INDEX orders_of_state ON orders (state, id);
CREATE INDEX orders_of_repository ON orders (repository, id);
CREATE INDEX orders_of_agent ON orders (agent, id);
CREATE INDEX orders_by_words ON orders (id, words);
CREATE INDEX orders_of_time ON orders (opened_at);
