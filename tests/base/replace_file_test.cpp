#include "base/replace_file.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "temporary_folder.hpp"

namespace wia {
namespace {

namespace files = std::filesystem;
using testing::HasSubstr;

class ReplaceFile : public TemporaryFolder {
 protected:
  static std::string read(const std::string& path) { return read_path(path); }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(files::directory_iterator(folder_), files::directory_iterator()));
  }
};

TEST_F(ReplaceFile, MakesAndReplacesAndLeavesNothingBeside) {
  const std::string large(1 << 20, 'x');
  ASSERT_TRUE(replace_file(path("a"), large).ok());
  EXPECT_EQ(read(path("a")), large);
  ASSERT_TRUE(replace_file(path("a"), "short").ok());
  EXPECT_EQ(read(path("a")), "short");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ReplaceFile, WhoeverReadsKeepsWhatHeHasOpened) {
  ASSERT_TRUE(replace_file(path("a"), "before").ok());
  std::ifstream reader(path("a"));
  ASSERT_TRUE(replace_file(path("a"), "after!").ok());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "before");
}

TEST_F(ReplaceFile, ALinkStaysALink) {
  ASSERT_TRUE(replace_file(path("real"), "before").ok());
  files::create_symlink(path("real"), path("link"));
  ASSERT_TRUE(replace_file(path("link"), "after").ok());
  EXPECT_TRUE(files::is_symlink(path("link")));
  EXPECT_EQ(read(path("real")), "after");
}

TEST_F(ReplaceFile, ErrorsNameTheFileAndSayWhy) {
  for (const std::string& name : {std::string("/dev/full"), path("no/such/folder"), folder_}) {
    const Status status = replace_file(name, "text");
    EXPECT_EQ(status.code(), Code::system) << name;
    EXPECT_THAT(status.text(), HasSubstr("cannot write " + name + ": "));
  }
  EXPECT_TRUE(files::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace wia
