// RUN: heddle-opt %s --heddle-expand-block-pointers --split-input-file --verify-diagnostics

// expected-error @+2 {{argument 0 of `kernel` is a block pointer}}
// expected-note @+1 {{pass base, shape and strides, and form the block pointer in the kernel}}
tt.func public @kernel(%p: !tt.ptr<tensor<8xf32>>) {
  tt.return
}

// -----

// expected-error @+2 {{argument 1 of `helper` is a block pointer}}
// expected-note @+1 {{inline calls before (`heddle-inline-calls`)}}
tt.func private @helper(%n: i32, %p: !tt.ptr<tensor<8xf32>>) {
  tt.return
}
