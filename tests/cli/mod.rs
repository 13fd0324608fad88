//! The program as a user runs it: demo, emulator, activator check.

mod activator_check;
mod activator_live;
mod demo;
mod emulator;
mod scripts;
