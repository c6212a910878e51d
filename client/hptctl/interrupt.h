// SIGINT and SIGTERM for commands that have something to put away when they are stopped: the
// partition that a replay or an experiment runs on.

#ifndef CLIENT_HPTCTL_INTERRUPT_H_
#define CLIENT_HPTCTL_INTERRUPT_H_

namespace papr::client::hptctl {

// From now on the first SIGINT and the first SIGTERM are noted and no more; the same one again ends
// the process as it always did. A signal that whoever started this ignores stays ignored.
void CatchInterrupts();

// The signal that came, or 0.
int InterruptSignal();

// Between two steps of the work: is it to stop?
inline bool Interrupted() { return InterruptSignal() != 0; }

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_INTERRUPT_H_
