//! Finds the pass of a runtime that causes a fault: the first stage of optimization that shows the fault, and the passes without
//! which that stage does not show it.

use super::{Finding, Probe};
use crate::runtime::{Kind, OpenError, OpenRows, PASS_SEPARATOR, Row, kinds};

/// The result of a search for a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Culprit {
    /// The fault shows in the first stage, before anything is optimized.
    FirstStage(&'static str),
    /// The fault shows from this stage on. It does not show in this stage if one of these passes is turned off. There may be no
    /// such pass.
    Passes { stage: &'static str, passes: Vec<&'static str> },
    /// The fault shows in no stage.
    Nowhere,
}

/// Searches the stages of a runtime kind, then its passes. `shows` says whether the fault shows in a configuration.
///
/// # Errors
/// The first error of `shows`; there is no other.
pub fn culprit<E>(kind: &Kind, mut shows: impl FnMut(&str) -> Result<bool, E>) -> Result<Culprit, E> {
    let mut first = None;
    for (place, stage) in kind.stages.iter().enumerate() {
        if shows(stage)? {
            first = Some((place, *stage));
            break;
        }
    }
    match first {
        None => Ok(Culprit::Nowhere),
        Some((0, stage)) => Ok(Culprit::FirstStage(stage)),
        Some((_, stage)) => {
            let mut passes = Vec::new();
            search(stage, kind.passes, &mut shows, &mut passes)?;
            Ok(Culprit::Passes { stage, passes })
        }
    }
}

/// Searches some passes for those without which a stage does not show the fault. If it shows though all of them are turned off, it is
/// taken that none of them causes it. So few of the passes are tried one by one.
fn search<E>(
    stage: &str,
    passes: &[&'static str],
    shows: &mut impl FnMut(&str) -> Result<bool, E>,
    found: &mut Vec<&'static str>,
) -> Result<(), E> {
    if passes.is_empty() || shows(&format!("{stage}-{}", passes.join(PASS_SEPARATOR)))? {
        return Ok(());
    }
    if passes.len() == 1 {
        found.extend(passes);
        return Ok(());
    }
    let (first, second) = passes.split_at(passes.len() / 2);
    search(stage, first, shows, found)?;
    search(stage, second, shows, found)
}

/// The pass that causes a new finding, in the form of the ledger. `None` if the runtime has no stages of optimization, or if no stage
/// shows the finding again.
///
/// # Errors
/// If a runtime cannot be opened.
pub fn pass_of(finding: &Finding, rows: &[Row], open: OpenRows) -> Result<Option<String>, OpenError> {
    let mismatch = &finding.trigger.mismatch;
    let row = rows.iter().find(|row| row.id.release() == mismatch.runtime);
    let Some((row, kind)) = row.and_then(|row| Some((row, row.kind().ok()?))) else { return Ok(None) };
    if kind.stages.is_empty() {
        return Ok(None);
    }
    let found = culprit(kind, |configuration| {
        let mut row = row.clone();
        configuration.clone_into(&mut row.id.configuration);
        Ok(Probe::new(open(&[row])?).believing(|probe| probe.shows(&finding.case, mismatch)))
    });
    found.map(|culprit| culprit.entry())
}

/// Whether a pass of the ledger is only the first stage of the runtime: its fault shows before anything is optimized.
pub fn is_first_stage(runtime: &str, pass: &str) -> bool {
    kinds().any(|kind| kind.name == runtime && kind.stages.first() == Some(&pass))
}

impl Culprit {
    /// The text in the ledger: `all: ReshapeFusion`, or the stage alone if no pass was found; `None` if no stage shows the fault.
    pub fn entry(&self) -> Option<String> {
        match self {
            Culprit::Nowhere => None,
            Culprit::FirstStage(stage) => Some((*stage).to_owned()),
            Culprit::Passes { stage, passes } if passes.is_empty() => Some((*stage).to_owned()),
            Culprit::Passes { stage, passes } => Some(format!("{stage}: {}", passes.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::planted;

    const STAGES: &[&str] = &["none", "some", "all"];
    const PASSES: &[&str] = &["Fold", "Fuse"];

    fn found(mut wrong: impl FnMut(&str) -> bool) -> Culprit {
        let kind = Kind { stages: STAGES, passes: PASSES, ..planted::KIND };
        culprit(&kind, |configuration| Ok::<_, ()>(wrong(configuration))).unwrap()
    }

    #[test]
    fn the_pass_without_which_nothing_is_wrong_is_found() {
        let passes = |stage, passes: &[&'static str]| Culprit::Passes { stage, passes: passes.to_vec() };
        assert_eq!(found(|_| true), Culprit::FirstStage("none"));
        assert_eq!(found(|_| true).entry().as_deref(), Some("none"));
        assert_eq!(found(|_| false), Culprit::Nowhere);
        let fused = found(|configuration| configuration != "none" && !configuration.ends_with("Fuse"));
        assert_eq!(fused, passes("some", &["Fuse"]));
        assert_eq!(fused.entry().as_deref(), Some("some: Fuse"));
        assert_eq!(found(|configuration| configuration == "all"), passes("all", PASSES));
        let other = found(|configuration| configuration.starts_with("all"));
        assert_eq!(other, passes("all", &[]));
        assert_eq!(other.entry().as_deref(), Some("all"));
    }

    #[test]
    fn a_pass_among_many_takes_few_runs() {
        let kind = Kind { stages: STAGES, passes: &["A", "B", "C", "D", "E", "F", "G", "H"], ..planted::KIND };
        let search = |needed: &[&str]| {
            let mut runs = 0;
            let found = culprit(&kind, |configuration| {
                runs += 1;
                let (stage, off) = configuration.split_once('-').unwrap_or((configuration, ""));
                Ok::<_, ()>(stage == "all" && !off.split(PASS_SEPARATOR).any(|off| needed.contains(&off)))
            });
            let Culprit::Passes { passes, .. } = found.unwrap() else { panic!("it shows in the last stage") };
            assert_eq!(passes, needed);
            runs - STAGES.len()
        };
        assert_eq!([search(&[]), search(&["F"]), search(&["A", "H"])], [1, 7, 11]);
    }

    #[test]
    fn the_first_stage_of_a_runtime_is_before_its_passes() {
        assert!(is_first_stage("tract", "typed") && is_first_stage("onnxruntime", "disabled"));
        let others = [("tract", "decluttered"), ("onnxruntime", "basic: ReshapeFusion"), ("in-house", "typed")];
        assert!(others.iter().all(|(runtime, pass)| !is_first_stage(runtime, pass)));
    }

    #[test]
    fn what_cannot_be_seen_is_an_error() {
        let kind = Kind { stages: STAGES, passes: PASSES, ..planted::KIND };
        assert_eq!(culprit(&kind, |_| Err::<bool, _>("gone")), Err("gone"));
    }
}
