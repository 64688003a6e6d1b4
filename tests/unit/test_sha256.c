/*
 * SHA-256 against the example digests that NIST publishes with FIPS 180-4 ("SHA256.pdf", "SHA2
 * Additional.pdf") and FIPS 180-2 appendix B.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "../../lib/sha256.h"

static const struct {
    const char *text;
    size_t times;
    const char *hex;
} vectors[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
     "lmnopqrsmnopqrstnopqrstu",
     1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    /* spec.md 1, first vector: what a map of two nodes hashes */
    {"berth-map-1\norder tp-dp\naxis tp 2\naxis dp 2\na:0\na:1\nb:0\nb:1\n", 1,
     "f7c946e095fde161ac50c4efaea6e8b8cebdd7592e44ae7251112e2feb3ffe87"},
};

static void digests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct sha256 sha;
        char hex[65];
        sha256_init(&sha);
        for (size_t k = 0; k < vectors[i].times; k++)
            sha256_add(&sha, vectors[i].text, strlen(vectors[i].text));
        sha256_hex(&sha, hex);
        assert_string_equal(hex, vectors[i].hex);
    }
}

/* Where the input is cut must not matter: every cut of every length around the block size. */
static void cuts(void **state)
{
    (void)state;
    unsigned char data[200];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 7);
    for (size_t size = 0; size <= sizeof(data); size++) {
        char whole[65], parts[65];
        struct sha256 sha;
        sha256_init(&sha);
        sha256_add(&sha, data, size);
        sha256_hex(&sha, whole);
        for (size_t cut = 0; cut <= size; cut += 13) {
            sha256_init(&sha);
            sha256_add(&sha, data, cut);
            sha256_add(&sha, data + cut, size - cut);
            sha256_hex(&sha, parts);
            assert_string_equal(parts, whole);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(digests), cmocka_unit_test(cuts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
