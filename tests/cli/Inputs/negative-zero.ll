define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  %a = load half, ptr addrspace(1) %p
  %b = load half, ptr addrspace(1) %q
  %x = fpext half %a to float
  %y = fpext half %b to float
  %m = fmul float %x, %y
  %t = fptrunc float %m to half
  store half %t, ptr addrspace(1) %p
  ret void
}
