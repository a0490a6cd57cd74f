//! What schedulers must know of models of run time, for programs without the simulator that has the models.

use mapa_core::ring_packing_gbps;
use mapa_sched::LinkModel;

use super::named::{ExecutionSpec, unknown_execution};
use super::registry::{Registry, Row};
use crate::error::Error;
use crate::systems::{self, RunTimes};

impl Row for RunTimes {
    const WHAT: &'static str = "execution model";

    fn name(&self) -> &str {
        self.name
    }
}

/// The general models, then those of published systems.
fn built_in() -> Registry<RunTimes> {
    let row = |name, links| RunTimes {
        name,
        settings: &[],
        links,
    };
    // In the order of the simulator, as messages list them in this order. The test below compares both lists.
    let general: [RunTimes; 4] = [
        row("fixed", || LinkModel::None),
        row("by-size", || LinkModel::None),
        row("effective-bandwidth", || LinkModel::Usual),
        row("ring-packing", || LinkModel::By(ring_packing_gbps())),
    ];
    general.into_iter().chain(systems::run_times()).collect()
}

/// A name with the settings that may follow it, as messages list it.
fn form(name: &str, settings: &[&str]) -> String {
    let settings = settings.iter().map(|setting| format!("[,{setting}]"));
    std::iter::once(name.to_owned()).chain(settings).collect()
}

/// How run times depend on links by the execution model that a request names.
///
/// # Errors
/// If no model has the name, or if settings follow the name of a model that has none.
pub(super) fn link_model(spec: &ExecutionSpec) -> Result<LinkModel, Error> {
    let known = built_in();
    let row = known.get(spec.name());
    let row = row.filter(|row| spec.settings().next().is_none() || !row.settings.is_empty());
    match row {
        Some(row) => Ok((row.links)()),
        None => Err(unknown_execution(
            spec,
            &known.hint(spec.name()),
            known
                .iter()
                .map(|row| form(row.name, row.settings))
                .collect(),
        )),
    }
}

#[cfg(all(test, feature = "sim"))]
mod tests {
    use super::*;
    use crate::names::Names;

    /// A text that tells models of links apart.
    fn told(links: &LinkModel) -> String {
        match links {
            LinkModel::By(objective) => objective.name().to_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn they_are_those_of_the_simulator() {
        let names = Names::built_in();
        let here: Vec<(String, String)> = built_in()
            .iter()
            .map(|row| (form(row.name, row.settings), told(&(row.links)())))
            .collect();
        let there: Vec<(String, String)> = names
            .executions
            .iter()
            .map(|row| (row.form(), told(&(row.links)())))
            .collect();
        assert_eq!(here, there);
    }

    #[test]
    fn an_unknown_name_is_answered_as_with_the_simulator() {
        let names = Names::built_in();
        for words in ["fixd", "nothing", "fixed,gbps=1", ""] {
            let spec = words.into();
            let with = names
                .execution_row(&spec)
                .err()
                .map(|error| error.to_string());
            assert_eq!(link_model(&spec).err().map(|error| error.to_string()), with);
        }
    }
}
