// Blocks of a Transformer without gradients: an encoder over whole texts, and steps of a decoder for many rows at once.
//
// Rows stand one behind another, without padding. Each row's numbers depend on its own text alone, to the bit.

#pragma once

#include <limits>

#include "products.h"

namespace {

constexpr int64_t kTogether = 256;  // rows whose numbers stay in a core's cache
constexpr int64_t kWidest = 128;     // heads
constexpr int64_t kAhead = 6;        // keys
constexpr int64_t kLine = 16;        // numbers that a cache fetches at once

struct Norm {
  const float *weight, *bias;
};

LAYOUT(Norm, weight, bias);

struct Block {
  Norm own_norm, cross_norm, forward_norm;
  Product own, own_out;      // queries, keys and values in one product; the scale of the scores is in the queries; an
                             // output product without outputs changes nothing
  Product cross, cross_out;  // queries alone: the source's keys and values come from `project`
  Product hidden, forward_out;
};

LAYOUT(Block, own_norm, cross_norm, forward_norm, own, own_out, cross, cross_out, hidden, forward_out);

enum Activation { kRelu, kGelu, kSwish };  // ACTIVATIONS of transformer.py

struct Stack {
  const Block* blocks;
  int64_t layers, dim, pre;  // pre: normalised before each layer of a block, not behind it
  int64_t own_heads, cross_heads;  // own_heads 0: SSRU in place of self-attention, `own` is then W and the gate's W'
  int64_t activation;              // of the feed-forward networks
  double slope, epsilon;           // of swish; of the norms
  Norm norm;                       // of the last states, where pre
};

LAYOUT(Stack, blocks, layers, dim, pre, own_heads, cross_heads, activation, slope, epsilon, norm);

struct Scratch {
  std::unique_ptr<float[]> memory;
  float* next;
  explicit Scratch(int64_t count) : memory(new float[count]), next(memory.get()) {}
  float* take(int64_t count) {
    float* taken = next;
    next += count;
    return taken;
  }
};

// (x - mean) / sqrt(variance + epsilon) · weight + bias, row by row; `to` may be x.
void normalise(const Norm& norm, double epsilon, int64_t dim, int64_t rows, const float* x, float* to) {
  for (int64_t row = 0; row < rows; ++row, x += dim, to += dim) {
    Vector sums{};
    float rest = 0;
    int64_t place = 0;
    for (; place + kLanes <= dim; place += kLanes) sums += load(x + place);
    for (; place < dim; ++place) rest += x[place];
    const float mean = (sum_of(sums) + rest) / float(dim);
    Vector squares{};
    rest = 0;
    for (place = 0; place + kLanes <= dim; place += kLanes) {
      const Vector off = load(x + place) - mean;
      squares += off * off;
    }
    for (; place < dim; ++place) rest += (x[place] - mean) * (x[place] - mean);
    const float scale = 1.0f / std::sqrt((sum_of(squares) + rest) / float(dim) + float(epsilon));
    for (place = 0; place + kLanes <= dim; place += kLanes) {
      store(to + place, (load(x + place) - mean) * scale * load(norm.weight + place) + load(norm.bias + place));
    }
    for (; place < dim; ++place) to[place] = (x[place] - mean) * scale * norm.weight[place] + norm.bias[place];
  }
}

inline float dot(const float* a, const float* b, int64_t dim) {
  Vector sums{};
  int64_t place = 0;
  for (; place + kLanes <= dim; place += kLanes) sums += load(a + place) * load(b + place);
  float sum = sum_of(sums);
  for (; place < dim; ++place) sum += a[place] * b[place];
  return sum;
}

// Keys of long texts are in no cache near by: they are asked for some turns before they are read.
inline void fetch(const float* const* keys, int64_t key, int64_t count, int64_t width) {
  if (key + kAhead >= count) return;
  for (int64_t place = 0; place < 2 * width; place += kLine) __builtin_prefetch(keys[key + kAhead] + place);
}

// scores (keys, heads) of a query; heads stand side by side, so that four of them are summed up together.
void score(const float* query, const float* const* keys, int64_t count, int64_t heads, int64_t dim, float* scores) {
  const bool by_four = heads % 4 == 0 && dim % kLanes == 0;
  for (int64_t key = 0; key < count; ++key, scores += heads) {
    const float* other = keys[key];
    fetch(keys, key, count, heads * dim);
    for (int64_t head = 0; head < heads && !by_four; ++head) {
      scores[head] = dot(query + head * dim, other + head * dim, dim);
    }
    for (int64_t head = 0; head < heads && by_four; head += 4) {
      Vector sums[4] = {};
      for (int64_t one = 0; one < 4; ++one) {
        const int64_t first = (head + one) * dim;
        for (int64_t place = first; place < first + dim; place += kLanes) {
          sums[one] += load(query + place) * load(other + place);
        }
      }
      sums_of(sums, scores + head);
    }
  }
}

// The vector whose lane i is lane i ^ by of another.
inline Vector turned(Vector value, int64_t by) {
  Vector found;
  for (int64_t lane = 0; lane < kLanes; ++lane) found[lane] = value[lane ^ by];
  return found;
}

// `softmax` where the heads divide the lanes: a lane is then of the same head in every vector.
void softmax_by_lanes(float* scores, int64_t count, int64_t heads) {
  const int64_t all = count * heads;
  std::fill(scores + all, scores + all + kLanes, -std::numeric_limits<float>::max());
  Vector most = load(scores), sums{};
  for (int64_t one = kLanes; one < all; one += kLanes) most = larger(most, load(scores + one));
  for (int64_t half = kLanes / 2; half >= heads; half /= 2) most = larger(most, turned(most, half));
  for (int64_t one = 0; one < all; one += kLanes) {
    const Vector weights = exponential(load(scores + one) - most);
    store(scores + one, weights);
    sums += weights;
  }
  for (int64_t half = kLanes / 2; half >= heads; half /= 2) sums += turned(sums, half);
  for (int64_t one = 0; one < all; one += kLanes) store(scores + one, load(scores + one) / sums);
}

// scores (keys, heads) → weights that add up to one over the keys; there is room for a vector behind the last.
void softmax(float* scores, int64_t count, int64_t heads) {
  if (kLanes % heads == 0) return softmax_by_lanes(scores, count, heads);
  float tops[kWidest], sums[kWidest];
  for (int64_t head = 0; head < heads; ++head) tops[head] = scores[head], sums[head] = 0;
  for (int64_t key = 1; key < count; ++key) {
    for (int64_t head = 0; head < heads; ++head) tops[head] = std::max(tops[head], scores[key * heads + head]);
  }
  for (int64_t key = 0; key < count; ++key) {
    for (int64_t head = 0; head < heads; ++head) scores[key * heads + head] -= tops[head];
  }
  for (int64_t one = 0; one < count * heads; one += kLanes) store(scores + one, exponential(load(scores + one)));
  for (int64_t key = 0; key < count; ++key) {
    for (int64_t head = 0; head < heads; ++head) sums[head] += scores[key * heads + head];
  }
  for (int64_t head = 0; head < heads; ++head) sums[head] = 1.0f / sums[head];
  for (int64_t key = 0; key < count; ++key) {
    for (int64_t head = 0; head < heads; ++head) scores[key * heads + head] *= sums[head];
  }
}

// weights (keys, heads) → the sum of the values, `width` numbers behind each key; `kSums` vectors of it at once.
template <int64_t kSums>
int64_t read(
    const float* const* keys, int64_t count, int64_t heads, int64_t width, const float* weights, int64_t place,
    float* context) {
  const int64_t dim = width / heads;
  for (; place + kSums * kLanes <= width; place += kSums * kLanes) {
    Vector sums[kSums] = {};
    int64_t head[kSums];
    for (int64_t one = 0; one < kSums; ++one) head[one] = (place + one * kLanes) / dim;
    for (int64_t key = 0; key < count; ++key) {
      const float *value = keys[key] + width + place, *share = weights + key * heads;
      for (int64_t one = 0; one < kSums; ++one) sums[one] += share[head[one]] * load(value + one * kLanes);
    }
    for (int64_t one = 0; one < kSums; ++one) store(context + place + one * kLanes, sums[one]);
  }
  return place;
}

void read(const float* const* keys, int64_t count, int64_t heads, int64_t width, const float* weights, float* context) {
  const int64_t dim = width / heads;
  int64_t place = 0;
  if (dim % kLanes == 0) {
    place = read<8>(keys, count, heads, width, weights, place, context);
    place = read<1>(keys, count, heads, width, weights, place, context);
  }
  for (; place < width; ++place) {
    float sum = 0;
    for (int64_t key = 0; key < count; ++key) sum += weights[key * heads + place / dim] * keys[key][width + place];
    context[place] = sum;
  }
}

// One query against `count` keys → context (width); without keys it is zero.
void attend(
    const float* query, const float* const* keys, int64_t count, int64_t heads, int64_t width, float* scores,
    float* context) {
  if (!count) std::fill(context, context + width, 0.0f);
  if (!count) return;
  score(query, keys, count, heads, width / heads, scores);
  softmax(scores, count, heads);
  read(keys, count, heads, width, scores, context);
}

// Rows that go through a block, and the memory that its layers need.
struct Rows {
  const Stack& stack;
  int64_t count;
  float *states, *normed, *queries, *context, *hidden;

  const float* enter(const Norm& norm) const {
    if (!stack.pre) return states;
    normalise(norm, stack.epsilon, stack.dim, count, states, normed);
    return normed;
  }
  void leave(const Norm& norm, const Product& out, const float* change) const {
    if (out.outputs) {
      multiply<After::add>(out, change, count, states);
    } else {
      for (int64_t one = 0; one < count * stack.dim; ++one) states[one] += change[one];
    }
    if (!stack.pre) normalise(norm, stack.epsilon, stack.dim, count, states, states);
  }
  void feed_forward(const Block& block) const {
    const float* given = enter(block.forward_norm);
    if (stack.activation == kRelu) multiply<After::relu>(block.hidden, given, count, hidden);
    if (stack.activation == kGelu) multiply<After::gelu>(block.hidden, given, count, hidden);
    if (stack.activation == kSwish) multiply<After::swish>(block.hidden, given, count, hidden, float(stack.slope));
    leave(block.forward_norm, block.forward_out, hidden);
  }
  void finish() const {
    if (stack.pre) normalise(stack.norm, stack.epsilon, stack.dim, count, states, states);
  }
};

// Numbers that a row keeps of a step in each layer: a key and a value, or the state of an SSRU.
int64_t kept_of(const Stack& stack) {
  const int64_t outputs = stack.blocks[0].own.outputs;
  return stack.own_heads ? outputs / 3 * 2 : outputs / 2;
}

int64_t widest_of(const Stack& stack) {  // of the queries, keys and values of a row
  const Block& block = stack.blocks[0];
  return std::max(block.own.outputs, block.cross.outputs);
}

int64_t memory_of(const Stack& stack, int64_t rows, int64_t keys) {
  const int64_t of_row = stack.dim + 2 * widest_of(stack) + stack.blocks[0].hidden.outputs;
  return rows * of_row + std::max(stack.own_heads, stack.cross_heads) * keys + kLanes;
}

Rows rows_of(const Stack& stack, int64_t count, float* states, Scratch& scratch) {
  const int64_t widest = widest_of(stack);
  float *normed = scratch.take(count * stack.dim), *queries = scratch.take(count * widest);
  float *context = scratch.take(count * widest), *hidden = scratch.take(count * stack.blocks[0].hidden.outputs);
  return {stack, count, states, normed, queries, context, hidden};
}

// Whole texts through all blocks; every row looks at all rows of its text.
void encode_group(const Stack& stack, int64_t texts, const int64_t* starts, float* states, const float** keys) {
  const int64_t count = starts[texts] - starts[0], width = stack.blocks[0].own_out.inputs;
  Scratch scratch(memory_of(stack, count, count));
  const Rows rows = rows_of(stack, count, states, scratch);
  for (int64_t layer = 0; layer < stack.layers; ++layer) {
    const Block& block = stack.blocks[layer];
    multiply<After::nothing>(block.own, rows.enter(block.own_norm), count, rows.queries);
    for (int64_t text = 0; text < texts; ++text) {
      const int64_t begin = starts[text] - starts[0], end = starts[text + 1] - starts[0];
      for (int64_t row = begin; row < end; ++row) keys[row - begin] = rows.queries + (3 * row + 1) * width;
      for (int64_t row = begin; row < end; ++row) {
        const float* query = rows.queries + 3 * row * width;
        attend(query, keys, end - begin, stack.own_heads, width, scratch.next, rows.context + row * width);
      }
    }
    rows.leave(block.own_norm, block.own_out, rows.context);
    rows.feed_forward(block);
  }
  rows.finish();
}

// states (rows, dim) of texts that stand one behind another, text i from starts[i] to starts[i + 1]; in place.
void encode_texts(const Stack& stack, int64_t texts, const int64_t* starts, float* states) {
  int64_t longest = 0;
  for (int64_t text = 0; text < texts; ++text) longest = std::max(longest, starts[text + 1] - starts[text]);
  std::unique_ptr<const float*[]> keys(new const float*[longest]);
  for (int64_t text = 0; text < texts;) {  // as many at once as stay in a cache
    int64_t last = text + 1;
    while (last < texts && starts[last + 1] - starts[text] <= kTogether) ++last;
    encode_group(stack, last - text, starts + text, states + starts[text] * stack.dim, keys.get());
    text = last;
  }
}

// x (rows, inputs) → to (rows, outputs).
void project_rows(const Product& product, int64_t rows, const float* x, float* to) {
  for (int64_t row = 0; row < rows; row += kTogether) {
    const int64_t count = std::min(kTogether, rows - row);
    multiply<After::nothing>(product, x + row * product.inputs, count, to + row * product.outputs);
  }
}

// What rows that are being written read. Keys and values of a place stand side by side.
struct Past {
  const int32_t* slots;  // (rows, stride): in which row of own[place] is what a row has kept of that place
  int64_t stride, time;  // places before the first step
  float* const* own;     // of each place up to the last step: (layers, rows then, kept), written here for the steps
  const int64_t* rows_then;
  const int32_t* texts;   // (rows,) which text each reads
  const int64_t* starts;  // of the texts in `source`, and the end of the last
  const float* source;    // (layers, places of all texts, 2 · width)
  int64_t places, longest;
  float* aligned;         // (rows, steps, longest) weights of a layer over the source, mean over heads; may be null
  int64_t aligned_layer;
};

LAYOUT(Past, slots, stride, time, own, rows_then, texts, starts, source, places, longest, aligned, aligned_layer);

// Some of the rows that are being written, each with all its steps: these stand side by side, as if each were a row.
struct Steps {
  const Stack& stack;
  const Past& past;
  const Rows& rows;
  int64_t first, count;  // the first of these rows, and the steps of each
  const float** keys;    // room for as many as one step reads
  float* scores;         // and for their scores

  int64_t row_of(int64_t step) const { return first + step / count; }
  int64_t place_of(int64_t step) const { return past.time + step % count; }

  // What a row keeps of a place in a layer: of a step of now, in its own row.
  float* kept(int64_t layer, int64_t place, int64_t row) const {
    const int64_t slot = place < past.time ? past.slots[row * past.stride + place] : row;
    return past.own[place] + (layer * past.rows_then[place] + slot) * kept_of(stack);
  }

  void attend_to_own(int64_t layer) const {
    const int64_t width = stack.blocks[layer].own_out.inputs;
    for (int64_t step = 0; step < rows.count; ++step) {
      const int64_t row = row_of(step), last = place_of(step);
      const float* query = rows.queries + 3 * step * width;
      std::memcpy(kept(layer, last, row), query + width, 2 * width * sizeof(float));
      for (int64_t place = 0; place <= last; ++place) keys[place] = kept(layer, place, row);
      attend(query, keys, last + 1, stack.own_heads, width, scores, rows.context + step * width);
    }
  }

  // c = f · c' + (1 - f) · W x, f = sigmoid(W' x + b); the context is max(0, c).
  void recur(int64_t layer) const {
    const int64_t width = stack.blocks[layer].own.outputs / 2;
    for (int64_t step = 0; step < rows.count; ++step) {
      const int64_t row = row_of(step), last = place_of(step);
      const float *added = rows.queries + 2 * step * width, *forget = added + width;
      const float* before = last ? kept(layer, last - 1, row) : nullptr;
      float *state = kept(layer, last, row), *context = rows.context + step * width;
      for (int64_t place = 0; place < width; place += kLanes) {
        const int64_t some = std::min(kLanes, width - place);
        Vector gates{};
        std::memcpy(&gates, forget + place, some * sizeof(float));
        gates = sigmoid(gates);
        for (int64_t lane = 0; lane < some; ++lane) {
          const int64_t one = place + lane;
          state[one] = gates[lane] * (before ? before[one] : 0.0f) + (1.0f - gates[lane]) * added[one];
          context[one] = std::max(state[one], 0.0f);
        }
      }
    }
  }

  void attend_to_source(int64_t layer) const {
    const int64_t width = stack.blocks[layer].cross.outputs;
    const float* source = past.source + layer * past.places * 2 * width;
    for (int64_t step = 0; step < rows.count; ++step) {
      const int32_t text = past.texts[row_of(step)];
      const int64_t begin = past.starts[text], end = past.starts[text + 1];
      for (int64_t place = begin; place < end; ++place) keys[place - begin] = source + place * 2 * width;
      const float* query = rows.queries + step * width;
      attend(query, keys, end - begin, stack.cross_heads, width, scores, rows.context + step * width);
      if (past.aligned && past.aligned_layer == layer) {
        align(end - begin, past.aligned + (first * count + step) * past.longest);
      }
    }
  }

  // The weights that `attend` has left, over `count` places.
  void align(int64_t count, float* to) const {
    const int64_t heads = stack.cross_heads;
    for (int64_t place = 0; place < count; ++place) {
      to[place] = 0;
      for (int64_t head = 0; head < heads; ++head) to[place] += scores[place * heads + head];
      to[place] /= float(heads);
    }
  }
};

// Vectors (rows, count, dim) of the words read → states of the decoder, in place.
void take_steps(const Stack& stack, const Past& past, int64_t all, int64_t count, float* states) {
  if (!all || !count) return;
  const int64_t together = count == 1 ? all : std::max<int64_t>(1, std::min(all, kTogether / count));
  const int64_t longest = std::max(past.time + count, past.longest);
  Scratch scratch(memory_of(stack, together * count, longest));
  std::unique_ptr<const float*[]> keys(new const float*[longest]);
  const Rows room = rows_of(stack, together * count, states, scratch);
  for (int64_t first = 0; first < all; first += together) {
    Rows rows = room;
    rows.count = std::min(together, all - first) * count, rows.states += first * count * stack.dim;
    const Steps steps{stack, past, rows, first, count, keys.get(), scratch.next};
    for (int64_t layer = 0; layer < stack.layers; ++layer) {
      const Block& block = stack.blocks[layer];
      multiply<After::nothing>(block.own, rows.enter(block.own_norm), rows.count, rows.queries);
      stack.own_heads ? steps.attend_to_own(layer) : steps.recur(layer);
      rows.leave(block.own_norm, block.own_out, rows.context);
      if (block.cross.outputs) {
        multiply<After::nothing>(block.cross, rows.enter(block.cross_norm), rows.count, rows.queries);
        steps.attend_to_source(layer);
        rows.leave(block.cross_norm, block.cross_out, rows.context);
      }
      rows.feed_forward(block);
    }
    rows.finish();
  }
}

}  // namespace
