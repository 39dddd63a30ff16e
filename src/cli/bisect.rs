//! `crosscheck bisect`: in which release of a runtime the result of a case changed.

use std::collections::BTreeSet;

use super::{Ending, PlaceArguments, read_case};
use crate::campaign::examine;
use crate::case::{Case, Generated};
use crate::finding::{Behaviour, Bisection, Known, Ledger, Probe, Variant};
use crate::runtime::{self, OpenError, Outcome, Runtime, Supply, by_number, provision, select};
use crate::verdict::{Judgement, Mismatch};

/// Say in which release of a runtime the result of a case changed
///
/// Releases are fetched as they are needed. If the case is that of a known issue of the ledger in this folder, its versions
/// are written there.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  crosscheck bisect 'Reshape@14 allowzero=1 float[0] int64[2]{-1,0}' --runtime onnxruntime"
)]
pub(super) struct Arguments {
    /// The case, or a file that holds one
    case: String,
    /// The runtime, such as `onnxruntime`, or one configuration of it, such as `tract/typed`
    #[arg(long, value_name = "NAME")]
    runtime: String,
    /// The oldest release to look at [default: the oldest there is; onnxruntime is driven from 1.20.0 on]
    #[arg(long, value_name = "VERSION")]
    from: Option<String>,
    /// The newest release to look at [default: the newest there is]
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    #[command(flatten)]
    place: PlaceArguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let case = read_case(&arguments.case)?;
    let (name, configuration) = match arguments.runtime.split_once('/') {
        Some((name, configuration)) => (name, format!("/{configuration}")),
        None => (arguments.runtime.as_str(), String::new()),
    };
    anyhow::ensure!(!name.contains('@'), "--runtime names a runtime; --from and --to name its releases");
    let releases = releases(name, arguments)?;
    let open = |version: &str| -> Result<Vec<Box<dyn Runtime>>, OpenError> {
        arguments.place.open(&select(Some(&format!("{name}@{version}{configuration}")))?)
    };
    let ledger = Ledger::load()?;
    let given = case;
    let known = ledger.known().find(|known| known.variant.runtime_name() == name && known.variant.case() == given);
    let newest = &releases[releases.len() - 1];
    let case = at_oldest_opset(&given, open(newest)?);
    if case != given {
        println!("Older releases lack opset {}, and in {newest} the same comes of {case}\n", given.opset);
    }
    let mut looks = 0;
    let found = crate::finding::bisect(&releases, |version| {
        looks += 1;
        eprintln!("Looking at {name} {version}");
        Ok::<_, OpenError>(look(&case, known, open(version)?))
    })?;
    let oldest = &releases[0];
    let versions = match &found {
        Bisection::Same(seen) => {
            println!("{case}\n\nThe same in {name} {oldest} and {newest}, so no change was looked for between them:\n");
            print!("{}", seen.text);
            (seen.shows).then(|| (oldest.clone(), newest.clone()))
        }
        Bisection::Changed(change) => {
            let ((last, before), (first, after)) = (&change.before, &change.after);
            println!("{case}\n\nChanged in {name} {first}, found in {looks} looks.\n");
            println!("{name} {last}:\n{}\n{name} {first}:\n{}", before.text, after.text);
            match (before.shows, after.shows) {
                (true, false) => Some((oldest.clone(), last.clone())),
                (false, true) => Some((first.clone(), newest.clone())),
                _ => None,
            }
        }
    };
    if let (Some(known), Some((first_version, last_version))) = (known, versions) {
        let known = Variant { first_version, last_version, ..known.variant.clone() };
        match Ledger::write_versions(&known) {
            Ok(path) => {
                println!("{} is from {} to {}: {}", known.id, known.first_version, known.last_version, path.display());
            }
            Err(error) => println!("{} is not written to a ledger of this folder: {error}", known.id),
        }
    }
    Ok(Ending::NothingWrong)
}

/// The case at the oldest opset at which the same comes of it, since older releases lack the newer ones.
fn at_oldest_opset(case: &Case, mut runtimes: Vec<Box<dyn Runtime>>) -> Case {
    let ids = runtime::ids(&runtimes);
    let mut look = |case: &Case| -> Vec<Behaviour> {
        let generated = Generated::given(case.clone());
        let examination = examine(&generated, &mut runtimes, &ids);
        (0..ids.len()).map(|index| Behaviour::of(&generated, &examination, index)).collect()
    };
    let wanted = look(case);
    let versions = case.nodes.iter().flat_map(|node| node.operator.versions);
    let older: BTreeSet<u8> = versions.map(|version| version.since).filter(|&opset| opset < case.opset).collect();
    let mut older = older.into_iter().map(|opset| Case { opset, ..case.clone() });
    older.find(|older| look(older) == wanted).unwrap_or_else(|| case.clone())
}

/// The result of the case in one release.
#[derive(Clone, PartialEq)]
pub(super) struct Seen {
    outcomes: Vec<Outcome>,
    /// A line for each configuration.
    pub text: String,
    /// Whether the known issue shows, or if it is the case of none, whether anything is wrong.
    pub shows: bool,
}

pub(super) fn look(case: &Case, known: Option<Known>, mut runtimes: Vec<Box<dyn Runtime>>) -> Seen {
    let ids = runtime::ids(&runtimes);
    let generated = Generated::given(case.clone());
    let examination = examine(&generated, &mut runtimes, &ids);
    let behaviour = |index| Behaviour::of(&generated, &examination, index);
    let lines = ids.iter().enumerate().map(|(index, id)| format!("    {:10} {}\n", id.configuration, behaviour(index)));
    let text = lines.collect();
    let shows = match known {
        // As it shows in any release, and at any opset, whatever the ledger says.
        Some(known) => {
            let mismatch = Mismatch { runtime: ids[0].release(), ..known.variant.mismatch() };
            Probe::new(runtimes).shows(case, &mismatch)
        }
        None => examination.judgements.iter().any(|judgement| matches!(judgement, Judgement::Wrong(_))),
    };
    Seen { outcomes: examination.executions.into_iter().map(|execution| execution.outcome).collect(), text, shows }
}

/// The releases to look at, the oldest first.
fn releases(name: &str, arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    let rows = select(Some(name))?;
    let kind = rows[0].kind()?;
    let oldest = match kind.supply {
        Supply::Library => provision::OLDEST_ONNXRUNTIME,
        Supply::Linked | Supply::Worker | Supply::Package(_) => "0",
        Supply::Program | Supply::Module(_) => {
            anyhow::bail!("{name} is a program of your own, of which there is one version")
        }
    };
    let mut all = provision::releases(kind)?;
    let from = by_number(arguments.from.as_deref().unwrap_or(oldest));
    let to = arguments.to.as_deref().map(by_number);
    all.retain(|version| by_number(version) >= from && to.as_ref().is_none_or(|to| by_number(version) <= *to));
    anyhow::ensure!(!all.is_empty(), "there is no release between --from and --to");
    Ok(all)
}
