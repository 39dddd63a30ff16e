"""Checks onnxruntime on `case.json`. Exits with 0 if it does what is expected, and with 1 while it does not."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

# Before it is loaded: without this onnxruntime writes a device id and events to the disk.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

NAME = f"onnxruntime {onnxruntime.__version__}"


def run(task):
    """An output of a model, and the shape that was declared of it when the model was loaded."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, task.setup)
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(task.model), options, providers=["CPUExecutionProvider"])
    for feeds in task.before:
        try:
            execute(session, feeds)
        except Exception:
            pass  # It is the run after it that is looked at.
    return execute(session, task.feeds)[task.output], lambda: session.get_outputs()[task.output].shape


def execute(session, feeds):
    if not CASE["foreign"]:
        outputs = session.run(None, {name: array(tensor) for name, tensor in feeds.items()})
        return [of_array(output) for output in outputs]
    # numpy lacks a type, so the bytes are copied.
    outputs = session.run_with_ort_values(None, {name: native(tensor) for name, tensor in feeds.items()})
    return [of_native(output) for output in outputs]


def native(tensor):
    data_type, shape, elements = tensor
    if data_type == onnx.TensorProto.STRING:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array(tensor))
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(shape, data_type)
    ctypes.memmove(value.data_ptr(), elements, len(elements))
    return value


def of_native(value):
    if value.element_type() == onnx.TensorProto.STRING:
        return of_array(value.numpy())
    size = value.tensor_size_in_bytes()
    return value.element_type(), list(value.shape()), ctypes.string_at(value.data_ptr(), size) if size else b""
