#include "base/log.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace tutti {

void Log::write(const char* kind, const char* format, va_list arguments) const {
  char line[1024];
  int at = rank_ >= 0 ? std::snprintf(line, sizeof line, "tutti[%d]: %s", rank_, kind)
                      : std::snprintf(line, sizeof line, "tutti: %s", kind);
  const int body = std::vsnprintf(line + at, sizeof line - static_cast<std::size_t>(at) - 1, format, arguments);
  at += body < 0 ? 0 : body;
  if (at > static_cast<int>(sizeof line) - 2) at = static_cast<int>(sizeof line) - 2;
  line[at++] = '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(at));
}

void Log::warn(const char* format, ...) const {
  if (quiet_) return;
  va_list arguments;
  va_start(arguments, format);
  write("warning: ", format, arguments);
  va_end(arguments);
}

void Log::error(const char* format, ...) const {
  va_list arguments;
  va_start(arguments, format);
  write("error: ", format, arguments);
  va_end(arguments);
}

void Log::note(const char* format, ...) const {
  if (!verbose_) return;
  va_list arguments;
  va_start(arguments, format);
  write("", format, arguments);
  va_end(arguments);
}

}  // namespace tutti
