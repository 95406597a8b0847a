// Tensor: what PyTorch's at::Tensor is, without the data: a counted handle on (dtype, sizes, strides, storage, autograd
// history). Memory belongs to storages; when the last handle that shares a storage goes, the storage's block is freed
// at that very moment, as in eager mode. So a rule written with ordinary local variables frees its temporaries where
// the C++ of PyTorch does.
//
//   Tensor y = m.empty_like(x);          // an alloc event
//   Tensor v = view_of(y, {64, 256});    // no event: shares y's storage
//   y = {};  v = {};                     // the free event, here
//
// Handles belong to one Machine and one thread; they must not outlive the Machine.
#pragma once

#include <cstdint>
#include <utility>

#include "ullage/eager/layout.h"
#include "ullage/ir/dtype.h"
#include "ullage/timeline/program.h"

namespace ullage::eager {

class Machine;
struct GradNode;

// An intrusive counted pointer; T has `int refs` and a release(T*) found by argument lookup.
template <class T>
class Counted {
 public:
  Counted() = default;
  explicit Counted(T* object) : object_(object) { hold(); }
  Counted(const Counted& o) : object_(o.object_) { hold(); }
  Counted(Counted&& o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  Counted& operator=(Counted o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Counted() { reset(); }
  void reset() {
    if (T* object = std::exchange(object_, nullptr); object && --object->refs == 0) release(object);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Counted& o) const { return object_ == o.object_; }

 private:
  void hold() {
    if (object_) ++object_->refs;
  }
  T* object_ = nullptr;
};

struct Storage {
  int refs = 0;
  Machine* machine = nullptr;
  BlockId block;  // none for 0 bytes and for host memory
  Bytes bytes;
  bool saved = false;  // autograd has kept it
};
void release(Storage* storage);

using GradNodePtr = Counted<GradNode>;

// Where a gradient goes: input `slot` of `node`'s backward; no node: no gradient wanted.
struct Edge {
  GradNodePtr node;
  int slot = 0;
};

struct TensorImpl {
  int refs = 0;
  DType dtype = DType::f32;
  bool requires_grad = false;
  bool is_parameter = false;  // a leaf whose gradient accumulates in .grad
  bool on_host = false;       // a Python number or CPU tensor: takes no part in the device's memory
  Shape sizes;
  Strides strides;
  Counted<Storage> storage;
  Edge history;              // grad_fn and output number; for a leaf parameter its accumulator
  Counted<TensorImpl> grad;  // parameters only
};
void release(TensorImpl* impl);

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorImpl* impl) : impl_(impl) {}

  bool defined() const { return static_cast<bool>(impl_); }
  explicit operator bool() const { return defined(); }
  DType dtype() const { return impl_->dtype; }
  const Shape& sizes() const { return impl_->sizes; }
  const Strides& strides() const { return impl_->strides; }
  int64_t size(int dim) const { return impl_->sizes[dim]; }
  int rank() const { return impl_->sizes.rank(); }
  int64_t numel() const { return impl_->sizes.numel(); }
  Bytes bytes() const { return bytes_of(dtype(), numel()); }  // of the elements, not of the storage
  bool requires_grad() const { return impl_ && impl_->requires_grad; }
  bool is_parameter() const { return impl_->is_parameter; }
  bool on_host() const { return impl_->on_host; }
  bool is_contiguous() const { return eager::is_contiguous(sizes(), strides()); }
  bool is_channels_last() const { return eager::is_channels_last(sizes(), strides()); }
  bool is_non_overlapping_and_dense() const { return eager::is_non_overlapping_and_dense(sizes(), strides()); }
  Storage* storage() const { return impl_->storage.get(); }
  bool shares_storage(const Tensor& o) const { return impl_ && o.impl_ && impl_->storage == o.impl_->storage; }
  // PyTorch's use_count(): how many handles hold this very tensor.
  int use_count() const { return impl_ ? impl_->refs : 0; }
  TensorImpl* impl() const { return impl_.get(); }
  bool same(const Tensor& o) const { return impl_ == o.impl_; }

 private:
  Counted<TensorImpl> impl_;
};

}  // namespace ullage::eager
