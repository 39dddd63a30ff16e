# A backend of ONNX: the module that is the first argument has the functions of onnx.backend.base.Backend, or a class Backend with them.

import importlib

# What a backend says when it lacks something; everything else is a refusal.
GAPS = ("NotImplementedError", "ImportError", "BackendIsNotSupposedToImplementIt", "UnicodeDecodeError")

module = importlib.import_module(sys.argv[1])
backend = module if hasattr(module, "prepare") else module.Backend
gaps = (*GAPS, *getattr(module, "GAPS", ()))


def evaluate(job):
    stage = "load"
    try:
        model = model_of(job["model"])
        initializers = {initializer.name for initializer in model.graph.initializer}
        fed = [value.name for value in model.graph.input if value.name in job["feeds"]]
        if any(name in initializers for name in fed):
            return {"unsupported": "a backend takes its inputs by place, which leaves none for a default"}
        if hasattr(backend, "is_compatible") and not backend.is_compatible(model):
            return {"unsupported": "it is not compatible with the model"}
        prepared = backend.prepare(model)
        stage = "run"
        outputs = prepared.run([array_of(job["feeds"][name]) for name in fed])
        return {"outputs": [text_of_array(output) for output in outputs]}
    except Exception as error:
        return failed(stage, error, gaps)


serve(getattr(module, "__version__", ""), evaluate)
