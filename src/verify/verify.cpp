#include "verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "verify/case_data.hpp"
#include "verify/match.hpp"
#include "verify/runner.hpp"

namespace wia {
namespace {

using Schedules = std::vector<Schedule>;

Result<Schedules> build_all(const Case& a_case) {
  Schedules schedules;
  schedules.reserve(static_cast<size_t>(a_case.shape.ranks));
  Status refusal;
  int refused = 0;
  for (int r = 0; r < a_case.shape.ranks; ++r) {
    Result<Schedule> built = a_case.algorithm->build(a_case.shape_of(r));
    if (built) {
      schedules.push_back(std::move(*built));
    } else if (built.status().code() == Code::unsupported) {
      refusal = built.take_status();
      ++refused;
    } else {
      return Status::error(Code::protocol, "rank {} cannot be built: {}", r, built.status().text());
    }
  }
  if (refused == 0) return schedules;
  if (refused == a_case.shape.ranks) return refusal;
  return Status::error(Code::protocol, "some ranks refuse this shape, others do not: {}", refusal.text());
}

// Runs all variants. Runners are kept for variants with the same transport.
class VariantRuns {
 public:
  explicit VariantRuns(int ranks) : ranks_(ranks) {}

  // Increases `runs` by the runs made.
  Status all(const Case& a_case, const Schedules& schedules, size_t* runs) {
    WIA_RETURN_IF_ERROR(check_match(schedules, {a_case.shape.root, match_stride(ranks_)}));
    for (const Variant& variant : variants_of(a_case)) {
      ++*runs;
      if (Status status = one(a_case, schedules, variant); !status.ok())
        return Status::error(Code::protocol, "{}: {}", variant.text(), status.text());
    }
    return {};
  }

 private:
  Status one(const Case& a_case, const Schedules& schedules, const Variant& variant) {
    CaseData data(a_case, variant, schedules[0].output_chunks());
    const bool barrier = a_case.shape.collective == Collective::barrier;
    WIA_RETURN_IF_ERROR(runner(variant.transport).run(schedules, data, variant, barrier));
    return data.check();
  }

  Runner& runner(const LoopOptions& transport) {
    for (auto& runner : runners_)
      if (runner->transport() == transport) return *runner;
    return *runners_.emplace_back(std::make_unique<Runner>(ranks_, transport));
  }

  const int ranks_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

// One algorithm with one number of ranks.
struct Job {
  size_t algorithm;
  int ranks;
};

class Verification {
 public:
  Verification(std::span<const Algorithm* const> algorithms, const VerifyOptions& options)
      : algorithms_(algorithms), options_(options), proofs_(algorithms.size()) {
    for (size_t a = 0; a < algorithms.size(); ++a) {
      proofs_[a].algorithm = algorithms[a];
      for (const int ranks : options.ranks) jobs_.push_back({a, ranks});
    }
    // The largest first, so that no thread is left with one at the end.
    std::stable_sort(jobs_.begin(), jobs_.end(),
                     [](const Job& a, const Job& b) { return a.ranks > b.ranks; });
  }

  std::vector<Proof> run() {
    std::vector<std::thread> threads;
    for (int t = 1; t < options_.threads; ++t) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    for (Proof& proof : proofs_) {
      std::sort(proof.proven.begin(), proof.proven.end());
      std::sort(proof.unsupported.begin(), proof.unsupported.end());
    }
    return std::move(proofs_);
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (next_ == jobs_.size()) return;
      const Job job = jobs_[next_++];
      lock.unlock();
      do_job(job);
    }
  }

  void do_job(const Job& job) {
    const auto start = std::chrono::steady_clock::now();
    size_t cases = 0, runs = 0;
    std::string failure;
    VariantRuns variants(job.ranks);
    const std::vector<Case> all_cases = cases_of(*algorithms_[job.algorithm], job.ranks);
    // Most algorithms are the same for all layouts of ranks on nodes: each set of schedules is run once.
    const bool many_layouts = all_cases.front().layout != all_cases.back().layout;
    std::set<std::tuple<uint64_t, int, bool, Case::InPlace>> known;
    for (const Case& one : all_cases) {
      Result<Schedules> schedules = build_all(one);
      Status status = schedules.take_status();
      if (status.code() == Code::unsupported) continue;
      ++cases;
      if (status.ok()) {
        if (many_layouts &&
            !known.emplace(fingerprint(*schedules), one.shape.root, one.shape.even, one.in_place).second)
          continue;
        status = variants.all(one, *schedules, &runs);
      }
      if (status.ok()) continue;
      failure = fmt::format("{}: {}", one.text(), status.text());
      break;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::lock_guard lock(mutex_);
    Proof& proof = proofs_[job.algorithm];
    proof.cases += cases;
    proof.runs += runs;
    proof.seconds += took.count();
    if (failure.empty()) {
      (cases > 0 ? proof.proven : proof.unsupported).push_back(job.ranks);
    } else if (proof.failure.empty() ||
               job.ranks < proof.failed_ranks) {  // the smallest is the easiest to look at
      proof.failure = std::move(failure);
      proof.failed_ranks = job.ranks;
    }
    if (options_.progress) options_.progress(++done_, jobs_.size(), proof);
  }

  const std::span<const Algorithm* const> algorithms_;
  const VerifyOptions& options_;
  std::vector<Proof> proofs_;
  std::vector<Job> jobs_;
  std::mutex mutex_;
  size_t next_ = 0, done_ = 0;
};

}  // namespace

Status verify(const Case& a_case) {
  Result<Schedules> schedules = build_all(a_case);
  if (!schedules) return schedules.take_status();
  size_t runs = 0;
  return VariantRuns(a_case.shape.ranks).all(a_case, *schedules, &runs);
}

std::vector<Proof> verify_all(std::span<const Algorithm* const> algorithms, const VerifyOptions& options) {
  return Verification(algorithms, options).run();
}

}  // namespace wia
