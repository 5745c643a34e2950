-- What may have something to do is found without a look at all that has ended.
CREATE INDEX orders_waking ON orders (id) WHERE active OR last_seq > rested_seq;
