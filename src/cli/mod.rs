//! The command line: one file for each subcommand, and what they share.

mod campaign;
mod coverage;
mod exhaust;
mod known;
mod run;
mod save;

use std::fs;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

use crate::case::Case;
use crate::files::quoted;
use crate::runtime;

/// Differential testing of ONNX runtimes: do they agree, and who is wrong?
#[derive(Debug, Parser)]
#[command(name = "crosscheck", version, about, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    Campaign(campaign::Arguments),
    Exhaust(exhaust::Arguments),
    Coverage(coverage::Arguments),
    Known(known::Arguments),
    Save(save::Arguments),
}

/// The folder where a campaign leaves what other commands read.
const OUTPUT: &str = "crosscheck-campaign";

const AFTER_HELP: &str = "Exit status: 0 if nothing is wrong, 1 on a finding, 2 on bad input or a runtime that cannot \
                          take part.";

/// What a subcommand came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    NothingWrong,
    Finding,
    BadInput,
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    runtime::take_no_back_traces();
    let result = match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Campaign(arguments) => campaign::run(&arguments),
        Command::Exhaust(arguments) => exhaust::run(&arguments),
        Command::Coverage(arguments) => coverage::run(&arguments),
        Command::Known(arguments) => known::run(&arguments),
        Command::Save(arguments) => save::run(&arguments),
    };
    match result {
        Ok(Ending::NothingWrong) => ExitCode::SUCCESS,
        Ok(Ending::Finding) => ExitCode::from(1),
        Ok(Ending::BadInput) => ExitCode::from(2),
        // Whoever reads the output has had enough of it, as `head` does: that is no error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    kind == Some(std::io::ErrorKind::BrokenPipe)
}

/// A case from its text, or from a file that holds one.
fn read_case(text: &str) -> anyhow::Result<Case> {
    let error = match text.parse::<Case>() {
        Ok(case) => return Ok(case),
        Err(error) => error,
    };
    let contents =
        fs::read_to_string(text).with_context(|| format!("`{text}` is neither a case ({error}) nor a file"))?;
    let line = contents.lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
    line.parse().with_context(|| format!("{text} holds no case"))
}

/// The command that runs a case again, ready to paste into a shell.
fn reproduce(case: &str) -> String {
    format!("crosscheck run {}", quoted(case))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_readme_lists_every_subcommand_and_no_other() {
        let readme = include_str!("../../README.md");
        let rows = readme.lines().filter_map(|line| line.strip_prefix("| `crosscheck "));
        let listed: Vec<&str> = rows.filter_map(|row| row.split([' ', '`']).next()).collect();
        let command = Arguments::command();
        let there: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(listed, there);
    }

    #[test]
    fn a_reproducing_command_survives_the_shell() {
        assert_eq!(reproduce("Shape@28 float[]"), "crosscheck run 'Shape@28 float[]'");
        assert_eq!(reproduce(r#"Shape@28 string[1]{"it's"}"#), r#"crosscheck run 'Shape@28 string[1]{"it'\''s"}'"#);
    }
}
