//! Handlers that are fed: with a real queue on the embedded broker, real processes, and every way they can fail.

mod answers;
mod faults;
mod samples;
mod soak;
mod stage;
