// A fully connected network with ReLU between the layers and softmax cross entropy at the end, trained by
// gradient descent with momentum. It knows nothing of ranks: it adds up gradients and says when a layer's are
// complete.
//
// Parameters of all layers lie in one array, the first layer first; each layer: inputs x outputs weights,
// then outputs biases. Gradients have the same layout.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

class Network {
 public:
  explicit Network(std::vector<std::size_t> widths);  // of the input, of each layer

  std::size_t parameter_count() const { return count_; }
  std::span<float> parameters() { return parameters_; }
  void initialize(std::uint64_t seed);

  // images: one after the other; their number is that of the labels. Loss and hits are sums over these
  // images.
  struct Score {
    double loss = 0;
    double correct = 0;
  };
  Score forward(std::span<const float> images, std::span<const int> labels);

  // Gradients of the images of the last forward(), times scale, replace `gradients`. The last layer's come
  // first; complete(begin) is called when all from index `begin` on are final.
  void backward(std::span<const int> labels, float scale, std::span<float> gradients,
                const std::function<void(std::size_t begin)>& complete);

  void step(std::span<const float> gradients, float learning_rate, float momentum);

 private:
  struct Layer {
    std::size_t inputs, outputs, begin;
    std::size_t weights() const { return inputs * outputs; }
  };
  std::vector<Layer> layers_;
  std::size_t count_ = 0;
  std::vector<float> parameters_, velocity_;
  std::vector<std::vector<float>> activations_;  // [0]: the images; [l + 1]: what layer l gave
};
