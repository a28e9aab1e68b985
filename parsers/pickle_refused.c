/* SPDX-License-Identifier: MIT */
/* Opcodes that import, call or restore something. Never done; the message says what it would have
 * been. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "parsers/pickle_machine.h"

/* Text of the file, made printable. */
static const char *shown(char *buffer, size_t size, const char *text, size_t length) {
  size_t i, used = 0;

  for (i = 0; i < length && used < size - 1; i++)
    buffer[used++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
  buffer[used] = '\0';
  return buffer;
}

static const struct {
  uint8_t op;
  const char *would;
} reasons[] = {
    {'R', "call a function"},
    {'b', "restore an object's state with code"},
    {'o', "create an object with code"},
    {0x81, "create an object with code"},
    {0x92, "create an object with code"},
    {'Q', "ask the program for an object kept elsewhere"},
    {0x82, "import a registered extension"},
    {0x83, "import a registered extension"},
    {0x84, "import a registered extension"},
    {0x97, "take a buffer that is not in the file"},
    {0x98, "take a buffer that is not in the file"},
};

const uint8_t *ul_pickle_refuse(ul_pickle *p, const uint8_t *at) {
  const char *would = "run code";
  size_t i;

  (void)at;
  for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
    if (reasons[i].op == *p->op)
      would = reasons[i].would;
  }
  return ul_pickle_fail(p, UL_E_REFUSED, "would %s; ullage never runs code from a file", would);
}

static const uint8_t *refuse_name(ul_pickle *p, const char *module, const char *name) {
  return ul_pickle_fail(p, UL_E_REFUSED, "would import %s.%s; ullage never runs code from a file",
                        module, name);
}

const uint8_t *ul_pickle_refuse_global(ul_pickle *p, const uint8_t *at) {
  size_t length;
  char module[64], name[64];

  at = ul_pickle_line(p, at, &length);
  if (!at)
    return NULL;
  shown(module, sizeof(module), (const char *)at, length);
  at = ul_pickle_line(p, at + length + 1, &length);
  if (!at)
    return NULL;
  return refuse_name(p, module, shown(name, sizeof(name), (const char *)at, length));
}

const uint8_t *ul_pickle_refuse_stack_global(ul_pickle *p, const uint8_t *at) {
  char text[2][64] = {"?", "?"};
  const ul_heap *heap = p->heap;
  const char *string;
  size_t i, length;
  ul_value value;

  (void)at;
  for (i = 0; i < 2 && i < ul_heap_above(heap); i++) {
    value = heap->stack.items[heap->stack.count - 1 - i];
    if (ul_value_tag(value) != UL_TAG_STRING)
      continue;
    string = ul_strtab_get(heap->strings, (uint32_t)ul_value_index(value), &length);
    shown(text[i], sizeof(text[i]), string, length);
  }
  return refuse_name(p, text[1], text[0]);
}

const uint8_t *ul_pickle_refuse_persid(ul_pickle *p, const uint8_t *at) {
  size_t length;
  char id[64];

  at = ul_pickle_line(p, at, &length);
  if (!at)
    return NULL;
  return ul_pickle_fail(p, UL_E_REFUSED,
                        "would ask the program for the object '%s' kept elsewhere; ullage reads "
                        "data only",
                        shown(id, sizeof(id), (const char *)at, length));
}
