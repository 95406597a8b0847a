#include "ullage/base/source.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ullage/base/suggest.h"

namespace ullage {

namespace {

// Above this, the kernel is told not to read ahead: around a header there are weights that nobody will look at.
constexpr Bytes kReadAheadLimit = MiB(16);
constexpr size_t kSuggestionsLimit = 4096;  // how many names of a folder are looked at for "did you mean"

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

class MappedSource final : public ByteSource {
 public:
  MappedSource(std::string name, void* begin, size_t size) : ByteSource(std::move(name)), begin_(begin) {
    bytes_ = {static_cast<const std::byte*>(begin), size};
  }
  ~MappedSource() override { ::munmap(begin_, bytes_.size()); }
  MappedSource(const MappedSource&) = delete;
  MappedSource& operator=(const MappedSource&) = delete;

 private:
  void* begin_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::vector<std::byte> bytes) : ByteSource(std::move(name)), owned_(std::move(bytes)) {
    bytes_ = owned_;
  }

 private:
  std::vector<std::byte> owned_;
};

class ViewSource final : public ByteSource {
 public:
  ViewSource(std::string name, std::span<const std::byte> bytes) : ByteSource(std::move(name)) { bytes_ = bytes; }
};

tl::unexpected<Error> system_error(const std::string& path, int error, std::string hint = {}) {
  return fail(ErrorCode::io, std::generic_category().message(error), path, std::move(hint));
}

std::string similar_file(const std::string& path) {
  const std::filesystem::path wanted(path);
  std::error_code ignored;
  std::filesystem::directory_iterator entry(wanted.has_parent_path() ? wanted.parent_path() : ".", ignored);
  std::vector<std::string> names;
  while (!ignored && entry != std::filesystem::directory_iterator() && names.size() < kSuggestionsLimit) {
    names.push_back(entry->path().filename().string());
    entry.increment(ignored);
  }
  const std::string found = closest(wanted.filename().string(), names);
  return found.empty() ? "" : fmt::format("did you mean {}?", (wanted.parent_path() / found).string());
}

Result<SharedSource> read_all(int fd, const std::string& name, Bytes limit) {
  std::vector<std::byte> bytes;
  size_t used = 0;
  const size_t most = limit.value < 0 ? 0 : static_cast<size_t>(limit.value);
  while (true) {
    if (used == bytes.size()) bytes.resize(std::min(std::max<size_t>(size_t{1} << 16, 2 * used), most + 1));
    const ssize_t got = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(name, errno);
    if (got == 0) break;
    used += static_cast<size_t>(got);
    if (used > most) {
      return fail(ErrorCode::limit, fmt::format("more than {} came through a stream", format_bytes(limit)), name,
                  "pass the path of a file: files are mapped, whatever their size");
    }
  }
  bytes.resize(used);
  return memory_source(name, std::move(bytes));
}

}  // namespace

Result<SharedSource> open_file(const std::string& path, Bytes stream_limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    const int error = errno;
    return system_error(path, error, error == ENOENT ? similar_file(path) : "");
  }
  struct stat facts = {};
  if (::fstat(file.get(), &facts) != 0) return system_error(path, errno);
  if (S_ISDIR(facts.st_mode)) {
    return fail(ErrorCode::io, "this is a folder, not a file", path, "pass the model file inside it");
  }
  if (!S_ISREG(facts.st_mode)) return read_all(file.get(), path, stream_limit);
  const auto size = static_cast<size_t>(facts.st_size);
  // The kernel's own files (/proc) claim to be empty and are not.
  if (size == 0) return read_all(file.get(), path, stream_limit);
  void* begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (begin == MAP_FAILED) return system_error(path, errno);
  if (size > static_cast<size_t>(kReadAheadLimit.value)) ::madvise(begin, size, MADV_RANDOM);
  return std::make_shared<MappedSource>(path, begin, size);
}

Result<SharedSource> read_stdin(Bytes limit) { return read_all(STDIN_FILENO, "(stdin)", limit); }

SharedSource memory_source(std::string name, std::vector<std::byte> bytes) {
  return std::make_shared<MemorySource>(std::move(name), std::move(bytes));
}

SharedSource memory_source(std::string name, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return memory_source(std::move(name), std::vector<std::byte>(bytes.begin(), bytes.end()));
}

SharedSource view_source(std::string name, std::span<const std::byte> bytes) {
  return std::make_shared<ViewSource>(std::move(name), bytes);
}

}  // namespace ullage
