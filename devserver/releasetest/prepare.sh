#!/usr/bin/env bash
# Makes what the tests need to run Windows programs, unless it is there: a Wine
# prefix. Debian's packages wine and gcc-mingw-w64-x86-64-win32 have the tools.
#   devserver/releasetest/prepare.sh
set -euo pipefail

prefix=${XDG_CACHE_HOME:-$HOME/.cache}/svc-test/wine
[ -e "$prefix/ready" ] && exit

# Made elsewhere first, so that a broken-off start leaves nothing that looks ready.
rm -rf "$prefix.new"
mkdir -p "$prefix.new"
# Neither .NET nor a browser, which Wine would offer to download.
export WINEPREFIX=$prefix.new WINEARCH=win64 WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
unset DISPLAY
wine wineboot --init
wineserver --wait

# Go needs ProcessPrng to start, which Wine has from version 9.
random=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
[ -e "$random" ] || x86_64-w64-mingw32-gcc -shared -o "$random" -xc - <<'C'
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return RtlGenRandom(data, size); }
C
touch "$WINEPREFIX/ready"
rm -rf "$prefix"
mv "$WINEPREFIX" "$prefix"
