//! Settings of a fuzz target: environment variables, since the arguments belong to libFuzzer.

use std::env;
use std::path::PathBuf;

/// The settings of a target, from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Runtimes to use, as for `crosscheck run --runtimes`.
    pub runtimes: Option<String>,
    /// The folder to save findings to, if the run is to go on past them.
    pub save_to: Option<PathBuf>,
    /// Whether mismatches that known issues explain are findings too.
    pub ignore_known: bool,
    /// Whether libFuzzer is shown how the runtimes react.
    pub guidance: bool,
    /// A file for a log of the run.
    pub log: Option<PathBuf>,
}

/// Every variable that is read, with its effect.
pub const SETTINGS: &[(&str, &str)] = &[
    ("CROSSCHECK_RUNTIMES", "runtimes to use, such as `onnxruntime,tract/optimized`"),
    ("CROSSCHECK_SAVE_TO", "a folder: go on past findings, and save them there as a campaign does"),
    ("CROSSCHECK_IGNORE_KNOWN", "1: report what known issues explain as well"),
    ("CROSSCHECK_GUIDANCE", "0: do not show libFuzzer how the runtimes react"),
    ("CROSSCHECK_LOG", "a file: say there how the run goes on"),
];

/// An error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{name} is `{value}`: it can be 0 or 1")]
    Flag { name: &'static str, value: String },
    #[error("{path} cannot be opened as a log: {error}")]
    Log { path: PathBuf, error: std::io::Error },
}

impl Settings {
    /// # Errors
    /// If a variable has a value that it cannot have.
    pub fn from_environment() -> Result<Settings, SettingsError> {
        Settings::from(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from(value: impl Fn(&str) -> Option<String>) -> Result<Settings, SettingsError> {
        let flag = |name: &'static str, default: bool| match value(name).as_deref() {
            None => Ok(default),
            Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(other) => Err(SettingsError::Flag { name, value: other.to_owned() }),
        };
        Ok(Settings {
            runtimes: value("CROSSCHECK_RUNTIMES"),
            save_to: value("CROSSCHECK_SAVE_TO").map(PathBuf::from),
            ignore_known: flag("CROSSCHECK_IGNORE_KNOWN", false)?,
            guidance: flag("CROSSCHECK_GUIDANCE", true)?,
            log: value("CROSSCHECK_LOG").map(PathBuf::from),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_listed_setting_is_read_and_no_other() {
        let read = RefCell::new(BTreeSet::new());
        let settings = Settings::from(|name| {
            read.borrow_mut().insert(name.to_owned());
            None
        });
        let listed: BTreeSet<String> = SETTINGS.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(read.into_inner(), listed);
        let settings = settings.unwrap();
        assert!(settings.guidance && !settings.ignore_known && settings.save_to.is_none());
        let readme = include_str!("../../README.md");
        for (name, what) in SETTINGS {
            assert!(readme.contains(&format!("| `{name}` | {what} |")), "README lacks {name}: {what}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_is_an_error() {
        let error = Settings::from(|name| (name == "CROSSCHECK_GUIDANCE").then(|| "no".to_owned())).unwrap_err();
        assert_eq!(error.to_string(), "CROSSCHECK_GUIDANCE is `no`: it can be 0 or 1");
    }
}
