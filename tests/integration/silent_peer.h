// A client that says something and then nothing more.

#ifndef TESTS_INTEGRATION_SILENT_PEER_H_
#define TESTS_INTEGRATION_SILENT_PEER_H_

#include <string>

namespace papr::server {

class SilentPeer {
 public:
  // Connects to 127.0.0.1 at the port of `target`, HOST:PORT, and sends `bytes`.
  SilentPeer(const std::string& target, const std::string& bytes);
  ~SilentPeer();
  SilentPeer(const SilentPeer&) = delete;
  SilentPeer& operator=(const SilentPeer&) = delete;

 private:
  const int fd_;
};

}  // namespace papr::server

#endif  // TESTS_INTEGRATION_SILENT_PEER_H_
