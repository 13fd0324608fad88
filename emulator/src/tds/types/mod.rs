//! Types and values on the wire (MS-TDS 2.2.5.4, 2.2.5.5): how each SQL type is described, read and written.
//!
//! Nothing is converted here. Which values a declared type takes is listed at [`write_value`].

mod info;
mod read;
mod scalar;
mod variant;
mod write;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use info::Form;
pub(crate) use info::{TypeInfo, write_type_info, write_type_info_not_null};
pub(crate) use read::read_value;
pub(crate) use write::{Misfit, write_value, write_value_not_null};
