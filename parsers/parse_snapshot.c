/* SPDX-License-Identifier: MIT */
/* PyTorch's memory snapshots, as pickles: every shape from the bare list of segments of the first
 * releases on. docs/formats.md says which keys mean what. */
#include <stdlib.h>

#include "base/error.h"
#include "parsers/parser.h"
#include "parsers/pickle_reader.h"
#include "parsers/snapshot_columns.h"

static ul_status build(ul_snapshot *snapshot, ul_layout *layout, ul_source *source, ul_error *err) {
  size_t i;

  source->recordings = calloc(layout->device_count + 1, sizeof(*source->recordings));
  if (!source->recordings)
    return ul_fail_nomem(err, "recordings");
  for (i = 0; i < layout->device_count; i++)
    source->recordings[i].device = layout->devices[i];
  source->info.device_count = layout->device_count;
  UL_TRY(ul_snapshot_number(snapshot, layout, source, err));
  UL_TRY(ul_snapshot_state(snapshot, layout, source, err));
  UL_TRY(ul_snapshot_trace(snapshot, layout, source, err));
  UL_TRY(ul_snapshot_marks(snapshot, layout, source, err));
  return ul_snapshot_info(snapshot, layout, source, err);
}

/* Everything that the values of the file were needed for is done: the columns need the room. */
static void move_tables(ul_snapshot *snapshot, ul_source *source) {
  source->stacks = snapshot->stacks;
  snapshot->stacks = (ul_stack_table){0};
  UL_VEC_RELEASE(&source->stacks.frame_slots);
  UL_VEC_RELEASE(&source->stacks.stack_slots);
  ul_heap_trim(&snapshot->heap, &source->strings);
}

static ul_status read_into(ul_snapshot *snapshot, ul_layout *layout, ul_source *source,
                           ul_bytes *bytes, ul_error *err) {
  ul_value top;

  UL_TRY(ul_snapshot_init(snapshot, err));
  UL_TRY(ul_pickle_read(bytes, &snapshot->heap, &top, &source->info.pickle_protocol, err));
  UL_TRY(ul_layout_read(layout, snapshot, top, source, err));
  move_tables(snapshot, source);
  return build(snapshot, layout, source, err);
}

static ul_status read_snapshot(ul_source *source, ul_bytes *bytes, ul_error *err) {
  ul_snapshot snapshot;
  ul_layout layout = {0};
  ul_status status;

  source->info.encoding = "pickle";
  status = read_into(&snapshot, &layout, source, bytes, err);
  ul_snapshot_release(&snapshot);
  ul_layout_release(&layout);
  return status;
}

const ul_parser ul_parser_snapshot = {"snapshot", ul_pickle_sniff, read_snapshot};
