/* SPDX-License-Identifier: MIT */
/* ullage: replays PyTorch's GPU memory. Includes the whole public interface and holds nothing. */
#ifndef ULLAGE_ULLAGE_H
#define ULLAGE_ULLAGE_H

#include "ullage/api.h"
#include "ullage/device.h"
#include "ullage/error.h"
#include "ullage/event.h"
#include "ullage/model.h"
#include "ullage/models.h"
#include "ullage/nearest.h"
#include "ullage/replay.h"
#include "ullage/report.h"
#include "ullage/script.h"
#include "ullage/settings.h"
#include "ullage/source.h"
#include "ullage/state.h"
#include "ullage/version.h"

#endif
