// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckCertificate.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <string.h>

enum { DAY_SECONDS = 24 * 60 * 60, VALID_DAYS = 365 };

static bool fill_certificate(X509 *certificate, EVP_PKEY *key) {
    uint64_t serial = 0;
    if (RAND_bytes((unsigned char *)&serial, sizeof serial) != 1) return false;
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_set_version(certificate, 2) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -DAY_SECONDS) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), (long)VALID_DAYS * DAY_SECONDS) != NULL &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"WebRTC", -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
           X509_sign(certificate, key, EVP_sha256()) != 0;
}

char *CTapedeck_certificate_new(void) {
    char *pem = NULL;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    BIO *text = BIO_new(BIO_s_secmem());
    if (key != NULL && certificate != NULL && text != NULL && fill_certificate(certificate, key) &&
        PEM_write_bio_X509(text, certificate) == 1 &&
        PEM_write_bio_PrivateKey(text, key, NULL, NULL, 0, NULL, NULL) == 1) {
        char *bytes = NULL;
        long count = BIO_get_mem_data(text, &bytes);
        pem = count > 0 ? OPENSSL_strndup(bytes, (size_t)count) : NULL;
    }
    BIO_free(text);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return pem;
}

void CTapedeck_certificate_free(char *pem) {
    if (pem != NULL) OPENSSL_clear_free(pem, strlen(pem));
}

size_t CTapedeck_certificate_digest(const char *pem, const char *hash, uint8_t *digest) {
    const EVP_MD *method = EVP_get_digestbyname(hash);
    BIO *text = BIO_new_mem_buf(pem, -1);
    X509 *certificate = text != NULL ? PEM_read_bio_X509(text, NULL, NULL, NULL) : NULL;
    unsigned int count = 0;
    bool done = method != NULL && certificate != NULL && X509_digest(certificate, method, digest, &count) == 1;
    X509_free(certificate);
    BIO_free(text);
    return done ? count : 0;
}
