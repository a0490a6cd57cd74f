//! What a terminal is given.

use mapa_io::{MOST_OF_A_MESSAGE, message, printable, printable_json, word};
use proptest::prelude::*;

/// Cursor, title, clipboard, 8-bit controls, and text that runs from right to left.
const HOSTILE: [&str; 8] = [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b]52;c;cm0gLXJmIC8=\x07",
    "\u{9b}2J",
    "\u{9d}0;t\u{9c}",
    "a\u{202e}b",
    "a\u{2066}b\u{2069}",
    "a\rb\x08\x7f\0",
];

fn obeyed(text: &str) -> bool {
    text.chars().any(|c| {
        c.is_control() && c != '\n' && c != '\t'
            || "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}"
                .contains(c)
    })
}

#[test]
fn known_attacks_are_text() {
    for text in HOSTILE {
        for shown in [printable(text), word(text), message(text)] {
            assert!(!obeyed(&shown), "{shown:?}");
        }
        let json = format!("\"{text}\"");
        assert!(
            !obeyed(&printable_json(&json).replace('\r', "")),
            "{json:?}"
        );
    }
    // What people write stays.
    for text in [
        "GPU0\tNV2\n",
        "Jürgen’s 8×A100 – 3,5 GB/s",
        "日本語",
        "عربي",
    ] {
        assert_eq!(printable(text), text);
        assert_eq!(printable_json(text), text);
    }
}

proptest! {
    #[test]
    fn no_text_is_obeyed(text in "\\PC*|(?s).*") {
        prop_assert!(!obeyed(&printable(&text)));
        prop_assert!(!obeyed(&word(&text)) && !word(&text).contains(['\n', '\t']));
        let message = message(&text);
        prop_assert!(message.chars().count() <= MOST_OF_A_MESSAGE + 40);
    }

    #[test]
    fn json_means_the_same(text in "(?s).*") {
        let json = serde_json::to_string(&text).unwrap();
        let shown = printable_json(&json);
        prop_assert!(!obeyed(&shown));
        prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }
}
