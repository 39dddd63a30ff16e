# The reference evaluator of the onnx package.

from onnx import checker
from onnx.reference import ReferenceEvaluator

# What the package says when it lacks something; everything else is a refusal.
# The checker wants the rank of every graph input to be declared.
GAPS = (
    *("NotImplementedError", "ImportError", "RuntimeImplementationError", "RuntimeContextError", "UnicodeDecodeError"),
    *("is higher than the checker's", "No Op registered for", "No implementation for operator", "MemoryError", "array is too big"),
    *("Field 'shape' of 'type' is required", "maximum supported dimension for an ndarray"),
)


def evaluate(job):
    stage = "load"
    try:
        model = model_of(job["model"])
        checker.check_model(model)
        session = ReferenceEvaluator(model)
        stage = "run"
        feeds = {name: array_of(text) for name, text in job["feeds"].items()}
        return {"outputs": [text_of_array(output) for output in session.run(None, feeds)]}
    except Exception as error:
        return failed(stage, error, GAPS)


serve(onnx.__version__, evaluate)
