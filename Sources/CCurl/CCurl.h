// SPDX-License-Identifier: Apache-2.0
// Umbrella header: libcurl for the HTTPRequests target. Swift does not call functions with a variable number of arguments.
#ifndef CCURL_H
#define CCURL_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <sys/socket.h>

/// Callback for headers and for the body: returns how many of `size * count` bytes were taken; fewer end the transfer.
typedef size_t (*CCurlDataCallback)(char *bytes, size_t size, size_t count, void *user);

static inline CURLcode CCurl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode CCurl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode CCurl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode CCurl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode CCurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode CCurl_set_callback(CURL *handle, CURLoption option, CCurlDataCallback value) {
    return curl_easy_setopt(handle, option, value);
}

static inline curl_socket_t CCurl_open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)user;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// Child processes do not inherit the transfer's socket.
static inline CURLcode CCurl_close_on_exec(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, CCurl_open_socket);
}

static inline CURLMcode CCurl_limit_idle(CURLM *multi, long connections) {
    return curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections);
}

/// A number that is known when a transfer has ended; 0 if it is not.
static inline long CCurl_number(CURL *handle, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

/// The result of a transfer that has ended, from a message of `curl_multi_info_read`.
static inline CURLcode CCurl_result(const CURLMsg *message) { return message->data.result; }

#endif
