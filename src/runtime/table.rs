//! The table of runtimes: the built-in rows and those of the user's own `runtimes.toml`.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::provision;
use super::python::REFERENCE;
use super::{KINDS, Kind, OpenError, RuntimeId, Supply, kinds, others};
use crate::files::read_text;

/// The file with the user's own rows, in the folder that the program is run in.
pub const FILE: &str = "runtimes.toml";

/// One runtime at one version in one configuration, with the data to open it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub id: RuntimeId,
    pub kind: String,
    /// The user's own library, in place of the provisioned one.
    pub library: Option<PathBuf>,
    /// For the kind `command`, the program and its arguments. For a kind that runs a module, the Python interpreter and the
    /// module.
    pub command: Vec<String>,
}

/// An entry of the file, with one row for each configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowEntry {
    name: String,
    kind: String,
    version: Option<String>,
    configurations: Option<Vec<String>>,
    library: Option<PathBuf>,
    #[serde(default)]
    command: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    runtime: Vec<RowEntry>,
}

/// Whether a runtime can take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    /// It is fetched on first use.
    ToBeProvisioned,
    /// The reason, and what to do.
    NotAvailable(String),
}

impl Row {
    /// The kind of the row.
    ///
    /// # Errors
    /// If there is no such kind in this program.
    pub fn kind(&self) -> Result<&'static Kind, OpenError> {
        let kind = kinds().find(|kind| kind.name == self.kind);
        kind.ok_or_else(|| OpenError::new(&self.id, format!("this program has no runtime kind `{}`", self.kind)))
    }

    /// The program to start for a row whose code is not in this program, and its arguments.
    ///
    /// # Errors
    /// If the program is not available; the message says what to do.
    pub(super) fn program(&self) -> Result<Vec<String>, String> {
        let kind = self.kind().map_err(|error| error.to_string())?;
        if let State::NotAvailable(why) = self.state() {
            return Err(why);
        }
        let run = |python: &str, program: &str, argument: &str| [python, "-c", program, argument].map(str::to_owned);
        match (kind.supply, &self.command[..]) {
            (Supply::Package(package), _) => {
                let interpreter = provision::interpreter(kind.name, &self.id.version);
                let [python, _] = interpreter.map_err(|error| error.to_string())?;
                Ok(run(&python.display().to_string(), package.program, kind.name).to_vec())
            }
            (Supply::Module(program), [python, module]) => Ok(run(python, program, module).to_vec()),
            _ => Ok(self.command.clone()),
        }
    }

    /// Whether the runtime is available, as far as is known without running it.
    pub fn state(&self) -> State {
        let kind = match self.kind() {
            Ok(kind) => kind,
            Err(error) => return State::NotAvailable(error.to_string()),
        };
        if let Some(library) = &self.library {
            let missing = || State::NotAvailable(format!("{} is not a file", library.display()));
            return if library.is_file() { State::Ready } else { missing() };
        }
        match kind.place(&self.id.version) {
            Ok(None) => State::Ready,
            Ok(Some(path)) if path.is_file() => State::Ready,
            Ok(Some(_)) if matches!(kind.supply, Supply::Library(_)) => State::ToBeProvisioned,
            Ok(Some(_)) => {
                let release = RuntimeId { name: kind.name.to_owned(), ..self.id.clone() }.release();
                State::NotAvailable(format!("it is not installed: `crosscheck runtimes install {release}` installs it"))
            }
            Err(error) => State::NotAvailable(error.to_string()),
        }
    }
}

impl Kind {
    fn entry(&self) -> RowEntry {
        RowEntry {
            name: self.name.to_owned(),
            kind: self.name.to_owned(),
            version: None,
            configurations: None,
            library: None,
            command: vec![],
        }
    }
}

impl RowEntry {
    /// The rows of the entry, one for each configuration.
    fn rows(&self) -> Vec<Row> {
        let kind = kinds().find(|kind| kind.name == self.kind);
        let usual = || kind.map_or(vec![], |kind| kind.configurations.iter().map(|&name| name.to_owned()).collect());
        let version = self.version.clone().or_else(|| kind.map(|kind| kind.version.to_owned())).unwrap_or_default();
        let configurations = self.configurations.clone().unwrap_or_else(usual);
        let row = |configuration| Row {
            id: RuntimeId { name: self.name.clone(), version: version.clone(), configuration },
            kind: self.kind.clone(),
            library: self.library.clone(),
            command: self.command.clone(),
        };
        configurations.into_iter().map(row).collect()
    }

    /// The stage of optimization of this name, as the only configuration. A stage takes part only if it is named.
    fn stage(&self, name: &str) -> Option<Vec<String>> {
        let kind = kinds().find(|kind| kind.name == self.kind)?;
        kind.stages.contains(&name).then(|| vec![name.to_owned()])
    }

    /// The fault of an entry that could be parsed.
    fn fault(&self) -> Option<String> {
        let is_plain =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let names: Vec<&str> = KINDS.iter().copied().chain(others()).map(|kind| kind.name).collect();
        let supply = kinds().find(|kind| kind.name == self.kind).map(|kind| kind.supply);
        let fault = if !is_plain(&self.name) {
            "a name is made of letters, digits and `-`, `_`, `.`".to_owned()
        } else if supply.is_none() {
            format!("there is no kind `{}`; there are {}", self.kind, names.join(", "))
        } else if self.version.as_ref().is_some_and(|version| !is_plain(version)) {
            "a version is written as 1.31.1".to_owned()
        } else if let (Some(Supply::Library(wheel)), Some(version)) = (supply, &self.version)
            && wheel.is_too_old(version)
        {
            format!("{version} is too old: the oldest release that can be loaded is {}", wheel.oldest)
        } else if matches!(supply, Some(Supply::Module(_))) && self.command.len() != 2 {
            format!("a row of the kind `{}` has a `command` of two: the Python to run, and the module", self.kind)
        } else if matches!(supply, Some(Supply::Program)) && self.command.is_empty() {
            "a row of the kind `command` has a `command`: the program and its arguments".to_owned()
        } else if !supply.is_some_and(Supply::is_named_by_the_user) && !self.command.is_empty() {
            format!("the kind `{}` has no `command`", self.kind)
        } else if self.library.is_some() && !matches!(supply, Some(Supply::Library(_))) {
            format!("the kind `{}` does not load a library", self.kind)
        } else if self.configurations.as_ref().is_some_and(Vec::is_empty) {
            "leave `configurations` out, or name one".to_owned()
        } else {
            return None;
        };
        Some(format!("runtime `{}`: {fault}", self.name))
    }
}

/// The row of the reference evaluator of the `onnx` package. It is under test as any runtime is.
pub fn reference() -> Option<Row> {
    named().find(|kind| kind.name == REFERENCE).and_then(|kind| rows_of(kind).pop())
}

/// The kinds that take part only if they are named, and that need no row of the user's own.
pub fn named() -> impl Iterator<Item = &'static Kind> {
    others().filter(|kind| !kind.supply.is_named_by_the_user())
}

/// The rows of a kind at the version under test.
pub fn rows_of(kind: &Kind) -> Vec<Row> {
    kind.entry().rows()
}

/// The user's own entries; none if there is no file.
fn own_entries() -> Result<Vec<RowEntry>, OpenError> {
    match read_text(Path::new(FILE)) {
        Ok(text) => parse(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        Err(error) => Err(OpenError::Table { path: FILE, reason: error.to_string() }),
    }
}

fn parse(text: &str) -> Result<Vec<RowEntry>, OpenError> {
    let failed = |reason| OpenError::Table { path: FILE, reason };
    let file: File = toml::from_str(text).map_err(|error| failed(error.to_string().trim_end().to_owned()))?;
    match file.runtime.iter().find_map(RowEntry::fault) {
        Some(fault) => Err(failed(fault)),
        None => Ok(file.runtime),
    }
}

/// The entries that take part by default: the built-in ones whose names the user does not use again, and then the user's own.
fn entries(own: &[RowEntry]) -> Vec<RowEntry> {
    let built_in = KINDS.iter().map(|kind| kind.entry()).filter(|entry| own.iter().all(|own| own.name != entry.name));
    built_in.chain(own.iter().cloned()).collect()
}

/// Every row of the table.
///
/// # Errors
/// If the user's own file is damaged; the message names the line.
pub fn rows() -> Result<Vec<Row>, OpenError> {
    Ok(entries(&own_entries()?).iter().flat_map(RowEntry::rows).collect())
}

/// The runtimes of a list of names, such as `in-house,onnxruntime@1.26.0,tract/optimized`. Without a version, a name stands for
/// the version under test; without a configuration, for all configurations. `None` selects every row of the table.
///
/// # Errors
/// If there is no runtime of a name, or the user's own file is damaged. The message says which name, and lists the runtimes.
pub fn select(list: Option<&str>) -> Result<Vec<Row>, OpenError> {
    choose(list, entries(&own_entries()?))
}

/// The names in a list. A comma within parentheses separates the options of an execution provider.
fn names_in(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    list.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn choose(list: Option<&str>, mut entries: Vec<RowEntry>) -> Result<Vec<Row>, OpenError> {
    let Some(list) = list else { return Ok(entries.iter().flat_map(RowEntry::rows).collect()) };
    let listed = entries.len();
    // The kinds that can be named although they do not take part by default.
    entries.extend(kinds().filter(|kind| !kind.supply.is_named_by_the_user()).map(Kind::entry));
    let mut selected: Vec<Row> = Vec::new();
    for name in names_in(list).map(str::trim) {
        let (release, configuration) = name.split_once('/').map_or((name, None), |(name, rest)| (name, Some(rest)));
        let (wanted, version) = release.split_once('@').map_or((release, None), |(name, rest)| (name, Some(rest)));
        let entry = entries.iter().find(|entry| entry.name == wanted).cloned();
        let entry = entry.map(|entry| RowEntry {
            version: version.map(str::to_owned).or(entry.version.clone()),
            configurations: configuration.and_then(|name| entry.stage(name)).or(entry.configurations.clone()),
            ..entry
        });
        if let Some(fault) = entry.as_ref().and_then(RowEntry::fault) {
            return Err(OpenError::new(format!("`{name}`"), fault));
        }
        let rows = entry.as_ref().map_or(vec![], RowEntry::rows);
        let of_configuration = |row: &Row| configuration.is_none_or(|wanted| row.id.configuration == wanted);
        let rows: Vec<Row> = rows.into_iter().filter(of_configuration).collect();
        if rows.is_empty() {
            let there = entries[..listed].iter().flat_map(|entry| {
                [entry.name.clone()].into_iter().chain(entry.rows().into_iter().map(|row| row.id.to_string()))
            });
            let mut there: Vec<String> = there.collect();
            there.dedup();
            there.extend(named().map(|kind| kind.name.to_owned()));
            let reason =
                format!("there is no such runtime; there are {}, and other versions as NAME@VERSION", there.join(", "));
            return Err(OpenError::new(format!("`{name}`"), reason));
        }
        selected.extend(rows.into_iter().filter(|row| !selected.contains(row)).collect::<Vec<_>>());
    }
    Ok(selected)
}

/// A version as its numbers, so that 1.9 comes before 1.20.
pub fn by_number(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: Option<&str>, own: &str) -> Result<Vec<String>, String> {
        let own = parse(own).map_err(|error| error.to_string())?;
        let rows = choose(list, entries(&own)).map_err(|error| error.to_string())?;
        Ok(rows.iter().map(|row| row.id.to_string()).collect())
    }

    #[test]
    fn runtimes_are_selected_by_name() {
        let of_kind = |kind: &&Kind| kind.entry().rows().into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>();
        assert_eq!(names(None, "").unwrap(), KINDS.iter().flat_map(of_kind).collect::<Vec<_>>());
        assert_eq!(
            names(Some("tract, in-house"), "").unwrap(),
            ["tract/typed", "tract/optimized", "tract/pinned", "in-house"]
        );
        assert_eq!(names(Some("tract/typed,tract"), "").unwrap(), ["tract/typed", "tract/optimized", "tract/pinned"]);
        let stages = names(Some("onnxruntime/basic, onnxruntime@1.26.0/extended,tract/decluttered"), "").unwrap();
        assert_eq!(stages, ["onnxruntime/basic", "onnxruntime@1.26.0/extended", "tract/decluttered"]);
        assert!(names(Some("onnxruntime/decluttered"), "").is_err(), "a stage of another runtime");
        let error = names(Some("onnxruntme"), "").unwrap_err();
        assert!(error.contains("`onnxruntme`") && error.contains("onnxruntime, onnxruntime/disabled"), "{error}");
    }

    #[test]
    fn a_version_is_part_of_the_name_unless_it_is_the_one_under_test() {
        let list = Some("onnxruntime@1.26.0/all,onnxruntime/all");
        assert_eq!(names(list, "").unwrap(), ["onnxruntime@1.26.0/all", "onnxruntime/all"]);
        let usual = format!("onnxruntime@{}/all", provision::ONNXRUNTIME_VERSION);
        assert_eq!(names(Some(&usual), "").unwrap(), ["onnxruntime/all"]);
        assert!(names(Some("tract@1 2"), "").unwrap_err().contains("a version is written as"));
    }

    #[test]
    fn the_users_own_rows_join_those_that_are_built_in_or_take_their_place() {
        let own = r#"
            [[runtime]]
            name = "mine"
            kind = "command"
            command = ["python3", "mine.py"]
            [[runtime]]
            name = "onnxruntime"
            kind = "onnxruntime"
            version = "1.26.0"
            configurations = ["all"]
        "#;
        let built_in: Vec<String> = names(None, "").unwrap();
        let others = built_in.into_iter().filter(|name| !name.starts_with("onnxruntime/"));
        let own_rows = ["mine", "onnxruntime@1.26.0/all"].map(str::to_owned);
        assert_eq!(names(None, own).unwrap(), others.chain(own_rows).collect::<Vec<_>>());
        assert_eq!(names(Some("mine"), own).unwrap(), ["mine"]);
    }

    #[test]
    fn a_module_is_named_with_its_python_and_a_package_by_its_kind_alone() {
        let own = |kind: &str, command: &str| {
            format!("[[runtime]]\nname = \"mine\"\nkind = \"{kind}\"\ncommand = {command}\n")
        };
        for kind in ["rewriter", "backend"] {
            assert_eq!(names(Some("mine"), &own(kind, r#"["python3", "mine"]"#)).unwrap(), ["mine"]);
            let error = names(None, &own(kind, r#"["mine"]"#)).unwrap_err();
            assert!(error.contains("a `command` of two: the Python to run, and the module"), "{error}");
        }
        assert!(names(None, &own("onnxsim", r#"["mine"]"#)).unwrap_err().contains("has no `command`"));
        assert!(names(None, &own("command", "[]")).unwrap_err().contains("has a `command`"));
        assert_eq!(names(Some("onnxsim@0.4.36,onnxsim"), "").unwrap(), ["onnxsim@0.4.36", "onnxsim"]);
        assert!(names(None, "").unwrap().iter().all(|name| !name.starts_with("onnxsim")));
    }

    #[test]
    fn the_options_of_an_execution_provider_are_part_of_the_name() {
        let own = r#"
            [[runtime]]
            name = "ours"
            kind = "onnxruntime"
            configurations = ["all", "all+CUDA(device_id=0,enable_cuda_graph=1)"]
        "#;
        let (one, in_house) = ("ours/all+CUDA(device_id=0,enable_cuda_graph=1)".to_owned(), "in-house".to_owned());
        assert_eq!(names(Some(&format!("{one}, in-house")), own).unwrap(), [one, in_house]);
        assert_eq!(names(Some("ours"), own).unwrap().len(), 2);
    }

    #[test]
    fn a_release_that_is_too_old_is_refused_with_the_oldest_that_can_be_loaded() {
        let said = "the oldest release that can be loaded is 1.20.0";
        for old in ["1.17.0", "1.19.2", "1.9.0", "1.19", "0.5.0"] {
            let error = names(Some(&format!("onnxruntime@{old}/all")), "").unwrap_err();
            assert!(error.contains(said) && error.contains(old), "{error}");
        }
        for new in ["1.20.0", "1.20", "1.20.1", "1.31.0", "2.0.0"] {
            assert_eq!(names(Some(&format!("onnxruntime@{new}/all")), "").unwrap(), [format!("onnxruntime@{new}/all")]);
        }
        // Other kinds have other version numbers.
        assert_eq!(names(Some("tract@0.23.4/typed"), "").unwrap(), ["tract@0.23.4/typed"]);
    }

    #[test]
    fn what_is_wrong_with_a_file_of_rows_is_said() {
        let kinds: Vec<&str> = KINDS.iter().copied().chain(others()).map(|kind| kind.name).collect();
        let kinds = format!("there are {}", kinds.join(", "));
        for (own, said) in [
            ("[[runtime]]\nname = 1\n", "line 2"),
            ("[[runtime]]\nname = \"a\"\nkind = \"tract\"\nconfig = 1\n", "line 4"),
            ("[[runtime]]\nname = \"a b\"\nkind = \"tract\"\n", "a name is made of"),
            ("[[runtime]]\nname = \"a\"\nkind = \"trakt\"\n", &kinds),
            ("[[runtime]]\nname = \"a\"\nkind = \"command\"\n", "has a `command`: the program"),
            ("[[runtime]]\nname = \"a\"\nkind = \"onnxruntime\"\nversion = \"1.17.0\"\n", "can be loaded is 1.20.0"),
            ("[[runtime]]\nname = \"a\"\nkind = \"tract\"\nlibrary = \"x\"\n", "does not load a library"),
        ] {
            let error = names(None, own).unwrap_err();
            assert!(error.starts_with("runtimes.toml: ") && error.contains(said), "{error}");
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert!(by_number("1.9.0") < by_number("1.20.1") && by_number("0.23.9") < by_number("0.23.10"));
    }
}
