// A folder of its own for a test, removed with all that is in it.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace wia {

class TemporaryFolder : public testing::Test {
 protected:
  TemporaryFolder() {
    char name[] = "/tmp/wia-test-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~TemporaryFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  static std::string read_path(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

}  // namespace wia
