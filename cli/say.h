/* SPDX-License-Identifier: MIT */
/* Sentences on standard error. Names that were typed or come from a file cannot control the
 * terminal there. */
#ifndef UL_CLI_SAY_H
#define UL_CLI_SAY_H

#include <stdarg.h>

/* "ullage: ..." and a newline. */
void ul_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "ullage COMMAND: ..." and a newline; command may be NULL. */
void ul_say_of(const char *command, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
