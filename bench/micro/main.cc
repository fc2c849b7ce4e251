// walpost-micro: Google Benchmark over the cases; or, as `walpost-micro --steps CASE COUNT`, so many
// steps of one, for bench/micro/instructions to count.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "micro/cases.h"

namespace {

int Steps(std::string_view name, long count) {
  for (const walpost::bench::MicroRow& row : walpost::bench::MicroCases()) {
    if (row.name != name) continue;
    const auto one = row.make();
    for (long i = 0; i < count; ++i) one->Step();
    return 0;
  }
  std::fprintf(stderr, "no case is named %s\n", std::string(name).c_str());
  return 64;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--steps")
    return Steps(argv[2], std::atol(argv[3]));
  for (const walpost::bench::MicroRow& row : walpost::bench::MicroCases()) {
    benchmark::RegisterBenchmark(std::string(row.name).c_str(), [&row](benchmark::State& state) {
      const auto one = row.make();
      for (auto _ : state) one->Step();
      state.SetItemsProcessed(state.iterations());
    });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
