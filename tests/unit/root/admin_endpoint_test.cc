#include "admin_endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/status.h"
#include "status_is.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::StatusIs;

// A blocking-free client: bytes go in and out while the endpoint is served by the same thread.
class Client {
 public:
  explicit Client(std::string_view address) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(
        std::atoi(std::string(address.substr(address.rfind(':') + 1)).c_str())));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  }
  Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  Client& operator=(Client&&) = delete;
  ~Client() {
    if (fd_ >= 0) close(fd_);
  }

  void Send(std::string_view bytes) {
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Adds what has come to `received`; true once the other side has closed.
  bool Receive() {
    char buffer[4096];
    while (true) {
      const ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
      if (got > 0) {
        received.append(buffer, static_cast<std::size_t>(got));
        continue;
      }
      return got == 0 || errno != EAGAIN;
    }
  }
  int fd() const { return fd_; }

  std::string received;

 private:
  int fd_ = -1;
};

class AdminEndpointTest : public ::testing::Test {
 protected:
  AdminEndpointTest() {
    auto endpoint = AdminEndpoint::Listen("127.0.0.1:0", [this](AdminRoute route) {
      asked_.push_back(route);
      return answer_;
    });
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = *std::move(endpoint);
  }

  // Turns the loop until `client` has seen the end of its connection.
  std::string Finish(Client& client) {
    const MonotonicTime deadline = MonotonicNow() + absl::Seconds(20);
    while (!client.Receive()) {
      if (MonotonicNow() > deadline) {
        ADD_FAILURE() << "no end of the connection";
        break;
      }
      Turn(client.fd());
    }
    return client.received;
  }
  void Turn(int client_fd) {
    pollfd polls[] = {{endpoint_->poll_fd(), POLLIN, 0}, {client_fd, POLLIN, 0}};
    const absl::Duration wait = std::min(endpoint_->timeout(), absl::Milliseconds(100));
    poll(polls, 2, static_cast<int>(absl::ToInt64Milliseconds(wait)));
    endpoint_->Serve();
  }
  std::string Request(const std::string& method, const std::string& path) {
    Client client(endpoint_->address());
    client.Send(method + " " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return Finish(client);
  }
  std::size_t OpenFiles() {
    std::size_t open = 0;
    for (int fd = 0; fd < 1024; ++fd) open += fcntl(fd, F_GETFD) >= 0 ? 1U : 0U;
    return open;
  }

  AdminResponse answer_ = {200, "text/plain; charset=utf-8", "hello\n"};
  std::vector<AdminRoute> asked_;
  std::unique_ptr<AdminEndpoint> endpoint_;
};

TEST_F(AdminEndpointTest, EveryPathReachesItsRoute) {
  const std::pair<const char*, AdminRoute> cases[] = {
      {"/metrics", AdminRoute::kMetrics},
      {"/livez", AdminRoute::kLivez},
      {"/health", AdminRoute::kLivez},
      {"/healthz", AdminRoute::kLivez},
      {"/readyz", AdminRoute::kReadyz},
      {"/readyz?role=active", AdminRoute::kActive},
      {"/ready", AdminRoute::kReadyz},
      {"/status", AdminRoute::kStatus},
      {"/status?verbose=1", AdminRoute::kStatus},
  };
  for (const auto& [path, route] : cases) {
    asked_.clear();
    EXPECT_THAT(Request("GET", path),
                AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\n\r\nhello\n")));
    EXPECT_EQ(asked_, std::vector<AdminRoute>{route}) << path;
  }
}

TEST_F(AdminEndpointTest, CodeTypeAndBodyAreTheHandlers) {
  answer_ = {503, "application/json", "{\"ready\":false}"};
  EXPECT_THAT(Request("GET", "/readyz"),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Content-Type: application/json\r\n"),
                    HasSubstr("Connection: close\r\n"), HasSubstr("Cache-Control: no-store\r\n"),
                    HasSubstr("\r\n\r\n{\"ready\":false}")));
}

TEST_F(AdminEndpointTest, HeadHasNoBody) {
  EXPECT_THAT(Request("HEAD", "/livez"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Length: 6\r\n"),
                    Not(HasSubstr("hello"))));
}

TEST_F(AdminEndpointTest, OtherPathsAreNotFoundAndNotEchoed) {
  for (const char* path : {"/", "/metricsx", "/METRICS", "/livez/", "/../etc/passwd", "//metrics",
                           "/metrics%2f", "/<script>"}) {
    EXPECT_THAT(Request("GET", path), AllOf(StartsWith("HTTP/1.1 404 "), Not(HasSubstr("script"))))
        << path;
  }
  EXPECT_TRUE(asked_.empty());
}

TEST_F(AdminEndpointTest, OtherMethodsAreRefused) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"}) {
    EXPECT_THAT(Request(method, "/metrics"),
                AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD\r\n")))
        << method;
  }
  EXPECT_TRUE(asked_.empty());
}

TEST_F(AdminEndpointTest, ABodyIsNotWaitedFor) {
  Client client(endpoint_->address());
  client.Send("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
  EXPECT_THAT(Finish(client), StartsWith("HTTP/1.1 405 "));
}

TEST_F(AdminEndpointTest, ALargeBodyArrivesWhole) {
  answer_.body = std::string(3'000'000, 'm');
  const std::string response = Request("GET", "/metrics");
  EXPECT_EQ(response.size() - response.find("\r\n\r\n") - 4, answer_.body.size());
}

TEST_F(AdminEndpointTest, GarbageAndEndlessHeadersEndTheConnection) {
  for (const std::string& bytes :
       {std::string("\r\n\0\xFF garbage\r\n\r\n", 16), std::string("GET\r\n\r\n"),
        "GET /livez HTTP/1.1\r\nX: " + std::string(64 * 1024, 'x')}) {
    Client client(endpoint_->address());
    client.Send(bytes);
    EXPECT_THAT(Finish(client), Not(HasSubstr("hello")));
  }
  EXPECT_THAT(Request("GET", "/livez"), HasSubstr("hello"));  // it goes on
}

TEST_F(AdminEndpointTest, NobodyConnectedIsNothingToWaitFor) {
  EXPECT_EQ(endpoint_->timeout(), absl::InfiniteDuration());
  Client client(endpoint_->address());
  while (endpoint_->connections() == 0) Turn(client.fd());
  EXPECT_LE(endpoint_->timeout(), absl::Seconds(limits::kAdminIdleSeconds));
}

TEST_F(AdminEndpointTest, ManyAtOnceAreAllAnsweredWithinTheLimitOfConnections) {
  std::vector<Client> clients;
  for (unsigned i = 0; i < 3 * limits::kAdminConnections; ++i)
    clients.emplace_back(endpoint_->address());
  // Far less than kAdminIdleSeconds together: nobody has asked for anything yet.
  for (int i = 0; i < 20; ++i) {
    Turn(clients[0].fd());
    EXPECT_LE(endpoint_->connections(), limits::kAdminConnections);
  }
  for (Client& client : clients) client.Send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
  for (Client& client : clients) EXPECT_THAT(Finish(client), HasSubstr("hello"));
  EXPECT_EQ(endpoint_->connections(), 0U);
}

// Two bounds at once: silence ends after kAdminIdleSeconds, dripping after kAdminLifetime.
TEST_F(AdminEndpointTest, SilentAndDrippingClientsAreClosed) {
  Client silent(endpoint_->address());
  Client dripping(endpoint_->address());
  const MonotonicTime start = MonotonicNow();
  dripping.Send("GET /livez HTTP/1.1\r\nX: ");
  MonotonicTime next_drip = start + absl::Seconds(1);
  bool silent_closed = false;
  while (!dripping.Receive()) {
    ASSERT_LT(MonotonicNow() - start, absl::Seconds(20));
    Turn(dripping.fd());
    silent_closed = silent_closed || silent.Receive();
    if (MonotonicNow() < next_drip) continue;
    send(dripping.fd(), "x", 1, MSG_NOSIGNAL);
    next_drip = next_drip + absl::Seconds(1);
  }
  EXPECT_TRUE(silent_closed);
  EXPECT_GE(MonotonicNow() - start, limits::kAdminLifetime - absl::Milliseconds(100));
}

TEST_F(AdminEndpointTest, DestroyingItClosesEverything) {
  endpoint_.reset();
  const std::size_t before = OpenFiles();
  auto endpoint = AdminEndpoint::Listen("127.0.0.1:0", [](AdminRoute) { return AdminResponse(); });
  ASSERT_TRUE(endpoint.ok());
  EXPECT_GT(OpenFiles(), before);
  endpoint->reset();
  EXPECT_EQ(OpenFiles(), before);
}

TEST_F(AdminEndpointTest, AnAddressInUseNamesTheKey) {
  const auto second =
      AdminEndpoint::Listen(endpoint_->address(), [](AdminRoute) { return AdminResponse(); });
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("admin.listen"), HasSubstr(endpoint_->address()),
                                     HasSubstr("Address already in use"))));
  EXPECT_EQ(ExitCodeOf(second.status()), ExitCode::kConfiguration);
  EXPECT_THAT(HintOf(second.status()), HasSubstr("admin.listen"));
}

TEST(AdminListenTest, AnUnknownHostNamesTheKey) {
  for (const char* address : {"192.0.2.1:0", "host.invalid:0", "nonsense"}) {
    EXPECT_THAT(AdminEndpoint::Listen(address, [](AdminRoute) { return AdminResponse(); }),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("admin.listen"), HasSubstr(address))));
  }
}

TEST(ParseListenAddressTest, TakesHostAndPort) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"127.0.0.1:7480", "127.0.0.1", "7480"},
      {"localhost:0", "localhost", "0"},
      {"[::1]:65535", "::1", "65535"},
      {":80", "", "80"},
  };
  for (const auto& [text, host, port] : cases) {
    const auto address = ParseListenAddress(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->host, host);
    EXPECT_EQ(address->port, port);
  }
}

TEST(ParseListenAddressTest, RefusesEverythingElse) {
  for (const char* text : {"", "7480", "localhost", "localhost:", "localhost:x", "localhost:65536",
                           "localhost:-1", "localhost:+1", "localhost: 1", "::1:80", "[::1]",
                           "[]:80", "http://localhost:80", "a b:80"}) {
    EXPECT_THAT(ParseListenAddress(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not HOST:PORT")))
        << text;
  }
}

}  // namespace
}  // namespace walpost
