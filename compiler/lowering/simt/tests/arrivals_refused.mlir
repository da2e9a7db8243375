// AMD's chips have no barrier objects in shared memory.
// RUN: %fails2 heddle compile %s --target gfx950 --from simplify-layouts -o %t.hpkg 2>&1 | FileCheck %s
// CHECK: arrivals_refused.mlir:8:5: error: 'simt.arrive' cannot be compiled: this chip has no barrier objects in shared memory: use simt.barrier
module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func public @arrivals() {
    %c0 = arith.constant 0 : i32
    %objects = simt.alloc : !simt.shared<1 * 1xi64, offset = []>
    simt.arrive %objects[%c0] : !simt.shared<1 * 1xi64, offset = []>
    tt.return
  }
}
