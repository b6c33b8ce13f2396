// A tree of files like /sys, in a directory of its own that ends with it.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace wia {

class FakeSysfs {
 public:
  FakeSysfs() {
    char name[] = "/tmp/wia-test-sysfs-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~FakeSysfs() { std::filesystem::remove_all(root_); }
  std::string root() const { return root_; }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  void directory(const std::string& path) { std::filesystem::create_directories(root_ / path); }
  void link(const std::string& path, const std::string& to) {
    const std::filesystem::path from = root_ / path;
    std::filesystem::create_directories(from.parent_path());
    std::filesystem::create_directory_symlink(root_ / to, from);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace wia
