"""Checks onnxruntime on `case.json`.

Exits with 0 if it does what is expected, with 1 while it does not, and with 125 if a model is too new for this release.
"""

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
# What errors say if this release does not have the opset, or the IR version, of a model yet.
TOO_NEW = ("only *guarantees* support", "Unsupported model IR version")


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
    in_numpy = any(isinstance(value, numpy.ndarray) for value in feeds.values())
    return session.run(None, feeds) if in_numpy else session.run_with_ort_values(None, feeds)


def fed(tensors):
    """The tensors as onnxruntime takes them: as `OrtValue`, since numpy lacks types and large dims; with strings as arrays."""
    has_text = any(data_type == onnx.TensorProto.STRING for data_type, *_ in tensors.values())
    return {name: array(tensor) if has_text else native(tensor) for name, tensor in tensors.items()}


def native(tensor):
    data_type, shape, elements = tensor
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(shape, data_type)
    ctypes.memmove(value.data_ptr(), elements, len(elements))
    return value


def read(output):
    if isinstance(output, numpy.ndarray):
        return of_array(output)
    if output.element_type() == onnx.TensorProto.STRING:
        return of_array(output.numpy())
    size = output.tensor_size_in_bytes()
    return output.element_type(), list(output.shape()), ctypes.string_at(output.data_ptr(), size) if size else b""
