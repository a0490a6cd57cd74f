//! Settings that people write: what is read is what was written, and errors name the word.

use mapa_core::Settings;
use proptest::prelude::*;

const FORM: &str = "some=SETTING";

/// Any key is known, by itself.
fn read(text: &str) -> Result<Vec<(&str, &str)>, String> {
    match Settings::read(text.split(','), FORM, Some) {
        Ok(settings) => Ok(settings
            .iter()
            .map(|(key, setting)| (*key, setting.value()))
            .collect()),
        Err(error) => Err(error.to_string()),
    }
}

/// Keys and values with blanks around them.
fn words() -> impl Strategy<Value = Vec<[String; 2]>> {
    prop::collection::vec(
        [" {0,2}[a-z-]{1,3} {0,2}", " {0,2}[!-+./-~=]{0,4} {0,2}"],
        1..6,
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_but_for_blanks_around_it(words in words()) {
        let text: Vec<String> = words.iter().map(|[key, value]| format!("{key}={value}")).collect();
        let pairs: Vec<_> = words.iter().map(|[key, value]| (key.trim(), value.trim())).collect();
        let twice = (0..pairs.len()).find(|&at| pairs[..at].iter().any(|(key, _)| *key == pairs[at].0));
        match (read(&text.join(",")), twice) {
            (Ok(read), None) => prop_assert_eq!(read, pairs),
            (Err(error), Some(at)) => {
                let start = format!("`{}`: already set by `", text[at].trim());
                prop_assert!(error.starts_with(&start), "{}", error);
            }
            (read, twice) => prop_assert!(false, "{:?} of {:?}, {:?}", read, text, twice),
        }
    }

    #[test]
    fn errors_begin_with_a_word_of_the_text_and_end_in_what_is_expected(text in "[a-c=, ]{0,12}") {
        let Err(error) = read(&text) else {
            return Ok(());
        };
        let word = error.split('`').nth(1).unwrap();
        prop_assert!(text.split(',').any(|word_of_error| word_of_error.trim() == word), "{}", error);
        let end = if word.contains('=') { "each setting once" } else { FORM };
        prop_assert!(error.ends_with(&format!(": expected {end}")), "{}", error);
    }
}

#[test]
fn values_are_of_the_type_asked_for() {
    let known = |key: &str| {
        ["depth", "gbps"]
            .into_iter()
            .find(|candidate| *candidate == key)
    };
    let of = |text: &'static str| Settings::read(text.split(','), FORM, known);
    let settings = of("depth=7, gbps = 2.5").unwrap();
    let (depth, gbps) = (
        settings.get("depth").unwrap(),
        settings.get("gbps").unwrap(),
    );
    assert_eq!(
        (depth.whole::<u8>().unwrap(), gbps.positive("GB/s").unwrap()),
        (7, 2.5)
    );
    assert_eq!(
        (gbps.word(), gbps.key(), gbps.value()),
        ("gbps = 2.5", "gbps", "2.5")
    );
    assert_eq!(
        gbps.whole::<u8>().unwrap_err().to_string(),
        "`gbps = 2.5`: expected a whole number"
    );
    for text in [
        "gbps=0", "gbps=-1", "gbps=inf", "gbps=NaN", "gbps=", "gbps=x",
    ] {
        let gbps = of(text).unwrap().get("gbps").unwrap();
        let error = gbps.positive("GB/s above 0").unwrap_err().to_string();
        assert_eq!(error, format!("`{text}`: expected GB/s above 0"));
    }
    let unknown = of("depth=7,speed=1").unwrap_err().to_string();
    assert_eq!(
        unknown,
        "`speed=1`: no setting is called `speed`: expected some=SETTING"
    );
    assert_eq!(of("depth=7").unwrap().get("gbps"), None);
}
