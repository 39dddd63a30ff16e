//! `crosscheck known`: the ledger of known issues.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

use super::{Ending, reproduce};
use crate::campaign::{Group, Trigger};
use crate::case::{Case, Features};
use crate::finding::{Finding, Known, Ledger, Probe, triage};
use crate::runtime;
use crate::verdict::Mismatch;

/// List the known issues with their state, or add one
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  crosscheck known\n  crosscheck known add 'Flatten@13 axis=3 float[2]'")]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Runtimes to use, such as `onnxruntime,tract/optimized` [default: all]
    #[arg(long, value_name = "LIST", global = true)]
    runtimes: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Minimize what a case shows, and write an entry for each finding that is not known yet
    Add {
        /// The case, or a file that holds one
        case: String,
    },
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let ledger = Ledger::load()?;
    let ids = runtime::select(arguments.runtimes.as_deref())?;
    let mut probe = Probe::new(runtime::open(&ids)?);
    match &arguments.action {
        None => list(&ledger, &mut probe, &mut io::stdout().lock()),
        Some(Action::Add { case }) => add(&ledger, case, &ids, &mut probe),
    }
}

fn list(ledger: &Ledger, probe: &mut Probe, to: &mut impl Write) -> anyhow::Result<Ending> {
    let mut fixed = 0;
    let ids = probe.ids();
    for known in ledger.entries.iter().filter(|known| known.is_of(&ids)) {
        let shows = known.trigger(probe).is_some();
        fixed += usize::from(!shows);
        let state = if shows { "shows" } else { "no longer shows: fixed upstream? close it" };
        writeln!(to, "{} ({state})\n   {}\n   {}", known.id, known.title, known.wrong)?;
        let versions = if known.first_version == known.last_version {
            known.first_version.clone()
        } else {
            format!("{} to {}", known.first_version, known.last_version)
        };
        writeln!(to, "   {versions}; {}\n   {}\n", known.link, reproduce(&known.case))?;
    }
    writeln!(to, "{} known issues, {fixed} of them no longer show.", ledger.entries.len())?;
    Ok(if fixed == 0 { Ending::NothingWrong } else { Ending::Finding })
}

fn add(ledger: &Ledger, text: &str, ids: &[runtime::RuntimeId], probe: &mut Probe) -> anyhow::Result<Ending> {
    let case = read(text)?;
    let mut groups: BTreeMap<(Mismatch, Features), Group> = BTreeMap::new();
    for kind in probe.ids().iter().map(|id| id.kind.clone()) {
        let shown = probe.look(&case, &kind).map(|sighting| sighting.configurations).unwrap_or_default();
        for mismatch in shown.into_iter().flat_map(|(_, mismatches, _)| mismatches) {
            groups.insert((mismatch, Features::of(&case)), Group { case: case.clone(), count: 1 });
        }
    }
    let findings = triage(&groups, &|| runtime::open(ids), 1, &|_, _| {})?;
    let known: Vec<Trigger> = ledger.triggers(probe).concat();
    let is_new = |finding: &&Finding| !known.iter().any(|known| known.explains_all_of(&finding.trigger));
    let new: Vec<&Finding> = findings.iter().filter(is_new).collect();
    anyhow::ensure!(!findings.is_empty(), "{case} shows no mismatch on these runtimes");
    let mut runtimes = runtime::open(ids)?;
    for finding in &new {
        let kind = &finding.trigger.mismatch.runtime;
        let version = probe.ids().into_iter().find(|id| id.kind == *kind).map_or_else(String::new, |id| id.version);
        let known = Known::of(finding.name(), &finding.trigger, &finding.case, &version);
        let path = Ledger::add(kind, known)?;
        println!("{} is in {}: say there what is wrong and why", finding.name(), path.display());
        println!("Saved {}", finding.save(Path::new("."), &mut runtimes)?.display());
    }
    println!("{} findings, {} of them new.", findings.len(), new.len());
    Ok(Ending::NothingWrong)
}

/// A case from its text, or from a file.
fn read(text: &str) -> anyhow::Result<Case> {
    if let Ok(case) = text.parse() {
        return Ok(case);
    }
    let contents = std::fs::read_to_string(text)
        .with_context(|| format!("`{text}` is neither a case ({}) nor a file", text.parse::<Case>().unwrap_err()))?;
    let line = contents.lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
    line.parse().with_context(|| format!("{text} holds no case"))
}
