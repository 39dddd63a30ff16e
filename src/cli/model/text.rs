//! The output of `crosscheck model`.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use bytesize::ByteSize;

use super::super::{pass, table};
use super::{ModelResult, Trial};
use crate::case::describe;
use crate::files::{quoted, reproduce};
use crate::finding::Culprit;
use crate::model::proto::NodeProto;
use crate::model::{read, test_data};
use crate::network::{Agreement, Doubt, Found, Graph, How, Input, Located, Network, Sureness, full_name};
use crate::runtime::{Outcome, RuntimeId, Stage};
use crate::tensor::Tensor;
use crate::text::cut;
use crate::verdict::reaction;

/// The most characters of a message that are shown.
const MOST_WORDS: usize = 300;
/// The most characters of a tensor that are shown.
const MOST_ELEMENTS: usize = 100;

/// Describes the model and its inputs.
pub(super) fn introduce(network: &Network, inputs: &[Input], to: &mut impl Write) -> io::Result<()> {
    let (nodes, opset, size) = (network.graph().node.len(), network.opset(), ByteSize(network.size()));
    writeln!(to, "{}: {nodes} nodes, opset {opset}, {size}", network.path().display())?;
    for input in inputs {
        writeln!(to, "  input {input}")?;
    }
    for note in network.notes() {
        writeln!(to, "  note: {note}")?;
    }
    writeln!(to)
}

/// The operators of the model that ONNX does not define, for an error message.
pub(super) fn own_operators(network: &Network) -> String {
    let own = network.own_operators();
    if own.is_empty() { String::new() } else { format!("; it has the operators {}", own.join(", ")) }
}

/// Writes a row for each runtime, and the messages of those without an answer.
pub(super) fn results(ids: &[RuntimeId], trials: &[Trial], to: &mut impl Write) -> io::Result<()> {
    let is_sized = trials.iter().any(|trial| !trial.sizes.0.is_empty());
    let heading = |number: usize| if is_sized { format!("sizes {}", number + 1) } else { "result".to_owned() };
    for (number, trial) in trials.iter().enumerate().filter(|_| is_sized) {
        writeln!(to, "{}: {}", heading(number), trial.sizes)?;
    }
    let words = |words: [&str; 2]| words.map(str::to_owned);
    let headings = (0..trials.len()).map(heading);
    let mut sheet = table(words(["runtime", "version"]).into_iter().chain(headings).chain(words(["time", "memory"])));
    for (place, id) in ids.iter().enumerate().filter(|(place, _)| takes_part(*place, ids, trials)) {
        let seen = || trials.iter().map(|trial| &trial.seen[place]);
        let (time, memory) = (seen().filter_map(|seen| seen.time).max(), seen().filter_map(|seen| seen.memory).max());
        let mut cells = vec![id.to_string(), id.version.clone()];
        cells.extend(trials.iter().map(|trial| cell(place, trial)));
        cells.push(time.map_or_else(|| "-".to_owned(), rounded));
        cells.push(memory.map_or_else(|| "-".to_owned(), |bytes| ByteSize(bytes).to_string()));
        sheet.add_row(cells);
    }
    writeln!(to, "{}\n", sheet.trim_fmt())?;
    said(ids, trials, to)
}

/// Whether a runtime is shown. The in-house implementation knows few operators: without an answer it is shown only if it is
/// alone.
fn takes_part(place: usize, ids: &[RuntimeId], trials: &[Trial]) -> bool {
    let answers = |trial: &Trial| matches!(trial.seen[place].execution.outcome, Outcome::Answer(_));
    let is_alone = !ids.iter().any(RuntimeId::is_under_test);
    ids[place].is_under_test() || is_alone || trials.iter().any(answers)
}

fn rounded(time: Duration) -> String {
    if time < Duration::from_secs(1) { format!("{time:.0?}") } else { format!("{time:.1?}") }
}

/// The result of one runtime.
fn cell(place: usize, trial: &Trial) -> String {
    let ModelResult { execution, failure, spread, .. } = &trial.seen[place];
    let doubt = trial.doubts.iter().find(|doubt| doubt.runtime == place);
    let distance = trial
        .agreement
        .groups
        .first()
        .and_then(|group| group.members.iter().position(|&member| member == place).map(|at| group.distances[at]));
    if let Some(failure) = failure {
        return format!("FAILS at times: it {}", failing(&failure.outcome));
    }
    match (&execution.outcome, doubt, distance) {
        _ if !spread.is_close => "DIFFERS from itself".to_owned(),
        (Outcome::Answer(_), Some(Doubt { output: Some((_, distance)), .. }), _) => far("DIFFERS", *distance),
        (Outcome::Answer(_), _, Some(distance)) if distance > 0.0 => format!("agrees within {distance:.0e}"),
        (Outcome::Answer(_), ..) => "agrees".to_owned(),
        (Outcome::Unsupported(_), ..) => "unsupported".to_owned(),
        (outcome, ..) => format!("FAILS: it {}", failing(outcome)),
    }
}

/// A word, with the distance if that is finite.
fn far(word: &str, distance: f64) -> String {
    if distance.is_finite() { format!("{word} by {distance:.0e}") } else { word.to_owned() }
}

/// Writes the messages of runtimes that gave no answer, each message once.
fn said(ids: &[RuntimeId], trials: &[Trial], to: &mut impl Write) -> io::Result<()> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (place, id) in ids.iter().enumerate().filter(|(place, _)| takes_part(*place, ids, trials)) {
        let mut messages = trials.iter().map(|trial| trial.seen[place].message());
        if let Some(message) = messages.find(|message| !message.is_empty()) {
            let words = cut(message, MOST_WORDS);
            match all.iter_mut().find(|(other, _)| *other == words) {
                Some((_, names)) => names.push(id.to_string()),
                None => all.push((words, vec![id.to_string()])),
            }
        }
    }
    for (words, names) in &all {
        writeln!(to, "{}: {words}", names.join(", "))?;
    }
    if all.is_empty() { Ok(()) } else { writeln!(to) }
}

/// Names the runtimes whose results differ from run to run. Returns whether there is one.
pub(super) fn unsteady(ids: &[RuntimeId], trials: &[Trial], to: &mut impl Write) -> io::Result<bool> {
    let mut some = false;
    for (place, id) in ids.iter().enumerate() {
        let Some(trial) = trials.iter().find(|trial| !trial.seen[place].is_steady()) else { continue };
        let ModelResult { failure, spread, .. } = &trial.seen[place];
        let what = match failure {
            Some(failure) => format!("some runs give an answer, and in others it {}", failing(&failure.outcome)),
            None if spread.distance.is_finite() => {
                format!("its results differ by {:.0e} of its largest number", spread.distance)
            }
            None => "its results differ".to_owned(),
        };
        writeln!(
            to,
            "{} is not deterministic{}: with the same model and inputs, {what}. It was run up to {} times, and loaded twice.",
            id.with_version(),
            at(trial),
            super::RUNS + 1
        )?;
        some = true;
    }
    if some {
        writeln!(to)?;
    }
    Ok(some)
}

/// The sizes of a trial, if it has any, after `with`.
fn at(trial: &Trial) -> String {
    if trial.sizes.0.is_empty() { String::new() } else { format!(" with {}", trial.sizes) }
}

/// Says which runtime is considered wrong, and why.
pub(super) fn accuse(
    network: &Network,
    ids: &[RuntimeId],
    trial: &Trial,
    doubt: &Doubt,
    to: &mut impl Write,
) -> io::Result<()> {
    let (id, reference) = (ids[doubt.runtime].with_version(), &ids[doubt.reference]);
    if let Some((output, distance)) = doubt.output {
        let name = network.graph().output.get(output).and_then(|info| info.name.as_deref()).unwrap_or("");
        let far = if distance.is_finite() {
            format!("by {distance:.1e} of the largest number")
        } else {
            "in its type, its dims, or elements that are integers or not finite".to_owned()
        };
        writeln!(to, "{id} differs from {reference} in the output `{name}`{}: {far}.", at(trial))?;
    } else {
        let outcome = &trial.seen[doubt.runtime].execution.outcome;
        writeln!(to, "{id} gives no answer{}: it {}.", at(trial), failing(outcome))?;
    }
    writeln!(to, "  {}", why(doubt))
}

/// How sure it is that a runtime is wrong.
fn why(doubt: &Doubt) -> &'static str {
    match (doubt.sureness, doubt.output) {
        (Sureness::Certain, _) => {
            "It is wrong: the specification defines each bit of the result of these operators, and the in-house implementation follows it."
        }
        (Sureness::AgainstItself, Some(_)) => {
            "It is very likely wrong: without optimization the same release gives another result."
        }
        (Sureness::AgainstItself, None) => "It is very likely wrong: without optimization the same release runs this.",
        (Sureness::Alone, Some(_)) => "It is likely wrong: several independent implementations agree against it.",
        (Sureness::Alone, None) => "It is likely wrong: several independent implementations run this.",
        (Sureness::Open, Some(_)) => "Which of the two is wrong is open: it is one against one.",
        (Sureness::Open, None) => "Whether it is wrong is open: only one implementation runs this.",
    }
}

/// What a runtime does instead of giving an answer.
fn failing(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Unclassified { stage: Stage::Load } => "fails when it loads the model",
        Outcome::Unclassified { stage: Stage::Run } => "fails when it runs the model",
        outcome => reaction(outcome),
    }
}

pub(super) fn located(
    located: &Located,
    graph: &Graph,
    id: &RuntimeId,
    reference: &RuntimeId,
    to: &mut impl Write,
) -> io::Result<()> {
    let named = |node: &usize| named(&graph.nodes()[*node]);
    match located {
        Located::Found(found) => of_found(found, graph, id, reference, to),
        Located::Amplified { node, before, after } => {
            let node = named(node);
            writeln!(
                to,
                "  Rounding: the inputs of {node} are off by {before:.0e}, within the tolerance, and its outputs by {after:.0e}."
            )?;
            writeln!(to, "  Given the inputs of {reference}, it is right. No node is wrong by itself.")
        }
        Located::OnlyAmongOthers { node } => {
            let node = named(node);
            writeln!(
                to,
                "  {node} is the first node whose output differs, from equal inputs; alone it is right, and so is every part of the model that was tried."
            )
        }
        Located::Nowhere => writeln!(to, "  No part of the model shows it: it takes the model as a whole."),
        Located::NoValues => {
            writeln!(to, "  Which node it is cannot be said: {reference} does not give the values between the nodes.")
        }
    }
}

fn of_found(
    found: &Found,
    graph: &Graph,
    id: &RuntimeId,
    reference: &RuntimeId,
    to: &mut impl Write,
) -> io::Result<()> {
    let names: Vec<String> = found.nodes.iter().map(|&place| named(&graph.nodes()[place])).collect();
    let (count, all) = (names.len(), graph.nodes().len());
    let enough = if count == 1 { "1 node is enough".to_owned() } else { format!("{count} nodes are enough") };
    writeln!(to, "  {enough} of {all}: {}.", names.join(" -> "))?;
    match &found.how {
        How::ByValue(value) => writeln!(to, "  `{value}` is the first value that differs.")?,
        How::HiddenByValues => writeln!(
            to,
            "  The difference is gone where values between nodes are made graph outputs, as is usual of a fusion; the model was cut instead."
        )?,
        How::ByCutting => {}
    }
    let rest = match found.rest_is_right {
        Some(true) => "Confirmed: with the right value there, {id} agrees on the rest of the untouched model.",
        Some(false) => {
            "With the right value there, {id} still differs on the rest of the model: there is more than this."
        }
        None => "",
    };
    if !rest.is_empty() {
        writeln!(to, "  {}", rest.replace("{id}", &id.to_string()))?;
    }
    for (name, tensor) in &found.part.feeds {
        writeln!(to, "    input `{name}`: {}", cut(&describe(tensor), MOST_ELEMENTS))?;
    }
    let list = |tensors: Vec<&Tensor>| {
        tensors.into_iter().map(|tensor| cut(&describe(tensor), MOST_ELEMENTS)).collect::<Vec<_>>().join(", ")
    };
    writeln!(to, "    {reference}: {}", list(found.expected.iter().collect()))?;
    match &found.actual.outcome {
        Outcome::Answer(outputs) => {
            writeln!(to, "    {id}: {}", list(outputs.iter().map(|output| &output.tensor).collect()))
        }
        outcome => writeln!(to, "    {id} {}: {}", failing(outcome), cut(&found.actual.message, MOST_WORDS)),
    }
}

/// A node, by its operator and its name, or its first output if it has no name.
fn named(node: &NodeProto) -> String {
    let name = node.name.as_ref().filter(|name| !name.is_empty()).or(node.output.first());
    format!("{} `{}`", full_name(node), name.map_or("", String::as_str))
}

/// Says which runtimes agree on the nodes that were found, and which one is wrong according to that.
pub(super) fn sides(
    ids: &[RuntimeId],
    outcomes: &[&Outcome],
    agreement: &Agreement,
    doubts: &[Doubt],
    before: &Doubt,
    to: &mut impl Write,
) -> io::Result<()> {
    let names = |places: &[usize]| places.iter().map(|&place| ids[place].to_string()).collect::<Vec<_>>().join(", ");
    let groups: Vec<String> = agreement.groups.iter().map(|group| names(&group.members)).collect();
    let fails = |place: &&usize| !matches!(outcomes[**place], Outcome::Unsupported(_));
    let failed: Vec<usize> = agreement.silent.iter().filter(fails).copied().collect();
    let verdict = match &groups[..] {
        [] => "no answer".to_owned(),
        [one] => format!("{one} agree"),
        several => several.join(" against "),
    };
    write!(to, "  On these nodes alone: {verdict}")?;
    if !failed.is_empty() {
        write!(to, "; no answer from {}", names(&failed))?;
    }
    writeln!(to, ".")?;
    let doubted = |place: usize| doubts.iter().find(|doubt| doubt.runtime == place);
    match (doubted(before.runtime), doubted(before.reference)) {
        (Some(doubt), _) if doubt.sureness < before.sureness => writeln!(to, "  {}", why(doubt)),
        (None, Some(doubt)) => {
            writeln!(to, "  So it is {} that is wrong here. {}", ids[before.reference], why(doubt))
        }
        _ => Ok(()),
    }
}

/// Says which pass of the optimizer makes the difference, if one does.
pub(super) fn pass(id: &RuntimeId, found: Option<Culprit>, to: &mut impl Write) -> io::Result<()> {
    match found {
        Some(culprit @ Culprit::Passes { .. }) => {
            writeln!(to, "  {}", pass::sentence(&culprit, &id.with_version_only()))
        }
        _ => Ok(()),
    }
}

/// Writes the next steps for the nodes that were found.
pub(super) fn next_steps(folder: &Path, id: &RuntimeId, to: &mut impl Write) -> anyhow::Result<()> {
    let path = folder.display().to_string();
    writeln!(to, "  They are in {path}, with their test data. Next:")?;
    writeln!(to, "    crosscheck replay {}", quoted(&path))?;
    let read = test_data::Folder::open(folder)?;
    let data = read.data_sets.first().map(|data_set| read.data_set(data_set)).transpose()?;
    if let Some(reading) = data.and_then(|data| read::case(&data.job).ok()) {
        let case = reading.case.to_string();
        writeln!(to, "    {}", reproduce(&case))?;
        writeln!(to, "    crosscheck bisect {} --runtime {}", quoted(&case), id.name)?;
    }
    Ok(())
}
