// libFuzzer's entry: the target is the one that WALPOST_FUZZ_TARGET names. With --seeds DIR it writes
// the seeds there and ends.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "targets.h"

namespace {

const walpost::fuzz::Target& Chosen() {
  const char* name = std::getenv("WALPOST_FUZZ_TARGET");
  for (const walpost::fuzz::Target& target : walpost::fuzz::Targets()) {
    if (name != nullptr && std::string_view(name) == target.name) return target;
  }
  std::exit(64);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  if (*count != 3 || std::string_view((*arguments)[1]) != "--seeds") return 0;
  int number = 0;
  for (const std::string& seed : Chosen().seeds()) {
    std::ofstream(std::string((*arguments)[2]) + "/" + std::to_string(number++), std::ios::binary)
        << seed;
  }
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const walpost::fuzz::Target& target = Chosen();
  target.run({reinterpret_cast<const char*>(data), size});  // NOLINT: libFuzzer's bytes
  return 0;
}
