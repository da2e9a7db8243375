#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fails.sh CODE COMMAND...: runs the command and succeeds if it ends with exactly this exit code. Lit's %fails1, %fails2,
# %fails3 and %fails70 are this: wrong result, bad input, environment, a fault of ours.
wanted=$1
shift
"$@"
found=$?
[ "$found" -eq "$wanted" ] && exit 0
echo "fails.sh: exit code $found where $wanted was expected: $*" >&2
exit 1
