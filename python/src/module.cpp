// wia._native: the C API for wia/__init__.py and wia/torch, which give it the faces that people see.
//
// Buffers come as addresses; whoever calls has looked at type and length (view). With `keep` a call is
// asynchronous and gives a Request that keeps it alive; without, the call gives None when it is done.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <wia/wia.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "arrays.hpp"
#include "errors.hpp"
#include "request.hpp"
#include "waiting.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace wia_python {
namespace {

using Address = uintptr_t;
using Counts = std::vector<size_t>;

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

// A handle. The world of wia_init is destroyed by wia_finalize alone: it is the same for all who ask for it.
struct Communicator {
  wia_communicator_t* handle = nullptr;
  bool owned = true;
  ~Communicator() {
    if (handle && owned) wia_communicator_destroy(handle);
  }
};

// Makes a communicator, with everything that may take long outside the GIL.
template <class Make>
nb::object make(bool owned, Make make_handle) {
  wia_communicator_t* handle = nullptr;
  wia_status_t status;
  {
    const Waiting waiting;
    status = make_handle(&handle);
  }
  if (PyErr_Occurred() && status == WIA_SUCCESS && owned && handle) wia_communicator_destroy(handle);
  check(status);
  if (!handle) return nb::none();
  auto made = std::make_unique<Communicator>();
  made->handle = handle;
  made->owned = owned;
  return nb::cast(made.release(), nb::rv_policy::take_ownership);
}

// call(request) is the C call.
template <class Call>
nb::object run(Communicator& self, nb::handle keep, Call call) {
  wia_status_t status;
  if (keep.is_none()) {
    {
      const Waiting waiting;
      status = call(self.handle, static_cast<wia_request_t**>(nullptr));
    }
    check(status);
    return nb::none();
  }
  wia_request_t* request = nullptr;
  {
    const nb::gil_scoped_release release;
    status = call(self.handle, &request);
  }
  check(status);
  nb::object kept = nb::make_tuple(keep, nb::find(self));
  return nb::cast(new Request(request, std::move(kept)), nb::rv_policy::take_ownership);
}

const size_t* counts_or_null(const std::optional<Counts>& counts) {
  return counts ? counts->data() : nullptr;
}

// The C API cannot see how long a list is.
void check_length(const Communicator& self, const Counts& counts, const char* name) {
  const int size = wia_size(self.handle);
  if (size < 0) check(wia_last_error());
  if (counts.size() != static_cast<size_t>(size))
    throw nb::value_error((std::string(name) + " has " + std::to_string(counts.size()) +
                           " entries; wanted is one for each of " + std::to_string(size) + " ranks")
                              .c_str());
}

void bind_request(nb::module_& m) {
  nb::class_<Request>(m, "Request", nb::is_weak_referenceable())
      .def("wait", &Request::wait, "timeout_ms"_a = -1)
      .def("test", &Request::test)
      .def("done", &Request::done)
      .def_prop_ro("code", &Request::code)
      .def_prop_ro("message", &Request::message);
}

void bind_collectives(nb::class_<Communicator>& c) {
  const auto keep = nb::arg("keep").none() = nb::none();
  c.def(
      "all_reduce",
      [](Communicator& self, Address send, Address recv, size_t count, int dtype, int op, nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_all_reduce(pointer(send), pointer(recv), count, static_cast<wia_dtype_t>(dtype),
                                static_cast<wia_op_t>(op), comm, r);
        });
      },
      "send"_a, "recv"_a, "count"_a, "dtype"_a, "op"_a, keep);
  c.def(
      "all_reduce_scaled",
      [](Communicator& self, Address send, Address recv, size_t count, int dtype, double factor,
         nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_all_reduce_scaled(pointer(send), pointer(recv), count, static_cast<wia_dtype_t>(dtype),
                                       factor, comm, r);
        });
      },
      "send"_a, "recv"_a, "count"_a, "dtype"_a, "factor"_a, keep);
  c.def(
      "all_gather",
      [](Communicator& self, Address send, Address recv, size_t count, int dtype, nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_all_gather(pointer(send), pointer(recv), count, static_cast<wia_dtype_t>(dtype), comm,
                                r);
        });
      },
      "send"_a, "recv"_a, "count"_a, "dtype"_a, keep);
  c.def(
      "all_gather_v",
      [](Communicator& self, Address send, Address recv, const Counts& counts, std::optional<Counts> offsets,
         int dtype, nb::handle kept) {
        check_length(self, counts, "counts");
        if (offsets) check_length(self, *offsets, "offsets");
        return run(self, kept, [&](auto* comm, auto** r) {
          return wia_all_gather_v(pointer(send), pointer(recv), counts.data(), counts_or_null(offsets),
                                  static_cast<wia_dtype_t>(dtype), comm, r);
        });
      },
      "send"_a, "recv"_a, "counts"_a, "offsets"_a.none(), "dtype"_a, keep);
  c.def(
      "reduce_scatter",
      [](Communicator& self, Address send, Address recv, size_t count, int dtype, int op, nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_reduce_scatter_block(pointer(send), pointer(recv), count,
                                          static_cast<wia_dtype_t>(dtype), static_cast<wia_op_t>(op), comm,
                                          r);
        });
      },
      "send"_a, "recv"_a, "count"_a, "dtype"_a, "op"_a, keep);
  c.def(
      "reduce_scatter_v",
      [](Communicator& self, Address send, Address recv, const Counts& counts, int dtype, int op,
         nb::handle kept) {
        check_length(self, counts, "counts");
        return run(self, kept, [&](auto* comm, auto** r) {
          return wia_reduce_scatter_v(pointer(send), pointer(recv), counts.data(),
                                      static_cast<wia_dtype_t>(dtype), static_cast<wia_op_t>(op), comm, r);
        });
      },
      "send"_a, "recv"_a, "counts"_a, "dtype"_a, "op"_a, keep);
  c.def(
      "broadcast",
      [](Communicator& self, Address buffer, size_t count, int dtype, int root, nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_broadcast_buffer(pointer(buffer), count, static_cast<wia_dtype_t>(dtype), root, comm, r);
        });
      },
      "buffer"_a, "count"_a, "dtype"_a, "root"_a, keep);
  c.def(
      "reduce",
      [](Communicator& self, Address send, Address recv, size_t count, int dtype, int op, int root,
         nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_reduce(pointer(send), pointer(recv), count, static_cast<wia_dtype_t>(dtype),
                            static_cast<wia_op_t>(op), root, comm, r);
        });
      },
      "send"_a, "recv"_a, "count"_a, "dtype"_a, "op"_a, "root"_a, keep);
  c.def(
      "gather",
      [](Communicator& self, Address send, Address recv, size_t count, int dtype, int root, nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_gather(pointer(send), pointer(recv), count, static_cast<wia_dtype_t>(dtype), root, comm,
                            r);
        });
      },
      "send"_a, "recv"_a, "count"_a, "dtype"_a, "root"_a, keep);
  c.def(
      "gather_v",
      [](Communicator& self, Address send, Address recv, const Counts& counts, int dtype, int root,
         nb::handle kept) {
        check_length(self, counts, "counts");
        return run(self, kept, [&](auto* comm, auto** r) {
          return wia_gather_v(pointer(send), pointer(recv), counts.data(), nullptr,
                              static_cast<wia_dtype_t>(dtype), root, comm, r);
        });
      },
      "send"_a, "recv"_a, "counts"_a, "dtype"_a, "root"_a, keep);
  c.def(
      "scatter",
      [](Communicator& self, Address send, Address recv, size_t count, int dtype, int root, nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_scatter(pointer(send), pointer(recv), count, static_cast<wia_dtype_t>(dtype), root, comm,
                             r);
        });
      },
      "send"_a, "recv"_a, "count"_a, "dtype"_a, "root"_a, keep);
  c.def(
      "scatter_v",
      [](Communicator& self, Address send, Address recv, const Counts& counts, int dtype, int root,
         nb::handle kept) {
        check_length(self, counts, "counts");
        return run(self, kept, [&](auto* comm, auto** r) {
          return wia_scatter_v(pointer(send), pointer(recv), counts.data(), nullptr,
                               static_cast<wia_dtype_t>(dtype), root, comm, r);
        });
      },
      "send"_a, "recv"_a, "counts"_a, "dtype"_a, "root"_a, keep);
  c.def(
      "all_to_all",
      [](Communicator& self, Address send, Address recv, size_t count, int dtype, nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_all_to_all(pointer(send), pointer(recv), count, static_cast<wia_dtype_t>(dtype), comm,
                                r);
        });
      },
      "send"_a, "recv"_a, "count"_a, "dtype"_a, keep);
  c.def(
      "all_to_all_v",
      [](Communicator& self, Address send, const Counts& send_counts, Address recv, const Counts& recv_counts,
         int dtype, nb::handle kept) {
        check_length(self, send_counts, "send_counts");
        check_length(self, recv_counts, "recv_counts");
        return run(self, kept, [&](auto* comm, auto** r) {
          return wia_all_to_all_v(pointer(send), send_counts.data(), nullptr, pointer(recv),
                                  recv_counts.data(), nullptr, static_cast<wia_dtype_t>(dtype), comm, r);
        });
      },
      "send"_a, "send_counts"_a, "recv"_a, "recv_counts"_a, "dtype"_a, keep);
  c.def(
      "barrier",
      [](Communicator& self, nb::handle kept) {
        return run(self, kept, [](auto* comm, auto** r) { return wia_barrier_async(comm, r); });
      },
      keep);
  c.def(
      "send",
      [](Communicator& self, Address buffer, size_t count, int dtype, int to, int tag, nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_send(pointer(buffer), count, static_cast<wia_dtype_t>(dtype), to, tag, comm, r);
        });
      },
      "buffer"_a, "count"_a, "dtype"_a, "to"_a, "tag"_a, keep);
  c.def(
      "recv",
      [](Communicator& self, Address buffer, size_t count, int dtype, int from, int tag, nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_recv(pointer(buffer), count, static_cast<wia_dtype_t>(dtype), from, tag, comm, r);
        });
      },
      "buffer"_a, "count"_a, "dtype"_a, "source"_a, "tag"_a, keep);
  c.def(
      "recv_any",
      [](Communicator& self, Address buffer, size_t count, int dtype, Address source, int tag,
         nb::handle kept) {
        return run(self, kept, [=](auto* comm, auto** r) {
          return wia_recv_any(pointer(buffer), count, static_cast<wia_dtype_t>(dtype),
                              static_cast<int*>(pointer(source)), tag, comm, r);
        });
      },
      "buffer"_a, "count"_a, "dtype"_a, "source"_a, "tag"_a, keep);
}

void bind_communicator(nb::module_& m) {
  nb::class_<Communicator> c(m, "Communicator", nb::is_weak_referenceable());
  c.def_prop_ro("rank", [](Communicator& self) {
    const int rank = wia_rank(self.handle);
    if (rank < 0) check(wia_last_error());
    return rank;
  });
  c.def_prop_ro("size", [](Communicator& self) {
    const int size = wia_size(self.handle);
    if (size < 0) check(wia_last_error());
    return size;
  });
  c.def_prop_ro("num_nodes", [](Communicator& self) { return wia_communicator_num_nodes(self.handle); });
  c.def_prop_ro("transport", [](Communicator& self) {
    const char* text = wia_communicator_transport(self.handle);
    if (!text) check(wia_last_error());
    return std::string(text);
  });
  c.def(
      "split",
      [](Communicator& self, int color, int key) {
        return make(true, [&](auto** out) { return wia_communicator_split(self.handle, color, key, out); });
      },
      "color"_a, "key"_a = 0);
  c.def("duplicate", [](Communicator& self) {
    return make(true, [&](auto** out) { return wia_communicator_duplicate(self.handle, out); });
  });
  c.def(
      "create",
      [](Communicator& self, const std::vector<int>& ranks) {
        return make(true, [&](auto** out) {
          return wia_communicator_create(self.handle, ranks.data(), static_cast<int>(ranks.size()), out);
        });
      },
      "ranks"_a);
  c.def("abort", [](Communicator& self) {
    const nb::gil_scoped_release release;
    wia_communicator_abort(self.handle);
  });
  c.def("destroy", [](Communicator& self) {
    {
      const nb::gil_scoped_release release;
      wia_communicator_destroy(self.handle);
    }
    reap();
  });
  c.def(
      "set_timeout",
      [](Communicator& self, int64_t ms) { check(wia_communicator_set_timeout(self.handle, ms)); },
      "milliseconds"_a);
  c.def(
      "set_deterministic",
      [](Communicator& self, bool on) { check(wia_communicator_set_deterministic(self.handle, on)); },
      "on"_a);
  c.def(
      "set_algorithm",
      [](Communicator& self, const std::string& collective, const std::string& algorithm) {
        check(wia_communicator_set_algorithm(self.handle, collective.c_str(), algorithm.c_str()));
      },
      "collective"_a, "algorithm"_a);
  c.def("check", [](Communicator& self) { check(wia_communicator_status(self.handle)); });
  c.def("waiting", [](Communicator& self) {
    const nb::gil_scoped_release release;
    const char* text = wia_communicator_waiting(self.handle);
    return std::string(text ? text : "");
  });
  bind_collectives(c);
}

}  // namespace

NB_MODULE(_native, m) {
  main_thread =
      nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  nb::set_leak_warnings(false);  // objects that users hold when the interpreter ends are no leak of ours
  bind_request(m);
  bind_communicator(m);
  m.def("view", &view, "array"_a, "writable"_a, "name"_a);
  m.def("version", [] { return std::string(wia_version()); });
  m.def(
      "status_name", [](int code) { return std::string(wia_status_string(static_cast<wia_status_t>(code))); },
      "code"_a);
  m.def("init", [] { return make(false, [](auto** out) { return wia_init(out); }); });
  m.def(
      "finalize",
      [](int64_t ms) {
        wia_status_t status;
        {
          const Waiting waiting;
          status = wia_finalize_within(ms);
        }
        reap();
        check(status);
      },
      "milliseconds"_a = -1);
  m.def(
      "unique_id",
      [](std::optional<std::string> host) {
        wia_unique_id_t id;
        check(wia_get_unique_id_at(host ? host->c_str() : nullptr, &id));
        return nb::bytes(id.bytes, sizeof id.bytes);
      },
      "host"_a.none() = nb::none());
  m.def(
      "init_rank",
      [](int size, nb::bytes text, int rank) {
        wia_unique_id_t id{};
        std::memcpy(id.bytes, text.c_str(), std::min(sizeof id.bytes, text.size()));
        return make(true, [&](auto** out) { return wia_init_rank(out, size, &id, rank); });
      },
      "size"_a, "id"_a, "rank"_a);
}

}  // namespace wia_python
