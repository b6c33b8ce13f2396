#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <random>

Network::Network(std::vector<std::size_t> widths) : activations_(widths.size()) {
  for (std::size_t l = 0; l + 1 < widths.size(); l++) {
    layers_.push_back({widths[l], widths[l + 1], count_});
    count_ += layers_.back().weights() + widths[l + 1];
  }
  parameters_.resize(count_);
  velocity_.resize(count_);
}

void Network::initialize(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::fill(parameters_.begin(), parameters_.end(), 0.0f);
  for (const Layer& layer : layers_) {
    const double bound = std::sqrt(6.0 / static_cast<double>(layer.inputs + layer.outputs));
    for (std::size_t i = 0; i < layer.weights(); i++)
      parameters_[layer.begin + i] =
          static_cast<float>(bound * (2.0 * static_cast<double>(random() >> 11) * 0x1p-53 - 1));
  }
}

Network::Score Network::forward(std::span<const float> images, std::span<const int> labels) {
  const std::size_t batch = labels.size();
  activations_[0].assign(images.begin(), images.end());
  for (std::size_t l = 0; l < layers_.size(); l++) {
    const Layer& layer = layers_[l];
    const float* weights = &parameters_[layer.begin];
    const float* biases = weights + layer.weights();
    std::vector<float>& out = activations_[l + 1];
    out.resize(batch * layer.outputs);
    for (std::size_t i = 0; i < batch; i++) {
      const float* x = &activations_[l][i * layer.inputs];
      float* y = &out[i * layer.outputs];
      std::copy(biases, biases + layer.outputs, y);
      for (std::size_t k = 0; k < layer.inputs; k++)
        for (std::size_t j = 0; j < layer.outputs; j++) y[j] += x[k] * weights[k * layer.outputs + j];
      if (l + 1 < layers_.size())
        for (std::size_t j = 0; j < layer.outputs; j++) y[j] = std::tanh(y[j]);
    }
  }

  // Softmax, in place: the last activations become probabilities.
  Score score;
  const std::size_t classes = layers_.back().outputs;
  for (std::size_t i = 0; i < batch; i++) {
    float* y = &activations_.back()[i * classes];
    const float* largest = std::max_element(y, y + classes);
    score.correct += largest - y == labels[i];
    const float shift = *largest;
    float sum = 0;
    for (std::size_t j = 0; j < classes; j++) sum += y[j] = std::exp(y[j] - shift);
    for (std::size_t j = 0; j < classes; j++) y[j] /= sum;
    score.loss -= std::log(std::max(y[labels[i]], 1e-30f));
  }
  return score;
}

void Network::backward(std::span<const int> labels, float scale, std::span<float> gradients,
                       const std::function<void(std::size_t)>& complete) {
  const std::size_t batch = labels.size();
  std::fill(gradients.begin(), gradients.end(), 0.0f);

  // delta: derivative of the loss by what a layer gave, before tanh; for softmax with cross entropy p -
  // [label].
  std::vector<float> delta = activations_.back();
  for (std::size_t i = 0; i < batch; i++)
    delta[i * layers_.back().outputs + static_cast<std::size_t>(labels[i])] -= 1;
  for (float& d : delta) d *= scale;

  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    const float* weights = &parameters_[layer.begin];
    float* weight_gradients = &gradients[layer.begin];
    float* bias_gradients = weight_gradients + layer.weights();
    const std::vector<float>& in = activations_[l];
    std::vector<float> below(l > 0 ? in.size() : 0);
    for (std::size_t i = 0; i < batch; i++) {
      const float* d = &delta[i * layer.outputs];
      for (std::size_t j = 0; j < layer.outputs; j++) bias_gradients[j] += d[j];
      for (std::size_t k = 0; k < layer.inputs; k++) {
        const float x = in[i * layer.inputs + k];
        float sum = 0;
        for (std::size_t j = 0; j < layer.outputs; j++) weight_gradients[k * layer.outputs + j] += x * d[j];
        if (l == 0) continue;
        for (std::size_t j = 0; j < layer.outputs; j++) sum += weights[k * layer.outputs + j] * d[j];
        below[i * layer.inputs + k] = sum * (1 - x * x);  // the derivative of tanh
      }
    }
    complete(layer.begin);
    delta = std::move(below);
  }
}

void Network::step(std::span<const float> gradients, float learning_rate, float momentum) {
  for (std::size_t i = 0; i < count_; i++) {
    velocity_[i] = momentum * velocity_[i] + gradients[i];
    parameters_[i] -= learning_rate * velocity_[i];
  }
}
