-- The model that a run was asked of; empty where nobody named one, and for runs from before this was kept.
ALTER TABLE spending ADD COLUMN model TEXT NOT NULL DEFAULT '';
