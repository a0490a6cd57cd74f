//! Every answer has the version of its form.

use mapa_front::answer::{self, Refusal, Versioned};

#[test]
fn an_answer_has_the_version_of_its_form_beside_its_own_keys() {
    let refusal = Refusal::new("busy", "no device is free");
    let value = serde_json::to_value(Versioned::new(&refusal)).unwrap();
    assert_eq!(
        value,
        serde_json::json!({
            "schema": answer::SCHEMA,
            "refusal": "busy",
            "reason": "no device is free",
        })
    );
}
