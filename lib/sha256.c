/*
 * SHA-256 as FIPS 180-4 section 6.2 writes it; names a..h, W and K are the standard's.
 */
#include "sha256.h"

#include <stdio.h>
#include <string.h>

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void schedule(uint32_t W[64], const unsigned char *p)
{
    for (int t = 0; t < 16; t++, p += 4)
        W[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotr(W[t - 15], 7) ^ rotr(W[t - 15], 18) ^ W[t - 15] >> 3;
        uint32_t s1 = rotr(W[t - 2], 17) ^ rotr(W[t - 2], 19) ^ W[t - 2] >> 10;
        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
}

/* One round; the standard's renaming of a..h is done by the caller's order of arguments. */
static inline void step(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f,
                        uint32_t g, uint32_t *h, uint32_t KW)
{
    uint32_t Ch = g ^ (e & (f ^ g)), Maj = (a & b) | (c & (a | b)); /* as 4.1.2, in fewer steps */
    uint32_t T1 = *h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + Ch + KW;
    uint32_t T2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + Maj;
    *d += T1;
    *h = T1 + T2;
}

static void compress(uint32_t state[8], const unsigned char *p)
{
    uint32_t W[64];
    schedule(W, p);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t += 8) {
        step(a, b, c, &d, e, f, g, &h, K[t] + W[t]);
        step(h, a, b, &c, d, e, f, &g, K[t + 1] + W[t + 1]);
        step(g, h, a, &b, c, d, e, &f, K[t + 2] + W[t + 2]);
        step(f, g, h, &a, b, c, d, &e, K[t + 3] + W[t + 3]);
        step(e, f, g, &h, a, b, c, &d, K[t + 4] + W[t + 4]);
        step(d, e, f, &g, h, a, b, &c, K[t + 5] + W[t + 5]);
        step(c, d, e, &f, g, h, a, &b, K[t + 6] + W[t + 6]);
        step(b, c, d, &e, f, g, h, &a, K[t + 7] + W[t + 7]);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void sha256_init(struct sha256 *sha)
{
    static const uint32_t H0[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->state, H0, sizeof(H0));
    sha->bytes = 0;
}

void sha256_add(struct sha256 *sha, const void *data, size_t size)
{
    const unsigned char *p = data;
    while (size > 0) {
        size_t used = sha->bytes % 64, part = 64 - used;
        if (part > size)
            part = size;
        if (part < 64)
            memcpy(sha->block + used, p, part);
        sha->bytes += part;
        if (sha->bytes % 64 == 0)
            compress(sha->state, part < 64 ? sha->block : p);
        p += part, size -= part;
    }
}

void sha256_hex(struct sha256 *sha, char hex[65])
{
    static const unsigned char padding[64] = {0x80};
    uint64_t bits = sha->bytes * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(sha, padding, 64 - (sha->bytes + 8) % 64);
    sha256_add(sha, length, sizeof(length));
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)sha->state[i]);
}
