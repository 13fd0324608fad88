//! The errors of expressions, queries and data changes: one function per message number, texts in the emulator's own
//! words with the names and values that the server's text would carry.
//!
//! Errors of objects (208, 2627, 2714, ...) belong to the engine and must not be repeated here.

use crate::error::SqlError;

/// 102: the parser let something through that makes no sense here.
pub(crate) fn incorrect_syntax(near: &str) -> SqlError {
    SqlError::with_severity(102, 15, format!("Incorrect syntax near '{near}'."))
}

/// 107: `alias.*` without such an alias.
pub(crate) fn unknown_prefix(prefix: &str) -> SqlError {
    SqlError::with_severity(107, 15, format!("The prefix '{prefix}' names no table or alias of this query."))
}

/// 109 and 110: INSERT with a wrong number of values.
pub(crate) fn insert_count(more_columns: bool) -> SqlError {
    let (number, text) = match more_columns {
        true => {
            (109, "The INSERT names more columns than its VALUES list has values; the numbers must match.")
        }
        false => {
            (110, "The INSERT names fewer columns than its VALUES list has values; the numbers must match.")
        }
    };
    SqlError::with_severity(number, 15, text)
}

/// 116: a subquery in a place for one value has several columns.
pub(crate) fn subquery_columns() -> SqlError {
    SqlError::new(
        116,
        "A subquery not introduced with EXISTS must have exactly one expression in its select list.",
    )
}

/// 120 and 121: INSERT ... SELECT with a wrong number of columns.
pub(crate) fn insert_select_count(too_few: bool) -> SqlError {
    let (number, word) = if too_few { (120, "fewer") } else { (121, "more") };
    SqlError::with_severity(
        number,
        15,
        format!("The select list of the INSERT has {word} items than the insert list."),
    )
}

/// 137: an undeclared variable.
pub(crate) fn undeclared_variable(name: &str) -> SqlError {
    SqlError::with_severity(137, 15, format!("Must declare the scalar variable \"{name}\"."))
}

/// 1087: an undeclared table variable.
pub(crate) fn undeclared_table_variable(name: &str) -> SqlError {
    SqlError::with_severity(1087, 15, format!("Must declare the table variable \"{name}\"."))
}

/// 141: assignment and data retrieval mixed in one SELECT.
pub(crate) fn mixed_assignment() -> SqlError {
    SqlError::with_severity(141, 15, "A SELECT that assigns to variables must not return columns as well.")
}

/// 144 and 147: an aggregate where none may stand.
pub(crate) fn misplaced_aggregate(place: &str) -> SqlError {
    SqlError::with_severity(147, 15, format!("An aggregate may not appear in {place}."))
}

/// 155: not one of the recognised date parts.
pub(crate) fn unknown_date_part(part: &str, function: &str) -> SqlError {
    SqlError::with_severity(155, 15, format!("'{part}' is not a recognized {function} option."))
}

/// 174: a built-in function called with a wrong number of arguments.
pub(crate) fn argument_count(function: &str, wanted: usize) -> SqlError {
    let function = function.to_lowercase();
    SqlError::with_severity(174, 15, format!("The {function} function requires {wanted} argument(s)."))
}

/// 189: a built-in function called with a number of arguments outside its range.
pub(crate) fn argument_range(function: &str, least: usize, most: usize) -> SqlError {
    let function = function.to_lowercase();
    SqlError::with_severity(189, 15, format!("The {function} function requires {least} to {most} arguments."))
}

/// 195: not a built-in function.
pub(crate) fn unknown_function(name: &str) -> SqlError {
    SqlError::with_severity(195, 15, format!("'{name}' is not a recognized built-in function name."))
}

/// 4121: a schema-qualified function that does not exist.
pub(crate) fn unknown_user_function(name: &str) -> SqlError {
    SqlError::new(
        4121,
        format!(
            "Cannot find either column or user-defined function or aggregate \"{name}\", or the name is ambiguous."
        ),
    )
}

/// 205: UNION and the like over different numbers of columns.
pub(crate) fn set_operation_width() -> SqlError {
    SqlError::new(
        205,
        "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions in their target lists.",
    )
}

/// 206: two types that do not go together.
pub(crate) fn type_clash(left: &str, right: &str) -> SqlError {
    SqlError::new(206, format!("Operand type clash: {left} is incompatible with {right}"))
}

/// 207: no such column.
pub(crate) fn unknown_column(name: &str) -> SqlError {
    SqlError::new(207, format!("Invalid column name '{name}'."))
}

/// 209: a column name found in several sources.
pub(crate) fn ambiguous_column(name: &str) -> SqlError {
    SqlError::new(209, format!("Ambiguous column name '{name}'."))
}

/// 4104: a qualified column that no source has.
pub(crate) fn unbound_identifier(name: &str) -> SqlError {
    SqlError::new(4104, format!("The multi-part identifier \"{name}\" could not be bound."))
}

/// 547: a CHECK constraint is violated.
pub(crate) fn check_violated(statement: &str, constraint: &str, table: &str) -> SqlError {
    let text = format!(
        "The {statement} statement conflicted with the CHECK constraint \"{constraint}\" of table \"{table}\"."
    );
    SqlError::new(547, text).state(0)
}

/// 1224, 1225, 1226: what an application lock is asked with.
pub(crate) fn invalid_application_lock(number: i32, what: &str, function: &str) -> SqlError {
    SqlError::new(number, format!("{function} got an application lock {what} that is not valid"))
}

/// 1505: rows with the same key under a unique index about to be made.
pub(crate) fn index_has_duplicates(index: &str, table: &str) -> SqlError {
    let text =
        format!("the unique index '{index}' cannot be made: table '{table}' has rows with the same key");
    SqlError::new(1505, text)
}

/// 1913: an index of that name exists.
pub(crate) fn index_exists(index: &str, table: &str) -> SqlError {
    SqlError::new(1913, format!("table '{table}' has an index or statistics with the name '{index}' already"))
}

/// 3701: no such index.
pub(crate) fn no_index(index: &str, table: &str) -> SqlError {
    let text = format!(
        "cannot drop the index '{table}.{index}', because it does not exist or permission is missing"
    );
    SqlError::with_severity(3701, 11, text).state(7)
}

/// 3723: an index that belongs to a constraint.
pub(crate) fn index_of_constraint(index: &str) -> SqlError {
    SqlError::new(3723, format!("the index '{index}' enforces a constraint; drop the constraint instead"))
        .state(4)
}

/// 3728: no such constraint.
pub(crate) fn no_constraint(constraint: &str) -> SqlError {
    SqlError::new(3728, format!("'{constraint}' is not a constraint"))
}

/// 4901: a new column that rows which exist could have no value for.
pub(crate) fn new_column_needs_value(column: &str, table: &str) -> SqlError {
    let text = format!(
        "column '{column}' cannot be added to table '{table}', which has rows: it must allow NULL or have a DEFAULT"
    );
    SqlError::new(4901, text)
}

/// 4924: no such column to alter or drop.
pub(crate) fn no_column_to_alter(column: &str, table: &str) -> SqlError {
    SqlError::new(4924, format!("column '{column}' does not exist in table '{table}'"))
}

/// 5074: something depends on a column.
pub(crate) fn depends_on_column(object: &str, column: &str) -> SqlError {
    SqlError::new(5074, format!("'{object}' depends on column '{column}'"))
}

/// 8672: MERGE would change one row twice.
pub(crate) fn merge_matches_twice() -> SqlError {
    SqlError::new(
        8672,
        "MERGE would change the same row of the target twice: several rows of the source match it",
    )
}

/// 2229: a prefix in a path that nothing declares.
pub(crate) fn undeclared_prefix(prefix: &str) -> SqlError {
    SqlError::new(2229, format!("XQuery: the name \"{prefix}\" does not denote a namespace."))
}

/// 2389: a path that may find several nodes where one is needed.
pub(crate) fn not_a_singleton() -> SqlError {
    SqlError::new(
        2389,
        "XQuery [value()]: 'value()' requires a singleton (or empty sequence), write (path)[1]",
    )
}

/// 493: a column of nodes() used other than through the methods.
pub(crate) fn nodes_column(name: &str) -> SqlError {
    let text = format!(
        "The column '{name}' that was returned from the nodes() method cannot be used directly. It can only be used with \
         one of the XML data type methods, exist(), nodes(), query(), and value(), or in IS NULL and IS NOT NULL checks."
    );
    SqlError::new(493, text)
}

/// 8172: an argument of an xml method that is no string constant.
pub(crate) fn xml_argument(method: &str) -> SqlError {
    SqlError::new(8172, format!("the arguments of the xml method '{method}' must be string constants"))
}

/// 258: a method on what is no xml.
pub(crate) fn no_methods_on(ty: &str) -> SqlError {
    SqlError::with_severity(258, 15, format!("Cannot call methods on {ty}."))
}

/// 220: an integer outside the range of `tinyint` or `smallint`.
pub(crate) fn integer_overflow(ty: &str, value: i64) -> SqlError {
    SqlError::new(220, format!("Arithmetic overflow error for data type {ty}, value = {value}.")).state(2)
}

/// 241: text that is no date.
pub(crate) fn bad_date_text() -> SqlError {
    SqlError::new(241, "Conversion failed when converting date and/or time from character string.")
}

/// 242: a date outside the range of `datetime` or `smalldatetime`.
pub(crate) fn date_out_of_range(from: &str, to: &str) -> SqlError {
    SqlError::new(
        242,
        format!(
            "The conversion of a {from} data type to a {to} data type resulted in an out-of-range value."
        ),
    )
    .state(3)
}

/// 244 and 248: an integer text too large for its type.
pub(crate) fn integer_text_overflow(from: &str, text: &str, to: &str) -> SqlError {
    let number = if matches!(to, "tinyint" | "smallint") { 244 } else { 248 };
    SqlError::new(number, format!("The conversion of the {from} value '{text}' overflowed {to}."))
}

/// 245: text that does not denote a value of the type.
pub(crate) fn conversion_failed(from: &str, text: &str, to: &str) -> SqlError {
    SqlError::new(
        245,
        format!("Conversion failed when converting the {from} value '{text}' to data type {to}."),
    )
}

/// 257: a conversion that must be written out.
pub(crate) fn implicit_not_allowed(from: &str, to: &str) -> SqlError {
    SqlError::new(257, format!("Implicit conversion from data type {from} to {to} is not allowed. Use the CONVERT function to run this query.")).state(3)
}

/// 281: a style that does not exist for the pair of types.
pub(crate) fn bad_style(style: i32, from: &str, to: &str) -> SqlError {
    SqlError::new(281, format!("{style} is not a valid style number when converting from {from} to {to}."))
}

/// 402: two types no operator combines.
pub(crate) fn incompatible_operands(left: &str, right: &str, operator: &str) -> SqlError {
    SqlError::new(
        402,
        format!("The data types {left} and {right} are incompatible in the {operator} operator."),
    )
}

/// 8117: one operand of a type the operator does not take.
pub(crate) fn invalid_operand(ty: &str, operator: &str) -> SqlError {
    SqlError::new(8117, format!("Operand data type {ty} is invalid for {operator} operator."))
}

/// 8116: a function argument of a type the function does not take.
pub(crate) fn invalid_argument_type(ty: &str, position: usize, function: &str) -> SqlError {
    let function = function.to_lowercase();
    SqlError::new(
        8116,
        format!("Argument data type {ty} is invalid for argument {position} of {function} function."),
    )
}

/// 468: two columns of different collations compared.
pub(crate) fn collation_conflict(left: &str, right: &str) -> SqlError {
    SqlError::new(
        468,
        format!(
            "Cannot resolve the collation conflict between \"{left}\" and \"{right}\" in this operation."
        ),
    )
    .state(9)
}

/// 448: not a collation the emulator knows.
pub(crate) fn unknown_collation(name: &str) -> SqlError {
    SqlError::new(448, format!("Invalid collation '{name}'."))
}

/// 512: a scalar subquery with several rows.
pub(crate) fn subquery_rows() -> SqlError {
    SqlError::new(
        512,
        "Subquery returned more than 1 value. This is not permitted where one value is expected.",
    )
}

/// 515: NULL for a column that forbids it.
pub(crate) fn null_not_allowed(column: &str, table: &str, statement: &str) -> SqlError {
    let text = format!(
        "Cannot insert the value NULL into column '{column}', table '{table}'; column does not allow nulls. {statement} fails."
    );
    SqlError::new(515, text).state(2)
}

/// 529: a conversion that does not exist.
pub(crate) fn explicit_not_allowed(from: &str, to: &str) -> SqlError {
    SqlError::new(529, format!("Explicit conversion from data type {from} to {to} is not allowed.")).state(2)
}

/// 537: a negative length for SUBSTRING, LEFT or RIGHT.
pub(crate) fn negative_length(function: &str) -> SqlError {
    SqlError::new(537, format!("Invalid length parameter passed to the {function} function.")).state(3)
}

/// 517: a date moved out of its type's range.
pub(crate) fn date_overflow(ty: &str) -> SqlError {
    SqlError::new(517, format!("Adding a value to a '{ty}' column caused an overflow."))
}

/// 535: a difference of dates that does not fit.
pub(crate) fn datediff_overflow() -> SqlError {
    SqlError::new(
        535,
        "The datediff function resulted in an overflow: too many dateparts separate the two values.",
    )
}

/// 544: a value for an identity column.
pub(crate) fn identity_value(table: &str) -> SqlError {
    SqlError::new(
        544,
        format!(
            "Cannot insert explicit value for identity column in table '{table}' when IDENTITY_INSERT is set to OFF."
        ),
    )
}

/// 8102: UPDATE of an identity column.
pub(crate) fn identity_update(column: &str) -> SqlError {
    SqlError::new(8102, format!("Cannot update identity column '{column}'."))
}

/// 272: UPDATE or INSERT of a `rowversion` column.
pub(crate) fn rowversion_value() -> SqlError {
    SqlError::new(
        273,
        "Cannot write an explicit value into a timestamp column; name the other columns or use DEFAULT.",
    )
}

/// 264: a column named twice in a list of columns to set.
pub(crate) fn column_set_twice(column: &str) -> SqlError {
    SqlError::new(
        264,
        format!("The column name '{column}' is specified more than once in the SET clause or column list."),
    )
}

/// 1011: an alias used twice in one FROM.
pub(crate) fn duplicate_alias(alias: &str) -> SqlError {
    SqlError::with_severity(
        1011,
        15,
        format!("The correlation name '{alias}' is specified multiple times in a FROM clause."),
    )
}

/// 2628: text or bytes too long for their column.
pub(crate) fn truncated(table: &str, column: &str, value: &str) -> SqlError {
    SqlError::new(
        2628,
        format!(
            "String or binary data would be truncated in table '{table}', column '{column}'. Truncated value: '{value}'."
        ),
    )
}

/// 2715: no such type.
pub(crate) fn unknown_type(name: &str) -> SqlError {
    SqlError::new(2715, format!("Cannot find data type {name}.")).state(6)
}

/// 131: a length beyond what the type takes.
pub(crate) fn length_too_large(length: u32, ty: &str, most: u32) -> SqlError {
    SqlError::with_severity(
        131,
        15,
        format!("The size ({length}) given to the type '{ty}' exceeds the maximum allowed ({most})."),
    )
}

/// 1001: a length or precision of zero.
pub(crate) fn bad_length(length: i64) -> SqlError {
    SqlError::with_severity(1001, 15, format!("Length or precision specification {length} is invalid."))
}

/// 2716: facets for a type that has none.
pub(crate) fn facets_not_allowed(ty: &str) -> SqlError {
    SqlError::new(2716, format!("Cannot specify a column width on data type {ty}."))
}

/// 2750, 2751: precision and scale that do not go together.
pub(crate) fn bad_scale(scale: i64) -> SqlError {
    SqlError::new(
        2751,
        format!("The scale ({scale}) must not be greater than the precision, nor than the type allows."),
    )
}

/// 8114: a conversion to a number that failed, without the text.
pub(crate) fn conversion_error(from: &str, to: &str) -> SqlError {
    SqlError::new(8114, format!("Error converting data type {from} to {to}.")).state(5)
}

/// 8115: a result too large for its type.
pub(crate) fn overflow(to: &str) -> SqlError {
    SqlError::new(8115, format!("Arithmetic overflow error converting expression to data type {to}."))
        .state(2)
}

/// 8120: a plain column in a grouped query.
pub(crate) fn not_grouped(column: &str) -> SqlError {
    SqlError::new(
        8120,
        format!(
            "Column '{column}' is invalid in the select list because it is contained in neither an aggregate function nor the GROUP BY clause."
        ),
    )
}

/// 8134: division by zero.
pub(crate) fn division_by_zero() -> SqlError {
    SqlError::new(8134, "Divide by zero error encountered.")
}

/// 8155: a derived table with an unnamed column.
pub(crate) fn unnamed_column(position: usize, table: &str) -> SqlError {
    SqlError::new(8155, format!("No column name was specified for column {position} of '{table}'."))
}

/// 8156: a derived table with one column name twice.
pub(crate) fn duplicate_column(column: &str, table: &str) -> SqlError {
    SqlError::new(8156, format!("The column '{column}' was specified multiple times for '{table}'."))
}

/// 8158, 8159: a list of column aliases of the wrong length.
pub(crate) fn alias_count(table: &str, too_many_aliases: bool) -> SqlError {
    let (number, word) = if too_many_aliases { (8159, "fewer") } else { (8158, "more") };
    SqlError::new(number, format!("'{table}' has {word} columns than were specified in the column list."))
}

/// 8169: text that is no `uniqueidentifier`.
pub(crate) fn bad_uuid_text() -> SqlError {
    SqlError::new(8169, "Conversion failed when converting from a character string to uniqueidentifier.")
        .state(2)
}

/// 8133: CASE or COALESCE whose results are all the constant NULL.
pub(crate) fn untyped_case() -> SqlError {
    SqlError::new(
        8133,
        "At least one of the result expressions in a CASE specification must be an expression other than the NULL constant.",
    )
}

/// 8127-like 108: ORDER BY a position that does not exist.
pub(crate) fn order_position(position: i64) -> SqlError {
    SqlError::with_severity(
        108,
        15,
        format!(
            "The ORDER BY position number {position} is out of range of the number of items in the select list."
        ),
    )
}

/// 104: ORDER BY over a UNION by something that is not in the select list.
pub(crate) fn order_not_in_list() -> SqlError {
    SqlError::with_severity(
        104,
        15,
        "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or EXCEPT operator.",
    )
}

/// 145: ORDER BY something that SELECT DISTINCT has dropped.
pub(crate) fn order_not_distinct() -> SqlError {
    SqlError::with_severity(
        145,
        15,
        "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.",
    )
}

/// 127 and 1060: a row count of TOP, OFFSET or FETCH that is negative or no number.
pub(crate) fn bad_row_count() -> SqlError {
    SqlError::with_severity(
        1060,
        15,
        "The number of rows for a TOP, OFFSET or FETCH clause must be an integer that is not negative.",
    )
}

/// 9400 and its like: text that is no well-formed XML, with the place.
pub(crate) fn bad_xml(line: u32, character: u32, what: &str) -> SqlError {
    SqlError::new(9400, format!("XML parsing: line {line}, character {character}, {what}"))
}

/// 8106, 4405 and the like: something that cannot be the target of a data change.
pub(crate) fn not_updatable(name: &str) -> SqlError {
    SqlError::new(
        4406,
        format!(
            "Update or insert of view or function '{name}' failed because it contains a derived or constant field or cannot be changed."
        ),
    )
}

/// 1005-like 1023: an argument outside its range.
pub(crate) fn invalid_argument(position: usize, function: &str) -> SqlError {
    SqlError::with_severity(1023, 15, format!("Invalid parameter {position} specified for {function}."))
}

/// 310 and 506: an ESCAPE that is not one character.
pub(crate) fn bad_escape(escape: &str) -> SqlError {
    SqlError::new(
        506,
        format!("The invalid escape character \"{escape}\" was specified in a LIKE predicate."),
    )
}

/// 213: an INSERT without a column list whose values do not match the table.
pub(crate) fn insert_definition() -> SqlError {
    SqlError::new(213, "Column name or number of supplied values does not match table definition.")
}

/// 289: date parts that make no date.
pub(crate) fn bad_date_parts() -> SqlError {
    SqlError::new(
        289,
        "Cannot construct data type date, some of the arguments have values which are not valid.",
    )
}

/// 911: no such database.
pub(crate) fn unknown_database(name: &str) -> SqlError {
    SqlError::new(
        911,
        format!("Database '{name}' does not exist. Make sure that the name is entered correctly."),
    )
}

/// 1911: a key over a column the table does not have.
pub(crate) fn unknown_key_column(column: &str, table: &str) -> SqlError {
    SqlError::new(
        1911,
        format!("Column name '{column}' does not exist in the target table or view '{table}'."),
    )
}

/// 2627 in a table variable.
pub(crate) fn duplicate_variable_key(key: &str, value: &str) -> SqlError {
    let text = format!(
        "Violation of constraint '{key}'. Cannot insert duplicate key in a table variable. The duplicate key value is ({value})."
    );
    SqlError::with_severity(2627, 14, text)
}

/// 2705: a column name used twice in a table.
pub(crate) fn column_twice(column: &str, table: &str) -> SqlError {
    SqlError::new(
        2705,
        format!(
            "Column names in each table must be unique. Column name '{column}' in table '{table}' is specified more than once."
        ),
    )
}

/// 2744: a second identity column.
pub(crate) fn second_identity(table: &str) -> SqlError {
    SqlError::new(
        2744,
        format!(
            "Multiple identity columns specified for table '{table}'. Only one identity column per table is allowed."
        ),
    )
}

/// 2749: an identity column of another type than whole numbers, or without a step.
pub(crate) fn invalid_identity(column: &str) -> SqlError {
    SqlError::new(2749, format!("Identity column '{column}' must be of a whole-number type and have a seed and an increment that fit it.")).state(2)
}

/// 8110: a second primary key.
pub(crate) fn second_primary_key(table: &str) -> SqlError {
    SqlError::new(8110, format!("Cannot add multiple PRIMARY KEY constraints to table '{table}'."))
}

/// 271: a value for a computed column.
pub(crate) fn computed_column(column: &str) -> SqlError {
    SqlError::new(271, format!("The column \"{column}\" cannot be modified because it is a computed column."))
}
