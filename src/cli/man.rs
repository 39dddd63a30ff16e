//! `crosscheck man`: the manual pages, from the same texts as `--help`.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use super::Ending;

/// Write the manual pages: one for the program and one for each subcommand
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck man ~/.local/share/man/man1 && man crosscheck-campaign")]
pub(super) struct Arguments {
    /// The folder to write the pages to
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    fs::create_dir_all(&arguments.folder)
        .and_then(|()| clap_mangen::generate_to(super::Arguments::command(), &arguments.folder))
        .with_context(|| format!("the pages cannot be written to {}", arguments.folder.display()))?;
    Ok(Ending::NothingWrong)
}
