//! Answers that are written while they are made.
//!
//! An answer with a row for each of a hundred thousand jobs takes a gigabyte as a tree of values, and some hundred bytes a
//! row as text. So the short parts of such an answer are values, and its long lists are made element by element, as the
//! serialiser asks for them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The elements of a list, made when they are asked for.
type Elements<'a> = Box<dyn Iterator<Item = Value> + 'a>;

/// A value of an answer whose long lists are not held.
///
/// # Complexity
/// Serialised, it takes the memory of its short parts and of one element at a time.
pub enum Streamed<'a> {
    /// A short value.
    Value(Value),
    /// An object; its keys are in the order of the alphabet, as those of all answers are.
    Object(BTreeMap<String, Streamed<'a>>),
    /// A list of few elements.
    List(Vec<Streamed<'a>>),
    /// A list of any number of elements. The function is called once for each time that the value is serialised.
    Long(Box<dyn Fn() -> Elements<'a> + 'a>),
}

impl<'a> Streamed<'a> {
    /// A list whose elements are made one by one, anew each time that it is serialised.
    pub fn long<I: Iterator<Item = Value> + 'a>(elements: impl Fn() -> I + 'a) -> Self {
        Self::Long(Box::new(move || Box::new(elements())))
    }

    /// An object of these short values; empty if the value is no object.
    pub fn object(value: Value) -> BTreeMap<String, Self> {
        let fields = match value {
            Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        };
        let short = fields.into_iter();
        short
            .map(|(key, value)| (key, Self::Value(value)))
            .collect()
    }
}

impl Serialize for Streamed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Object(fields) => serializer.collect_map(fields),
            Self::List(elements) => serializer.collect_seq(elements),
            Self::Long(elements) => serializer.collect_seq(elements()),
        }
    }
}

impl fmt::Debug for Streamed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Object(fields) => fields.fmt(f),
            Self::List(elements) => elements.fmt(f),
            // Its elements may be very many.
            Self::Long(_) => f.write_str("[..]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{self, Write};
    use std::rc::Rc;

    use super::*;

    /// Keeps what was written, where a list can look while it is made.
    struct Page(Rc<RefCell<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_element_is_written_before_the_next_is_made() {
        let page = Rc::new(RefCell::new(Vec::new()));
        let seen = page.clone();
        let numbers = Streamed::long(move || {
            let seen = seen.clone();
            (0..1000).map(move |number| {
                if number > 0 {
                    let last = (number - 1).to_string();
                    assert!(seen.borrow().ends_with(last.as_bytes()), "before {number}");
                }
                Value::from(number)
            })
        });
        let mut answer = Streamed::object(serde_json::json!({"b": 1, "a": [2]}));
        answer.insert("ab".to_owned(), numbers);
        serde_json::to_writer(Page(page.clone()), &Streamed::Object(answer)).unwrap();
        let all: Vec<u32> = (0..1000).collect();
        let expected = serde_json::json!({"a": [2], "ab": all, "b": 1});
        assert_eq!(
            String::from_utf8(page.take()).unwrap(),
            expected.to_string()
        );
    }
}
