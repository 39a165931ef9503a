// A switch between TAP devices: it forwards Ethernet frames with a delay, at a rate, and with a gap between messages.
//
//     tutti-test-switch [--delay NANOSECONDS] [--rate BITS_A_SECOND] [--gap NANOSECONDS] DESCRIPTOR...
//
// What is not given, or 0, is none: no delay, no end of bits, no gap. The descriptors are inherited: the device of node i is the i-th. A frame goes to the node whose number is the last byte of
// its destination, or to all others.
//
// Each node has a line to the switch and one from it, and each line carries one frame after the other. A frame holds a line
// for max(gap, bits / rate); it arrives `delay` later at its node's line from the switch, which it holds as long. A frame
// on otherwise idle lines so takes delay + 2 max(gap, bits / rate), beside the time that the kernels need. (Store and
// forward: the second line begins when the first has all.) A segment of TCP without data is no message: it keeps its place
// behind the frames before it, and holds no line.
//
// What the processor is too late for comes late; nothing is lost but what the kernel's queues drop (1000 frames a device).
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace {

using Nanoseconds = std::int64_t;
using Bytes = std::vector<unsigned char>;

constexpr std::size_t frame_bytes = 65536;
constexpr double second = 1e9;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "tutti-test-switch: %s\n", what.c_str());
  std::exit(2);
}

Nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * static_cast<Nanoseconds>(second) + time.tv_nsec;
}

double number(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double result = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || result < 0) fail(option + " '" + text + "': not a number");
  return result;
}

struct Asked {
  Nanoseconds delay = 0;
  double bits_a_second = 0;  ///< 0: no end of them
  Nanoseconds gap = 0;
  std::vector<int> devices;
};

Asked asked(int argc, char** argv) {
  Asked result;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      result.devices.push_back(std::atoi(argv[i]));
      continue;
    }
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (word == "--delay")
      result.delay = static_cast<Nanoseconds>(number(word, value));
    else if (word == "--rate")
      result.bits_a_second = number(word, value);
    else if (word == "--gap")
      result.gap = static_cast<Nanoseconds>(number(word, value));
    else
      fail(word + ": there are --delay, --rate and --gap");
  }
  if (result.devices.empty()) fail("between which descriptors?");
  return result;
}

/// Whether a frame is more than TCP's own business.
bool is_message(const Bytes& frame) {
  ether_header outer{};
  iphdr inner{};
  tcphdr segment{};
  if (frame.size() < sizeof outer + sizeof inner) return true;
  std::memcpy(&outer, frame.data(), sizeof outer);
  std::memcpy(&inner, frame.data() + sizeof outer, sizeof inner);
  if (outer.ether_type != htobe16(ETHERTYPE_IP) || inner.protocol != IPPROTO_TCP) return true;
  const std::size_t at = sizeof outer + 4u * inner.ihl;
  if (frame.size() < at + sizeof segment) return true;
  std::memcpy(&segment, frame.data() + at, sizeof segment);
  return be16toh(inner.tot_len) > 4u * inner.ihl + 4u * segment.doff;
}

/// One direction of a node's connection.
class Line {
 public:
  /// When a frame that comes to the line at `time` has left it.
  Nanoseconds passed(Nanoseconds time, Nanoseconds holds) { return free_from_ = std::max(time, free_from_) + holds; }

 private:
  Nanoseconds free_from_ = 0;
};

/// A frame under way. Those of equal time keep their order.
struct Frame {
  Nanoseconds due;
  std::uint64_t number;
  std::size_t node;
  bool in_last_line;
  Nanoseconds holds;
  Bytes bytes;
};

struct Later {
  bool operator()(const Frame& a, const Frame& b) const {
    return std::pair(a.due, a.number) > std::pair(b.due, b.number);
  }
};

class Switch {
 public:
  explicit Switch(Asked asked) : asked_(std::move(asked)), in_(asked_.devices.size()), out_(asked_.devices.size()) {
    events_ = epoll_create1(EPOLL_CLOEXEC);
    timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (events_ < 0 || timer_ < 0) fail(std::string("epoll, timerfd: ") + std::strerror(errno));
    watch(timer_, timer_tag);
    for (std::size_t node = 0; node < asked_.devices.size(); ++node) watch(asked_.devices[node], node);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 64> ready{};
    for (;;) {
      const int count = epoll_wait(events_, ready.data(), ready.size(), deliver() ? 0 : -1);
      if (count < 0 && errno != EINTR) fail(std::string("epoll_wait: ") + std::strerror(errno));
      for (int i = 0; i < count; ++i) {
        const std::uint64_t tag = ready[static_cast<std::size_t>(i)].data.u64;
        std::uint64_t expirations = 0;
        if (tag != timer_tag)
          take(tag);
        else
          (void)!read(timer_, &expirations, sizeof expirations);
      }
    }
  }

 private:
  static constexpr std::uint64_t timer_tag = ~0ull;

  void watch(int descriptor, std::uint64_t tag) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag;
    if (epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event) != 0)
      fail(std::string("epoll_ctl: ") + std::strerror(errno));
  }

  /// Takes some frames from a device; those of others shall not wait for all of them.
  void take(std::size_t from) {
    constexpr int at_once = 16;
    for (int i = 0; i < at_once; ++i) {
      buffer_.resize(frame_bytes);
      const ssize_t got = read(asked_.devices[from], buffer_.data(), buffer_.size());
      if (got < static_cast<ssize_t>(sizeof(ether_header))) return;
      buffer_.resize(static_cast<std::size_t>(got));
      const Nanoseconds holds = time_on_line(buffer_);
      const Nanoseconds arrives = in_[from].passed(now(), holds) + asked_.delay;
      const std::size_t to = buffer_[ETHER_ADDR_LEN - 1];
      const bool to_all = (buffer_[0] & 1u) != 0;
      for (std::size_t node = 0; node < asked_.devices.size(); ++node)
        if (node != from && (to_all || node == to)) put({arrives, 0, node, false, holds, buffer_});
    }
  }

  Nanoseconds time_on_line(const Bytes& frame) const {
    if (!is_message(frame)) return 0;
    const double bits = 8.0 * static_cast<double>(frame.size());
    const double seconds = asked_.bits_a_second > 0 ? bits / asked_.bits_a_second : 0;
    return std::max(asked_.gap, static_cast<Nanoseconds>(seconds * second));
  }

  void put(Frame frame) {
    frame.number = ++frames_;
    under_way_.push_back(std::move(frame));
    std::push_heap(under_way_.begin(), under_way_.end(), Later());
  }

  Frame take_first() {
    std::pop_heap(under_way_.begin(), under_way_.end(), Later());
    Frame frame = std::move(under_way_.back());
    under_way_.pop_back();
    return frame;
  }

  /// Hands over what is due, and sets the timer for what comes next. True if that is due by now.
  bool deliver() {
    while (!under_way_.empty() && under_way_.front().due <= now()) {
      Frame frame = take_first();
      if (!frame.in_last_line) {
        frame.in_last_line = true;
        frame.due = out_[frame.node].passed(frame.due, frame.holds);
        put(std::move(frame));
      } else if (write(asked_.devices[frame.node], frame.bytes.data(), frame.bytes.size()) < 0 && errno != EIO) {
        // EIO: the device is down, since the node goes.
        std::fprintf(stderr, "tutti-test-switch: node %zu takes no frame: %s\n", frame.node, std::strerror(errno));
      }
    }
    if (under_way_.empty()) return false;
    const Nanoseconds due = under_way_.front().due;
    if (due <= now()) return true;
    itimerspec at{};
    at.it_value = {due / static_cast<Nanoseconds>(second), due % static_cast<Nanoseconds>(second)};
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
    return false;
  }

  Asked asked_;
  std::vector<Line> in_, out_;
  std::vector<Frame> under_way_;  ///< a heap, what is due first in front
  std::uint64_t frames_ = 0;
  Bytes buffer_;
  int events_ = -1;
  int timer_ = -1;
};

/// What is late here is late for all. No real-time priority: ranks that never sleep would not all go on.
void ask_for_the_processor() {
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  if (setpriority(PRIO_PROCESS, 0, -20) != 0)
    std::fprintf(stderr, "tutti-test-switch: no higher priority; it may be late\n");
}

}  // namespace

int main(int argc, char** argv) {
  Switch ours(asked(argc, argv));
  ask_for_the_processor();
  ours.run();
}
