// SPDX-License-Identifier: Apache-2.0

#include "server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "factory.h"
#include "hold.h"
#include "paths.h"

enum {
    // A client has no body to send.
    MAXIMUM_BODY = 16 * 1024,
    CLIENT_THREADS = 2,
    HOUSEKEEPING_SECONDS = 2,
    // Bytes that a client over TCP may leave unread, and for how long it may take nothing of them.
    SEND_BUFFER = 512 * 1024,
    LONGEST_STALL_MILLISECONDS = 10000,
};

static const char REALM[] = "tapedeck";
static const char SESSION[] = "tapedeck-session";

// MARK: Clients

// The newest one. The pool keeps it for a minute after the client, and counts it among the most that there may be.
static void on_session(GstRTSPClient *client, GstRTSPSession *session, gpointer user) {
    (void)user;
    g_object_set_data_full(G_OBJECT(client), SESSION, g_object_ref(session), g_object_unref);
}

static void on_closed(GstRTSPClient *client, gint *clients) {
    GstRTSPSession *session = g_object_get_data(G_OBJECT(client), SESSION);
    GstRTSPSessionPool *sessions = gst_rtsp_client_get_session_pool(client);
    if (session != NULL && sessions != NULL) gst_rtsp_session_pool_remove(sessions, session);
    g_clear_object(&sessions);
    g_atomic_int_add(clients, -1);
}

static void release_clients(gpointer clients, GClosure *closure) {
    (void)closure;
    g_atomic_rc_box_release(clients);
}

static void on_play(GstRTSPClient *client, GstRTSPContext *context, gpointer user) {
    (void)client;
    (void)user;
    if (context->media != NULL) rtsp_media_request_keyframe(context->media);
}

// A client that stops reading is closed by the kernel (tcp(7), TCP_USER_TIMEOUT).
static void bound_waiting(GstRTSPClient *client) {
    GstRTSPConnection *connection = gst_rtsp_client_get_connection(client);
    GSocket *socket = connection == NULL ? NULL : gst_rtsp_connection_get_write_socket(connection);
    if (socket == NULL) return;
    g_socket_set_option(socket, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER, NULL);
    g_socket_set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, LONGEST_STALL_MILLISECONDS, NULL);
}

void rtsp_client_shut_out(GstRTSPClient *client) {
    GstRTSPConnection *connection = gst_rtsp_client_get_connection(client);
    if (connection == NULL) return;
    // Two of them in a tunnel of HTTP.
    GSocket *sockets[] = {gst_rtsp_connection_get_read_socket(connection),
                          gst_rtsp_connection_get_write_socket(connection)};
    for (unsigned index = 0; index < G_N_ELEMENTS(sockets); index++) {
        if (sockets[index] != NULL) g_socket_shutdown(sockets[index], TRUE, TRUE, NULL);
    }
}

static GstRTSPStatusCode refuse(GstRTSPClient *client, GstRTSPContext *context, gpointer user) {
    (void)client, (void)context, (void)user;
    return GST_RTSP_STS_SERVICE_UNAVAILABLE;
}

static void on_connected(GstRTSPServer *self, GstRTSPClient *client, CTapedeckRTSPServer *server) {
    (void)self;
    bool is_too_many = (unsigned)g_atomic_int_add(server->clients, 1) >= server->maximum_clients;
    g_signal_connect_data(client, "closed", G_CALLBACK(on_closed), g_atomic_rc_box_acquire(server->clients),
                          release_clients, 0);
    g_signal_connect(client, "new-session", G_CALLBACK(on_session), NULL);
    g_signal_connect(client, "play-request", G_CALLBACK(on_play), NULL);
    bound_waiting(client);
    if (!is_too_many) {
        rtsp_client_hold_media(client);
        return;
    }
    // A request that came before the end is still read.
    g_signal_connect(client, "pre-describe-request", G_CALLBACK(refuse), NULL);
    g_signal_connect(client, "pre-setup-request", G_CALLBACK(refuse), NULL);
    rtsp_client_shut_out(client);
}

// MARK: Users

static GstRTSPToken *token_for(const char *role) {
    return gst_rtsp_token_new(GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE, G_TYPE_STRING, role, NULL);
}

static bool set_up_access(CTapedeckRTSPServer *server, const CTapedeckRTSPSettings *settings, GError **error) {
    server->has_users = settings->users != NULL;
    server->has_tls = settings->certificate != NULL;
    if (!server->has_users && !server->has_tls) return true;
    GstRTSPAuth *auth = gst_rtsp_auth_new();
    gst_rtsp_auth_set_realm(auth, REALM);
    gst_rtsp_auth_set_supported_methods(auth, GST_RTSP_AUTH_DIGEST);
    for (unsigned index = 0; server->has_users && index < settings->user_count; index++) {
        const char *name = settings->users[2 * index];
        GstRTSPToken *token = token_for(name);
        gst_rtsp_auth_add_digest(auth, name, settings->users[2 * index + 1], token);
        gst_rtsp_token_unref(token);
    }
    if (!server->has_users) {
        GstRTSPToken *token = token_for(RTSP_EVERYONE);
        gst_rtsp_auth_set_default_token(auth, token);
        gst_rtsp_token_unref(token);
    }
    bool is_ready = true;
    if (server->has_tls) {
        GTlsCertificate *certificate =
            g_tls_certificate_new_from_files(settings->certificate, settings->key, error);
        is_ready = certificate != NULL;
        if (is_ready) {
            gst_rtsp_auth_set_tls_certificate(auth, certificate);
            g_object_unref(certificate);
        }
    }
    gst_rtsp_server_set_auth(server->server, auth);
    g_object_unref(auth);
    if (server->has_users) {
        gst_rtsp_mount_points_add_factory(server->mounts, RTSP_NOWHERE, rtsp_factory_new(NULL, 0));
    }
    return is_ready;
}

typedef struct {
    GstRTSPServer *server;
    GTlsCertificate *certificate;
} Exchange;

static void release_exchange(gpointer user) {
    Exchange *exchange = user;
    g_object_unref(exchange->server);
    g_object_unref(exchange->certificate);
    g_free(exchange);
}

static gboolean exchange_certificate(gpointer user) {
    Exchange *exchange = user;
    GstRTSPAuth *auth = gst_rtsp_server_get_auth(exchange->server);
    if (auth != NULL) {
        gst_rtsp_auth_set_tls_certificate(auth, exchange->certificate);
        g_object_unref(auth);
    }
    return G_SOURCE_REMOVE;
}

bool CTapedeck_rtsp_server_use_certificate(CTapedeckRTSPServer *server, const char *certificate, const char *key,
                                           char **error) {
    GError *failure = NULL;
    GTlsCertificate *loaded = g_tls_certificate_new_from_files(certificate, key, &failure);
    if (loaded == NULL) {
        *error = g_strdup(failure != NULL ? failure->message : "the certificate cannot be read");
        g_clear_error(&failure);
        return false;
    }
    Exchange *exchange = g_new0(Exchange, 1);
    exchange->server = g_object_ref(server->server);
    exchange->certificate = loaded;
    // GstRTSPAuth reads it without its lock for each new connection, in the server's thread.
    g_main_context_invoke_full(server->context, G_PRIORITY_DEFAULT, exchange_certificate, exchange, release_exchange);
    return true;
}

// MARK: Life

static gboolean keep_house(gpointer user) {
    CTapedeckRTSPServer *server = user;
    GstRTSPSessionPool *sessions = gst_rtsp_server_get_session_pool(server->server);
    gst_rtsp_session_pool_cleanup(sessions);
    g_object_unref(sessions);
    return G_SOURCE_CONTINUE;
}

static gpointer run(gpointer user) {
    CTapedeckRTSPServer *server = user;
    g_main_context_push_thread_default(server->context);
    g_main_loop_run(server->loop);
    g_main_context_pop_thread_default(server->context);
    return NULL;
}

static bool listen_for_clients(CTapedeckRTSPServer *server, const CTapedeckRTSPSettings *settings, GError **error) {
    char service[8];
    g_snprintf(service, sizeof(service), "%u", settings->port);
    gst_rtsp_server_set_address(server->server, settings->host);
    gst_rtsp_server_set_service(server->server, service);
    GSource *source = gst_rtsp_server_create_source(server->server, NULL, error);
    if (source == NULL) return false;
    g_source_attach(source, server->context);
    g_source_unref(source);
    int port = gst_rtsp_server_get_bound_port(server->server);
    server->port = (uint16_t)CLAMP(port, 0, 65535);
    return true;
}

static void release(CTapedeckRTSPServer *server) {
    if (server->housekeeping != NULL) {
        g_source_destroy(server->housekeeping);
        g_source_unref(server->housekeeping);
    }
    g_clear_object(&server->mounts);
    g_clear_object(&server->server);
    g_main_loop_unref(server->loop);
    g_main_context_unref(server->context);
    g_atomic_rc_box_release(server->clients);
    g_free(server);
}

CTapedeckRTSPServer *CTapedeck_rtsp_server_new(const CTapedeckRTSPSettings *settings, char **error) {
    CTapedeckRTSPServer *server = g_new0(CTapedeckRTSPServer, 1);
    server->clients = g_atomic_rc_box_new0(gint);
    server->context = g_main_context_new();
    server->loop = g_main_loop_new(server->context, FALSE);
    server->server = rtsp_plain_server_new();
    server->mounts = rtsp_mount_points_new();
    server->maximum_clients = settings->maximum_clients;
    gst_rtsp_server_set_mount_points(server->server, server->mounts);
    gst_rtsp_server_set_content_length_limit(server->server, MAXIMUM_BODY);
    GstRTSPThreadPool *threads = gst_rtsp_server_get_thread_pool(server->server);
    gst_rtsp_thread_pool_set_max_threads(threads, CLIENT_THREADS);
    g_object_unref(threads);
    GstRTSPSessionPool *sessions = gst_rtsp_server_get_session_pool(server->server);
    gst_rtsp_session_pool_set_max_sessions(sessions, settings->maximum_clients);
    g_object_unref(sessions);
    g_signal_connect(server->server, "client-connected", G_CALLBACK(on_connected), server);
    GError *failure = NULL;
    if (!set_up_access(server, settings, &failure) || !listen_for_clients(server, settings, &failure)) {
        *error = g_strdup(failure != NULL ? failure->message : "the address cannot be used");
        g_clear_error(&failure);
        release(server);
        return NULL;
    }
    server->housekeeping = g_timeout_source_new_seconds(HOUSEKEEPING_SECONDS);
    g_source_set_callback(server->housekeeping, keep_house, server, NULL);
    g_source_attach(server->housekeeping, server->context);
    server->thread = g_thread_new("rtsp", run, server);
    return server;
}

void CTapedeck_rtsp_free_words(char *error) { g_free(error); }

uint16_t CTapedeck_rtsp_server_port(CTapedeckRTSPServer *server) { return server->port; }

unsigned CTapedeck_rtsp_server_clients(CTapedeckRTSPServer *server) {
    return (unsigned)MAX(g_atomic_int_get(server->clients), 0);
}

// MARK: Whether it answers

typedef struct {
    gatomicrefcount references;
    GMutex lock;
    GCond said;
    bool has_said;
} Question;

static void release_question(gpointer user) {
    Question *question = user;
    if (!g_atomic_ref_count_dec(&question->references)) return;
    g_mutex_clear(&question->lock);
    g_cond_clear(&question->said);
    g_free(question);
}

static gboolean answer(gpointer user) {
    Question *question = user;
    g_mutex_lock(&question->lock);
    question->has_said = true;
    g_cond_signal(&question->said);
    g_mutex_unlock(&question->lock);
    return G_SOURCE_REMOVE;
}

bool CTapedeck_rtsp_server_answers(CTapedeckRTSPServer *server) {
    Question *question = g_new0(Question, 1);
    g_atomic_ref_count_init(&question->references);
    g_atomic_ref_count_inc(&question->references);
    g_mutex_init(&question->lock);
    g_cond_init(&question->said);
    g_main_context_invoke_full(server->context, G_PRIORITY_DEFAULT, answer, question, release_question);
    int64_t deadline = g_get_monotonic_time() + G_TIME_SPAN_SECOND;
    g_mutex_lock(&question->lock);
    while (!question->has_said && g_cond_wait_until(&question->said, &question->lock, deadline)) {
    }
    bool has_said = question->has_said;
    g_mutex_unlock(&question->lock);
    release_question(question);
    return has_said;
}

static GstRTSPFilterResult remove_client(GstRTSPServer *self, GstRTSPClient *client, gpointer user) {
    (void)self;
    (void)client;
    (void)user;
    return GST_RTSP_FILTER_REMOVE;
}

static gboolean end_everybody(gpointer user) {
    CTapedeckRTSPServer *server = user;
    gst_rtsp_server_client_filter(server->server, remove_client, NULL);
    g_main_loop_quit(server->loop);
    return G_SOURCE_REMOVE;
}

void CTapedeck_rtsp_server_free(CTapedeckRTSPServer *server) {
    g_main_context_invoke(server->context, end_everybody, server);
    g_thread_join(server->thread);
    release(server);
}
