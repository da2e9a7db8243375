// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs of branches and loops that exchange tiles through scratch memory: along every path of at most two
// turns of each loop the inserted barriers order what conflicts, and without any one of them some path has a race.
#include "compiler/lowering/simt/InsertBarriers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {

/// Text of exchanges of 256 bytes, within warps or across them, at places that overlap.
class RandomProgram {
public:
  explicit RandomProgram(unsigned seed) : random(seed) {}

  std::string text() {
    std::string body = build(2, 3);
    return R"(#a = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128]], shape = [256]>
#b = #simt.linear<register = [], lane = [[32], [16], [8], [4], [2], [1]], warp = [[64], [128]], shape = [256]>
#c = #simt.linear<register = [], lane = [[4], [8], [16], [32], [64], [128]], warp = [[1], [2]], shape = [256]>
!bytes = !simt.shared<1 * 256xi8, offset = [[1], [2], [4], [8], [16], [32], [64], [128]]>
module {
tt.func @f(%x: tensor<256xi8, #a>, %n: i32, %bit: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
)" + body + "  tt.return\n}\n}\n";
  }

private:
  int pick(int count) { return int(random() % unsigned(count)); }

  std::string build(int depth, int length) {
    std::string text;
    for (int i = 0; i < length; ++i) {
      int kind = pick(depth ? 10 : 7), number = names++;
      if (kind < 2) { // two tiles at once
        int start = 128 * pick(3);
        for (const char *step : {"%m{0}{1} = simt.alloc scratch at {2} : !bytes\n",
                                 "simt.store_shared %x, %m{0}{1} : tensor<256xi8, #a>, !bytes\n",
                                 "%y{0}{1} = simt.load_shared %m{0}{1} : !bytes -> tensor<256xi8, #{3}>\n"})
          for (int each : {0, 1})
            text += fmt::format(fmt::runtime(step), number, "ab"[each], start + 256 * each, each ? "c" : "b");
      } else if (kind < 6)
        text += fmt::format("%m{0} = simt.alloc scratch at {1} : !bytes\n"
                            "simt.store_shared %x, %m{0} : tensor<256xi8, #a>, !bytes\n"
                            "%y{0} = simt.load_shared %m{0} : !bytes -> tensor<256xi8, #{2}>\n",
                            number, 128 * pick(6), pick(3) ? "c" : "b");
      else if (kind < 7)
        text += "simt.barrier\n";
      else if (kind < 9)
        text +=
            fmt::format("scf.for %i{} = %c0 to %n step %c1 : i32 {{\n{}}}\n", number, build(depth - 1, 1 + pick(2)));
      else
        text += fmt::format("scf.if %bit {{\n{}}} else {{\n{}}}\n", build(depth - 1, 1), build(depth - 1, 1));
    }
    return text;
  }

  std::mt19937 random;
  int names = 0;
};

using Path = std::vector<Operation *>;

std::vector<Path> joined(const std::vector<Path> &first, const std::vector<Path> &second) {
  std::vector<Path> result;
  for (const Path &path : first)
    for (const Path &rest : second) {
      result.push_back(path);
      result.back().insert(result.back().end(), rest.begin(), rest.end());
    }
  return result;
}

std::vector<Path> pathsOf(Block &block) {
  std::vector<Path> paths = {{}};
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      std::vector<Path> once = pathsOf(*loop.getBody()), turns = joined(once, once);
      turns.insert(turns.end(), once.begin(), once.end());
      turns.push_back({});
      paths = joined(paths, turns);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      std::vector<Path> sides = pathsOf(*branch.thenBlock()), other = pathsOf(*branch.elseBlock());
      sides.insert(sides.end(), other.begin(), other.end());
      paths = joined(paths, sides);
    } else if (isa<StoreSharedOp, LoadSharedOp, BarrierOp>(op)) {
      paths = joined(paths, {{&op}});
    }
  }
  return paths;
}

/// Whether two accesses of the path conflict with no barrier between them that is large enough.
bool hasRace(const Path &path, int warps) {
  for (size_t i = 0; i < path.size(); ++i) {
    auto objectOf = [](Operation *op) {
      return op->getOperand(isa<StoreSharedOp>(op) ? 1 : 0).getDefiningOp<AllocOp>();
    };
    if (isa<BarrierOp>(path[i]))
      continue;
    bool metWarps = false, metBlock = false;
    for (size_t k = i + 1; k < path.size(); ++k) {
      if (auto barrier = dyn_cast<BarrierOp>(path[k])) {
        metWarps = true;
        metBlock |= !barrier.getWarp();
        continue;
      }
      AllocOp one = objectOf(path[i]), other = objectOf(path[k]);
      // An exchange whose load has the layout #b stays within warps.
      bool isWithin = one == other && llvm::all_of(one->getUsers(), [](Operation *user) {
                        auto load = dyn_cast<LoadSharedOp>(user);
                        return !load || layoutOf(load.getType()).basis(layout::Dim::Lane, 0, layout::Dim::Dim0) == 32;
                      });
      int64_t distance = int64_t(*one.getStart()) - int64_t(*other.getStart());
      bool conflicts = (isa<StoreSharedOp>(path[i]) || isa<StoreSharedOp>(path[k])) && std::abs(distance) < 256;
      if (conflicts && !(isWithin || warps == 1 ? metWarps : metBlock))
        return true;
    }
  }
  return false;
}

} // namespace

TEST(InsertBarriers, they_are_enough_and_none_is_too_many) {
  MLIRContext context;
  context.loadDialect<SimtDialect, triton::TritonDialect, scf::SCFDialect, arith::ArithDialect>();
  int tried = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::string text = RandomProgram(seed).text();
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto function = *module->getOps<triton::FuncOp>().begin();
    Block &body = function.getBody().front();
    llvm::DenseSet<Operation *> own;
    function.walk([&](BarrierOp barrier) { own.insert(barrier); });
    ASSERT_TRUE(succeeded(insertBarriers(*module, {64, 4})));
    std::vector<Path> paths = pathsOf(body);
    if (paths.size() > 1000)
      continue;
    ++tried;
    auto races = [&] { return llvm::any_of(paths, [&](const Path &path) { return hasRace(path, 4); }); };
    ASSERT_FALSE(races()) << text;
    EXPECT_TRUE(succeeded(verifyHazards(*module, {64, 4})));
    SmallVector<BarrierOp> inserted;
    function.walk([&](BarrierOp barrier) {
      if (!own.contains(barrier))
        inserted.push_back(barrier);
    });
    for (BarrierOp barrier : inserted) {
      bool isWarp = barrier.getWarp();
      std::vector<Path> all = paths;
      if (isWarp)
        for (Path &path : paths)
          llvm::erase(path, barrier.getOperation());
      else
        barrier.setWarp(true);
      EXPECT_TRUE(races()) << "without a barrier\n" << text;
      barrier.setWarp(isWarp);
      paths = all;
    }
  }
  EXPECT_GT(tried, 100);
}
