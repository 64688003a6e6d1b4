/* SHA-256 (FIPS 180-4): the hash of a rank map. */
#ifndef BERTH_SHA256_H
#define BERTH_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t size);
/* 64 hex digits and NUL. The struct is used up. */
void sha256_hex(struct sha256 *sha, char hex[65]);

#endif
