/* SPDX-License-Identifier: MIT */
/* Settings strings: what each release accepts and refuses, as seen on the compiled libraries. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "allocator/settings.h"
#include "ullage/models.h"
#include "ullage/settings.h"

static ul_status parse(const char *text, const char *torch, ul_settings *out, ul_error *err) {
  const ul_settings_given given = {text, UL_SETTINGS_CUDA, NULL};
  const ul_profile *profile;
  ul_status status = ul_profile_find(&profile, torch, NULL, err);
  return status == UL_OK ? ul_settings_start(out, &given, profile, err) : status;
}

Test(settings, accepts) {
  static const struct {
    const char *text, *torch;
  } rows[] = {
      {"", "2.9"},
      {"expandable_segments:True", "2.1"},
      {"max_split_size_mb:21,expandable_segments:True,", "2.9"}, /* trailing comma */
      {" max_split_size_mb : 128 , expandable_segments : False", "2.9"},
      {"max_split_size_mb:128abc", "2.9"}, /* a decimal prefix counts */
      {"max_split_size_mb:20", "2.10"},
      {"garbage_collection_threshold:0.6", "1.13"},
      {"roundup_power2_divisions:[1:8,2:4,>:0]", "2.9"},
      {"backend:native", "2.0"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_settings s;
    ul_error err = {0};
    cr_expect_eq(parse(rows[i].text, rows[i].torch, &s, &err), UL_OK, "'%s' on %s: %s",
                 rows[i].text, rows[i].torch, err.message);
  }
}

Test(settings, refuses_in_one_sentence) {
  static const struct {
    const char *text, *torch, *says;
  } rows[] = {
      {"expandable_segments:true", "2.9", "True or False"},
      {"expandable_segments:True", "2.0", "does not know"},
      {"max_split_size_mb:20", "2.9", "at least 21"},
      {"max_split_size_mb", "2.9", "expected ':'"},
      {"max_split_size_mb:128,,backend:native", "2.9", "unknown setting ','"},
      {"max_split_size:128", "2.9",
       "unknown setting 'max_split_size': did you mean max_split_size_mb? known from 1.13 on"},
      {"roundup_bypass_threshold_mb:1", "2.0", "(known in 1.13 only)"},
      {"large_segment_size_mb:10", "2.11", "at least 11"},
      {"large_segment_size_mb:32", "2.10", "does not know"},
      {"garbage_collection_threshold:1", "2.9", "between 0 and 1"},
      {"garbage_collection_threshold:nan", "2.9", "between 0 and 1"},
      {"roundup_power2_divisions:3", "2.9", "power of two"},
      {"roundup_power2_divisions:[1:8", "2.9", "lacks its ']'"},
      {"roundup_power2_divisions:[3:8]", "2.9", "power of two"},
      {"expandable_segments_page_size:2", "2.15", "unknown setting"},
      {"backend:mine", "2.9", "native or cudaMallocAsync"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_settings s;
    ul_error err = {0};
    cr_expect_eq(parse(rows[i].text, rows[i].torch, &s, &err), UL_E_SETTING, "'%s' on %s",
                 rows[i].text, rows[i].torch);
    cr_expect(strstr(err.message, rows[i].says), "'%s' on %s says: %s", rows[i].text, rows[i].torch,
              err.message);
  }
}

/* Word for word, and without the place in PyTorch's source that internal errors name. */
Test(settings, tells_what_pytorch_raises) {
  static const struct {
    const char *text, *torch, *raises;
  } rows[] = {
      {"foo:1", "1.13", "Unrecognized CachingAllocator option: foo"},
      {"foo:1", "2.9", "Unrecognized CachingAllocator option: foo"},
      {"foo:1", "2.10", "Unrecognized key 'foo' in CUDA allocator config."},
      {"expandable_segments_reserve:[1]", "2.15", "Unrecognized key ']' in CUDA allocator config."},
      {"max_split_size_mb:20", "2.9",
       "CachingAllocator option max_split_size_mb too small, must be > 20"},
      {"max_split_size_mb:19", "2.10",
       "CachingAllocator option max_split_size_mb too small, must be >= 20"},
      {"max_split_size_mb:30,large_segment_size_mb:40", "2.11",
       "CachingAllocator option max_split_size_mb too small, must be >= 40"},
      {"max_split_size_mb", "2.0", "Error parsing CachingAllocator settings, expected :"},
      {"max_split_size_mb", "2.15", "Index out of bounds in ConfigTokenizer"},
      {"max_split_size_mb:", "2.9", "Error, expecting max_split_size_mb value"},
      {"max_split_size_mb:x", "2.9", "stoi"},
      {"max_split_size_mb:x", "2.10", "stoull"},
      {"max_split_size_mb:30:40", "2.9", "Error parsing CachingAllocator settings, expected ,"},
      {"backend:", "2.9", "Error parsing backend value"},
      {"backend:x", "2.12", "Unknown allocator backend, options are native and cudaMallocAsync"},
      {"roundup_power2_divisions:3", "2.7", "For roundups, the divisons has to be power of 2 "},
      {"roundup_power2_divisions:3", "2.8", "For roundups, the divisions has to be power of 2 "},
      {"roundup_power2_divisions:[1:3]", "2.4",
       "For roundups, the divisons has to be power of 2 or 0 to disable roundup "},
      {"roundup_power2_divisions:[3:8]", "2.4",
       "For roundups, the intervals have to be power of 2 "},
      {"roundup_power2_divisions:[x:8]", "2.9", "stoul"},
      {"roundup_power2_divisions:[1:", "2.9", "Error parsing roundup_power2_divisions value"},
      {"roundup_power2_divisions:[1:8,", "2.10",
       "Expected closing bracket ']' in ConfigTokenizer but reached end of config"},
      {"garbage_collection_threshold:x", "1.13", "stod"},
      {"garbage_collection_threshold:1", "2.9",
       "garbage_collect_threshold too big, set it 0.0~1.0"},
      {"garbage_collection_threshold:nan", "2.9",
       "garbage_collect_threshold too small, set it 0.0~1.0"},
      {"garbage_collection_threshold:1", "2.10",
       "garbage_collect_threshold is invalid, set it in (0.0, 1.0)"},
      {"expandable_segments:true", "2.9",
       "Expected a single True/False argument for expandable_segments"},
      {"expandable_segments:False , expandable_segments:yes", "2.10",
       "Expected 'True' or 'False' at index 6 in ConfigTokenizer but got 'yes'"},
      {"release_lock_on_hipmalloc:1", "2.9",
       "Expected a single True/False argument for release_lock_on_cudamalloc"},
      {"pinned_num_register_threads:3", "2.9", "Number of register threads has to be power of 2 "},
      {"pinned_num_register_threads:256", "2.10",
       "Number of register threads should be less than or equal to 128, got 256"},
      {"per_process_memory_fraction:2", "2.10",
       "per_process_memory_fraction is invalid, set it in [0.0, 1.0]"},
      {"pinned_reserve_segment_size_mb:0", "2.10",
       "Pinned reserve segment size has to be greater than 0"},
      {"large_segment_size_mb:10", "2.11",
       "CachingAllocator option large_segment_size_mb must be > 10 MB"},
  };
  char quoted[256];
  size_t i;

  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_settings s;
    ul_error err = {0};
    cr_expect_eq(parse(rows[i].text, rows[i].torch, &s, &err), UL_E_SETTING, "'%s' on %s",
                 rows[i].text, rows[i].torch);
    snprintf(quoted, sizeof(quoted), "; PyTorch %s raises \"%s\"", rows[i].torch, rows[i].raises);
    cr_expect(strstr(err.message, quoted), "'%s' on %s says: %s", rows[i].text, rows[i].torch,
              err.message);
  }
}

/* From 2.10 on CUDA's own keys are read first when a process starts, and last at run time; what
 * ends too early before the backend is known is found before either. */
Test(settings, reads_cuda_keys_first_at_the_start) {
  static const struct {
    const char *text, *at_start, *at_run_time;
  } rows[] = {
      {"foo:1", "Unrecognized key 'foo' in CUDA", "Unrecognized key 'foo' in Accelerator"},
      {"garbage_collection_threshold:2,per_process_memory_fraction:7",
       "per_process_memory_fraction is invalid", "garbage_collect_threshold is invalid"},
      {"foo:1,bar", "Index out of bounds", "Unrecognized key 'foo' in Accelerator"},
      {"foo:[1", "Expected closing bracket", "Unrecognized key 'foo' in Accelerator"},
      {"backend:native,foo:[1", "Unrecognized key 'foo' in CUDA",
       "Unrecognized key 'foo' in Accelerator"},
  };
  const ul_profile *profile;
  ul_error err;
  size_t i;

  cr_assert_eq(ul_profile_find(&profile, "2.15", NULL, &err), UL_OK);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_settings s;
    cr_expect_eq(parse(rows[i].text, "2.15", &s, &err), UL_E_SETTING);
    cr_expect(strstr(err.message, rows[i].at_start), "%s: %s", rows[i].text, err.message);
    ul_settings_init(&s);
    cr_expect_eq(ul_settings_apply(&s, rows[i].text, profile, &err), UL_E_SETTING);
    cr_expect(strstr(err.message, rows[i].at_run_time), "%s: %s", rows[i].text, err.message);
  }
}

/* Of several variables: which is obeyed, and for which keys. */
Test(settings, obeys_the_variables_of_the_release) {
  static const struct {
    const char *torch, *cuda, *hip, *any, *obeyed, *cuda_text, *warns;
  } rows[] = {
      {"2.9", "a", "b", "c", "a", NULL, "ignores PYTORCH_HIP_ALLOC_CONF and PYTORCH_ALLOC_CONF"},
      {"2.9", NULL, NULL, "c", NULL, NULL, "ignores PYTORCH_ALLOC_CONF"},
      {"2.10", NULL, NULL, "c", "c", NULL, ""},
      {"2.10", "a", NULL, "c", "a", NULL, "ignores the other variables"},
      {"2.10", NULL, "b", "c", "b", "c", "the others from PYTORCH_ALLOC_CONF"},
      {"2.10", NULL, "b", NULL, "b", NULL, "only settings of no particular device"},
      {"2.10", "", "b", NULL, "", NULL, "ignores the other variables"},
  };
  ul_settings_choice choice;
  ul_error err;
  size_t i;

  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    cr_assert_eq(
        ul_settings_choose(&choice, rows[i].torch, rows[i].cuda, rows[i].hip, rows[i].any, &err),
        UL_OK);
    cr_expect_eq(choice.text, rows[i].obeyed, "row %zu", i);
    cr_expect_eq(choice.cuda_text, rows[i].cuda_text, "row %zu", i);
    cr_expect(rows[i].warns[0] ? strstr(choice.warning, rows[i].warns) != NULL : !choice.warning[0],
              "row %zu warns: %s", i, choice.warning);
  }
}

/* It reads beyond the string and crashes there. */
Test(settings, quotes_nothing_where_pytorch_crashes) {
  ul_settings s;
  ul_error err;

  cr_expect_eq(parse("roundup_power2_divisions:[1:8", "2.6", &s, &err), UL_E_SETTING);
  cr_expect_str_eq(err.message, "setting roundup_power2_divisions: the list lacks its ']'");
}

Test(profile, finds_releases_as_users_write_them) {
  static const struct {
    const char *torch, *name;
    int nearest;
  } rows[] = {
      {"2.9", "2.9", 0},
      {"2.9.1", "2.9", 0},
      {"2.9.1+cu128", "2.9", 0},
      {"v2.12.0", "2.12", 0},
      {"1.13.1", "1.13", 0},
      {"2.15.0a0+git1234", "2.15", 0},
      {"2.31.0.dev2027", "2.15", 1},
      {NULL, "2.15", 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const ul_profile *profile;
    ul_error err = {0};
    int nearest;
    cr_assert_eq(ul_profile_find(&profile, rows[i].torch, &nearest, &err), UL_OK, "%s",
                 err.message);
    cr_expect_str_eq(profile->name, rows[i].name);
    cr_expect_eq(nearest, rows[i].nearest, "%s", rows[i].torch);
  }
}

Test(profile, refuses_what_is_no_release) {
  static const char *const texts[] = {"two", "2", "2.", "2.x", "1.12", "99999.1", "."};

  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    const ul_profile *profile;
    ul_error err = {0};
    cr_expect_eq(ul_profile_find(&profile, texts[i], NULL, &err), UL_E_SETTING, "%s", texts[i]);
  }
}

Test(profile, says_how_a_release_is_modelled) {
  static const struct {
    const char *torch, *name, *says;
    int exact;
  } rows[] = {
      {NULL, "2.15", "", 1},
      {"2.6", "2.6", "", 1},
      {"2.6.0", "2.6", "", 1},
      {"2.9.1+cu128", "2.9", "", 1},
      {"v2.12.1", "2.12", "", 1},
      {"2.6.1", "2.6", "PyTorch 2.6.1 is taken as 2.6 (run 2.6.0)", 0},
      {"2.7.0+cu126", "2.7", "PyTorch 2.7.0+cu126 is taken as 2.7 (run 2.7.1)", 0},
      {"2.6.0a0+git12", "2.6", "is a development version; it is taken as 2.6 (run 2.6.0)", 0},
      {"2.10.0rc1", "2.10", "is a development version; it is taken as 2.10 (run 2.10.0)", 0},
      {"2.16.0.dev20270101", "2.15", "is not modelled; it is taken as 2.15 (run 2.15.0)", 0},
      {"1.14", "1.13", "is not modelled; it is taken as 1.13 (run 1.13.1)", 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ul_release_choice choice;
    ul_error err = {0};
    cr_assert_eq(ul_release_choose(&choice, rows[i].torch, &err), UL_OK, "%s", err.message);
    cr_expect_str_eq(choice.release->name, rows[i].name);
    cr_expect_eq(choice.exact, rows[i].exact, "%s", rows[i].torch);
    cr_expect(rows[i].says[0] ? strstr(choice.note, rows[i].says) != NULL : !choice.note[0],
              "%s: %s", rows[i].torch, choice.note);
  }
}

Test(profile, tells_what_a_rule_is_in_each_release) {
  const ul_rule *rule;
  size_t i;

  for (i = 0; (rule = ul_rule_at(i)) != NULL && strcmp(rule->name, "tie") != 0; i++)
    ;
  cr_assert(rule);
  cr_expect_str_eq(ul_rule_value(rule, 113), "address");
  cr_expect_str_eq(ul_rule_value(rule, 211), "address");
  cr_expect_str_eq(ul_rule_value(rule, 212), "block");
  cr_expect_str_eq(ul_rule_value(rule, 213), "segment");
  cr_expect_str_eq(ul_rule_value(rule, 215), "segment");
}
