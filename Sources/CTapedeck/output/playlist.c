// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckPlaylist.h"

#include <gio/gio.h>

typedef struct {
    gatomicrefcount references;
    CTapedeckPlaylistWriter write;
    void *user;
    GDestroyNotify release;
} Taker;

static void taker_unref(Taker *taker) {
    if (!g_atomic_ref_count_dec(&taker->references)) return;
    taker->release(taker->user);
    g_free(taker);
}

static void drop_taker(gpointer taker, GClosure *closure) {
    (void)closure;
    taker_unref(taker);
}

// A stream that takes one playlist: hlssink2 writes each in one piece.
typedef struct {
    GOutputStream parent;
    Taker *taker;
} Stream;

typedef GOutputStreamClass StreamClass;

static GType stream_get_type(void);
G_DEFINE_TYPE(Stream, stream, G_TYPE_OUTPUT_STREAM)

static gssize stream_write(GOutputStream *self, const void *data, gsize size, GCancellable *cancellable,
                           GError **error) {
    (void)cancellable;
    Taker *taker = ((Stream *)self)->taker;
    int number = taker->write(taker->user, data, size);
    if (number == 0) return (gssize)size;
    g_set_error_literal(error, G_IO_ERROR, (gint)g_io_error_from_errno(number), g_strerror(number));
    return -1;
}

static void stream_finalize(GObject *object) {
    taker_unref(((Stream *)object)->taker);
    G_OBJECT_CLASS(stream_parent_class)->finalize(object);
}

static void stream_class_init(StreamClass *class) {
    class->write_fn = stream_write;
    G_OBJECT_CLASS(class)->finalize = stream_finalize;
}

static void stream_init(Stream *stream) { stream->taker = NULL; }

static GOutputStream *on_playlist(GstElement *sink, const char *location, Taker *taker) {
    (void)sink, (void)location;
    Stream *stream = g_object_new(stream_get_type(), NULL);
    g_atomic_ref_count_inc(&taker->references);
    stream->taker = taker;
    return G_OUTPUT_STREAM(stream);
}

void CTapedeck_take_playlists(GstElement *sink, CTapedeckPlaylistWriter write, void *user, GDestroyNotify release) {
    Taker *taker = g_new0(Taker, 1);
    g_atomic_ref_count_init(&taker->references);
    taker->write = write;
    taker->user = user;
    taker->release = release;
    g_signal_connect_data(sink, "get-playlist-stream", G_CALLBACK(on_playlist), taker, drop_taker, 0);
}
