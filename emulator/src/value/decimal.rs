//! Exact numbers of up to 38 digits.

use std::fmt;

/// A `decimal` value: `unscaled / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// The digits without the decimal point.
    pub unscaled: i128,
    /// Digits after the decimal point, 0 to 38.
    pub scale: u8,
}

impl Decimal {
    /// A whole number.
    pub const fn whole(value: i128) -> Decimal {
        Decimal { unscaled: value, scale: 0 }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits =
            format!("{:0>width$}", self.unscaled.unsigned_abs(), width = usize::from(self.scale) + 1);
        let (whole, fraction) = digits.split_at(digits.len() - usize::from(self.scale));
        let sign = if self.unscaled < 0 { "-" } else { "" };
        match fraction {
            "" => write!(f, "{sign}{whole}"),
            fraction => write!(f, "{sign}{whole}.{fraction}"),
        }
    }
}
