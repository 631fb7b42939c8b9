// The element-wise recurrence of simple recurrent units, forward and backward, one pass each.
//
// Rows and blocks of features are independent, so threads share them; the features of a block are computed together by
// vector instructions. Sums over rows are left to the caller, so nothing is written twice. Without torch's headers this
// takes a second to compile.

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

constexpr int64_t kBlock = 64;  // features of a task

template <typename T>
struct Real;
template <>
struct Real<float> {
  using Bits = uint32_t;
  static constexpr int mantissa = 23, bias = 127, terms = 7;
  static constexpr float limit = 87.0f, magic = 12582912.0f;
};
template <>
struct Real<double> {
  using Bits = uint64_t;
  static constexpr int mantissa = 52, bias = 1023, terms = 13;
  static constexpr double limit = 708.0, magic = 6755399441055744.0;
};

// exp(x) = 2^n exp(r), |r| <= log(2) / 2, by Taylor's series to the last bit: plain arithmetic, which compilers vectorise.
template <typename T>
inline T exponential(T x) {
  using Bits = typename Real<T>::Bits;
  x = x < -Real<T>::limit ? -Real<T>::limit : x;
  x = x > Real<T>::limit ? Real<T>::limit : x;
  const T shifted = x * T(1.4426950408889634074) + Real<T>::magic;  // rounds to the nearest whole number
  const T n = shifted - Real<T>::magic;
  const T r = (x - n * T(0.693145751953125)) - n * T(1.428606820309417232e-6);
  T sum = 1;
  for (int k = Real<T>::terms; k > 0; --k) sum = 1 + sum * r * (T(1) / T(k));
  Bits bits;  // the last ones of the shifted number are n
  std::memcpy(&bits, &shifted, sizeof(T));
  bits = (bits + Real<T>::bias) << Real<T>::mantissa;
  T power;
  std::memcpy(&power, &bits, sizeof(T));
  return sum * power;
}

template <typename T>
inline T sigmoid(T x) {
  return T(1) / (T(1) + exponential(-x));
}

template <typename T>
inline T hyperbolic(T x) {
  return 2 * sigmoid(2 * x) - 1;
}

struct Sizes {
  int64_t rows, steps, dim, products;  // products: how many stand side by side at each step, 3 or 4
};

template <typename Task>
void for_each_block(const Sizes& sizes, int threads, const Task& task) {
  const int64_t blocks = (sizes.dim + kBlock - 1) / kBlock, tasks = sizes.rows * blocks;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && tasks > 1)
  for (int64_t number = 0; number < tasks; ++number) {
    const int64_t from = number % blocks * kBlock;
    task(number / blocks, from, std::min(kBlock, sizes.dim - from));
  }
}

// products: (rows, steps, 3 or 4, dim); skip: (rows, steps, skip_stride); parameters: v_f, v_r, b_f, b_r of (dim) each.
template <typename T, bool Tanh>
void forward(const T* products, const T* skip, int64_t skip_stride, const T* parameters, const T* start,
             const uint8_t* mask, T scale, T* states, T* outputs, const Sizes& sizes, int threads) {
  const int64_t dim = sizes.dim, stride = sizes.products * dim;
  for_each_block(sizes, threads, [&](int64_t row, int64_t from, int64_t width) {
    T c[kBlock];
    std::copy_n(start + row * dim + from, width, c);
    const T *vf = parameters + from, *vr = vf + dim, *bf = vr + dim, *br = bf + dim;
    for (int64_t step = 0; step < sizes.steps; ++step) {
      const int64_t place = row * sizes.steps + step;
      const T *u = products + place * stride + from, *x = skip + place * skip_stride + from;
      T *state = states + place * dim + from, *h = outputs + place * dim + from;
      if (mask && !mask[place]) {
        std::copy_n(c, width, state);
        std::fill_n(h, width, T(0));
        continue;
      }
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const T f = sigmoid(u[j + dim] + vf[j] * c[j] + bf[j]);
        const T r = sigmoid(u[j + 2 * dim] + vr[j] * c[j] + br[j]);
        c[j] = u[j] + f * (c[j] - u[j]);
        state[j] = c[j];
        const T skipped = scale * x[j];
        h[j] = skipped + r * ((Tanh ? hyperbolic(c[j]) : c[j]) - skipped);
      }
    }
  });
}

// From the gradients of the outputs and of the last state to those of everything that went in; of the parameters row by row.
template <typename T, bool Tanh>
void backward(const T* products, const T* skip, int64_t skip_stride, const T* parameters, const T* start,
              const uint8_t* mask, T scale, const T* states, const T* outputs_grad, const T* end_grad,
              T* products_grad, T* skip_grad, T* parameters_grad, T* start_grad, const Sizes& sizes, int threads) {
  const int64_t dim = sizes.dim, stride = sizes.products * dim;
  for_each_block(sizes, threads, [&](int64_t row, int64_t from, int64_t width) {
    T gc[kBlock], gvf[kBlock] = {}, gvr[kBlock] = {}, gbf[kBlock] = {}, gbr[kBlock] = {};
    std::copy_n(end_grad + row * dim + from, width, gc);
    const T *vf = parameters + from, *vr = vf + dim, *bf = vr + dim, *br = bf + dim;
    for (int64_t step = sizes.steps - 1; step >= 0; --step) {
      const int64_t place = row * sizes.steps + step;
      const T *u = products + place * stride + from, *x = skip + place * skip_stride + from;
      const T *state = states + place * dim + from, *before = step ? state - dim : start + row * dim + from;
      const T* gh = outputs_grad + place * dim + from;
      T *gu = products_grad + place * stride + from, *gx = skip_grad + place * skip_stride + from;
      if (mask && !mask[place]) {
        for (int part = 0; part < 3; ++part) std::fill_n(gu + part * dim, width, T(0));
        std::fill_n(gx, width, T(0));
        continue;
      }
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const T f = sigmoid(u[j + dim] + vf[j] * before[j] + bf[j]);
        const T r = sigmoid(u[j + 2 * dim] + vr[j] * before[j] + br[j]);
        const T g = Tanh ? hyperbolic(state[j]) : state[j], slope = Tanh ? 1 - g * g : T(1);
        const T zr = gh[j] * (g - scale * x[j]) * r * (1 - r);
        gx[j] = gh[j] * (1 - r) * scale;
        const T whole = gc[j] + gh[j] * r * slope;
        const T zf = whole * (before[j] - u[j]) * f * (1 - f);
        gu[j] = whole * (1 - f);
        gu[j + dim] = zf;
        gu[j + 2 * dim] = zr;
        gvf[j] += zf * before[j];
        gvr[j] += zr * before[j];
        gbf[j] += zf;
        gbr[j] += zr;
        gc[j] = whole * f + zf * vf[j] + zr * vr[j];
      }
    }
    std::copy_n(gc, width, start_grad + row * dim + from);
    T* gp = parameters_grad + row * 4 * dim + from;
    const T* sums[] = {gvf, gvr, gbf, gbr};
    for (int part = 0; part < 4; ++part) std::copy_n(sums[part], width, gp + part * dim);
  });
}

}  // namespace

#define REGARD_UNIT(T, NAME)                                                                                           \
  extern "C" void forward_##NAME(const T* products, const T* skip, int64_t skip_stride, const T* parameters,           \
                                 const T* start, const uint8_t* mask, double scale, T* states, T* outputs,             \
                                 int64_t rows, int64_t steps, int64_t dim, int64_t count, int tanh, int threads) {     \
    const auto run = tanh ? forward<T, true> : forward<T, false>;                                                      \
    run(products, skip, skip_stride, parameters, start, mask, T(scale), states, outputs, {rows, steps, dim, count},    \
        threads);                                                                                                      \
  }                                                                                                                    \
  extern "C" void backward_##NAME(const T* products, const T* skip, int64_t skip_stride, const T* parameters,          \
                                  const T* start, const uint8_t* mask, double scale, const T* states,                  \
                                  const T* outputs_grad, const T* end_grad, T* products_grad, T* skip_grad,            \
                                  T* parameters_grad, T* start_grad, int64_t rows, int64_t steps, int64_t dim,         \
                                  int64_t count, int tanh, int threads) {                                              \
    const auto run = tanh ? backward<T, true> : backward<T, false>;                                                    \
    run(products, skip, skip_stride, parameters, start, mask, T(scale), states, outputs_grad, end_grad, products_grad, \
        skip_grad, parameters_grad, start_grad, {rows, steps, dim, count}, threads);                                   \
  }

REGARD_UNIT(float, float32)
REGARD_UNIT(double, float64)
