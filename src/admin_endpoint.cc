#include "admin_endpoint.h"

#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status.h"

namespace walpost {
namespace {

struct RoutePath {
  std::string_view path;
  AdminRoute route;
};
constexpr RoutePath kPaths[] = {
    {"/metrics", AdminRoute::kMetrics}, {"/livez", AdminRoute::kLivez},
    {"/health", AdminRoute::kLivez},    {"/healthz", AdminRoute::kLivez},
    {"/readyz", AdminRoute::kReadyz},   {"/ready", AdminRoute::kReadyz},
    {"/status", AdminRoute::kStatus},
};

std::optional<AdminRoute> RouteOf(std::string_view path) {
  for (const RoutePath& known : kPaths) {
    if (known.path == path) return known.route;
  }
  return std::nullopt;
}

absl::Status ListenError(std::string_view address, std::string_view fault) {
  return WithHint(
      Error(absl::StatusCode::kFailedPrecondition,
            absl::StrCat("admin.listen: can't listen on ", ToAbsl(address), ": ", ToAbsl(fault))),
      "set admin.listen to a free address of this host, or to \"\" for no "
      "administration port");
}

std::string Join(std::string_view host, std::string_view port) {
  const bool v6 = host.find(':') != std::string_view::npos;
  return absl::StrCat(v6 ? "[" : "", ToAbsl(host), v6 ? "]:" : ":", ToAbsl(port));
}

// A listening socket, or the errno of what failed.
absl::StatusOr<int> OpenSocket(const addrinfo& info, std::string_view address) {
  const int fd =
      socket(info.ai_family, info.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, info.ai_protocol);
  if (fd < 0) return ListenError(address, std::strerror(errno));
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on,
             sizeof(on));  // a restart need not wait for TIME_WAIT
  if (bind(fd, info.ai_addr, info.ai_addrlen) != 0 ||
      listen(fd, static_cast<int>(limits::kAdminConnections)) != 0) {
    const int reason = errno;
    close(fd);
    return ListenError(address, std::strerror(reason));
  }
  return fd;
}

absl::StatusOr<int> OpenSocket(const ListenAddress& listen, std::string_view address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(listen.host.empty() ? nullptr : listen.host.c_str(),
                                listen.port.c_str(), &hints, &found);
  if (error != 0) return ListenError(address, gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, &freeaddrinfo);
  absl::StatusOr<int> fd = ListenError(address, "no address found");
  for (const addrinfo* info = found; info != nullptr && !fd.ok(); info = info->ai_next) {
    fd = OpenSocket(*info, address);
  }
  return fd;
}

std::string BoundAddress(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  auto* any = reinterpret_cast<sockaddr*>(&bound);
  if (getsockname(fd, any, &size) == 0) {
    getnameinfo(any, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
  }
  return Join(host, port);
}

MHD_Result Answer(MHD_Connection* connection, const AdminResponse& answer, bool allow_header) {
  MHD_Response* response = MHD_create_response_from_buffer(
      answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;  // out of memory: the connection is closed
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (allow_header) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(answer.code), response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace

struct AdminCallbacks {
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* url,
                              const char* method, const char*, const char*, std::size_t*, void**) {
    const std::string_view verb = method;
    if (verb != MHD_HTTP_METHOD_GET && verb != MHD_HTTP_METHOD_HEAD) {
      return Answer(connection, {MHD_HTTP_METHOD_NOT_ALLOWED, {}, "only GET and HEAD\n"}, true);
    }
    std::optional<AdminRoute> route = RouteOf(url);
    if (!route) {
      return Answer(connection, {MHD_HTTP_NOT_FOUND, {}, "try /metrics /livez /readyz /status\n"},
                    false);
    }
    if (route == AdminRoute::kReadyz) {
      const char* role = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "role");
      if (role != nullptr && std::string_view(role) == "active") route = AdminRoute::kActive;
    }
    return Answer(connection, static_cast<AdminEndpoint*>(self)->handler_(*route), false);
  }

  static void OnConnection(void* self, MHD_Connection* connection, void**,
                           MHD_ConnectionNotificationCode code) {
    auto& connected = static_cast<AdminEndpoint*>(self)->connected_;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      connected[connection] = MonotonicNow() + limits::kAdminLifetime;
    } else {
      connected.erase(connection);
    }
  }
};

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  ListenAddress address;
  if (colon != std::string_view::npos) {
    address.host = text.substr(0, colon);
    address.port = text.substr(colon + 1);
  }
  std::string& host = address.host;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool bare_v6 = !bracketed && host.find(':') != std::string::npos;
  unsigned port = 0;
  const bool digits = address.port.find_first_not_of("0123456789") == std::string::npos;
  if (bare_v6 || !digits || !absl::SimpleAtoi(address.port, &port) || port > 65535 ||
      host.find_first_of("[]/ ") != std::string::npos) {
    return Error(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("'", ToAbsl(text),
                              "' is not HOST:PORT; write \"127.0.0.1:7480\", "
                              "\"[::1]:7480\", or \"\" for no port"));
  }
  return address;
}

absl::StatusOr<std::unique_ptr<AdminEndpoint>> AdminEndpoint::Listen(std::string_view address,
                                                                     Handler handler) {
  const absl::StatusOr<ListenAddress> parsed = ParseListenAddress(address);
  if (!parsed.ok()) return ListenError(address, MessageOf(parsed.status()));
  ASSIGN_OR_RETURN(const int fd, OpenSocket(*parsed, address));
  std::unique_ptr<AdminEndpoint> endpoint(new AdminEndpoint(std::move(handler)));
  endpoint->address_ = BoundAddress(fd);
  endpoint->daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL, 0, nullptr, nullptr, &AdminCallbacks::OnRequest, endpoint.get(),
      MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, limits::kAdminConnections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits::kAdminConnectionBytes,
      MHD_OPTION_CONNECTION_TIMEOUT, limits::kAdminIdleSeconds, MHD_OPTION_NOTIFY_CONNECTION,
      &AdminCallbacks::OnConnection, endpoint.get(), MHD_OPTION_END);
  if (endpoint->daemon_ == nullptr) {
    close(fd);
    return ListenError(address, "the HTTP library didn't start");
  }
  const MHD_DaemonInfo* info = MHD_get_daemon_info(endpoint->daemon_, MHD_DAEMON_INFO_EPOLL_FD);
  if (info == nullptr || info->epoll_fd < 0) {
    return ListenError(address, "the HTTP library was built without epoll");
  }
  endpoint->poll_fd_ = info->epoll_fd;
  return endpoint;
}

AdminEndpoint::~AdminEndpoint() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);  // closes the listening socket too
}

absl::Duration AdminEndpoint::timeout() const {
  absl::Duration wait = absl::InfiniteDuration();
  MHD_UNSIGNED_LONG_LONG milliseconds = 0;
  if (MHD_get_timeout(daemon_, &milliseconds) == MHD_YES) {
    wait = absl::Milliseconds(
        static_cast<std::int64_t>(std::min<unsigned long long>(milliseconds, 1000)));
  }
  const MonotonicTime now = MonotonicNow();
  for (const auto& [connection, deadline] : connected_) {
    wait = std::min(wait, std::max(deadline - now, absl::ZeroDuration()));
  }
  return wait;
}

void AdminEndpoint::Serve() {
  // The library's own time-out starts anew with every byte: a client that drips one in now and then
  // could hold a connection for hours, and enough of them the port.
  const MonotonicTime now = MonotonicNow();
  for (auto& [connection, deadline] : connected_) {
    if (deadline > now) continue;
    const MHD_ConnectionInfo* info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info != nullptr)
      shutdown(info->connect_fd, SHUT_RDWR);  // the library sees its end and closes
    deadline = MonotonicTime::Never();
  }
  MHD_run(daemon_);
}

}  // namespace walpost
