import numpy as np
import onnx
{% if not expected %}
import pytest
{% endif %}
from onnx.reference import ReferenceEvaluator

MODEL = r"""
{{ model }}
"""


def outputs():
    model = onnx.parser.parse_model(MODEL)
    onnx.checker.check_model(model)
    feeds = {
{% for feed in feeds %}
        {{ feed.name|python }}: np.array([{{ feed.elements }}], np.{{ feed.element_type }}).reshape({{ "[" ~ feed.dims ~ "]" }}),
{% endfor %}
    }
    return ReferenceEvaluator(model).run(None, feeds)


def test_{{ name }}():
{% if expected %}
    expected = np.array([{{ expected.elements }}], np.{{ expected.element_type }}).reshape({{ "[" ~ expected.dims ~ "]" }})
    np.testing.assert_array_equal(outputs()[{{ output }}], expected, strict=True)
{% else %}
    with pytest.raises(Exception):
        outputs()
{% endif %}
