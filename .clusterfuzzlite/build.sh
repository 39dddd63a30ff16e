#!/usr/bin/env bash
# Builds the fuzz targets for ClusterFuzzLite and OSS-Fuzz, in a checkout: each into $OUT, with its seeds beside it, and the
# onnxruntime library that all of them load. Both services set OUT, WORK, SANITIZER and FUZZING_ENGINE; so may anyone:
#     mkdir -p target/out target/work
#     OUT=$PWD/target/out WORK=$PWD/target/work SANITIZER=address RUSTUP_TOOLCHAIN=nightly .clusterfuzzlite/build.sh
set -euo pipefail

# The targets show libFuzzer how the runtimes react, and have a mutator that only libFuzzer calls.
if [ "${FUZZING_ENGINE:-libfuzzer}" != libfuzzer ]; then
    echo "These are targets for libFuzzer, and FUZZING_ENGINE is $FUZZING_ENGINE." >&2
    exit 1
fi

# Optimized: with debug assertions a runtime in Rust panics where the one that is shipped does not.
export CARGO_TARGET_DIR="$WORK/target"
cargo fuzz build -O -s "${SANITIZER:-address}" --target-dir "$CARGO_TARGET_DIR"

targets=$(cargo fuzz list)
for target in $targets; do
    cp "$CARGO_TARGET_DIR"/*/release/"$target" "$OUT"
    zip -q -j -r "$OUT/${target}_seed_corpus.zip" "corpus/$target"
done

# A target that is run fetches the library into the cache. There is no network where it will be fuzzed, so the library goes
# beside it, for every user to read.
XDG_CACHE_HOME="$WORK/cache" "$OUT/any" -runs=1
install -m 755 "$WORK"/cache/onnx-crosscheck/onnxruntime-*/libonnxruntime.so "$OUT"
