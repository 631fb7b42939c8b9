// Dropout in one pass over memory with what comes before or after it. A number is kept where its random byte is at
// least the threshold, and multiplied by `scale`.

#include <cstdint>

extern "C" {

// result = before + dropped change
void add_dropped(
    int64_t count, const uint8_t* bytes, int64_t threshold, double scale, const float* before, const float* change,
    float* result, int64_t threads) {
  const uint8_t least = static_cast<uint8_t>(threshold);
  const float factor = static_cast<float>(scale);
#pragma omp parallel for simd num_threads(threads)
  for (int64_t place = 0; place < count; ++place)
    result[place] = before[place] + (bytes[place] >= least ? change[place] * factor : 0.0f);
}

// The gradient of what was dropped, by that of the result.
void drop_gradient(
    int64_t count, const uint8_t* bytes, int64_t threshold, double scale, const float* gradient, float* to_change,
    int64_t threads) {
  const uint8_t least = static_cast<uint8_t>(threshold);
  const float factor = static_cast<float>(scale);
#pragma omp parallel for simd num_threads(threads)
  for (int64_t place = 0; place < count; ++place)
    to_change[place] = bytes[place] >= least ? gradient[place] * factor : 0.0f;
}

// max(0, hidden), dropped, in place.
void relu_dropped(int64_t count, const uint8_t* bytes, int64_t threshold, double scale, float* hidden, int64_t threads) {
  const uint8_t least = static_cast<uint8_t>(threshold);
  const float factor = static_cast<float>(scale);
#pragma omp parallel for simd num_threads(threads)
  for (int64_t place = 0; place < count; ++place)
    hidden[place] = (bytes[place] >= least) & (hidden[place] > 0.0f) ? hidden[place] * factor : 0.0f;
}

// The gradient of what relu_dropped took, by its result: what passed is above 0.
void relu_gradient(
    int64_t count, double scale, const float* result, const float* gradient, float* to_hidden, int64_t threads) {
  const float factor = static_cast<float>(scale);
#pragma omp parallel for simd num_threads(threads)
  for (int64_t place = 0; place < count; ++place)
    to_hidden[place] = result[place] > 0.0f ? gradient[place] * factor : 0.0f;
}

}  // extern "C"
