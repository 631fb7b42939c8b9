// Layouts of structs that Python mirrors: `library` compares them when it loads the compiled code.

#pragma once

#include <cstddef>
#include <cstdint>

namespace {

struct Field {
  const char* name;  // empty: the struct itself; null: the end
  int64_t place, size;  // bytes before it, and its own
};

}  // namespace

// LAYOUT(type, fields...) exports `layout_type`: the struct, then each field; 27 fields at most, since a macro that
// names itself is read again only as often as READ reads it.
#define READ(...) READ_9(READ_9(READ_9(__VA_ARGS__)))
#define READ_9(...) READ_3(READ_3(READ_3(__VA_ARGS__)))
#define READ_3(...) READ_1(READ_1(READ_1(__VA_ARGS__)))
#define READ_1(...) __VA_ARGS__
#define OPENED ()
#define FIELDS(type, field, ...) \
  {#field, int64_t(offsetof(type, field)), int64_t(sizeof(type::field))}, __VA_OPT__(FIELDS_AGAIN OPENED(type, __VA_ARGS__))
#define FIELDS_AGAIN() FIELDS
#define LAYOUT(type, ...) \
  extern "C" const Field layout_##type[] = { \
      {"", 0, int64_t(sizeof(type))}, READ(FIELDS(type, __VA_ARGS__)) {nullptr, 0, 0}}
