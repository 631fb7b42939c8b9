// A Transformer without gradients, as Python calls it: see transformer.h.

#include "transformer.h"

extern "C" {

// states (rows, dim) of texts that stand one behind another, text i from starts[i] to starts[i + 1]; in place.
void encode(const Stack* stack, int64_t texts, const int64_t* starts, float* states) {
  int64_t longest = 0;
  for (int64_t text = 0; text < texts; ++text) longest = std::max(longest, starts[text + 1] - starts[text]);
  std::unique_ptr<const float*[]> keys(new const float*[longest]);
  for (int64_t text = 0; text < texts;) {  // as many at once as stay in a cache
    int64_t last = text + 1;
    while (last < texts && starts[last + 1] - starts[text] <= kTogether) ++last;
    encode_group(*stack, last - text, starts + text, states + starts[text] * stack->dim, keys.get());
    text = last;
  }
}

// x (rows, inputs) → to (rows, outputs).
void project(const Product* product, int64_t rows, const float* x, float* to) {
  for (int64_t row = 0; row < rows; row += kTogether) {
    const int64_t count = std::min(kTogether, rows - row);
    multiply<After::nothing>(*product, x + row * product->inputs, count, to + row * product->outputs);
  }
}

// One step: states (rows, dim) of the words read → those of the decoder, in place.
void step(const Stack* stack, const Past* past, int64_t count, float* states) { take_step(stack, past, count, states); }

}  // extern "C"
