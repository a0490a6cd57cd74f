//! What all readers of texts share: how long a text may be, and how much of it an error quotes.

use std::borrow::Cow;

/// The most bytes of a file in TOML: machines, models, patterns, settings. Its parser needs up to three hundred times the
/// memory of a hostile file; a machine of a thousand links has 100 KB, and a pattern in which 512 ranks all talk 1.6 MB.
pub const MAX_TOML_BYTES: usize = 2 << 20;

/// The longest quotation that stays whole in a message, characters: commands that a message names have up to 120.
const MOST_QUOTED: usize = 160;

/// The longest word outside quotations that stays whole, characters: paths are long.
const MOST_OF_WORD: usize = 300;

/// The longest message, bytes. Lists of what was expected are long.
const MOST_OF_MESSAGE: usize = 4000;

/// Checks the size of a text before it is parsed.
///
/// # Errors
/// A message for an error: how many bytes it has, and how many were expected at most.
pub fn check_size(bytes: usize, most: usize) -> Result<(), String> {
    if bytes > most {
        return Err(format!("{bytes} bytes: expected at most {most}"));
    }
    Ok(())
}

/// A message that quotes input, fit to be shown: what stands between backticks is cut after 60 characters if it has more
/// than 160, long words elsewhere and messages of more than 4,000 bytes are cut too, and characters that change what a
/// terminal shows (controls but line breaks and tabs, changes of direction) are escaped. A message that is fit stays as it is.
/// O(length).
///
/// # Examples
/// ```
/// use mapa_core::shortened;
///
/// let message = format!("line 3: `{}\u{1b}[2J`: expected a number", "9".repeat(200));
/// let shown = shortened(&message);
/// assert_eq!(shown, format!("line 3: `{}...`: expected a number", "9".repeat(60)));
/// assert_eq!(shortened("`\u{1b}[2J`: expected a number"), "`\\u{1b}[2J`: expected a number");
/// ```
#[must_use]
pub fn shortened(message: &str) -> Cow<'_, str> {
    if message.len() <= MOST_QUOTED && !message.chars().any(is_hidden) {
        return Cow::Borrowed(message);
    }
    let mut shown = String::new();
    for (number, piece) in message.split('`').enumerate() {
        if number > 0 {
            shown.push('`');
        }
        if number % 2 == 1 {
            push(&mut shown, piece, MOST_QUOTED);
        } else {
            for word in piece.split_inclusive(char::is_whitespace) {
                push(&mut shown, word, MOST_OF_WORD);
                // What ends the word belongs to the message around it.
                if word.chars().nth(MOST_OF_WORD).is_some() {
                    let ends = |c: char| c.is_whitespace() || matches!(c, ':' | ',' | ';' | ')');
                    shown.push_str(&word[word.trim_end_matches(ends).len()..]);
                }
            }
        }
    }
    Cow::Owned(ends(shown))
}

/// Adds a piece of a message: its first 60 characters, if it has more than `most`.
fn push(shown: &mut String, piece: &str, most: usize) {
    let is_long = piece.chars().nth(most).is_some();
    let kept = if is_long { 60 } else { most };
    for char in piece.chars().take(kept) {
        if is_hidden(char) {
            shown.extend(char.escape_unicode());
        } else {
            shown.push(char);
        }
    }
    if is_long {
        shown.push_str("...");
    }
}

/// Beginning and end of a long message: the place is in front, what was expected behind.
fn ends(shown: String) -> String {
    if shown.len() <= MOST_OF_MESSAGE {
        return shown;
    }
    let half = MOST_OF_MESSAGE / 2;
    let boundary = |mut at: usize| {
        while !shown.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    format!(
        "{} ... {}",
        &shown[..boundary(half)],
        &shown[boundary(shown.len() - half)..]
    )
}

/// Whether a character is not shown but changes what is: a control, or a change of the writing direction.
fn is_hidden(char: char) -> bool {
    let is_space = matches!(char, '\n' | '\t');
    let changes_direction =
        matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() && !is_space || changes_direction
}
