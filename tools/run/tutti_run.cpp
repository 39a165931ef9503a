// `tutti run` where nothing is unusual, without the Python that works out the rest: an mpirun whose file tells which it is,
// options that are known, and one program that has its MPI among the libraries it needs, or Python's interpreter. What is
// not so, and all other commands, are left to Python, which would have started these in the same way.
//
//     tutti-run --python PYTHON SCRIPT WORDS...    as `tutti WORDS...`, whose Python is `PYTHON SCRIPT WORDS...`
//     tutti WORDS...                               below a prefix
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "elf_file.h"
#include "launcher.h"
#include "program.h"

extern char** environ;

namespace tutti::run {

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view prefix = "TUTTI_";

/// What stands between `run` and the command.
struct Given {
  bool explain = false, summary = false;
  std::string library;
  Variables settings;
  Words command;
};

void set(Variables& variables, std::string name, std::string value) {
  const auto same =
      std::find_if(variables.begin(), variables.end(), [&](const auto& each) { return each.first == name; });
  if (same != variables.end())
    same->second = std::move(value);
  else
    variables.emplace_back(std::move(name), std::move(value));
}

/// NAME=VALUE in any spelling. False if it is not a setting that there is.
bool take_setting(Variables& settings, std::string_view pair) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos) return false;
  std::string name(pair.substr(0, equals));
  for (char& letter : name)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  const auto known = setting_descriptions();
  if (std::none_of(known.begin(), known.end(), [&](const auto& each) { return each.name == name; })) return false;
  set(settings, std::string(prefix) + name, std::string(pair.substr(equals + 1)));
  return true;
}

/// Nothing if something is to be said about the words, or more than the command is asked for.
std::optional<Given> read(const Words& words) {
  Given given;
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with('-') && words[at] != "-"; ++at) {
    const std::string& word = words[at];
    if (word == "--") {
      ++at;
      break;
    }
    const bool has_value = at + 1 < words.size();
    if (word == "--explain")
      given.explain = true;
    else if (word == "--summary")
      given.summary = true;
    else if (word == "--library" && has_value)
      given.library = words[++at];
    else if ((word == "-s" || word == "--set") && has_value) {
      if (!take_setting(given.settings, words[++at])) return std::nullopt;
    } else if (word.starts_with("--set=")) {
      if (!take_setting(given.settings, std::string_view(word).substr(6))) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  given.command.assign(words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())), words.end());
  if (given.command.empty()) return std::nullopt;
  return given;
}

/// Of this program, with the last `parts` parts of its path away.
std::string folder_above(int parts) {
  std::string path = real_path("/proc/self/exe");
  for (; parts > 0; --parts) path.erase(std::min(path.rfind('/'), path.size()));
  return path;
}

/// What is preloaded: as this program in a wheel, in a build, or below a prefix.
std::string find_library() {
  const std::string above = folder_above(2);
  for (const std::string& path :
       {above + "/lib/libtutti.so", above + "/src/mpi/libtutti.so", folder_above(3) + "/lib/tutti/libtutti.so"})
    if (access(path.c_str(), R_OK) == 0) return path;
  return {};
}

struct Start {
  std::string path;
  Words words;
  Variables variables;
};

/// What is to be executed, if that is plain.
std::optional<Start> plan(const Words& words) {
  std::optional<Given> given = read(words);
  const char* const preload = std::getenv("LD_PRELOAD");
  if (!given || !looks_like_launcher(given->command[0]) || (preload && *preload)) return std::nullopt;
  const std::string library = given->library.empty() ? find_library() : real_path(given->library);
  if (library.empty() || library.find_first_of(": ") != std::string::npos || !read_elf(library)) return std::nullopt;
  Start start;
  start.path = find_program(given->command[0]);
  const std::optional<Launcher> launcher = start.path.empty() ? std::nullopt : glimpse(start.path);
  if (!launcher) return std::nullopt;
  const Words behind(given->command.begin() + 1, given->command.end());
  const std::optional<std::size_t> at = find_program_word(*launcher, behind);
  const std::string program = at ? find_program(behind[*at]) : std::string();
  const std::optional<Abi> abi = program.empty() ? std::nullopt : inspect_program(program);
  if (!abi || !starts(*launcher, *abi)) return std::nullopt;

  if (given->explain || given->summary) start.variables.emplace_back("TUTTI_EXPLAIN", given->explain ? "1" : "summary");
  for (const auto& [name, value] : given->settings) set(start.variables, name, value);
  Variables passed;
  for (char** each = environ; *each; ++each) {
    const std::string_view pair = *each;
    if (const std::size_t equals = pair.find('='); pair.starts_with(prefix) && equals != std::string_view::npos)
      set(passed, std::string(pair.substr(0, equals)), std::string(pair.substr(equals + 1)));
  }
  for (const auto& [name, value] : start.variables) set(passed, name, value);
  const Words options(behind.begin(), behind.begin() + static_cast<std::ptrdiff_t>(*at));
  start.words = {given->command[0]};
  for (std::string& word : words_for(*launcher, library, passed, options)) start.words.push_back(std::move(word));
  start.words.insert(start.words.end(), behind.begin(), behind.end());
  return start;
}

/// Returns only if it cannot be executed.
void become(const std::string& path, const Words& words, const Variables& variables = {}) {
  const auto pointers_to = [](const Words& texts) {
    std::vector<char*> pointers;
    for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
  };
  Words environment;
  for (char** each = environ; *each; ++each) {
    const std::string_view name = std::string_view(*each).substr(0, std::strcspn(*each, "="));
    if (std::none_of(variables.begin(), variables.end(), [&](const auto& ours) { return ours.first == name; }))
      environment.emplace_back(*each);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  execve(path.c_str(), pointers_to(words).data(), pointers_to(environment).data());
}

}  // namespace

int main_of(Words words) {
  Words python;
  if (words.size() >= 4 && words[1] == "--python") {
    python = {words[2], words[3]};
    words.erase(words.begin(), words.begin() + 4);
  } else {
    python = {find_program("python3"), folder_above(1) + "/tutti-python"};
    words.erase(words.begin());
  }
  if (!words.empty() && words[0] == "run")
    if (const std::optional<Start> start = plan({words.begin() + 1, words.end()}))
      become(start->path, start->words, start->variables);
  python.insert(python.end(), words.begin(), words.end());
  become(python[0], python);
  std::fprintf(stderr, "tutti: cannot execute '%s': %s\n", python[0].empty() ? "python3" : python[0].c_str(),
               std::strerror(errno));
  return 2;
}

}  // namespace tutti::run

int main(int count, char** words) {
  return tutti::run::main_of({words, words + count});
}
