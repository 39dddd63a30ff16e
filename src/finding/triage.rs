//! Triage: reduces the many mismatches of a campaign to few findings, while it runs and at its end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::alike::core;
use super::sorter::{Sorted, Sorter};
use super::{Core, Extent, Finding, Minimized, Probe, Record, minimize, pass_of};
use crate::campaign::{Group, Groups, Trigger};
use crate::case::Features;
use crate::runtime::{OpenError, Row, Runtime, Stop};
use crate::threads::{Leaving, lock, on_threads};
use crate::verdict::Mismatch;

/// Opens the runtimes of rows. They give up their jobs once the stop is due.
pub type OpenUntil<'a> = &'a (dyn Fn(&[Row], &Stop) -> Result<Vec<Box<dyn Runtime>>, OpenError> + Sync);

/// The findings of a triage, the most severe first.
#[derive(Debug, Default)]
pub struct Triaged {
    pub findings: Vec<Finding>,
    /// Mismatches that there was no time to minimize, each with its simplest case as it was drawn.
    pub unsorted: Vec<Finding>,
}

/// Reduces the groups of mismatches of a campaign to findings.
///
/// The groups of one mismatch are taken in order, those with the fewest features first. Work that was done during the campaign is
/// not done again at its end. The findings do not depend on how much that was, nor on the number of threads, unless the triage is
/// stopped.
#[expect(missing_debug_implementations, reason = "a runtime is anything that executes")]
pub struct Triage<'a> {
    rows: &'a [Row],
    /// Known issues. The extent of a finding that one of them explains is not measured, and its pass is not searched for.
    issues: &'a [Trigger],
    /// How many threads the end has. There is one during the campaign.
    threads: usize,
    /// The time limit of a job.
    limit: Duration,
    open: OpenUntil<'a>,
    notes: Mutex<Notes>,
    offer: Mutex<Offer>,
}

/// By mismatch and text of a case.
type ByCase<T> = BTreeMap<Mismatch, BTreeMap<String, T>>;

/// The work that is done.
#[derive(Default)]
struct Notes {
    /// The minimized case of the simplest case of a group; `None` if the case was explained by a finding before it.
    minimized: ByCase<Option<Minimized>>,
    /// The extent, the pass and the core of new findings.
    details: ByCase<(Extent, Option<String>, Core)>,
    /// The triggers of the new findings that were announced.
    announced: Vec<Trigger>,
    /// How many groups were sorted, and the time that it took, with that for the details of the new findings.
    count: u32,
    time: Duration,
    /// The longest time that a group took.
    longest: Duration,
    /// Where minimized cases are recorded for a resumed campaign.
    record: Option<Record>,
}

impl Notes {
    fn has(&self, mismatch: &Mismatch, group: &Group) -> bool {
        self.minimized.get(mismatch).is_some_and(|cases| cases.contains_key(group.text()))
    }
}

/// The groups that a campaign has found so far.
struct Offer {
    groups: Arc<Groups>,
    /// When the groups are looked at again.
    next: Instant,
    /// How many groups are not sorted. Those whose cases end a process or take all of their time count once for each mismatch.
    costly: usize,
    other: usize,
}

/// The least time between two looks at the groups of a campaign. A look takes at most a `SHARE`th of the time between two.
const LOOK: Duration = Duration::from_millis(200);
const SHARE: u32 = 20;

/// How long groups of one mismatch are minimized during a campaign, before it is the turn of the next mismatch.
const TURN: Duration = Duration::from_secs(1);

/// The pause before the next look for groups.
const PAUSE: Duration = Duration::from_millis(50);

/// The time for a group of which nothing is known: the mean of the first `FEW` groups is taken to be this.
const USUAL: Duration = Duration::from_millis(100);
const FEW: u32 = 4;

/// How many times as long as the groups before them those at the end take: they are the rarer and larger ones.
const HARDER: u32 = 2;

impl<'a> Triage<'a> {
    pub fn new(
        rows: &'a [Row],
        issues: &'a [Trigger],
        threads: usize,
        limit: Duration,
        open: OpenUntil<'a>,
    ) -> Triage<'a> {
        let offer = Offer { groups: Arc::default(), next: Instant::now(), costly: 0, other: 0 };
        let (notes, offer) = (Mutex::default(), Mutex::new(offer));
        Triage { rows, issues, threads: threads.max(1), limit, open, notes, offer }
    }

    /// Takes the minimized cases of a record for done, and adds to it what is minimized from now on.
    #[must_use]
    pub fn recorded(mut self, mut record: Record) -> Triage<'a> {
        let notes = self.notes.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (mismatch, case, minimized) in record.take() {
            notes.minimized.entry(mismatch).or_default().insert(case, Some(minimized));
        }
        notes.record = Some(record);
        self
    }

    /// Does the work of a campaign, or a part of it, and meanwhile sorts the groups that the work [offers](Triage::offer).
    /// `announce` gets each new finding once, as soon as it is minimized; at the end it may be part of another. If sorting
    /// panics, `stop_of_work` is asked for: no more findings would come. The panic goes on here once the work has ended.
    pub fn during<T>(&self, announce: &(dyn Fn(&Finding) + Sync), stop_of_work: &Stop, work: impl FnOnce() -> T) -> T {
        let stop = Stop::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _panicking = Leaving(|| {
                    if thread::panicking() {
                        stop_of_work.ask();
                    }
                });
                // An error shows again at the end of the campaign.
                self.sort_until(&stop, announce).unwrap_or_default();
            });
            let _asking = Leaving(|| stop.ask());
            work()
        })
    }

    /// Looks at the groups that a campaign has found so far, unless it did so a moment ago.
    pub fn offer(&self, groups: &Groups) {
        let mut offer = lock(&self.offer);
        let began = Instant::now();
        if began < offer.next {
            return;
        }
        let notes = lock(&self.notes);
        let open = groups.iter().filter(|(key, group)| !notes.has(&key.0, group));
        let (mut costly, other): (Vec<&Mismatch>, Vec<&Mismatch>) =
            open.map(|(key, _)| &key.0).partition(|mismatch| mismatch.is_costly());
        // Minimizing one of these cases explains the others.
        costly.dedup();
        drop(notes);
        if !costly.is_empty() || !other.is_empty() {
            offer.groups = Arc::new(groups.clone());
        }
        (offer.costly, offer.other) = (costly.len(), other.len());
        offer.next = began + LOOK.max(began.elapsed() * SHARE);
    }

    /// An estimate of the time that the end will take for the groups that were found so far.
    pub fn time_left(&self) -> Duration {
        let (costly, other) = self.open();
        let notes = lock(&self.notes);
        let mean = (notes.time + USUAL * FEW) / (notes.count + FEW);
        let rounds = |count: usize| u32::try_from(count.div_ceil(self.threads)).unwrap_or(u32::MAX);
        // The last group may take as long as the longest did.
        let last = if other > 0 { notes.longest } else { Duration::ZERO };
        (mean * HARDER).saturating_mul(rounds(other)) + last + (2 * self.limit).saturating_mul(rounds(costly))
    }

    /// How many groups are not sorted yet.
    pub fn groups_left(&self) -> usize {
        let (costly, other) = self.open();
        costly + other
    }

    fn open(&self) -> (usize, usize) {
        let offer = lock(&self.offer);
        (offer.costly, offer.other)
    }

    /// Sorts the groups that are offered until the stop is asked for.
    fn sort_until(&self, stop: &Stop, announce: &dyn Fn(&Finding)) -> Result<(), OpenError> {
        let mut probe = LazyProbe { triage: self, stop, probe: None };
        // The mismatches whose groups are all sorted, with the number and the length of their cases.
        let mut whole: BTreeMap<Mismatch, (usize, usize)> = BTreeMap::new();
        while !stop.is_asked() {
            let groups = Arc::clone(&lock(&self.offer).groups);
            let size = |groups: &[(&Features, &Group)]| {
                (groups.len(), groups.iter().map(|(_, group)| group.text().len()).sum::<usize>())
            };
            let mut work = by_mismatch(&groups);
            work.retain(|(mismatch, groups)| whole.get(mismatch) != Some(&size(groups)));
            if work.is_empty() {
                thread::sleep(PAUSE);
            }
            // What is most likely a new finding comes first, and what takes all of the time of a job comes last.
            let is_known = |mismatch: &Mismatch| self.issues.iter().any(|issue| issue.mismatch == *mismatch);
            work.sort_by_cached_key(|(mismatch, groups)| (mismatch.is_costly(), is_known(mismatch), groups.len()));
            for (mismatch, groups) in work {
                let began = Instant::now();
                let may_go_on = || !stop.is_asked() && began.elapsed() < TURN;
                let size = size(&groups);
                let part = self.sort(mismatch, groups, &mut probe, &may_go_on, &|| ())?;
                for mut finding in part.findings.into_iter().filter(|finding| self.is_new(finding)) {
                    let explains = |trigger: &Trigger| trigger.explains_all_of(&finding.trigger);
                    if lock(&self.notes).announced.iter().any(explains) {
                        continue;
                    }
                    announce(&finding);
                    lock(&self.notes).announced.push(finding.trigger.clone());
                    self.add_details(&mut finding, &mut probe)?;
                }
                if part.unsorted.is_empty() {
                    whole.insert(mismatch.clone(), size);
                }
            }
        }
        Ok(())
    }

    /// Reduces the groups of a whole campaign to findings. `progress` gets the number of groups that are sorted, and the number of
    /// all groups.
    ///
    /// # Errors
    /// If a runtime cannot be opened.
    pub fn finish(
        &self,
        groups: &Groups,
        stop: &Stop,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Triaged, OpenError> {
        // Mismatches that end a process, or take all of its time, come last with their details, so that they do not take the time of
        // the others. Threads take work from the end. The longest work comes first, so that no thread is left alone with it.
        let mut work = by_mismatch(groups);
        work.sort_by_key(|(_, groups)| groups.len());
        let (costly, other): (Vec<_>, Vec<_>) = work.into_iter().partition(|(mismatch, _)| mismatch.is_costly());
        let done = AtomicUsize::new(0);
        let count = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, groups.len());
        let mut whole = Triaged::default();
        for work in [other, costly] {
            let parts = self
                .on_threads(work, stop, |(mismatch, own), probe| self.sort(mismatch, own, probe, &|| true, &count))?;
            for part in parts {
                whole.findings.extend(part.findings);
                whole.unsorted.extend(part.unsorted);
            }
            let (new, known): (Vec<_>, Vec<_>) =
                told_apart(whole.findings).into_iter().partition(|finding| self.is_new(finding));
            whole.findings = self.on_threads(new, stop, |mut finding, probe| {
                self.add_details(&mut finding, probe)?;
                Ok(finding)
            })?;
            whole.findings.extend(known);
        }
        for findings in [&mut whole.findings, &mut whole.unsorted] {
            findings.sort_by(|a, b| (a.severity(), &a.trigger).cmp(&(b.severity(), &b.trigger)));
        }
        Ok(whole)
    }

    /// Does pieces of work on threads, each thread with a probe of its own, the last piece first.
    fn on_threads<W: Send, T: Send>(
        &self,
        work: Vec<W>,
        stop: &Stop,
        each: impl Fn(W, &mut LazyProbe) -> Result<T, OpenError> + Sync,
    ) -> Result<Vec<T>, OpenError> {
        let threads = self.threads.min(work.len());
        let work = Mutex::new(work);
        let take = || lock(&work).pop();
        let parts = on_threads(threads, || {
            let mut probe = LazyProbe { triage: self, stop, probe: None };
            std::iter::from_fn(take).map(|one| each(one, &mut probe)).collect::<Result<Vec<T>, _>>()
        });
        parts.map(|parts| parts.into_iter().flatten().collect())
    }

    fn is_new(&self, finding: &Finding) -> bool {
        !self.issues.iter().any(|issue| finding.is_known_as(issue))
    }

    /// Sorts the groups of one mismatch as long as `may_go_on` says so. The rest of the groups is one entry of the unsorted.
    fn sort(
        &self,
        mismatch: &Mismatch,
        mut groups: Vec<(&Features, &Group)>,
        probe: &mut LazyProbe,
        may_go_on: &dyn Fn() -> bool,
        count: &dyn Fn(),
    ) -> Result<Triaged, OpenError> {
        // Groups of the same weight and length stay in the order of their features.
        groups.sort_by_cached_key(|(features, group)| (features.weight(), group.text().len()));
        let mut sorter = Sorter::default();
        let mut triaged = Triaged::default();
        let findings = &mut triaged.findings;
        let mut rest = groups.into_iter();
        for (features, group) in rest.by_ref() {
            let belonging = if let Some(place) = sorter.explaining(mismatch, features) {
                self.note(mismatch, group, None, Duration::ZERO);
                Sorted::Known(place)
            } else if let Some(minimized) = self.minimized(mismatch, group, probe, may_go_on)? {
                sorter.enter(mismatch, features, minimized)
            } else {
                let trigger = Trigger::new(mismatch.clone(), features.clone());
                let count = group.count + rest.map(|(_, group)| group.count).sum::<u64>();
                triaged.unsorted.push(Finding::as_drawn(trigger, (*group.case).clone(), count));
                break;
            };
            match belonging {
                Sorted::Known(place) => findings[place].count += group.count,
                Sorted::New(finding) => findings.push(Finding { count: group.count, ..*finding }),
            }
            count();
        }
        Ok(triaged)
    }

    /// The minimized form of the case of a group; `None` if there is no time to minimize it.
    fn minimized(
        &self,
        mismatch: &Mismatch,
        group: &Group,
        probe: &mut LazyProbe,
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Minimized>, OpenError> {
        let noted = lock(&self.notes).minimized.get(mismatch).and_then(|cases| cases.get(group.text()).cloned()?);
        if noted.is_some() {
            return Ok(noted);
        }
        if probe.stop.is_due() || !may_go_on() {
            return Ok(None);
        }
        let began = Instant::now();
        let minimized = minimize(&group.case, mismatch, probe.open()?);
        let minimized = minimized.known_part(self.issues, probe.open()?).unwrap_or(minimized);
        // The result of a probe that was stopped means nothing.
        if probe.stop.is_due() {
            return Ok(None);
        }
        self.note(mismatch, group, Some(minimized.clone()), began.elapsed());
        Ok(Some(minimized))
    }

    /// Notes that a group is sorted.
    fn note(&self, mismatch: &Mismatch, group: &Group, minimized: Option<Minimized>, time: Duration) {
        let mut notes = lock(&self.notes);
        let is_first = !notes.has(mismatch, group);
        if let (Some(record), Some(minimized)) = (&mut notes.record, &minimized) {
            record.add(mismatch, group.text(), minimized);
        }
        if is_first || minimized.is_some() {
            let cases = notes.minimized.entry(mismatch.clone()).or_default();
            cases.insert(group.text().to_owned(), minimized);
        }
        notes.time += time;
        notes.longest = notes.longest.max(time);
        if is_first {
            notes.count += 1;
            drop(notes);
            let mut offer = lock(&self.offer);
            let left = if mismatch.is_costly() { &mut offer.costly } else { &mut offer.other };
            *left = left.saturating_sub(1);
        }
    }

    /// Measures the extent of a new finding, and searches for its core and for the pass that causes it, as far as there is time.
    fn add_details(&self, finding: &mut Finding, probe: &mut LazyProbe) -> Result<(), OpenError> {
        let (mismatch, text) = (finding.trigger.mismatch.clone(), finding.case.to_string());
        let done = lock(&self.notes).details.get(&mismatch).and_then(|cases| cases.get(&text).cloned());
        if let Some((extent, pass, core)) = done {
            (finding.extent, finding.pass, finding.core) = (extent, pass, Some(core));
            return Ok(());
        }
        let stop = probe.stop;
        if stop.is_due() {
            return Ok(());
        }
        let began = Instant::now();
        finding.measure_extent(probe.open()?);
        let core = core(finding, self.issues, probe.open()?);
        let found = pass_of(finding, self.rows, &|rows| (self.open)(rows, stop));
        // The results of runtimes that were stopped mean nothing.
        if stop.is_due() {
            return Ok(());
        }
        finding.pass = found?;
        finding.core = Some(core.clone());
        let details = (finding.extent.clone(), finding.pass.clone(), core);
        let mut notes = lock(&self.notes);
        notes.time += began.elapsed();
        notes.details.entry(mismatch).or_default().insert(text, details);
        drop(notes);
        Ok(())
    }
}

/// A probe that is opened when it is needed.
struct LazyProbe<'a> {
    triage: &'a Triage<'a>,
    stop: &'a Stop,
    probe: Option<Probe>,
}

impl LazyProbe<'_> {
    fn open(&mut self) -> Result<&mut Probe, OpenError> {
        let probe = match self.probe.take() {
            Some(probe) => probe,
            None => match (self.triage.open)(self.triage.rows, self.stop) {
                Err(_) if self.stop.is_due() => Probe::new(vec![]),
                opened => Probe::new(opened?),
            }
            .until(self.stop),
        };
        Ok(self.probe.insert(probe))
    }
}

/// The groups of each mismatch.
fn by_mismatch(groups: &Groups) -> Vec<(&Mismatch, Vec<(&Features, &Group)>)> {
    let mut mismatches: BTreeMap<&Mismatch, Vec<(&Features, &Group)>> = BTreeMap::new();
    for (key, group) in groups {
        let (mismatch, features) = &**key;
        mismatches.entry(mismatch).or_default().push((features, group));
    }
    mismatches.into_iter().collect()
}

/// Merges findings that another finding explains into that one. A mismatch of a graph may be minimized to one of another kind,
/// which may also be found later.
fn told_apart(mut findings: Vec<Finding>) -> Vec<Finding> {
    // This order does not depend on which thread found which finding.
    findings.sort_by_cached_key(|Finding { trigger, case, executions, .. }| {
        let text = case.to_string();
        (trigger.features.weight(), trigger.clone(), text.len(), text, *executions)
    });
    let mut apart: Vec<Finding> = Vec::new();
    for finding in findings {
        match apart.iter_mut().find(|other| other.trigger.explains_all_of(&finding.trigger)) {
            Some(other) => other.count += finding.count,
            None => apart.push(finding),
        }
    }
    apart
}
