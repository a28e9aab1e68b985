/* SPDX-License-Identifier: MIT */
/* Attributes of the public interface. Everything marked UL_API is exported; nothing else is. */
#ifndef ULLAGE_API_H
#define ULLAGE_API_H

#if defined(__GNUC__) || defined(__clang__)
#define UL_API      __attribute__((visibility("default")))
#define UL_MUST_USE __attribute__((warn_unused_result))
#else
#define UL_API
#define UL_MUST_USE
#endif

#endif
