#include "tests/linearizability/schedule.h"

#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <latch>
#include <semaphore>
#include <thread>

namespace papr::linearizability {
namespace {

using mmu::YieldPointKind;

// A spinning thread may need a turn or two to see that it can go on. Many rounds without any step
// of anyone: nobody ever will.
constexpr int kIdleRoundsOfDeadlock = 1000;

}  // namespace

struct Schedule::Player {
  enum class State : uint8_t { kReady, kSpinning, kDone };

  Player(Schedule* of, int player_number, uint64_t seed)
      : schedule(of), number(player_number), random(seed) {}

  Schedule* const schedule;
  const int number;
  std::minstd_rand random;  // of a free-running player
  State state = State::kReady;
  std::binary_semaphore baton{0};

  static thread_local Player* current;
};

thread_local Schedule::Player* Schedule::Player::current = nullptr;

Schedule::Schedule(Mode mode, uint64_t seed) : mode_(mode), random_(seed) {}
Schedule::~Schedule() = default;

void Schedule::Run(int threads, const std::string& name,
                   const std::function<void(int thread)>& body) {
  // Some runs switch at every yield point, others let a thread go on for long.
  switch_one_in_ = uint64_t{1} << (random_() % 4);
  name_ = name;
  players_.clear();
  for (int i = 0; i < threads; ++i) {
    players_.push_back(std::make_unique<Player>(this, i, random_()));
  }
  playing_ = threads;
  idle_rounds_ = 0;
  std::latch start(threads);
  std::vector<std::thread> pool;
  for (const auto& player : players_) {
    pool.emplace_back([&, this] {
      Player::current = player.get();
      if (mode_ == Mode::kControlled) {
        player->baton.acquire();
      } else {
        start.arrive_and_wait();
      }
      body(player->number);
      Player::current = nullptr;
      if (mode_ == Mode::kControlled) Leave(*player);
    });
  }
  if (mode_ == Mode::kControlled) Pick().baton.release();
  for (std::thread& thread : pool) thread.join();
}

void Schedule::Leave(Player& player) {
  player.state = Player::State::kDone;
  if (--playing_ == 0) return;
  WakeSpinners();
  ++switches_;
  Pick().baton.release();
}

void Schedule::WakeSpinners() {
  idle_rounds_ = 0;
  for (const auto& player : players_) {
    if (player->state == Player::State::kSpinning) player->state = Player::State::kReady;
  }
}

Schedule::Player& Schedule::Pick() {
  std::vector<Player*> ready;
  for (const auto& player : players_) {
    if (player->state == Player::State::kReady) ready.push_back(player.get());
  }
  if (ready.empty()) {
    const int round = ++idle_rounds_;
    if (round > kIdleRoundsOfDeadlock) {
      std::cerr << "deadlock: every thread waits for another, in " << name_ << std::endl;
      std::abort();
    }
    WakeSpinners();
    idle_rounds_ = round;
    return Pick();
  }
  return *ready[random_() % ready.size()];
}

void Schedule::PassOn(Player& player) {
  Player& next = Pick();
  if (&next == &player) return;
  ++switches_;
  next.baton.release();
  player.baton.acquire();
}

void Schedule::Yield(YieldPointKind kind) {
  Player* player = Player::current;
  if (player == nullptr) return;
  Schedule& schedule = *player->schedule;
  if (schedule.mode_ == Mode::kFreeRunning) {
    const uint64_t choice = player->random();
    if (kind == YieldPointKind::kSpin || choice % 4 == 0) {
      sched_yield();
    } else if (choice % 4 == 1) {
      for (uint64_t i = choice / 4 % 256; i > 0; --i)
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  } else if (kind == YieldPointKind::kSpin) {
    player->state = Player::State::kSpinning;
    schedule.PassOn(*player);
  } else {
    schedule.WakeSpinners();
    if (schedule.random_() % schedule.switch_one_in_ == 0) schedule.PassOn(*player);
  }
}

}  // namespace papr::linearizability

void papr::mmu::YieldPoint(YieldPointKind kind) { papr::linearizability::Schedule::Yield(kind); }
