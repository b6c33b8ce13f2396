#include "digits.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

Digits Digits::take_every(std::size_t n) {
  Digits kept, taken;
  for (std::size_t i = 0; i < size(); i++) {
    Digits& to = i % n == n - 1 ? taken : kept;
    to.pixels.insert(to.pixels.end(), image(i), image(i) + kPixels);
    to.labels.push_back(labels[i]);
  }
  *this = std::move(kept);
  return taken;
}

Digits read_digits(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  Digits digits;
  std::string line;
  for (int number = 1; std::getline(file, line); number++) {
    std::istringstream fields(line);
    std::vector<int> values;
    std::string field;
    while (std::getline(fields, field, ',')) values.push_back(std::atoi(field.c_str()));
    if (values.size() != kPixels + 1 || values.back() < 0 || values.back() >= static_cast<int>(kClasses))
      throw std::runtime_error(path + ":" + std::to_string(number) +
                               ": expected 64 pixels and a label from 0 to 9");
    for (std::size_t i = 0; i < kPixels; i++) digits.pixels.push_back(static_cast<float>(values[i]) / 16.0f);
    digits.labels.push_back(values.back());
  }
  return digits;
}
