//! Releases of a runtime beside each other: real libraries, fetched on first use, each in a process of its own.

mod operators;
mod program;

use std::fs;

use operators::HEART;
use program::crosscheck;

/// A defect that is new in onnxruntime 1.29.0.
const CASE: &str = "Reshape@14 allowzero=1 float[0] int64[2]{-1,0}";

mod wheels {
    use super::*;

    #[test]
    #[ignore = "wheels: older releases of onnxruntime"]
    fn two_releases_take_part_in_one_run_and_in_one_campaign() {
        let folder = tempfile::tempdir().unwrap();
        let both = "onnxruntime@1.28.0/all,onnxruntime/all";
        let (code, out) = crosscheck(folder.path(), &["run", CASE, "--runtimes", both]);
        let line = |name: &str| out.lines().rfind(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        assert_eq!(code, Some(0), "{out}");
        assert!(out.contains("known as onnxruntime-zero-and-inferred"), "{out}");
        assert!(
            line("onnxruntime@1.28.0/all").contains("agrees") && line("onnxruntime/all").contains("WRONG"),
            "{out}"
        );

        let campaign =
            ["campaign", "--operator", HEART, "--runtimes", both, "--cases", "1500", "--seed", "3", "--ignore-known"];
        let (code, out) = crosscheck(folder.path(), &campaign);
        assert_eq!(code, Some(1), "{out}");
        let found = |runtime: &str| {
            out.contains(&format!(". {runtime} of Reshape answers an invalid model (zero-and-inferred)"))
        };
        assert!(found("onnxruntime") && !found("onnxruntime@1.28.0"), "{out}");

        let (code, out) = crosscheck(folder.path(), &["run", CASE, "--in-process", "--runtimes", both]);
        assert!(code == Some(2) && out.contains("leave out --in-process"), "{out}");
    }

    #[test]
    #[ignore = "wheels: older releases of onnxruntime"]
    fn the_release_that_brought_a_defect_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let bisect = ["bisect", CASE, "--runtime", "onnxruntime/all", "--from", "1.28.0", "--to", "1.29.0"];
        let (code, out) = crosscheck(folder.path(), &bisect);
        assert!(code == Some(0) && out.contains("Changed in onnxruntime 1.29.0, found in 2 looks."), "{out}");
        let (code, out) = crosscheck(
            folder.path(),
            &["compare", "onnxruntime@1.28.0", "onnxruntime", "--cases", "1500", "--page", "page.md"],
        );
        let broken = "Newly broken:\n  Reshape: agrees: objects to values; now wrong (zero-and-inferred)";
        assert!(code == Some(1) && out.contains(broken), "{out}");
        let page = std::fs::read_to_string(folder.path().join("page.md")).unwrap();
        assert!(page.starts_with("# What changed from onnxruntime 1.28.0 to "), "{page}");
        assert!(page.contains("| right | an error | |\n| 1.28.0 | error at run: "), "{page}");
        assert!(page.contains("Known as `onnxruntime-zero-and-inferred`"), "{page}");
    }

    #[test]
    #[ignore = "wheels: older releases of onnxruntime"]
    fn a_known_issue_of_one_opset_gets_the_range_of_the_releases_that_show_it() {
        let folder = tempfile::tempdir().unwrap();
        let case = "Slice@25 float[0] int64[1]{-1}:initializer int64[1]{1}:initializer _ int64[1]{-1}:initializer";
        let ledger = format!(
            "[[cause]]\nid = \"slice\"\ntitle = \"T.\"\nexplanation = \"E.\"\nlink = \"not reported\"\nstate = \"open\"\n\n\
             [[cause.variant]]\nid = \"onnxruntime-slice\"\nsignature = \"onnxruntime | Slice | undeclared | operand1:in-model\"\n\
             first_version = \"1.24.3\"\nlast_version = \"1.24.3\"\ncase = \"{case}\"\n"
        );
        fs::create_dir(folder.path().join("known")).unwrap();
        fs::write(folder.path().join("known/onnxruntime.toml"), ledger).unwrap();
        // At the oldest opset of a Slice with these inputs, no release is wrong; the newest is right at every opset.
        let bisect = ["bisect", case, "--runtime", "onnxruntime", "--from", "1.24.1", "--to", "1.26.0"];
        let (code, out) = crosscheck(folder.path(), &bisect);
        assert!(code == Some(0) && out.contains("onnxruntime-slice is from 1.24.1 to 1.24.4: known"), "{out}");
    }

    #[test]
    #[ignore = "wheels: older releases of onnxruntime"]
    fn what_is_newer_than_a_release_is_a_gap() {
        let folder = tempfile::tempdir().unwrap();
        for (case, gap) in [("Shape@27 float[2]", "lacks the opset"), ("Shape@28 float[2]", "lacks the IR version")] {
            let (code, out) = crosscheck(folder.path(), &["run", case, "--runtimes", "onnxruntime@1.28.0"]);
            let of_each = ["disabled", "all     "].map(|row| format!("onnxruntime@1.28.0/{row}  unsupported  {gap}"));
            assert!(code == Some(0) && of_each.iter().all(|line| out.contains(line)), "{out}");
        }
    }

    #[test]
    #[ignore = "wheels: older releases of onnxruntime"]
    fn an_output_without_a_value_ends_no_process() {
        let folder = tempfile::tempdir().unwrap();
        let case = "x=int64[]{1}; a=Range@25 x x x :output; Gather float[1] a";
        let (code, out) = crosscheck(folder.path(), &["run", case, "--runtimes", "onnxruntime@1.24.1/all"]);
        assert!(
            code.is_some_and(|code| code < 2) && out.contains("its output cannot be read: it has no value"),
            "{out}"
        );
    }

    #[test]
    #[ignore = "wheels: older releases of onnxruntime"]
    fn a_row_may_name_an_execution_provider_that_its_library_has() {
        let folder = tempfile::tempdir().unwrap();
        let rows = "[[runtime]]\nname = \"provided\"\nkind = \"onnxruntime\"\nconfigurations = [\"all+AZURE\", \"all+AZURE(a=1,b=2)\", \
             \"all+XNNPACK\", \"all+CUDA(device_id=0,enable_cuda_graph=1)\", \"all+TensorRT\", \"all+CUDA(device_id)\"]\n";
        fs::write(folder.path().join("runtimes.toml"), rows).unwrap();
        let run = |runtime: &str| crosscheck(folder.path(), &["run", "Flatten@13 float[2]", "--runtimes", runtime]);
        // The library of the wheels has that of Azure, which leaves these operators to the CPU, and no other.
        for runtime in ["provided/all+AZURE", "provided/all+AZURE(a=1,b=2)"] {
            let (code, out) = run(runtime);
            assert!(code == Some(0) && out.contains("agrees"), "{out}");
        }
        for (runtime, said) in [
            (
                "provided/all+XNNPACK",
                "has no execution provider `XNNPACK`; it has AzureExecutionProvider, CPUExecutionProvider",
            ),
            ("provided/all+CUDA(device_id=0,enable_cuda_graph=1)", "has no execution provider `CUDA`; it has Azure"),
            ("provided/all+TensorRT", "has no execution provider `TensorRT`; it has Azure"),
            ("provided/all+CUDA(device_id)", "write NAME or NAME(OPTION=VALUE,OPTION=VALUE)"),
        ] {
            let (code, out) = run(runtime);
            assert!(code == Some(2) && out.contains(said), "{runtime}: {out}");
        }
        let campaign = ["campaign", "--cases", "1", "--runtimes", "provided/all+TensorRT"];
        let (code, out) = crosscheck(folder.path(), &campaign);
        assert!(code == Some(2) && out.contains("`TensorRT`") && !out.contains("1 case"), "{out}");
    }
}
