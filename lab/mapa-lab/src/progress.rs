//! How far an experiment has come.

/// Is told how far an experiment has come: a progress bar, for example. Several threads report.
pub trait Progress: Sync {
    /// The experiment has this many tasks.
    fn tasks(&self, number: u64) {
        let _ = number;
    }

    /// The experiment has this many tasks more.
    fn more(&self, number: u64) {
        let _ = number;
    }

    /// A task is done.
    fn done(&self) {}

    /// What is being done.
    fn doing(&self, what: &str) {
        let _ = what;
    }
}

/// Reports nothing.
impl Progress for () {}
