#!/usr/bin/env python3
"""Steps to another release of onnxruntime as the one under test:

    python3 deploy/step_onnxruntime.py 1.32.0

It writes the pinned checksums, the version in code and documents, the last version of each known issue, the causes that are
fixed, and the snapshots. What is left for a person it prints last. It needs Python with pip, and Rust.
"""

import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PINS = ROOT / "src/runtime/provision/onnxruntime.rs"
VERSION = re.compile(r'(ONNXRUNTIME_VERSION: &str = ")([^"]+)(")')
PLATFORM = re.compile(r'(tags: &\[)([^\]]+)(\],\s*sha256: ")([0-9a-f]{64})(")')
# The files that name the release under test. Statements about older releases stay.
DOCUMENTS = [
    "README.md",
    "docs/corpus.md",
    "docs/runtime.md",
    "benches/peer.py",
    "tests/runtimes.rs",
    ".github/workflows/release.yml",
]


def run(*command: str) -> None:
    print("+", *command, flush=True)
    subprocess.run(command, cwd=ROOT, check=True)


def sha256_of_wheel(version: str, tags: list[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        platforms = [word for tag in tags for word in ("--platform", tag)]
        python = ("--implementation", "cp", "--python-version", "312", "--abi", "cp312")
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
        run(*pip, *python, *platforms, "--dest", folder, f"onnxruntime=={version}")
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        return hashlib.sha256(wheel.read_bytes()).hexdigest()


def main() -> None:
    if len(sys.argv) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[1]):
        sys.exit(__doc__)
    new = sys.argv[1]
    text = PINS.read_text()
    old = VERSION.search(text)[2]

    def pin(platform: re.Match) -> str:
        tags = re.findall(r'"([^"]+)"', platform[2])
        return platform[1] + platform[2] + platform[3] + sha256_of_wheel(new, tags) + platform[5]

    pinned = PLATFORM.sub(pin, text)
    PINS.write_text(VERSION.sub(lambda version: version[1] + new + version[3], pinned))
    for name in DOCUMENTS:
        document = ROOT / name
        document.write_text(document.read_text().replace(old, new))

    cargo = ("cargo", "run", "--release", "--locked", "--")
    run(*cargo, "known", "update", "--runtimes", "onnxruntime")
    update = ("env", "INSTA_UPDATE=always", "cargo", "test", "--release", "--locked", "--test", "regressions")
    run(*update, "every_saved_regression_is_as_it_was", "--", "--ignored")
    print(
        f"""
From {old} to {new}: look at `git diff`. What is left:

    cargo run --release -- compare onnxruntime@{old} onnxruntime@{new}
    cargo run --release -- campaign --cases 20000 --seed 1

The first says what changed, with cases; the second finds what no known issue explains, for `crosscheck known add`. The tests
say the rest: cargo test --release --workspace -- --include-ignored"""
    )


if __name__ == "__main__":
    main()
