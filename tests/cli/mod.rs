//! The program as a user runs it: demo, emulator, activator.

mod activator_check;
mod activator_convert;
mod activator_exit_codes;
mod activator_live;
mod activator_run;
mod demo;
mod emulator;
mod scripts;
