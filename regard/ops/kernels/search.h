// What searches over a Transformer's decoder share: the rows that are written, and what is found.

#pragma once

#include <algorithm>
#include <vector>

#include "transformer.h"
#include "vocabulary.h"

namespace {

constexpr double kNever = -INFINITY;
const double kSureEnd = std::log(0.5);  // from which an end at the limit is the model's own: SURE_END of decoding/search.py

// The words that may be written of a text, and the head's rows of them.
struct Shortlist {
  Product head;
  const int64_t* words;  // (head.outputs,) ids, rising, so those of PAD, BOS, EOS and UNK are their places, too
};

LAYOUT(Shortlist, head, words);

struct Writer {
  const Stack* stack;
  const Product* head;
  const Shortlist* shortlists;  // of each text; null: all words may be written
  const float *table, *places;  // of a word: table[id] · scale + places[step]; places may be null
  double scale;
  int64_t padding, begin, end, unknown;  // ids
  int64_t zero_begin;                    // 1: the vector of `begin` is places[step] alone
  const uint8_t* eight;                  // a table of numbers u that are scales[id] · (u - 128); else null
  const float* scales;
};

LAYOUT(Writer, stack, head, shortlists, table, places, scale, padding, begin, end, unknown, zero_begin, eight, scales);

// A word's vector, rounded after each operation, as torch has it: no fused multiply and add.
#if defined(__clang__)
#define TWO_ROUNDINGS  // clang fuses within a statement alone
#else
#define TWO_ROUNDINGS __attribute__((noinline, optimize("fp-contract=off")))
#endif
TWO_ROUNDINGS void embed(const Writer& writer, int64_t id, int64_t place, float* to) {
  const int64_t dim = writer.stack->dim;
  const float scale = writer.zero_begin && id == writer.begin ? 0.0f : float(writer.scale);
  const float* added = writer.places + place * dim;
  for (int64_t one = 0; one < dim; ++one) {
    const int64_t at = id * dim + one;
    const float number = writer.eight ? writer.scales[id] * float(int(writer.eight[at]) - 128) : writer.table[at];
    const float scaled = number * scale;
    to[one] = writer.places ? scaled + added[one] : scaled;
  }
}

// Rows before the first step, one for each text.
struct Start {
  int64_t texts;
  const int64_t* last;  // (texts,) the word that each reads first
  const Past* past;
};

LAYOUT(Start, texts, last, past);

struct Rules {
  int64_t size, wanted, stop, least;   // hypotheses written, and answered; see below; pieces before an end
  int64_t at_limit;                    // see below
  const int64_t* limits;               // (texts,) most pieces
  const double* norms;                 // what a sum of so many log-probabilities is divided by
  void (*stepped)();                   // is told of every step, and may then drop texts; may be null
  const uint8_t* dropped;              // (texts,) which are written no further
};

LAYOUT(Rules, size, wanted, stop, least, at_limit, limits, norms, stepped, dropped);

enum Stop { kFull, kExact, kBestFull };  // BEAM_STOPS of search.py
enum AtLimit { kEnd, kFree, kCut };      // BEAM_LIMITS of search.py

struct Hypothesis {
  double score;
  bool finished;  // false: cut off at the limit, so that its end, if it has one, was forced
  std::vector<int64_t> ids;
  std::vector<double> log_probs;  // of each id, and of the end if it has one

  bool has_end() const { return log_probs.size() > ids.size(); }
};

struct Word {
  int64_t id, place, before;  // place: among all candidates; before: the row of the last step that it follows
  double sum, log_prob;
};

struct Found {
  std::vector<std::vector<Hypothesis>> texts;
};

// The rows of a search: each step reads the last word of each, and is followed by the words that are written next.
class DecodedRows {
 public:
  DecodedRows(const Writer& writer, const Start& start, const Rules& rules)
      : writer(writer), past(*start.past), begun(start.past->time) {
    longest = begun + *std::max_element(rules.limits, rules.limits + start.texts);
    own.assign(past.own, past.own + begun);
    rows_then.assign(past.rows_then, past.rows_then + begun);
    slots.resize(start.texts * longest);
    for (int64_t text = 0; text < start.texts; ++text) {
      written.push_back({start.last[text], 0, text, 0.0, 0.0});
      read.push_back(past.texts[text]);
      std::copy_n(past.slots + text * past.stride, begun, slots.data() + text * longest);
    }
  }

  // The decoder's states of all rows.
  void step() {
    const int64_t count = written.size(), dim = writer.stack->dim;
    ++length;
    states.resize(count * dim);
    for (int64_t row = 0; row < count; ++row) embed(writer, written[row].id, length - 1, states.data() + row * dim);
    memory.emplace_back(new float[writer.stack->layers * count * kept_of(*writer.stack)]);
    own.push_back(memory.back().get());
    rows_then.push_back(count);
    past.slots = slots.data(), past.stride = longest, past.time = begun + length - 1;
    past.own = own.data(), past.rows_then = rows_then.data(), past.texts = read.data();
    take_steps(*writer.stack, past, count, 1, states.data());
  }

  // These words are the rows from now on.
  void go_on(std::vector<Word>&& next) {
    history.push_back(std::move(written));
    std::vector<int32_t> moved(next.size() * longest), texts_of(next.size());
    const int64_t time = begun + length - 1;
    for (int64_t row = 0; row < int64_t(next.size()); ++row) {
      const int64_t before = next[row].before;
      std::copy_n(slots.data() + before * longest, time, moved.data() + row * longest);
      moved[row * longest + time] = int32_t(before);
      texts_of[row] = read[before];
    }
    slots = std::move(moved), read = std::move(texts_of), written = std::move(next);
  }

  // What an end behind the last words ends at this step.
  Hypothesis ended(const Word& end, double score, int64_t limit) const {
    Hypothesis made = hypothesis(end, length, score);
    made.ids.pop_back();
    made.finished = length < limit || end.log_prob >= kSureEnd;
    return made;
  }

  // `size` words without an end, the last of them a word of this step or of the one before.
  Hypothesis hypothesis(const Word& last, int64_t size, double score) const {
    Hypothesis made{score, false, std::vector<int64_t>(size), std::vector<double>(size)};
    const Word* word = &last;
    for (int64_t place = size - 1; place >= 0; --place) {
      made.ids[place] = word->id;
      made.log_probs[place] = word->log_prob;
      word = place == length - 1 ? &written[word->before] : &history[place][word->before];
    }
    return made;
  }

  const Writer& writer;
  int64_t length = 0;          // words of a row, with those of this step
  std::vector<Word> written;   // the last word of each row
  std::vector<float> states;   // (rows, dim)

 private:
  Past past;
  int64_t begun, longest;                  // places before the first step; of all
  std::vector<std::vector<Word>> history;  // the rows of each step before
  std::vector<int32_t> slots, read;        // as of Past
  std::vector<float*> own;
  std::vector<int64_t> rows_then;
  std::vector<std::unique_ptr<float[]>> memory;
};

// Runs a search, and keeps the best it has found of each text.
template <typename Run>
Found* best_found(Run run, int64_t texts, int64_t wanted) {
  std::unique_ptr<Found> found(new Found);
  found->texts.resize(texts);
  run(*found);
  for (auto& known : found->texts) {
    std::stable_sort(known.begin(), known.end(), [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    known.erase(known.begin() + std::min<int64_t>(known.size(), wanted), known.end());
  }
  return found.release();
}

}  // namespace

extern "C" {

// How many hypotheses each text has, and how many log-probabilities stand in all of them.
int64_t sizes(const Found* found, int64_t* counts) {
  int64_t total = 0;
  for (const auto& known : found->texts) {
    *counts++ = known.size();
    for (const Hypothesis& one : known) total += one.log_probs.size();
  }
  return total;
}

// All hypotheses one behind another: their lengths, scores and ends, their log-probabilities and as many ids. Frees them.
void take(Found* found, int64_t end, int64_t* lengths, double* scores, uint8_t* finished, int64_t* ids, double* log_probs) {
  for (const auto& known : found->texts) {
    for (const Hypothesis& one : known) {
      *lengths++ = one.log_probs.size(), *scores++ = one.score, *finished++ = one.finished;
      ids = std::copy(one.ids.begin(), one.ids.end(), ids);
      if (one.has_end()) *ids++ = end;
      log_probs = std::copy(one.log_probs.begin(), one.log_probs.end(), log_probs);
    }
  }
  delete found;
}

}  // extern "C"
