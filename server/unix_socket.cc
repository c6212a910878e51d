#include "server/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace papr::server {
namespace {

bool SomebodyListens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return true;
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  // A full backlog (EAGAIN) is a listener too; only a refusal says that there is none.
  const bool listens = result == 0 || errno != ECONNREFUSED;
  close(fd);
  return listens;
}

// Looked at first, as gRPC does not say why a bind fails.
absl::Status CheckFolder(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot listen on unix:", path, ": ", folder, ": ", std::strerror(errno)));
}

}  // namespace

absl::Status ClaimUnixSocket(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("--unix_socket=", path, ": longer than ",
                                                   sizeof(sockaddr_un::sun_path) - 1, " bytes"));
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return CheckFolder(path);
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat("--unix_socket=", path, ": exists and is not a socket"));
  }
  if (SomebodyListens(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat("--unix_socket=", path, ": another process listens on it"));
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::PermissionDeniedError(absl::StrCat(
        "--unix_socket=", path, ": cannot remove the stale socket: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace papr::server
