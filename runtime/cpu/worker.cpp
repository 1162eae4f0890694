#include "runtime/cpu/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "ir/support/check.h"
#include "runtime/cpu/kernels.h"

namespace coll {

namespace {

// Buffers of a rank together from which on results are not expected to stay in a core's caches.
constexpr uint64_t kLargeBytes = 8ull << 20;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Operands of an instruction are counted in 8 bits; a group may add its members to them.
template <class T>
class SmallArray {
 public:
  explicit SmallArray(size_t size) : size_(size) {
    if (size > inline_.size()) more_.resize(size);
  }
  T* data() { return more_.empty() ? inline_.data() : more_.data(); }
  T& operator[](size_t i) { return data()[i]; }
  std::span<T> span(size_t n) { return {data(), n}; }

 private:
  size_t size_;
  std::array<T, 8> inline_{};
  std::vector<T> more_;
};

}  // namespace

Worker::Worker(World& world, uint32_t rank)
    : world_(world),
      plan_(*world.plan),
      rank_(rank),
      counter_base_(plan_.counters.size(), 0),
      random_(world.options.order_seed * 0x9e3779b97f4a7c15u + rank) {
  uint32_t first = 0, number = 0;
  for (const Lane& lane : plan_.lanes_of(rank)) {
    for (uint32_t i = 0; i < plan_.instances; ++i) {
      LaneState state;
      state.lane = number;
      state.instance = i;
      state.first = first;
      state.count = lane.count;
      lanes_.push_back(state);
      order_.push_back(static_cast<uint32_t>(order_.size()));
    }
    first += lane.count;
    ++number;
  }
}

void Worker::prepare(const Layout& layout) { program_ = resolve(plan_, layout, rank_, world_.shares); }

void Worker::run() {
  entered = Clock::now();
  for (call_ = 0; call_ < world_.calls; ++call_)
    if (!run_call()) break;
  left = Clock::now();
}

void Worker::start_call() {
  call_entered_ = Clock::now();
  const auto& all = *world_.buffers;
  buffers_ = &all[all.size() == 1 ? 0 : call_];
  element_bytes_ = size_bytes(world_.spec->sizes.dtype);
  const RankBuffers& mine = (*buffers_)[rank_];
  uint64_t in_bytes = 0, out_bytes = 0;
  for (uint32_t b = 0; b < plan_.contract.in_blocks(rank_); ++b)
    in_bytes += block_length(plan_.contract, world_.spec->sizes, false, rank_, b) * element_bytes_;
  for (uint32_t b = 0; b < plan_.contract.out_blocks(rank_); ++b)
    out_bytes += block_length(plan_.contract, world_.spec->sizes, true, rank_, b) * element_bytes_;
  auto in = reinterpret_cast<uintptr_t>(mine.in), out = reinterpret_cast<uintptr_t>(mine.out);
  in_place_ = in < out + out_bytes && out < in + in_bytes;

  large_ = in_bytes + out_bytes >= kLargeBytes;

  unfinished_ = 0;
  for (LaneState& lane : lanes_) {
    lane.tile = 0;
    lane.step = 0;
    lane.progress = 0;
    lane.done = lane.count == 0;
    if (!lane.done) ++unfinished_;
  }
  shared_rings_.clear();
}

bool Worker::run_call() {
  start_call();
  Clock::time_point deadline = call_entered_ + world_.options.timeout;
  uint32_t looks = 0;
  while (true) {
    bool went_on = pass();
    if (finished()) break;
    if (world_.failed.load(std::memory_order_relaxed)) {
      give_up(StatusCode::kAborted);
      return false;
    }
    if (went_on) {
      looks = 0;
      // Slow lanes count as going on; only the clock ends a deadlock among many of them.
      if (world_.options.order_seed != 0 && Clock::now() >= deadline) {
        give_up(StatusCode::kTimeout);
        return false;
      }
    } else if (looks < world_.spins) {
      ++looks;
      pause_briefly();
    } else {
      looks = 0;
      if (!wait(deadline)) return false;
      if (finished()) break;
    }
  }
  for (uint32_t c = 0; c < plan_.counters.size(); ++c)
    if (plan_.counters[c].owner == rank_) counter_base_[c] += program_.tiles * world_.signals_per_tile[c];
  return true;
}

bool Worker::wait(Clock::time_point deadline) {
  Event& event = world_.events[rank_];
  event.prepare();
  if (pass() || finished() || world_.failed.load()) {
    event.cancel();
    return true;
  }
  Clock::time_point now = Clock::now();
  if (now >= deadline) {
    event.cancel();
    give_up(StatusCode::kTimeout);
    return false;
  }
  event.sleep(deadline - now);
  event.cancel();
  return true;
}

bool Worker::pass() {
  bool testing = world_.options.order_seed != 0;
  if (testing) std::shuffle(order_.begin(), order_.end(), random_);
  bool went_on = false;
  for (uint32_t l : order_) {
    LaneState& lane = lanes_[l];
    if (lane.done) continue;
    if (testing && random_() % 8 == 0) {
      // A slow lane: it loses its turn, and now and then everybody else gets ahead of this rank.
      went_on = true;
      if (random_() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 20));
      continue;
    }
    went_on |= advance(lane);
  }
  return went_on;
}

bool Worker::advance(LaneState& lane) {
  bool testing = world_.options.order_seed != 0;
  bool went_on = false;
  while (!lane.done) {
    const Step& step = program_.steps[lane.first + lane.step];
    uint64_t elements = program_.elements(step, lane.tile, lane.instance);
    if (!ready(lane, step, elements)) break;
    execute(lane, step, elements);
    went_on = true;
    ++lane.progress;
    if (++lane.step == lane.count) {
      lane.step = 0;
      if (++lane.tile == program_.tiles) {
        lane.done = true;
        --unfinished_;
      }
    }
    if (testing && random_() % 4 == 0) break;
  }
  return went_on;
}

bool Worker::dependences_met(const LaneState& lane, const Instruction& instruction) const {
  for (const After& after : plan_.afters(instruction)) {
    const LaneState& other = lanes_[static_cast<size_t>(after.lane) * plan_.instances + lane.instance];
    if (other.progress <= lane.tile * other.count + after.step) return false;
  }
  return true;
}

uint64_t Worker::signals_wanted(const LaneState& lane, const Instruction& instruction) const {
  return counter_base_[instruction.counter] + lane.tile * world_.signals_per_tile[instruction.counter] +
         instruction.value;
}

bool Worker::ready(LaneState& lane, const Step& step, uint64_t elements) {
  const Instruction& instruction = plan_.instructions[step.instruction];
  if (instruction.after_count != 0 && !dependences_met(lane, instruction)) return false;
  if (step.op == Opcode::kWait) {
    const SignalCounter& c = world_.counters[instruction.counter * plan_.instances + lane.instance];
    return c.value.load() >= signals_wanted(lane, instruction);
  }
  if (elements == 0) return true;  // an empty message is neither sent nor received
  if (step.takes != Step::kNone && !ring(step.takes, lane.instance).can_read()) return false;
  return step.gives == Step::kNone || ring(step.gives, lane.instance).can_write();
}

bool Worker::finished() {
  if (unfinished_ != 0) return false;
  while (!shared_rings_.empty() && world_.rings[shared_rings_.back()].drained()) shared_rings_.pop_back();
  return shared_rings_.empty();
}

std::byte* Worker::memory(const MemoryRef& ref, uint32_t place, const LaneState& lane) const {
  const RankBuffers& of = (*buffers_)[ref.owner];
  std::byte* base = ref.buffer == buffers::kIn    ? static_cast<std::byte*>(const_cast<void*>(of.in))
                    : ref.buffer == buffers::kOut ? static_cast<std::byte*>(of.out)
                                                  : world_.scratch[ref.owner].get();
  uint64_t begin = program_.begins[ref.first_begin + static_cast<uint64_t>(place) * plan_.instances + lane.instance];
  return base + (begin + lane.tile * program_.tile_elements) * element_bytes_;
}

void Worker::execute(LaneState& lane, const Step& step, uint64_t elements) {
  const Instruction& instruction = plan_.instructions[step.instruction];
  if (step.op == Opcode::kSignal) {
    world_.counters[instruction.counter * plan_.instances + lane.instance].value.fetch_add(1);
    world_.events[plan_.counters[instruction.counter].owner].wake();
  } else if (step.op != Opcode::kWait && elements != 0) {
    move(lane, step, elements);
  }
}

void Worker::move(LaneState& lane, const Step& step, uint64_t elements) {
  DType type = world_.spec->sizes.dtype;
  const std::byte* taken = nullptr;
  if (step.takes != Step::kNone) {
    const Message& message = ring(step.takes, lane.instance).front();
    COLL_CHECK(message.bytes == elements * element_bytes_, "both ends of a connection know a message's length");
    taken = message.data;
  }
  // Around the caches only what no peer reads next either, and not in place, where the line has just been read. (The
  // fused last reduction would want a slot beside it: measured no faster than leaving the result in the cache.)
  bool streams = large_ && !in_place_ && step.final_store && step.gives == Step::kNone;
  bool shares = false;
  std::byte* slot = nullptr;
  if (step.gives != Step::kNone) {
    if (step.shared_ref != Step::kNone) {
      bool reads_in = program_.refs[step.shared_ref].buffer == buffers::kIn;
      shares = !(reads_in && (world_.scales || (in_place_ && !step.shared_in_place)));
    }
    if (!shares) slot = ring(step.gives, lane.instance).slot();
  }
  std::byte* given = slot;

  SmallArray<kernels::Source> sources(step.sources);
  SmallArray<kernels::Destination> destinations(step.destinations + 1);
  SmallArray<const std::byte*> staged(step.sources);
  bool stages = step.overlaps || (step.overlaps_in_place && in_place_);
  if (stages) {
    // A destination of one place is the source of another: copy the sources away first.
    staging_.resize(elements * element_bytes_ * step.sources);
    std::byte* room = staging_.data();
    for (uint32_t s = 0; s < step.sources; ++s) {
      const MemoryRef& ref = program_.refs[step.first_source + s];
      if (ref.is_message) continue;
      staged[s] = room;
      for (uint32_t i = 0; i < step.length; ++i) {
        uint64_t bytes = program_.elements(step, i, lane.tile, lane.instance) * element_bytes_;
        if (bytes != 0) std::memcpy(room, memory(ref, i, lane), bytes);
        room += bytes;
      }
    }
  }

  uint64_t done_bytes = 0;
  for (uint32_t i = 0; i < step.length; ++i) {
    uint64_t n = program_.elements(step, i, lane.tile, lane.instance);
    if (n == 0) continue;
    for (uint32_t s = 0; s < step.sources; ++s) {
      const MemoryRef& ref = program_.refs[step.first_source + s];
      sources[s].factor = nullptr;
      if (ref.is_message) {
        sources[s].data = taken + done_bytes;
        continue;
      }
      sources[s].data = stages ? staged[s] + done_bytes : memory(ref, i, lane);
      if (world_.scales && ref.buffer == buffers::kIn) sources[s].factor = &world_.spec->premul[ref.owner];
    }
    uint32_t count = 0;
    for (uint32_t d = 0; d < step.destinations; ++d) {
      const MemoryRef& ref = program_.refs[step.first_destination + d];
      std::byte* to = memory(ref, i, lane);
      bool is_source = false;
      for (uint32_t k = 0; k < step.sources; ++k) is_source |= sources[k].data == to;
      destinations[count++] = {to, streams && ref.buffer == buffers::kOut && !is_source};
    }
    if (slot != nullptr) destinations[count++] = {slot + done_bytes, false};

    if (step.reduces) {
      uint32_t divisor = world_.spec->op == RedOp::kAvg ? world_.completion->divisor(step.instruction, i) : 0;
      kernels::fold(type, world_.spec->op, sources.span(step.sources), divisor, destinations.span(count), n);
    } else {
      // A destination that is the source itself comes last, so that scaling it does not scale the others twice.
      const kernels::Source& source = sources[0];
      const kernels::Destination* onto_itself = nullptr;
      auto put = [&](const kernels::Destination& to) {
        if (source.factor != nullptr)
          kernels::scale(type, *source.factor, source.data, to.data, n);
        else
          kernels::copy(source.data, to, n * element_bytes_);
      };
      for (const kernels::Destination& to : destinations.span(count)) {
        if (to.data == source.data)
          onto_itself = &to;
        else
          put(to);
      }
      if (onto_itself != nullptr) put(*onto_itself);
    }
    done_bytes += n * element_bytes_;
  }

  if (step.takes != Step::kNone) {
    ring(step.takes, lane.instance).release();
    world_.events[plan_.connections[step.takes].source].wake();
  }
  if (step.gives != Step::kNone) {
    if (shares) {
      // The first place that holds anything begins the run of memory.
      uint32_t first = 0;
      while (program_.elements(step, first, lane.tile, lane.instance) == 0) ++first;
      given = memory(program_.refs[step.shared_ref], first, lane);
      uint32_t index = step.gives * plan_.instances + lane.instance;
      if (std::find(shared_rings_.begin(), shared_rings_.end(), index) == shared_rings_.end())
        shared_rings_.push_back(index);
    }
    ring(step.gives, lane.instance).publish(given, elements * element_bytes_);
    world_.events[plan_.connections[step.gives].destination].wake();
  }
}

void Worker::give_up(StatusCode why) {
  code = why;
  story = describe_wait();
  if (why == StatusCode::kTimeout) {
    auto elapsed = std::chrono::duration<double>(Clock::now() - call_entered_).count();
    story = fmt::format("call {} of {} timed out after {:.3f} s: {}", world_.first_call + call_, plan_.name, elapsed,
                        story);
  }
  if (why == StatusCode::kTimeout) world_.fail();
}

std::string Worker::describe_wait() {
  for (LaneState& lane : lanes_)
    if (!lane.done) return describe_lane(lane);
  for (uint32_t r : shared_rings_)
    if (!world_.rings[r].drained())
      return fmt::format("rank {} has done its part and waits for rank {} to read the last message of connection {}",
                         rank_, plan_.connections[r / plan_.instances].destination, r / plan_.instances);
  return {};
}

std::string Worker::describe_lane(LaneState& lane) {
  const Step& step = program_.steps[lane.first + lane.step];
  const Instruction& instruction = plan_.instructions[step.instruction];
  std::string where = fmt::format("rank {} lane {}", rank_, lane.lane);
  if (plan_.instances > 1) where += fmt::format(" instance {}", lane.instance);
  where += fmt::format(" step {} tile {} ({}, {})", lane.step, lane.tile, info(step.op).mnemonic,
                       plan_.lines.describe(instruction.line));
  for (const After& after : plan_.afters(instruction)) {
    const LaneState& other = lanes_[static_cast<size_t>(after.lane) * plan_.instances + lane.instance];
    if (other.progress <= lane.tile * other.count + after.step)
      return where + fmt::format(" waits for lane {} step {} of its own rank", after.lane, after.step);
  }
  if (step.op == Opcode::kWait) {
    const SignalCounter& c = world_.counters[instruction.counter * plan_.instances + lane.instance];
    return where + fmt::format(" waits for signal {} of counter {} from rank {}, which has sent {} in this call",
                               signals_wanted(lane, instruction) - counter_base_[instruction.counter],
                               instruction.counter, plan_.counters[instruction.counter].signaller,
                               c.value.load() - counter_base_[instruction.counter]);
  }
  if (step.takes != Step::kNone && !ring(step.takes, lane.instance).can_read())
    return where + fmt::format(" waits for a message from rank {} on connection {}",
                               plan_.connections[step.takes].source, step.takes);
  if (step.gives != Step::kNone && !ring(step.gives, lane.instance).can_write())
    return where + fmt::format(" waits for rank {} to free one of the {} slots of connection {}",
                               plan_.connections[step.gives].destination, world_.options.slots, step.gives);
  return where + " could go on";
}

}  // namespace coll
