#include "server/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "server/prometheus_util.h"
#include "server/version.h"

namespace papr::server {
namespace {

// Fields of /proc/self/stat after the command's name, which may hold spaces itself.
struct Stat {
  double user_seconds = 0;
  double system_seconds = 0;
  double start_seconds_after_boot = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

Stat ReadStat() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return {};
  std::istringstream fields(line.substr(end_of_name + 1));
  // proc(5): the first of these is field 3 (state); 14 utime, 15 stime, 22 starttime, 23 vsize, 24
  // rss.
  std::string skipped;
  Stat stat;
  double value = 0;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  fields >> skipped;
  for (int field = 4; field <= 24 && fields >> value; ++field) {
    if (field == 14) stat.user_seconds = value / ticks;
    if (field == 15) stat.system_seconds = value / ticks;
    if (field == 22) stat.start_seconds_after_boot = value / ticks;
    if (field == 23) stat.virtual_bytes = value;
    if (field == 24) stat.resident_bytes = value * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
  return stat;
}

double BootTime() {
  std::ifstream file("/proc/stat");
  for (std::string key; file >> key;) {
    double seconds = 0;
    if (key == "btime" && file >> seconds) return seconds;
    std::getline(file, key);
  }
  return 0;
}

double OpenFiles() {
  double count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return count;
}

double MaxFiles() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

prometheus::MetricFamily Single(prometheus::MetricFamily family, double value) {
  AddGauge(family, {}, value);
  return family;
}

}  // namespace

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
  const Stat stat = ReadStat();
  std::vector<prometheus::MetricFamily> out;
  auto cpu = CounterFamily("process_cpu_seconds_total",
                           "Total user and system CPU time spent in seconds.");
  AddCounter(cpu, {}, stat.user_seconds + stat.system_seconds);
  out.push_back(std::move(cpu));
  out.push_back(
      Single(GaugeFamily("process_resident_memory_bytes", "Resident memory size in bytes."),
             stat.resident_bytes));
  out.push_back(Single(GaugeFamily("process_virtual_memory_bytes", "Virtual memory size in bytes."),
                       stat.virtual_bytes));
  out.push_back(
      Single(GaugeFamily("process_open_fds", "Number of open file descriptors."), OpenFiles()));
  out.push_back(Single(GaugeFamily("process_max_fds", "Maximum number of open file descriptors."),
                       MaxFiles()));
  out.push_back(Single(GaugeFamily("process_start_time_seconds",
                                   "Start time of the process since unix epoch in seconds."),
                       BootTime() + stat.start_seconds_after_boot));
  auto build = GaugeFamily("hptd_build_info", "Always 1; the labels say which build this is.");
  AddGauge(build, {{"version", kVersion}, {"compiler", __VERSION__}}, 1);
  out.push_back(std::move(build));
  return out;
}

}  // namespace papr::server
