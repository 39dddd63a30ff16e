//! `crosscheck coverage`: which part of the input space the last campaign reached.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use minijinja::Environment;

use super::{Ending, align_right, table};
use crate::campaign::{CellReport, Counts, CoverageReport};
use crate::case::Wiring;
use crate::files::{read_text, write_whole};
use crate::operator::OPERATORS;
use crate::runtime::RuntimeId;
use crate::tensor::ElementType;

/// Show which operator versions, element types, rules and wirings the last campaign reached
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck coverage --html coverage.html")]
pub(super) struct Arguments {
    /// Also write one self-contained page with the matrix as a heat map
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show what one runtime did, such as `tract/typed` [default: the cases that were run]
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    /// The folder of the campaign
    #[arg(long, value_name = "DIR", default_value = super::OUTPUT)]
    output: PathBuf,
}

const FILE: &str = "coverage.json";
const PAGE: &str = "coverage.html";

/// Saves what a campaign reached, for this program and as a page; a file is there whole or not at all.
pub(super) fn save(report: &CoverageReport, folder: &Path) -> anyhow::Result<()> {
    write(&folder.join(FILE), &serde_json::to_vec(report)?)?;
    write(&folder.join(PAGE), page(report)?.as_bytes())
}

fn write(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    write_whole(path, contents).with_context(|| format!("{} cannot be written", path.display()))
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let path = arguments.output.join(FILE);
    let text = read_text(&path).with_context(|| {
        format!("{} cannot be read: run `crosscheck campaign` first, or name its --output", path.display())
    })?;
    let report: CoverageReport = serde_json::from_str(&text)
        .with_context(|| format!("{} is damaged: run `crosscheck campaign` again", path.display()))?;
    let shown = match &arguments.runtime {
        None => None,
        Some(name) => {
            let names: Vec<String> = report.runtimes.iter().map(ToString::to_string).collect();
            let index = names.iter().position(|n| n == name);
            Some(index.with_context(|| format!("no runtime `{name}` took part; there were {}", names.join(", ")))?)
        }
    };
    show(&report, shown, io::stdout().lock())?;
    if let Some(path) = &arguments.html {
        write(path, page(&report)?.as_bytes())?;
    }
    Ok(Ending::NothingWrong)
}

fn show(report: &CoverageReport, shown: Option<usize>, mut to: impl Write) -> io::Result<()> {
    match shown {
        None => writeln!(to, "Cases that were run, by element type and operator version:")?,
        Some(index) => writeln!(
            to,
            "What {} did, by element type and operator version: cases, `-` unsupported, `!` wrong at least once:",
            report.runtimes[index]
        )?,
    }
    let by_name: BTreeMap<(&str, u8, &str), &CellReport> = report
        .cells
        .iter()
        .map(|cell| ((cell.operator.as_str(), cell.version, cell.element_type.as_str()), cell))
        .collect();
    for operator in OPERATORS {
        let versions = operator.versions.iter().map(|version| format!("{}-{}", operator.name, version.since));
        let mut table = table([String::new()].into_iter().chain(versions));
        for element_type in ElementType::ALL {
            let cells = operator.versions.iter().map(|version| {
                let cell = by_name.get(&(operator.name, version.since, element_type.name()));
                cell.map_or(String::new(), |cell| match shown {
                    None => cell.cases().to_string(),
                    Some(index) => mark(cell.runtimes[index]),
                })
            });
            table.add_row([element_type.name().to_owned()].into_iter().chain(cells));
        }
        align_right(&mut table, 1);
        writeln!(to, "\n{}", table.trim_fmt())?;
    }
    write_rules(report, shown, &mut to)?;
    write_summary(report, &mut to)
}

fn mark(counts: Counts) -> String {
    match counts {
        Counts { wrong: 1.., .. } => format!("{}!", counts.total()),
        Counts { answered: 0, unsupported: 1.., .. } => "-".to_owned(),
        _ => counts.total().to_string(),
    }
}

fn write_rules(report: &CoverageReport, shown: Option<usize>, to: &mut impl Write) -> io::Result<()> {
    let mut rows: Vec<(&str, Vec<String>)> = Vec::new();
    for rule in &report.rules {
        let text = match shown {
            None => rule.runtimes.iter().map(|counts| counts.total()).max().unwrap_or(0).to_string(),
            Some(index) => mark(rule.runtimes[index]),
        };
        match rows.last_mut() {
            Some((name, cells)) if *name == rule.rule => cells.push(text),
            _ => rows.push((&rule.rule, vec![text])),
        }
    }
    let mut table = table(["rule".to_owned()].into_iter().chain(Wiring::ALL.iter().map(ToString::to_string)));
    for (rule, cells) in rows {
        table.add_row([rule.to_owned()].into_iter().chain(cells));
    }
    align_right(&mut table, 1);
    writeln!(
        to,
        "\nThe same by rule and wiring; a case with operands in two wirings counts in both:\n\n{}",
        table.trim_fmt()
    )
}

/// How many cells each runtime executed, and by name those that it never did.
fn write_summary(report: &CoverageReport, to: &mut impl Write) -> io::Result<()> {
    let cells = &report.cells;
    let missed: Vec<String> = cells.iter().filter(|cell| cell.cases() == 0).map(CellReport::name).collect();
    writeln!(to, "\n{} of {} cells were reached.", cells.len() - missed.len(), cells.len())?;
    if !missed.is_empty() {
        writeln!(to, "Not reached: {}", missed.join(", "))?;
    }
    for (index, id) in report.runtimes.iter().enumerate() {
        let names = |holds: &dyn Fn(Counts) -> bool| -> Vec<String> {
            cells.iter().filter(|cell| holds(cell.runtimes[index])).map(CellReport::name).collect()
        };
        let answered = names(&|counts| counts.answered > 0).len();
        let unsupported = names(&|counts| counts.answered == 0 && counts.unsupported > 0);
        let refused = names(&|counts| counts.answered == 0 && counts.unsupported == 0 && counts.total() > 0);
        writeln!(to, "\n{id} executed {answered} cells.")?;
        for (what, names) in [("Unsupported", unsupported), ("Never answered, and not said to be unsupported", refused)]
        {
            if !names.is_empty() {
                writeln!(to, "{what}, {}: {}", names.len(), names.join(", "))?;
            }
        }
    }
    Ok(())
}

/// One page that needs nothing but itself.
fn page(report: &CoverageReport) -> anyhow::Result<String> {
    let mut environment = Environment::new();
    environment.add_template("coverage.html", include_str!("coverage.html"))?;
    let versions: BTreeMap<&str, Vec<u8>> =
        OPERATORS.iter().map(|o| (o.name, o.versions.iter().map(|v| v.since).collect())).collect();
    let operators: Vec<&str> = OPERATORS.iter().map(|o| o.name).collect();
    let types: Vec<&str> = ElementType::ALL.iter().map(|t| t.name()).collect();
    let wirings: Vec<String> = Wiring::ALL.iter().map(ToString::to_string).collect();
    let runtimes: Vec<String> = report.runtimes.iter().map(RuntimeId::with_version).collect();
    let data = serde_json::json!({
        "operators": operators, "versions": versions, "types": types, "wirings": wirings, "runtimes": runtimes,
        "cells": report.cells, "rules": report.rules,
    });
    // Inside a script element no text may close it.
    let data = data.to_string().replace("</", "<\\/");
    Ok(environment
        .get_template("coverage.html")?
        .render(minijinja::context! { data => minijinja::Value::from_safe_string(data) })?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::campaign::Coverage;

    #[test]
    fn what_is_saved_can_be_read_again() {
        let report = Coverage::default().report(&[crate::runtime::select(Some("in-house")).unwrap().remove(0).id]);
        assert_eq!(report.cells.len(), OPERATORS.iter().map(|operator| operator.cells()).sum::<usize>());
        let folder = tempfile::tempdir().unwrap();
        save(&report, &folder.path().join("a/b")).unwrap();
        let text = fs::read_to_string(folder.path().join("a/b").join(FILE)).unwrap();
        assert_eq!(serde_json::from_str::<CoverageReport>(&text).unwrap(), report);
    }

    #[test]
    fn the_page_needs_nothing_but_itself() {
        let mut report = Coverage::default().report(&[crate::runtime::select(Some("in-house")).unwrap().remove(0).id]);
        report.cells[0].findings.insert("x".to_owned(), r#"Shape@1 string[1]{"</script>"}"#.to_owned());
        let page = page(&report).unwrap();
        assert!(
            !page.contains("http://") && !page.contains("https://") && !page.contains("src="),
            "nothing is fetched"
        );
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count(), "no text closes a script");
    }
}
