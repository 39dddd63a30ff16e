//! The corpus is text: each input is a case in its notation. So people can read its files, and a new generator does not make
//! them invalid.

use std::fmt;
use std::str;

use arbitrary::{Arbitrary, Unstructured};

use super::{GRAPH, takes};
use crate::case::{Case, Generator};
use crate::files::reproduce;
use crate::operator::OPERATORS;

/// The input of a target: a case, read from its notation.
#[derive(Clone, PartialEq, Eq)]
pub struct Input(Case);

impl Input {
    pub fn case(&self) -> &Case {
        &self.0
    }
}

/// `cargo fuzz fmt` shows the command that runs the case.
impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&reproduce(&self.0.to_string()))
    }
}

impl<'a> Arbitrary<'a> for Input {
    /// Bytes that are no case are no input; libFuzzer does not keep them.
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Input> {
        let bytes = u.bytes(u.len())?;
        read(bytes).map(Input).ok_or(arbitrary::Error::IncorrectFormat)
    }
}

pub(super) fn read(bytes: &[u8]) -> Option<Case> {
    str::from_utf8(bytes).ok()?.trim().parse().ok()
}

fn generator(target: &str) -> Generator {
    let own = OPERATORS.iter().copied().filter(|operator| operator.name.eq_ignore_ascii_case(target));
    let own: Vec<_> = own.collect();
    if own.is_empty() { Generator::default() } else { Generator::new(own) }
}

/// Draws a case of the target.
fn drawn(generator: &Generator, target: &str, seed: u32) -> Case {
    let generated = match target {
        GRAPH => generator.graph_case(seed.into(), 0, 2..=6),
        _ => generator.case(seed.into(), 0),
    };
    generated.case
}

/// Reads a case that can be mutated into one of the target. A case of one node never becomes a graph, whatever is changed in
/// it. A case of another operator becomes a case of the target by mutation.
fn of_target(target: &str, bytes: &[u8]) -> Option<Case> {
    read(bytes).filter(|case| target != GRAPH || takes(target, case))
}

/// Mutates the input in the first `size` bytes of `data`, and gives the new size, at most `max_size`. If the bytes are no
/// case, it draws one.
pub fn mutate(target: &str, data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let generator = generator(target);
    let case = of_target(target, &data[..size.min(data.len())]);
    let mutated = match &case {
        // libFuzzer asks for a smaller input.
        Some(case) if max_size < size => generator.simplify(case, seed.into()),
        Some(case) => generator.mutate(case, seed.into()),
        None => drawn(&generator, target, seed),
    };
    write(&generator, mutated, data, max_size, seed)
}

/// Writes a case made of parts of two cases to `out`, and gives its size. If one input is no case, the other is mutated.
pub fn cross_over(target: &str, first: &[u8], second: &[u8], out: &mut [u8], seed: u32) -> usize {
    let generator = generator(target);
    let crossed = match (of_target(target, first), of_target(target, second)) {
        (Some(first), Some(second)) => generator.cross_over(&first, &second, seed.into()),
        (Some(case), None) | (None, Some(case)) => generator.mutate(&case, seed.into()),
        (None, None) => drawn(&generator, target, seed),
    };
    let max_size = out.len();
    write(&generator, crossed, out, max_size, seed)
}

/// Writes a case, simplified until it fits, and gives its size. The size is 0 if none fits.
fn write(generator: &Generator, case: Case, data: &mut [u8], max_size: usize, seed: u32) -> usize {
    let room = max_size.min(data.len());
    let mut case = case;
    for step in 0..64 {
        let line = case.to_string();
        if line.len() <= room {
            data[..line.len()].copy_from_slice(line.as_bytes());
            return line.len();
        }
        case = generator.simplify(&case, u64::from(seed) + step);
    }
    0
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn bytes(generator: &Generator, index: u64, out: &mut [u8]) -> usize {
        write(generator, generator.case(11, index).case, out, out.len(), 0)
    }

    #[test]
    fn a_mutated_input_is_a_case_within_the_size_limit() {
        let generator = Generator::default();
        for index in 0..2000 {
            let mut data = [0; 512];
            let size = bytes(&generator, index, &mut data);
            let seed = u32::try_from(index).unwrap();
            let max_size = [0, 5, 20, 60, 512][seed as usize % 5];
            let new_size = mutate("any", &mut data, size, max_size, seed);
            assert!(new_size <= max_size);
            // The room may be too small for any case.
            assert_eq!(read(&data[..new_size]).is_some(), new_size > 0);
            assert!(new_size > 0 || max_size < 512, "there is room for a case");
        }
    }

    #[test]
    fn random_bytes_are_no_input_and_mutate_into_one() {
        arbtest::arbtest(|u| {
            let mut data = [0; 256];
            u.fill_buffer(&mut data)?;
            let size = u.int_in_range(0..=256)?;
            let seed = u.arbitrary()?;
            let is_case = read(&data[..size]).is_some();
            assert_eq!(Input::arbitrary_take_rest(Unstructured::new(&data[..size])).is_ok(), is_case);
            let new_size = mutate("flatten", &mut data, size, 256, seed);
            let case = read(&data[..new_size]).expect("a case of the target");
            assert_eq!(case.subject(), "Flatten");
            let (first, second) = data.split_at(100);
            let mut out = [0; 200];
            let crossed = cross_over("flatten", first, second, &mut out, seed);
            assert!(read(&out[..crossed]).is_some());
            Ok(())
        });
    }

    #[test]
    fn every_corpus_file_is_an_input_of_its_target_and_mutates() {
        for target in crate::fuzzing::targets() {
            let folder = format!("{}/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
            let files: Vec<_> = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder}: {e}")).flatten().collect();
            let most = if target == crate::fuzzing::ANY { 150 * OPERATORS.len() } else { 400 };
            assert!((20..=most).contains(&files.len()), "{folder} has {} files", files.len());
            for (file, seed) in files.iter().zip(0..) {
                let text = fs::read(file.path()).unwrap();
                let case = read(&text).unwrap_or_else(|| panic!("{} holds no case", file.path().display()));
                assert!(crate::fuzzing::takes(&target, &case), "{case} is not of {target}");
                let mut data = [0; 1024];
                data[..text.len()].copy_from_slice(&text);
                let size = mutate(&target, &mut data, text.len(), 1024, seed);
                assert!(read(&data[..size]).is_some());
                let mut out = [0; 1024];
                assert!(cross_over(&target, &text, &data[..size], &mut out, seed) > 0);
            }
        }
    }

    #[test]
    fn an_input_shows_itself_as_the_command_that_runs_it() {
        let input = Input::arbitrary_take_rest(Unstructured::new(b"Shape@28 float[2]\n")).unwrap();
        assert_eq!(format!("{input:?}"), "crosscheck run 'Shape@28 float[2]'");
    }
}
