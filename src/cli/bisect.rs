//! `crosscheck bisect`: in which release of a runtime the result of a case changed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::json;

use super::{Ending, Format, PlaceArguments, read_case};
use crate::campaign::examine;
use crate::case::{Case, Generated};
use crate::finding::{Behaviour, Bisection, Known, Ledger, Probe, Variant, range_around};
use crate::runtime::{self, OpenError, Outcome, Runtime, RuntimeId, by_number, select};
use crate::verdict::{Judgement, Mismatch};

/// Say in which release of a runtime the result of a case changed
///
/// Releases are fetched as they are needed. If a known issue of the ledger in this folder has this case, the versions of the
/// issue are written there.
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
    /// The oldest release to test [default: the oldest available; onnxruntime is supported from 1.20.0 on]
    #[arg(long, value_name = "VERSION")]
    from: Option<String>,
    /// The newest release to test [default: the newest available]
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// How to show the result; JSON is one object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
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
    // A release that shows the known issue must show it at the older opset as well.
    let last = known.map(|known| &known.variant.last_version).filter(|version| releases.contains(version));
    let tried = last.unwrap_or(newest);
    let case = at_oldest_opset(&given, open(tried)?);
    let is_text = arguments.format == Format::Text;
    if case != given && is_text {
        println!("Older releases lack opset {}, and in {tried} {case} has the same result\n", given.opset);
    }
    let looked: RefCell<BTreeMap<String, CaseResult>> = RefCell::default();
    let look = |version: &str| -> Result<CaseResult, OpenError> {
        if let Some(result) = looked.borrow().get(version) {
            return Ok(result.clone());
        }
        eprintln!("Looking at {name} {version}");
        let result = look(&case, known, open(version)?);
        looked.borrow_mut().insert(version.to_owned(), result.clone());
        Ok(result)
    };
    let found = crate::finding::bisect(&releases, look)?;
    let looks = looked.borrow().len();
    let oldest = &releases[0];
    if !is_text {
        let behaviour =
            |seen: &CaseResult| json!({ "by_configuration": seen.by_configuration, "is_wrong": seen.shows });
        let releases = match &found {
            Bisection::Same(seen) => json!({ (oldest): behaviour(seen), (newest): behaviour(seen) }),
            Bisection::Changed(change) => {
                let ((last, before), (first, after)) = (&change.before, &change.after);
                json!({ (last): behaviour(before), (first): behaviour(after) })
            }
        };
        let changed_in = match &found {
            Bisection::Same(_) => None,
            Bisection::Changed(change) => Some(&change.after.0),
        };
        println!("{}", json!({ "case": case, "runtime": name, "changed_in": changed_in, "releases": releases }));
    }
    if is_text {
        match &found {
            Bisection::Same(seen) => {
                println!(
                    "{case}\n\nThe same in {name} {oldest} and {newest}, so no change was looked for between them:\n"
                );
                print!("{}", seen.text());
            }
            Bisection::Changed(change) => {
                let ((last, before), (first, after)) = (&change.before, &change.after);
                println!("{case}\n\nChanged in {name} {first}, found in {looks} looks.\n");
                println!("{name} {last}:\n{}\n{name} {first}:\n{}", before.text(), after.text());
            }
        }
    }
    if known.is_some() {
        look(tried)?;
    }
    let place = releases.iter().rposition(|version| looked.borrow().get(version).is_some_and(|result| result.shows));
    if let (Some(known), Some(place)) = (known, place) {
        let (first_version, last_version) =
            range_around(&releases, place, |version| look(version).map(|result| result.shows))?;
        let known = Variant { first_version, last_version, ..known.variant.clone() };
        match Ledger::write_versions(&known) {
            Ok(path) => {
                eprintln!("{} is from {} to {}: {}", known.id, known.first_version, known.last_version, path.display());
            }
            Err(error) => eprintln!("{} is not written to a ledger of this folder: {error}", known.id),
        }
    }
    Ok(Ending::NothingWrong)
}

/// The case at the oldest opset at which it has the same result, since older releases lack newer opsets.
fn at_oldest_opset(case: &Case, mut runtimes: Vec<Box<dyn Runtime>>) -> Case {
    let ids = runtime::ids(&runtimes);
    let mut look = |case: &Case| -> Vec<Behaviour> {
        let generated = Generated::given(case.clone());
        let examination = examine(&generated, &mut runtimes, &ids);
        (0..ids.len()).map(|index| Behaviour::of(&generated, &examination, index)).collect()
    };
    let wanted = look(case);
    let older: Vec<Case> = case.at_older_opsets().collect();
    older.into_iter().rev().find(|older| look(older) == wanted).unwrap_or_else(|| case.clone())
}

/// The result of the case in one release.
#[derive(Clone, PartialEq)]
pub(super) struct CaseResult {
    outcomes: Vec<Outcome>,
    /// By configuration: the verdict on the runtime, and what it did.
    by_configuration: BTreeMap<String, String>,
    /// Whether the known issue with this case shows; if there is none, whether anything is wrong.
    pub shows: bool,
}

impl CaseResult {
    /// A line for each configuration.
    pub fn text(&self) -> String {
        let lines = self.by_configuration.iter().map(|(name, did)| format!("    {name:10} {did}\n"));
        lines.collect::<Vec<_>>().concat()
    }
}

pub(super) fn look(case: &Case, known: Option<Known>, mut runtimes: Vec<Box<dyn Runtime>>) -> CaseResult {
    let ids = runtime::ids(&runtimes);
    let generated = Generated::given(case.clone());
    let examination = examine(&generated, &mut runtimes, &ids);
    let behaviour = |index| Behaviour::of(&generated, &examination, index);
    let of = |(index, id): (usize, &RuntimeId)| (id.configuration.clone(), behaviour(index).to_string());
    let by_configuration = ids.iter().enumerate().map(of).collect();
    let shows = match known {
        // The mismatch counts in any release and at any opset, whatever the ledger says.
        Some(known) => {
            let mismatch = Mismatch { runtime: ids[0].release(), ..known.variant.mismatch() };
            Probe::new(runtimes).shows(case, &mismatch)
        }
        None => examination.judgements.iter().any(|judgement| matches!(judgement, Judgement::Wrong(_))),
    };
    CaseResult {
        outcomes: examination.executions.into_iter().map(|execution| execution.outcome).collect(),
        by_configuration,
        shows,
    }
}

/// The releases to look at, the oldest first.
fn releases(name: &str, arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    let rows = select(Some(name))?;
    let kind = rows[0].kind()?;
    let mut all = kind.releases()?;
    let from = by_number(arguments.from.as_deref().unwrap_or("0"));
    let to = arguments.to.as_deref().map(by_number);
    all.retain(|version| by_number(version) >= from && to.as_ref().is_none_or(|to| by_number(version) <= *to));
    anyhow::ensure!(!all.is_empty(), "there is no release between --from and --to");
    Ok(all)
}
