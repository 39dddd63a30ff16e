//! `crosscheck matrix`: the results of each release of each runtime, as a page for people.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{Ending, align_right, coverage, table};
use crate::files::{read_text, write_whole};
use crate::finding::{Ledger, Results, Status, Summary, Total, matrix};

/// Show runtimes and releases side by side: the results of each with each operator, as one page
///
/// Each cell says yes, partly, wrong, by design, not supported or not tried, and opens to its versions and types, the smallest
/// case, the sentence of the specification, the cause and the report. The page is self-contained. If the folders hold campaigns
/// of two releases of a runtime, the page says what changed between the releases.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  crosscheck matrix\n  crosscheck matrix night/onnxruntime night/tract --before last-night/* --html matrix.html"
)]
pub(super) struct Arguments {
    /// Folders that `crosscheck campaign`, `exhaust` or `merge` wrote
    #[arg(value_name = "DIR", default_value = super::OUTPUT)]
    folders: Vec<PathBuf>,
    /// The folders of an earlier night: the page says what has changed since then
    #[arg(long, value_name = "DIR", num_args = 1..)]
    before: Vec<PathBuf>,
    /// The file to write the page to
    #[arg(long, value_name = "FILE", default_value = "crosscheck-matrix.html")]
    html: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let all = |folders: &[PathBuf]| folders.iter().map(|folder| read(folder)).collect::<anyhow::Result<Vec<_>>>();
    let (results, before) = (all(&arguments.folders)?, all(&arguments.before)?);
    let (page, totals) = matrix(&results, &before, &Ledger::load()?);
    let path = &arguments.html;
    write_whole(path, page.as_bytes()).with_context(|| format!("{} cannot be written", path.display()))?;
    write(&totals, path, &mut io::stdout().lock())?;
    Ok(Ending::NothingWrong)
}

fn read(folder: &Path) -> anyhow::Result<Results> {
    let path = folder.join("summary.json");
    let text = read_text(&path).with_context(|| {
        format!("{} cannot be read: name folders that `crosscheck campaign` or `merge` wrote", path.display())
    })?;
    let summary = Summary::read(&text).with_context(|| path.display().to_string())?;
    Ok(Results { summary, coverage: coverage::read(folder)? })
}

fn write(totals: &[Total], path: &Path, to: &mut impl Write) -> io::Result<()> {
    let headings = Status::ALL.map(|status| status.name().to_owned());
    let mut sheet = table(["cells".to_owned()].into_iter().chain(headings).chain(["findings".to_owned()]));
    for Total { release, cells, findings } in totals {
        let numbers = cells.iter().chain([findings]).map(ToString::to_string);
        sheet.add_row([release.clone()].into_iter().chain(numbers));
    }
    align_right(&mut sheet, 1);
    writeln!(to, "{}\n\nThe page: {}", sheet.trim_fmt(), path.display())
}
