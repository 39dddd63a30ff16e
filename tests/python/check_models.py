"""Checks every `model.onnx` below a folder with all that onnx.checker has, where the package knows its opset.

The first line says how many were checked; every further one names a model that is not valid, and why.
"""

import pathlib
import sys

import onnx
from full_check import full_check

checked, refused = 0, []
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/model.onnx")):
    model = onnx.load(path)
    if model.opset_import[0].version > onnx.defs.onnx_opset_version():
        continue
    try:
        checked += full_check(model)
    except Exception as error:
        refused.append(f"{path}: {' '.join(str(error).split())}")
print(checked, *refused, sep="\n")
