#include "launcher.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "elf_file.h"
#include "launcher_options.h"

namespace tutti::run {

namespace {

bool contains(std::string_view text, std::string_view word) {
  return memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

bool is_listed(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; (at = words.find(word, at)) != std::string_view::npos; at += word.size()) {
    const auto is_space = [&](std::size_t i) { return i >= words.size() || words[i] == ' ' || words[i] == '\n'; };
    if (is_space(at - 1) && is_space(at + word.size())) return true;
  }
  return false;
}

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

/// Options that say where the program is, or name a file with programs.
bool needs_thought(std::string_view name) {
  static constexpr std::string_view names[] = {"path", "wdir", "wd", "chdir", "D", "app", "configfile"};
  return std::find(std::begin(names), std::end(names), name.substr(0, name.find('='))) != std::end(names);
}

/// How many words the option takes, itself included; 0 for one that is not known.
std::size_t width_of(Launcher launcher, std::string_view name) {
  const Options& options = launcher == Launcher::hydra ? hydra_options : openmpi_options;
  if (name.empty() || needs_thought(name)) return 0;
  if (name.find('=') != std::string_view::npos) return 1;
  if (is_listed(options.one, name)) return 2;
  if (is_listed(options.two, name)) return 3;
  return is_listed(options.flags, name) ? 1 : 0;
}

bool is_passed(Launcher launcher, const std::vector<std::string>& options, const std::string& name) {
  for (std::size_t at = 0; at + 1 < options.size(); ++at) {
    const std::string &option = options[at], &value = options[at + 1];
    if (launcher == Launcher::openmpi) {
      if ((option == "-x" || option == "--x") && value.substr(0, value.find('=')) == name) return true;
    } else if (const std::string_view word = without_dashes(option);
               (word == "genv" || word == "env") && value == name) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Launcher> glimpse(const std::string& path) {
  const std::string file = real_path(path);
  {
    const MappedFile mapped(file);
    if (contains(mapped.text(), "I_MPI_MPIRUN") || contains(mapped.text(), "HYDRA build details"))
      return Launcher::hydra;
  }
  const std::optional<ElfFile> elf = read_elf(file);
  if (!elf || base_name(file) == "srun") return std::nullopt;
  bool of_openmpi = false;
  for (const std::string& library : elf->needed) {
    if (library.starts_with("libslurm")) return std::nullopt;
    of_openmpi |= library.starts_with("libopen-rte.") || library.starts_with("libprrte.");
  }
  // Open MPI 5's mpirun is a small program that starts the prterun of its installation.
  const std::string beside = file.substr(0, file.rfind('/') + 1) + "ompi_info";
  if (of_openmpi || access(beside.c_str(), F_OK) == 0) return Launcher::openmpi;
  return std::nullopt;
}

bool looks_like_launcher(std::string_view word) {
  const std::string_view base = base_name(word);
  for (const std::string_view known : {std::string_view("mpirun"), std::string_view("mpiexec")})
    if (base.starts_with(known) && (base == known || base[known.size()] == '.')) return true;
  return false;
}

bool starts(Launcher launcher, Abi abi) {
  if (abi == Abi::any) return true;
  return launcher == Launcher::hydra ? abi != Abi::openmpi : abi == Abi::openmpi;
}

std::optional<std::size_t> find_program_word(Launcher launcher, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), ":") != words.end()) return std::nullopt;
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with('-') && words[at].size() > 1) {
    if (words[at] == "--") return at + 1 < words.size() ? std::optional(at + 1) : std::nullopt;
    const std::size_t width = width_of(launcher, without_dashes(words[at]));
    if (width == 0) return std::nullopt;
    at += width;
  }
  if (at >= words.size()) return std::nullopt;
  for (std::size_t i = 0; i < at; ++i)
    if (words[i].find("LD_PRELOAD") != std::string::npos) return std::nullopt;
  return at;
}

std::vector<std::string> words_for(Launcher launcher, const std::string& library, const Variables& variables,
                                   const std::vector<std::string>& options) {
  const bool is_hydra = launcher == Launcher::hydra;
  std::vector<std::string> words{is_hydra ? "-genv" : "-x"};
  if (is_hydra)
    words.insert(words.end(), {"LD_PRELOAD", library});
  else
    words.push_back("LD_PRELOAD=" + library);
  for (const auto& [name, value] : variables) {
    if (is_passed(launcher, options, name)) continue;
    words.insert(words.end(), {is_hydra ? "-genv" : "-x", name});
    // Open MPI takes the value from its own environment, so no character of it can be misread.
    if (is_hydra) words.push_back(value);
  }
  return words;
}

}  // namespace tutti::run
