#include "communicator/measure_topology.hpp"

#include "base/config.hpp"
#include "communicator/measure_link.hpp"
#include "topology/discover.hpp"
#include "topology/file.hpp"

namespace wia {
namespace {

struct AgreedOptions {
  uint64_t measure, largest_bytes;
  int64_t budget_ms, all_pairs_up_to;
};

Status agree(Communicator& communicator, AgreedOptions* options) {
  Call call;
  call.collective = Collective::broadcast;
  call.recv = options;
  call.count = sizeof *options;
  return communicator.collective(call, nullptr);
}

// Everybody's text, in the order of ranks.
Result<std::vector<std::string>> gather(Communicator& communicator, const std::string& mine) {
  const auto ranks = static_cast<size_t>(communicator.size());
  std::vector<size_t> lengths(ranks);
  const size_t own = mine.size();
  Call call;
  call.collective = Collective::all_gather;
  call.send = &own;
  call.recv = lengths.data();
  call.count = 1;
  call.dtype = DType::uint64;
  WIA_RETURN_IF_ERROR(communicator.collective(call, nullptr));
  size_t all = 0;
  for (const size_t length : lengths) all += length;
  std::string joined(all, '\0');
  call.send = mine.data();
  call.recv = joined.data();
  call.counts = lengths.data();
  call.dtype = DType::uint8;
  WIA_RETURN_IF_ERROR(communicator.collective(call, nullptr));
  std::vector<std::string> texts;
  for (size_t r = 0, at = 0; r < ranks; at += lengths[r++]) texts.push_back(joined.substr(at, lengths[r]));
  return texts;
}

Result<Topology> share(Communicator& communicator, const TopologyPart& part) {
  auto texts = gather(communicator, to_text(part));
  if (!texts) return texts.take_status();
  std::vector<TopologyPart> parts;
  for (const std::string& text : *texts) {
    auto read = part_from_text(text, fmt::format("what rank {} says of its host", parts.size()));
    if (!read) return read.take_status();
    parts.push_back(std::move(*read));
  }
  return merge(parts);
}

Status barrier(Communicator& communicator) { return communicator.collective(Call(), nullptr); }

}  // namespace

Result<Topology> measure_topology(Communicator& communicator, const MeasureOptions& options) {
  AgreedOptions agreed = {options.measure, options.largest_bytes, options.budget_ms, options.all_pairs_up_to};
  WIA_RETURN_IF_ERROR(agree(communicator, &agreed));
  auto config = Config::from_environment();
  if (!config) return config.take_status();
  TopologyPart part;
  part.host = discover_host(config->nic);
  part.endpoint = discover_endpoint(part.host);
  auto topology = share(communicator, part);
  if (!topology || !agreed.measure) return topology;

  const auto pairs = pairs_to_measure(*topology, static_cast<int>(agreed.all_pairs_up_to));
  const int rank = communicator.rank();
  for (size_t done = 0; done < pairs.size(); ++done) {
    if (options.progress) options.progress(static_cast<int>(done), static_cast<int>(pairs.size()));
    const auto [source, target] = pairs[done];
    if (rank == source) {
      auto link =
          measure_link(communicator, target, part.host.nics, {agreed.largest_bytes, agreed.budget_ms});
      if (!link) return link.take_status();
      part.links.push_back(std::move(*link));
    } else if (rank == target) {
      WIA_RETURN_IF_ERROR(answer_link(communicator, source));
    }
    WIA_RETURN_IF_ERROR(barrier(communicator));
  }
  topology = share(communicator, part);
  if (topology) assume_unmeasured(*topology);
  return topology;
}

}  // namespace wia
