// A file in a folder of its own, gone at the end of the test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace walpost::sink::file {

class TemporaryFile {
 public:
  TemporaryFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "walpost-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "out"; }

  void Write(std::string_view content) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << content;
  }
  std::string Read() const {
    std::ostringstream content;
    content << std::ifstream(path(), std::ios::binary).rdbuf();
    return content.str();
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace walpost::sink::file
