// Beam search over a Transformer's decoder in one call. It finds what decoding/beam.py finds, step by step the same.

#include <numeric>
#include <vector>

#include "transformer.h"
#include "vocabulary.h"

namespace {

constexpr double kNever = -INFINITY;

// The words that may be written of a text, and the head's rows of them.
struct Shortlist {
  Product head;
  const int64_t* words;  // (head.outputs,) ids, rising, so those of PAD, BOS, EOS and UNK are their places, too
};

struct Writer {
  const Stack* stack;
  const Product* head;
  const Shortlist* shortlists;  // of each text; null: all words may be written
  const float *table, *places;  // of a word: table[id] · scale + places[step]; places may be null
  double scale;
  int64_t padding, begin, end, unknown;  // ids
};

// Rows before the first step, one for each text.
struct Start {
  int64_t texts;
  const int64_t* last;  // (texts,) the word that each reads first
  const Past* past;
};

struct Rules {
  int64_t size, wanted, exact, least;  // hypotheses written, and answered; pieces before an end
  const int64_t* limits;               // (texts,) most pieces
  const double* norms;                 // what a sum of so many log-probabilities is divided by
  void (*stepped)();                   // is told of every step, and may then drop texts; may be null
  const uint8_t* dropped;              // (texts,) which are written no further
};

struct Hypothesis {
  double score;
  bool finished;
  std::vector<int64_t> ids;
  std::vector<double> log_probs;
};

struct Text {
  int64_t number;
  double bar = kNever;  // score of the worst of the `wanted` best that are finished
};

struct Word {
  int64_t id, place, before;  // place: among all candidates; before: the row of the last step that it follows
  double sum, log_prob;
};

struct Found {
  std::vector<std::vector<Hypothesis>> texts;
};

class Beams {
 public:
  Beams(const Writer& writer, const Start& start, const Rules& rules, Found& found)
      : writer(writer), rules(rules), found(found), past(*start.past), begun(start.past->time) {
    longest = begun + *std::max_element(rules.limits, rules.limits + start.texts);
    own.assign(past.own, past.own + begun);
    rows_then.assign(past.rows_then, past.rows_then + begun);
    found.texts.resize(start.texts);
    slots.resize(start.texts * longest);
    for (int64_t text = 0; text < start.texts; ++text) {
      texts.push_back({text});
      written.push_back({start.last[text], 0, text, 0.0, 0.0});
      read.push_back(past.texts[text]);
      std::copy_n(past.slots + text * past.stride, begun, slots.data() + text * longest);
    }
  }

  void run() {
    for (length = 1; !texts.empty(); ++length) {
      look_ahead();
      std::vector<Word> going = grow();
      if (rules.stepped) rules.stepped();
      keep(going);
    }
  }

 private:
  // a word's vector in two roundings, as torch has it: no fused multiply and add
  __attribute__((noinline, optimize("fp-contract=off"))) void embed(int64_t id, float* to) const {
    const int64_t dim = writer.stack->dim;
    const float scale = float(writer.scale);
    const float *from = writer.table + id * dim, *place = writer.places + (length - 1) * dim;
    for (int64_t one = 0; one < dim; ++one) {
      const float scaled = from[one] * scale;
      to[one] = writer.places ? scaled + place[one] : scaled;
    }
  }

  // The best words of every row.
  void look_ahead() {
    const int64_t count = written.size(), dim = writer.stack->dim, own_width = writer.stack->blocks[0].own_out.inputs;
    states.resize(count * dim);
    for (int64_t row = 0; row < count; ++row) embed(written[row].id, states.data() + row * dim);
    memory.emplace_back(new float[writer.stack->layers * count * 2 * own_width]);
    own.push_back(memory.back().get());
    rows_then.push_back(count);
    past.slots = slots.data(), past.stride = longest, past.time = begun + length - 1;
    past.own = own.data(), past.rows_then = rows_then.data(), past.texts = read.data();
    take_step(writer.stack, &past, count, states.data());
    each = rules.size + 1;  // one more than go on, since the end does not
    words.assign(count * each, writer.unknown);
    log_probs.resize(count * each);
    if (!writer.shortlists) return find_words(writer.head, 0, count);
    const int64_t width = count / texts.size();
    for (int64_t place = 0; place < int64_t(texts.size()); ++place) {
      const Shortlist& some = writer.shortlists[texts[place].number];
      find_words(&some.head, place * width, width);
      const auto found = words.begin() + place * width * each;
      std::transform(found, found + width * each, found, [&](int64_t word) { return some.words[word]; });
    }
  }

  void find_words(const Product* head, int64_t first, int64_t count) {
    const int64_t forbidden[] = {writer.padding, writer.begin, writer.end}, dim = writer.stack->dim;
    find_best(
        head, count, states.data() + first * dim, each, length <= rules.least ? 3 : 2, forbidden,
        words.data() + first * each, log_probs.data() + first * each);
  }

  // The best `size` words that go on, for each text; ends among the best `size` are finished.
  std::vector<Word> grow() {
    std::vector<Word> going;
    const int64_t width = written.size() / texts.size();
    going.reserve(texts.size() * rules.size);
    for (int64_t place = 0; place < int64_t(texts.size()); ++place) {
      candidates.clear();
      for (int64_t one = place * width * each; one < (place + 1) * width * each; ++one) {
        const double log_prob = log_probs[one], sum = written[one / each].sum + log_prob;
        candidates.push_back({words[one], one, one / each, sum == sum ? sum : kNever, log_prob});
      }
      const int64_t enough = std::min<int64_t>(candidates.size(), rules.size + width);  // a row ends once at most
      std::partial_sort(candidates.begin(), candidates.begin() + enough, candidates.end(), [](const Word& a, const Word& b) {
        return a.sum != b.sum ? a.sum > b.sum : a.place < b.place;
      });
      finish(texts[place]);
      const auto ended = [&](const Word& one) { return one.id == writer.end || one.sum == kNever; };
      std::stable_partition(candidates.begin(), candidates.begin() + enough, [&](const Word& one) { return !ended(one); });
      for (int64_t one = 0; one < rules.size; ++one) {
        going.push_back(candidates[one]);
        if (ended(candidates[one])) going.back().sum = kNever;
      }
    }
    return going;
  }

  void finish(Text& text) {
    const double bar = text.bar;
    auto& known = found.texts[text.number];
    for (int64_t one = 0; one < rules.size; ++one) {
      const Word& word = candidates[one];
      const double score = word.sum / rules.norms[length];
      if (word.id != writer.end || word.sum == kNever || (rules.exact && !(score > bar))) continue;
      known.push_back(hypothesis(word, score, true));
      if (int64_t(known.size()) < rules.wanted) continue;
      std::vector<double> scores;
      for (const Hypothesis& each : known) scores.push_back(each.score);
      std::nth_element(scores.begin(), scores.begin() + rules.wanted - 1, scores.end(), std::greater<double>());
      text.bar = scores[rules.wanted - 1];
    }
  }

  // What is done leaves; the rest is written on.
  void keep(std::vector<Word>& going) {
    std::vector<Text> left;
    std::vector<Word> next;
    for (int64_t place = 0; place < int64_t(texts.size()); ++place) {
      const Word* first = going.data() + place * rules.size;
      if (is_done(texts[place], first)) {
        give_up(texts[place], first);
      } else {
        left.push_back(texts[place]);
        next.insert(next.end(), first, first + rules.size);
      }
    }
    history.push_back(std::move(written));
    std::vector<int32_t> moved(next.size() * longest), texts_of(next.size());
    const int64_t time = begun + length - 1;
    for (int64_t row = 0; row < int64_t(next.size()); ++row) {
      const int64_t before = next[row].before;
      std::copy_n(slots.data() + before * longest, time, moved.data() + row * longest);
      moved[row * longest + time] = int32_t(before);
      texts_of[row] = read[before];
    }
    slots = std::move(moved), read = std::move(texts_of), texts = std::move(left), written = std::move(next);
  }

  bool is_done(const Text& text, const Word* going) const {
    const int64_t limit = rules.limits[text.number];
    if (limit <= length || going->sum == kNever) return true;
    if (rules.stepped && rules.dropped[text.number]) return true;
    if (!rules.exact) return int64_t(found.texts[text.number].size()) >= rules.size;
    return std::max(going->sum / rules.norms[length + 1], going->sum / rules.norms[limit]) <= text.bar;  // no end between is better
  }

  // A text whose limit came before an end is answered by what was written of it.
  void give_up(const Text& text, const Word* going) {
    auto& known = found.texts[text.number];
    for (int64_t one = 0; one < std::min(rules.wanted, rules.size); ++one) {
      if (!known.empty() && (known[0].finished || going[one].sum == kNever)) break;
      known.push_back(hypothesis(going[one], going[one].sum / rules.norms[length], false));
    }
  }

  Hypothesis hypothesis(const Word& last, double score, bool finished) const {
    Hypothesis made{score, finished, std::vector<int64_t>(length - finished), std::vector<double>(length)};
    const Word* word = &last;
    for (int64_t place = length - 1; place >= 0; --place) {
      if (place < int64_t(made.ids.size())) made.ids[place] = word->id;
      made.log_probs[place] = word->log_prob;
      word = place == length - 1 ? &written[word->before] : &history[place][word->before];
    }
    return made;
  }

  const Writer& writer;
  const Rules& rules;
  Found& found;
  Past past;
  int64_t begun, longest, length = 0, each = 0;  // places before the first step; of all; of what is written
  std::vector<Text> texts;                       // that are still being written
  std::vector<Word> written, candidates;         // the last word of each row; what may follow in a text
  std::vector<std::vector<Word>> history;        // the rows of each step before
  std::vector<int32_t> slots, read;              // as of Past
  std::vector<float*> own;
  std::vector<int64_t> rows_then;
  std::vector<std::unique_ptr<float[]>> memory;
  std::vector<float> states, log_probs;
  std::vector<int64_t> words;
};

}  // namespace

extern "C" {

// What is found, to be read by `sizes`, `take` and nothing else; null where memory ran out.
Found* beam_search(const Writer* writer, const Start* start, const Rules* rules) {
  std::unique_ptr<Found> found;
  try {
    found.reset(new Found);
    Beams(*writer, *start, *rules, *found).run();
    for (auto& known : found->texts) {
      std::stable_sort(known.begin(), known.end(), [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
      known.erase(known.begin() + std::min<int64_t>(known.size(), rules->wanted), known.end());
    }
    return found.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

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
      if (one.finished) *ids++ = end;
      log_probs = std::copy(one.log_probs.begin(), one.log_probs.end(), log_probs);
    }
  }
  delete found;
}

}  // extern "C"
