//! Where the library of onnxruntime comes from.

use super::wheel::{Platform, Wheel};

/// The release of onnxruntime under test.
pub const ONNXRUNTIME_VERSION: &str = "1.32.0";

/// The variable and the value that keep the library from writing a device id and events below the user's cache directory. The
/// settings of its API do not prevent this. The variable is set before the library is loaded.
pub const NO_TELEMETRY: (&str, &str) = ("ORT_DISABLE_TELEMETRY", "1");

/// The library of a release. The oldest one is the first with the API that the crate `ort` is built for here, its feature
/// `api-20`.
pub static ONNXRUNTIME: Wheel = Wheel {
    package: "onnxruntime",
    version: ONNXRUNTIME_VERSION,
    oldest: "1.20.0",
    variable: "ORT_DYLIB_PATH",
    folder: "onnxruntime/capi/",
    platforms: &[
        Platform {
            os: "linux",
            arch: "x86_64",
            tags: &["manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"],
            sha256: "99e1074c4b2197accd5073052a465361be17b89c093b8ffb6e6bd8f986c52df8",
        },
        Platform {
            os: "linux",
            arch: "aarch64",
            tags: &[
                "manylinux_2_28_aarch64",
                "manylinux_2_27_aarch64",
                "manylinux_2_17_aarch64",
                "manylinux2014_aarch64",
            ],
            sha256: "e36c187006e7a7c8b8d6d57f1a209dd63f52430dca6c282b177718ad6b841054",
        },
        Platform {
            os: "macos",
            arch: "aarch64",
            tags: &["macosx_14_0_arm64", "macosx_13_0_arm64", "macosx_13_0_universal2", "macosx_11_0_universal2"],
            sha256: "d52510bbbcc880c13b826f7d75cdf33ac5cf0bb864d960000fc29ce73f0cb83e",
        },
        Platform {
            os: "windows",
            arch: "x86_64",
            tags: &["win_amd64"],
            sha256: "efe7456952c243a05a53d5b8732953625144642c2f3989094277f6217f0c0c40",
        },
        Platform {
            os: "windows",
            arch: "aarch64",
            tags: &["win_arm64"],
            sha256: "64d394c69d561af3efd4d4f49dcac8f11d0ce135a20701c16d53b74056cd4cf8",
        },
    ],
};
