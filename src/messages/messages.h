// Messages between two ranks of a node, copied once. The MPI goes on matching: in a long message's place it carries an
// envelope, which says where the sender has described it. The receiver finds the envelope in its buffer and gets the
// bytes. MPC's transfers are such copies, begun by either side (Share, section 5).
//
//   sender     describes the message (Record) in a list for the receiver, and sends the envelope
//   receiver   has got the envelope: accepts, and says where its buffer is
//   both       copy pieces: the sender from the beginning on, into the receiver's buffer, the receiver from the end on, out
//              of the sender's. Who comes to a piece first claims it, so that either alone can do all of it.
//   receiver   says that all is there
//
// Neither side needs the other to come into MPI. A receiver can copy all by itself, and so can a sender once it was accepted.
// Before that a sender copies the message to its arena after a while, as MPIs do with what they buffer; and at once what
// peers cannot read where it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/lists.h"
#include "engine/node.h"
#include "memory/transfers.h"
#include "sync/flag.h"

namespace tutti::messages {

/// What the MPI carries in the message's place, at the beginning of Envelope::bytes.
struct Envelope {
  /// Of what is sent. A multiple of the size of every predefined type, which hosts do not divide, and a length that is rare
  /// among messages.
  static constexpr std::size_t bytes = 480;
  std::uint64_t key[2] = {};  ///< of the job and node
  std::uint64_t number = 0;   ///< of the Record in the list
  std::uint64_t message_bytes = 0;
  std::uint64_t block = 0;   ///< offset of its Block in the sender's arena
  std::uint64_t region = 0;  ///< where the sender has it
  std::uint64_t gaps = 0;    ///< whether it lies there as the Block's layout says
  std::int32_t sender = 0;   ///< node rank
  std::uint64_t check = 0;   ///< of all of that

  /// What `check` is where nothing of it was written over.
  std::uint64_t checked() const;
};

/// What the sender tells of a message: of all that are sent as envelopes, and of those that the MPI carries itself but that
/// are as long as one. So who only asks for the length of a message knows what one of that length stands for.
struct Record {
  std::uint64_t communicator = 0;  ///< its identity
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  bool is_envelope = false;  ///< or the MPI carries it as it is
  /// As in its envelope, which may be written over before anybody has looked at it: programs have several receives under way
  /// in one buffer when they do not care what comes.
  std::uint64_t block = 0, region = 0;
  bool gaps = false;
};

/// Both sides of one message. In the sender's arena.
struct Block {
  static constexpr std::uint64_t closed =
      ~std::uint64_t{0};  ///< `claims`: the sender is copying the message to its arena

  // The sender's.
  alignas(sync::line_bytes) sync::Word<std::uint64_t> region;  ///< published by the record, and again by the claims
  sync::Flag pushed;                                           ///< pieces that it has stored
  memory::Layout layout{1};  ///< of what has gaps; the region that the record tells of begins with its lowest byte
  // The receiver's.
  alignas(sync::line_bytes) sync::Flag accepted;
  sync::Word<std::uint64_t> destination, room;  ///< published by `accepted`: a region, or none; bytes that are wanted
  sync::Flag pulled;                            ///< pieces that it has read
  sync::Flag finished;                          ///< nobody needs any of it any more
  /// How many pieces are taken: by the sender from the beginning on (low half), by the receiver from the end on (high half).
  alignas(sync::line_bytes) sync::Word<std::uint64_t> claims;
};

/// How many pieces there are of `bytes`, and how long they are.
struct Pieces {
  explicit Pieces(std::size_t of);
  std::size_t bytes, piece, count;
  std::size_t begin(std::size_t i) const { return i * piece; }
  std::size_t length(std::size_t i) const { return i + 1 == count ? bytes - i * piece : piece; }
};

/// With xpmem, while it lives, what was attached of peers' memory is in use.
class InUse {
 public:
  explicit InUse(Node& node) : node_(node) {
    if (!node_.operations) return;
    since_.store(node_.operations->now(), std::memory_order_relaxed);
    node_.operations->add(since_);
  }
  ~InUse() {
    if (node_.operations) node_.operations->remove(since_);
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Node& node_;
  memory::OperationClock::Since since_{0};
};

/// A process has one. Any thread may call it.
class Messages {
 public:
  static std::size_t area_bytes(int ranks) { return Lists<Record>::area_bytes(ranks); }
  /// area: its offset in the arenas, the same on all ranks of the node. key: equal on all of them. node: outlives this.
  Messages(Node& node, std::size_t area, std::uint64_t key);

  Node& node() const { return node_; }
  /// Tells node rank `peer` of a message. Returns an envelope for it. Throws ArenaFull.
  Envelope say(int peer, const Record& record);

  /// A message of Envelope::bytes has come from `peer`, of which `found` is now the beginning in the receiver's buffer: what
  /// envelope it was; nothing if it was none. It is not the next one any more.
  std::optional<Envelope> come(int peer, std::uint64_t communicator, int tag, const Envelope& found);
  /// Whether this is an envelope, as it was written.
  bool is_envelope(const Envelope& found) const;
  /// Whether more than one is to come of those that next_from() chooses from.
  bool has_several(int peer, std::uint64_t communicator, int tag);
  /// What the next message of an envelope's length from `peer` with this tag is; nothing if nothing is known of it.
  /// is_matched: it is that of a receive that is still to come (MPI_Mprobe).
  std::optional<Record> next_from(int peer, std::uint64_t communicator, int tag, bool is_matched);

 private:
  friend class Outgoing;

  struct Pending {
    std::uint64_t number;
    Record record;
  };
  /// What is known of the messages of a peer.
  struct From {
    std::deque<Pending> pending;      ///< not come yet
    std::vector<std::uint64_t> come;  ///< numbers of those that have come, and were not heard of yet
    // Of those of this rank to the peer.
    std::atomic<std::uint64_t> seen{0};  ///< when one was last found to go on, in ticks
    std::atomic<std::size_t> open{0};    ///< bytes of those that are not over
  };
  static constexpr std::size_t come_max = 32;
  struct Left {
    Block* block;
    std::optional<std::size_t> staging;
    std::size_t lent = 0;  ///< bytes, of those that are counted
  };
  Envelope envelope_of(int sender, std::uint64_t number, const Record& record) const;
  std::deque<Pending>& listen(int peer);
  static bool forget(From& from, std::uint64_t number);
  bool has_come(int peer, std::uint64_t number);
  /// Zero, but for the sender's part.
  Block* take_block();
  /// The sender is over. A block that the receiver may still look at is given back later.
  void leave(const Left& left);
  /// Whether so many bytes may be lent, too. They are until they are given back.
  bool may_lend(std::size_t bytes, std::size_t most);
  From& from(int peer) { return from_[static_cast<std::size_t>(peer)]; }
  void give_back(const Left& left);
  void sweep();

  Node& node_;
  std::uint64_t key_[2];
  std::mutex mutex_;
  Lists<Record> lists_;
  std::vector<From> from_;  ///< by node rank
  std::vector<Block*> unused_;
  std::deque<Left> left_;
  std::size_t lent_ = 0;  ///< bytes of all that are lent
};

/// How the bytes of a message came to the receiver.
enum class Way {
  lent,      ///< it read a copy in the sender's arena behind the sender
  stored,    ///< the sender stored most of them into its buffer, through the caches
  streamed,  ///< the same past the caches
  read,      ///< it read most of them out of the sender's buffer
  staged,    ///< it read a whole copy in the sender's arena
};
constexpr std::size_t ways = 5;
/// "lent"
const char* name_of(Way way);

/// The sender's side. Destroyed when it is over, or before it was announced.
class Outgoing {
 public:
  struct Message {
    int peer = 0;  ///< node rank
    std::uint64_t communicator = 0;
    int tag = 0;
    const std::byte* buffer = nullptr;
    std::size_t bytes = 0;
    memory::Store store = memory::Store::cached;  ///< of what is copied into the receiver's buffer
    /// What the receiver reads is a copy through the caches, whose lines it takes over; it reads behind the sender. Unless all
    /// that are lent at a time would have more bytes than this.
    std::size_t lent_most = 0;
    /// Where the bytes lie, from `buffer` on, if they have gaps. They are lent, past the caches if not through these. It need
    /// not outlive the constructor: the Block has a copy.
    const memory::Layout* layout = nullptr;
    bool is_read_there = false;  ///< of those with gaps: where peers can map them they are not lent
  };
  /// A message whose buffer is null lies nowhere: it is to be written to staging(). Throws ArenaFull.
  Outgoing(Messages& messages, const Message& message);
  ~Outgoing();
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  std::byte* staging() const { return staging_ ? node().arena->base() + *staging_ + sizeof(memory::Filled) : nullptr; }
  /// Tells the receiver of it: what is to be sent in its place. Throws ArenaFull.
  Envelope announce();
  /// To be called once the envelope was sent: makes the copy that is lent, if one is.
  void fill();
  /// Does what can be done without waiting. True once it is over: the buffer is the program's again.
  bool progress();
  int peer() const { return message_.peer; }
  /// Once it is over.
  Way way() const;

 private:
  Node& node() const { return messages_.node(); }
  const memory::Peer& other() const { return node().peers[static_cast<std::size_t>(message_.peer)]; }
  memory::Spread gaps() const { return {block_->layout, const_cast<std::byte*>(message_.buffer)}; }
  void leave();
  memory::Region place();
  void stage();
  void push();
  bool buffer_later();

  Messages& messages_;
  const InUse in_use_;
  const Message message_;
  const bool has_gaps_;
  Block* block_;
  std::optional<std::size_t> staging_;
  bool staged_ = false;  ///< the message is in the arena
  bool is_lent_ = false;
  bool is_counted_ = false;  ///< among what is lent through the caches
  bool is_seen_ = false;     ///< the receiver has begun
  bool may_buffer_ = true;
  bool over_ = false;
  std::uint64_t since_ = 0;          ///< it was announced, in ticks
  std::size_t pushed_ = 0;           ///< pieces
  std::optional<std::size_t> open_;  ///< the piece that is being stored
  memory::Transfers transfers_;
};

/// The receiver's side.
class Incoming {
 public:
  /// room: of the buffer. patience: where the sender may copy and does not begin for so long the receiver does, in ticks.
  /// spread: where the bytes belong, if not at `buffer`, which is scratch then; the receiver copies all.
  Incoming(Messages& messages, const Envelope& envelope, std::byte* buffer, std::size_t room, std::uint64_t patience,
           memory::Spread* spread = nullptr);
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  /// Does what can be done without waiting. True once all is there that there is room for.
  bool progress();
  /// Of the message, and of what there is room for.
  std::size_t sent_bytes() const { return sent_; }
  std::size_t bytes() const { return pieces_.bytes; }
  int peer() const { return peer_; }

 private:
  const memory::Peer& other() const { return node_.peers[static_cast<std::size_t>(peer_)]; }
  bool may_pull();
  bool pull();
  void pull_gaps(memory::Region region, std::size_t at, std::size_t bytes);
  bool pull_lent();

  Node& node_;
  const InUse in_use_;
  const int peer_;
  const std::size_t sent_;
  std::byte* const buffer_;
  memory::Spread* const spread_;
  const Pieces pieces_;
  const std::uint64_t patience_;
  const memory::Region lent_;  ///< where the sender had it when it sent the envelope
  Block* const block_;
  std::size_t pulled_ = 0;
  std::uint64_t looked_ = 0;  ///< when the sender was last seen to go on, in ticks
  std::uint64_t seen_ = 0;    ///< pieces that it had claimed then
  bool is_pulling_ = false;
  bool is_lent_ = false;
  bool has_gaps_ = false;  ///< unless the sender copies it to its arena
  bool over_ = false;
  memory::Transfers transfers_;
};

}  // namespace tutti::messages
