//! L7: a requester that is killed at random points, and started again, gets each reply exactly once.
