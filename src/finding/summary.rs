//! The summary of a campaign: the new, known and fixed issues, the cells that were not reached, and the cost.
//!
//! It is the same however the cases were divided into shards and merged again, with two exceptions: the cost, and mismatches that
//! show only when several cases are in one model, since they depend on which cases were put together.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::junit::{failed, skipped};
use super::report::code;
use super::{Cause, Finding, Known, Ledger, Signature, Variant, alike};
use crate::campaign::{CellReport, CoverageReport, Header, Origin, Refusals, RuntimeStatistics, Statistics};
use crate::files::reproduce;
use crate::operator::{OPERATORS, Rule};
use crate::percentages::percentages;
use crate::verdict::Severity;

/// The number of the JSON format of the summary, which `docs/summary.schema.json` defines.
const FORMAT: u32 = 6;

/// The results of a campaign, or of several that were merged.
#[derive(Clone, Copy, Debug)]
pub struct Outline<'a> {
    pub header: &'a Header,
    pub origins: &'a [Origin],
    pub statistics: &'a Statistics,
    pub coverage: &'a CoverageReport,
    pub ledger: &'a Ledger,
    /// Findings that no known issue explains, the most severe first.
    pub new: &'a [&'a Finding],
    /// New kinds of mismatch that there was no time to minimize.
    pub unsorted: &'a [&'a Finding],
    /// Whether the whole campaign was run and minimized.
    pub is_whole: bool,
    /// How often each variant of a known issue was met, by its id.
    pub met: &'a BTreeMap<&'a str, u64>,
}

/// The summary, which can be written for people, for programs, and for viewers of test results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    format: u32,
    program: String,
    /// Whether the whole campaign was run and minimized.
    complete: bool,
    cases: CasesReport,
    origins: Vec<Origin>,
    runtimes: Vec<RuntimeReport>,
    new: Vec<FindingReport>,
    /// New kinds of mismatch that there was no time to minimize, each with a case as it was drawn.
    not_minimized: Vec<FindingReport>,
    /// Known issues of these runtimes that show on them.
    known: Vec<KnownReport>,
    /// Variants of known issues that no longer show.
    fixed: Vec<FixedReport>,
    not_reached: NotReached,
    cost: Cost,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct CasesReport {
    total: u64,
    valid: u64,
    invalid: u64,
    left_open: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct RuntimeReport {
    runtime: String,
    version: String,
    agreed: u64,
    /// Cases in which all mismatches are by design.
    by_design: u64,
    tolerated: u64,
    tolerated_for: Vec<Tolerated>,
    unsupported: u64,
    /// Cases that it was not given, since cases like them had ended its process.
    left_out: u64,
    wrong: u64,
    unclassified: u64,
    /// Cells of the coverage in which it answered a case.
    cells_answered: usize,
    /// Its right refusals, by the rule that is broken.
    refusals: Vec<RefusalsReport>,
}

/// Refusals of cases that break one rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RefusalsReport {
    rule: String,
    count: u64,
    /// Those for another reason than the rule.
    other: u64,
    /// Those for which no reason is known.
    unstated: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tolerated {
    /// The rule that leaves the result open, `nan-payload`, `removed-node` or `rewritten-invalid`.
    reason: String,
    count: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FindingReport {
    /// The name of its files.
    pub name: String,
    pub runtime: String,
    pub version: String,
    pub signature: Signature,
    pub severity: Severity,
    pub what: String,
    /// The sentence of the rule that the mismatch is about, if there is one, and its source.
    pub rule: Option<String>,
    /// The message of the runtime.
    pub message: String,
    /// The stage of optimization and the passes that cause the mismatch.
    pub pass: Option<String>,
    pub case: String,
    /// How many mismatches were minimized to it.
    pub count: u64,
    /// The known issue with the same signature, if the campaign ignored known issues.
    pub known_as: Option<String>,
    /// The name of the finding that stands for all that look like the same cause, if it is another one.
    #[serde(default)]
    pub like: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KnownReport {
    id: String,
    title: String,
    link: String,
    /// `open`, `by design`, `fixed in VERSION` or `will not be fixed`.
    state: String,
    count: u64,
    /// The variants that show.
    variants: Vec<VariantReport>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct VariantReport {
    id: String,
    case: String,
    count: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FixedReport {
    id: String,
    /// The title of the known issue.
    title: String,
    case: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NotReached {
    /// How many cells there are: an operator version and an element type each.
    of: usize,
    cells: Vec<String>,
}

/// The time spent by all campaigns together, in seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cost {
    /// When the campaign ended, in UTC, such as `2026-11-27T09:24:07Z`.
    ended: String,
    /// The time from the beginning to the end of the cases.
    wall: f64,
    /// The CPU time of the program and of all its processes; `null` if it is not known.
    cpu: Option<f64>,
    /// The time of all threads in each runtime, including the way to its process and back.
    runtimes: Vec<Spent>,
    /// The time of all threads in the program itself.
    stages: Vec<Spent>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spent {
    on: String,
    seconds: f64,
}

/// In seconds, to the millisecond.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// The facts about a campaign that stand beside its matrix.
#[derive(Debug, Serialize)]
pub(super) struct Campaign<'a> {
    ended: &'a str,
    program: &'a str,
    is_whole: bool,
    cases: u64,
    /// The commands that run its cases again, if a seed gives them; or else the bounds of the cases.
    origins: Vec<String>,
}

/// Why a summary cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    #[error(
        "it is of another version of crosscheck (form {found}, here {FORMAT}): run the campaign again with this one"
    )]
    Format { found: u64 },
    #[error("it is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
}

impl Summary {
    /// Reads what [`Summary::json`] wrote.
    ///
    /// # Errors
    /// If it is damaged, or another version of the program wrote it.
    pub fn read(text: &str) -> Result<Summary, SummaryError> {
        let value: Value = serde_json::from_str(text)?;
        match value.get("format").and_then(Value::as_u64) {
            Some(found) if found != u64::from(FORMAT) => Err(SummaryError::Format { found }),
            _ => Ok(serde_json::from_value(value)?),
        }
    }

    /// Findings that no known issue explains, and those that there was no time to minimize, each list with its name.
    pub(super) fn findings(&self) -> [(&'static str, &[FindingReport]); 2] {
        [("new", &self.new), ("not minimized", &self.not_minimized)]
    }

    /// When the campaign ended, in UTC.
    pub fn ended(&self) -> &str {
        &self.cost.ended
    }

    pub(super) fn about(&self) -> Campaign<'_> {
        Campaign {
            ended: self.ended(),
            program: &self.program,
            is_whole: self.complete,
            cases: self.cases.total,
            origins: self.origins.iter().map(|origin| self.origin(origin)).collect(),
        }
    }

    /// The command that runs the cases of an origin again on the same runtimes, if a seed gives them; or else the bounds of the
    /// cases.
    fn origin(&self, origin: &Origin) -> String {
        let value = |key: &str| &origin.source[key];
        let words = |list: &Value| -> Vec<String> {
            let words = list.as_array().into_iter().flatten();
            words.map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_lowercase)).collect()
        };
        let Some(seed) = value("seed").as_u64() else {
            let bounds = origin.source.as_object().into_iter().flatten();
            return bounds.map(|(key, bound)| format!("{key} {bound}")).collect::<Vec<_>>().join(", ");
        };
        let (nodes, operators) = (words(value("nodes")).join(".."), words(value("operators")));
        let operators = (operators.len() < OPERATORS.len()).then(|| format!(" --operator {}", operators.join(",")));
        let runtimes: Vec<&str> = self.runtimes.iter().map(|runtime| runtime.runtime.as_str()).collect();
        format!(
            "crosscheck campaign --seed {seed} --cases {} --nodes {nodes}{} --runtimes {}",
            origin.cases,
            operators.unwrap_or_default(),
            runtimes.join(",")
        )
    }

    pub fn new(outline: &Outline) -> Summary {
        let Outline { header, origins, statistics, coverage, ledger, new, unsorted, is_whole, met } = *outline;
        let may_show = |known: &Known| header.runtimes.iter().any(|id| known.variant.may_show_on(id));
        let shows = |variant: &Variant| header.triggers.contains(&variant.id);
        let known = ledger.causes.iter().map(|cause| KnownReport::new(cause, &shows, met));
        let fixed = ledger.known().filter(|known| may_show(known) && !shows(known.variant));
        let missed = coverage.cells.iter().filter(|cell| cell.cases() == 0);
        Summary {
            format: FORMAT,
            program: Header::PROGRAM.to_owned(),
            complete: is_whole,
            cases: CasesReport {
                total: statistics.cases,
                valid: statistics.valid,
                invalid: statistics.invalid,
                left_open: statistics.unspecified,
            },
            origins: origins.to_vec(),
            runtimes: statistics.runtimes.iter().enumerate().map(|row| RuntimeReport::new(row, coverage)).collect(),
            new: alike(new)
                .into_iter()
                .enumerate()
                .map(|(place, first)| {
                    let like = (first != place).then(|| new[first].name());
                    FindingReport { like, ..FindingReport::new(new[place], header, ledger) }
                })
                .collect(),
            not_minimized: unsorted.iter().map(|finding| FindingReport::new(finding, header, ledger)).collect(),
            known: known.filter(|known| !known.variants.is_empty()).collect(),
            fixed: fixed.map(FixedReport::new).collect(),
            not_reached: NotReached { of: coverage.cells.len(), cells: missed.map(CellReport::name).collect() },
            cost: Cost::new(statistics),
        }
    }

    /// The summary as JSON, for programs.
    ///
    /// # Panics
    /// Never: everything in it can be written as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a summary can be written as JSON") + "\n"
    }

    /// The summary as Markdown, for people, on one screen. The cost comes last.
    ///
    /// # Panics
    /// If the template is damaged.
    pub fn markdown(&self) -> String {
        let mut environment = Environment::new();
        let mut syntax = SyntaxConfig::builder();
        syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
        environment.set_syntax(syntax.build().expect("the usual syntax"));
        environment.add_filter("code", |text: &str| code(text));
        environment.add_filter("plain", |text: &str| plain(text));
        environment.add_filter("reproduce", |case: &str| code(&reproduce(case)));
        environment.add_filter("time", |seconds: f64| time(seconds));
        environment.add_filter("percentages", |parts: Vec<u64>| percentages(&parts));
        let rendered = environment.render_str(include_str!("summary.md"), minijinja::Value::from(Serde(self)));
        rendered.expect("the template fits the summary")
    }

    /// The summary as `JUnit` XML, for viewers of test results: suites for the campaign itself, findings, known issues, and cells of
    /// the coverage.
    ///
    /// # Panics
    /// Never: everything in it can be written as XML.
    pub fn junit(&self, coverage: &CoverageReport) -> String {
        let new = self.new.iter().chain(&self.not_minimized).map(|finding| {
            let words = [finding.signature.to_string(), finding.message.clone(), reproduce(&finding.case)].join("\n");
            TestCase::new(finding.name.as_str(), failed(NonSuccessKind::Failure, &finding.what, &words))
        });
        let known = self.known.iter().map(|known| {
            let why = format!("met {} times: {} ({})", known.count, known.title, known.link);
            TestCase::new(known.id.as_str(), skipped(&why))
        });
        let fixed = self.fixed.iter().map(|known| TestCase::new(known.id.as_str(), TestCaseStatus::success()));
        let cells = coverage.cells.iter().map(|cell| {
            let status = if cell.cases() > 0 { TestCaseStatus::success() } else { skipped("not reached") };
            TestCase::new(cell.name(), status)
        });
        let whole = if self.complete {
            TestCaseStatus::success()
        } else {
            failed(NonSuccessKind::Error, "stopped before its end", "--resume goes on with it")
        };
        let suites: [(&str, Vec<TestCase>); 4] = [
            ("campaign", vec![TestCase::new("brought to its end", whole)]),
            ("findings", new.collect()),
            ("known issues", known.chain(fixed).collect()),
            ("coverage", cells.collect()),
        ];
        let mut report = quick_junit::Report::new("crosscheck campaign");
        report.add_test_suites(suites.map(|(name, cases)| {
            let mut suite = TestSuite::new(name);
            suite.add_test_cases(cases);
            suite
        }));
        report.to_string().expect("a summary can be written as XML")
    }
}

impl RuntimeReport {
    fn new((place, runtime): (usize, &RuntimeStatistics), coverage: &CoverageReport) -> RuntimeReport {
        RuntimeReport {
            runtime: runtime.id.to_string(),
            version: runtime.id.version.clone(),
            agreed: runtime.agreed,
            by_design: runtime.by_design,
            tolerated: runtime.tolerated.values().sum(),
            tolerated_for: runtime
                .tolerated
                .iter()
                .map(|(tolerance, &count)| Tolerated { reason: tolerance.id().to_owned(), count })
                .collect(),
            unsupported: runtime.unsupported() - runtime.left_out(),
            left_out: runtime.left_out(),
            wrong: runtime.wrong,
            unclassified: runtime.unclassified,
            cells_answered: coverage.cells.iter().filter(|cell| cell.runtimes[place].answered > 0).count(),
            refusals: runtime.refusals.iter().map(RefusalsReport::new).collect(),
        }
    }
}

impl RefusalsReport {
    fn new((rule, refusals): (&Rule, &Refusals)) -> RefusalsReport {
        let Refusals { count, other, unstated } = *refusals;
        RefusalsReport { rule: rule.id().to_owned(), count, other, unstated }
    }
}

impl FindingReport {
    fn new(finding: &Finding, header: &Header, ledger: &Ledger) -> FindingReport {
        let mismatch = &finding.trigger.mismatch;
        let id = header.runtimes.iter().find(|id| id.release() == mismatch.runtime);
        FindingReport {
            name: finding.name(),
            runtime: mismatch.runtime_name().to_owned(),
            version: id.map(|id| id.version.clone()).unwrap_or_default(),
            signature: finding.signature(),
            severity: finding.severity(),
            what: mismatch.to_string(),
            rule: mismatch.rule.map(Rule::text).map(|text| format!("{} ({})", text.sentence, text.source)),
            message: finding.message.clone(),
            pass: finding.pass.clone(),
            case: finding.case.to_string(),
            count: finding.count,
            known_as: ledger.find(finding).map(|known| known.cause.id.clone()),
            like: None,
        }
    }
}

impl KnownReport {
    fn new(cause: &Cause, shows: &dyn Fn(&Variant) -> bool, met: &BTreeMap<&str, u64>) -> KnownReport {
        let report = |variant: &Variant| VariantReport {
            id: variant.id.clone(),
            case: variant.case.clone(),
            count: met.get(variant.id.as_str()).copied().unwrap_or(0),
        };
        let variants: Vec<VariantReport> = cause.variants.iter().filter(|variant| shows(variant)).map(report).collect();
        KnownReport {
            id: cause.id.clone(),
            title: cause.title.clone(),
            link: cause.link.clone(),
            state: cause.state.to_string(),
            count: variants.iter().map(|variant| variant.count).sum(),
            variants,
        }
    }
}

impl FixedReport {
    fn new(known: Known) -> FixedReport {
        let Known { cause, variant } = known;
        FixedReport { id: variant.id.clone(), title: cause.title.clone(), case: variant.case.clone() }
    }
}

impl Cost {
    fn new(statistics: &Statistics) -> Cost {
        let times = &statistics.times;
        let spent = |on: &str, time: Duration| Spent { on: on.to_owned(), seconds: seconds(time) };
        let runtimes = statistics.runtimes.iter().zip(&times.executing);
        Cost {
            ended: humantime::format_rfc3339_seconds(UNIX_EPOCH + times.ended).to_string(),
            wall: seconds(statistics.elapsed),
            cpu: (!times.cpu.is_zero()).then_some(seconds(times.cpu)),
            runtimes: runtimes.map(|(runtime, time)| spent(&runtime.id.to_string(), *time)).collect(),
            stages: times.stages().iter().map(|(stage, time)| spent(stage, *time)).collect(),
        }
    }
}

/// A text in Markdown, with all special characters escaped.
fn plain(text: &str) -> String {
    let escaped = |c: char| if r"\`*_<>[]|#".contains(c) { vec!['\\', c] } else { vec![c] };
    text.chars().flat_map(escaped).collect()
}

/// A time in words: to the second, or to a tenth of a second if it is less than a minute.
fn time(seconds: f64) -> String {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if time.as_secs() >= 60 => humantime::format_duration(Duration::from_secs(time.as_secs())).to_string(),
        _ => format!("{seconds:.1}s"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::campaign::Shard;

    #[test]
    fn markdown_does_not_change_what_is_said() {
        assert_eq!(code(r#"Shape@28 string[1]{"a"}"#), r#"`Shape@28 string[1]{"a"}`"#);
        assert_eq!(code(r#"string[1]{"`"}"#), r#"`` string[1]{"`"} ``"#);
        assert_eq!(plain("a <b> *c* [d] | e_f"), r"a \<b\> \*c\* \[d\] \| e\_f");
    }

    /// A summary with more of everything than is shown at once.
    pub(in crate::finding) fn full() -> Summary {
        let known = |number| KnownReport {
            id: format!("tract-{number}"),
            title: "Too many of them are <wrong>.".to_owned(),
            link: "not reported".to_owned(),
            state: "open".to_owned(),
            count: number,
            variants: vec![VariantReport { id: "a".to_owned(), case: "Shape@28 float[1]".to_owned(), count: number }],
        };
        let fixed = FixedReport {
            id: "tract-0".to_owned(),
            title: "Too many of them are <wrong>.".to_owned(),
            case: "Shape@28 float[1]".to_owned(),
        };
        let finding = FindingReport {
            name: "tract-shape-panic-0".to_owned(),
            runtime: "tract".to_owned(),
            version: "0.23.9".to_owned(),
            signature: "tract | Shape | panic | rank-0".parse().unwrap(),
            severity: Severity::Panic,
            what: "tract of Shape panics: `unwrap`".to_owned(),
            rule: None,
            message: "a message".to_owned(),
            pass: None,
            case: r#"Shape@28 string[1]{"`"}"#.to_owned(),
            count: 3,
            known_as: None,
            like: None,
        };
        let runtime = RuntimeReport {
            runtime: "tract/typed".to_owned(),
            version: "0.23.9".to_owned(),
            agreed: 1,
            by_design: 8,
            tolerated: 2,
            tolerated_for: ["vast-dims", "nan-payload"]
                .map(|reason| Tolerated { reason: reason.to_owned(), count: 1 })
                .into(),
            unsupported: 3,
            left_out: 7,
            wrong: 4,
            unclassified: 5,
            cells_answered: 6,
            refusals: vec![RefusalsReport { rule: "input-count".to_owned(), count: 9, other: 2, unstated: 1 }],
        };
        let parts: Vec<_> = (1..=3).map(|number| (Shard::new(number, 30).unwrap(), 5, number > 1)).collect();
        let spent = || vec![Spent { on: "tract/typed".to_owned(), seconds: 61.5 }];
        let known_as = || Some("tract-1".to_owned());
        Summary {
            format: FORMAT,
            program: "0.1.0".to_owned(),
            complete: false,
            cases: CasesReport { total: 15, valid: 7, invalid: 5, left_open: 3 },
            origins: vec![Origin::new(serde_json::json!({ "operators": ["Shape", "Size"], "seed": 7 }), &parts)],
            runtimes: vec![runtime],
            new: (0..12)
                .map(|number| FindingReport { known_as: known_as().filter(|_| number == 0), ..finding.clone() })
                .collect(),
            not_minimized: vec![finding.clone()],
            known: (0..10).map(known).collect(),
            fixed: vec![fixed],
            not_reached: NotReached {
                of: 471,
                cells: (1..=22).map(|number| format!("Shape-{number} float")).collect(),
            },
            cost: Cost {
                ended: "2026-11-27T09:24:07Z".to_owned(),
                wall: 3700.25,
                cpu: None,
                runtimes: spent(),
                stages: spent(),
            },
        }
    }

    #[test]
    fn a_summary_with_everything_in_it_fits_on_a_screen() {
        insta::assert_snapshot!(full().markdown(), @r#"
        # 13 new findings, not brought to its end

        15 cases: 47 % valid, 33 % invalid, 20 % left open.

        - operators Shape, Size; seed 7; 15 cases. **Incomplete**: shard 1/30 was stopped after 5 cases, shard 4/30 is not there, shard 5/30 is not there, shard 6/30 is not there, shard 7/30 is not there, shard 8/30 is not there, and 22 more

        | runtime | version | agreed | by design | tolerated | unsupported | left out | wrong | unclassified | cells answered |
        |---|---|---:|---:|---:|---:|---:|---:|---:|---:|
        | tract/typed | 0.23.9 | 1 | 8 | 2 | 3 | 7 | 4 | 5 | 6 of 471 |

        tract/typed changes the payload of a NaN in 1 case, which no text forbids.

        ## New: 13

        1. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches, known as `tract-1`<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``
        2. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``
        3. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``
        4. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``
        5. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``
        6. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``
        7. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``
        8. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``
        9. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``
        10. **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``

        And 2 more, see `summary.json`.

        Not minimized, since there was no time left: **panic**: tract of Shape panics: \`unwrap\`; 3 mismatches<br>`` crosscheck run 'Shape@28 string[1]{"`"}' ``

        ## Known: 9 of 11 met

        `tract-9` 9 times, `tract-8` 8 times, `tract-7` 7 times, `tract-6` 6 times, `tract-5` 5 times, `tract-4` 4 times, `tract-3` 3 times, `tract-2` 2 times, and 1 more

        ## Fixed: 1

        - `tract-0` no longer shows: Too many of them are \<wrong\>. Close it: `crosscheck run 'Shape@28 float[1]'`

        ## Not reached: 22 of 471 cells

        Shape-1 float, Shape-2 float, Shape-3 float, Shape-4 float, Shape-5 float, Shape-6 float, Shape-7 float, Shape-8 float, Shape-9 float, Shape-10 float, Shape-11 float, Shape-12 float, Shape-13 float, Shape-14 float, Shape-15 float, Shape-16 float, Shape-17 float, Shape-18 float, Shape-19 float, Shape-20 float, and 2 more, see `coverage.html`

        ## Cost

        1h 1m 40s, CPU time not known. Of all threads: tract/typed 1m 1s, tract/typed 1m 1s.
        "#);
    }

    #[test]
    fn a_summary_with_everything_in_it_fits_the_schema() {
        let schema = serde_json::from_str(include_str!("../../docs/summary.schema.json")).unwrap();
        let summary = serde_json::from_str(&full().json()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(&summary).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }

    #[test]
    fn a_summary_as_junit_fails_where_something_is_new() {
        let junit = full().junit(&CoverageReport { runtimes: vec![], cells: vec![], rules: vec![], graphs: vec![] });
        let counts = |suite: &str| {
            let line = junit.lines().find(|line| line.contains(&format!("<testsuite name=\"{suite}\""))).unwrap();
            ["tests", "skipped", "failures"].map(|what| {
                let (_, rest) = line.split_once(&format!(" {what}=\"")).unwrap();
                rest.split_once('"').unwrap().0.parse::<u64>().unwrap()
            })
        };
        assert_eq!(counts("findings"), [13, 0, 13]);
        assert_eq!(counts("known issues"), [11, 10, 0]);
    }

    #[test]
    fn times_are_short() {
        assert_eq!((time(0.25), time(59.96), time(3661.7)), ("0.2s".into(), "60.0s".into(), "1h 1m 1s".into()));
    }
}
