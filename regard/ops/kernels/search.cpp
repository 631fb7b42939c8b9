// Beam search over a Transformer's decoder in one call. It finds what decoding/beam.py finds, step by step the same.

#include <numeric>

#include "search.h"

namespace {

struct Text {
  int64_t number;
  double bar = kNever;  // score of the worst of the `wanted` best that are finished
};

class Beams {
 public:
  Beams(const Writer& writer, const Start& start, const Rules& rules, Found& found)
      : writer(writer), rules(rules), found(found), rows(writer, start, rules) {
    for (int64_t text = 0; text < start.texts; ++text) texts.push_back({text});
  }

  void run() {
    while (!texts.empty()) {
      look_ahead();
      std::vector<Word> going = grow();
      if (rules.stepped) rules.stepped();
      keep(going);
    }
  }

 private:
  // The best words of every row.
  void look_ahead() {
    const int64_t count = rows.written.size();
    rows.step();
    each = rules.size + 1;  // one more than go on, since the end does not
    words.assign(count * each, writer.unknown);
    log_probs.resize(count * each);
    ends.assign(count, writer.end);
    end_log_probs.resize(count);
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
        head, count, rows.states.data() + first * dim, each, rows.length <= rules.least ? 3 : 2, forbidden,
        words.data() + first * each, log_probs.data() + first * each,
        {1, ends.data() + first, end_log_probs.data() + first});
  }

  // The best `size` words that go on, for each text; ends among the best `size` are finished.
  std::vector<Word> grow() {
    std::vector<Word> going;
    const int64_t width = rows.written.size() / texts.size();
    going.reserve(texts.size() * rules.size);
    for (int64_t place = 0; place < int64_t(texts.size()); ++place) {
      candidates.clear();
      if (!close(texts[place], place * width, (place + 1) * width)) {
        for (int64_t one = place * width * each; one < (place + 1) * width * each; ++one) {
          consider(words[one], one, one / each, log_probs[one]);
        }
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

  void consider(int64_t id, int64_t place, int64_t row, double log_prob) {
    const double sum = rows.written[row].sum + log_prob;
    candidates.push_back({id, place, row, sum == sum ? sum : kNever, log_prob});
  }

  // At the limit rows end, if any of them can; whether they do.
  bool close(const Text& text, int64_t first, int64_t last) {
    const auto can_end = [](float log_prob) { return log_prob > kNever; };
    if (rows.length < rules.limits[text.number]) return false;
    if (std::none_of(end_log_probs.begin() + first, end_log_probs.begin() + last, can_end)) return false;
    for (int64_t row = first; row < last; ++row) consider(writer.end, row, row, end_log_probs[row]);
    while (int64_t(candidates.size()) < rules.size) candidates.push_back({writer.end, last, first, kNever, kNever});
    return true;
  }

  void finish(Text& text) {
    const double bar = text.bar;
    auto& known = found.texts[text.number];
    for (int64_t one = 0; one < rules.size; ++one) {
      const Word& word = candidates[one];
      const double score = word.sum / rules.norms[rows.length];
      if (word.id != writer.end || word.sum == kNever || (rules.exact && !(score > bar))) continue;
      known.push_back(rows.ended(word, score, rules.limits[text.number]));
      if (int64_t(known.size()) < rules.wanted) continue;
      std::vector<double> scores;
      for (const Hypothesis& each : known) scores.push_back(each.score);
      std::nth_element(scores.begin(), scores.begin() + rules.wanted - 1, scores.end(), std::greater<double>());
      text.bar = scores[rules.wanted - 1];
    }
  }

  // What is done leaves; the rest is written on.
  void keep(const std::vector<Word>& going) {
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
    rows.go_on(std::move(next));
    texts = std::move(left);
  }

  bool is_done(const Text& text, const Word* going) const {
    const int64_t limit = rules.limits[text.number], length = rows.length;
    if (limit <= length || going->sum == kNever) return true;
    if (rules.stepped && rules.dropped[text.number]) return true;
    if (!rules.exact) return int64_t(found.texts[text.number].size()) >= rules.size;
    return std::max(going->sum / rules.norms[length + 1], going->sum / rules.norms[limit]) <= text.bar;  // no end between is better
  }

  // A text that could not end is answered by what was written of it.
  void give_up(const Text& text, const Word* going) {
    auto& known = found.texts[text.number];
    for (int64_t one = 0; one < std::min(rules.wanted, rules.size); ++one) {
      if (!known.empty() && (known[0].has_end() || going[one].sum == kNever)) break;
      known.push_back(rows.hypothesis(going[one], rows.length, going[one].sum / rules.norms[rows.length]));
    }
  }

  const Writer& writer;
  const Rules& rules;
  Found& found;
  DecodedRows rows;
  int64_t each = 0;              // words that are looked at behind each row
  std::vector<Text> texts;       // that are still being written
  std::vector<Word> candidates;  // what may follow in a text
  std::vector<float> log_probs, end_log_probs;
  std::vector<int64_t> words, ends;
};

}  // namespace

extern "C" {

// What is found, to be read by `sizes`, `take` and nothing else; null where memory ran out.
Found* beam_search(const Writer* writer, const Start* start, const Rules* rules) {
  const auto run = [&](Found& found) { Beams(*writer, *start, *rules, found).run(); };
  return found_by(run, start->texts, rules->wanted);
}

}  // extern "C"
