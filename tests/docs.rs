//! The lists in the documents and workflows, held against the code: a list that is out of date shows as it should be. With
//! `UPDATE_DOCS=1` in the environment, tables are written as they should be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use onnx_crosscheck::case::pattern::{PATTERNS, Pattern};
use onnx_crosscheck::case::{Case, Generator, MAX_ELEMENTS, MAX_LINE, MAX_NODES, MAX_RANK, Wiring, catalogue};
use onnx_crosscheck::fuzzing;
use onnx_crosscheck::operator::{self, Answer, Expectation, NEWEST_OPSET, OPERATORS, Rule};
use onnx_crosscheck::runtime::{KINDS, Supply, by_number, table};
use onnx_crosscheck::tensor::{ElementType, Tensor};
use onnx_crosscheck::verdict::Discrepancy;
use strum::VariantArray;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of the table that has this header.
fn rows(file: &str, header: &str) -> Vec<String> {
    let text = read(file);
    let below = text.lines().skip_while(|line| *line != header);
    below.skip(2).take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
}

fn assert_rows(file: &str, header: &str, expected: &[String]) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        write_rows(file, header, expected);
    }
    let there = rows(file, header);
    assert!(there == expected, "the table in {file} is to be\n{header}\n…\n{}", expected.join("\n"));
}

/// Puts other rows into the table that has this header. Tests run side by side, and several tables may be in one file.
fn write_rows(file: &str, header: &str, expected: &[String]) {
    static WRITES: Mutex<()> = Mutex::new(());
    let _guard = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
    let text = read(file);
    let mut lines = text.lines();
    let mut written: Vec<&str> = lines.by_ref().take_while(|line| *line != header).collect();
    written.push(header);
    written.extend(lines.by_ref().take(1));
    written.extend(expected.iter().map(String::as_str));
    let rest: Vec<&str> = lines.skip_while(|line| line.starts_with('|')).collect();
    written.extend(rest);
    fs::write(root().join(file), written.join("\n") + "\n").unwrap();
}

/// The cells of a row, without backquotes.
fn cells(row: &str) -> Vec<String> {
    row.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

fn chapters() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs")).unwrap().flatten().map(|entry| entry.path());
    let mut chapters: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    chapters.sort();
    chapters
}

#[test]
fn the_operators_and_their_versions() {
    let versions = |operator: &onnx_crosscheck::operator::Operator| list(operator.versions.iter().map(|v| v.since));
    let short: Vec<String> = OPERATORS.iter().map(|o| format!("| `{o}` | {} |", versions(o))).collect();
    assert_rows("docs/case.md", "| operator | versions |", &short);
    let long: Vec<String> = OPERATORS.iter().map(|o| format!("| `{o}` | {} | {} |", versions(o), o.cells())).collect();
    assert_rows("docs/operator.md", "| operator | versions | cells |", &long);
    let readme = read("README.md");
    for operator in OPERATORS {
        assert!(readme.contains(operator.name), "the README does not name {operator}");
    }
}

#[test]
fn the_patterns_and_the_arithmetic() {
    let row = |pattern: &Pattern| format!("| `{}` | `{}` |", pattern.id, pattern.text);
    assert_rows("docs/patterns.md", "| pattern | nodes |", &PATTERNS.iter().map(row).collect::<Vec<_>>());
    let text = read("docs/patterns.md");
    let missing: Vec<_> =
        operator::every().filter(|operator| operator.is_arithmetic() && !text.contains(operator.name)).collect();
    assert!(missing.is_empty(), "docs/patterns.md does not name {missing:?}");
}

#[test]
fn the_element_types() {
    let row = |t: ElementType| {
        let bits = if t == ElementType::String { String::new() } else { t.bits().to_string() };
        format!("| `{t}` | {bits} | {} |", t.since_ir())
    };
    assert_rows("docs/case.md", "| type | bits | IR version |", &ElementType::ALL.map(row));
}

#[test]
fn the_notation_of_wirings_and_its_limits() {
    let text = read("docs/case.md");
    let listed: Vec<String> =
        rows("docs/case.md", "| wiring | meaning |").iter().map(|row| cells(row).remove(0)).collect();
    assert_eq!(listed, Wiring::ALL.map(|wiring| format!(":{wiring}")));
    for said in [
        format!("Opsets go from 1 to {NEWEST_OPSET}."),
        format!("at most {MAX_RANK} dims and {MAX_ELEMENTS} elements, and a line at most {MAX_LINE} bytes"),
        format!("A case has at most {MAX_NODES} nodes."),
    ] {
        assert!(text.replace('\n', " ").contains(&said), "docs/case.md does not say: {said}");
    }
}

#[test]
fn the_verdicts() {
    let row = |found: &Discrepancy| format!("| `{found}` | `{}` | {} |", found.severity(), found.sentence());
    let expected: Vec<String> = Discrepancy::VARIANTS.iter().map(row).collect();
    assert_rows("docs/verdict.md", "| verdict | severity | what the runtime does |", &expected);
}

#[test]
fn the_rules() {
    let row = |rule: Rule| format!("| `{rule}` | {} | {} |", rule.text().sentence, rule.text().source);
    assert_rows("docs/verdict.md", "| rule | what it says | where |", &Rule::all().map(row).collect::<Vec<_>>());
}

fn demand(case: &Case) -> Expectation {
    case.expectation(&case.tensors())
}

fn dims(outputs: &[Tensor]) -> String {
    let of = |tensor: &Tensor| {
        format!("`[{}]`", tensor.dims().iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    };
    outputs.iter().map(of).collect::<Vec<_>>().join(" ")
}

/// The rules for which an expectation of some case is what is asked for: of the catalogue, and of many cases drawn.
fn rules_where(holds: impl Fn(&Expectation) -> bool) -> BTreeSet<String> {
    let listed = OPERATORS.iter().flat_map(|operator| catalogue::cases(operator));
    let generator = Generator::default();
    let drawn = (0..20_000).map(|index| generator.case(7, index).case);
    let expectations = listed.chain(drawn).map(|case| demand(&case)).filter(|expectation| holds(expectation));
    expectations.filter_map(|expectation| expectation.rule()).map(|rule| rule.id().to_owned()).collect()
}

/// Holds a table of a rule, a case and what is said of it against the code: it has a row for each rule of which something is said,
/// in the order of the rules.
fn assert_cases(header: &str, said: impl Fn(&Expectation) -> Option<String>) {
    let text = |case: &Case, rule: &str| Some(format!("| `{rule}` | `{case}` | {} |", said(&demand(case))?));
    let there: Vec<(String, Case)> = rows("docs/verdict.md", header)
        .iter()
        .filter_map(|row| Some((cells(row).remove(0), cells(row)[1].parse().ok()?)))
        .collect();
    let wanted = rules_where(|expectation| said(expectation).is_some());
    let listed: Vec<Case> = OPERATORS.iter().flat_map(|operator| catalogue::cases(operator)).collect();
    let row = |rule: &str| {
        let breaks = |case: &&Case| demand(case).rule().is_some_and(|own| own.id() == rule);
        let own = there.iter().filter(|(own, _)| own == rule).map(|(_, case)| case).find(breaks);
        let others = listed.iter().filter(breaks).filter(|case| said(&demand(case)).is_some());
        let case = own.or_else(|| others.min_by_key(|case| case.to_string().len()));
        case.and_then(|case| text(case, rule)).unwrap_or_else(|| format!("| `{rule}` | no case of the catalogue | |"))
    };
    let rules: Vec<Rule> = Rule::all().filter(|rule| wanted.contains(rule.id())).collect();
    assert_rows("docs/verdict.md", header, &rules.iter().map(|rule| row(rule.id())).collect::<Vec<_>>());
}

#[test]
fn what_the_specification_leaves_open() {
    let answer = |answer: &Answer| match answer {
        Answer::Outputs(outputs) => dims(outputs),
        Answer::Refusal => "a refusal".to_owned(),
        Answer::Any => "any answer".to_owned(),
    };
    assert_cases("| rule | case | tolerated |", |expectation| match expectation {
        Expectation::Unspecified { tolerated, .. } => Some(list(tolerated.iter().map(answer))),
        _ => None,
    });
}

#[test]
fn what_must_be_refused_and_has_a_lenient_answer() {
    assert_cases("| rule | case | lenient answer |", |expectation| match expectation {
        Expectation::Reject { lenient: Some(outputs), .. } => Some(dims(outputs)),
        _ => None,
    });
}

#[test]
fn the_runtime_kinds() {
    let row = |kind: &onnx_crosscheck::runtime::Kind| {
        let version = if kind.name == "in-house" { "that of this program" } else { kind.version };
        let configurations = list(kind.configurations.iter().filter(|c| !c.is_empty()).map(|c| format!("`{c}`")));
        format!("| `{}` | {version} | {configurations} |", kind.name).replace("|  |", "| |")
    };
    let expected: Vec<String> = KINDS.iter().map(|kind| row(kind)).collect();
    assert_rows("docs/runtime.md", "| kind | version | configurations |", &expected);
    let package = |kind: &'static onnx_crosscheck::runtime::Kind| match kind.supply {
        Supply::Package(package) => Some(format!("| `{}` | {} | `{}` |", kind.name, kind.version, package.name)),
        _ => None,
    };
    let expected: Vec<String> = table::named().filter_map(package).collect();
    assert_rows("docs/rewriters.md", "| name | version | package |", &expected);
    let workers = table::named().filter(|kind| kind.supply == Supply::Worker);
    let expected: Vec<String> = workers.map(row).collect();
    assert_rows("docs/runtime.md", "| crate | version | configurations |", &expected);
    let readme = read("README.md");
    assert!(readme.contains(&format!("# {} or command\n", list(KINDS.iter().map(|kind| kind.name)))));
    for kind in KINDS.iter().filter(|kind| kind.name != "in-house") {
        assert!(readme.contains(kind.version), "the README does not name {} {}", kind.name, kind.version);
    }
}

/// The rooms of the library, each after those that it uses.
const ROOMS: [&str; 11] =
    ["tensor", "operator", "case", "model", "runtime", "verdict", "campaign", "finding", "network", "fuzzing", "cli"];

/// Every source of a room.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

#[test]
fn the_rooms_and_what_each_uses() {
    let library = read("src/lib.rs");
    let declared: BTreeSet<&str> =
        library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    assert_eq!(declared, ROOMS.into());
    let row = |place: usize, room: &&str| {
        let folder = root().join("src").join(room);
        let sources = sources(&folder).into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
        let code: String = sources
            .filter(|path| {
                path.file_stem().is_some_and(|name| name != "tests") && !path.to_string_lossy().contains("templates")
            })
            .map(|path| read(path).split("#[cfg(test)]").next().unwrap_or_default().to_owned())
            .collect();
        let used: Vec<&str> =
            ROOMS.into_iter().filter(|other| other != room && code.contains(&format!("crate::{other}"))).collect();
        let later = used.iter().filter(|other| ROOMS[place..].contains(other)).collect::<Vec<_>>();
        assert!(later.is_empty(), "{room} uses {later:?}, which stand below it");
        let says = read(folder.join("mod.rs"));
        let says = says.lines().next().unwrap().trim_start_matches("//! ").trim_end_matches('.').to_owned();
        format!(
            "| `{room}` | {says} | {} |",
            used.iter().map(|room| format!("`{room}`")).collect::<Vec<_>>().join(", ")
        )
    };
    let expected: Vec<String> = ROOMS.iter().enumerate().map(|(place, room)| row(place, room)).collect();
    assert_rows("docs/architecture.md", "| room | what it holds | uses |", &expected);
}

#[test]
fn the_fuzz_targets() {
    let targets = fuzzing::targets();
    let items: Vec<String> = targets.iter().map(|target| format!("- `{target}`\n")).collect();
    assert!(read("docs/first-hour.md").contains(&format!("\n\n{}\n", items.concat())), "docs/first-hour.md");
    let nightly = read(".github/workflows/nightly.yml");
    assert!(nightly.contains(&format!("target: [{}]", list(&targets))), "nightly.yml does not run {targets:?}");
    for target in &targets {
        let cmin = format!("cargo +nightly fuzz cmin -s none -O {target} corpus/{target} -- -use_counters=0");
        assert!(nightly.contains(&cmin), "nightly.yml does not bring down the seeds of {target}");
        assert!(read("README.md").contains(&format!("`corpus/{target}`")), "the README does not name corpus/{target}");
    }
}

#[test]
fn the_older_release_that_is_compared_weekly_is_the_newest_that_has_a_worker() {
    let workers = fs::read_dir(root().join("workers")).unwrap().flatten();
    let names = workers.filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix("tract-")?.to_owned()));
    let newest = names.max_by_key(|version| by_number(version)).unwrap();
    assert!(read(".github/workflows/weekly.yml").contains(&format!("install: tract@{newest}\n")), "{newest}");
}

#[test]
fn every_action_is_pinned_by_its_commit_and_says_its_version() {
    let workflows = fs::read_dir(root().join(".github/workflows")).unwrap().flatten();
    let mut pinned = BTreeSet::new();
    for workflow in workflows {
        for line in read(workflow.path()).lines() {
            let Some((_, action)) = line.split_once("uses: ") else { continue };
            let (name, rest) = action.split_once('@').unwrap_or((action, ""));
            let (commit, version) = rest.split_once(" # v").unwrap_or((rest, ""));
            let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_commit && version.split('.').count() == 3, "{action}");
            pinned.insert((name.to_owned(), action.to_owned()));
        }
    }
    let names: BTreeSet<&String> = pinned.iter().map(|(name, _)| name).collect();
    assert!(!names.is_empty() && names.len() == pinned.len(), "one action at two commits: {pinned:#?}");
}

#[test]
fn the_action_installs_this_version() {
    let package = concat!("default: ", env!("CARGO_PKG_NAME"), "==", env!("CARGO_PKG_VERSION"), "\n");
    assert!(read("action.yml").contains(package), "action.yml does not say {package}");
    let heading = concat!("\n## [", env!("CARGO_PKG_VERSION"), "]\n");
    assert!(read("CHANGELOG.md").contains(heading), "CHANGELOG.md does not say {heading}");
}

#[test]
fn the_book_has_every_chapter() {
    let summary = read("docs/SUMMARY.md");
    let listed: BTreeSet<&str> = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let chapters = chapters();
    let there = chapters.iter().filter_map(|path| path.file_name()?.to_str());
    assert_eq!(listed, there.filter(|name| *name != "SUMMARY.md").collect());
}

#[test]
fn every_link_leads_to_a_file() {
    for path in chapters().into_iter().chain(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name))) {
        let text = read(&path);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let includes = text.split("{{#include ").skip(1).filter_map(|rest| rest.split("}}").next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")).chain(includes) {
            let to = path.parent().unwrap().join(link);
            assert!(to.exists(), "{} links to {link}, which is not there", path.display());
        }
    }
}

#[test]
fn every_file_of_the_project_that_is_named_is_there() {
    const FOLDERS: [&str; 8] =
        ["src/", "tests/", "fuzz/", "benches/", "deploy/", "examples/", ".github/", ".clusterfuzzlite/"];
    // What is to be replaced by a name of one's own, and what is made on the way.
    let is_made = |path: &str| path.to_lowercase().contains("name") || path.contains(['*', ' ']);
    let mut seen = 0;
    for path in chapters().into_iter().chain([root().join("README.md")]) {
        let text = read(&path);
        let named = text.split('`').filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
        for file in named.filter(|file| !is_made(file)) {
            seen += 1;
            assert!(root().join(file).exists(), "{} names {file}, which is not there", path.display());
        }
    }
    assert!(seen > 20, "only {seen} files are named");
}
