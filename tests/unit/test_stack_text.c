/* SPDX-License-Identifier: MIT */
#include "report/stack_text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>

struct frame_case {
  char filename[96];
  int line;
  int users;
};

ParameterizedTestParameters(stack_text, whose_frame_it_is) {
  static struct frame_case cases[] = {
      {"/home/me/train.py", 12, 1},
      {"train.py", 12, 1},
      {"C:\\Users\\me\\train.py", 12, 1},
      {"/home/me/torch/train.py", 12, 1}, /* a folder that only has the name */
      {"/venv/lib/python3.11/site-packages/mylib/x.py", 3, 1},
      {"/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", 125, 0},
      {"/usr/lib/python3/dist-packages/torch/optim/adam.py", 9, 0},
      {"C:\\Python311\\Lib\\site-packages\\torch\\_tensor.py", 9, 0},
      {"/src/pytorch/torch/nn/functional.py", 9, 0},
      {"torch/_compile.py", 9, 0},
      {"/usr/lib/python3.11/threading.py", 9, 0},
      {"/opt/pyenv/versions/3.10.4/lib/python3.10/contextlib.py", 9, 0},
      {"C:\\Python311\\Lib\\threading.py", 9, 0},
      {"<frozen runpy>", 9, 0},
      {"<string>", 1, 0},
      {"<stdin>", 1, 1},
      {"<ipython-input-3-0a1b>", 1, 1},
      {"<eval_with_key>.4 from x.py", 7, 0},
      {"Objects/descrobject.c", 365, 0},
      {"??", 0, 0},
      {"", 0, 0},
      {"/src/aten/Empty.cpp", 0, 0},
  };
  return cr_make_param_array(struct frame_case, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct frame_case *c, stack_text, whose_frame_it_is) {
  const ul_frame frame = {"f", c->filename, c->line};

  cr_expect(eq(int, ul_frame_is_users(&frame), c->users), "%s", c->filename);
}

struct describe_case {
  char filename[64], name[96];
  int line;
  int width;
  char expected[64];
};

ParameterizedTestParameters(stack_text, frames_fit_their_column) {
  static struct describe_case cases[] = {
      {"/home/me/gpt/model.py", "forward", 118, 40, "/home/me/gpt/model.py:118 forward"},
      {"/home/me/gpt/model.py", "forward", 118, 30, "me/gpt/model.py:118 forward"},
      {"/home/me/gpt/model.py", "forward", 118, 21, "model.py:118 forward"},
      {"/home/me/gpt/model.py", "forward", 118, 16, "model.py:118 ..."},
      {"C:\\me\\model.py", "f", 1, 12, "model.py:1 f"},
      {"??", "at::native::empty", 0, 40, "at::native::empty"},
      {"", "", 0, 40, "unknown place"},
      {"??", "torch::autograd::generated::MulBackward0::apply(std::vector<int>&&)", 0, 40,
       "MulBackward0::apply()"},
      {"x.cpp", "at::(anonymous namespace)::f(long)", 0, 40, "at::(anonymous namespace)::f()"},
  };
  return cr_make_param_array(struct describe_case, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct describe_case *c, stack_text, frames_fit_their_column) {
  const ul_frame frame = {c->name, c->filename, c->line};
  char buffer[128];

  ul_frame_describe(&frame, buffer, sizeof(buffer), (size_t)c->width);
  cr_expect(eq(str, buffer, c->expected));
}
