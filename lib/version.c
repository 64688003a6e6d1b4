/*
 * The library's version. libberth.so is made of this file and of what libberth-core holds; the
 * symbols that leave it are listed in libberth.map.
 */
#include "config.h"

#include "berth.h"

const char *berth_version(void)
{
    return PACKAGE_VERSION;
}
