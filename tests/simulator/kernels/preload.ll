; out[lane] = x[lane] * factor + offset, all arguments preloaded into scalar registers where the firmware does that.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @scale(ptr addrspace(1) inreg %x, ptr addrspace(1) inreg %out, i32 inreg %factor, i32 inreg %offset) #0 {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %from = getelementptr i32, ptr addrspace(1) %x, i32 %lane
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  %value = load i32, ptr addrspace(1) %from
  %product = mul i32 %value, %factor
  %sum = add i32 %product, %offset
  store i32 %sum, ptr addrspace(1) %to
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()

attributes #0 = { "amdgpu-flat-work-group-size"="64,64" }
