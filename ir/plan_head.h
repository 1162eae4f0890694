#pragma once
// The head of a plan in text: all tables that instructions may name. Read completely before the first instruction, so
// that each of those can be checked on the spot.
#include <cstdint>
#include <vector>

#include "ir/plan.h"
#include "ir/text_reader.h"

namespace coll {

class PlanHeadReader {
 public:
  PlanHeadReader(TextReader& reader, Plan& plan);

  // Reads the first line and the head; false when an error was reported. All errors of the head are collected; a
  // faulty head is not followed by complaints about the body.
  bool read();
  // The head ended with the word `rank`, which has been read; else with the text.
  bool ends_at_rank() const { return in_body_; }
  uint64_t longest() const { return longest_; }  // places of the longest buffer of any rank
  // After the body: `needs` lines and content agree.
  void check_needs();

 private:
  bool read_line(std::string_view word);
  bool read_needs();
  bool read_slots();
  bool read_ranks(uint32_t& first, uint32_t& last);
  bool read_scratch();
  bool read_pair(uint32_t& from, uint32_t& to);
  bool read_connection();
  bool read_counter();
  bool read_group();
  void check_connections();
  void check_sizes();

  TextReader& reader_;
  Plan& plan_;
  HeadReader head_;
  bool in_body_ = false;
  bool needs_direct_ = false, needs_multicast_ = false;
  uint32_t first_line_at_ = 0, needs_at_ = 0;
  uint32_t scratch_from_ = 0;  // first rank whose scratch may still be given
  uint64_t group_members_ = 0;
  uint64_t longest_ = 0;
  std::vector<uint32_t> connection_at_;
};

}  // namespace coll
