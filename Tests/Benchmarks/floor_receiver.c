// SPDX-License-Identifier: Apache-2.0
//
// The least that recording costs: what no recorder can leave out, in one thread of C. It reads UDP in rounds of 40 ms,
// authenticates and decrypts SRTP (AES-CTR, HMAC-SHA1), and writes what came of each track in a round with one call. It
// asks for nothing again, puts nothing in order, makes no frames, and nothing can play its files.
//
//   floor_receiver FOLDER CERTIFICATE ADDRESS
//
// CERTIFICATE is a PEM file of a certificate and its key, ADDRESS an IPv4 address of this host. Standard input: an offer's
// SDP and a line with a dot, for each call. Standard output: its answer, with the only candidate, and a line with a dot.
// When standard input ends, it says how many RTP packets were authentic.

// The low-level SHA-1 keeps a keyed state that is copied for each packet: no other interface is as cheap.
#define OPENSSL_SUPPRESS_DEPRECATED
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    MAXIMUM = 256,
    TRACKS = 2,
    ROUND_NANOSECONDS = 40000000,
    // Of one call in a round: more are read in the next.
    PACKETS = 256,
    LARGEST = 2048,
    TAG = 10,
    HEADER = 12,
};

struct track {
    uint32_t ssrc;
    int file;
    // Of the newest packet (RFC 3711, 3.3.1).
    uint32_t rollovers;
    uint16_t number;
    struct iovec parts[PACKETS];
    int count;
};

struct call {
    int socket;
    SSL *ssl;
    char password[25];
    bool is_secure;
    EVP_CIPHER_CTX *cipher;
    uint8_t salt[16];
    // SHA-1 of the inner and the outer key of HMAC.
    SHA_CTX inner, outer;
    struct track tracks[TRACKS];
    int track_count;
};

static struct call calls[MAXIMUM];
static atomic_int call_count;
static atomic_ulong packets;
static atomic_bool is_over;
static SSL_CTX *context;
static const char *folder, *address;
static char fingerprint[3 * EVP_MAX_MD_SIZE];
static uint8_t buffers[PACKETS][LARGEST];

static void end(const char *why) {
    fprintf(stderr, "floor_receiver: %s\n", why);
    _Exit(1);
}

// MARK: ICE (RFC 8445, as a lite agent does) and DTLS

static uint32_t crc32(const uint8_t *bytes, size_t count) {
    uint32_t sum = 0xFFFFFFFF;
    for (size_t index = 0; index < count; index++) {
        sum ^= bytes[index];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (0xEDB88320 & -(sum & 1));
    }
    return ~sum;
}

static void put16(uint8_t *to, uint16_t value) {
    to[0] = value >> 8;
    to[1] = value & 255;
}

static void put32(uint8_t *to, uint32_t value) {
    put16(to, value >> 16);
    put16(to + 2, value & 0xFFFF);
}

/// Answers a binding request (RFC 8489).
static void answer_check(struct call *call, const uint8_t *request, size_t size, const struct sockaddr_in *from) {
    if (size < 20 || request[0] != 0 || request[1] != 1) return;
    uint8_t answer[20 + 12 + 24 + 8] = {1, 1};
    memcpy(answer + 4, request + 4, 16);
    // XOR-MAPPED-ADDRESS
    put16(answer + 20, 0x0020);
    put16(answer + 22, 8);
    answer[25] = 1;
    put16(answer + 26, ntohs(from->sin_port) ^ 0x2112);
    put32(answer + 28, ntohl(from->sin_addr.s_addr) ^ 0x2112A442);
    // MESSAGE-INTEGRITY: the length is that up to its end.
    put16(answer + 2, 12 + 24);
    put16(answer + 32, 0x0008);
    put16(answer + 34, 20);
    HMAC(EVP_sha1(), call->password, strlen(call->password), answer, 32, answer + 36, NULL);
    // FINGERPRINT
    put16(answer + 2, 12 + 24 + 8);
    put16(answer + 56, 0x8028);
    put16(answer + 58, 4);
    put32(answer + 60, crc32(answer, 56) ^ 0x5354554E);
    sendto(call->socket, answer, sizeof answer, 0, (const struct sockaddr *)from, sizeof *from);
}

/// A key of the session (RFC 3711, 4.3.1): the master key's stream from the label on.
static void derive(const uint8_t *key, const uint8_t *salt, uint8_t label, uint8_t *to, int count) {
    uint8_t vector[16] = {0}, zeros[32] = {0};
    memcpy(vector, salt, 14);
    vector[7] ^= label;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    int done;
    if (EVP_EncryptInit_ex(cipher, EVP_aes_128_ctr(), NULL, key, vector) != 1
        || EVP_EncryptUpdate(cipher, to, &done, zeros, count) != 1) {
        end("no AES");
    }
    EVP_CIPHER_CTX_free(cipher);
}

static void take_keys(struct call *call) {
    uint8_t keys[60], key[16], authentication[SHA_CBLOCK] = {0}, pad[SHA_CBLOCK];
    static const char label[] = "EXTRACTOR-dtls_srtp";
    if (SSL_export_keying_material(call->ssl, keys, sizeof keys, label, sizeof label - 1, NULL, 0, 0) != 1) {
        end("no keys");
    }
    // Those of the client, which the caller is: client key, server key, client salt, server salt.
    derive(keys, keys + 32, 0, key, 16);
    derive(keys, keys + 32, 1, authentication, 20);
    derive(keys, keys + 32, 2, call->salt, 14);
    call->cipher = EVP_CIPHER_CTX_new();
    if (EVP_DecryptInit_ex(call->cipher, EVP_aes_128_ctr(), NULL, key, NULL) != 1) end("no AES");
    for (int index = 0; index < SHA_CBLOCK; index++) pad[index] = authentication[index] ^ 0x36;
    SHA1_Init(&call->inner);
    SHA1_Update(&call->inner, pad, sizeof pad);
    for (int index = 0; index < SHA_CBLOCK; index++) pad[index] = authentication[index] ^ 0x5C;
    SHA1_Init(&call->outer);
    SHA1_Update(&call->outer, pad, sizeof pad);
    call->is_secure = true;
}

static void take_handshake(struct call *call, const uint8_t *bytes, size_t size, const struct sockaddr_in *from) {
    BIO_write(SSL_get_rbio(call->ssl), bytes, (int)size);
    uint8_t nothing[LARGEST];
    bool is_new = !SSL_is_init_finished(call->ssl);
    if (is_new) {
        SSL_do_handshake(call->ssl);
    } else {
        SSL_read(call->ssl, nothing, sizeof nothing);
    }
    ERR_clear_error();
    if (is_new && SSL_is_init_finished(call->ssl)) take_keys(call);
    char *out;
    long count = BIO_get_mem_data(SSL_get_wbio(call->ssl), &out);
    if (count > 0) sendto(call->socket, out, (size_t)count, 0, (const struct sockaddr *)from, sizeof *from);
    (void)BIO_reset(SSL_get_wbio(call->ssl));
}

// MARK: Media

static struct track *track_of(struct call *call, uint32_t ssrc, uint16_t number) {
    for (int index = 0; index < call->track_count; index++) {
        if (call->tracks[index].ssrc == ssrc) return &call->tracks[index];
    }
    if (call->track_count == TRACKS) return NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/%d-%d.rtp", folder, (int)(call - calls), call->track_count);
    struct track *track = &call->tracks[call->track_count];
    *track = (struct track){.ssrc = ssrc, .number = number};
    track->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (track->file < 0) end("a file cannot be made");
    call->track_count++;
    return track;
}

/// Authenticates and decrypts a packet in place, and keeps its payload for the round's write.
static void take_packet(struct call *call, uint8_t *packet, size_t size) {
    if (!call->is_secure || size < HEADER + TAG) return;
    // RTCP shares the port (RFC 5761, 4).
    if (packet[1] >= 192 && packet[1] <= 223) return;
    uint16_t number = (uint16_t)(packet[2] << 8 | packet[3]);
    uint32_t ssrc;
    memcpy(&ssrc, packet + 8, 4);
    struct track *track = track_of(call, ssrc, number);
    if (track == NULL) return;
    uint32_t rollovers = track->rollovers;
    if (number < track->number && track->number - number > 0x8000) rollovers++;
    if (number > track->number && number - track->number > 0x8000 && rollovers > 0) rollovers--;

    size -= TAG;
    uint8_t count[4], digest[SHA_DIGEST_LENGTH];
    put32(count, rollovers);
    SHA_CTX hash = call->inner;
    SHA1_Update(&hash, packet, size);
    SHA1_Update(&hash, count, 4);
    SHA1_Final(digest, &hash);
    hash = call->outer;
    SHA1_Update(&hash, digest, sizeof digest);
    SHA1_Final(digest, &hash);
    if (CRYPTO_memcmp(digest, packet + size, TAG) != 0) return;
    if (rollovers > track->rollovers || (rollovers == track->rollovers && number > track->number)) {
        track->rollovers = rollovers;
        track->number = number;
    }

    size_t head = HEADER + 4 * (packet[0] & 15u);
    if (packet[0] & 16 && head + 4 <= size) head += 4 + 4u * (packet[head + 2] << 8 | packet[head + 3]);
    if (head > size) return;
    uint8_t vector[16];
    memcpy(vector, call->salt, 16);
    for (int index = 0; index < 4; index++) vector[4 + index] ^= packet[8 + index];
    for (int index = 0; index < 4; index++) vector[8 + index] ^= count[index];
    vector[12] ^= packet[2];
    vector[13] ^= packet[3];
    int done;
    EVP_DecryptInit_ex(call->cipher, NULL, NULL, NULL, vector);
    EVP_DecryptUpdate(call->cipher, packet + head, &done, packet + head, (int)(size - head));
    // With its header, without which the payload says nothing.
    track->parts[track->count++] = (struct iovec){packet, size};
    atomic_fetch_add_explicit(&packets, 1, memory_order_relaxed);
}

static void turn(struct call *call) {
    static struct mmsghdr messages[PACKETS];
    static struct iovec parts[PACKETS];
    static struct sockaddr_in from[PACKETS];
    for (int index = 0; index < PACKETS; index++) {
        parts[index] = (struct iovec){buffers[index], LARGEST};
        messages[index].msg_hdr = (struct msghdr){
            .msg_name = &from[index],
            .msg_namelen = sizeof from[index],
            .msg_iov = &parts[index],
            .msg_iovlen = 1,
        };
    }
    int count = recvmmsg(call->socket, messages, PACKETS, MSG_DONTWAIT, NULL);
    for (int index = 0; index < count; index++) {
        uint8_t *bytes = buffers[index];
        size_t size = messages[index].msg_len;
        // By the first byte (RFC 7983).
        if (size > 0 && bytes[0] < 4) answer_check(call, bytes, size, &from[index]);
        if (size > 0 && bytes[0] >= 20 && bytes[0] < 64) take_handshake(call, bytes, size, &from[index]);
        if (size > 0 && bytes[0] >= 128 && bytes[0] < 192) take_packet(call, bytes, size);
    }
    for (int index = 0; index < call->track_count; index++) {
        struct track *track = &call->tracks[index];
        if (track->count > 0 && writev(track->file, track->parts, track->count) <= 0) end("the disk takes nothing");
        track->count = 0;
    }
}

static void *run(void *user) {
    (void)user;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!atomic_load(&is_over)) {
        int count = atomic_load(&call_count);
        for (int index = 0; index < count; index++) turn(&calls[index]);
        next.tv_nsec += ROUND_NANOSECONDS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return NULL;
}

// MARK: Calls

static void random_word(char *to, int count) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    RAND_bytes((uint8_t *)to, count);
    for (int index = 0; index < count; index++) to[index] = letters[to[index] & 31];
    to[count] = 0;
}

/// Opens a call's socket and its DTLS; its port.
static int prepare(struct call *call) {
    struct sockaddr_in name = {.sin_family = AF_INET};
    socklen_t length = sizeof name;
    int bytes = 1 << 20;
    call->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    setsockopt(call->socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (inet_pton(AF_INET, address, &name.sin_addr) != 1) end("no IPv4 address");
    if (bind(call->socket, (struct sockaddr *)&name, sizeof name) != 0) end("no port");
    getsockname(call->socket, (struct sockaddr *)&name, &length);
    random_word(call->password, 24);
    call->ssl = SSL_new(context);
    SSL_set_bio(call->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_options(call->ssl, SSL_OP_NO_QUERY_MTU);
    SSL_set_mtu(call->ssl, 1200);
    SSL_set_accept_state(call->ssl);
    return ntohs(name.sin_port);
}

/// Prints the answer to the offer on standard input; false if there is none.
static bool answer_offer(void) {
    int number = atomic_load(&call_count), type = -1, read = 0;
    if (number == MAXIMUM) end("too many calls");
    char line[4096], fragment[9];
    random_word(fragment, 8);
    int port = 0;
    while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, ".\n") != 0) {
        line[strcspn(line, "\r\n")] = 0;
        if (read++ == 0) {
            port = prepare(&calls[number]);
            printf("v=0\no=- 1 1 IN IP4 127.0.0.1\ns=-\nt=0 0\n");
        }
        int formatted;
        if (strncmp(line, "a=group:", 8) == 0) printf("%s\n", line);
        if (strncmp(line, "m=", 2) == 0) {
            char *form = line;
            for (int words = 0; words < 3 && form != NULL; words++) form = strchr(form + 1, ' ');
            if (form == NULL) end("the offer is no SDP");
            type = atoi(form);
            form[0] = 0;
            char *space = strchr(line, ' '), *protocol = strrchr(line, ' ');
            space[0] = 0;
            printf("%s 9%s %d\nc=IN IP4 %s\na=recvonly\na=rtcp-mux\na=setup:passive\na=ice-ufrag:%s\na=ice-pwd:%s\n"
                   "a=fingerprint:sha-256 %s\na=candidate:1 1 UDP 2130706431 %s %d typ host\na=end-of-candidates\n",
                   line, protocol, type, address, fragment, calls[number].password, fingerprint, address, port);
        }
        if (strncmp(line, "a=mid:", 6) == 0) printf("%s\n", line);
        if ((sscanf(line, "a=rtpmap:%d", &formatted) == 1 || sscanf(line, "a=fmtp:%d", &formatted) == 1)
            && formatted == type) {
            printf("%s\n", line);
        }
    }
    if (read == 0) return false;
    printf(".\n");
    fflush(stdout);
    atomic_store(&call_count, number + 1);
    return true;
}

static void load_certificate(const char *path) {
    context = SSL_CTX_new(DTLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, path) != 1
        || SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM) != 1
        || SSL_CTX_set_tlsext_use_srtp(context, "SRTP_AES128_CM_SHA1_80") != 0) {
        end("the certificate cannot be used");
    }
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned count;
    X509_digest(SSL_CTX_get0_certificate(context), EVP_sha256(), digest, &count);
    for (unsigned index = 0; index < count; index++) {
        sprintf(fingerprint + 3 * index, index + 1 < count ? "%02X:" : "%02X", digest[index]);
    }
}

int main(int count, char **words) {
    if (count != 4) end("usage: floor_receiver FOLDER CERTIFICATE ADDRESS");
    folder = words[1];
    address = words[3];
    load_certificate(words[2]);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) end("no thread");
    while (answer_offer()) {
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    printf("%lu\n", atomic_load(&packets));
    return 0;
}
