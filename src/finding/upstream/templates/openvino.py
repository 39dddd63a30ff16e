"""Checks OpenVINO on `case.json`. Exits with 0 if it does what is expected, and with 1 while it does not."""

import json
import subprocess
import sys
from pathlib import Path

import numpy
import onnx
import openvino
from onnx import numpy_helper

NAME = f"OpenVINO {openvino.__version__}"
TOO_NEW = ()
# As in onnx-crosscheck: how many threads there are decides which of its code runs.
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "EXECUTION_MODE_HINT": "ACCURACY"}


def run(task):
    """An output of a model, and the shape that was declared of it when the model was loaded."""
    compiled = openvino.Core().compile_model(task.model, "CPU", SETTINGS)
    output = compiled(task.feeds)[task.output]
    return output, lambda: declared_in(onnx.load(task.model), task.output)


def fed(tensors):
    return {name: array(tensor) for name, tensor in tensors.items()}


def read(output):
    return of_array(output)
