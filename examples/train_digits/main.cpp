// Trains a small network to read handwritten digits, data-parallel: every rank computes the gradients of its
// share of each batch, and all-reduces sum them while the backward pass still runs.
//
//   wia run -n 4 -- train_digits [--epochs 20] [--batch 64] [--bucket BYTES] [--data FILE] [--trajectory
//   FILE]
//
// Any number of ranks follows the same trajectory, up to float32 rounding: a step takes the mean over the
// whole batch, however unevenly it falls to the ranks. At the end all ranks compare their weights bit for
// bit. Exit code: 0 good, 1 a check failed (accuracy below 95 %, weights differ) or an error, 2 usage.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>
#include <wia/wia.hpp>

#include "digits.hpp"
#include "gradient_buckets.hpp"
#include "network.hpp"

namespace {

constexpr std::size_t kTestEvery = 5;  // every fifth image is kept for the test
constexpr std::uint64_t kSeed = 1;
constexpr float kLearningRate = 0.1f, kMomentum = 0.9f;
constexpr double kRequiredAccuracy = 0.95;

struct Options {
  std::size_t epochs = 20, batch = 64;
  std::size_t bucket_bytes = 16 * 1024;  // real models take about 25 MB
  std::string data = WIA_EXAMPLE_DATA "/digits.csv";
  std::string trajectory;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    std::size_t* number = name == "--epochs"   ? &options.epochs
                          : name == "--batch"  ? &options.batch
                          : name == "--bucket" ? &options.bucket_bytes
                                               : nullptr;
    std::string* text = name == "--data"         ? &options.data
                        : name == "--trajectory" ? &options.trajectory
                                                 : nullptr;
    if (value && number && (*number = std::strtoul(value, nullptr, 10)) > 0) continue;
    if (value && text) {
      *text = value;
      continue;
    }
    std::fprintf(stderr,
                 "train_digits: %s %s: expected --epochs, --batch, --bucket with a number, --data or "
                 "--trajectory with a file\n",
                 name.c_str(), value ? value : "");
    return false;
  }
  return true;
}

// The part of [0, count) that falls to a rank: parts differ by one at most, and may be empty.
struct Share {
  std::size_t begin, end;
  Share(std::size_t count, const wia::Communicator& comm)
      : begin(count * static_cast<std::size_t>(comm.rank()) / static_cast<std::size_t>(comm.size())),
        end(count * static_cast<std::size_t>(comm.rank() + 1) / static_cast<std::size_t>(comm.size())) {}
};

// The same order on every rank.
std::vector<std::size_t> shuffled(std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; i--) std::swap(order[i - 1], order[random() % i]);
  return order;
}

// Images of a batch, copied together.
struct Batch {
  std::vector<float> images;
  std::vector<int> labels;
  Batch(const Digits& digits, std::span<const std::size_t> indices) {
    for (const std::size_t i : indices) {
      images.insert(images.end(), digits.image(i), digits.image(i) + kPixels);
      labels.push_back(digits.labels[i]);
    }
  }
};

class Training {
 public:
  Training(const wia::Communicator& comm, const Options& options)
      : comm_(comm),
        options_(options),
        training_(read_digits(options.data)),
        test_(training_.take_every(kTestEvery)),
        network_({kPixels, 64, 64, kClasses}),
        gradients_(wia::Buffer<float>::allocate(network_.parameter_count()).value()),
        buckets_(comm, gradients_.span(), options.bucket_bytes),
        shuffle_(kSeed) {
    if (comm.rank() == 0) network_.initialize(kSeed);
    comm.broadcast(network_.parameters()).value();
  }

  int run() {
    const bool first = comm_.rank() == 0;
    if (first)
      std::printf("%zu parameters, %zu images to learn, %zu to test, ranks: %d\n", network_.parameter_count(),
                  training_.size(), test_.size(), comm_.size());
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> trajectory(nullptr, std::fclose);
    if (first && !options_.trajectory.empty()) {
      trajectory.reset(std::fopen(options_.trajectory.c_str(), "w"));
      if (!trajectory) throw std::runtime_error(options_.trajectory + ": " + std::strerror(errno));
      std::fprintf(trajectory.get(), "epoch,loss,training_accuracy\n");
    }

    const auto start = std::chrono::steady_clock::now();
    for (std::size_t epoch = 1; epoch <= options_.epochs; epoch++) {
      const Network::Score score = train(epoch);
      if (!first) continue;
      std::printf("epoch %2zu  loss %.4f  training accuracy %5.2f %%\n", epoch, score.loss,
                  100 * score.correct);
      std::fflush(stdout);
      if (trajectory) std::fprintf(trajectory.get(), "%zu,%.9g,%.9g\n", epoch, score.loss, score.correct);
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (first)
      std::printf("%.2f s, %zu asynchronous all-reduces, %.0f %% of the time spent waiting for them\n",
                  time.count(), buckets_.started(), 100 * waiting_.count() / time.count());
    const bool accurate = test();
    const bool identical = compare_weights();
    return accurate && identical ? 0 : 1;
  }

 private:
  // Means over all images of the epoch.
  Network::Score train(std::size_t epoch) {
    const std::vector<std::size_t> order = shuffled(training_.size(), shuffle_);
    Network::Score sum;
    for (std::size_t at = 0; at < order.size(); at += options_.batch) {
      const std::size_t count = std::min(options_.batch, order.size() - at);
      const Share share(count, comm_);
      const Batch batch(training_, std::span(order).subspan(at + share.begin, share.end - share.begin));
      const Network::Score score = network_.forward(batch.images, batch.labels);
      sum.loss += score.loss;
      sum.correct += score.correct;
      // Divided by the size of the whole batch, sums over the ranks are means over the batch.
      buckets_.start_backward();
      network_.backward(batch.labels, 1.0f / static_cast<float>(count), gradients_.span(),
                        [this](std::size_t begin) { buckets_.complete(begin); });
      const auto start = std::chrono::steady_clock::now();
      buckets_.wait();
      waiting_ += std::chrono::steady_clock::now() - start;
      network_.step(gradients_.span(), kLearningRate, kMomentum);
      show_progress(epoch, at + count, order.size());
    }
    return mean(sum, order.size());
  }

  Network::Score mean(const Network::Score& sum, std::size_t count) const {
    std::array<double, 2> all{sum.loss, sum.correct};
    comm_.all_reduce(all).value();
    return {all[0] / static_cast<double>(count), all[1] / static_cast<double>(count)};
  }

  void show_progress(std::size_t epoch, std::size_t done, std::size_t all) const {
    if (comm_.rank() != 0 || !isatty(STDERR_FILENO)) return;
    std::fprintf(stderr, "\repoch %zu of %zu, %zu of %zu images\033[K", epoch, options_.epochs, done, all);
    if (done == all) std::fprintf(stderr, "\r\033[K");
  }

  bool test() {
    const Share share(test_.size(), comm_);
    std::vector<std::size_t> mine(share.end - share.begin);
    std::iota(mine.begin(), mine.end(), share.begin);
    const Batch batch(test_, mine);
    const double accuracy = mean(network_.forward(batch.images, batch.labels), test_.size()).correct;
    if (comm_.rank() == 0)
      std::printf("test accuracy %.2f %% (%.0f of %zu; required: %.0f %%)\n", 100 * accuracy,
                  accuracy * static_cast<double>(test_.size()), test_.size(), 100 * kRequiredAccuracy);
    return accuracy >= kRequiredAccuracy;
  }

  // Two checks that know nothing of each other: equal hashes of all bits, and no difference between the
  // largest and the smallest value that a rank has of any weight.
  bool compare_weights() {
    const std::span<float> weights = network_.parameters();
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const float weight : weights) hash = (hash ^ std::bit_cast<std::uint32_t>(weight)) * 0x100000001b3;
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(comm_.size()));
    comm_.all_gather(std::span(&hash, 1), hashes).value();

    std::vector<float> smallest(weights.begin(), weights.end()), largest = smallest;
    comm_.all_reduce(smallest, WIA_OP_MIN).value();
    comm_.all_reduce(largest, WIA_OP_MAX).value();
    float difference = 0;
    for (std::size_t i = 0; i < weights.size(); i++)
      difference = std::max(difference, largest[i] - smallest[i]);

    const auto others = std::count_if(hashes.begin(), hashes.end(), [&](auto h) { return h != hashes[0]; });
    const bool identical = others == 0 && difference == 0;
    if (comm_.rank() == 0 && identical)
      std::printf("weights identical on %d ranks (hash %016llx)\n", comm_.size(),
                  static_cast<unsigned long long>(hash));
    if (comm_.rank() == 0 && !identical)
      std::printf("weights differ: %td of %d ranks have another hash than rank 0, largest difference %g\n",
                  others, comm_.size(), static_cast<double>(difference));
    return identical;
  }

  const wia::Communicator& comm_;
  const Options& options_;
  Digits training_, test_;
  Network network_;
  wia::Buffer<float> gradients_;
  GradientBuckets buckets_;
  std::mt19937_64 shuffle_;
  std::chrono::duration<double> waiting_{};
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) return 2;
  try {
    const wia::Communicator world = wia::Communicator::init().value();
    return Training(world, options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_digits: %s\n", error.what());
    return 1;
  }
}
