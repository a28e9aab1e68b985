/* SPDX-License-Identifier: MIT */
#include "ullage/nearest.h"
