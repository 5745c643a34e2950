//! A job at the door: real connections, with names and addresses of the test's own.
