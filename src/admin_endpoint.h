// The administration port: metrics and health over HTTP, for scrapers, probes and humans.
//
// It has no thread of its own: the relay's loop polls poll_fd() and calls Serve(), so that an
// answer on /livez means that the loop turns. Read-only, nothing of a request is echoed, and there
// is neither TLS nor a password: it belongs on loopback or behind a proxy. Connections, memory and
// time are bounded (limits.h), and each connection carries one request.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace walpost {

enum class AdminRoute {
  kMetrics,  // /metrics
  kLivez,    // /livez /health /healthz
  kReadyz,   // /readyz /ready
  kActive,   // /readyz?role=active, likewise /ready
  kStatus,   // /status
};

struct AdminResponse {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

struct ListenAddress {
  std::string host;  // "" = all
  std::string port;  // decimal
};

// "127.0.0.1:7480", "localhost:0", "[::1]:7480", ":7480". Errors: kInvalidArgument says what is
// expected.
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

// Thread: loop only. Owned by whoever runs the loop; destroying it closes every connection.
class AdminEndpoint {
 public:
  // Called from Serve(); must not block and must not destroy the endpoint.
  using Handler = std::function<AdminResponse(AdminRoute)>;

  // Listens on `address` (port 0: a free one). Errors: kFailedPrecondition naming admin.listen.
  static absl::StatusOr<std::unique_ptr<AdminEndpoint>> Listen(std::string_view address,
                                                               Handler handler);
  ~AdminEndpoint();
  AdminEndpoint(const AdminEndpoint&) = delete;
  AdminEndpoint& operator=(const AdminEndpoint&) = delete;

  // Readable while there is something to serve. Valid as long as the object.
  int poll_fd() const { return poll_fd_; }

  // How long poll_fd() may be waited for before Serve() is due; infinite while nobody is connected.
  absl::Duration timeout() const;

  // Accepts, reads, answers and closes what is due. Never blocks.
  void Serve();

  // Where it listens: "127.0.0.1:7480".
  const std::string& address() const { return address_; }

  std::size_t connections() const { return connected_.size(); }

 private:
  explicit AdminEndpoint(Handler handler) : handler_(std::move(handler)) {}
  // Asked by the callbacks of the library, which run inside of Serve().
  friend struct AdminCallbacks;

  Handler handler_;
  MHD_Daemon* daemon_ = nullptr;
  int poll_fd_ = -1;
  std::string address_;
  std::map<MHD_Connection*, MonotonicTime> connected_;  // when each has to be gone
};

}  // namespace walpost
