// What may end a wait from outside: a function that the embedding language sets for a thread, called while
// that thread waits. Callers hold no lock: it may run programs of the user. One thread's affair; nothing is
// shared.
#pragma once

namespace wia {

using InterruptCheck = bool (*)(void* context);

void set_interrupt_check(InterruptCheck check, void* context);  // null: none
// True: leave the wait. Asks at most about every 100 ms; to be called where a wait looks for trouble.
bool interrupted();
// Whether interrupted() would ask now: for callers that have to let go of a lock before.
bool interrupt_check_is_due();

}  // namespace wia
