// C11 threads as POSIX threads, for the thread sanitizer alone: it follows pthread_* and knows
// nothing of glibc's thrd_*, which librdkafka uses, so that a thread of librdkafka's would run without
// the sanitizer's state and crash in the first function that it watches. Preloaded by tools/dev tsan.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t), "glibc's own layout");
static_assert(sizeof(cnd_t) >= sizeof(pthread_cond_t), "glibc's own layout");

namespace {

int Result(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case ENOMEM:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    case EBUSY:
      return thrd_busy;
    default:
      return thrd_error;
  }
}

struct Start {
  thrd_start_t function;
  void* argument;
};

void* Run(void* memory) {
  const Start start = *static_cast<Start*>(memory);
  std::free(memory);
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start.function(start.argument)));
}

pthread_mutex_t* Posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* Posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto* start = static_cast<Start*>(std::malloc(sizeof(Start)));
  if (start == nullptr) return thrd_nomem;
  *start = {function, argument};
  const int error = pthread_create(thread, nullptr, &Run, start);
  if (error != 0) std::free(start);
  return Result(error);
}

int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  return Result(error);
}

int thrd_detach(thrd_t thread) { return Result(pthread_detach(thread)); }

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((type & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int error = pthread_mutex_init(Posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return Result(error);
}

int mtx_lock(mtx_t* mutex) { return Result(pthread_mutex_lock(Posix(mutex))); }
int mtx_trylock(mtx_t* mutex) { return Result(pthread_mutex_trylock(Posix(mutex))); }
int mtx_unlock(mtx_t* mutex) { return Result(pthread_mutex_unlock(Posix(mutex))); }
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(Posix(mutex)); }

int cnd_init(cnd_t* condition) { return Result(pthread_cond_init(Posix(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return Result(pthread_cond_signal(Posix(condition))); }
int cnd_broadcast(cnd_t* condition) { return Result(pthread_cond_broadcast(Posix(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return Result(pthread_cond_wait(Posix(condition), Posix(mutex)));
}
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return Result(pthread_cond_timedwait(Posix(condition), Posix(mutex), until));
}
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(Posix(condition)); }

}  // extern "C"
