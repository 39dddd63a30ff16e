//! The inputs of a model: read from files, or drawn from a seed by type and dims.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar};
use prost::Message;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use zip::ZipArchive;

use super::{Network, name};
use crate::model::proto::{DimensionValue, TensorProto, ValueInfoProto};
use crate::model::tensor_proto;
use crate::tensor::{Class, ElementType, Strings, Tensor, element_count};

/// Why inputs of a model cannot be read or drawn.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    #[error("{path}: {what}")]
    File { path: PathBuf, what: String },
    #[error("{0}")]
    Input(String),
}

/// A graph input that has to be fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub name: String,
    pub element_type: ElementType,
    pub dims: Vec<Dim>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    Size(i64),
    /// A symbol of the model, or `INPUT.AXIS` for a dim that the model leaves unknown.
    Symbol(String),
}

/// The sizes that symbols stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sizes(pub BTreeMap<String, i64>);

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.0.iter().map(|(symbol, size)| format!("{symbol}={size}"));
        f.write_str(&sizes.collect::<Vec<_>>().join(" "))
    }
}

/// The declared sizes of a value: `None` for a dim that is a symbol or unknown, and no dims if there is no shape.
pub(super) fn declared_sizes(info: &ValueInfoProto) -> Vec<Option<i64>> {
    let shape = info.r#type.as_ref().and_then(|of| of.tensor_type.as_ref()?.shape.as_ref());
    let size = |value: &Option<DimensionValue>| match value {
        Some(DimensionValue::Size(size)) => Some(*size),
        _ => None,
    };
    shape.map_or(vec![], |shape| shape.dim.iter().map(|dim| size(&dim.value)).collect())
}

impl Network {
    /// The inputs that must be fed: the graph inputs without a default.
    ///
    /// # Errors
    /// If an input is no tensor, has an unknown type, or is declared without a rank.
    pub fn inputs(&self) -> Result<Vec<Input>, FeedError> {
        let graph = self.graph();
        let has_default = |info: &ValueInfoProto| graph.initializer.iter().any(|tensor| tensor.name == info.name);
        graph.input.iter().filter(|info| !has_default(info)).map(Input::of).collect()
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dim = |dim: &Dim| match dim {
            Dim::Size(size) => size.to_string(),
            Dim::Symbol(symbol) => symbol.clone(),
        };
        let dims: Vec<String> = self.dims.iter().map(dim).collect();
        write!(f, "{} {}[{}]", self.name, self.element_type, dims.join(","))
    }
}

impl Input {
    fn of(info: &ValueInfoProto) -> Result<Input, FeedError> {
        let name = name(info);
        let failed = |what: &str| FeedError::Input(format!("the input `{name}` {what}"));
        let tensor = info.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
        let tensor = tensor
            .ok_or_else(|| failed("is a sequence, an optional, a map or a sparse tensor: only tensors are fed"))?;
        let element_type = ElementType::from_data_type(tensor.elem_type.unwrap_or(0));
        let element_type = element_type.ok_or_else(|| failed("is of an unknown element type"))?;
        let shape = tensor.shape.as_ref().ok_or_else(|| failed("is declared without dims: give it with --feed"))?;
        let dim = |(axis, value): (usize, &Option<DimensionValue>)| match value {
            Some(DimensionValue::Size(size)) if *size >= 0 => Dim::Size(*size),
            // Some exporters write `?` for each unknown dim. Two of these need not have the same size.
            Some(DimensionValue::Symbol(symbol)) if symbol.contains(char::is_alphanumeric) => {
                Dim::Symbol(symbol.clone())
            }
            _ => Dim::Symbol(format!("{name}.{axis}")),
        };
        let dims = shape.dim.iter().map(|dim| &dim.value).enumerate().map(dim).collect();
        Ok(Input { name: name.to_owned(), element_type, dims })
    }

    /// The dims with these sizes for symbols; a symbol without a size is 1.
    fn sized(&self, sizes: &Sizes) -> Vec<i64> {
        let size = |dim: &Dim| match dim {
            Dim::Size(size) => *size,
            Dim::Symbol(symbol) => sizes.0.get(symbol).copied().unwrap_or(1),
        };
        self.dims.iter().map(size).collect()
    }
}

/// Sizes of symbols that are tried one after the other: for symbols of the first axis of an input, which is often the batch, and
/// for the others. The sizes that a model is made for are not known, and small sizes show the most for their time.
const TRIED: [(i64, i64); 9] = [(1, 1), (2, 2), (7, 7), (0, 0), (1, 16), (1, 32), (2, 64), (1, 224), (1, 48)];
/// Sizes that are tried after that for one symbol at a time, with 1 for all others.
const TRIED_ALONE: [i64; 4] = [2, 16, 64, 224];
/// How many of the sizes that the model accepts are used, besides one with a size 0.
pub const MOST_SIZES: usize = 3;
/// The most elements of an input that is drawn.
const MOST_ELEMENTS: usize = 1 << 24;

/// The sizes to try. A symbol takes the sizes that are asked for in turn, or else its size in the `given` inputs.
///
/// # Errors
/// If `asked` names a symbol that no input has.
pub fn sizes_to_try(
    inputs: &[Input],
    asked: &[(String, Vec<i64>)],
    given: &[(Arc<str>, Tensor)],
) -> Result<Vec<Sizes>, FeedError> {
    let symbols_up_to = |axes: usize| {
        let dims = inputs.iter().flat_map(move |input| input.dims.iter().take(axes));
        dims.filter_map(|dim| if let Dim::Symbol(symbol) = dim { Some(symbol.clone()) } else { None })
    };
    let symbols: BTreeSet<String> = symbols_up_to(usize::MAX).collect();
    if let Some((symbol, _)) = asked.iter().find(|(symbol, _)| !symbols.contains(symbol)) {
        let there: Vec<&str> = symbols.iter().map(String::as_str).collect();
        let there = if there.is_empty() { "it has none".to_owned() } else { format!("there are {}", there.join(", ")) };
        return Err(FeedError::Input(format!("--dim: no input has a dim `{symbol}`; {there}")));
    }
    let of_given = inputs.iter().flat_map(|input| {
        let tensor = given.iter().find(|(name, _)| **name == *input.name).map(|(_, tensor)| tensor);
        input.dims.iter().zip(tensor.map_or(&[][..], Tensor::dims))
    });
    let known: BTreeMap<String, i64> = of_given
        .filter_map(|(dim, &size)| if let Dim::Symbol(symbol) = dim { Some((symbol.clone(), size)) } else { None })
        .collect();
    let with = |sizes: &dyn Fn(&str) -> i64| symbols.iter().map(|symbol| (symbol.clone(), sizes(symbol))).collect();
    let of_first_axes: BTreeSet<String> = symbols_up_to(1).collect();
    let together =
        TRIED.iter().map(|&(first, other)| with(&|symbol| if of_first_axes.contains(symbol) { first } else { other }));
    let alone = TRIED_ALONE
        .iter()
        .flat_map(|&size| symbols.iter().map(move |own| with(&|symbol| if symbol == own { size } else { 1 })));
    let tried: Vec<BTreeMap<String, i64>> = together.chain(alone).collect();
    let sets = asked.iter().map(|(_, sizes)| sizes.len()).max().unwrap_or(1);
    let mut all = Vec::new();
    for set in 0..sets {
        for tried in &tried {
            let mut sizes = tried.clone();
            sizes.extend(known.clone());
            sizes.extend(asked.iter().map(|(symbol, sizes)| (symbol.clone(), sizes[set % sizes.len()])));
            let sizes = Sizes(sizes);
            if !all.contains(&sizes) {
                all.push(sizes);
            }
        }
    }
    Ok(all)
}

/// The bounds of the integers that are drawn, tried one after the other: with a small bound, indices are in range even for a
/// small dim.
pub const BOUNDS: [u64; 5] = [100, 10, 2, 1, 0];

/// The inputs of a model with these sizes for its symbols: the `given` ones, and drawn ones for the rest. Floating-point numbers
/// are multiples of 1/32 from -1 to 1, so that none is lost in rounding beside another; integers are from 0 up to `bound` - 1, or
/// all 1 if `bound` is 0. `None` if an input has too many elements to be drawn.
pub fn feeds(
    inputs: &[Input],
    given: &[(Arc<str>, Tensor)],
    sizes: &Sizes,
    seed: u64,
    bound: u64,
) -> Option<Vec<(Arc<str>, Tensor)>> {
    let one = |(place, input): (usize, &Input)| {
        if let Some(given) = given.iter().find(|(name, _)| **name == *input.name) {
            return Some(given.clone());
        }
        let dims = input.sized(sizes);
        let count = element_count(&dims).filter(|count| *count <= MOST_ELEMENTS)?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(place as u64);
        Some((Arc::from(&*input.name), drawn(input.element_type, dims, count, bound, &mut rng)))
    };
    inputs.iter().enumerate().map(one).collect()
}

fn drawn(element_type: ElementType, dims: Vec<i64>, count: usize, bound: u64, rng: &mut ChaCha8Rng) -> Tensor {
    const WORDS: [&str; 4] = ["", "a", "the quick brown fox", "Ω"];
    let made = match element_type.class() {
        Class::String => {
            let words = (0..count).map(|_| WORDS[rng.next_u32() as usize % WORDS.len()]);
            Tensor::from_strings(dims, words.collect::<Strings>())
        }
        Class::Bool => {
            Tensor::from_element_bits(element_type, dims, (0..count).map(|_| u128::from(rng.next_u32() % 2)))
        }
        Class::Int | Class::Uint => {
            let bound = bound.min(1 << (element_type.bits() - 1));
            let number = |_| u128::from(rng.next_u64().checked_rem(bound).unwrap_or(1));
            Tensor::from_element_bits(element_type, dims, (0..count).map(number))
        }
        Class::Float(_) | Class::Complex(_) => {
            let mut number = || {
                let thirty_seconds = i32::try_from(rng.next_u32() % 65).unwrap_or(0) - 32;
                float_bits(element_type, f64::from(thirty_seconds) / 32.0)
            };
            Tensor::from_element_bits(element_type, dims, (0..count).map(|_| number()))
        }
    };
    made.expect("as many elements are drawn as the dims hold")
}

/// The bits of a number. A complex number has no imaginary part; for a type of 8 bits or less, the result is any small number.
fn float_bits(element_type: ElementType, number: f64) -> u128 {
    #[expect(clippy::cast_possible_truncation, reason = "it has few bits")]
    let single = number as f32;
    match element_type {
        ElementType::Float | ElementType::Complex64 => single.to_bits().into(),
        ElementType::Double | ElementType::Complex128 => number.to_bits().into(),
        ElementType::Float16 => half::f16::from_f32(single).to_bits().into(),
        ElementType::Bfloat16 => half::bf16::from_f32(single).to_bits().into(),
        // In these types the codes 0 and 1 are small numbers.
        _ => u128::from(number.abs() > 0.5),
    }
}

/// The bits of a small number in an element type.
pub(super) fn float_or_integer(element_type: ElementType, number: u8) -> u128 {
    match element_type.class() {
        Class::Float(_) | Class::Complex(_) => float_bits(element_type, f64::from(number)),
        _ => u128::from(number),
    }
}

/// Reads inputs of a model from files: a folder of `NAME.npy`, `NAME.pb` or `input_K.pb`, one such file, or an `.npz` with an
/// array for each input, by its name.
///
/// # Errors
/// If a file cannot be read, or fits no input.
pub fn read_feeds(path: &Path, inputs: &[Input]) -> Result<Vec<(Arc<str>, Tensor)>, FeedError> {
    let failed = |what: String| FeedError::File { path: path.to_owned(), what };
    let io_failed = |error: io::Error| failed(error.to_string());
    let mut found: Vec<(String, Tensor)> = Vec::new();
    if path.is_dir() {
        let mut files: Vec<PathBuf> =
            fs::read_dir(path).map_err(io_failed)?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        files.sort();
        for file in files {
            found.extend(read_file(&file, inputs)?);
        }
    } else if path.extension().is_some_and(|ending| ending == "npz") {
        let mut archive = ZipArchive::new(File::open(path).map_err(io_failed)?)
            .map_err(|error| failed(format!("it is no .npz file: {error}")))?;
        for place in 0..archive.len() {
            let mut member = archive.by_index(place).map_err(|error| failed(error.to_string()))?;
            let name = member.name().map_err(|error| failed(error.to_string()))?.trim_end_matches(".npy").to_owned();
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).map_err(io_failed)?;
            found.push((name.clone(), array(&bytes).map_err(|what| failed(format!("`{name}`: {what}")))?));
        }
    } else {
        found.extend(read_file(path, inputs)?);
    }
    if found.is_empty() {
        return Err(failed("there is no .npy, .npz or .pb file here with what to feed the model".to_owned()));
    }
    let fits = |(name, tensor): (String, Tensor)| {
        let input = inputs.iter().find(|input| input.name == name).ok_or_else(|| {
            let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
            failed(format!("the model has no input `{name}`; it has {}", names.join(", ")))
        })?;
        if tensor.element_type() != input.element_type {
            let (own, declared) = (tensor.element_type(), input.element_type);
            return Err(failed(format!("`{name}` holds {own}, and the model declares {declared}")));
        }
        Ok((Arc::from(name.as_str()), tensor))
    };
    found.into_iter().map(fits).collect()
}

/// The tensor of a file, and the name of the input that it is for; `None` if it is a file of another kind.
fn read_file(path: &Path, inputs: &[Input]) -> Result<Option<(String, Tensor)>, FeedError> {
    let failed = |what: String| FeedError::File { path: path.to_owned(), what };
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("").to_owned();
    let bytes = || fs::read(path).map_err(|error| failed(error.to_string()));
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("npy") => Ok(Some((stem, array(&bytes()?).map_err(failed)?))),
        Some("pb") if !stem.starts_with("output_") => {
            let proto =
                TensorProto::decode(&bytes()?[..]).map_err(|error| failed(format!("it is no tensor: {error}")))?;
            let tensor = tensor_proto::read(&proto).map_err(|error| failed(error.to_string()))?;
            let by_place = stem.strip_prefix("input_").and_then(|place| inputs.get(place.parse::<usize>().ok()?));
            let own = proto.name.filter(|name| inputs.iter().any(|input| input.name == *name));
            let name = own.or_else(|| by_place.map(|input| input.name.clone())).unwrap_or(stem);
            Ok(Some((name, tensor)))
        }
        _ => Ok(None),
    }
}

/// The tensor of a file in the `.npy` format of `NumPy`.
fn array(bytes: &[u8]) -> Result<Tensor, String> {
    let mut rest = bytes;
    let header = NpyHeader::from_reader(&mut rest).map_err(|error| format!("it is no array of NumPy: {error}"))?;
    let dims = header.shape().iter().map(|&size| i64::try_from(size)).collect::<Result<Vec<_>, _>>();
    let dims = dims.map_err(|error| error.to_string())?;
    if header.order() == Order::Fortran && dims.len() > 1 {
        return Err("it is in Fortran order: save it with numpy.ascontiguousarray".to_owned());
    }
    let DType::Plain(kind) = header.dtype() else { return Err("it is a structured array".to_owned()) };
    if kind.endianness() == Endianness::Big {
        return Err("it is big-endian: save it as little-endian".to_owned());
    }
    let element_type = match (kind.type_char(), kind.size_field()) {
        (TypeChar::Bool, 1) => ElementType::Bool,
        (TypeChar::Float, 2) => ElementType::Float16,
        (TypeChar::Float, 4) => ElementType::Float,
        (TypeChar::Float, 8) => ElementType::Double,
        (TypeChar::Int, 1) => ElementType::Int8,
        (TypeChar::Int, 2) => ElementType::Int16,
        (TypeChar::Int, 4) => ElementType::Int32,
        (TypeChar::Int, 8) => ElementType::Int64,
        (TypeChar::Uint, 1) => ElementType::Uint8,
        (TypeChar::Uint, 2) => ElementType::Uint16,
        (TypeChar::Uint, 4) => ElementType::Uint32,
        (TypeChar::Uint, 8) => ElementType::Uint64,
        (TypeChar::Complex, 8) => ElementType::Complex64,
        (TypeChar::Complex, 16) => ElementType::Complex128,
        (TypeChar::UnicodeStr, length) => return strings(rest, dims, usize::try_from(length).unwrap_or(0)),
        _ => return Err(format!("its type {kind} is not that of a tensor")),
    };
    Tensor::from_packed(element_type, dims, rest).map_err(|error| error.to_string())
}

/// A tensor of strings, each of `length` characters of four bytes, padded with `NUL`.
fn strings(bytes: &[u8], dims: Vec<i64>, length: usize) -> Result<Tensor, String> {
    let count = element_count(&dims).ok_or("its dims hold too many elements")?;
    let (characters, _) = bytes.as_chunks::<4>();
    let text = |place: usize| {
        let own = characters.get(place * length..(place + 1) * length).ok_or("it is cut off")?;
        let read = own.iter().map(|bytes| char::from_u32(u32::from_le_bytes(*bytes)).unwrap_or('\u{fffd}'));
        Ok(read.collect::<String>().trim_end_matches('\0').to_owned())
    };
    let texts = (0..count).map(text).collect::<Result<Vec<String>, &str>>()?;
    Tensor::from_strings(dims, texts.iter().collect()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn input(name: &str, element_type: ElementType, dims: &[&str]) -> Input {
        let dim = |dim: &&str| dim.parse().map_or_else(|_| Dim::Symbol((*dim).to_owned()), Dim::Size);
        Input { name: name.to_owned(), element_type, dims: dims.iter().map(dim).collect() }
    }

    fn text() -> [Input; 2] {
        [input("ids", ElementType::Int64, &["batch", "length"]), input("scale", ElementType::Float, &["2"])]
    }

    /// An `.npy` file of version 1.0.
    fn npy(kind: &str, is_fortran: bool, dims: &str, elements: &[u8]) -> Vec<u8> {
        let order = if is_fortran { "True" } else { "False" };
        let header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({dims}), }}\n");
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), elements].concat()
    }

    #[test]
    fn symbols_take_the_sizes_that_are_asked_for_and_those_of_what_is_given() {
        let all = |asked: &[(&str, &[i64])], given: &[(Arc<str>, Tensor)]| {
            let asked: Vec<_> = asked.iter().map(|(symbol, sizes)| ((*symbol).to_owned(), sizes.to_vec())).collect();
            let all = sizes_to_try(&text(), &asked, given).map_err(|error| error.to_string())?;
            Ok::<_, String>(all.iter().map(Sizes::to_string).collect::<Vec<_>>())
        };
        let free = all(&[], &[]).unwrap();
        assert_eq!(
            free[..5],
            ["batch=1 length=1", "batch=2 length=2", "batch=7 length=7", "batch=0 length=0", "batch=1 length=16"]
        );
        assert!(free.contains(&"batch=1 length=224".to_owned()) && free.contains(&"batch=224 length=1".to_owned()));
        assert_eq!(
            all(&[("batch", &[1, 4]), ("length", &[3])], &[]).unwrap(),
            ["batch=1 length=3", "batch=4 length=3"]
        );
        let given = Tensor::vector(&[0; 30]).with_dims(vec![5, 6]).unwrap();
        assert_eq!(all(&[], &[("ids".into(), given)]).unwrap(), ["batch=5 length=6"]);
        let unknown = all(&[("bach", &[1])], &[]).unwrap_err();
        assert_eq!(unknown, "--dim: no input has a dim `bach`; there are batch, length");
    }

    #[test]
    fn what_is_drawn_fits_the_declaration_and_the_bound() {
        let sizes = Sizes([("batch".to_owned(), 3), ("length".to_owned(), 50)].into());
        let drawn = |bound| feeds(&text(), &[], &sizes, 1, bound).unwrap();
        for bound in BOUNDS {
            let feeds = drawn(bound);
            assert_eq!(feeds, drawn(bound), "a seed stands for its numbers");
            assert_eq!(feeds.iter().map(|(_, tensor)| tensor.dims()).collect::<Vec<_>>(), [&[3, 50][..], &[2]]);
            let most = (0..150).map(|place| feeds[0].1.element_bits(place)).max().unwrap();
            let expected = if bound == 0 { 1..=1 } else { u128::from(bound / 2)..=u128::from(bound - 1) };
            assert!(expected.contains(&most), "{most} is the largest below {bound}");
        }
        let all_types = ElementType::ALL.iter().filter(|of| of.class() != Class::String);
        for &element_type in all_types {
            let one = [input("x", element_type, &["3"])];
            assert_eq!(feeds(&one, &[], &Sizes::default(), 0, 2).unwrap()[0].1.element_type(), element_type);
        }
        let large = Sizes([("batch".to_owned(), 1 << 20), ("length".to_owned(), 1 << 20)].into());
        assert_eq!(feeds(&text(), &[], &large, 0, 1), None);
    }

    #[test]
    fn files_are_read_for_the_inputs_that_they_name() {
        let folder = tempfile::tempdir().unwrap();
        let ids = npy("<i8", false, "1, 2", &[3_i64.to_le_bytes(), 4_i64.to_le_bytes()].concat());
        let scale =
            Tensor::from_packed(ElementType::Float, vec![2], [1_f32, 2.0].map(f32::to_le_bytes).concat()).unwrap();
        let proto = tensor_proto::write("", &scale, crate::case::Encoding::Raw);
        fs::write(folder.path().join("ids.npy"), &ids).unwrap();
        fs::write(folder.path().join("input_1.pb"), proto.encode_to_vec()).unwrap();
        fs::write(folder.path().join("output_0.pb"), "an output is not fed").unwrap();
        let expected: [(Arc<str>, Tensor); 2] =
            [("ids".into(), Tensor::vector(&[3, 4]).with_dims(vec![1, 2]).unwrap()), ("scale".into(), scale)];
        assert_eq!(read_feeds(folder.path(), &text()).unwrap(), expected);
        let file = folder.path().join("all.npz");
        let mut archive = ZipWriter::new(File::create(&file).unwrap());
        archive.start_file("ids.npy", SimpleFileOptions::default()).unwrap();
        archive.write_all(&ids).unwrap();
        archive.finish().unwrap();
        assert_eq!(read_feeds(&file, &text()).unwrap(), expected[..1]);

        let words = npy(
            "<U3",
            false,
            "2,",
            &"ab\0\u{3a9}\0\0".chars().flat_map(|one| u32::from(one).to_le_bytes()).collect::<Vec<_>>(),
        );
        assert_eq!(array(&words).unwrap(), Tensor::from_strings(vec![2], ["ab", "\u{3a9}"].iter().collect()).unwrap());
        let failed = |bytes: Vec<u8>, name: &str| {
            let file = folder.path().join(name);
            fs::write(&file, bytes).unwrap();
            read_feeds(&file, &text()).unwrap_err().to_string()
        };
        for (bytes, name, said) in [
            (npy("<i8", false, "1,", &[0; 8]), "id.npy", "the model has no input `id`; it has ids, scale"),
            (npy("<i4", false, "1, 1", &[0; 4]), "ids.npy", "`ids` holds int32, and the model declares int64"),
            (npy("<i8", true, "1, 2", &[0; 16]), "ids.npy", "numpy.ascontiguousarray"),
            (npy(">i8", false, "1, 1", &[0; 8]), "ids.npy", "big-endian"),
            (
                npy("<i8", false, "1, 2", &[0; 15]),
                "ids.npy",
                "dims [1, 2] hold 2 elements of int64, but 15 bytes were given",
            ),
            (b"no array".to_vec(), "ids.npy", "it is no array of NumPy"),
            (b"no archive".to_vec(), "ids.npz", "it is no .npz file"),
            (b"notes".to_vec(), "ids.txt", "there is no .npy, .npz or .pb file here"),
        ] {
            let message = failed(bytes, name);
            assert!(message.contains(said) && message.contains(name), "{message}");
        }
    }
}
