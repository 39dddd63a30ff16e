#include <limits>
#include <string>
#include <vector>

#include "test/optimizer/graph_transform_test_builder.h"
#include "test/optimizer/graph_transform_test_fixture.h"

namespace onnxruntime {
namespace test {

TEST_F(GraphTransformationTests, {{ camel }}) {
  auto build_test_case = [](ModelTestBuilder& builder) {
{% for line in lines %}
    {{ line }}
{% endfor %}
  };
  auto check_transformed_graph = [](InferenceSessionWrapper&) {};
  TransformerTester(build_test_case, check_transformed_graph, TransformerLevel::Default, TransformerLevel::Level3, {{ opset }});
}

}  // namespace test
}  // namespace onnxruntime
