//! Helpers that several tests share.

use mapa_patterns::Application;

/// The notes of an application, a line each.
pub(crate) fn notes(application: &Application) -> String {
    let notes = application.notes.iter();
    notes.map(|note| format!("{note}\n")).collect()
}
