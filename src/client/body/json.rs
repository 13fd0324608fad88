//! JSON bodies, by serde: UTF-8 without a byte order mark.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Body;
use crate::client::error::{Error, Result};

impl Body {
    /// A value as JSON in UTF-8. Feature `json`.
    ///
    /// ```
    /// # fn main() -> Result<(), ssbroker::client::Error> {
    /// use ssbroker::client::Body;
    ///
    /// let body = Body::json(&("teapot", 2))?;
    /// assert_eq!(body.as_bytes(), br#"["teapot",2]"#);
    /// let (what, count): (String, u32) = body.to_json()?;
    /// assert_eq!((what.as_str(), count), ("teapot", 2));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Value`](crate::client::ErrorKind::Value) when the value cannot be written: a map whose keys are no
    /// texts, or an implementation that refuses.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        serde_json::to_vec(value).map(Self).map_err(|error| {
            Error::value(format!("a value of type {} cannot be written as json: {error}", kind::<T>()))
        })
    }

    /// Reads the body as JSON: UTF-8, or UTF-16 if a byte order mark or a zero beside its first character shows it, as
    /// T-SQL's `FOR JSON` gives it. Feature `json`.
    ///
    /// # Errors
    /// [`ErrorKind::BodyUnreadable`](crate::client::ErrorKind::BodyUnreadable) with the type that was asked for, what is
    /// wrong, and the line and column where.
    pub fn to_json<T: DeserializeOwned>(&self) -> Result<T> {
        if self.is_empty() {
            return Err(Error::unreadable(format!("the body is empty, not a {} in json", kind::<T>())));
        }
        let parsed = match self.as_bytes() {
            [0xff, 0xfe, ..] | [_, 0, ..] => serde_json::from_str(&self.to_utf16()?),
            _ => serde_json::from_str(self.to_utf8()?),
        };
        parsed
            .map_err(|error| Error::unreadable(format!("the body is not a {} in json: {error}", kind::<T>())))
    }
}

/// The name of a type without its path.
fn kind<T: ?Sized>() -> &'static str {
    let name = std::any::type_name::<T>();
    if name.contains(['<', '(', '[']) { name } else { name.rsplit("::").next().unwrap_or(name) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde::Deserialize;

    use super::*;
    use crate::client::body::TextEncoding;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Order {
        id: u32,
        item: String,
    }

    #[test]
    fn a_value_is_read_back_in_every_encoding_programs_send_json_in() {
        let order = Order { id: 7, item: "größe".to_owned() };
        let body = Body::json(&order).unwrap();
        let text = body.to_utf8().unwrap().to_owned();
        assert_eq!(text, r#"{"id":7,"item":"größe"}"#);
        for encoding in
            [TextEncoding::Utf8, TextEncoding::MarkedUtf8, TextEncoding::Utf16, TextEncoding::MarkedUtf16]
        {
            assert_eq!(Body::text(&text, encoding).to_json::<Order>().unwrap(), order);
        }
    }

    #[test]
    fn an_error_names_the_type_the_fault_and_its_place() {
        let error = |text: &str| Body::utf8(text).to_json::<Order>().unwrap_err().to_string();
        assert!(error("{\"id\": 7}").contains("not a Order in json: missing field `item` at line 1"));
        assert!(error("{\n \"id\": \"x\"").contains("line 2"));
        assert!(error("").contains("the body is empty"));
        let refused = Body::json(&HashMap::from([((1, 2), 3)])).unwrap_err();
        assert!(refused.to_string().contains("key must be a string"), "{refused}");
    }
}
