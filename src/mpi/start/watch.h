// Says what this rank waits for if its start-up does not end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"

namespace tutti::mpi {

/// While it lives, the process is at start-up. After `seconds` of that a line says so, once; nothing else happens.
class StartWatch {
 public:
  /// log: of this rank; a quiet one speaks here all the same.
  StartWatch(double seconds, const Log& log);
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  void wait_and_tell();

  const std::chrono::duration<double> patience_;
  Log log_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace tutti::mpi
