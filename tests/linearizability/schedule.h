// Runs the threads of a test and decides at every yield point of the engine (mmu/yield_point.h) who
// goes on. For programs built with PAPR_YIELD_POINTS; defines papr::mmu::YieldPoint().
//
// Controlled: the threads are real, but exactly one runs at a time, and at each yield point a
// random choice says which. The choices follow from the seed, so that a seed repeats an execution.
// Free-running: all run at once, and yield points waste a random short time.

#ifndef TESTS_LINEARIZABILITY_SCHEDULE_H_
#define TESTS_LINEARIZABILITY_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "mmu/yield_point.h"

namespace papr::linearizability {

class Schedule {
 public:
  enum class Mode : uint8_t { kControlled, kFreeRunning };

  Schedule(Mode mode, uint64_t seed);
  ~Schedule();

  // Runs body(0) to body(threads - 1), each on a thread of its own, and returns when all are done.
  // Controlled, and every thread waits for another for good: prints a deadlock with `name`, and
  // aborts. `body` must not throw.
  void Run(int threads, const std::string& name, const std::function<void(int thread)>& body);

  // How often another thread than before went on; of controlled runs only.
  uint64_t switches() const { return switches_; }

  // What papr::mmu::YieldPoint() does; nothing on a thread that no schedule runs.
  static void Yield(mmu::YieldPointKind kind);

 private:
  struct Player;

  // The player is done.
  void Leave(Player& player);
  // Passes the baton to a random player that may go on, and waits to get it back.
  void PassOn(Player& player);
  Player& Pick();
  void WakeSpinners();

  const Mode mode_;
  std::mt19937_64 random_;
  // Of a run. Controlled, only the thread that holds the baton uses them.
  uint64_t switch_one_in_ = 1;  // yield points
  std::string name_;
  std::vector<std::unique_ptr<Player>> players_;
  int playing_ = 0;      // players that are not done
  int idle_rounds_ = 0;  // times that all players spun since one has moved
  uint64_t switches_ = 0;
};

}  // namespace papr::linearizability

#endif  // TESTS_LINEARIZABILITY_SCHEDULE_H_
