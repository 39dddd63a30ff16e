//! The ledger of known issues: for each runtime kind one file of causes, each with the variants in which it shows.
//!
//! It is strict both ways. A campaign fails on a signature that is not in it, and the replay fails on a variant that no
//! longer shows.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, fs, iter, slice};

use serde::{Deserialize, Serialize};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TomlError, value};

use super::{Finding, Probe, Signature, minimize};
use crate::campaign::{Quarantine, Trigger, broken_rule};
use crate::case::{Case, Features, complications};
use crate::files::{read_text, sha256, write_whole};
use crate::operator::ANY;
use crate::runtime::{Kind, OpenError, Row, RuntimeId, by_number, kinds};
use crate::tensor::ElementType;
use crate::threads::on_threads;
use crate::verdict::Mismatch;

/// Every known issue.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub causes: Vec<Cause>,
}

/// A known issue: one root cause in a runtime, and each variant in which it shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    pub id: String,
    /// What is wrong, in one sentence.
    pub title: String,
    /// The root cause in the source of the runtime, in one paragraph.
    pub explanation: String,
    /// Where it is reported upstream, or `not reported`.
    pub link: String,
    /// Its state; open, if the file does not say.
    #[serde(default)]
    pub state: State,
    /// At least one; the most convincing comes first, and stands for the others in a report.
    #[serde(rename = "variant")]
    pub variants: Vec<Variant>,
}

/// One signature of a cause, with the minimized case that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Also the name of its regression case.
    pub id: String,
    pub signature: Signature,
    /// The first and the last version known to have it.
    pub first_version: String,
    pub last_version: String,
    /// The minimized case.
    pub case: String,
    /// Whether the runtime answers with memory that was never written, so that the elements differ each time.
    #[serde(default, rename = "unwritten", skip_serializing_if = "std::ops::Not::not")]
    pub is_unwritten: bool,
    /// The first stage of optimization that shows it, and the passes without which it does not show, such as
    /// `basic: ReshapeFusion`; see [`Culprit::entry`](super::Culprit::entry).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
}

/// A variant with its cause.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub cause: &'a Cause,
    pub variant: &'a Variant,
}

/// The state of a known issue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum State {
    /// It is a defect, and is not fixed.
    #[default]
    Open,
    /// The maintainers of the runtime intend it. It is counted apart. Any other mismatch beside it is a defect.
    ByDesign,
    /// It is fixed in this version, or in an older one.
    FixedIn(String),
    /// It is a defect, and the maintainers of the runtime will not fix it.
    WillNotBeFixed,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Open => f.write_str("open"),
            State::ByDesign => f.write_str("by design"),
            State::FixedIn(version) => write!(f, "{FIXED_IN}{version}"),
            State::WillNotBeFixed => f.write_str("will not be fixed"),
        }
    }
}

const FIXED_IN: &str = "fixed in ";

impl TryFrom<String> for State {
    type Error = String;

    fn try_from(text: String) -> Result<State, String> {
        if let Some(version) = text.strip_prefix(FIXED_IN) {
            return Ok(State::FixedIn(version.to_owned()));
        }
        let states = [State::Open, State::ByDesign, State::WillNotBeFixed];
        let is_it = |state: &State| state.to_string() == text;
        states.into_iter().find(is_it).ok_or_else(|| {
            format!("the state is `{text}`; it is `open`, `by design`, `{FIXED_IN}VERSION` or `will not be fixed`")
        })
    }
}

impl From<State> for String {
    fn from(state: State) -> String {
        state.to_string()
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "cause", skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
}

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("{path}: {reason}")]
    Damaged { path: String, reason: String },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: std::io::Error },
}

/// How many causes a finding is said to resemble. Of the variants in the ledger, 66 % have their own cause among the first three
/// and 69 % among all.
const MOST_RESEMBLING: usize = 3;

/// The folder of the ledger in a checkout.
const FOLDER: &str = "known";

impl Ledger {
    /// The ledger of the checkout in the current directory. For a runtime kind without a file there, it is the copy that the
    /// program was built with. Files for runtimes of the user's own are read too.
    ///
    /// # Errors
    /// If a file is damaged; the message names file and line.
    pub fn load() -> Result<Ledger, LedgerError> {
        Ledger::load_without(|_| false)
    }

    /// The same without the files of runtime kinds that are in no row, which no case of these rows needs.
    ///
    /// # Errors
    /// As [`Ledger::load`].
    pub fn load_for(rows: &[Row]) -> Result<Ledger, LedgerError> {
        Ledger::load_without(|kind| rows.iter().all(|row| row.id.name != kind.name))
    }

    fn load_without(is_left_out: impl Fn(&Kind) -> bool) -> Result<Ledger, LedgerError> {
        let built_in = kinds().filter(|kind| !kind.known.is_empty());
        let mut files: BTreeMap<PathBuf, &str> = built_in.map(|kind| (path_of(kind.name), kind.known)).collect();
        for entry in fs::read_dir(FOLDER).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|ending| ending == "toml") {
                files.entry(entry.path()).or_default();
            }
        }
        for kind in kinds().filter(|kind| is_left_out(kind)) {
            files.remove(&path_of(kind.name));
        }
        let mut ledger = Ledger::default();
        for (path, built_in) in files {
            let name = path.display().to_string();
            let text = match read_text(&path) {
                Ok(text) => Cow::Owned(text),
                Err(error) if error.kind() == ErrorKind::NotFound => Cow::Borrowed(built_in),
                Err(error) => return Err(LedgerError::Damaged { path: name, reason: error.to_string() }),
            };
            // The tests of this program have checked what it was built with.
            let file = if text == built_in { parsed(&name, &text) } else { read(&name, &text) };
            ledger.causes.extend(file?.causes);
        }
        Ok(ledger)
    }

    /// Every variant of every cause.
    pub fn known(&self) -> impl Iterator<Item = Known<'_>> {
        self.causes.iter().flat_map(Cause::known)
    }

    /// The variant that explains a finding, by what the ledger says of it: no runtime is asked.
    pub fn find(&self, finding: &Finding) -> Option<Known<'_>> {
        let mismatch = &finding.trigger.mismatch;
        let name = mismatch.runtime_name();
        let version = mismatch.runtime.split_once('@').map_or(usual_version(name), |(_, version)| version);
        let id = RuntimeId { name: name.to_owned(), version: version.to_owned(), configuration: String::new() };
        let may_be = |Known { variant, .. }: &Known| {
            variant.runtime_name() == name && variant.signature.discrepancies == mismatch.discrepancies
        };
        let is_it = |known: &Known| {
            let triggers = known.written_triggers(slice::from_ref(&id));
            triggers.iter().any(|trigger| finding.is_known_as(trigger))
        };
        self.known().filter(may_be).find(is_it)
    }

    /// The triggers of the variants in which this runtime gives memory that it never wrote, as the ledger says.
    pub fn unwritten(&self, id: &RuntimeId) -> Vec<Trigger> {
        let variants = self.known().filter(|Known { variant, .. }| variant.is_unwritten && variant.may_show_on(id));
        variants.flat_map(|known| known.written_triggers(slice::from_ref(id))).collect()
    }

    /// At most [`MOST_RESEMBLING`] causes with a variant of the same mismatch, whatever its operator and its features. A finding with
    /// this signature may be a variant of one of them. Those of the same operator come first, and those that share most features.
    pub fn resembling(&self, signature: &Signature) -> Vec<&Cause> {
        let likest = |cause: &Cause| cause.variants.iter().filter_map(|own| own.signature.likeness(signature)).max();
        let mut causes: Vec<(Reverse<(bool, usize)>, &Cause)> =
            self.causes.iter().filter_map(|cause| Some((Reverse(likest(cause)?), cause))).collect();
        causes.sort_by_key(|(likeness, _)| *likeness);
        causes.into_iter().map(|(_, cause)| cause).take(MOST_RESEMBLING).collect()
    }

    /// A checksum of all entries. Different ledgers have different checksums.
    pub fn checksum(&self) -> String {
        sha256(serde_json::json!(&self.causes).to_string().as_bytes())
    }

    /// The causes with a variant that may show on one of these runtimes.
    pub fn concerning<'a>(&'a self, ids: &'a [RuntimeId]) -> impl Iterator<Item = &'a Cause> {
        let may_show = |variant: &Variant| ids.iter().any(|id| variant.may_show_on(id));
        self.causes.iter().filter(move |cause| cause.variants.iter().any(may_show))
    }

    /// The variant that explains the mismatch of a runtime in a case, by its signature: the signature is one of the mismatch, and
    /// the case has all features of the variant.
    ///
    /// A runtime is asked only for a variant whose data has another type than that of the case. Then `shows` says whether the case
    /// of the variant shows the mismatch with that type too.
    pub fn explaining(
        &self,
        case: &Case,
        mismatch: &Mismatch,
        id: &RuntimeId,
        shows: &mut dyn FnMut(&Case) -> bool,
    ) -> Option<Known<'_>> {
        let alike = |Known { variant, .. }: &Known| variant.may_show_on(id) && variant.signature.is_of(mismatch);
        let alike: Vec<Known> = self.known().filter(alike).collect();
        let features = Features::of(case);
        let element_type = |case: &Case| case.call()?.element_type;
        let with_that_type = |variant: &Variant| {
            variations(&variant.case()).into_iter().find(|own| element_type(own) == element_type(case))
        };
        let is_it = |Known { variant, .. }: &&Known| variant.features(&variant.case()).are_within(&features);
        let mut may_be = |Known { variant, .. }: &&Known| {
            with_that_type(variant).is_some_and(|own| variant.features(&own).are_within(&features) && shows(&own))
        };
        alike.iter().find(is_it).or_else(|| alike.iter().find(&mut may_be)).copied()
    }

    /// The triggers of each variant on the runtimes of the probe, in the order of the variants; none if the variant does not show
    /// on them. A variant that ends a process, or takes all of its time, is not run: it has the triggers that the ledger gives.
    ///
    /// A minimized case has one type of data, but several types may show the mismatch. Each type that is seen to show it gives a
    /// trigger.
    pub fn triggers(&self, probe: &mut Probe) -> Vec<Vec<Trigger>> {
        let costly = self.costly(&probe.ids());
        self.known().map(|known| known.triggers_of_types(&costly, probe)).collect()
    }

    /// The triggers of all variants in one list, and the variant of each.
    pub fn owned_triggers(&self, probe: &mut Probe) -> (Vec<Known<'_>>, Vec<Trigger>) {
        owned(self.known().zip(self.triggers(probe)))
    }

    /// The same, on so many threads, each with a probe of its own.
    ///
    /// # Errors
    /// If a runtime cannot be opened.
    pub fn owned_triggers_on(
        &self,
        threads: usize,
        open: &(dyn Fn() -> Result<Probe, OpenError> + Sync),
    ) -> Result<(Vec<Known<'_>>, Vec<Trigger>), OpenError> {
        let all: Vec<Known> = self.known().collect();
        let next = AtomicUsize::new(0);
        let parts = on_threads(threads, || {
            let mut probe = open()?;
            let costly = self.costly(&probe.ids());
            let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&place| place < all.len());
            let work = iter::from_fn(take).map(|place| (place, all[place].triggers_of_types(&costly, &mut probe)));
            Ok(work.collect::<Vec<_>>())
        })?;
        let by_place: BTreeMap<usize, Vec<Trigger>> = parts.into_iter().flatten().collect();
        Ok(owned(all.into_iter().zip(by_place.into_values())))
    }

    /// The cases of variants that end a process, or take all of its time.
    fn costly(&self, ids: &[RuntimeId]) -> Quarantine {
        let costly = self.known().filter(|known| known.variant.mismatch().is_costly());
        let triggers: Vec<Trigger> = costly.flat_map(|known| known.written_triggers(ids)).collect();
        Quarantine::new(ids.len(), &triggers)
    }

    /// Writes the versions of a variant to the ledger of the checkout in the current directory.
    ///
    /// # Errors
    /// If there is no such ledger, or it cannot be written.
    pub fn write_versions(variant: &Variant) -> Result<PathBuf, LedgerError> {
        change_variant(variant, with_versions)
    }

    /// Writes the state of a cause to the ledger of the checkout in the current directory.
    ///
    /// # Errors
    /// As [`Ledger::write_versions`].
    pub fn write_state(cause: &Cause, state: &State) -> Result<PathBuf, LedgerError> {
        change_file(cause.runtime_name(), |document| with_state(document, &cause.id, state))
    }

    /// Writes the pass of a variant to the ledger of the checkout in the current directory.
    ///
    /// # Errors
    /// As [`Ledger::write_versions`].
    pub fn write_pass(variant: &Variant) -> Result<PathBuf, LedgerError> {
        change_variant(variant, with_pass)
    }

    /// Adds a variant to the file of its runtime kind, in the checkout in the current directory: to the cause with this id, or as a
    /// new cause that a person has to describe.
    ///
    /// # Errors
    /// If the file cannot be read or written, or there is no such cause in it.
    pub fn add(cause: Option<&str>, variant: &Variant) -> Result<PathBuf, LedgerError> {
        let path = path_of(variant.runtime_name());
        let failed = |error| LedgerError::Io { path: path.clone(), error };
        let text = match read_text(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.map_err(failed)?,
        };
        if let Some(id) = cause {
            return change(path, &text, |document| with_variant(document, id, variant));
        }
        let file = File { causes: vec![Cause::to_be_written(variant.clone())] };
        let entry = toml::to_string(&file)
            .map_err(|error| LedgerError::Damaged { path: path.display().to_string(), reason: error.to_string() })?;
        let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
        write_whole(&path, format!("{text}{gap}{entry}").as_bytes()).map_err(failed)?;
        Ok(path)
    }
}

/// The file of a runtime kind in a checkout.
fn path_of(kind: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{kind}.toml"))
}

/// Changes the entry of a variant in the file of its runtime kind. The file must exist.
fn change_variant(
    variant: &Variant,
    with: fn(&mut DocumentMut, &Variant) -> Result<(), String>,
) -> Result<PathBuf, LedgerError> {
    change_file(variant.runtime_name(), |document| with(document, variant))
}

/// Changes the file of a runtime kind. The file must exist.
fn change_file(kind: &str, with: impl FnOnce(&mut DocumentMut) -> Result<(), String>) -> Result<PathBuf, LedgerError> {
    let path = path_of(kind);
    let text = read_text(&path).map_err(|error| LedgerError::Io { path: path.clone(), error })?;
    change(path, &text, with)
}

/// Writes a file with one change, and leaves everything else as it was. The error of `change` names the entry that is missing.
fn change(
    path: PathBuf,
    text: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), String>,
) -> Result<PathBuf, LedgerError> {
    let changed =
        changed(text, change).map_err(|reason| LedgerError::Damaged { path: path.display().to_string(), reason })?;
    write_whole(&path, changed.as_bytes()).map_err(|error| LedgerError::Io { path: path.clone(), error })?;
    Ok(path)
}

fn changed(text: &str, change: impl FnOnce(&mut DocumentMut) -> Result<(), String>) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: TomlError| error.to_string())?;
    change(&mut document)?;
    Ok(document.to_string())
}

/// The tables of this name in a table.
fn tables<'a>(table: &'a mut Table, name: &str) -> impl Iterator<Item = &'a mut Table> {
    table.get_mut(name).and_then(Item::as_array_of_tables_mut).into_iter().flat_map(ArrayOfTables::iter_mut)
}

fn has_id(table: &Table, id: &str) -> bool {
    table.get("id").and_then(Item::as_str) == Some(id)
}

/// The table of a variant.
fn table_of<'a>(document: &'a mut DocumentMut, variant: &Variant) -> Result<&'a mut Table, String> {
    let mut variants = tables(document, "cause").flat_map(|cause| tables(cause, "variant"));
    variants.find(|table| has_id(table, &variant.id)).ok_or_else(|| no_entry("variant", &variant.id))
}

/// The table of a cause.
fn table_of_cause<'a>(document: &'a mut DocumentMut, id: &str) -> Result<&'a mut Table, String> {
    tables(document, "cause").find(|table| has_id(table, id)).ok_or_else(|| no_entry("cause", id))
}

fn with_state(document: &mut DocumentMut, cause: &str, state: &State) -> Result<(), String> {
    table_of_cause(document, cause)?["state"] = value(state.to_string());
    Ok(())
}

fn with_pass(document: &mut DocumentMut, variant: &Variant) -> Result<(), String> {
    table_of(document, variant)?["pass"] = value(variant.pass.as_deref().unwrap_or_default());
    Ok(())
}

fn with_versions(document: &mut DocumentMut, variant: &Variant) -> Result<(), String> {
    let table = table_of(document, variant)?;
    table["first_version"] = value(&variant.first_version);
    table["last_version"] = value(&variant.last_version);
    Ok(())
}

fn with_variant(document: &mut DocumentMut, cause: &str, variant: &Variant) -> Result<(), String> {
    let own = table_of_cause(document, cause)?;
    let Variant { id, signature, first_version, last_version, case, is_unwritten, pass } = variant;
    let signature = signature.to_string();
    let fields = [
        ("id", id),
        ("signature", &signature),
        ("first_version", first_version),
        ("last_version", last_version),
        ("case", case),
    ];
    let mut table: Table = fields.into_iter().map(|(key, text)| (key, value(text))).collect();
    if *is_unwritten {
        table["unwritten"] = value(true);
    }
    if let Some(pass) = pass {
        table["pass"] = value(pass);
    }
    own.get_mut("variant")
        .and_then(Item::as_array_of_tables_mut)
        .ok_or_else(|| format!("the cause {cause} has no variant"))?
        .push(table);
    Ok(())
}

/// The triggers of variants in one list, and the variant of each.
fn owned<'a>(variants: impl Iterator<Item = (Known<'a>, Vec<Trigger>)>) -> (Vec<Known<'a>>, Vec<Trigger>) {
    variants.flat_map(|(known, own)| own.into_iter().map(move |trigger| (known, trigger))).unzip()
}

fn no_entry(kind: &str, id: &str) -> String {
    format!("there is no {kind} {id}: `crosscheck known` lists them")
}

/// A minimized case with data of each other type; none if the data is float, the plainest type.
fn variations(case: &Case) -> Vec<Case> {
    let Some(single) = case.single() else { return vec![] };
    let Some(data) = single.data().filter(|data| data.element_type != ElementType::Float) else { return vec![] };
    let types = ElementType::ALL.into_iter().filter(|&element_type| element_type != data.element_type);
    let cases = types.map(|element_type| {
        let mut other = single.clone();
        other.retype_data(element_type);
        other.into()
    });
    cases.collect()
}

/// The error of a ledger file that cannot be used.
fn damaged(path: &str, reason: String) -> LedgerError {
    LedgerError::Damaged { path: path.to_owned(), reason }
}

fn parsed(path: &str, text: &str) -> Result<File, LedgerError> {
    toml::from_str(text).map_err(|error| match unreadable(text) {
        Some(id) => damaged(path, format!("the entry {id}: {error}")),
        None => damaged(path, error.to_string()),
    })
}

/// The causes of a file, each with variants whose cases have all features that are written.
fn read(path: &str, text: &str) -> Result<File, LedgerError> {
    let file = parsed(path, text)?;
    for cause in &file.causes {
        if cause.variants.is_empty() {
            return Err(damaged(path, format!("the cause {} has no variant", cause.id)));
        }
        for variant in &cause.variants {
            let id = &variant.id;
            variant.case.parse::<Case>().map_err(|error| damaged(path, format!("the case of {id}: {error}")))?;
            // Without a feature that is written, the variant would explain more.
            let read = variant.own_features().to_string();
            let is_missing = |word: &&String| !word.is_empty() && !read.split(' ').any(|other| other == **word);
            if let Some(word) = variant.signature.features.iter().find(is_missing) {
                return Err(damaged(path, format!("the signature of {id} has `{word}`, which its case does not have")));
            }
        }
    }
    Ok(file)
}

/// The id of the first variant or cause that cannot be read, if it has an id.
fn unreadable(text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let causes = table.get("cause")?.as_array()?;
    let variants = causes.iter().filter_map(|cause| cause.get("variant")?.as_array()).flatten();
    let variant = variants.into_iter().find(|entry| Variant::deserialize((*entry).clone()).is_err());
    let damaged = variant.or_else(|| causes.iter().find(|entry| Cause::deserialize((*entry).clone()).is_err()))?;
    Some(damaged.get("id")?.as_str()?.to_owned())
}

/// The version under test of a runtime; empty if it is not built in.
fn usual_version(runtime: &str) -> &'static str {
    kinds().find(|kind| kind.name == runtime).map_or("", |kind| kind.version)
}

/// Whether an issue of `runtime` may show on `id`: the issue must be of that runtime, and not fixed before that version. An issue
/// that no version is known to have fixed may show on any version.
pub(super) fn may_show_on(runtime: &str, last_version: &str, id: &RuntimeId) -> bool {
    let last = by_number(last_version);
    runtime == id.name && (last >= by_number(usual_version(runtime)) || by_number(&id.version) <= last)
}

impl Cause {
    /// Whether a variant of it is known to show in a version.
    pub(super) fn is_in(&self, version: &str) -> bool {
        let version = by_number(version);
        let shows = |variant: &Variant| {
            by_number(&variant.first_version) <= version && version <= by_number(&variant.last_version)
        };
        self.variants.iter().any(shows)
    }

    /// A new cause, with placeholders for the texts that a person has to write.
    fn to_be_written(variant: Variant) -> Cause {
        Cause {
            id: variant.id.clone(),
            title: "to be written: what is wrong, in one sentence".to_owned(),
            explanation: "to be written: the root cause".to_owned(),
            link: "not reported".to_owned(),
            state: State::Open,
            variants: vec![variant],
        }
    }

    pub fn known(&self) -> impl Iterator<Item = Known<'_>> {
        self.variants.iter().map(|variant| Known { cause: self, variant })
    }

    /// The name of the runtime that it is in.
    pub fn runtime_name(&self) -> &str {
        self.variants[0].runtime_name()
    }

    /// The version under test of that runtime; empty if it is not built in.
    pub fn usual_version(&self) -> &'static str {
        usual_version(self.runtime_name())
    }

    /// Whether it is a defect, and not by design.
    pub fn is_defect(&self) -> bool {
        self.state != State::ByDesign
    }
}

/// Every choice of nodes of a graph, by their places, the empty one first. A case of one node has only the empty one, since the
/// mismatch belongs to its operator.
fn places_of_nodes(case: &Case) -> impl Iterator<Item = Vec<usize>> {
    let nodes = if case.nodes.len() > 1 { case.nodes.len() } else { 0 };
    (0..1_u32 << nodes).map(move |choice| (0..nodes).filter(|place| choice >> place & 1 == 1).collect())
}

impl Variant {
    /// A variant made from a finding, known in one version.
    pub fn of(id: String, trigger: &Trigger, case: &Case, version: &str) -> Variant {
        Variant {
            id,
            signature: Signature::of(trigger),
            first_version: version.to_owned(),
            last_version: version.to_owned(),
            case: case.to_string(),
            is_unwritten: false,
            pass: None,
        }
    }

    /// A variant with a signature that a person wrote, for the version under test.
    pub fn written(signature: Signature, case: &Case) -> Variant {
        let version = usual_version(&signature.runtime).to_owned();
        let (first_version, last_version) = (version.clone(), version);
        let case = case.to_string();
        Variant { id: String::new(), signature, first_version, last_version, case, is_unwritten: false, pass: None }
    }

    /// The minimized case.
    ///
    /// # Panics
    /// If it cannot be read, which a ledger that was loaded rules out.
    pub fn case(&self) -> Case {
        self.case.parse().unwrap_or_else(|error| panic!("the case of {}: {error}", self.id))
    }

    /// The releases of these runtimes on which the variant may show.
    fn releases(&self, ids: &[RuntimeId]) -> Vec<String> {
        let mut releases: Vec<String> = ids.iter().filter(|id| self.may_show_on(id)).map(RuntimeId::release).collect();
        releases.dedup();
        releases
    }

    /// The features of a case, in the form of the signature. If the signature has them, they include the operator version, the
    /// features that must be absent, and nodes of any operator. They lack the features of the variant's own case that the signature
    /// does not have.
    fn features(&self, case: &Case) -> Features {
        let own = self.case();
        let of_own = Features::of(&own);
        let written = self.signature.features.join(" ");
        let is_any = |places: &Vec<usize>| self.features_with_any(&own, &of_own, places).to_string() == written;
        let places = places_of_nodes(&own).find(is_any).unwrap_or_default();
        self.features_with_any(case, &of_own, &places)
    }

    /// The same, with any operator in these places. `own` are the features of the variant's own case.
    fn features_with_any(&self, case: &Case, own: &Features, places: &[usize]) -> Features {
        let words = &self.signature.features;
        let of = |features: Features| {
            let features = features.with_any_operator(places);
            if self.signature.operator == ANY { features.of_the_node_with(words) } else { features }
        };
        let features = of(Features::of(case)).as_written(&of(own.clone()), words);
        let has_absent = words.iter().any(|word| word.starts_with('!'));
        let others = if has_absent { complications(case, false) } else { vec![] };
        let added: Vec<Features> = others.iter().map(Features::of).collect();
        let added = added.iter().flat_map(|other| features.added_in(other));
        let without = added.filter(|tag| words.contains(&format!("!{tag}"))).collect();
        let features = features.clone().without(without);
        if words.iter().any(|word| word.starts_with("version<=")) { features.up_to_this_version() } else { features }
    }

    /// Whether a person wrote a signature with fewer features than the case has.
    fn says_less(&self) -> bool {
        let (words, case) = (&self.signature.features, self.case());
        let says_all = |places: Vec<usize>| {
            let features = Features::of(&case).with_any_operator(&places);
            features.clone().as_written(&features, words) == features
        };
        self.signature.operator == ANY || !places_of_nodes(&case).any(says_all)
    }

    /// The features of a case that shows the variant, as measured on the runtimes. They come from the signature instead if a person
    /// wrote fewer features, or if measuring would end processes or take all of their time.
    fn features_shown(&self, case: &Case, mismatch: &Mismatch, probe: &mut Probe) -> Features {
        if self.says_less() || mismatch.is_costly() {
            self.features(case)
        } else {
            minimize::features(case, mismatch, probe)
        }
    }

    /// The features of its own case.
    pub fn own_features(&self) -> Features {
        self.features(&self.case())
    }

    /// The mismatch that the case shows, made from the signature without running the case.
    pub fn mismatch(&self) -> Mismatch {
        Mismatch {
            discrepancies: self.signature.discrepancies.clone(),
            operator: self.case().subject(),
            runtime: format!("{}@{}", self.runtime_name(), self.last_version),
            rule: self.signature.rule,
            reaction: self.signature.reaction.clone(),
        }
    }

    /// The name of the runtime that it is about.
    pub fn runtime_name(&self) -> &str {
        &self.signature.runtime
    }

    /// The version under test of that runtime; empty if it is not built in.
    pub(super) fn usual_version(&self) -> &'static str {
        usual_version(self.runtime_name())
    }

    /// Whether the variant is about this runtime, and was not fixed before its version. A variant that no version is known to have
    /// fixed may show on any version.
    pub fn may_show_on(&self, id: &RuntimeId) -> bool {
        may_show_on(self.runtime_name(), &self.last_version, id)
    }
}

impl Known<'_> {
    /// Whether the variant shows on a release of the probe, whatever versions the ledger gives.
    pub fn shows_on(self, version: &str, probe: &mut Probe) -> bool {
        let variant = Variant { last_version: version.to_owned(), ..self.variant.clone() };
        !Known { variant: &variant, ..self }.triggers(probe).is_empty()
    }

    /// The triggers of the variant, one for each release of the probe that may have it and on which its case shows its own
    /// signature. The case may have further features: a person may have written `any` for an operator.
    pub fn triggers(self, probe: &mut Probe) -> Vec<Trigger> {
        self.shown_on(probe).into_iter().map(|(trigger, _)| trigger).collect()
    }

    /// The same, each with the case that shows it. A release that lacks the opset of the case is given the case at the newest opset
    /// that it has.
    fn shown_on(self, probe: &mut Probe) -> Vec<(Trigger, Case)> {
        let (own, written) = (self.variant.case(), self.written_triggers(&probe.ids()));
        let shown = |trigger: Trigger| {
            let release = &trigger.mismatch.runtime;
            let (mut case, mut sighting) = (own.clone(), probe.look(&own, release)?);
            let mut older = own.at_older_opsets();
            while sighting.lacks_the_opset() {
                case = older.next()?;
                sighting = probe.look(&case, release)?;
            }
            let mut shown = sighting.configurations.into_iter().flat_map(|(_, own, _)| own);
            let own = shown.find(|own| trigger.mismatch.is_that_of(own))?;
            let is_it = trigger.features.are_within(&self.variant.features_shown(&case, &own, probe));
            is_it.then_some((trigger, case))
        };
        written.into_iter().filter_map(shown).collect()
    }

    /// The triggers of the variant, and those of data of other types that is seen to show it. A costly variant has the triggers that
    /// the ledger gives.
    fn triggers_of_types(self, costly: &Quarantine, probe: &mut Probe) -> Vec<Trigger> {
        let ids = probe.ids();
        if self.variant.mismatch().is_costly() {
            return self.written_triggers(&ids);
        }
        let shown = self.shown_on(probe);
        let mut triggers: Vec<Trigger> = shown.iter().map(|(trigger, _)| trigger.clone()).collect();
        for (trigger, case) in shown {
            let mismatch = Mismatch { runtime: trigger.mismatch.runtime.clone(), ..self.variant.mismatch() };
            let mut others = variations(&case);
            // A case that is known to take all of its time with another type would do so at the start of each campaign.
            others.retain(|case| !costly.has(&ids, case));
            let sightings = probe.look_all(&others, &mismatch.runtime);
            for (case, _) in others.iter().zip(sightings).filter(|(_, sighting)| sighting.shows(&mismatch)) {
                let features = self.variant.features_shown(case, &mismatch, probe);
                let own = Trigger { features, ..trigger.clone() };
                if !triggers.contains(&own) {
                    triggers.push(own);
                }
            }
        }
        triggers
    }

    /// The triggers that the ledger gives, without running the case.
    fn written_triggers(self, ids: &[RuntimeId]) -> Vec<Trigger> {
        let features = self.variant.own_features();
        let own = self.variant.mismatch();
        let operator = if self.variant.signature.operator == ANY { ANY } else { own.operator };
        let case = Some(self.variant.case()).filter(|_| own.is_costly());
        let rule = case.and_then(|case| broken_rule(&case));
        let trigger = |runtime: String| Trigger {
            by_design: !self.cause.is_defect(),
            rule,
            ..Trigger::new(Mismatch { operator, runtime, ..own.clone() }, features.clone())
        };
        self.variant.releases(ids).into_iter().map(trigger).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::Job;
    use crate::operator::NEWEST_OPSET;
    use crate::runtime::{Execution, Gap, Outcome, planted, select};

    #[test]
    fn data_of_another_type_has_elements_of_that_type() {
        let case: Case = "Shape@28 int8[2]{-2,1}".parse().unwrap();
        let varied = variations(&case);
        assert_eq!(varied.len(), 25);
        for case in varied {
            assert_eq!(case.to_string().parse().as_ref(), Ok(&case), "{case}");
        }
    }

    #[test]
    fn what_is_loaded_for_rows_has_all_causes_of_their_runtimes() {
        let rows = select(Some("in-house,tract,onnx-reference")).unwrap();
        let ids: Vec<RuntimeId> = rows.iter().map(|row| row.id.clone()).collect();
        let (all, own) = (Ledger::load().unwrap(), Ledger::load_for(&rows).unwrap());
        assert!(all.concerning(&ids).eq(own.concerning(&ids)));
        let names: BTreeSet<&str> = own.causes.iter().map(Cause::runtime_name).collect();
        assert_eq!(names, BTreeSet::from(["onnx-reference", "tract"]));
    }

    #[test]
    fn an_issue_is_known_on_a_release_that_lacks_the_opset_of_its_case() {
        fn has_opset_20(job: &Job, execution: &mut Execution) {
            let opset = job.model.decode().ok().and_then(|model| model.opset_import[0].version);
            if opset > Some(20) {
                execution.outcome = Outcome::Unsupported(Gap::Opset);
            } else {
                planted::short_shape(job, execution);
            }
        }
        let mut probe = Probe::new(vec![planted::with_faults(&[has_opset_20]).unwrap()]);
        let older: Case = "Shape@20 float[1,1,1]".parse().unwrap();
        let (mismatch, _) = probe.mismatches(&older).remove(0);
        let trigger = Trigger::new(mismatch.clone(), minimize::features(&older, &mismatch, &mut probe));
        let newest = Case { opset: NEWEST_OPSET, ..older };
        let cause = Cause::to_be_written(Variant::of("short-shape".to_owned(), &trigger, &newest, ""));
        let known = cause.known().next().unwrap();
        let triggers = known.triggers_of_types(&Quarantine::new(1, &[]), &mut probe);
        assert!(matches!(&triggers[..], [own] if own.explains_all_of(&trigger)), "{triggers:#?}");
    }

    #[test]
    fn only_the_versions_of_one_entry_are_written() {
        let text = include_str!("../../known/tract.toml");
        let own = read("", text).unwrap().causes[3].variants[0].clone();
        let expected = Variant { first_version: "0.1".to_owned(), last_version: "0.2".to_owned(), ..own };
        let changed = changed(text, |document| with_versions(document, &expected)).unwrap();
        assert_eq!(read("", &changed).unwrap().causes[3].variants[0], expected);
        let others: Vec<(&str, &str)> = text.lines().zip(changed.lines()).filter(|(old, new)| old != new).collect();
        assert_eq!(others.len(), 2, "{others:?}");
        assert_eq!(text.lines().count(), changed.lines().count());
        let unknown = Variant { id: "no-such-variant".to_owned(), ..expected };
        let error = super::changed(text, |document| with_versions(document, &unknown)).unwrap_err();
        assert!(error.contains("there is no variant no-such-variant"), "{error}");
    }

    #[test]
    fn a_variant_is_added_to_its_cause_and_nothing_else_changes() {
        let text = include_str!("../../known/tract.toml");
        let before = read("", text).unwrap().causes;
        let place = before.iter().position(|cause| cause.variants.len() > 1).unwrap();
        let own = Variant { id: "tract-new".to_owned(), ..before[0].variants[0].clone() };
        let added = changed(text, |document| with_variant(document, &before[place].id, &own)).unwrap();
        let mut expected = before.clone();
        expected[place].variants.push(own.clone());
        assert_eq!(read("", &added).unwrap().causes, expected);
        let mut rest = added.lines();
        assert!(text.lines().all(|line| rest.any(|other| other == line)), "{added}");
        let error = changed(text, |document| with_variant(document, "no-such-cause", &own)).unwrap_err();
        assert!(error.contains("there is no cause no-such-cause"), "{error}");
    }

    #[test]
    fn a_finding_resembles_the_causes_of_its_operator_and_features_first() {
        let variant = |signature: &str| Variant {
            signature: signature.parse().unwrap(),
            ..read("", include_str!("../../known/tract.toml")).unwrap().causes.remove(0).variants.remove(0)
        };
        let cause = |(id, signatures): (&str, &[&str])| Cause {
            id: id.to_owned(),
            title: String::new(),
            explanation: String::new(),
            link: String::new(),
            state: State::Open,
            variants: signatures.iter().map(|signature| variant(signature)).collect(),
        };
        let causes: [(&str, &[&str]); 6] = [
            ("other-mismatch", &["tract | Slice | wrong-value | scalar"]),
            ("other-runtime", &["rten | Slice | wrong-dims | scalar"]),
            ("other-operator", &["tract | Pad | wrong-dims | scalar"]),
            ("other-features", &["tract | Slice | wrong-dims | rank>=2", "tract | Slice | wrong-value | scalar"]),
            ("none-shared", &["tract | Tile | wrong-dims | rank>=3"]),
            ("half", &["tract | Slice | wrong-dims | rank>=3", "tract | Slice | wrong-dims | scalar outputs"]),
        ];
        let ledger = Ledger { causes: causes.into_iter().map(cause).collect() };
        let like = ledger.resembling(&"tract | Slice | wrong-dims | scalar".parse().unwrap());
        let ids: Vec<&str> = like.iter().map(|cause| cause.id.as_str()).collect();
        assert_eq!(ids, ["half", "other-features", "other-operator"]);
    }

    #[test]
    fn what_is_damaged_is_named() {
        let text = include_str!("../../known/tract.toml");
        let cause = &read("", text).unwrap().causes[1];
        let error =
            |from: &str, to: &str| read("known/tract.toml", &text.replacen(from, to, 1)).unwrap_err().to_string();
        let line = format!("case = \"{}\"", cause.variants[0].case.replace('"', "\\\""));
        let said = error(&line, "other = \"\"");
        assert!(said.contains(&cause.variants[0].id) && said.contains("known/tract.toml"), "{said}");
        let said = error(&format!("title = \"{}\"", cause.title), "");
        assert!(said.contains(&cause.id), "{said}");
        let signature = cause.variants[0].signature.to_string();
        let said = error(&signature, &format!("{signature} operand7:dim-zero"));
        assert!(said.contains(&format!("the signature of {} has `operand7:dim-zero`", cause.variants[0].id)), "{said}");
    }

    #[test]
    fn an_entry_explains_what_has_all_that_is_written_in_it() {
        let built_in = kinds().flat_map(|kind| read(kind.name, kind.known).unwrap().causes);
        let ledger = Ledger { causes: built_in.collect() };
        let of = |id: &str| ledger.known().find(|known| known.variant.id == id).unwrap().variant;
        let on = |name: &str, version: &str| RuntimeId {
            name: name.to_owned(),
            version: version.to_owned(),
            configuration: String::new(),
        };
        let explaining = |case: &str, mismatch: &Mismatch, version: &str, shows: bool| {
            let id = on(mismatch.runtime_name(), version);
            let mut asked = 0;
            let mut shows = |_: &Case| {
                asked += 1;
                shows
            };
            let known = ledger.explaining(&case.parse().unwrap(), mismatch, &id, &mut shows);
            (known.map(|known| known.variant.id.as_str()), asked)
        };
        // The signature of a variant has the features of its case.
        let others = ledger.known().filter_map(|Known { variant, .. }| {
            let own = variant.own_features().to_string();
            (own != variant.signature.features.join(" ")).then(|| format!("{}: {own}", variant.id))
        });
        assert_eq!(others.collect::<Vec<_>>(), Vec::<String>::new());
        let typed = of("tract-any-refuses-valid-195b61");
        let mismatch = typed.mismatch();
        let (id, version) = (Some(typed.id.as_str()), typed.last_version.as_str());
        assert_eq!(explaining("Size@14 uint32[2,3]:constant(typed)", &mismatch, version, false), (id, 0));
        assert_eq!(explaining("Size@14 uint64[2,3]:constant(typed)", &mismatch, version, true), (id, 1));
        assert_eq!(explaining("Size@14 uint64[2,3]:constant(typed)", &mismatch, version, false), (None, 1));
        assert_eq!(explaining("Size@14 uint32[2,3]:constant", &mismatch, version, true), (None, 0));
        let other = Mismatch { reaction: "objects to values".to_owned(), ..mismatch };
        assert_eq!(explaining("Size@14 uint32[2,3]:constant(typed)", &other, version, true), (None, 0));
    }

    #[test]
    fn no_variant_of_an_issue_explains_all_that_another_one_does() {
        let explains = |one: &Variant, other: &Variant| {
            let without_features = |variant: &Variant| Signature { features: vec![], ..variant.signature.clone() };
            let versions = |variant: &Variant| (by_number(&variant.first_version), by_number(&variant.last_version));
            let ((first, last), (other_first, other_last)) = (versions(one), versions(other));
            let is_in = |feature: &String| other.signature.features.contains(feature);
            one.id != other.id
                && without_features(one) == without_features(other)
                && one.signature.features.iter().all(is_in)
                && first <= other_first
                && last >= other_last
        };
        for cause in kinds().flat_map(|kind| read(kind.name, kind.known).unwrap().causes) {
            let pairs = cause.variants.iter().flat_map(|one| cause.variants.iter().map(move |other| (one, other)));
            let needless = pairs.filter(|(one, other)| explains(one, other)).map(|(_, other)| other.id.as_str());
            assert_eq!(needless.collect::<Vec<_>>(), Vec::<&str>::new(), "{}", cause.id);
        }
    }

    #[test]
    fn the_state_of_an_issue_is_one_of_four_and_fits_its_versions() {
        for state in ["open", "by design", "fixed in 1.2", "will not be fixed"] {
            assert_eq!(State::try_from(state.to_owned()).map(|state| state.to_string()), Ok(state.to_owned()));
        }
        assert!(State::try_from("closed".to_owned()).unwrap_err().contains("`will not be fixed`"));
        for cause in kinds().flat_map(|kind| read(kind.name, kind.known).unwrap().causes) {
            let usual = by_number(usual_version(cause.runtime_name()));
            let last = cause.variants.iter().map(|variant| by_number(&variant.last_version)).max().unwrap();
            let is_fixed = matches!(&cause.state, State::FixedIn(fixed) if by_number(fixed) > last);
            assert_eq!(is_fixed, last < usual, "{}", cause.id);
            for variant in &cause.variants {
                assert_eq!(variant.runtime_name(), cause.runtime_name(), "{}", variant.id);
            }
        }
    }

    #[test]
    fn what_was_fixed_may_show_on_older_releases_only() {
        let mut known = read("", include_str!("../../known/onnxruntime.toml")).unwrap().causes[0].variants.remove(0);
        let at = |version: &str| RuntimeId {
            name: "onnxruntime".to_owned(),
            version: version.to_owned(),
            configuration: String::new(),
        };
        assert!(known.may_show_on(&at("1.20.1")) && known.may_show_on(&at("99.0.0")));
        known.last_version = "1.24.0".to_owned();
        assert!(known.may_show_on(&at("1.20.1")) && !known.may_show_on(&at("1.24.1")));
    }
}
