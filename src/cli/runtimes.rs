//! `crosscheck runtimes`: the table of runtimes with their state, and the provisioning of another release.

use std::io::{self, Write};

use super::{Ending, table};
use crate::runtime::table::{State, named, rows, rows_of};
use crate::runtime::{Limits, Row, Supply, open_apart, provision, select};

/// List the runtimes with their state, or provision another release
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck runtimes\n  crosscheck runtimes install onnxruntime@1.26.0")]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
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
        None => list(&mut io::stdout().lock())?,
        Some(Action::Install { release }) => install(release)?,
    }
    Ok(Ending::NothingWrong)
}

fn list(to: &mut impl Write) -> anyhow::Result<()> {
    let mut table = table(["runtime", "kind", "version", "state"]);
    for row in rows()? {
        let (version, state) = state(&row)?;
        table.add_row([row.id.to_string(), row.kind.clone(), version, state]);
    }
    writeln!(to, "{}", table.trim_fmt())?;
    table = super::table(["runtime", "version", "state"]);
    for row in named().flat_map(rows_of) {
        let (version, state) = state(&row)?;
        table.add_row([row.id.to_string(), version, state]);
    }
    writeln!(to, "\nThese take part where they are named:\n{}", table.trim_fmt())?;
    let others = provision::other_releases()?;
    if !others.is_empty() {
        writeln!(to, "\nOther releases that are ready: {}", others.join(", "))?;
    }
    Ok(())
}

fn state(row: &Row) -> anyhow::Result<(String, String)> {
    if row.kind()?.supply.is_named_by_the_user() {
        // Only the program itself can say.
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
    let path = match kind.supply {
        Supply::Library => provision::onnxruntime_library(version)?,
        Supply::Linked if version == kind.version => {
            println!("{name} {version} is linked into this program.");
            return Ok(());
        }
        Supply::Linked | Supply::Worker => provision::build_worker(kind.name, version)?,
        Supply::Package(package) => provision::install_package(kind.name, &package, version)?,
        Supply::Program | Supply::Module(_) => {
            anyhow::bail!("{name} is a program of your own: install it as it wants to be installed")
        }
    };
    let opened = open_apart(&rows, &Limits::default())?;
    println!("{name} {} is ready: {}", opened[0].id().version, path.display());
    Ok(())
}
