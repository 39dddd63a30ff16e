//! `crosscheck completions`: a script that lets a shell complete subcommands and options.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use super::Ending;

/// Print a script that lets a shell complete subcommands and options
///
/// The example is for bash; every shell has its own folder for such scripts.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  crosscheck completions bash > ~/.local/share/bash-completion/completions/crosscheck"
)]
pub(super) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    // Hidden subcommands are left out: the scripts would offer them.
    let whole = super::Arguments::command();
    let visible = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut command = clap::Command::new(super::NAME).version(env!("CARGO_PKG_VERSION")).subcommands(visible);
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, super::NAME, &mut script);
    io::stdout().write_all(&script)?;
    Ok(Ending::NothingWrong)
}
