#include "client/hptctl/interrupt.h"

#include <signal.h>

#include <initializer_list>

namespace papr::client::hptctl {
namespace {

volatile sig_atomic_t g_signal = 0;

void Note(int signal) { g_signal = signal; }

}  // namespace

void CatchInterrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = Note;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

int InterruptSignal() { return g_signal; }

}  // namespace papr::client::hptctl
