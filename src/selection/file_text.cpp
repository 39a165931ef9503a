#include "selection/file_text.h"

#include <nlohmann/json.hpp>

namespace tutti::selection {

namespace {

constexpr std::size_t longest = 200;

unsigned char byte_at(const std::string& text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// At most `longest` bytes; no letter of UTF-8 is cut in two.
void shorten(std::string& text) {
  if (text.size() <= longest) return;
  std::size_t end = longest;
  while (end > 0 && (byte_at(text, end) & 0xc0) == 0x80) --end;
  text.resize(end);
}

}  // namespace

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return "";
  auto text = found->get<std::string>();
  shorten(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char letter = byte_at(text, i);
    // Those from U+0080 on begin sequences for terminals, too.
    if (letter == 0xc2 && i + 1 < text.size() && byte_at(text, i + 1) < 0xa0)
      text.replace(i, 2, "?");
    else if (letter < 0x20 || letter == 0x7f)
      text[i] = '?';
  }
  return text;
}

}  // namespace tutti::selection
