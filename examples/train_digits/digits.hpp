// The handwritten digits of examples/data: 8x8 images with their labels, read from a CSV file.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

inline constexpr std::size_t kPixels = 64;
inline constexpr std::size_t kClasses = 10;

struct Digits {
  std::vector<float> pixels;  // kPixels of each image, 0 to 1
  std::vector<int> labels;    // 0 to 9

  std::size_t size() const { return labels.size(); }
  const float* image(std::size_t i) const { return pixels.data() + i * kPixels; }
  // Takes out every `n`-th image and gives them back.
  Digits take_every(std::size_t n);
};

// Each line: 64 pixels from 0 to 16, then the label. Throws std::runtime_error naming file and line.
Digits read_digits(const std::string& path);
