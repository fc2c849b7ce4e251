// walpost slots create: through the replication protocol, which alone can export a snapshot; with
// a bounded wait that shows who is in the way.
#include <poll.h>

#include <csignal>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"
#include "commands.h"
#include "output.h"
#include "queries.h"

namespace walpost::slots {
namespace {

volatile std::sig_atomic_t interrupted = 0;

bool IsValidName(std::string_view name) {
  return !name.empty() && name.size() <= 63 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

absl::Status CheckName(const CreateArgs& args) {
  if (!IsValidName(args.name)) {
    return WithExitCode(WithHint(Error(absl::StatusCode::kInvalidArgument,
                                       absl::StrCat("'", args.name, "' can't name a slot")),
                                 "lower-case letters, digits and underscores, at most 63"),
                        ExitCode::kUsage);
  }
  return absl::OkStatus();
}

// A publication younger than the slot can't be read with it.
absl::Status CheckPublication(const Server& server, const std::string& publication) {
  ASSIGN_OR_RETURN(const PgRows rows,
                   server.Rows("SELECT pubinsert FROM pg_publication WHERE pubname = @name",
                               {{"name", publication}}));
  if (rows.size() > 0 && rows.IsTrue(0, "pubinsert")) return absl::OkStatus();
  return WithExitCode(
      WithHint(Error(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("publication '", publication,
                                  rows.size() == 0 ? "' does not exist, and must before the slot"
                                                   : "' does not publish inserts")),
               absl::StrCat("walpost setup --publication ", publication, " --slot ... --apply")),
      ExitCode::kConfiguration);
}

// Of a slot that exists already.
absl::Status RequireFit(const SlotRow& slot, const CreateArgs& args) {
  const capture::SlotSituation& s = slot.situation;
  std::string fault;
  if (slot.plugin != "pgoutput") fault = absl::StrCat("is of the plugin ", slot.plugin);
  if (s.temporary) fault = "is temporary";
  if (s.lost()) fault = "was invalidated";
  if (args.failover && !slot.failover) fault = "doesn't survive a failover";
  if (fault.empty()) return absl::OkStatus();
  return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition,
                                     absl::StrCat("slot '", args.name, "' exists, and ", fault)),
                               absl::StrCat("walpost slots show ", args.name)),
                      ExitCode::kConfiguration);
}

std::string Command(const CreateArgs& args, const PgSession& session) {
  const char* snapshot = args.snapshot ? "export" : "nothing";
  const std::string head = absl::StrCat("CREATE_REPLICATION_SLOT ",
                                        session.QuoteIdentifier(args.name), " LOGICAL pgoutput ");
  if (session.server_version() < 150000) {
    return absl::StrCat(head, args.snapshot ? "EXPORT_SNAPSHOT" : "NOEXPORT_SNAPSHOT");
  }
  return absl::StrCat(head, "(SNAPSHOT '", snapshot, "'", args.failover ? ", FAILOVER true" : "",
                      ")");
}

absl::Status TellBlockers(const Server& server) {
  ASSIGN_OR_RETURN(const PgRows rows, server.Rows(kTransactionsSql));
  for (int row = 0; row < rows.size(); ++row) {
    std::cerr << "waiting for the transaction of pid " << rows.Text(row, "pid") << " ("
              << rows.Text(row, "usename") << ", " << rows.Text(row, "application_name") << ", "
              << rows.Text(row, "state") << "), " << rows.Text(row, "age_seconds") << " s old\n";
  }
  ASSIGN_OR_RETURN(const PgRows prepared, server.Rows(kPreparedSql));
  for (int row = 0; row < prepared.size(); ++row) {
    std::cerr << "waiting for the prepared transaction '" << prepared.Text(row, "gid") << "'\n";
  }
  return absl::OkStatus();
}

// The server notices a closed connection only once its wait is over: the session is ended by its
// pid, and with it goes what there is of the slot. What was made at the last moment is dropped.
absl::Status CleanUp(const Server& server, const CreateArgs& args, int pid) {
  RETURN_IF_ERROR(
      server.Rows("SELECT pg_terminate_backend(@pid::int)", {{"pid", absl::StrCat(pid)}}).status());
  const MonotonicTime deadline = MonotonicNow() + absl::Seconds(10);
  while (MonotonicNow() < deadline) {
    const absl::StatusOr<SlotRow> slot = FindSlot(server, args.name);
    if (!slot.ok()) return absl::OkStatus();
    if (!slot->situation.active) {
      return server.Rows("SELECT pg_drop_replication_slot(@name)", {{"name", args.name}}).status();
    }
    Pause(absl::Milliseconds(50));
  }
  return Error(absl::StatusCode::kUnavailable,
               absl::StrCat("the server still works on slot '", args.name, "'"));
}

absl::Status GiveUp(const Server& server, const CreateArgs& args, const PgSession& session) {
  RETURN_IF_ERROR(CleanUp(server, args, session.backend_pid()));
  return WithHint(
      Error(absl::StatusCode::kUnavailable,
            absl::StrCat("slot '", args.name, "' could not be created ",
                         interrupted != 0 ? "before it was interrupted"
                                          : absl::StrCat("within ", Age(args.wait)),
                         ": older transactions are still running; nothing was left behind")),
      "let them end, or wait longer: --wait 5m");
}

absl::StatusOr<PgRows> Create(const Server& server, const CreateArgs& args, PgSession& session) {
  RETURN_IF_ERROR(session.Send(Command(args, session)));
  const MonotonicTime deadline = MonotonicNow() + args.wait;
  MonotonicTime tell = MonotonicNow() + absl::Seconds(1);
  while (true) {
    pollfd ready = session.poll();
    ::poll(&ready, 1, 100);
    if (const absl::Status status = session.Step(); !status.ok()) {
      (void)CleanUp(server, args, session.backend_pid());  // `status` says more
      return status;
    }
    if (auto result = session.TakeResult()) return *std::move(result);
    if (interrupted != 0 || MonotonicNow() >= deadline) return GiveUp(server, args, session);
    if (MonotonicNow() < tell) continue;
    if (const absl::Status status = TellBlockers(server); !status.ok()) {
      std::cerr << "who is in the way can't be told: " << MessageOf(status) << "\n";
    }
    tell = MonotonicNow() + absl::Seconds(10);
  }
}

}  // namespace

absl::StatusOr<int> RunCreate(const CreateArgs& args) {
  RETURN_IF_ERROR(CheckName(args));
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  RETURN_IF_ERROR(server.RequirePrimary("create"));
  if (args.failover) RETURN_IF_ERROR(server.RequireVersion(17, "--failover"));
  RETURN_IF_ERROR(CheckPublication(server, args.publication));
  if (const auto found = FindSlot(server, args.name); found.ok()) {
    if (!args.if_not_exists) {
      return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition,
                                         absl::StrCat("slot '", args.name, "' exists")),
                                   "--if-not-exists, or another name"),
                          ExitCode::kConfiguration);
    }
    ASSIGN_OR_RETURN(const SlotRow slot, FindLogicalSlot(server, args.name));
    RETURN_IF_ERROR(RequireFit(slot, args));
    std::cerr << "slot '" << args.name << "' exists\n";
    return 0;
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<PgSession> session, server.OpenReplication());
  // An interrupted wait must not leave a slot behind either.
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
  ASSIGN_OR_RETURN(const PgRows rows, Create(server, args, *session));
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  Audit(server, absl::StrCat("created slot ", args.name, ": confirmed_flush_lsn none -> ",
                             rows.Text(0, "consistent_point")));
  Json json = Document("create", server);
  json["slot_name"] = args.name;
  json["consistent_point"] = rows.Text(0, "consistent_point");
  json["snapshot_name"] = TextOrNull(rows.Text(0, "snapshot_name"));
  if (args.common.output == "table") {
    std::cout << args.name << " " << rows.Text(0, "consistent_point") << " "
              << rows.Text(0, "snapshot_name") << std::endl;
  } else {
    PrintJson(json, std::cout);
    std::cout << std::flush;
  }
  if (args.snapshot) {
    std::cerr << "the snapshot lasts until the end of standard input (Ctrl-D)\n";
    std::string line;
    while (std::getline(std::cin, line)) {
    }
  }
  return 0;
}

}  // namespace walpost::slots
