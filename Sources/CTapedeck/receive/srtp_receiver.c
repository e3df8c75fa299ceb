// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckSRTP.h"

#include <glib.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

#include "rtp_header.h"

enum {
    CIPHER_KEY_SIZE = 16,
    SALT_SIZE = CTAPEDECK_SRTP_KEY_SIZE - CIPHER_KEY_SIZE,
    BLOCK_SIZE = 16,
    AUTHENTICATION_KEY_SIZE = 20,
    FULL_TAG_SIZE = 20,
    SEEN_WORDS = CTAPEDECK_SRTP_WINDOW / 64,
    // Labels of the keys that are made of the master key (RFC 3711 section 4.3.1).
    LABEL_CIPHER = 0,
    LABEL_AUTHENTICATION = 1,
    LABEL_SALT = 2,
};

// One SSRC.
typedef struct {
    // Packet index of the newest packet: roll-over counter and sequence number (RFC 3711 section 3.3.1).
    uint64_t newest;
    // A bit for each packet that came: its index modulo the window is its place.
    uint64_t seen[SEEN_WORDS];
} Source;

struct CTapedeckSRTPReceiver {
    EVP_CIPHER_CTX *cipher;
    EVP_MAC_CTX *authentication;
    uint8_t salt[SALT_SIZE];
    size_t tag_size;
    uint32_t maximum_sources;
    uint64_t forged;
    GHashTable *sources;
};

// The key stream from a counter on, XORed with the bytes.
static bool apply_key_stream(EVP_CIPHER_CTX *cipher, const uint8_t counter[BLOCK_SIZE], uint8_t *bytes, size_t size) {
    int written = 0;
    return EVP_EncryptInit_ex2(cipher, NULL, NULL, counter, NULL) == 1 &&
           EVP_EncryptUpdate(cipher, bytes, &written, bytes, (int)size) == 1 && (size_t)written == size;
}

static bool set_cipher_key(EVP_CIPHER_CTX *cipher, const uint8_t *key) {
    return EVP_EncryptInit_ex2(cipher, EVP_aes_128_ctr(), key, NULL, NULL) == 1;
}

// RFC 3711 section 4.3, with a key derivation rate of 0: the master key does not change during a call.
static bool derive(EVP_CIPHER_CTX *master, const uint8_t *master_salt, uint8_t label, uint8_t *key, size_t size) {
    uint8_t counter[BLOCK_SIZE] = {0};
    memcpy(counter, master_salt, SALT_SIZE);
    counter[7] ^= label;
    memset(key, 0, size);
    return apply_key_stream(master, counter, key, size);
}

static bool set_authentication_key(CTapedeckSRTPReceiver *receiver, uint8_t *key) {
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (hmac == NULL) return false;
    receiver->authentication = EVP_MAC_CTX_new(hmac);
    EVP_MAC_free(hmac);
    char digest[] = "SHA1";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                     OSSL_PARAM_construct_end()};
    return receiver->authentication != NULL &&
           EVP_MAC_init(receiver->authentication, key, AUTHENTICATION_KEY_SIZE, parameters) == 1;
}

static bool set_keys(CTapedeckSRTPReceiver *receiver, const uint8_t *key) {
    uint8_t made[AUTHENTICATION_KEY_SIZE];
    const uint8_t *salt = key + CIPHER_KEY_SIZE;
    EVP_CIPHER_CTX *master = EVP_CIPHER_CTX_new();
    bool works = master != NULL && receiver->cipher != NULL && set_cipher_key(master, key) &&
                 derive(master, salt, LABEL_SALT, receiver->salt, SALT_SIZE) &&
                 derive(master, salt, LABEL_CIPHER, made, CIPHER_KEY_SIZE) && set_cipher_key(receiver->cipher, made) &&
                 derive(master, salt, LABEL_AUTHENTICATION, made, AUTHENTICATION_KEY_SIZE) &&
                 set_authentication_key(receiver, made);
    OPENSSL_cleanse(made, sizeof made);
    EVP_CIPHER_CTX_free(master);
    return works;
}

CTapedeckSRTPReceiver *CTapedeck_srtp_receiver_new(const uint8_t *key, size_t tag_size, uint32_t maximum_sources) {
    CTapedeckSRTPReceiver *receiver = g_new0(CTapedeckSRTPReceiver, 1);
    receiver->cipher = EVP_CIPHER_CTX_new();
    receiver->tag_size = tag_size;
    receiver->maximum_sources = maximum_sources;
    receiver->sources = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    if (set_keys(receiver, key)) return receiver;
    CTapedeck_srtp_receiver_free(receiver);
    return NULL;
}

void CTapedeck_srtp_receiver_free(CTapedeckSRTPReceiver *receiver) {
    EVP_CIPHER_CTX_free(receiver->cipher);
    EVP_MAC_CTX_free(receiver->authentication);
    g_hash_table_unref(receiver->sources);
    OPENSSL_cleanse(receiver, sizeof *receiver);
    g_free(receiver);
}

static Source *source_of(const CTapedeckSRTPReceiver *receiver, uint32_t ssrc) {
    return g_hash_table_lookup(receiver->sources, GUINT_TO_POINTER(ssrc));
}

static uint32_t read_32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// The index nearest to that of the newest packet (RFC 3711 section 3.3.1 and appendix A).
static uint64_t index_of(const Source *source, uint16_t sequence) {
    if (source == NULL) return sequence;
    uint64_t roll_over = source->newest >> 16;
    uint16_t newest = (uint16_t)source->newest;
    if (newest < 0x8000) {
        if (sequence > newest && sequence - newest > 0x8000 && roll_over > 0) roll_over -= 1;
    } else if (newest - 0x8000 > sequence) {
        roll_over += 1;
    }
    return roll_over << 16 | sequence;
}

static bool is_older_than_window(const Source *source, uint64_t index) {
    return source != NULL && index < source->newest && source->newest - index >= CTAPEDECK_SRTP_WINDOW;
}

static uint64_t bit_of(uint64_t index) { return (uint64_t)1 << index % 64; }

static bool has_come(const Source *source, uint64_t index) {
    if (source == NULL || index > source->newest || is_older_than_window(source, index)) return false;
    return (source->seen[index / 64 % SEEN_WORDS] & bit_of(index)) != 0;
}

static void note(Source *source, uint64_t index) {
    if (index > source->newest) {
        // These places were those of packets that are older than the window from now on.
        uint64_t step = MIN(index - source->newest, CTAPEDECK_SRTP_WINDOW);
        for (uint64_t at = index - step + 1; at <= index; at++) source->seen[at / 64 % SEEN_WORDS] &= ~bit_of(at);
        source->newest = index;
    }
    source->seen[index / 64 % SEEN_WORDS] |= bit_of(index);
}

// HMAC-SHA1 of the packet and its roll-over counter (RFC 3711 section 4.2).
static bool is_authentic(CTapedeckSRTPReceiver *receiver, const uint8_t *packet, size_t size, uint32_t roll_over) {
    uint8_t made[FULL_TAG_SIZE];
    size_t made_size = 0;
    uint8_t counter[4] = {(uint8_t)(roll_over >> 24), (uint8_t)(roll_over >> 16), (uint8_t)(roll_over >> 8),
                          (uint8_t)roll_over};
    EVP_MAC_CTX *context = receiver->authentication;
    // Without a key: the one that it has.
    return EVP_MAC_init(context, NULL, 0, NULL) == 1 && EVP_MAC_update(context, packet, size) == 1 &&
           EVP_MAC_update(context, counter, sizeof counter) == 1 &&
           EVP_MAC_final(context, made, &made_size, sizeof made) == 1 && made_size == FULL_TAG_SIZE &&
           CRYPTO_memcmp(made, packet + size, receiver->tag_size) == 0;
}

// Salt, SSRC and index, each at its place (RFC 3711 section 4.1.1).
static void make_counter(const uint8_t *salt, uint32_t ssrc, uint64_t index, uint8_t counter[BLOCK_SIZE]) {
    memcpy(counter, salt, SALT_SIZE);
    counter[14] = 0;
    counter[15] = 0;
    for (int byte = 0; byte < 4; byte++) counter[4 + byte] ^= (uint8_t)(ssrc >> (24 - 8 * byte));
    for (int byte = 0; byte < 6; byte++) counter[8 + byte] ^= (uint8_t)(index >> (40 - 8 * byte));
}

size_t CTapedeck_srtp_receiver_open(CTapedeckSRTPReceiver *receiver, uint8_t *packet, size_t size) {
    if (size <= receiver->tag_size || size > INT32_MAX) return 0;
    size -= receiver->tag_size;
    size_t header = rtp_header_size(packet, size);
    if (header == 0) return 0;
    uint32_t ssrc = read_32(packet + 8);
    Source *source = source_of(receiver, ssrc);
    if (source == NULL && g_hash_table_size(receiver->sources) >= receiver->maximum_sources) return 0;
    uint64_t index = index_of(source, (uint16_t)(packet[2] << 8 | packet[3]));
    uint8_t counter[BLOCK_SIZE];
    if (has_come(source, index)) return 0;
    bool is_old = is_older_than_window(source, index);
    if (is_old || !is_authentic(receiver, packet, size, (uint32_t)(index >> 16))) {
        // More than 32,768 packets may have been lost in a row, or all up to the first wrap: then the sender counted one roll-over
        // more than the guess.
        uint64_t next = index + (1 << 16);
        bool may_have_wrapped = source != NULL || index < 0x8000;
        if (!may_have_wrapped || !is_authentic(receiver, packet, size, (uint32_t)(next >> 16))) {
            receiver->forged += is_old ? 0 : 1;
            return 0;
        }
        index = next;
    }
    make_counter(receiver->salt, ssrc, index, counter);
    if (size > header && !apply_key_stream(receiver->cipher, counter, packet + header, size - header)) return 0;
    if (source == NULL) {
        source = g_new0(Source, 1);
        source->newest = index;
        g_hash_table_insert(receiver->sources, GUINT_TO_POINTER(ssrc), source);
    }
    note(source, index);
    return size;
}

uint64_t CTapedeck_srtp_receiver_forged(const CTapedeckSRTPReceiver *receiver) { return receiver->forged; }
