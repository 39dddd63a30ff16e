//! What a campaign must find: a fault for each discrepancy, planted in a runtime that is right but for it.

mod operators;
mod program;

use std::collections::BTreeSet;
use std::fs;

use onnx_crosscheck::case::Case;
use onnx_crosscheck::finding::Signature;
use onnx_crosscheck::verdict::Discrepancy;
use operators::HEART;
use program::crosscheck;
use serde_json::Value;
use strum::VariantArray;

/// What is planted besides, and is no finding: the runtime is right, or what it does is tolerated.
const NO_FINDING: [&str; 2] = ["right", "nan-payload"];

/// A campaign on a runtime with the fault of a name.
struct Campaign {
    code: Option<i32>,
    printed: String,
    summary: Value,
    markdown: String,
}

impl Campaign {
    fn run(fault: &str) -> Campaign {
        let folder = tempfile::tempdir().unwrap();
        // The configuration that disagrees needs one that is right.
        let beside = if fault == Discrepancy::ConfigurationsDisagree.id() { ",planted/right" } else { "" };
        let runtimes = format!("in-house,planted/{fault}{beside}");
        let campaign = [
            "campaign",
            "--operator",
            HEART,
            "--runtimes",
            &runtimes,
            "--cases",
            "1500",
            "--seed",
            "5",
            "--output",
            "out",
            "--verbose",
        ];
        let limits = ["--time-limit", "500ms", "--memory-limit", "96MiB"];
        let (code, printed) = crosscheck(folder.path(), &[&campaign[..], &limits].concat());
        let read = |name| fs::read_to_string(folder.path().join("out").join(name)).unwrap_or_default();
        let summary = serde_json::from_str(&read("summary.json")).unwrap_or_default();
        Campaign { code, printed, summary, markdown: read("summary.md") }
    }

    /// The kinds of its findings, by their signatures.
    fn kinds(&self) -> BTreeSet<&'static str> {
        let findings = ["new", "not_minimized"].into_iter().filter_map(|part| self.summary[part].as_array()).flatten();
        let signature =
            |finding: &Value| finding["signature"].as_str().unwrap_or_default().parse::<Signature>().unwrap();
        findings.flat_map(|finding| signature(finding).discrepancies).map(Discrepancy::id).collect()
    }

    /// How often the second runtime changed nothing but the payload of a NaN.
    fn nan_payloads(&self) -> u64 {
        let reasons = self.summary["runtimes"][1]["tolerated_for"].as_array().into_iter().flatten();
        reasons.filter(|part| part["reason"] == "nan-payload").filter_map(|part| part["count"].as_u64()).sum()
    }

    /// What is not as it must be, if the findings are to be of these kinds and no others.
    fn faults(&self, kinds: &BTreeSet<&str>) -> Vec<String> {
        let code = Some(i32::from(!kinds.is_empty()));
        [
            (self.kinds() != *kinds).then(|| format!("the findings are {:?}, not {kinds:?}", self.kinds())),
            (self.code != code).then(|| format!("the exit status is {:?}, not {code:?}", self.code)),
            (self.summary["cases"]["total"] != 1500).then(|| "not every case was run".to_owned()),
            (self.summary["runtimes"][0]["wrong"] != 0).then(|| "in-house is said to be wrong".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// What only a rewriter can do: tests/rewriters.rs plants it in rewriters.
const OF_REWRITERS: [Discrepancy; 2] = [Discrepancy::InvalidModel, Discrepancy::ChangedInterface];

#[test]
fn every_discrepancy_is_found_where_its_fault_is_planted_and_no_other_is() {
    let planted = Discrepancy::VARIANTS.iter().filter(|discrepancy| !OF_REWRITERS.contains(discrepancy));
    let kinds = planted.map(|discrepancy| discrepancy.id());
    let rows = kinds.map(|kind| (kind, BTreeSet::from([kind]))).chain(NO_FINDING.map(|name| (name, BTreeSet::new())));
    let wrong = rows.filter_map(|(name, kinds)| {
        let campaign = Campaign::run(name);
        if campaign.printed.contains(&format!("`planted/{name}` cannot take part")) {
            return Some(format!("{name}: no fault is planted for it: add a row to PLANTED in src/runtime/planted.rs"));
        }
        let faults = campaign.faults(&kinds);
        (!faults.is_empty()).then(|| format!("{name}: {}\n{}", faults.join("; "), campaign.printed))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_changed_nan_payload_is_counted_and_shown() {
    let changed = Campaign::run("nan-payload");
    let count = changed.nan_payloads();
    assert!(count > 1, "{}", changed.summary["runtimes"]);
    let said = format!("planted/nan-payload changes the payload of a NaN in {count} cases, which no text forbids");
    assert!(changed.printed.contains(&said) && changed.markdown.contains(&said), "{}", changed.printed);
    let right = Campaign::run("right");
    assert_eq!(right.nan_payloads(), 0);
    assert!(!right.printed.contains("NaN") && !right.markdown.contains("NaN"), "{}", right.printed);
}

/// The new findings of a campaign of graphs on a runtime with a fault, each a case with its pass.
fn found_in_graphs(fault: &str, operators: &str, cases: &str) -> Vec<(Case, Option<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let runtimes = format!("in-house,planted/right,planted/{fault}");
    let campaign = [
        "campaign",
        "--operator",
        operators,
        "--runtimes",
        &runtimes,
        "--nodes",
        "2..6",
        "--cases",
        cases,
        "--seed",
        "5",
        "--output",
        "out",
    ];
    let (code, printed) = crosscheck(folder.path(), &campaign);
    assert_eq!(code, Some(1), "{printed}");
    let summary = fs::read_to_string(folder.path().join("out/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let case = |finding: &Value| finding["case"].as_str().unwrap().parse().unwrap();
    let pass = |finding: &Value| finding["pass"].as_str().map(str::to_owned);
    summary["new"].as_array().unwrap().iter().map(|finding| (case(finding), pass(finding))).collect()
}

#[test]
fn what_needs_two_nodes_is_minimized_to_two_and_what_needs_one_is_no_graph() {
    let of_two = found_in_graphs("in-a-graph", HEART, "3000");
    assert!(!of_two.is_empty());
    for (case, _) in of_two {
        let names: Vec<&str> = case.nodes.iter().map(|node| node.operator.name).collect();
        assert_eq!(names, ["Shape", "Reshape"], "{case}");
    }
    for fault in ["short-shape", "wrong-dims", "wrong-type", "panic"] {
        let of_one = found_in_graphs(fault, HEART, "3000");
        assert!(!of_one.is_empty() && of_one.iter().all(|(case, _)| case.nodes.len() == 1), "{fault}: {of_one:?}");
    }
}

/// It is minimized to the chain and the declaration without which it does not show, and its pass is named.
#[test]
fn a_fusion_that_is_wrong_for_a_computed_target_and_a_declaration_is_found() {
    let operators = "shape,reshape,gather,concat,slice,cast,unsqueeze,squeeze,transpose,identity";
    let found = found_in_graphs("in-a-fusion", operators, "20000");
    assert!(!found.is_empty());
    for (case, pass) in found {
        let names: Vec<&str> = case.nodes.iter().map(|node| node.operator.name).collect();
        assert_eq!(names, ["Shape", "Gather", "Concat", "Reshape"], "{case}");
        assert!(case.to_string().contains(":output(static)"), "{case}");
        assert_eq!(pass.as_deref(), Some("in-a-fusion: Fusion"));
    }
}

mod wheels {
    use super::*;

    #[test]
    #[ignore = "wheels: the onnxruntime library, since what is known is saved with a snapshot of all runtimes"]
    fn what_goes_wrong_in_one_model_only_can_be_known_like_anything_else() {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| crosscheck(folder.path(), arguments);
        let runtimes = ["--runtimes", "in-house,planted/in-one-model"];
        let arguments = "campaign --nodes 1 --cases 30000 --seed 5 --threads 1 --output out --restart";
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let campaign = || run(&[&arguments[..], &runtimes].concat());
        let (code, printed) = campaign();
        assert!(code == Some(1) && printed.contains("1. planted of graph panics"), "{printed}");
        let summary = || -> Value {
            serde_json::from_str(&fs::read_to_string(folder.path().join("out/summary.json")).unwrap()).unwrap()
        };
        let case = summary()["new"][0]["case"].as_str().unwrap().to_owned();
        assert_eq!(case.parse::<Case>().unwrap().nodes.len(), 2, "{case}");
        let add = || run(&[&["known", "add", &case][..], &runtimes].concat());
        let (code, printed) = add();
        assert!(code == Some(0) && printed.contains("1 new finding"), "{printed}");
        let (code, printed) = campaign();
        let known = summary()["known"][0]["id"].as_str().unwrap().to_owned();
        assert!(code == Some(0) && known.starts_with("planted-graph-panic-"), "{known}: {printed}");
        let (code, printed) = add();
        assert!(code == Some(0) && printed.contains("0 new findings"), "it is there already: {printed}");
        // It is held against whoever is right by now.
        let (code, printed) = run(&[&["known"][..], &runtimes].concat());
        assert!(
            code == Some(0) && printed.contains("(open; 1 variant)\n") && printed.contains("0 no longer show"),
            "{printed}"
        );
        let (code, printed) = run(&["known", "--runtimes", "planted/right"]);
        assert!(code == Some(1) && printed.contains("1 no longer show"), "{printed}");
        let (code, printed) = run(&["known", "add", &case, "--cause", "no-such-issue"]);
        assert!(code == Some(2) && printed.contains("no known issue is called no-such-issue"), "{printed}");
        // What else goes wrong may have the same cause.
        let other = ["--runtimes", "in-house,planted/panic"];
        let add = ["known", "add", "Flatten@13 float[0]", "--cause", &known];
        let (code, printed) = run(&[&add[..], &other].concat());
        assert!(code == Some(0) && printed.contains(&format!(" is a variant of {known} in ")), "{printed}");
        let (_, printed) = run(&[&["known"][..], &other].concat());
        assert!(
            printed.contains("(open; 2 variants)\n") && printed.contains("Variants: 2, 1 no longer show."),
            "{printed}"
        );
        // A person may say that it shows with any operator, and with less than is special about its case.
        let ledger = fs::read_to_string(folder.path().join("known/planted.toml")).unwrap();
        let line = ledger.lines().find_map(|line| line.strip_prefix("signature = \"planted | Flatten | ")).unwrap();
        let (wrong, _) = line.rsplit_once(" | ").unwrap();
        let enter = |signature: &str| run(&[&add[..], &["--signature", signature], &other].concat());
        let (code, printed) = enter("planted | any | panic | no such words | rank>=1");
        assert!(code == Some(2) && printed.contains("does not show `planted | any | panic"), "{printed}");
        let (code, printed) = enter(&format!("planted | any | {wrong} | operand0:no-such-feature"));
        assert!(code == Some(2) && printed.contains("no-such-feature` on these runtimes"), "{printed}");
        let general = format!("planted | any | {wrong} | rank>=1");
        let (code, printed) = enter(&general);
        assert!(code == Some(0) && printed.contains(" is a part of it now: remove it"), "{printed}");
        let (code, printed) = enter(&general);
        assert!(code == Some(2) && printed.contains("has a variant with this signature"), "{printed}");
    }
}
