//! The one integration test binary: each folder a subject, `support` what they share.

#[cfg(test)]
mod activator;
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod client;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod support;
