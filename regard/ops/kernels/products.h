// Products of rows with packed weights: the inner loop of every compiled network.
//
// A weight (outputs, inputs) is packed in panels of kPanel outputs, numbers of one input side by side. Each output is
// one sum from the first input to the last, so that a row's numbers are the same in any company of rows, to the bit.

#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16, kTile = 12;  // 24 sums and two vectors of weights fit in 32 registers
#elif defined(__AVX__)
constexpr int64_t kLanes = 8, kTile = 6;
#else
constexpr int64_t kLanes = 4, kTile = 4;
#endif
constexpr int64_t kPanel = 2 * kLanes;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef int32_t Whole __attribute__((vector_size(kLanes * sizeof(int32_t))));

inline Vector load(const float* from) {
  Vector found;
  std::memcpy(&found, from, sizeof(found));
  return found;
}

inline void store(float* to, Vector value) { std::memcpy(to, &value, sizeof(value)); }

inline float sum_of(Vector value) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)value);
#else
  float sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += value[lane];
  return sum;
#endif
}

inline float largest_of(Vector value) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)value);
#else
  float largest = value[0];
  for (int64_t lane = 1; lane < kLanes; ++lane) largest = largest < value[lane] ? value[lane] : largest;
  return largest;
#endif
}

inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

// exp(x) = 2^n exp(r), |r| <= log(2) / 2, by Taylor's series to the last bit of float32.
inline Vector exponential(Vector x) {
  x = larger(x, Vector{} - 87.0f);
  const Vector shifted = x * 1.4426950408889634f + 12582912.0f;  // rounds to the nearest whole number
  const Vector n = shifted - 12582912.0f;
  const Vector r = (x - n * 0.693145751953125f) - n * 1.428606820309417e-6f;
  Vector sum = r * (1.0f / 5040) + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  Whole bits;  // the last ones of the shifted number are n
  std::memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits + 127) << 23;
  Vector power;
  std::memcpy(&power, &bits, sizeof(power));
  return sum * power;
}

// A weight and its bias, as Python packs them.
struct Product {
  const float* panels;  // (outputs / kPanel, inputs, kPanel), zeros behind the last output
  const float* bias;    // (outputs, rounded up to whole panels)
  int64_t inputs, outputs;
};

template <int64_t rows>
inline void multiply_tile(const float* x, int64_t stride, const float* panel, int64_t inputs, Vector (*sums)[2]) {
  Vector kept[rows][2];
#pragma GCC unroll 12
  for (int64_t row = 0; row < rows; ++row) kept[row][0] = sums[row][0], kept[row][1] = sums[row][1];
  for (int64_t input = 0; input < inputs; ++input, panel += kPanel) {
    const Vector first = load(panel), second = load(panel + kLanes);
#pragma GCC unroll 12
    for (int64_t row = 0; row < rows; ++row) {
      const float given = x[row * stride + input];
      kept[row][0] += given * first;
      kept[row][1] += given * second;
    }
  }
#pragma GCC unroll 12
  for (int64_t row = 0; row < rows; ++row) sums[row][0] = kept[row][0], sums[row][1] = kept[row][1];
}

using Tile = void (*)(const float*, int64_t, const float*, int64_t, Vector (*)[2]);
template <int64_t rows>
struct Tiles {
  static void fill(Tile* tiles) {
    tiles[rows] = multiply_tile<rows>;
    Tiles<rows - 1>::fill(tiles);
  }
};
template <>
struct Tiles<0> {
  static void fill(Tile*) {}
};
struct AllTiles {
  Tile of[kTile + 1] = {};
  AllTiles() { Tiles<kTile>::fill(of); }
};
const AllTiles kTiles;

// x (rows, inputs) → done(row, first output, two vectors) for each panel from `begin` to `end`.
template <typename Done>
inline void multiply_panels(const Product& product, int64_t begin, int64_t end, const float* x, int64_t rows, Done done) {
  Vector sums[kTile][2];
  for (int64_t panel = begin; panel < end; ++panel) {
    const float* weights = product.panels + panel * product.inputs * kPanel;
    const Vector first = load(product.bias + panel * kPanel), second = load(product.bias + panel * kPanel + kLanes);
    for (int64_t row = 0; row < rows; row += kTile) {
      const int64_t count = rows - row < kTile ? rows - row : kTile;
      for (int64_t one = 0; one < count; ++one) sums[one][0] = first, sums[one][1] = second;
      kTiles.of[count](x + row * product.inputs, product.inputs, weights, product.inputs, sums);
      for (int64_t one = 0; one < count; ++one) done(row + one, panel * kPanel, sums[one][0], sums[one][1]);
    }
  }
}

inline int64_t panels_of(const Product& product) { return (product.outputs + kPanel - 1) / kPanel; }

enum class After { nothing, relu, add };  // what becomes of a product: written, cut at zero, or added to what is there

// out (rows, outputs) = x W^T + b.
template <After after>
inline void multiply(const Product& product, const float* x, int64_t rows, float* out) {
  const int64_t outputs = product.outputs;
  multiply_panels(product, 0, panels_of(product), x, rows, [=](int64_t row, int64_t place, Vector first, Vector second) {
    float* to = out + row * outputs + place;
    Vector both[2] = {first, second};
    if (after == After::relu) both[0] = larger(first, Vector{}), both[1] = larger(second, Vector{});
    if (place + kPanel <= outputs) {
      for (int64_t half = 0; half < 2; ++half, to += kLanes) {
        store(to, after == After::add ? load(to) + both[half] : both[half]);
      }
    } else {
      for (int64_t one = 0; place + one < outputs; ++one) {
        const float value = both[one / kLanes][one % kLanes];
        to[one] = after == After::add ? to[one] + value : value;
      }
    }
  });
}

}  // namespace
