"""The dnn module of OpenCV as a backend of ONNX; docs/rewriters.md describes its row. It needs onnx and opencv-python-headless."""

import cv2
import numpy
import onnx
from onnx.backend.base import Backend, BackendRep

__version__ = cv2.__version__

# Messages of OpenCV that mean a gap.
GAPS = ("Can't create layer", "Unsupported data type", "is not implemented", "not supported", "Not supported")


class Prepared(BackendRep):
    def __init__(self, model):
        self.net = cv2.dnn.readNetFromONNX(numpy.frombuffer(model.SerializeToString(), numpy.uint8))
        initializers = {initializer.name for initializer in model.graph.initializer}
        self.inputs = [value.name for value in model.graph.input if value.name not in initializers]
        self.outputs = [value.name for value in model.graph.output]

    def run(self, inputs, **kwargs):
        for name, array in zip(self.inputs, inputs):
            self.net.setInput(array, name)
        return self.net.forward(self.outputs)


class OpenCvBackend(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        return Prepared(model)


prepare = OpenCvBackend.prepare
