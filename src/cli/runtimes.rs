//! `crosscheck runtimes`: the table of runtimes with their state, and the provisioning of another release.

use std::io::{self, Write};

use serde::Serialize;

use super::{Ending, Format, table};
use crate::runtime::table::{State, named, rows, rows_of};
use crate::runtime::{Limits, Row, open_apart, provision, select};

/// List the runtimes with their state, or provision another release
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck runtimes\n  crosscheck runtimes install onnxruntime@1.26.0")]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// How to show the list; JSON is one object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Fetch the library of an onnxruntime release, build the worker of a tract release, or install a package of Python, such as
    /// `onnx-reference` or `onnxsim`
    #[command(after_help = "Example:\n  crosscheck runtimes install onnxruntime@1.26.0")]
    Install {
        /// The release, such as `onnxruntime@1.26.0`; without a version it is the one under test
        release: String,
    },
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    match &arguments.action {
        None => match arguments.format {
            Format::Text => Table::new()?.write(&mut io::stdout().lock())?,
            Format::Json => println!("{}", serde_json::to_string(&Table::new()?)?),
        },
        Some(Action::Install { release }) => install(release)?,
    }
    Ok(Ending::NothingWrong)
}

/// Every runtime, and the releases that are ready besides those under test.
#[derive(Serialize)]
struct Table {
    /// The runtimes that take part unless others are named.
    runtimes: Vec<ListedRuntime>,
    /// The runtimes that take part only if they are named.
    named: Vec<ListedRuntime>,
    other_releases: Vec<String>,
}

#[derive(Serialize)]
struct ListedRuntime {
    runtime: String,
    kind: String,
    /// Empty if it is not known.
    version: String,
    state: String,
}

impl Table {
    fn new() -> anyhow::Result<Table> {
        let entry = |row: Row| {
            let (version, state) = state(&row)?;
            Ok(ListedRuntime { runtime: row.id.to_string(), kind: row.kind, version, state })
        };
        Ok(Table {
            runtimes: rows()?.into_iter().map(entry).collect::<anyhow::Result<_>>()?,
            named: named().flat_map(rows_of).map(entry).collect::<anyhow::Result<_>>()?,
            other_releases: provision::other_releases(),
        })
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut shown = table(["runtime", "kind", "version", "state"]);
        for ListedRuntime { runtime, kind, version, state } in &self.runtimes {
            shown.add_row([runtime, kind, version, state]);
        }
        writeln!(to, "{}", shown.trim_fmt())?;
        let mut shown = table(["runtime", "version", "state"]);
        for ListedRuntime { runtime, version, state, .. } in &self.named {
            shown.add_row([runtime, version, state]);
        }
        writeln!(to, "\nThese take part where they are named:\n{}", shown.trim_fmt())?;
        if !self.other_releases.is_empty() {
            writeln!(to, "\nOther releases that are ready: {}", self.other_releases.join(", "))?;
        }
        Ok(())
    }
}

fn state(row: &Row) -> anyhow::Result<(String, String)> {
    if row.kind()?.supply.is_named_by_the_user() {
        // Its state is known only once it runs.
        return Ok(match open_apart(std::slice::from_ref(row), &Limits::default()) {
            Ok(opened) => (opened[0].id().version.clone(), "ready".to_owned()),
            Err(error) => (String::new(), format!("not available: {error}")),
        });
    }
    let state = match row.state() {
        State::Ready => "ready".to_owned(),
        State::ToBeProvisioned => "to be provisioned, on first use".to_owned(),
        State::NotAvailable(why) => format!("not available: {why}"),
    };
    Ok((row.id.version.clone(), state))
}

fn install(release: &str) -> anyhow::Result<()> {
    let rows = select(Some(release))?;
    let kind = rows[0].kind()?;
    let (name, version) = (&rows[0].id.name, rows[0].id.version.as_str());
    let Some(path) = kind.provision(version)? else {
        println!("{name} {version} is linked into this program.");
        return Ok(());
    };
    let opened = open_apart(&rows, &Limits::default())?;
    println!("{name} {} is ready: {}", opened[0].id().version, path.display());
    Ok(())
}
