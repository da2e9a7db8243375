; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; A loop whose wait before the first barrier LLVM 22.1.8 leaves out: docs/production.md, L1. The store at the end of the loop
; may be in flight at the barrier, after which another wave reads what it stores.
@shared = external addrspace(3) global [0 x i32]
define amdgpu_kernel void @loop(i32 %count) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %own = getelementptr i32, ptr addrspace(3) @shared, i32 %lane
  %other = xor i32 %lane, 64
  %next = getelementptr i32, ptr addrspace(3) @shared, i32 %other
  %any = icmp sgt i32 %count, 0
  br i1 %any, label %body, label %exit
body:
  %i = phi i32 [ 0, %entry ], [ %more, %body ]
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %value = load i32, ptr addrspace(3) %next
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  store i32 %value, ptr addrspace(3) %own
  %more = add i32 %i, 1
  %done = icmp eq i32 %more, %count
  br i1 %done, label %exit, label %body
exit:
  ret void
}
