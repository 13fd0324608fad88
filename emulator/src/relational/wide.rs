//! `a * b / c` with a product of 256 bits, which decimal multiplication and division need.

/// What happens to the remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// Dropped.
    Truncate,
    /// A half or more counts up.
    HalfUp,
}

/// `a * b / c`; `None` when the quotient does not fit 128 bits. `c` must not be zero.
pub(crate) fn mul_div(a: u128, b: u128, c: u128, rounding: Rounding) -> Option<u128> {
    let (quotient, rest) = match a.checked_mul(b) {
        Some(product) => (product / c, product % c),
        None => divide(multiply(a, b), c)?,
    };
    let up = rounding == Rounding::HalfUp && rest >= c - rest && rest > 0;
    quotient.checked_add(u128::from(up))
}

/// High and low half of the product.
fn multiply(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 64);
    let cross = a_low * b_high + (middle & LOW);
    (a_high * b_high + (middle >> 64) + (cross >> 64), (cross << 64) | (low & LOW))
}

/// Long division, one bit at a time.
fn divide((high, low): (u128, u128), divisor: u128) -> Option<(u128, u128)> {
    if high >= divisor {
        return None;
    }
    let (mut rest, mut quotient) = (high, 0);
    for bit in (0..128).rev() {
        let carry = rest >> 127 == 1;
        rest = (rest << 1) | ((low >> bit) & 1);
        if carry || rest >= divisor {
            rest = rest.wrapping_sub(divisor);
            quotient |= 1 << bit;
        }
    }
    Some((quotient, rest))
}

#[cfg(test)]
mod tests {
    use super::{Rounding, mul_div};

    #[test]
    fn small_products_round_as_told() {
        assert_eq!(mul_div(5, 1, 2, Rounding::HalfUp), Some(3));
        assert_eq!(mul_div(5, 1, 2, Rounding::Truncate), Some(2));
        assert_eq!(mul_div(4, 1, 3, Rounding::HalfUp), Some(1));
    }

    #[test]
    fn products_beyond_128_bits_divide_exactly() {
        let big = u128::MAX / 3;
        assert_eq!(mul_div(big, 9, 9, Rounding::Truncate), Some(big));
        assert_eq!(mul_div(u128::MAX, u128::MAX, u128::MAX, Rounding::Truncate), Some(u128::MAX));
        assert_eq!(mul_div(u128::MAX, 10, 4, Rounding::Truncate), None);
        assert_eq!(
            mul_div(10_u128.pow(38), 10_u128.pow(30), 10_u128.pow(35), Rounding::HalfUp),
            Some(10_u128.pow(33))
        );
    }
}
