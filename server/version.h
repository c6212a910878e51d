// What this build is. HPTD_VERSION comes from CMake's project version.

#ifndef SERVER_VERSION_H_
#define SERVER_VERSION_H_

namespace papr::server {

inline constexpr char kVersion[] = HPTD_VERSION;

}  // namespace papr::server

#endif  // SERVER_VERSION_H_
