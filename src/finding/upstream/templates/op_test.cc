#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/providers/provider_test_utils.h"

namespace onnxruntime {
namespace test {

TEST({{ operator }}OpTest, {{ camel }}) {
  OpTester test("{{ operator }}", {{ opset }});
{% for line in lines %}
  {{ line }}
{% endfor %}
}

}  // namespace test
}  // namespace onnxruntime
