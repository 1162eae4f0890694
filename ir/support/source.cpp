#include "ir/support/source.h"

#include <algorithm>

namespace coll {

SourceFile::SourceFile(std::string name, std::string text, size_t largest)
    : name_(std::move(name)), text_(std::move(text)), too_large_(text_.size() > largest) {
  if (too_large_) text_ = std::string();
  if (text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
  line_starts_.push_back(0);
  for (uint32_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
}

uint32_t SourceFile::line_of(uint32_t offset) const {
  auto it = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<uint32_t>(it - line_starts_.begin());
}

uint32_t SourceFile::column_of(uint32_t offset) const { return offset - line_starts_[line_of(offset) - 1] + 1; }

std::string_view SourceFile::line_text(uint32_t line) const {
  if (line == 0 || line > line_starts_.size()) return {};
  uint32_t begin = line_starts_[line - 1];
  uint32_t end = line < line_starts_.size() ? line_starts_[line] - 1 : static_cast<uint32_t>(text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::string LineTable::describe(uint32_t line_id) const {
  if (line_id >= lines.size()) return "?";
  const SourceLine& l = lines[line_id];
  return (l.file < files.size() ? files[l.file] : std::string("?")) + ":" + std::to_string(l.line);
}

}  // namespace coll
