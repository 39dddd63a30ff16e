//! The program that shows a finding without this project: a script in Python, or a Cargo package.

use std::sync::Arc;

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;
use serde_json::json;

use super::outside::{CASE, Crate, Package, Program, Rewriter};
use super::template::render;
use super::{outside, words};
use crate::case::{Case, Generated};
use crate::model::{self, Job, test_data};
use crate::operator::{Answer, Expectation};
use crate::runtime::RuntimeId;
use crate::runtime::provision::ONNXRUNTIME_VERSION;
use crate::runtime::{CHECKER_VERSION, REFERENCE_VERSION};
use crate::tensor::{ElementType, Elements, Tensor};
use crate::verdict::{Discrepancy, Severity};

/// The folder of a second model, if there is one.
pub(super) const VARIANT: &str = "variant";
const VARIANT_MODEL: &str = "variant/model.onnx";

/// The parts of a reproducer.
#[derive(Debug)]
pub(super) struct Reproducer<'a> {
    /// The name of the finding.
    pub name: &'a str,
    pub title: &'a str,
    /// The configurations that are wrong, of one release.
    pub ids: &'a [RuntimeId],
    pub discrepancies: &'a [Discrepancy],
    pub generated: &'a Generated,
    /// A second model, which must give the same result.
    pub variant: Option<&'a Case>,
    /// The place of the output that is checked.
    pub output: usize,
    /// The outputs that the runtime gives; none if it gives no answer.
    pub given: &'a [Tensor],
    /// Whether the runtime answers with memory that was never written, see [`Variant`](crate::finding::Variant). It may as well end
    /// its process.
    pub is_unwritten: bool,
}

/// The files of a reproducer, by path in the folder of the report, and how to run it.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    pub files: Vec<(&'static str, String)>,
    /// A command for each line.
    pub commands: Vec<String>,
    /// The time that the first build takes, in words; empty if nothing is built.
    pub builds: &'static str,
    /// The acceptable outputs, if more than one answer is right; see [`acceptable_file`].
    pub acceptable: Vec<Tensor>,
}

/// The check that a program makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Check {
    /// Compares an outcome with the acceptable ones.
    Answer,
    /// Compares several outcomes with each other.
    Same,
    /// Compares an output with its declaration.
    Declared,
}

/// A model in the folder of the report, and the names of its inputs.
#[derive(Debug, Serialize)]
struct Model {
    /// Empty, or the name of a folder and a slash.
    folder: String,
    /// In the order of the graph inputs.
    names: Vec<String>,
}

/// Why there is no program for a case of several runs, except in Python.
const NO_EARLIER_RUNS: &str =
    "There is no program: the model must be run by hand with other inputs before those of the test data.";

impl Reproducer<'_> {
    /// Makes the files of the reproducer.
    ///
    /// # Errors
    /// If there can be no program. The error tells people outside why.
    pub fn write(&self) -> Result<Written, String> {
        let provider = self.ids.iter().find_map(|id| id.configuration.split_once('+'));
        match (self.ids.first().and_then(|id| outside::program(&id.name)), provider) {
            (Some(Program::Python(_)), Some((_, provider))) => Err(format!(
                "There is no program: the package of PyPI has no execution provider {provider}. `model.onnx` is to be run by hand."
            )),
            (Some(Program::Python(package)), None) => self.python(package),
            (Some(Program::Rewriter(rewriter)), _) => self.rewriter(rewriter),
            (Some(Program::Crate(of)), _) => self.rust(of),
            (None, _) => {
                Err("There is no program for a runtime of this kind: `model.onnx` is to be run by hand.".to_owned())
            }
        }
    }

    fn version(&self) -> &str {
        self.ids.first().map_or("", |id| &id.version)
    }

    pub(super) fn check(&self) -> Check {
        match self.discrepancies.first() {
            Some(first) if first.severity() == Severity::Disagrees => Check::Same,
            Some(Discrepancy::Undeclared) => Check::Declared,
            _ => Check::Answer,
        }
    }

    /// Whether the mismatch may end the process.
    fn needs_a_process(&self) -> bool {
        self.is_unwritten || self.discrepancies.iter().any(|discrepancy| discrepancy.severity() == Severity::Crash)
    }

    /// The outputs that are acceptable, and whether an error is.
    fn acceptable(&self) -> (Vec<&Tensor>, bool) {
        match &self.generated.expectation {
            Expectation::Defined(outputs) => (outputs.get(self.output).into_iter().collect(), false),
            Expectation::Reject { .. } => (vec![], true),
            Expectation::Unspecified { tolerated, .. } => {
                let outputs = tolerated.iter().filter_map(|answer| match answer {
                    Answer::Outputs(outputs) => outputs.get(self.output),
                    Answer::Refusal | Answer::Any => None,
                });
                (outputs.collect(), tolerated.contains(&Answer::Refusal))
            }
        }
    }

    fn models(&self) -> Vec<Model> {
        let model = |folder: String, case: &Case| {
            let names = model::job(case, &case.tensors()).inputs.iter().map(ToString::to_string).collect();
            Model { folder, names }
        };
        let first = model(String::new(), &self.generated.case);
        let second = self.variant.map(|variant| model(format!("{VARIANT}/"), variant));
        [first].into_iter().chain(second).collect()
    }

    fn python(&self, Package { name: package, program, setup }: Package) -> Result<Written, String> {
        let onnx = format!("onnx=={REFERENCE_VERSION}");
        let packages = match package {
            "onnx" => onnx,
            _ => format!("{package}=={} {onnx}", self.version()),
        };
        let (acceptable, error_is_right) = self.acceptable();
        if package == "openvino" && self.is_foreign(&acceptable) {
            return Err("There is no program: numpy has no type for the elements of a tensor.".to_owned());
        }
        let mut setups: Vec<String> = self.ids.iter().map(|id| setup(&id.configuration)).collect();
        setups.dedup();
        let case = json!({
            "expected": self.expected(),
            "check": self.check(),
            "models": self.models(),
            "setups": setups,
            "output": self.output,
            "acceptable": self.files(acceptable.len()),
            "error_is_right": error_is_right,
            "before": self.before(),
            "apart": self.needs_a_process(),
        });
        let case = serde_json::to_string_pretty(&case).map_err(|error| error.to_string())?;
        let in_files = !self.is_defined() && self.check() == Check::Answer;
        let acceptable = acceptable.into_iter().filter(|_| in_files).cloned().collect();
        let commands = vec![format!("pip install {packages}"), "python repro.py".to_owned()];
        Ok(Written {
            files: vec![("repro.py", program.to_owned()), ("case.json", case + "\n")],
            commands,
            builds: "",
            acceptable,
        })
    }

    /// The folders with the inputs of the runs before the one that is checked.
    fn before(&self) -> Vec<String> {
        (0..self.generated.case.before.len()).map(test_data::before).collect()
    }

    fn rewriter(&self, Rewriter { package, module, call }: Rewriter) -> Result<Written, String> {
        let models = self.models();
        let (acceptable, error_is_right) = self.acceptable();
        if self.is_foreign(&acceptable) {
            return Err("There is no program: numpy has no type for the elements of a tensor.".to_owned());
        }
        if error_is_right && acceptable.is_empty() && !self.needs_a_process() {
            return Err("There is no program: `model.onnx` is to be rewritten by hand.".to_owned());
        }
        if !self.generated.case.before.is_empty() {
            return Err(NO_EARLIER_RUNS.to_owned());
        }
        let versions = [(package, self.version()), ("onnx", CHECKER_VERSION), ("onnxruntime", ONNXRUNTIME_VERSION)];
        let versions = versions.iter().enumerate().filter(|(place, (name, _))| *place == 0 || *name != package);
        let packages: Vec<String> = versions.map(|(_, (name, version))| format!("{name}=={version}")).collect();
        let commands = vec![format!("pip install {}", packages.join(" ")), "python repro.py".to_owned()];
        let text = render(
            "rewrite.py",
            context! {
                title => self.title, package, module, call, commands => commands.clone(), models => Value::from(Serde(&models)),
                output => self.output, apart => self.needs_a_process(), limit => 60, error_is_right, acceptable => self.files(acceptable.len()),
                expected => self.expected(),
            },
        );
        let acceptable = acceptable.into_iter().filter(|_| !self.is_defined()).cloned().collect();
        Ok(Written { files: vec![("repro.py", text)], commands, builds: "", acceptable })
    }

    /// Whether only one answer is right.
    fn is_defined(&self) -> bool {
        matches!(self.generated.expectation, Expectation::Defined(_))
    }

    /// The files of the outputs that are acceptable.
    fn files(&self, count: usize) -> Vec<String> {
        let file = |index| {
            if self.is_defined() {
                format!("test_data_set_0/output_{}.pb", self.output)
            } else {
                acceptable_file(index)
            }
        };
        (0..count).map(file).collect()
    }

    /// Whether numpy lacks the type of a tensor.
    fn is_foreign(&self, acceptable: &[&Tensor]) -> bool {
        let tensors = self.generated.tensors.iter().chain(acceptable.iter().copied());
        tensors.map(Tensor::element_type).any(|element_type| !is_known_to_numpy(element_type))
    }

    fn rust(&self, Crate { dependencies, main, builds, fed }: Crate) -> Result<Written, String> {
        if !self.generated.case.before.is_empty() {
            return Err(NO_EARLIER_RUNS.to_owned());
        }
        let (acceptable, error_is_right) = self.acceptable();
        let output_type = self.generated.expectation.outputs().and_then(|outputs| outputs.get(self.output));
        let setup = |id: &RuntimeId| outside::setup(&id.name, &id.configuration).replace('`', "");
        let file = CaseFile {
            check: self.check(),
            expected: self.expected(),
            setups: self.ids.iter().map(setup).collect(),
            models: [Some(&self.generated.case), self.variant]
                .into_iter()
                .flatten()
                .zip(["model.onnx", VARIANT_MODEL])
                .map(|(case, file)| ModelFile::new(file, case, fed))
                .collect::<Result<_, _>>()?,
            output: self.output,
            output_type: output_type.map(|output| output.element_type().to_string()).unwrap_or_default(),
            acceptable: acceptable.into_iter().map(TensorFile::new).collect::<Result<_, _>>()?,
            error_is_right,
        };
        let version = self.version();
        let dependency = |(name, more): &(&str, &str)| {
            let more = if more.is_empty() { String::new() } else { format!(", {more}") };
            format!("{name} = {{ version = \"={version}\"{more} }}")
        };
        let dependencies: Vec<String> = dependencies.iter().map(dependency).collect();
        let json = serde_json::to_string(&file).map_err(|error| error.to_string())?;
        let manifest =
            render("Cargo.toml", context! { title => self.title, dependencies, test => self.unit_test().is_some() });
        Ok(Written {
            files: vec![
                ("Cargo.toml", manifest),
                ("case.json", json),
                ("src/main.rs", main.to_owned()),
                ("src/case.rs", CASE.to_owned()),
            ],
            commands: vec!["cargo run --release".to_owned()],
            builds,
            acceptable: vec![],
        })
    }

    fn expected(&self) -> String {
        words::expected(&self.generated.expectation, self.discrepancies)
    }
}

/// The file of an acceptable output, if more than one answer is right.
pub(super) fn acceptable_file(index: usize) -> String {
    format!("acceptable_{index}.pb")
}

/// Whether numpy has the element type, and onnxruntime takes it from numpy.
fn is_known_to_numpy(element_type: ElementType) -> bool {
    element_type as u8 <= ElementType::Uint64 as u8
}

/// The contents of `case.json`, which a program in Rust reads: see `templates/case.rs`.
#[derive(Serialize)]
struct CaseFile {
    check: Check,
    expected: String,
    setups: Vec<String>,
    models: Vec<ModelFile>,
    /// The place of the output that is checked.
    output: usize,
    /// The element type that is expected of it; empty if there is none.
    output_type: String,
    acceptable: Vec<TensorFile>,
    error_is_right: bool,
}

#[derive(Serialize)]
struct ModelFile {
    file: &'static str,
    inputs: Vec<InputFile>,
}

#[derive(Serialize)]
struct InputFile {
    name: String,
    #[serde(flatten)]
    tensor: TensorFile,
}

/// A tensor: its integers, the bits of its floating-point numbers, or its strings.
#[derive(Serialize)]
struct TensorFile {
    r#type: String,
    dims: Vec<i64>,
    elements: Vec<i64>,
    strings: Vec<String>,
}

impl ModelFile {
    fn new(file: &'static str, case: &Case, fed: &[ElementType]) -> Result<ModelFile, String> {
        let Job { inputs: names, runs, .. } = model::job(case, &case.tensors());
        let last = runs.last().map_or(&[][..], Vec::as_slice);
        let input = |(name, tensor): (&Arc<str>, &Tensor)| match tensor.element_type() {
            of if fed.contains(&of) => Ok(InputFile { name: name.to_string(), tensor: TensorFile::new(tensor)? }),
            of => Err(format!("There is no program: the runtime has no type for the elements of a {of} tensor.")),
        };
        Ok(ModelFile { file, inputs: names.iter().zip(last).map(input).collect::<Result<_, _>>()? })
    }
}

/// The most elements that are written for a program.
const MAX_ELEMENTS: usize = 1 << 16;

impl TensorFile {
    fn new(tensor: &Tensor) -> Result<TensorFile, String> {
        if tensor.len() > MAX_ELEMENTS {
            return Err(format!("There is no program: {} elements are too many to write down.", tensor.len()));
        }
        let of = tensor.element_type();
        if of.bits() > 64 {
            return Err(format!("There is no program: no number is written for an element of a {of} tensor."));
        }
        let (mut elements, mut strings) = (vec![], vec![]);
        match tensor.elements() {
            Elements::Strings(all) => {
                let texts = all.iter().map(|bytes| str::from_utf8(bytes).map(str::to_owned)).collect::<Result<_, _>>();
                strings = texts.map_err(|_| "There is no program: a string is not UTF-8.".to_owned())?;
            }
            Elements::Packed(_) => elements.extend((0..tensor.len()).map(|index| {
                let bits = tensor.element_bits(index);
                let number = of.integer(bits).unwrap_or(bits.cast_signed());
                i64::from_le_bytes(*number.to_le_bytes().first_chunk().expect("16 bytes are more than 8"))
            })),
        }
        Ok(TensorFile { r#type: of.to_string(), dims: tensor.dims().to_vec(), elements, strings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::openvino_settings;

    #[test]
    fn a_program_of_openvino_sets_it_up_as_it_was() {
        let generated = Generated::given("Flatten@13 float[2]".parse().unwrap());
        let (name, version) = ("openvino".to_owned(), "2026.4.1".to_owned());
        let reproducer = Reproducer {
            name: "openvino-flatten",
            title: "A finding",
            ids: &[RuntimeId { name, version, configuration: String::new() }],
            discrepancies: &[Discrepancy::WrongValue],
            generated: &generated,
            variant: None,
            output: 0,
            given: &[],
            is_unwritten: false,
        };
        let program = reproducer.write().unwrap().files.remove(0).1;
        assert!(program.lines().any(|line| line == openvino_settings()), "{program}");
        assert!(openvino_settings().contains("\"INFERENCE_NUM_THREADS\": 1"));
    }

    #[test]
    fn a_program_of_onnxruntime_sets_it_up_as_it_was_and_keeps_its_telemetry_off() {
        let generated = Generated::given("Flatten@13 float[2]".parse().unwrap());
        let written = |configuration: &str, is_unwritten| {
            let (name, version) = ("onnxruntime".to_owned(), "1.31.1".to_owned());
            let ids = [RuntimeId { name, version, configuration: configuration.to_owned() }];
            let discrepancies = [Discrepancy::WrongValue];
            let (title, generated, variant) = ("A finding", &generated, None);
            Reproducer {
                name: "onnxruntime-flatten",
                title,
                ids: &ids,
                discrepancies: &discrepancies,
                generated,
                variant,
                output: 0,
                given: &[],
                is_unwritten,
            }
            .write()
        };
        let program = written("all", false).unwrap().files.remove(0).1;
        let case = written("all", false).unwrap().files.remove(1).1;
        assert!(case.contains("\"ORT_ENABLE_ALL\""), "{case}");
        let [off, loaded] =
            ["os.environ[\"ORT_DISABLE_TELEMETRY\"] = \"1\"", "\nimport onnxruntime"].map(|text| program.find(text));
        assert!(off.is_some() && off < loaded, "{program}");
        assert!(
            written("all+CUDA(device_id=0)", false).unwrap_err().contains("no execution provider CUDA(device_id=0)")
        );
        let apart = [false, true].map(|is_unwritten| written("all", is_unwritten).unwrap().files.remove(1).1);
        assert_eq!(
            apart.map(|case| case.contains("\"apart\": true")),
            [false, true],
            "memory of others may end the process"
        );
    }
}
