; A load of LDS whose value only a branch after the barrier uses.
@lds = external addrspace(3) global [0 x i8], align 16
define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %n) #0 {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i16, ptr addrspace(3) @lds, i32 %i
  %x = load i16, ptr addrspace(3) %p, align 2
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %c = icmp sgt i32 %n, 0
  br i1 %c, label %some, label %none
some:
  %q = getelementptr i16, ptr addrspace(1) %out, i32 %i
  store i16 %x, ptr addrspace(1) %q, align 2
  br label %none
none:
  ret void
}
attributes #0 = { "target-cpu"="gfx950" "amdgpu-flat-work-group-size"="128,128" }
