// Products of rows with packed weights: the inner loop of every compiled network.
//
// A weight (outputs, inputs) is packed in panels of kPanel outputs, numbers of one input side by side. Each output is
// one sum from the first input to the last, so that a row's numbers are the same in any company of rows, to the bit.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#include "layout.h"

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

// The sums of four vectors, side by side.
inline void sums_of(const Vector* four, float* to) {
#if defined(__AVX512F__)
  const __m512 a = (__m512)four[0], b = (__m512)four[1], c = (__m512)four[2], d = (__m512)four[3];
  const __m512d ab = (__m512d)(_mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b));
  const __m512d cd = (__m512d)(_mm512_unpacklo_ps(c, d) + _mm512_unpackhi_ps(c, d));
  const __m512 all = (__m512)_mm512_unpacklo_pd(ab, cd) + (__m512)_mm512_unpackhi_pd(ab, cd);
  const __m256 half = _mm512_castps512_ps256(all) + _mm256_castpd_ps(_mm512_extractf64x4_pd((__m512d)all, 1));
  _mm_storeu_ps(to, _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1));
#elif defined(__AVX__)
  const __m256 a = (__m256)four[0], b = (__m256)four[1], c = (__m256)four[2], d = (__m256)four[3];
  const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  _mm_storeu_ps(to, _mm256_castps256_ps128(all) + _mm256_extractf128_ps(all, 1));
#else
  for (int64_t one = 0; one < 4; ++one) to[one] = sum_of(four[one]);
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

inline Vector sigmoid(Vector x) {
  const Vector small = exponential(x < 0.0f ? x : -x);  // of -|x|, which cannot overflow
  return (x < 0.0f ? small : Vector{} + 1.0f) / (small + 1.0f);
}

// x · Φ(x), Φ of the normal distribution: equation 7.1.26 of Abramowitz and Stegun, exact to 1.5e-7.
inline Vector gelu(Vector x) {
  const Vector size = (x < 0.0f ? -x : x) * 0.7071067811865476f, t = 1.0f / (1.0f + size * 0.3275911f);
  Vector sum = t * 1.061405429f - 1.453152027f;
  sum = sum * t + 1.421413741f;
  sum = sum * t - 0.284496736f;
  sum = sum * t + 0.254829592f;
  const Vector rest = sum * t * exponential(-size * size) * 0.5f;  // Φ(-|x|)
  return x * (x < 0.0f ? rest : 1.0f - rest);
}

// A weight and its bias, as Python packs them; zeros stand behind the last output.
struct Product {
  const void* panels;   // float32 (panels, inputs, kPanel), or 8 bits, see below
  const float* bias;    // (outputs, rounded up to whole panels)
  const float* scales;  // of 8-bit weights (outputs, rounded up), else null
  int64_t inputs, outputs;
};

LAYOUT(Product, panels, bias, scales, inputs, outputs);

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

// 8-bit weights: w = scale · (u - 128), u in panels of four inputs, (panels, inputs / 4, kPanel, 4); a row x = scale · q,
// q from -127 to 127. A product is scale · scale · (sum of u q - 128 · sum of q), the sums in whole numbers.
#if defined(__AVX512VNNI__)
constexpr bool kEight = true;
inline Whole add_products(Whole sum, Whole weights, int32_t given) {
  return (Whole)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)weights, _mm512_set1_epi32(given));
}
#elif defined(__AVXVNNI__) && !defined(__AVX512F__)
constexpr bool kEight = true;
inline Whole add_products(Whole sum, Whole weights, int32_t given) {
  return (Whole)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)weights, _mm256_set1_epi32(given));
}
#else
// The same sums without an instruction for them: correct everywhere, and quicker than float32 nowhere.
constexpr bool kEight = false;
#if defined(__wasm_simd128__)
inline Whole add_products(Whole sum, Whole weights, int32_t given) {
  const v128_t x = wasm_i16x8_extend_low_i8x16(wasm_i32x4_splat(given));
  const v128_t low = wasm_i32x4_dot_i16x8(wasm_u16x8_extend_low_u8x16((v128_t)weights), x);
  const v128_t high = wasm_i32x4_dot_i16x8(wasm_u16x8_extend_high_u8x16((v128_t)weights), x);
  return sum + (Whole)wasm_i32x4_shuffle(low, high, 0, 2, 4, 6) + (Whole)wasm_i32x4_shuffle(low, high, 1, 3, 5, 7);
}
#elif defined(__AVX512BW__)
inline Whole add_products(Whole sum, Whole weights, int32_t given) {
  const __m512i x = _mm512_cvtepi8_epi16(_mm256_set1_epi32(given)), w = (__m512i)weights;
  const __m512i low = _mm512_madd_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(w)), x);
  const __m512i high = _mm512_madd_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(w, 1)), x);
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  return sum + (Whole)_mm512_permutex2var_epi32(low, even, high) + (Whole)_mm512_permutex2var_epi32(low, odd, high);
}
#elif defined(__AVX2__) && !defined(__AVX512F__)
inline Whole add_products(Whole sum, Whole weights, int32_t given) {
  const __m256i x = _mm256_cvtepi8_epi16(_mm_set1_epi32(given)), w = (__m256i)weights;
  const __m256i low = _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm256_castsi256_si128(w)), x);
  const __m256i high = _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm256_extracti128_si256(w, 1)), x);
  return sum + (Whole)_mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0xd8);
}
#else
inline Whole add_products(Whole sum, Whole weights, int32_t given) {
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    for (int64_t one = 0; one < 4; ++one) {
      sum[lane] += int32_t(uint32_t(weights[lane]) >> 8 * one & 255) * int8_t(uint32_t(given) >> 8 * one & 255);
    }
  }
  return sum;
}
#endif
#endif

template <int64_t rows>
inline void multiply_eight(const int8_t* x, int64_t stride, const uint8_t* panel, int64_t fours, Whole (*sums)[2]) {
  Whole kept[rows][2];
#pragma GCC unroll 12
  for (int64_t row = 0; row < rows; ++row) kept[row][0] = sums[row][0], kept[row][1] = sums[row][1];
  for (int64_t four = 0; four < fours; ++four, panel += 4 * kPanel) {
    Whole first, second;
    std::memcpy(&first, panel, sizeof(first));
    std::memcpy(&second, panel + sizeof(first), sizeof(second));
#pragma GCC unroll 12
    for (int64_t row = 0; row < rows; ++row) {
      int32_t given;
      std::memcpy(&given, x + row * stride + 4 * four, sizeof(given));
      kept[row][0] = add_products(kept[row][0], first, given);
      kept[row][1] = add_products(kept[row][1], second, given);
    }
  }
#pragma GCC unroll 12
  for (int64_t row = 0; row < rows; ++row) sums[row][0] = kept[row][0], sums[row][1] = kept[row][1];
}

// Rows as a product reads them.
class Given {
 public:
  Given(const Product& product, const float* x, int64_t rows) : x(x), rows(rows), stride((product.inputs + 3) / 4 * 4) {
    if (!product.scales) return;
    eight.reset(new int8_t[rows * stride]);
    scales.reset(new float[rows]);
    offsets.reset(new int32_t[rows]);
    for (int64_t row = 0; row < rows; ++row) round_off(x + row * product.inputs, product.inputs, row);
  }
  const float* x;
  int64_t rows, stride;
  std::unique_ptr<int8_t[]> eight;
  std::unique_ptr<float[]> scales;
  std::unique_ptr<int32_t[]> offsets;  // what the 128 in the weights adds too much, negative

 private:
  void round_off(const float* from, int64_t inputs, int64_t row) {
    float largest = 0;
    int64_t place = 0;
    Vector tops{};
    for (; place + kLanes <= inputs; place += kLanes) {
      const Vector some = load(from + place);
      tops = larger(tops, larger(some, -some));
    }
    largest = largest_of(tops);
    for (; place < inputs; ++place) largest = std::max(largest, std::fabs(from[place]));
    const float scale = largest > 0 ? 127.0f / largest : 0.0f;
    int8_t* to = eight.get() + row * stride;
    int32_t sum = 0;
    for (place = 0; place < inputs; ++place) {
      const float rounded = from[place] * scale + 12582912.0f;  // to the nearest whole number, in the last bits
      int32_t bits;
      std::memcpy(&bits, &rounded, sizeof(bits));
      to[place] = int8_t(bits);
      sum += to[place];
    }
    std::fill(to + inputs, to + stride, int8_t(0));
    scales[row] = largest / 127.0f;
    offsets[row] = -128 * sum;
  }
};

template <int64_t rows>
struct Tiles {
  static void multiply(const float* x, int64_t stride, const float* panel, int64_t inputs, Vector (*sums)[2], int64_t count) {
    if (count == rows) return multiply_tile<rows>(x, stride, panel, inputs, sums);
    Tiles<rows - 1>::multiply(x, stride, panel, inputs, sums, count);
  }
  static void multiply(const int8_t* x, int64_t stride, const uint8_t* panel, int64_t fours, Whole (*sums)[2], int64_t count) {
    if (count == rows) return multiply_eight<rows>(x, stride, panel, fours, sums);
    Tiles<rows - 1>::multiply(x, stride, panel, fours, sums, count);
  }
};
template <>
struct Tiles<0> {
  template <typename... Arguments>
  static void multiply(Arguments...) {}
};

// done(row, first output, two vectors of outputs) for each row and each panel from `begin` to `end`.
template <typename Done>
inline void multiply_panels(const Product& product, int64_t begin, int64_t end, const Given& given, Done done) {
  const int64_t inputs = product.inputs, stride = given.stride;
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t place = panel * kPanel;
    const Vector first = load(product.bias + place), second = load(product.bias + place + kLanes);
    for (int64_t row = 0; row < given.rows; row += kTile) {
      const int64_t count = std::min(given.rows - row, kTile);
      if (!product.scales) {
        Vector sums[kTile][2];
        for (int64_t one = 0; one < count; ++one) sums[one][0] = first, sums[one][1] = second;
        const float* weights = (const float*)product.panels + place * inputs;
        Tiles<kTile>::multiply(given.x + row * inputs, inputs, weights, inputs, sums, count);
        for (int64_t one = 0; one < count; ++one) done(row + one, place, sums[one][0], sums[one][1]);
      } else {
        Whole sums[kTile][2];
        for (int64_t one = 0; one < count; ++one) {
          sums[one][0] = sums[one][1] = Whole{} + given.offsets[row + one];
        }
        const uint8_t* weights = (const uint8_t*)product.panels + place * stride;
        Tiles<kTile>::multiply(given.eight.get() + row * stride, stride, weights, stride / 4, sums, count);
        const Vector one_scale = load(product.scales + place), other_scale = load(product.scales + place + kLanes);
        for (int64_t one = 0; one < count; ++one) {
          const float scale = given.scales[row + one];
          done(row + one, place, __builtin_convertvector(sums[one][0], Vector) * (one_scale * scale) + first,
               __builtin_convertvector(sums[one][1], Vector) * (other_scale * scale) + second);
        }
      }
    }
  }
}

inline int64_t panels_of(const Product& product) { return (product.outputs + kPanel - 1) / kPanel; }

enum class After { nothing, add, relu, gelu, swish };  // product: written as it is, added to what is there, or activated

// out (rows, outputs) = x W^T + b; `slope` is that of swish, x · sigmoid(slope · x).
template <After after>
inline void multiply(const Product& product, const float* x, int64_t rows, float* out, float slope = 1.0f) {
  const int64_t outputs = product.outputs;
  multiply_panels(product, 0, panels_of(product), Given(product, x, rows), [=](int64_t row, int64_t place, Vector first, Vector second) {
    float* to = out + row * outputs + place;
    Vector both[2] = {first, second};
    for (Vector& one : both) {
      if (after == After::relu) one = larger(one, Vector{});
      if (after == After::gelu) one = gelu(one);
      if (after == After::swish) one = one * sigmoid(one * slope);
    }
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

extern "C" {

int64_t panel() { return kPanel; }             // outputs that stand together in a packed weight
int64_t multiplies_eight() { return kEight; }  // 1 where this processor knows 8-bit products

}  // extern "C"
