//! The extent of a finding: where else it shows. It is measured by running variations of the minimized case, each changed in one
//! respect.

use std::fmt;
use std::time::{Duration, Instant};

use super::Probe;
use crate::case::{Case, Wiring};
use crate::tensor::ElementType;
use crate::verdict::Mismatch;

/// Whether a changed case shows the mismatch of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Shown {
    #[strum(to_string = "shows")]
    Yes,
    #[strum(to_string = "does not")]
    No,
    #[strum(to_string = "unsupported")]
    Unsupported,
    /// There was no time to try it.
    #[strum(to_string = "not tried")]
    Untried,
}

/// Where a finding shows, in each respect in which the case was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// By operator version.
    pub versions: Vec<(u8, Shown)>,
    /// By type of the data.
    pub types: Vec<(ElementType, Shown)>,
    /// By wiring, the same for all operands. A wiring that makes the model invalid is left out, unless it is that of the case.
    pub wirings: Vec<(Wiring, Shown)>,
    /// By edge of a graph: whether it shows if a graph input holds the value in place of the edge. In words.
    pub edges: Vec<(String, Shown)>,
    /// By declaration of a graph that is not plain: whether it shows without it. In words.
    pub declarations: Vec<(String, Shown)>,
    /// By configuration, for the minimized case itself.
    pub configurations: Vec<(String, Shown)>,
}

impl Extent {
    /// Measures the extent of a mismatch around a case. Variations for which there is no time left are [`Shown::Untried`].
    pub fn measure(case: &Case, mismatch: &Mismatch, probe: &mut Probe, time: Duration) -> Extent {
        let began = Instant::now();
        let mut shown = |case: &Case| {
            if began.elapsed() >= time {
                return Shown::Untried;
            }
            let Some(sighting) = probe.look(case, &mismatch.runtime) else { return Shown::Unsupported };
            if sighting.shows(mismatch) {
                Shown::Yes
            } else if sighting.configurations.iter().all(|(_, _, unsupported)| *unsupported) {
                Shown::Unsupported
            } else {
                Shown::No
            }
        };
        let operator = case.nodes[0].operator;
        let versions = operator.versions.iter().map(|version| {
            let mut opsets = operator.opsets(version);
            let is_valid = |opset: &u8| Case { opset: *opset, ..case.clone() }.rule_on_the_graph().is_none();
            let own = opsets.contains(&case.opset).then_some(case.opset);
            let opset = own.or_else(|| opsets.find(is_valid)).unwrap_or(version.since);
            (version.since, shown(&Case { opset, ..case.clone() }))
        });
        let versions = versions.collect();
        let listed = case.version(0).map_or(&[][..], |version| version.element_types);
        let types = listed.iter().map(|&element_type| {
            let retyped = case.single().map(|mut single| {
                single.retype_data(element_type);
                Case::from(single)
            });
            let retyped = retyped.unwrap_or_else(|| {
                let mut changed = case.clone();
                changed.sources.iter_mut().take(1).for_each(|data| data.retype(element_type));
                changed
            });
            (element_type, shown(&retyped))
        });
        let types = types.collect();
        // A wiring that makes the model invalid is tried only if the minimized case itself has it.
        let is_told = |rewired: &Case| rewired.rule_on_the_graph().is_none() || rewired == case;
        let rewired = Wiring::ALL.into_iter().map(|wiring| (wiring, case.rewired(wiring)));
        let wirings = rewired.filter(|(_, case)| is_told(case)).map(|(wiring, case)| (wiring, shown(&case))).collect();
        let (mut edges, mut declarations) = (vec![], vec![]);
        if case.nodes.len() > 1 {
            edges = case.without_edges(&case.used_values(&case.tensors()));
            declarations = case.without_declarations();
        }
        let mut without = |of: Vec<(String, Case)>| of.into_iter().map(|(words, case)| (words, shown(&case))).collect();
        let (edges, declarations) = (without(edges), without(declarations));
        let configurations = probe.look(case, &mismatch.runtime).map_or_else(Vec::new, |sighting| {
            let shown = |here: &[Mismatch], unsupported: bool| match unsupported {
                _ if here.contains(mismatch) => Shown::Yes,
                true => Shown::Unsupported,
                false => Shown::No,
            };
            sighting.configurations.iter().map(|(id, here, gap)| (id.to_string(), shown(here, *gap))).collect()
        });
        Extent { versions, types, wirings, edges, declarations, configurations }
    }
}

impl fmt::Display for Extent {
    /// A line for each respect: what shows the mismatch, what does not, what is unsupported, and what was not tried.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, "versions", &self.versions)?;
        line(f, "types", &self.types)?;
        line(f, "wirings", &self.wirings)?;
        for (what, rows) in [("without edge", &self.edges), ("undeclared", &self.declarations)] {
            if !rows.is_empty() {
                parts(f, what, ", ", rows)?;
            }
        }
        line(f, "configurations", &self.configurations)
    }
}

/// A line. If all rows are alike, it does not name them.
fn line<T: fmt::Display>(f: &mut fmt::Formatter<'_>, what: &str, rows: &[(T, Shown)]) -> fmt::Result {
    match rows {
        [(_, first), _, ..] if rows.iter().all(|(_, shown)| shown == first) => writeln!(f, "{what:14} {first}: all"),
        _ => parts(f, what, " ", rows),
    }
}

/// A line that names each row.
fn parts<T: fmt::Display>(f: &mut fmt::Formatter<'_>, what: &str, between: &str, rows: &[(T, Shown)]) -> fmt::Result {
    let parts = [Shown::Yes, Shown::No, Shown::Unsupported, Shown::Untried].into_iter().filter_map(|shown| {
        let names: Vec<String> = rows.iter().filter(|(_, s)| *s == shown).map(|(name, _)| name.to_string()).collect();
        (!names.is_empty()).then(|| format!("{shown}: {}", names.join(between)))
    });
    writeln!(f, "{what:14} {}", parts.collect::<Vec<_>>().join("; "))
}
