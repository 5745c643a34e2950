-- Checks are told by branch.
CREATE INDEX orders_of_branch ON orders (repository_id, branch) WHERE branch IS NOT NULL;
