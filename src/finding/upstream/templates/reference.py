"""Checks onnx.reference on `case.json`. Exits with 0 if it does what is expected, and with 1 while it does not."""

import json
import subprocess
import sys
from pathlib import Path

import numpy
import onnx
from onnx import checker, numpy_helper
from onnx.reference import ReferenceEvaluator

NAME = f"onnx.reference {onnx.__version__}"
TOO_NEW = ()


def run(task):
    """An output of a model, and the shape that was declared of it when the model was loaded."""
    model = onnx.load(task.model)
    checker.check_model(model)
    outputs = ReferenceEvaluator(model).run(None, task.feeds)
    return outputs[task.output], lambda: declared_in(model, task.output)


def fed(tensors):
    return {name: array(tensor) for name, tensor in tensors.items()}


def read(output):
    return of_array(output)
