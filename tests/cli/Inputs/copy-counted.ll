; A copy straight to LDS between an LDS read and its use. The first copy has the kernel's arguments waited for.
@memory = internal addrspace(3) global [4096 x i8] poison, align 16
define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) #0 {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %byte = shl i32 %lane, 2
  store i32 0, ptr addrspace(1) %q
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %first = call i32 @llvm.amdgcn.ds.bpermute(i32 %byte, i32 %lane)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %p, ptr addrspace(3) @memory, i32 4, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %to = getelementptr i32, ptr addrspace(1) %q, i32 %lane
  store i32 %first, ptr addrspace(1) %to
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="64,64" }
