/* SPDX-License-Identifier: MIT */
/* Event scripts through the public interface (ullage/script.h): what is refused and in which words,
 * and what the runner itself decides. What the models answer is for test_golden_scripts.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "ullage/script.h"

enum { ANSWER = 1 << 16 };

struct answer {
  char text[ANSWER];
  size_t used, most; /* most: after so many bytes nothing more is taken; 0 no limit */
};

static int take(const void *bytes, size_t size, void *arg) {
  struct answer *answer = arg;

  if ((answer->most && answer->used + size > answer->most) || answer->used + size >= ANSWER)
    return 1;
  memcpy(answer->text + answer->used, bytes, size);
  answer->used += size;
  answer->text[answer->used] = '\0';
  return 0;
}

static struct answer answer;
static ul_script_result result;
static ul_error err;

static ul_script_options plain(void) {
  ul_script_options options = {.size = sizeof(options), .torch = "2.9"};

  options.backend = "naive"; /* what the runner does is the same for all */
  options.sections = UL_SCRIPT_PLACE;
  options.write = take;
  options.write_arg = &answer;
  return options;
}

static ul_status run_with(const char *script, const ul_script_options *options) {
  memset(&answer, 0, sizeof(answer));
  memset(&result, 0, sizeof(result));
  memset(&err, 0, sizeof(err));
  result.size = sizeof(result);
  return ul_script_run(script, strlen(script), options, &result, &err);
}

static void expect(const char *script, const char *want) {
  const ul_script_options options = plain();

  cr_assert(eq(int, run_with(script, &options), UL_OK), "%s: %s", script, err.message);
  cr_expect(eq(str, answer.text, (char *)want), "%s", script);
}

static void expect_refusal(const char *script, ul_status status, const char *message) {
  const ul_script_options options = plain();

  cr_expect(eq(int, run_with(script, &options), status), "%s", script);
  cr_expect(eq(str, err.message, (char *)message), "%s", script);
}

Test(script, refuses_what_is_no_command) {
  static const char *const words = "expected a, f, r, s, e, frac, ext, total, pool, cap, ckpt, "
                                   "restore, dev, conf, hist, at, reset_peak, reset_acc, stats, "
                                   "snap, trace or used, found ";
  char want[UL_ERROR_MESSAGE_BYTES];

  snprintf(want, sizeof(want), "script:1: %s'b'", words);
  expect_refusal("b 1 2", UL_E_MALFORMED, want);
  snprintf(want, sizeof(want), "script:3: %s'aa'", words);
  expect_refusal("a 1 2\n\n aa 1 2", UL_E_MALFORMED, want);
  snprintf(want, sizeof(want), "script:1: %s'1234567890123456789012345678901234567890...'", words);
  expect_refusal("12345678901234567890123456789012345678901 5", UL_E_MALFORMED, want);
  expect_refusal(
      "pool make 1", UL_E_MALFORMED,
      "script:1: expected begin, end, release, create, oom, notoom, nosplit or custom, found "
      "'make'");
  expect_refusal("cap nosplit 1", UL_E_MALFORMED,
                 "script:1: expected begin, end or release, found 'nosplit'");
  expect_refusal("hist", UL_E_MALFORMED, "script:1: expected on or off, found the end of the line");
}

Test(script, refuses_what_is_no_argument) {
  expect_refusal("a", UL_E_MALFORMED,
                 "script:1: expected an id from 0 to 18446744073709551615, found the end of the "
                 "line");
  expect_refusal("a 1 18446744073709551616", UL_E_MALFORMED,
                 "script:1: expected a number of bytes up to 18446744073709551615, found "
                 "'18446744073709551616'");
  expect_refusal("a 1 -5", UL_E_MALFORMED,
                 "script:1: expected a number of bytes up to 18446744073709551615, found '-5'");
  expect_refusal("a 1 0x20", UL_E_MALFORMED,
                 "script:1: expected a number of bytes up to 18446744073709551615, found '0x20'");
  expect_refusal("a 1 5 4294967295", UL_E_MALFORMED,
                 "script:1: expected a stream from 0 to 4294967294, found '4294967295'");
  expect_refusal("a 1 5 0 0", UL_E_MALFORMED, "script:1: expected the end of the line, found '0'");
  expect_refusal("stats all", UL_E_MALFORMED,
                 "script:1: expected the end of the line, found 'all'");
  expect_refusal("pool begin 0", UL_E_MALFORMED,
                 "script:1: expected a private pool from 1 to 4294967295, found '0'");
  expect_refusal("e -1", UL_E_MALFORMED,
                 "script:1: expected a pool from 0 to 4294967295, found '-1'");
  expect_refusal("frac half", UL_E_MALFORMED,
                 "script:1: expected a fraction of the device, as 0.5, found 'half'");
  expect_refusal("frac 0.5x", UL_E_MALFORMED,
                 "script:1: expected a fraction of the device, as 0.5, found '0.5x'");
  expect_refusal("total 0", UL_E_MALFORMED,
                 "script:1: expected a number of bytes from 1 to 1152921504606846975, found '0'");
  expect_refusal("at 1 5 12g", UL_E_MALFORMED,
                 "script:1: expected a hexadecimal offset on the device, found '12g'");
  expect_refusal("dev 64", UL_E_MALFORMED, "script:1: expected a device from 0 to 63, found 64");
  expect_refusal("ckpt 1", UL_E_MALFORMED,
                 "script:1: expected a number up to 18446744073709551615, found the end of the "
                 "line");
}

Test(script, refuses_a_live_id_and_takes_a_freed_one) {
  expect_refusal("a 5 1\na 5 1", UL_E_MALFORMED,
                 "script:2: expected an id that is not allocated, found 5");
  expect("a 5 1\nf 5\na 5 1\n", "D 1 M 0 2097152\nA 1 5 0 512\nA 3 5 0 512\n");
  expect("a 18446744073709551615 1\nf 0\nf 18446744073709551615\nf 18446744073709551615\n",
         "D 1 M 0 2097152\nA 1 18446744073709551615 0 512\n");
}

/* A request of no bytes gives a null pointer, and freeing that does nothing. */
Test(script, answers_requests_of_no_bytes_itself) {
  expect("a 1 0\nf 1\nr 1 2\na 1 0\na 1 1\n",
         "A 1 1 null 0\nA 4 1 null 0\nD 5 M 0 2097152\nA 5 1 0 512\n");
}

Test(script, reads_lines_as_they_come) {
  expect("", "");
  expect("\n\n# nothing\n  \t\n#env is not it\n", "");
  expect("a 1 1", "D 1 M 0 2097152\nA 1 1 0 512\n");
  expect("\r\n  a\t1  1 \t0\r\n\n\nf 1\r\na 2 1", "D 1 M 0 2097152\nA 1 1 0 512\nA 3 2 0 512\n");
}

/* Lines may lie across the ends of the window that they are read through. */
Test(script, reads_more_than_a_window) {
  enum { LINES = 60000 };
  char *script = malloc(LINES * 32), *at = script;
  const ul_script_options options = plain();

  cr_assert(script != NULL);
  for (int i = 0; i < LINES; i++)
    at += sprintf(at, i % 2 ? "f %d\n" : "a %d %d\n", i / 2, 100 + i % 7);
  memset(&answer, 0, sizeof(answer));
  result.size = sizeof(result);
  cr_assert(eq(int, ul_script_run(script, (size_t)(at - script), &options, &result, &err),
               UL_E_OUTPUT)); /* the sink is too small */
  ul_script_options silent = options;
  silent.write = NULL;
  cr_assert(eq(int, ul_script_run(script, (size_t)(at - script), &silent, &result, &err), UL_OK));
  cr_expect(eq(u64, result.events, LINES));
  cr_expect(eq(u64, result.served, LINES / 2));
  free(script);
}

Test(script, takes_the_environment_from_its_head) {
  /* 2 MiB: the segment of another stream does not fit. */
  expect("# env FAKE_TOTAL=2097152\na 1 1048576\na 2 512 1\n",
         "D 1 M 0 2097152\nA 1 1 0 1048576\nD 2 m - 2097152\nD 2 m - 2097152\nO 2 2\n");
  /* The address space that the first segment gives back: taken again, or never. */
  expect("a 1 1\nf 1\ne\na 2 1\n",
         "D 1 M 0 2097152\nA 1 1 0 512\nD 3 F 0 2097152\nD 4 M 0 2097152\nA 4 2 0 512\n");
  expect("# env FAKE_PLACE=bump\na 1 1\nf 1\ne\na 2 1\n",
         "D 1 M 0 2097152\nA 1 1 0 512\nD 3 F 0 2097152\nD 4 M 200000 2097152\nA 4 2 200000 512\n");
  /* 1300 rounds up to the next quarter between 1024 and 2048. */
  expect("# env FAKE_TOTAL=10000000 PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:4\na 1 1300",
         "D 1 M 0 2097152\nA 1 1 0 1536\n");
  expect_refusal("# env FAKE_SIZE=5\n", UL_E_MALFORMED,
                 "script:1: expected FAKE_TOTAL=, FAKE_DEVICES=, FAKE_EVENTS=, FAKE_PLACE=, "
                 "PYTORCH_CUDA_ALLOC_CONF=, PYTORCH_HIP_ALLOC_CONF= or PYTORCH_ALLOC_CONF=, found "
                 "'FAKE_SIZE=5'");
  expect_refusal("# env FAKE_TOTAL=5x\n", UL_E_MALFORMED,
                 "script:1: FAKE_TOTAL: expected a number of bytes from 1 to "
                 "1152921504606846975, found '5x'");
  expect_refusal("# env FAKE_EVENTS=later\n", UL_E_MALFORMED,
                 "script:1: FAKE_EVENTS: expected now or manual, found 'later'");
  expect_refusal("# env FAKE_PLACE=there\n", UL_E_MALFORMED,
                 "script:1: FAKE_PLACE: expected bump or first, found 'there'");
  expect_refusal("# env PYTORCH_ALLOC_CONF=\n# env PYTORCH_ALLOC_CONF=\n", UL_E_MALFORMED,
                 "script:2: expected PYTORCH_ALLOC_CONF once, found it again");
  expect_refusal("a 1 1\n# env FAKE_TOTAL=5\n", UL_E_MALFORMED,
                 "script:2: expected every '# env' line before the first event, found one here");
}

/* As every release answers: an error, and the next line is answered. */
Test(script, impossible_fractions_are_errors) {
  expect("frac nan\nfrac inf\nfrac -0.1\nfrac 1.01\na 1 1\n",
         "X 1 error\nX 2 error\nX 3 error\nX 4 error\nD 5 M 0 2097152\nA 5 1 0 512\n");
}

/* What the libraries of 1.13.1, 2.1.2, 2.6.0, 2.9.1, 2.12.1 and 2.15.0 raise, without the places in
 * PyTorch's source. */
Test(script, rejected_events_quote_the_release) {
  static const struct {
    const char *torch, *script, *raised;
  } rows[] = {
      {"1.13", "frac 1.5", "invalid fraction:1.5. Please set within (0, 1)."},
      {"2.9", "frac -1", "invalid fraction:-1. Please set within [0, 1]."},
      {"1.13", "pool end 3", "it != capture_to_pool_map.end() INTERNAL ASSERT FAILED"},
      {"2.1", "pool end 3", "it != stream_to_pool_map.end() INTERNAL ASSERT FAILED"},
      {"2.12", "cap end 3", "endAllocatePool: not currently recording to mempool_id"},
      {"2.15", "cap end 3",
       "active_captures_ > 0 INTERNAL ASSERT FAILED; captureEnd called with no active capture"},
      {"2.1", "pool begin 3\npool begin 3", "inserted INTERNAL ASSERT FAILED"},
      {"2.6", "pool begin 3\npool begin 3", "beginAllocateToPool: already recording to mempool_id"},
      {"2.9", "pool release 3", "it != graph_pools.end() INTERNAL ASSERT FAILED"},
      {"2.6", "pool begin 4\ne", "captures_underway.empty() INTERNAL ASSERT FAILED"},
      {"2.6", "ckpt 55 2", "Could not find pool of id"},
      {"2.15", "at 7 100 0", "Could not allocate CUDA storage at exact address 0x7f4000000000"},
      {"2.15", "a 1 1\nat 6 100 101",
       "mallocWithAddress: addr must be aligned to kMinBlockSize (512 bytes), got 0x7f4000000101"},
  };
  static const char *const backends[] = {"naive", "native"};
  ul_script_options options = plain();
  char quoted[256];
  size_t i, backend;

  options.sections = UL_SCRIPT_MESSAGE;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    options.torch = rows[i].torch;
    snprintf(quoted, sizeof(quoted), "; PyTorch %s raises \"%s\"\n", rows[i].torch, rows[i].raised);
    for (backend = 0; backend < 2; backend++) {
      options.backend = backends[backend];
      cr_assert(eq(int, run_with(rows[i].script, &options), UL_OK), "%s", err.message);
      cr_expect(ne(ptr, strstr(answer.text, quoted), NULL), "%s, %s: %s", rows[i].torch,
                rows[i].script, answer.text);
    }
  }
}

/* A release is the same however it is written. */
Test(script, releases_have_their_calls_however_they_are_written) {
  static const char *const names[] = {"2.5", "v2.5", "2.5.1", "2.5.1+cu124", "2.5.0a0+git1"};
  ul_script_options options = plain();
  size_t i;

  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    options.torch = names[i];
    cr_assert(eq(int, run_with("pool create 1\n", &options), UL_OK), "%s", err.message);
    cr_expect(eq(str, answer.text, "X 1 unsupported create\n"), "%s", names[i]);
  }
}

/* As the library of 2.10.0 answers. Keys of no particular device come from the second variable, and
 * CUDA's own from the third; through 2.9 both are ignored. 2.10.0 takes 0.5 of 64 MiB as its limit.
 */
Test(script, several_variables_may_be_set) {
  ul_script_options options = plain();
  static const char script[] = "# env FAKE_TOTAL=67108864\n"
                               "# env PYTORCH_HIP_ALLOC_CONF=roundup_power2_divisions:4\n"
                               "# env PYTORCH_ALLOC_CONF=per_process_memory_fraction:0.5\n"
                               "a 1 5200\na 2 33554432\n";

  options.torch = "2.10";
  cr_assert(eq(int, run_with(script, &options), UL_OK), "%s", err.message);
  cr_expect(eq(str, answer.text, "D 1 M 0 2097152\nA 1 1 0 6144\nO 2 2\n"));
  options.torch = "2.9";
  cr_assert(eq(int, run_with(script, &options), UL_OK), "%s", err.message);
  cr_expect(eq(str, answer.text,
               "D 1 M 0 2097152\nA 1 1 0 5632\nD 2 M 200000 33554432\nA 2 2 200000 33554432\n"));
}

Test(script, options_outdo_the_head) {
  ul_script_options options = plain();

  options.device_bytes = UINT64_C(1) << 30;
  options.settings = "";
  options.has_address_policy = 1;
  options.address_policy = UL_ADDRESS_RISING_APART;
  options.checked = 1;
  cr_assert(eq(int,
               run_with("# env FAKE_TOTAL=5\n# env PYTORCH_CUDA_ALLOC_CONF=nonsense\n"
                        "a 1 1\nf 1\ne\na 2 1300",
                        &options),
               UL_OK),
            "%s", err.message);
  cr_expect(eq(str, answer.text,
               "D 1 M 0 2097152\nA 1 1 0 512\nD 3 F 0 2097152\nD 4 M 200000 2097152\nA 4 2 200000 "
               "1536\n"));
}

Test(script, says_where_settings_stand) {
  const ul_script_options options = plain();

  cr_expect(eq(int, run_with("\n# env PYTORCH_CUDA_ALLOC_CONF=nonsense:1\na 1 1\n", &options),
               UL_E_SETTING));
  cr_expect(eq(int, strncmp(err.message, "script:2: ", 10), 0), "%s", err.message);
  cr_expect(
      eq(int, run_with("\n# env PYTORCH_CUDA_ALLOC_CONF=nonsense:1\n", &options), UL_E_SETTING));
  cr_expect(eq(int, strncmp(err.message, "script:2: ", 10), 0), "%s", err.message);
}

/* Answers of the library of 2.9.1 on two pretend devices. Each has memory of its own; ids are the
 * program's, and name their allocation whatever device the lines are about; empty_cache and
 * snapshots are of every device. Device 1 lies 2^46 behind device 0. */
Test(script, keeps_devices_apart) {
  expect("# env FAKE_DEVICES=2\na 1 1\ndev 1\na 2 1\nf 1\nf 2\na 3 1\nf 3\ne\n",
         "D 1 M 0 2097152\nA 1 1 0 512\nD 3 M 0 2097152\nA 3 2 0 512\nA 6 3 0 512\n"
         "D 8 F ffffc00000000000 2097152\nD 8 F 0 2097152\n");
  expect("# env FAKE_DEVICES=2\na 1 1\ndev 1\na 2 1\ndev 0\nf 1\nf 2\ne\nused\n",
         "D 1 M 0 2097152\nA 1 1 0 512\nD 3 M 0 2097152\nA 3 2 0 512\nD 7 F 0 2097152\n"
         "D 7 F 400000000000 2097152\nU 8 0\n");
}

/* Size and foreign memory are those of every device, also of one that the script comes to later. */
Test(script, gives_every_device_one_size) {
  expect("total 4194304\next 2097152\na 1 1\ndev 1\na 2 1\na 3 1 1\n",
         "D 3 M 0 2097152\nA 3 1 0 512\nD 5 M 0 2097152\nA 5 2 0 512\nD 6 m - 2097152\n"
         "D 6 m - 2097152\nO 6 3\n");
}

/* Observers are told, and an error is raised, once. */
Test(script, raises_an_error_of_all_devices_once) {
  expect("# env FAKE_DEVICES=3\na 1 1\nconf nonsense:1\na 2 1\n",
         "D 1 M 0 2097152\nA 1 1 0 512\nX 2 error\nA 3 2 200 512\n");
  cr_expect(eq(u64, result.errors, 1));
}

Test(script, refuses_devices_that_are_not_there) {
  expect_refusal("# env FAKE_DEVICES=2\ndev 2\n", UL_E_MALFORMED,
                 "script:2: expected a device from 0 to 1, found 2");
  expect_refusal("# env FAKE_DEVICES=65\n", UL_E_MALFORMED,
                 "script:1: FAKE_DEVICES: expected a number of devices from 1 to 64, found '65'");
  expect_refusal("conf max_split_size_mb:100\ndev 1\n", UL_E_MALFORMED,
                 "script:2: expected device 1 before the first conf, or '# env FAKE_DEVICES=2' "
                 "before the first event");
}

Test(script, counts_what_happened) {
  const ul_script_options options = plain();

  cr_assert(
      eq(int,
         run_with("a 1 1\na 2 99999999999999\nfrac 1.5\npool nosplit 1\n# none\nused\n", &options),
         UL_OK));
  cr_expect(eq(u64, result.events, 5));
  cr_expect(eq(u64, result.served, 1));
  cr_expect(eq(u64, result.ooms, 1));
  cr_expect(eq(u64, result.errors, 2));
  cr_expect(eq(u64, result.rejected, 0));
  cr_expect(eq(u64, result.broken_line, 0));
  cr_expect(ne(ptr, strstr(answer.text, "X 3 error\nX 4 unsupported nosplit\nU 5 "), NULL));
}

/* Calls came to PyTorch one by one (docs/script.md). */
Test(script, knows_which_release_has_a_call) {
  static const struct {
    const char *call, *missing, *before, *since;
  } calls[] = {
      {"pool oom 1", "X 1 unsupported oom\n", "2.7.1", "2.8.0"},
      {"pool nosplit 1", "X 1 unsupported nosplit\n", "2.9.1", "2.10.0"},
      {"pool custom 1", "X 1 unsupported custom\n", "2.7.1", "2.8.0"},
      {"pool notoom 1", "X 1 unsupported notoom\n", "2.10.0", "2.11.0"},
      {"ckpt 1 1", "X 1 unknown ckpt\n", "2.0.1", "2.1.2"},
      {"restore 1 1", "X 1 unknown restore\n", "2.0.1", "2.1.2"},
      {"pool create 1", "X 1 unsupported create\n", "2.5", "2.6.0+cu124"},
      {"at 1 512 0", "X 1 unknown at\n", "2.12.1", NULL},
  };
  ul_script_options options = plain();

  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
    options.torch = calls[i].before;
    cr_assert(eq(int, run_with(calls[i].call, &options), UL_OK), "%s", err.message);
    cr_expect(eq(str, answer.text, (char *)calls[i].missing));
    options.torch = calls[i].since;
    cr_assert(eq(int, run_with(calls[i].call, &options), UL_OK), "%s", err.message);
    cr_expect(ne(str, answer.text, (char *)calls[i].missing));
  }
}

Test(script, prints_the_columns_of_the_release) {
  static const struct {
    const char *torch, *segment, *block, *counters;
  } releases[] = {
      {"1.13.1", "G 2 0 2097152 512 512 - 0 small - -\n", "B 2 0 512 - active_allocated 0\n", NULL},
      {"2.0", "G 2 0 2097152 512 512 5 0 small - -\n", "B 2 0 512 5 active_allocated 0\n", NULL},
      {"2.2", "G 2 0 2097152 512 512 5 0 small 0,0 0\n", "B 2 0 512 5 active_allocated 0\n", NULL},
      {"2.3", "G 2 0 2097152 512 512 5 0 small 0,0 0\n", "B 2 0 512 5 active_allocated 0\n",
       "C 3 num_sync_all_streams 0 num_device_alloc 1 num_device_free 0\n"},
  };
  ul_script_options options = plain();

  options.sections = UL_SCRIPT_SNAP | UL_SCRIPT_STATS;
  for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
    options.torch = releases[i].torch;
    cr_assert(eq(int, run_with("a 1 5\nsnap\nstats\n", &options), UL_OK), "%s", err.message);
    cr_expect(ne(ptr, strstr(answer.text, releases[i].segment), NULL), "%s", releases[i].torch);
    cr_expect(ne(ptr, strstr(answer.text, releases[i].block), NULL), "%s", releases[i].torch);
    cr_expect(
        eq(int, strstr(answer.text, "num_device_alloc") != NULL, releases[i].counters != NULL));
    cr_expect(eq(int, strstr(answer.text, "requested_bytes") != NULL, i > 0));
    if (releases[i].counters)
      cr_expect(ne(ptr, strstr(answer.text, releases[i].counters), NULL), "%s", answer.text);
  }
}

Test(script, ends_where_its_answers_are_not_wanted) {
  ul_script_options options = plain();

  memset(&answer, 0, sizeof(answer));
  answer.most = 10;
  cr_expect(eq(int, ul_script_run("a 1 1\n", 6, &options, NULL, &err), UL_E_OUTPUT));
  options.json = 1;
  cr_expect(eq(int, ul_script_run("a 1 1\n", 6, &options, NULL, &err), UL_E_OUTPUT));
  options.write = NULL;
  cr_expect(eq(int, ul_script_run("a 1 1\n", 6, &options, NULL, &err), UL_OK));
}

Test(script, refuses_wrong_arguments) {
  ul_script_options options = {.size = 1};
  ul_script_result small = {.size = 0};

  cr_expect(eq(int, ul_script_run(NULL, 5, NULL, NULL, &err), UL_E_INVALID));
  cr_expect(eq(int, ul_script_run("", 0, &options, NULL, &err), UL_E_INVALID));
  cr_expect(eq(int, ul_script_run("", 0, NULL, &small, &err), UL_E_INVALID));
  cr_expect(eq(int, ul_script_run_file(NULL, NULL, NULL, &err), UL_E_INVALID));
  cr_expect(eq(int, ul_script_run_file("/nowhere/at/all", NULL, NULL, &err), UL_E_OPEN));
  cr_expect(eq(int, ul_script_run(NULL, 0, NULL, NULL, NULL), UL_OK));
  options.size = sizeof(options);
  options.backend = "xyzzy";
  cr_expect(eq(int, ul_script_run("", 0, &options, NULL, &err), UL_E_SETTING));
}

/* A caller that was built when the structures were shorter. */
Test(script, takes_options_and_results_of_older_callers) {
  ul_script_options options = plain();
  ul_script_result few = {.size = offsetof(ul_script_result, served)};

  options.size = offsetof(ul_script_options, device_bytes);
  options.device_bytes = 1; /* is not looked at */
  few.served = 77;
  cr_assert(eq(int, ul_script_run("a 1 1\n", 6, &options, &few, &err), UL_OK));
  cr_expect(eq(u64, few.events, 1));
  cr_expect(eq(u64, few.served, 77));
}

Test(script, refuses_lines_that_are_no_text) {
  static const char zero[] = "a 1 1\na \0 5\n";
  const ul_script_options options = plain();
  char *longest = malloc(70000);

  cr_expect(eq(int, ul_script_run(zero, sizeof(zero) - 1, &options, NULL, &err), UL_E_MALFORMED));
  cr_expect(eq(str, err.message, "script:2: expected text, found a zero byte"));
  cr_assert(longest != NULL);
  memset(longest, ' ', 70000);
  memcpy(longest + 65531, "a 1 1\n", 6); /* 65536 bytes without the end */
  cr_expect(eq(int, ul_script_run(longest, 65537, &options, NULL, &err), UL_OK), "%s", err.message);
  cr_expect(eq(int, ul_script_run(longest, 65536, &options, NULL, &err), UL_OK), "%s", err.message);
  memcpy(longest + 65532, "a 1 1\n", 6);
  cr_expect(eq(int, ul_script_run(longest, 65538, &options, NULL, &err), UL_E_LIMIT));
  cr_expect(
      eq(str, err.message, "script:1: expected a line of at most 65536 bytes, found a longer one"));
  free(longest);
}
