// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Enumerations of the `tt` dialect. Names are the keywords of the text, numbers those of the generic form.
#ifndef HEDDLE_TRITON_ENUMS
#define HEDDLE_TRITON_ENUMS

include "mlir/IR/EnumAttr.td"

class TT_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::heddle::triton";
}
class TT_Case<string keyword, int number, string symbol = keyword> : I32EnumAttrCase<symbol, number, keyword>;

def TT_CacheModifier : TT_Enum<"CacheModifier", "where a load or store may be cached", [
  TT_Case<"none", 1, "None">, TT_Case<"ca", 2, "CacheAll">, TT_Case<"cg", 3, "CacheGlobal">,
  TT_Case<"wb", 4, "WriteBack">, TT_Case<"cs", 5, "Streaming">, TT_Case<"wt", 6, "WriteThrough">,
  TT_Case<"cv", 7, "Volatile">]>;
def TT_EvictionPolicy : TT_Enum<"EvictionPolicy", "how soon a cached line may leave", [
  TT_Case<"evict_normal", 1, "Normal">, TT_Case<"evict_first", 2, "First">, TT_Case<"evict_last", 3, "Last">]>;
def TT_MemSemantic : TT_Enum<"MemSemantic", "memory ordering of an atomic", [
  TT_Case<"relaxed", 1, "Relaxed">, TT_Case<"acquire", 2, "Acquire">, TT_Case<"release", 3, "Release">,
  TT_Case<"acq_rel", 4, "AcquireRelease">]>;
def TT_MemScope : TT_Enum<"MemScope", "who observes an atomic", [
  TT_Case<"gpu", 1, "Gpu">, TT_Case<"cta", 2, "Cta">, TT_Case<"sys", 3, "System">]>;
def TT_Padding : TT_Enum<"PaddingOption", "what an out-of-bounds element of a block reads as", [
  TT_Case<"zero", 1, "Zero">, TT_Case<"nan", 2, "Nan">]>;
def TT_RMWOp : TT_Enum<"RMWOp", "what a read-modify-write does", [
  TT_Case<"and", 1, "And">, TT_Case<"or", 2, "Or">, TT_Case<"xor", 3, "Xor">, TT_Case<"add", 4, "Add">,
  TT_Case<"fadd", 5, "FAdd">, TT_Case<"max", 6, "Max">, TT_Case<"min", 7, "Min">, TT_Case<"umax", 8, "UMax">,
  TT_Case<"umin", 9, "UMin">, TT_Case<"exch", 10, "Exchange">]>;
def TT_DescriptorReduceKind : TT_Enum<"DescriptorReduceKind", "what descriptor_reduce does to memory", [
  TT_Case<"add", 1, "Add">, TT_Case<"min", 2, "Min">, TT_Case<"max", 3, "Max">, TT_Case<"inc", 4, "Inc">,
  TT_Case<"dec", 5, "Dec">, TT_Case<"and", 6, "And">, TT_Case<"or", 7, "Or">, TT_Case<"xor", 8, "Xor">]>;
def TT_ProgramDim : TT_Enum<"ProgramDim", "axis of the grid", [
  TT_Case<"x", 0, "X">, TT_Case<"y", 1, "Y">, TT_Case<"z", 2, "Z">]>;
def TT_RoundingMode : TT_Enum<"RoundingMode", "rounding of a narrowing conversion", [
  TT_Case<"rtz", 0, "TowardZero">, TT_Case<"rtne", 1, "NearestEven">]>;
def TT_PropagateNan : TT_Enum<"PropagateNan", "whether NaN operands win", [
  TT_Case<"none", 0, "None">, TT_Case<"all", 65535, "All">]>;
def TT_InputPrecision : TT_Enum<"InputPrecision", "how f32 operands of a dot may be rounded", [
  TT_Case<"tf32", 0, "TF32">, TT_Case<"tf32x3", 1, "TF32x3">, TT_Case<"ieee", 2, "IEEE">,
  TT_Case<"bf16x3", 3, "BF16x3">, TT_Case<"bf16x6", 4, "BF16x6">]>;
def TT_ScaleDotElemType : TT_Enum<"ScaleDotElemType", "element format of a scaled dot operand", [
  TT_Case<"e4m3", 0, "E4M3">, TT_Case<"e5m2", 1, "E5M2">, TT_Case<"e2m3", 2, "E2M3">, TT_Case<"e3m2", 3, "E3M2">,
  TT_Case<"e2m1", 4, "E2M1">, TT_Case<"bf16", 5, "BF16">, TT_Case<"fp16", 6, "FP16">]>;

#endif
