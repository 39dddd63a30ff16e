//! The cases of onnx-crosscheck: ONNX models with their inputs and right results, for the tests of a runtime in Rust.
//!
//! ```no_run
//! for case in onnx_crosscheck_corpus::cases()? {
//!     let (model, inputs) = (case.model()?, case.inputs()?);
//!     // `None` if the runtime refuses the model or its inputs.
//!     let outputs: Option<Vec<onnx_crosscheck_corpus::Tensor>> = None;
//!     if !case.is_right(outputs.as_deref())? {
//!         println!("{}: {}", case.folder, case.text);
//!     }
//! }
//! # std::io::Result::Ok(())
//! ```

use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::{fs, str};

/// A model with its inputs and right results. The fields are those of `manifest.tsv`.
#[derive(Clone, Debug)]
pub struct Case {
    /// The folder of this crate, or the one given to [`cases_in`].
    pub root: PathBuf,
    /// The folder of the case below `root`, such as `valid/shape-0123abcd`.
    pub folder: String,
    /// The versions of the operators, such as `Reshape-14`, each once.
    pub operators: Vec<String>,
    pub opset: u8,
    /// The element types of graph inputs, initializers and Constants, as ONNX writes them, each once.
    pub types: Vec<String>,
    /// The rule of the specification that the case breaks, or that leaves the case open. `sentence` says what the rule demands, and
    /// `source` names the document.
    pub rule: Option<String>,
    pub sentence: String,
    pub source: String,
    /// The patterns of users' models that the case contains.
    pub patterns: Vec<String>,
    /// Whether nothing can be removed from the case without losing what it shows.
    pub is_minimal: bool,
    /// All results that are right.
    pub right: Vec<Right>,
    /// The case on one line, which `crosscheck run` takes.
    pub text: String,
}

/// A right result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Right {
    /// The runtime gives the outputs in this folder, below that of the case.
    Outputs(String),
    /// The runtime refuses the model or its inputs, at load or at run.
    Refusal,
    /// The runtime gives any outputs.
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The name of the graph input or graph output.
    pub name: String,
    /// The number in `TensorProto.DataType`, such as 1 for float.
    pub element_type: i32,
    pub dims: Vec<i64>,
    pub elements: Elements,
}

/// The elements of a tensor in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// As in `raw_data`: little-endian; of types under 8 bits the first element is in the lowest bits of a byte.
    Bytes(Vec<u8>),
    Strings(Vec<Vec<u8>>),
}

/// Every case in the folder of this crate.
///
/// # Errors
/// If the manifest cannot be read.
pub fn cases() -> Result<Vec<Case>> {
    cases_in(Path::new(env!("CARGO_MANIFEST_DIR")))
}

/// Every case in a folder that `crosscheck export` wrote.
///
/// # Errors
/// If there is no manifest in it, or one that cannot be read.
pub fn cases_in(root: &Path) -> Result<Vec<Case>> {
    let text = fs::read_to_string(root.join("manifest.tsv"))?;
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    lines.map(|line| case(root, &names, line).ok_or_else(|| damaged("manifest.tsv", line))).collect()
}

/// The cases that a runtime is known to fail, from a file under `expected/`: the folder of each, and what the runtime does.
///
/// # Errors
/// If the file cannot be read.
pub fn expected(file: &Path) -> Result<Vec<(String, String)>> {
    let text = fs::read_to_string(file)?;
    let entry = |line: &str| Some(line.split_once('\t')?).map(|(folder, what)| (folder.to_owned(), what.to_owned()));
    Ok(text.lines().filter(|line| !line.starts_with('#')).filter_map(entry).collect())
}

fn damaged(file: impl AsRef<Path>, what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("{}: it cannot be read: {what}", file.as_ref().display()))
}

fn case(root: &Path, names: &[&str], line: &str) -> Option<Case> {
    let values: Vec<&str> = line.split('\t').collect();
    let field = |name: &str| Some(*values.get(names.iter().position(|own| *own == name)?)?);
    let list = |name: &str| Some(field(name)?.split_whitespace().map(str::to_owned).collect::<Vec<String>>());
    let right = |word: &str| match word {
        "refusal" => Right::Refusal,
        "any" => Right::Any,
        folder => Right::Outputs(folder.to_owned()),
    };
    Some(Case {
        root: root.to_owned(),
        folder: field("folder")?.to_owned(),
        operators: list("operators")?,
        opset: field("opset")?.parse().ok()?,
        types: list("types")?,
        rule: Some(field("rule")?).filter(|rule| !rule.is_empty()).map(str::to_owned),
        sentence: field("sentence")?.to_owned(),
        source: field("source")?.to_owned(),
        patterns: list("patterns")?,
        is_minimal: field("minimal")? == "yes",
        right: list("right")?.iter().map(|word| right(word)).collect(),
        text: field("case")?.to_owned(),
    })
}

impl Case {
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.folder)
    }

    /// The serialized `ModelProto`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn model(&self) -> Result<Vec<u8>> {
        fs::read(self.path().join("model.onnx"))
    }

    /// A tensor for each graph input that is fed.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn inputs(&self) -> Result<Vec<Tensor>> {
        tensors(&self.path().join("test_data_set_0"), "input")
    }

    /// A tensor for each graph output, from a folder of [`Right::Outputs`].
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn outputs(&self, folder: &str) -> Result<Vec<Tensor>> {
        tensors(&self.path().join(folder), "output")
    }

    /// Whether these outputs are right or, for `None`, whether a refusal is right. The names of outputs are not compared.
    ///
    /// # Errors
    /// If the right outputs cannot be read.
    pub fn is_right(&self, outputs: Option<&[Tensor]>) -> Result<bool> {
        for right in &self.right {
            let is_it = match (right, outputs) {
                (Right::Refusal, None) | (Right::Any, Some(_)) => true,
                (Right::Outputs(folder), Some(given)) => {
                    let own = self.outputs(folder)?;
                    own.len() == given.len() && own.iter().zip(given).all(|(own, given)| own.is_same(given))
                }
                _ => false,
            };
            if is_it {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Tensor {
    /// Whether another tensor has the same type, the same dims and the same bits.
    pub fn is_same(&self, other: &Tensor) -> bool {
        (self.element_type, &self.dims, &self.elements) == (other.element_type, &other.dims, &other.elements)
    }
}

fn tensors(folder: &Path, kind: &str) -> Result<Vec<Tensor>> {
    let files = (0..).map(|place| folder.join(format!("{kind}_{place}.pb"))).take_while(|file| file.is_file());
    files
        .map(|file| tensor(&fs::read(&file)?).ok_or_else(|| damaged(&file, "no such tensor is written here")))
        .collect()
}

/// The number of the element type string.
const STRING: i32 = 8;

/// Reads a `TensorProto` as this corpus has it, with its elements in `raw_data` or `string_data`.
fn tensor(mut bytes: &[u8]) -> Option<Tensor> {
    let (mut name, mut element_type, mut dims, mut raw, mut strings) = (String::new(), 0, vec![], vec![], vec![]);
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        match (key >> 3, key & 7) {
            (1, 0) => dims.push(number(&mut bytes)?),
            (2, 0) => element_type = i32::try_from(varint(&mut bytes)?).ok()?,
            (field, 2) => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let value = bytes.get(..length)?;
                bytes = &bytes[length..];
                match field {
                    1 => {
                        let mut packed = value;
                        while !packed.is_empty() {
                            dims.push(number(&mut packed)?);
                        }
                    }
                    6 => strings.push(value.to_vec()),
                    8 => str::from_utf8(value).ok()?.clone_into(&mut name),
                    9 => raw = value.to_vec(),
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    let elements = if element_type == STRING { Elements::Strings(strings) } else { Elements::Bytes(raw) };
    Some(Tensor { name, element_type, dims, elements })
}

fn number(bytes: &mut &[u8]) -> Option<i64> {
    varint(bytes).map(|value| i64::from_le_bytes(value.to_le_bytes()))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..10 {
        let (&first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << (7 * place);
        if first < 0x80 {
            return Some(value);
        }
    }
    None
}
