//! Lock modes: which go together, and what two of one owner add up to.

/// A lock mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// IS: reads parts of the resource.
    IS,
    /// IX: changes parts of the resource.
    IX,
    /// S: reads.
    S,
    /// U: reads and means to change.
    U,
    /// SIX: reads the whole and changes parts; arises from S and IX of one owner.
    Six,
    /// X: changes.
    X,
}

use LockMode::{IS, IX, S, Six, U, X};

impl LockMode {
    /// Whether two owners may hold these modes at a time.
    pub const fn is_compatible(self, other: LockMode) -> bool {
        matches!(
            (self, other),
            (IS, IS | IX | S | U | Six) | (IX, IS | IX) | (S, IS | S | U) | (U, IS | S) | (Six, IS)
        )
    }

    /// The weakest mode that covers both.
    pub const fn join(self, other: LockMode) -> LockMode {
        match (self, other) {
            (X, _) | (_, X) => X,
            (IS, mode) | (mode, IS) => mode,
            (IX, IX) => IX,
            (S, S) => S,
            (U, U | S) | (S, U) => U,
            (Six | IX, Six | S) | (Six | S, IX) | (S, Six) => Six,
            // U with IX would be UIX; X is the next mode that covers both.
            (U, IX | Six) | (IX | Six, U) => X,
        }
    }

    /// The mode as `sys.dm_tran_locks` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            IS => "IS",
            IX => "IX",
            S => "S",
            U => "U",
            Six => "SIX",
            X => "X",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LockMode::{IS, IX, S, Six, U, X};
    use super::*;

    const ALL: [LockMode; 6] = [IS, IX, S, U, Six, X];

    #[test]
    fn compatibility_is_the_servers_table() {
        let table = ["yyyyyn", "yynnnn", "ynyynn", "ynynnn", "ynnnnn", "nnnnnn"];
        for (row, one) in table.iter().zip(ALL) {
            for (expected, other) in row.chars().zip(ALL) {
                assert_eq!(one.is_compatible(other), expected == 'y', "{} with {}", one.name(), other.name());
            }
        }
    }

    #[test]
    fn a_join_covers_both_sides_and_does_not_depend_on_their_order() {
        for one in ALL {
            for other in ALL {
                let join = one.join(other);
                assert_eq!(join, other.join(one));
                for third in ALL.into_iter().filter(|third| join.is_compatible(*third)) {
                    assert!(one.is_compatible(third) && other.is_compatible(third));
                }
            }
        }
        assert_eq!(S.join(IX), Six);
    }
}
