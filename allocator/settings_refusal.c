/* SPDX-License-Identifier: MIT */
#include "allocator/settings_refusal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { TEXT_BYTES = 512, WORD_BYTES = 320 };

static const struct raised {
  ul_mistake mistake;
  uint16_t first, last; /* releases */
  const char *text;
} table[] = {
#define UL_RAISES(mistake, first, last, text) {UL_MISTAKE_##mistake, first, last, text},
#include "allocator/tables/settings_raises.def"
};

enum { ROWS = sizeof(table) / sizeof(table[0]) };

/* Two keys name themselves as the ones they are other spellings of. */
static const char *name_of(const char *key) {
  if (strcmp(key, "release_lock_on_hipmalloc") == 0)
    return "release_lock_on_cudamalloc";
  if (strcmp(key, "pinned_use_hip_host_register") == 0)
    return "pinned_use_cuda_host_register";
  return key;
}

static unsigned index_of(const ul_settings_reader *r, const ul_token *word) {
  const char *at = r->text;
  ul_token token;
  unsigned index = 0;

  while (at && ul_token_next(&at, &token) && token.at < word->at)
    index++;
  return index;
}

static void fill_in(char *out, const char *name, size_t size, const ul_settings_reader *r,
                    const ul_token *word, uint64_t number) {
  if (strncmp(name, "word", size) == 0 && word)
    snprintf(out, WORD_BYTES, "%.*s", word->size < WORD_BYTES ? (int)word->size : WORD_BYTES - 1,
             word->at);
  else if (strncmp(name, "key", size) == 0)
    snprintf(out, WORD_BYTES, "%s", name_of(r->key));
  else if (strncmp(name, "number", size) == 0)
    snprintf(out, WORD_BYTES, "%" PRIu64, number);
  else if (strncmp(name, "index", size) == 0 && word)
    snprintf(out, WORD_BYTES, "%u", index_of(r, word));
  else
    snprintf(out, WORD_BYTES, "%s", r->settings->async ? "cudaMallocAsync" : "native");
}

/* What the release raises; "" where it crashes. */
static void raise(char out[TEXT_BYTES], const ul_settings_reader *r, ul_mistake mistake,
                  const ul_token *word, uint64_t number) {
  const char *text = "";
  char filled[WORD_BYTES];
  size_t used = 0, i;

  for (i = 0; i < ROWS; i++) {
    if (table[i].mistake == mistake && r->profile->release >= table[i].first &&
        r->profile->release <= table[i].last)
      text = table[i].text;
  }
  out[0] = '\0';
  while (*text && used < TEXT_BYTES - 1) {
    const size_t plain = strcspn(text, "{"), name = strcspn(text + plain, "}");
    filled[0] = '\0';
    if (text[plain])
      fill_in(filled, text + plain + 1, name - 1, r, word, number);
    used += (size_t)snprintf(out + used, TEXT_BYTES - used, "%.*s%s", (int)plain, text, filled);
    text += plain + name + (text[plain] != '\0');
  }
}

ul_status ul_settings_refuse(const ul_settings_reader *r, ul_mistake mistake, const ul_token *word,
                             uint64_t number, ul_error *err, const char *format, ...) {
  char sentence[UL_ERROR_MESSAGE_BYTES], text[TEXT_BYTES];
  va_list args;

  va_start(args, format);
  vsnprintf(sentence, sizeof(sentence), format, args);
  va_end(args);
  raise(text, r, mistake, word, number);
  if (!text[0])
    return ul_fail(err, UL_E_SETTING, 0, "%s", sentence);
  return ul_fail(err, UL_E_SETTING, 0, "%s; PyTorch %s raises \"%s\"", sentence, r->profile->name,
                 text);
}
