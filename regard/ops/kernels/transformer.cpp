// A Transformer without gradients, as Python calls it: see transformer.h.

#include "transformer.h"

extern "C" {

void encode(const Stack* stack, int64_t texts, const int64_t* starts, float* states) {
  encode_texts(*stack, texts, starts, states);
}

void project(const Product* product, int64_t rows, const float* x, float* to) { project_rows(*product, rows, x, to); }

// Vectors (rows, count, dim) of the words read → states of the decoder, in place.
void steps(const Stack* stack, const Past* past, int64_t rows, int64_t count, float* states) {
  take_steps(*stack, *past, rows, count, states);
}

}  // extern "C"
